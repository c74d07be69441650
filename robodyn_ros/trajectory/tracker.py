"""
Following of one trajectory: which reference now, and did the arm keep up.

Time is an argument. `update` never raises and returns a verdict, so that it
can run in the control cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.trajectory.angles import shortest_turn
from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.result import Phase, ResultCode, TrackStatus
from robodyn_ros.trajectory.spline import Trajectory
from robodyn_ros.trajectory.tolerances import Tolerances

REACHED = 'the goal is reached'


class Tracker:
    """
    Holds the active trajectory and judges it against the tolerances.

    Parameters
    ----------
    joint_names
        In model order, for messages.
    continuous : (nv,) bool, optional
        Joints that are one angle.
    max_step : float
        Most seconds that one update may move on along the trajectory. After
        a pause or a leap of the clock the reference then goes on from where
        it was instead of jumping. A clock that goes back never moves it back.

    """

    def __init__(self, joint_names: Sequence[str], continuous=None, max_step: float = math.inf):
        nv = len(joint_names)
        if not max_step > 0.0:
            raise ArgumentError(f'max_step is {max_step}; it must be above 0 s', value=max_step)
        self._names = tuple(joint_names)
        self._continuous = np.flatnonzero(np.zeros(nv) if continuous is None else continuous)
        self._max_step = max_step
        self._before = 0.0
        self._error_qd = np.zeros(nv)
        self._within = np.zeros(nv, dtype=bool)
        self._path_checks: list = []
        self._goal_checks: list = []
        self._goal_time = math.inf
        self._status = TrackStatus(Phase.IDLE, None, '', 0.0, Reference.zeros(nv), np.zeros(nv))
        self.trajectory: Trajectory | None = None

    @property
    def active(self) -> bool:
        """Whether a trajectory is under way and not yet judged."""
        return self._status.phase in (Phase.TRACKING, Phase.SETTLING)

    @property
    def unmet_goal(self) -> str:
        """Goal tolerance that is not met after the last point: joint and numbers, or ''."""
        return self._status.message if self._status.phase is Phase.SETTLING else ''

    @property
    def elapsed(self) -> float:
        """Seconds since the start, as far as the reference has come."""
        return self._status.elapsed

    def start(self, trajectory: Trajectory, now: float,
              tolerances: Tolerances | None = None) -> None:
        """
        Follow `trajectory` from time `now`, in place of what ran before.

        Without tolerances nothing is judged and the last point is success.
        """
        if trajectory.nv != len(self._names):
            raise ArgumentError(f'the trajectory has {trajectory.nv} joints, '
                                f'the tracker {len(self._names)}')
        if not math.isfinite(now):
            raise ArgumentError(f'a trajectory cannot start at time {now}', value=now)
        self.trajectory = trajectory
        if tolerances is None:
            tolerances = Tolerances.none(trajectory.nv)
        self._path_checks = self._checks(tolerances.path, tolerances.path_velocity)
        self._goal_checks = self._checks(tolerances.goal, tolerances.goal_velocity)
        self._goal_time = tolerances.goal_time
        self._before = now
        status = self._status
        status.phase, status.code, status.message = Phase.TRACKING, None, ''
        status.elapsed = 0.0
        trajectory.sample(0.0, status.reference)

    def clear(self) -> None:
        """Forget the trajectory; `update` then only reports IDLE."""
        self.trajectory = None
        self._status.phase, self._status.code, self._status.message = Phase.IDLE, None, ''

    def update(self, now: float, q: np.ndarray, qd: np.ndarray) -> TrackStatus:
        """
        Move on to `now` and judge the measured `q` and `qd`, each (nv,).

        A trajectory that has ended keeps its code until the next start.
        """
        status = self._status
        if self.trajectory is None:
            return status
        self._advance(now)
        reference = self.trajectory.sample(status.elapsed, status.reference)
        np.subtract(reference.q, q, out=status.error)
        for j in self._continuous:
            status.error[j] = shortest_turn(float(status.error[j]))
        if status.phase in (Phase.TRACKING, Phase.SETTLING):
            np.subtract(reference.qd, qd, out=self._error_qd)
            self._judge()
        return status

    def _advance(self, now) -> None:
        ahead = now - self._before
        # Also when `now` is not a number the reference stays where it is.
        if math.isfinite(ahead):
            self._before = now
            self._status.elapsed += min(max(ahead, 0.0), self._max_step)

    def _judge(self) -> None:
        status = self._status
        late = status.elapsed - self.trajectory.duration
        if late < 0.0:
            text = self._violation(self._path_checks)
            if text:
                self._finish(ResultCode.PATH_TOLERANCE_VIOLATED,
                             f'{text}, {status.elapsed:.3f} s after the start')
            return
        status.phase = Phase.SETTLING
        status.message = text = self._violation(self._goal_checks)
        if not text:
            self._finish(ResultCode.SUCCESSFUL, REACHED)
        elif late > self._goal_time:
            self._finish(ResultCode.GOAL_TOLERANCE_VIOLATED,
                         f'{text}, {late:.3f} s after the last point, '
                         f'goal_time {self._goal_time:g} s')

    def _violation(self, checks) -> str:
        for what, error, tolerance in checks:
            # A measurement that is not a number is not within a tolerance.
            np.less_equal(np.abs(error), tolerance, out=self._within)
            if not self._within.all():
                j = int(np.argmin(self._within))
                return (f"joint '{self._names[j]}': {what} misses its reference by "
                        f'{abs(error[j]):.4g}, tolerance {tolerance[j]:g}')
        return ''

    def _checks(self, position, velocity) -> list:
        pairs = (('position', self._status.error, position),
                 ('velocity', self._error_qd, velocity))
        return [pair for pair in pairs if np.isfinite(pair[2]).any()]

    def _finish(self, code, message) -> None:
        self._status.code, self._status.message = code, message
        success = code is ResultCode.SUCCESSFUL
        self._status.phase = Phase.SUCCEEDED if success else Phase.ABORTED
