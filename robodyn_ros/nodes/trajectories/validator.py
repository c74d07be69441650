"""
Validation of trajectories beside the running cycle.

A short trajectory is checked at once, between two states. A long one is checked in a thread while
the cycle runs, from the predicted reference at the end of the check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import math
import sys
import threading
from typing import Any

from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import ArmController, Mode
from robodyn_ros.exceptions import RobodynError, StateError, TrajectoryError
from robodyn_ros.nodes.conversions import trajectory_points
from robodyn_ros.trajectory import ResultCode, Tolerances, Trajectory

_MAX_POINTS = 300    # points whose check, about 3 ms, fits between two states
_LEADS = 0.0, 0.2, 1.0  # s until the start of a motion that is checked at once, per attempt
_LEAD, _LEAD_PER_POINT = 0.1, 6e-5  # s for a check in a thread, also on a busy machine
_ATTEMPTS = 4        # each with twice the time; then the cycle waits for the check
_SWITCH = 5e-4       # s for which a thread may hold the interpreter


class Background:
    """
    A call in a thread of its own, beside the one of the node.

    Parameters
    ----------
    name : str
        Name of the thread.
    call : callable
    *arguments
        Its arguments.

    """

    def __init__(self, name: str, call: Callable[..., Any], *arguments: Any):
        sys.setswitchinterval(_SWITCH)
        self._call, self._arguments = call, arguments
        self._result: Any = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._call(*self._arguments)
        except Exception as error:  # raised by `result`
            self._error = error

    @property
    def done(self) -> bool:
        """Whether the call has returned."""
        return not self._thread.is_alive()

    def result(self) -> Any:
        """Return the result of a call that is done, or raise its exception."""
        if self._error is not None:
            raise self._error
        return self._result


@dataclass(eq=False)
class Request:
    """
    Request to follow a trajectory.

    Attributes
    ----------
    message : JointTrajectory
        Message as received.
    answer : callable
        Called once: with the trajectory and None, or with None and the error.
    time_origin : float or None
        Law time at which the trajectory starts, in s; None: as soon as possible.
    received : float
        Law time at which the message was received, in s.
    tolerances : Tolerances or None
        Tolerances in place of those in the settings.
    source : str
        Sender of the message, for the result of the motion that this one replaces.

    """

    message: JointTrajectory
    answer: Callable[[Trajectory | None, RobodynError | None], None]
    time_origin: float | None = None
    received: float = 0.0
    tolerances: Tolerances | None = None
    source: str = 'a newer trajectory'


class TrajectoryValidator:
    """
    Checks trajectories, and starts the motion along valid ones.

    Parameters
    ----------
    controller : ArmController
        Controller of the arm. All calls must come from the thread of its cycle.
    block_until_checked : bool
        Whether the cycle waits for every check, as in lockstep.

    """

    def __init__(self, controller: ArmController, block_until_checked: bool = False):
        self._controller = controller
        self._max_points = math.inf if block_until_checked else _MAX_POINTS
        self._job: _Job | None = None
        self._newest: Request | None = None  # of the accepted ones

    def submit(self, request: Request) -> None:
        """Check a trajectory; it replaces one that is still being checked."""
        self.drop('replaced by a newer trajectory')
        with _errors_answered(request):
            if len(request.message.points) > self._max_points:
                self._job = _Job(self._controller, request)
            else:
                self._check_now(request)

    def _check_now(self, request: Request) -> None:
        controller, message = self._controller, request.message
        wait = controller.loop.give_way()
        for lead in _LEADS:
            if lead:
                _make_predictable(controller)
            start_state = controller.motions.start_state(lead + wait)
            trajectory = controller.motions.plan(
                start_state, message.joint_names, trajectory_points(message), request.time_origin)
            if controller.motions.begin(start_state, trajectory, request.tolerances,
                                        request.source):
                self._accept(request, trajectory)
                return
        raise StateError('the reference has changed while the trajectory was checked; send it '
                         'again')

    def _accept(self, request: Request, trajectory: Trajectory) -> None:
        self._newest = request
        request.answer(trajectory, None)

    def replace(self, source: str) -> None:
        """Take note that a motion which was not checked here has replaced the present one."""
        self.drop(f'replaced by {source}')
        self._newest = Request(JointTrajectory(), lambda *_: None, source=source)

    def outcome(self, message: JointTrajectory) -> tuple[ResultCode, str] | None:
        """
        Return the result of the motion along an accepted trajectory.

        Parameters
        ----------
        message : JointTrajectory
            Message that was submitted, compared by identity.

        Returns
        -------
        tuple of ResultCode and str, or None
            Result code and its reason; None until the motion has ended.

        """
        controller, newest = self._controller, self._newest
        if newest is not None and newest.message is not message:
            return ResultCode.INVALID_GOAL, f'replaced by {newest.source}'
        if controller.status.code is not None:
            return controller.status.code, controller.message
        if controller.status.following:
            return None
        if controller.mode is Mode.REACH:
            return ResultCode.INVALID_GOAL, 'replaced by a target pose'
        return ResultCode.INVALID_GOAL, (controller.fault or controller.message
                                         or 'the controller is not active any more')

    def update(self) -> None:
        """Start the motion along a checked trajectory; to be called often."""
        job = self._job
        if job is None or not job.check.done:
            return
        self._job = None
        with _errors_answered(job.request):
            if job.begin():
                self._accept(job.request, job.trajectory)
            elif job.attempt == _ATTEMPTS:
                self._check_now(job.request)
            else:
                self._job = job.repeated()

    def drop(self, reason: str) -> None:
        """Refuse the trajectory that is still being checked, if any."""
        job, self._job = self._job, None
        if job is not None:
            job.request.answer(None, TrajectoryError(
                f'{reason}, while {len(job.request.message.points)} points were being checked'))


@contextmanager
def _errors_answered(request: Request) -> Iterator[None]:
    """Answer a request whose check fails; an unexpected error is raised as well."""
    try:
        yield
    except RobodynError as error:
        request.answer(None, error)
    except Exception as error:
        request.answer(None, TrajectoryError(
            f'the trajectory could not be checked: {type(error).__name__}, see the log'))
        raise


class _Job:
    """Check of one trajectory in a thread."""

    def __init__(self, controller: ArmController, request: Request, attempt: int = 1):
        self.request, self._controller, self.attempt = request, controller, attempt
        self._interruptions = controller.status.interruptions
        points = len(request.message.points)
        self._start_state = controller.motions.start_state(
            2**(attempt - 1) * (_LEAD + _LEAD_PER_POINT * points) + controller.loop.give_way())
        time_origin, message = request.time_origin, request.message
        if time_origin is not None:  # the duration of the check does not count as lateness
            late = max(request.received - time_origin, 0.0)
            time_origin = max(time_origin, self._start_state.moment - late)
        self.check = Background(
            'trajectory check', lambda: controller.motions.plan(
                self._start_state, message.joint_names, trajectory_points(message), time_origin))

    def begin(self) -> bool:
        """Start the motion; return False if the start state is out of date."""
        self.trajectory: Trajectory = self.check.result()
        controller = self._controller
        if controller.status.interruptions != self._interruptions:
            raise StateError(f'{controller.fault or controller.message or "it was stopped"}, '
                             f'while {len(self.request.message.points)} points were checked')
        return controller.motions.begin(
            self._start_state, self.trajectory, self.request.tolerances, self.request.source)

    def repeated(self) -> _Job:
        """Return another check, with more time."""
        _make_predictable(self._controller)
        return _Job(self._controller, self.request, self.attempt + 1)


def _make_predictable(controller: ArmController) -> None:
    """Bring an arm to rest whose later position is not known: guided by hand, or reaching."""
    if controller.mode in (Mode.FLOAT, Mode.REACH):
        controller.requests.rest('a trajectory is about to begin')
