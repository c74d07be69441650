"""The arm that is commissioned, as its steps see it, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.cli.check.live import LiveResult
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.identification import Recording

# values of parameters of the controller by name
Values = Mapping[str, object]


class Run(NamedTuple):
    """
    Recording of the arm under control, one row per state, in model order.

    Attributes
    ----------
    times : (n,) array
        Stamps of the states, in s.
    reference, position, velocity, effort : (n, nv) array
        Reference, and measured state; NaN where it is not reported.
    torque : (n, nv) array
        Torque that the controller sent for the state.
    latency : float
        Median time from the stamp of a state until its torque was sent, in s.
    shortfall : str
        Goal tolerance that was not met; '' if it was, or if there was no motion.

    """

    times: NDArray
    reference: NDArray
    position: NDArray
    velocity: NDArray
    effort: NDArray
    torque: NDArray
    latency: float
    shortfall: str

    @property
    def period(self) -> float:
        """Return the median time between two states, in s."""
        return float(np.median(np.diff(self.times)))

    @property
    def error(self) -> NDArray:
        """Return reference minus position, (n, nv)."""
        return self.reference - self.position

    def recording(self, joint_names: Sequence[str]) -> Recording:
        """Return positions and efforts for the identification."""
        return Recording(tuple(joint_names), self.times, self.position, self.times, self.effort)

    def after(self, begin: float) -> Run:
        """Return the part from a time after the first state on, in s."""
        return self._part(self.times - self.times[0] >= begin)

    def moving(self) -> Run:
        """Return the part from the first motion of the reference to its last one."""
        moves = (np.abs(np.diff(self.reference, axis=0)) > 0.0).any(axis=1)
        where = np.flatnonzero(moves)
        return self._part(slice(where[0], where[-1] + 2) if len(where) else slice(0, 0))

    def last(self, duration: float) -> Run:
        """Return the end of the motion of the reference, of a duration in s."""
        moving = self.moving()
        return moving._part(moving.times >= moving.times[-1:] - duration)

    def _part(self, rows: NDArray | slice) -> Run:
        return self._replace(
            times=self.times[rows], reference=self.reference[rows], position=self.position[rows],
            velocity=self.velocity[rows], effort=self.effort[rows], torque=self.torque[rows])


class Arm(Protocol):
    """Interface of an arm with its controller."""

    def check_live(self, dynamics: Dynamics) -> LiveResult | None:
        """Return the findings of the live check; None for an arm in simulated time."""

    def start(self, urdf: Path, values: Values) -> None:
        """
        Start the controller with a URDF and parameters, and wait until it holds the arm.

        A controller that runs holds the arm until the new one is ready to take over.

        Raises
        ------
        RobodynError
            The activation was refused; with the reason.

        """

    def loop(self) -> list[str]:
        """Return what the controller found when it measured the loop, as lines."""

    def change(self, values: Values) -> None:
        """Set parameters of the running controller."""

    def execute(self, points: tuple[NDArray, ...]) -> Run:
        """
        Execute times, positions, velocities and accelerations, and record; raise if refused.

        The first point is where the arm has come to rest after an approach.
        """

    def watch(self, seconds: float, floats: bool = False) -> Run:
        """Record the resting arm, or the floating one, for a time in s; then it holds."""

    def hold(self) -> bool:
        """Decelerate and hold; return whether a controller holds the arm."""

    def stop(self) -> None:
        """End the controller."""


def save(run: Run, joint_names: Sequence[str], path: Path) -> None:
    """Write a run as a table that `robodyn identify` reads."""
    heads, columns = ['time'], [run.times[:, None]]
    for name in ('reference', 'position', 'velocity', 'effort', 'torque'):
        heads += [f'{joint}.{name}' for joint in joint_names]
        columns.append(getattr(run, name))
    np.savetxt(path, np.hstack(columns), '%.9g', ',', header=','.join(heads), comments='')


def load(path: Path, nv: int) -> Run:
    """Return a run that `save` has written, without its latency; `RobodynError` for others."""
    try:
        lines = path.read_text(encoding='utf-8').splitlines()[1:]
        table = np.array([line.split(',') for line in lines], dtype=float, ndmin=2)
    except (ValueError, OSError) as error:
        table = np.empty((0, 0))
        reason = str(error).partition('\n')[0]
    else:
        reason = f'{table.shape[0]} rows of {table.shape[1]} columns, not of {1 + 5 * nv} numbers'
    if table.shape[1] != 1 + 5 * nv or not len(table) or not np.isfinite(table).all():
        raise RobodynError(f'{path} is not the recording of a step ({reason}): measure it again '
                           'with --repeat', path=str(path))
    reference, position, velocity, effort, torque = (
        table[:, 1 + k * nv:1 + (k + 1) * nv] for k in range(5))
    return Run(table[:, 0], reference, position, velocity, effort, torque, 0.0, '')
