"""
Following of one trajectory: which reference now, and did the arm keep up.

Time is an argument. `update` never raises and returns a verdict, so that it
can run in the control cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
import math

import numpy as np

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.result import ResultCode
from robodyn_ros.trajectory.spline import Trajectory
from robodyn_ros.trajectory.tolerances import Tolerances

TURN = 2.0 * math.pi


class Phase(IntEnum):
    """What a tracker is doing."""

    IDLE = 0
    TRACKING = 1
    SETTLING = 2
    SUCCEEDED = 3
    ABORTED = 4


@dataclass(slots=True, eq=False)
class TrackStatus:
    """
    Verdict of one cycle; the tracker reuses one object.

    Attributes
    ----------
    phase : Phase
    code : ResultCode or None
        None until the trajectory has ended, one way or the other.
    message : str
        Why it ended.
    elapsed : float
        Seconds since the start, as far as the reference has come.
    reference : Reference
        To be followed now. After an end it goes on as the trajectory has it;
        stopping is the caller's decision.
    error : numpy.ndarray
        (nv,) reference minus position, continuous joints the short way.

    """

    phase: Phase
    code: ResultCode | None
    message: str
    elapsed: float
    reference: Reference
    error: np.ndarray


class Tracker:
    """
    Holds the active trajectory and judges it against the tolerances.

    Parameters
    ----------
    joint_names : in model order, for messages.
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
        self._tolerances: Tolerances | None = None
        self._status = TrackStatus(Phase.IDLE, None, '', 0.0, Reference.zeros(nv), np.zeros(nv))
        self.trajectory: Trajectory | None = None

    @property
    def active(self) -> bool:
        """Whether a trajectory is under way and not yet judged."""
        return self._status.phase in (Phase.TRACKING, Phase.SETTLING)

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
        self._tolerances = tolerances
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
        status, tolerances = self._status, self._tolerances
        late = status.elapsed - self.trajectory.duration
        if late < 0.0:
            if tolerances is not None:
                text = self._violation(tolerances.path, tolerances.path_velocity)
                if text:
                    self._finish(ResultCode.PATH_TOLERANCE_VIOLATED,
                                 f'{text}, {status.elapsed:.3f} s after the start')
            return
        status.phase = Phase.SETTLING
        text = ''
        if tolerances is not None:
            text = self._violation(tolerances.goal, tolerances.goal_velocity)
        if not text:
            self._finish(ResultCode.SUCCESSFUL, 'the goal is reached')
        elif late > tolerances.goal_time:
            self._finish(ResultCode.GOAL_TOLERANCE_VIOLATED,
                         f'{text}, {late:.3f} s after the last point, '
                         f'goal_time {tolerances.goal_time:g} s')

    def _violation(self, position, velocity) -> str:
        for error, tolerance, what in ((self._status.error, position, 'position'),
                                       (self._error_qd, velocity, 'velocity')):
            # A measurement that is not a number is not within any tolerance.
            np.less_equal(np.abs(error), tolerance, out=self._within)
            if not self._within.all():
                j = int(np.argmin(self._within))
                return (f"joint '{self._names[j]}': {what} misses its reference by "
                        f'{abs(error[j]):.4g}, tolerance {tolerance[j]:g}')
        return ''

    def _finish(self, code, message) -> None:
        self._status.code, self._status.message = code, message
        success = code is ResultCode.SUCCESSFUL
        self._status.phase = Phase.SUCCEEDED if success else Phase.ABORTED


def shortest_turn(angle: float) -> float:
    """Return the angle in [-pi, pi] that ends at the same place; NaN and inf stay."""
    return math.remainder(angle, TURN) if math.isfinite(angle) else angle
