"""Options that select a robot, shared by all commands, and the model that they select."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import joint_values
from robodyn_ros.share import share_path

EARTH = (0.0, 0.0, -9.81)  # m/s^2, for an upright base


def add_robot_arguments(parser: argparse.ArgumentParser,
                        default: str = 'the seven-joint arm of the package') -> None:
    """Declare the options that select a robot; `default` describes the one without them."""
    add = parser.add_argument
    add('path', type=Path, nargs='?', metavar='URDF', help=f'the arm; default {default}')
    add('--urdf', type=Path, metavar='URDF', help='the same')
    add('--base', default='', metavar='LINK', help='link that is the fixed base')
    add('--tip', default='', metavar='LINK', help='link at the end of the moving chain')
    add('--lock', action='append', default=[], metavar='JOINT:POSITION',
        help='lock a joint; may be repeated')
    add('--gravity', type=finite, nargs=3, default=EARTH, metavar=('X', 'Y', 'Z'),
        help='m/s^2, in the frame of the base (default 0 0 -9.81)')


def add_motion_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the motion, see `motion.plan_motion`."""
    add = parser.add_argument
    add('--duration', type=between(0.5, 10.0), default=2.0, metavar='SECONDS',
        help='duration of the motion; longer if the motors are weak (default 2)')
    add('--speed', type=between(0.01, 1.0), default=0.6, metavar='PART',
        help='part of the velocity limits to reach (default 0.6)')


def finite(text: str) -> float:
    """Return the finite number in the text of an option."""
    return between(-1e30, 1e30)(text)


def whole_number(text: str) -> int:
    """Return the positive integer in the text of an option."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f'{text!r} must be a whole number above 0')
    return value


def between(low: float, high: float):
    """Return a parser of numbers in a range, for an option."""
    def number_in_range(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float('nan')
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f'{text!r} must be a number from {low:g} to {high:g}')
        return value
    return number_in_range


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

    """

    urdf: Path
    base: str = ''
    tip: str = ''
    locked: tuple[str, ...] = ()
    gravity: tuple[float, ...] = EARTH

    @classmethod
    def from_options(cls, options: argparse.Namespace) -> Robot:
        """
        Return the robot that the options of `add_robot_arguments` select.

        Raises
        ------
        ParameterError
            Two URDFs are given.

        """
        if options.urdf and options.path:
            raise ParameterError(f'two URDFs are given, {options.path} and --urdf {options.urdf}: '
                                 'leave one out')
        return cls(options.urdf or options.path or share_path('urdf', 'robodyn7.urdf'),
                   options.base, options.tip, tuple(options.lock), tuple(options.gravity))

    def load(self) -> RobotModel:
        """Return the model (raises as `RobotModel.from_urdf`)."""
        return RobotModel.from_urdf(self.urdf, gravity=self.gravity, **self.selection())

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
