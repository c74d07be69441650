"""Selection of a robot: its URDF, links and locked joints, and gravity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from robodyn_ros.model.per_joint import joint_values
from robodyn_ros.model.robot_model import RobotModel

EARTH = (0.0, 0.0, -9.81)  # m/s^2, for an upright base


@dataclass(frozen=True)
class Robot:
    """
    Selection of a robot.

    Attributes
    ----------
    urdf : Path
        URDF file.
    base, tip : str
        Links at the ends of the chain, or empty.
    locked : tuple of str
        Locked joints, each as joint:position.
    gravity : tuple of float
        Gravity in m/s^2, in the frame of the base.
    effort_limit, velocity_limit : sequence of float
        Limits of the motors where those of the URDF are placeholders, see
        `RobotModel.with_limits`; empty: of the URDF.

    """

    urdf: Path
    base: str = ''
    tip: str = ''
    locked: tuple[str, ...] = ()
    gravity: tuple[float, ...] = EARTH
    effort_limit: ArrayLike = ()
    velocity_limit: ArrayLike = ()

    def load(self) -> RobotModel:
        """Return the model (raises as `RobotModel.from_urdf`)."""
        return RobotModel.from_urdf(self.urdf, gravity=self.gravity, **self.selection()
                                    ).with_limits(self.effort_limit, self.velocity_limit)

    def selection(self) -> dict[str, Any]:
        """Return base, tip and locked joints as arguments of `RobotModel.from_urdf`."""
        return {'base': self.base or None, 'tip': self.tip or None,
                'locked': joint_values('--lock', self.locked)}

    def options(self) -> list[str]:
        """Return the options of `add_robot_arguments` that select this robot."""
        return ['--urdf', str(self.urdf.absolute()), '--gravity', *map(str, self.gravity),
                *chain_options(self.base, self.tip, self.locked)]

    def parameters(self) -> dict[str, object]:
        """Return the parameters of a node that select this robot."""
        values = {'urdf_file': str(self.urdf.absolute()), 'base': self.base, 'tip': self.tip,
                  'locked': list(self.locked), 'gravity': list(self.gravity)}
        return {name: value for name, value in values.items() if value}


def chain_options(base: str, tip: str, locked: Iterable[str]) -> list[str]:
    """Return the options of `add_robot_arguments` for a chain; '' leaves an option out."""
    pairs = [('--base', base), ('--tip', tip), *(('--lock', each) for each in locked)]
    return [part for pair in pairs if pair[1] for part in pair]
