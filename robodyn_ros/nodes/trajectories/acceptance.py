"""
Acceptance of trajectories beside the running cycle.

A short one is checked at once, between two states. A long one is checked in a thread while the
cycle goes on, from where the reference will be when the check is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
import threading

import scipy.interpolate  # noqa: F401, what splines need: loaded before the arm is held, not while
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import ArmController, Mode
from robodyn_ros.exceptions import RobodynError, StateError, TrajectoryError
from robodyn_ros.nodes.conversions import trajectory_points
from robodyn_ros.trajectory import ResultCode, Tolerances, Trajectory

_AT_ONCE = 300       # points whose check, about 3 ms, fits between two states
_LEADS = 0.0, 0.2, 1.0  # s until the begin of a motion that is checked at once, attempt by attempt
_LEAD, _LEAD_PER_POINT = 0.1, 6e-5  # s that a check may take; the machine may be busy
_ATTEMPTS = 4        # each with twice the time; then the cycle has to wait


@dataclass(eq=False)
class Request:
    """
    A trajectory that somebody wants to be followed.

    Attributes
    ----------
    message : JointTrajectory
        As received.
    answer : callable
        Called once: with the trajectory and None, or with None and the error.
    zero : float or None
        Time of the cycle from which the points count; None: as soon as possible.
    received : float
        Time of the cycle at which it came.
    tolerances : Tolerances or None
        In place of the settings'.
    source : str
        Sender of the message, for the result of the motion that this one replaces.

    """

    message: JointTrajectory
    answer: Callable[[Trajectory | None, RobodynError | None], None]
    zero: float | None = None
    received: float = 0.0
    tolerances: Tolerances | None = None
    source: str = 'a newer trajectory'


class Acceptance:
    """
    Checks what is to be followed, and lets it begin.

    Parameters
    ----------
    controller : ArmController
        Of the arm. All calls come from the thread of its cycle.
    block_until_checked : bool
        Whether the cycle can wait for any check, as in lockstep.

    """

    def __init__(self, controller: ArmController, block_until_checked: bool = False):
        self._controller = controller
        self._at_once = math.inf if block_until_checked else _AT_ONCE
        self._job: _Job | None = None
        self._newest: Request | None = None  # of those whose motion was accepted

    def submit(self, request: Request) -> None:
        """Check a trajectory; it takes the place of one that is still being checked."""
        self.drop('a newer trajectory has come')
        try:
            if len(request.message.points) > self._at_once:
                self._job = _Job(self._controller, request)
            else:
                self._check_now(request)
        except RobodynError as error:
            request.answer(None, error)

    def _check_now(self, request: Request) -> None:
        controller, message = self._controller, request.message
        for lead in _LEADS:
            start_state = controller.start_state(lead)
            trajectory = controller.plan(
                start_state, message.joint_names, trajectory_points(message), request.zero)
            if controller.begin(start_state, trajectory, request.tolerances):
                self._accept(request, trajectory)
                return
        raise StateError('the arm went elsewhere while the trajectory was checked; send it again')

    def _accept(self, request: Request, trajectory: Trajectory) -> None:
        self._newest = request
        request.answer(trajectory, None)

    def outcome(self, message: JointTrajectory) -> tuple[ResultCode, str] | None:
        """
        Return how the motion along an accepted trajectory ended.

        Parameters
        ----------
        message : JointTrajectory
            The object that was submitted.

        Returns
        -------
        tuple of ResultCode and str, or None
            Result code and its reason; None while the motion is under way, or about to begin.

        """
        controller, newest = self._controller, self._newest
        if newest.message is not message:
            return ResultCode.INVALID_GOAL, f'replaced by {newest.source}'
        if controller.code is not None:
            return controller.code, controller.message
        if controller.following:
            return None
        if controller.mode is Mode.REACH:
            return ResultCode.INVALID_GOAL, 'replaced by a target pose'
        return ResultCode.INVALID_GOAL, (controller.fault or controller.message
                                         or 'the controller is not active any more')

    def look(self) -> None:
        """Let what has been checked begin; to be called often."""
        job = self._job
        if job is None or not job.done:
            return
        self._job = None
        try:
            if job.begin():
                self._accept(job.request, job.trajectory)
            elif job.attempt == _ATTEMPTS:
                self._check_now(job.request)
            else:
                self._job = job.again()
        except RobodynError as error:
            job.request.answer(None, error)

    def drop(self, reason: str) -> None:
        """Refuse what is still being checked."""
        job, self._job = self._job, None
        if job is not None:
            job.request.answer(None, TrajectoryError(
                f'{reason}, while {len(job.request.message.points)} points were being checked'))


class _Job:
    """One check in a thread."""

    def __init__(self, controller: ArmController, request: Request, attempt: int = 1):
        self.request, self._controller, self.attempt = request, controller, attempt
        self._interruptions = controller.interruptions
        points = len(request.message.points)
        self._start_state = controller.start_state(
            2**(attempt - 1) * (_LEAD + _LEAD_PER_POINT * points))
        self._zero = request.zero
        if request.zero is not None:  # the time of the check is not the sender's
            late = max(request.received - request.zero, 0.0)
            self._zero = max(request.zero, self._start_state.moment - late)
        self.trajectory: Trajectory | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name='acceptance')
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            message = self.request.message
            self.trajectory = self._controller.plan(
                self._start_state, message.joint_names, trajectory_points(message), self._zero)
        except Exception as error:  # to be raised where it is waited for
            self._error = error

    def begin(self) -> bool:
        """Let the motion begin, if the arm is still on its way to the departure."""
        if self._error is not None:
            raise self._error
        controller = self._controller
        if controller.interruptions != self._interruptions:
            raise StateError(f'{controller.fault or controller.message or "it was stopped"}, '
                             f'while {len(self.request.message.points)} points were checked')
        return controller.begin(self._start_state, self.trajectory, self.request.tolerances)

    def again(self) -> _Job:
        """Return another check, with more time."""
        controller = self._controller
        # a hand moves it, or a pose its link; from now on the motion does
        if controller.mode in (Mode.FLOAT, Mode.REACH):
            controller.come_to_rest('a trajectory is about to begin')
        return _Job(controller, self.request, self.attempt + 1)
