"""What is asked of the joints: a trajectory, a stop, or to stay."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.pose.pose_motion import POSE_REACHED, PoseMotion
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.settings import CycleSettings, Mode
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.safety import StopProfile
from robodyn_ros.trajectory import Phase, Reference, ResultCode, Tolerances, Tracker, Trajectory

_STEEPEST = 1.5  # largest over mean deceleration of a stop


class Motion:
    """
    Moves the reference on, from cycle to cycle.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    settings : CycleSettings
        For `stop_time`, `longest_pause` and `reach`.
    task_gains : TaskGains
        Name the link that is brought to poses.

    Attributes
    ----------
    reference : Reference
        What is asked of the joints now.
    mode : Mode
        What the reference does; `FLOAT` and `INACTIVE` ask for nothing, and under
        `LINEAR_FEEDBACK` somebody else knows.
    message : str
        How the last motion ended.
    aborted : bool
        Whether it was ended by the controller: a tolerance, silence, a pose out of reach.
    code : ResultCode or None
        How the last trajectory ended; None while it runs, and if something else ended it.
    poses : PoseMotion
        What brings the link to a pose.
    interruptions : int
        How often a motion was broken off, or forbidden to begin.

    """

    def __init__(self, dynamics: Dynamics, settings: CycleSettings, task_gains: TaskGains):
        self._model = model = dynamics.model
        self._tracker = Tracker(model.joint_names, max_step=settings.longest_pause)
        self._deceleration = _STEEPEST / settings.stop_time * speeds(model)
        self.poses = PoseMotion(dynamics, task_gains.link, task_gains.reach, self._deceleration,
                                settings.reach)
        self._stop: StopProfile | None = None
        self._stopping = 0.0
        self.reference = Reference.zeros(model.nv)
        self.mode = Mode.INACTIVE
        self.message, self.aborted = '', False
        self.code: ResultCode | None = None
        self.interruptions = 0
        self._next: tuple[Trajectory, float, Tolerances | None] | None = None

    @property
    def free(self) -> bool:
        """Whether nothing is asked of the joints."""
        return self.mode in (Mode.FLOAT, Mode.INACTIVE)

    @property
    def led(self) -> bool:
        """Whether somebody else moves the arm: a hand, or linear feedback."""
        return self.mode in (Mode.FLOAT, Mode.LINEAR_FEEDBACK)

    @property
    def moves(self) -> bool:
        """Whether a motion is under way, or about to begin, that a stop would end."""
        return self.following or self.led or self.mode is Mode.REACH

    @property
    def following(self) -> bool:
        """Whether a trajectory is under way, or about to begin."""
        return self.mode is Mode.TRACK or self._next is not None

    @property
    def trajectory(self) -> tuple[Trajectory | None, float]:
        """Return the trajectory that is followed, and seconds since its start."""
        return self._tracker.trajectory, self._tracker.elapsed

    @property
    def unmet_goal(self) -> str:
        """Goal tolerance that the trajectory does not meet after its last point, or ''."""
        return self._tracker.unmet_goal

    def expected(self, ahead: float) -> Reference:
        """Return what will be asked of the joints in `ahead` seconds if nothing intervenes."""
        expected = self.reference.copy()
        if ahead > 0.0 and self.mode is Mode.TRACK:
            trajectory, elapsed = self.trajectory
            trajectory.sample(elapsed + ahead, expected)
        elif ahead > 0.0 and self.mode is Mode.STOP:
            self._stop.sample(self._stopping + ahead, expected)
        return expected

    def follow(self, trajectory: Trajectory, now: float, tolerances: Tolerances | None) -> None:
        """Follow a trajectory that begins at the reference, from `now` on."""
        self._next = None
        self._tracker.start(trajectory, now, tolerances)
        self.mode, self.message, self.code = Mode.TRACK, '', None

    def follow_later(self, trajectory: Trajectory, moment: float,
                     tolerances: Tolerances | None) -> None:
        """Go on as until now, and from a moment on follow a trajectory that leaves from there."""
        self._next = (trajectory, moment, tolerances)
        self.message, self.code = '', None

    def reach(self, rotation: np.ndarray, position: np.ndarray) -> None:
        """Bring the link to a pose in the base frame, from the present reference."""
        if self.mode is not Mode.REACH:
            self._break_off()
        self.poses.aim(rotation, position)
        self.mode, self.message, self.code = Mode.REACH, '', None

    def stop(self, message: str, aborted: bool = False) -> None:
        """Come to rest from the present reference, then hold; see `message` and `aborted`."""
        self._break_off()
        self._stop = StopProfile(self.reference, self._deceleration, self._model.lower,
                                 self._model.upper)
        self._stopping = 0.0
        self.mode, self.message, self.aborted = Mode.STOP, message, aborted

    def let_go(self, mode: Mode, message: str) -> None:
        """Ask for nothing any more."""
        self._break_off()
        self.mode, self.message, self.aborted = mode, message, False

    def give_way(self, floating: bool, message: str, q, qd) -> None:
        """Stop from the measured motion, or float: where the reference leads something is."""
        self.anchor(q, qd)
        if floating:
            self.let_go(Mode.FLOAT, message)
        else:
            self.stop(message)

    def anchor(self, q, qd) -> None:
        """Let the reference be the measured motion."""
        self.reference.q[:], self.reference.qd[:] = q, qd
        self.reference.qdd.fill(0.0)
        self.reference.effort.fill(0.0)

    def advance(self, now: float, dt: float, q, qd) -> None:
        """Move the reference on; `q` and `qd` are judged by the trajectory's tolerances."""
        if self._next is not None and now >= self._next[1]:
            self.follow(*self._next)
        if self.mode is Mode.TRACK:
            status = self._tracker.update(now, q, qd)
            self.reference.assign(status.reference)
            if status.phase is Phase.SUCCEEDED:
                self.mode, self.message, self.aborted = Mode.HOLD, status.message, False
                if self._next is None:  # the code of the next trajectory, which has not ended
                    self.code = status.code
            elif status.phase is Phase.ABORTED:
                self.code = status.code
                self.stop(status.message, aborted=True)
        elif self.mode is Mode.REACH:
            if outcome := self.poses.advance(dt, self.reference, q):
                self.stop(outcome, aborted=outcome != POSE_REACHED)
        elif self.mode is Mode.STOP:
            self._stopping += dt
            self._stop.sample(self._stopping, self.reference)
            if self._stopping >= self._stop.duration:
                self.mode = Mode.HOLD

    def _break_off(self) -> None:
        self._tracker.clear()
        self._next = None
        self.interruptions += 1
