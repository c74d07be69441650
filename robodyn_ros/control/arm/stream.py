"""
Stream of targets: points that arrive at any rate, followed smoothly within the limits of the arm.

Messages are taken as they come, and never refused for their time. The motion through the targets
known so far ends at rest; it is replaced whenever targets have arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.messages import GAPS
from robodyn_ros.control.arm.motions import Motions
from robodyn_ros.control.arm.request_writer import require_free, require_inside
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.arm.stream_inputs import arranged, check_times, stream_limits
from robodyn_ros.control.arm.trajectory_table import Paths
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.settings import StreamSettings
from robodyn_ros.exceptions import StateError
from robodyn_ros.trajectory import Tolerances, Trajectory, TrajectoryPoint, unwrap_continuous
from robodyn_ros.trajectory.streaming import MotionLimits, StreamMotion, StreamTiming, Targets

_LEADS = 0.0, 0.04   # s until a motion begins, per attempt
_PERIODS = 2.5       # of the stream, the shortest silence that ends it
_EXTRAPOLATED = 0.1  # s, most for which a stream is continued
_REST = 0.5          # s, most within which it then comes to rest, where limits permit it
_ROUNDING = 1e-6     # rad or m
_GOOD = 0.5          # s for which states must be good before an interrupted stream is joined
_SPACING = 0.004     # s from one motion to the next, at least
_NOTICES = 20        # kept, where they are not read


class Stream:
    """
    Follows a stream of targets.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.
    paths : Paths
        Its trajectories.
    motions : Motions
        Its motions.

    Attributes
    ----------
    active : bool
        Whether a stream is followed.
    blocked : str
        Reason why the present stream is not followed; empty if it is.
    received, waits : int
        Messages of the present stream, and how often its motion could not be replaced.
    notices : deque of str
        Newest texts for the log, to be removed by the reader.

    """

    def __init__(self, arm: ControlledArm, status: Status, paths: Paths, motions: Motions):
        self._arm, self._status, self._paths, self._motions = arm, status, paths, motions
        motions.begun = self._replaced_by
        self.notices: deque[str] = deque(maxlen=_NOTICES)
        self._reported: set[str] = set()
        self.active, self.blocked = False, ''
        self.received = self.waits = 0
        self._number = -1.0  # of its last motion
        self._restart(-np.inf)

    def _restart(self, now: float) -> None:
        self._timing = StreamTiming(self._settings.smoothing)
        self._targets = Targets(self._arm.model.nv)
        self._motion: StreamMotion | None = None
        self._latest, self._fresh, self._interruptions = now, False, self._status.interruptions
        self._planned = -np.inf
        self.blocked = self._leap = ''
        self._bad = now  # the last time at which a gap of the states was seen
        self.received = self.waits = 0

    @property
    def _settings(self) -> StreamSettings:
        return self._arm.design.settings.stream

    @property
    def moves(self) -> bool:
        """Whether the present or last motion is one of a stream."""
        return bool(self._arm.memory.motion.path.number == self._number)

    @property
    def summary(self) -> str:
        """Return rate and delays of the stream as text; 'none' if there is none."""
        timing = self._timing
        if not self.active:
            return 'none'
        if self.blocked or self._leap:
            return f'not followed: {self._until_pause if self.blocked else self._leap}'
        rate = f'{1.0 / timing.period:.0f} Hz' if timing.period else 'one message'
        slowed = ', slowed down by limits' if self._motion and self._motion.slowed else ''
        transport = f'{1e3 * timing.transport:.0f} ms from stamp to arrival, '
        return (f'{rate}, {transport if timing.transport else ""}followed '
                f'{1e3 * timing.delay:.0f} ms behind{slowed}')

    def add(self, arrival: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
            stamp: float | None = None) -> None:
        """
        Take a message of the stream; `update` follows it.

        Parameters
        ----------
        arrival : float
            Time of the law at which it arrived, in s.
        joint_names, points
            As received; points with positions, velocities or both.
        stamp : float, optional
            Time of the law from which its times count; default its arrival, without jitter.

        Raises
        ------
        TrajectoryError
            The message is no motion of this arm: joints, sizes, numbers that are not finite. The
            message is not counted as one of the stream.
        StateError
            The arm may not move; when it may, the stream is followed only after a pause.

        """
        model = self._arm.model
        self.poll(arrival)
        if not self.active:
            self._restart(arrival)
        held = self._last_q if self._arm.design.settings.allow_partial_joints_goal else None
        times, q, qd = arranged(joint_names, points, model.joint_names, held)
        check_times(arrival, stamp, times)
        self._latest, self.active = arrival, True
        try:
            require_free(self._status)
            require_inside(self._status, 'a stream of targets')
        except StateError as error:
            if not self.blocked:
                self._block(str(error))
            raise
        self.received += 1
        if self.blocked and not self._joins_again(arrival, q):
            return
        time_origin = self._timing.add(arrival, stamp, times.tolist())
        times = times + time_origin
        if qd is not None:
            qd = np.clip(qd, -model.velocity_limit, model.velocity_limit)
        if q is None:
            q = self._integrated(times, qd)
        else:
            q = unwrap_continuous(q, self._last_q, model.continuous)
        q = self._within_limits(q)
        if self._leaps(times, q):
            return
        self._targets.add(times, q, qd, arrival - self._timing.delay, self._settings.blend)
        self._fresh = True

    def update(self, now: float) -> bool:
        """Follow the targets received; return whether a motion has begun; to be called often."""
        self.poll(now)
        if not self._fresh or self._paths.pending or now - self._planned < _SPACING:
            return False
        if self._blocks():
            return False
        self._planned = now
        if self._motion is None:
            self._motion = StreamMotion(replace(
                self.limits(), needed=self._motions.needed_torque))
        for lead in _LEADS:
            try:
                begun = self._begin(lead)
            except StateError as error:
                self._block(str(error))
                return False
            if begun is not None:
                self._fresh = False
                self.waits += not begun
                return begun
        self.waits += 1
        return False

    def _replaced_by(self, motion: str) -> None:
        """Follow the present stream no longer: another motion has begun."""
        if motion and self.active and not self.blocked:
            self._block(f'replaced by {motion}')

    def poll(self, now: float) -> None:
        """End a stream that is silent."""
        silence, timing, timeout = now - self._latest, self._timing, self._settings.timeout
        end = -np.inf if self.blocked else self._targets.last + timing.delay + timeout
        if (not self.active or silence <= max(timeout, _PERIODS * timing.period)
                or now <= end):  # of targets that are followed
            return
        self.active = False
        if not self.blocked:
            self._notice(f'the stream of targets has ended: no message for {silence:.2f} s')
        self._reported.clear()

    # --- messages ---------------------------------------------------------------------------

    @property
    def _last_q(self) -> np.ndarray:
        targets = self._targets
        return targets.q[-1] if targets.times.size else self._arm.memory.motion.reference.q

    def _integrated(self, times, qd) -> np.ndarray:
        """Return positions for velocities alone, from the last target on."""
        targets = self._targets
        before, start = (targets.last, targets.qd[-1]) if targets.times.size else (
            times[0] - self._timing.spacing, qd[0])
        steps = np.clip(np.diff(times, prepend=before), 0.0, self._settings.timeout)[:, None]
        mean = 0.5 * (qd + np.vstack([np.where(np.isfinite(start), start, qd[0]), qd[:-1]]))
        return self._last_q + np.cumsum(steps * mean, axis=0)

    def _within_limits(self, q) -> np.ndarray:
        """Return positions within the position limits."""
        model = self._arm.model
        clipped = np.clip(q, model.lower, model.upper)
        beyond = np.argwhere(np.abs(clipped - q) > _ROUNDING)
        if beyond.size:
            i, j = beyond[0]
            name = model.joint_names[j]
            self._notice_once(f'limit of {name}', (
                f"a target of joint '{name}' is {q[i, j]:.4g}, beyond its limit "
                f'{clipped[i, j]:.4g}: the arm stops there'))
        return clipped

    def _leaps(self, times, q) -> bool:
        """Return whether a target is too far away from the one before to be followed."""
        targets, timing, leap = self._targets, self._timing, self._settings.leap
        away = np.abs(q[0] - self._last_q)
        if away.max() > leap and targets.times.size:  # it may have been on its way, some are lost
            expected, _, _ = targets.states(times[:1], timing.spacing, timing.smoothing)
            away = np.minimum(away, np.abs(q[0] - expected[0]))
        away = np.vstack([away, np.abs(np.diff(q, axis=0))]).max(axis=0)
        j = int(np.argmax(away))
        if away[j] <= leap:
            self._leap = ''
            return False
        self._leap = (f"a target of joint '{self._arm.model.joint_names[j]}' leaps by "
                      f'{away[j]:.3g} rad or m, more than stream.leap {leap:g}')
        self._notice_once('leap', f'{self._leap}: the arm comes to rest, and waits for targets '
                          'near its last one; move it there by a trajectory')
        return True

    # --- motion -----------------------------------------------------------------------------

    def _blocks(self) -> bool:
        """Block the stream if something else has ended its motion; return whether it is."""
        status = self._status
        if not self.blocked and status.interruptions != self._interruptions:
            self._block(status.fault or status.message or 'its motion was interrupted')
        self._fresh &= not self.blocked
        return bool(self.blocked)

    def _block(self, reason: str) -> None:
        self.blocked, self._fresh, self._bad = reason, False, self._latest
        self._notice(f'the stream of targets is not followed: {self._until_pause}')

    @property
    def _gap(self) -> bool:
        """Whether a gap of the states has ended its motion, after which the arm rests."""
        return not self._status.fault and float(
            self._arm.memory.motion.message.code) in GAPS and self.blocked == self._status.message

    def _joins_again(self, arrival: float, q: np.ndarray | None) -> bool:
        """
        Begin anew with a target after a gap of the states; return whether it does.

        The arm must be at rest, its states good for a while, and the target, if it is a position,
        no further from it than targets may leap: the motion to it is one within the limits.
        """
        if not self._gap:
            return False
        m = self._arm.memory
        if m.coasting or self._status.mode is not Mode.HOLD:
            self._bad = arrival
        away = 0.0 if q is None else np.abs(unwrap_continuous(
            q, m.motion.reference.q, self._arm.model.continuous)[0] - m.motion.reference.q).max()
        if arrival - self._bad < _GOOD or away > self._settings.leap:
            return False
        reason = self.blocked
        self._restart(arrival)
        self.received = 1
        self._notice(f'the stream of targets is followed again, which was interrupted: {reason}')
        return True

    @property
    def _until_pause(self) -> str:
        again = f'after a pause of {self._settings.timeout:g} s'
        if self._gap:
            again = (f'when states have been good for {_GOOD:g} s and a target is within '
                     f'{self._settings.leap:g} rad or m, or {again}')
        return f'{self.blocked}; it is again {again}'

    def _begin(self, lead: float) -> bool | None:
        """Replace the motion; return whether there is a new one, None if it was too late."""
        motion, timing = self._motion, self._timing
        assert motion is not None
        start = self._motions.start_state(lead)
        period = timing.period or timing.spacing
        with np.errstate(all='ignore'):
            try:
                trajectory = motion.plan(start.reference, start.moment, self._targets, timing,
                                         min(period, _EXTRAPOLATED), min(period, _REST))
            except np.linalg.LinAlgError:  # targets that no curve goes through
                trajectory = None
        if trajectory is None:
            if self._paths.following:
                return False
            trajectory = motion.stop(start.reference)
            if trajectory is None:
                raise StateError('no motion from here is within the limits of the arm')
        if not self._motions.begin(start, trajectory, self._tolerances(trajectory), source=''):
            return None
        self._number = float(self._arm.program.motion.upcoming.number)
        return True

    def _tolerances(self, trajectory: Trajectory) -> Tolerances:
        """Return the tolerances: those in motion; the end of a stream is no goal."""
        given, free = self._arm.design.tolerances, Tolerances.none(trajectory.nv)
        return replace(free, path=given.path, path_velocity=given.path_velocity)

    def limits(self) -> MotionLimits:
        """Return the limits of a stream that begins here."""
        arm = self._arm
        return stream_limits(arm.loaded_dynamics(), self._settings, arm.bounds.usable,
                             arm.design.gains.armature, arm.memory.motion.reference.q)

    # --- log --------------------------------------------------------------------------------

    def _notice(self, text: str) -> None:
        self.notices.append(text)

    def _notice_once(self, kind: str, text: str) -> None:
        """Report a kind of problem once per stream."""
        if kind not in self._reported:
            self._reported.add(kind)
            self._notice(text)
