"""Motions of an arm under control: trajectories from the present reference, and poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.request_writer import RequestWriter, require_free, require_inside
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.arm.trajectory_table import JunctionPoint, Paths
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.steps import modes
from robodyn_ros.exceptions import ArgumentError, TrajectoryError
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE
from robodyn_ros.trajectory import (
    check_feasibility, check_recovery, check_trajectory, Reference, Tolerances, Trajectory,
    TrajectoryPoint)

_UNIT = 1e-2  # tolerance of the norm of a quaternion
_SAME = 1e-6       # rad or m, difference of the reference from a start state
_LEAD = 0.02       # s from a request to the start of a motion in the native loop,
_CLOSE = 5e-4      # rad or m, difference of its reference from the expected one,
_LATE, _NEAR = 0.05, 5e-3  # s and rad or m by which it may have advanced meanwhile
_SLOWER = 1.05, 1.15, 1.3, 1.6, 2.0, 3.0, 5.0  # factors on the times of a slower trajectory


def checked_target(position, quaternion) -> np.ndarray:
    """
    Return a pose as twelve numbers: rotation matrix by rows, and position, in the base frame.

    Parameters
    ----------
    position : (3,)
        Position in m.
    quaternion : (4,)
        Orientation x, y, z, w.

    Raises
    ------
    ArgumentError
        A number is not finite, or the quaternion has not norm 1.

    """
    values = np.array([*position, *quaternion], dtype=float)
    if values.shape != (7,) or not (np.abs(values) < MAX_PLAUSIBLE_VALUE).all():
        raise ArgumentError(f'the target pose is {values.tolist()}; position (x, y, z) and '
                            'quaternion (x, y, z, w) must be finite numbers below '
                            f'{MAX_PLAUSIBLE_VALUE:g}')
    norm = float(np.linalg.norm(values[3:]))
    if not abs(norm - 1.0) <= _UNIT:
        raise ArgumentError(f'the quaternion of the target pose has norm {norm:.4g}; '
                            'normalise it, (0, 0, 0, 1) is no rotation', value=norm)
    return np.concatenate([rotation_matrix(values[3:] / norm).ravel(), values[:3]])


def rotation_matrix(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])


# --- motions -------------------------------------------------------------------------------------

@dataclass(frozen=True, eq=False)
class StartState:
    """
    Start of a motion.

    Attributes
    ----------
    moment : float
        Time of the cycle at which the motion starts, in s.
    reference : Reference
        Reference at that time; along the path, if the arm follows one.
    position_bounds : (2, nv) array
        Lower and upper bounds of the position: beyond the position limits at most as far as the
        joints are now.
    side : (nv,) array
        1 for a joint in recovery beyond its upper limit, -1 below its lower limit, else 0.
    junction : JunctionPoint or None
        Where the motion continues the present trajectory, however fast that is followed.

    """

    moment: float
    reference: Reference
    position_bounds: np.ndarray
    side: np.ndarray
    junction: JunctionPoint | None = None


class Motions:
    """
    Plans and begins motions.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.
    paths : Paths
        Its trajectories.
    requests : RequestWriter
        Requests to its cycle.

    Attributes
    ----------
    begun : callable
        Called with the source of a trajectory that has begun; '' is a stream.

    """

    def __init__(self, arm: ControlledArm, status: Status, paths: Paths, requests: RequestWriter):
        self._arm, self._status, self._paths, self._requests = arm, status, paths, requests
        self.begun: Callable[[str], object] = lambda source: None

    def follow(self, now: float, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
               start_delay: float = 0.0, tolerances: Tolerances | None = None) -> float:
        """
        Follow a trajectory from now on, in place of the present motion.

        Parameters
        ----------
        now : float
            Time of the cycle.
        joint_names, points
            As received.
        start_delay : float
            Seconds until the trajectory's time zero.
        tolerances : Tolerances, optional
            In place of those of the settings.

        Returns
        -------
        duration : float
            Seconds until the last point.

        Raises
        ------
        TrajectoryError, StateError
            The trajectory is rejected; the present motion continues.

        """
        start_state = self.start_state()
        trajectory = self.plan(start_state, joint_names, points,
                               now + start_delay if start_delay else None)
        self.begin(start_state, trajectory, tolerances)
        return trajectory.duration

    def start_state(self, lead: float = 0.0) -> StartState:
        """
        Return the start state of a motion, now or in `lead` seconds.

        Raises
        ------
        StateError
            The arm may not move.

        """
        arm, status = self._arm, self._status
        elsewhere = self._arm.host.refresh()
        require_free(status)
        arm.loaded_dynamics()  # for `plan`
        # time goes on from the reference of the last cycle
        if elsewhere and status.mode not in (Mode.FLOAT, Mode.REACH):
            lead = max(lead, _LEAD)  # the native loop continues meanwhile
        model, m, side = arm.model, arm.memory, status.recovering
        walls, tolerance = m.walls, arm.design.settings.position_limits.tolerance
        seen = np.clip(m.q, model.lower - tolerance, model.upper + tolerance)
        position_bounds = np.array([
            np.where(side < 0.0, walls.lower, np.minimum(seen, model.lower)),
            np.where(side > 0.0, walls.upper, np.maximum(seen, model.upper))])
        return StartState(float(m.last_time) + lead, self._paths.expected(lead), position_bounds,
                          side, self._paths.junction(lead))

    def plan(self, start_state: StartState, joint_names: Sequence[str],
             points: Sequence[TrajectoryPoint], time_origin: float | None = None) -> Trajectory:
        """
        Return the trajectory along the points, checked; may be called in any thread.

        Parameters
        ----------
        start_state : StartState
            Its moment is time 0 of the result.
        joint_names, points
            As received.
        time_origin : float, optional
            Time of the cycle from which the points count; default the start state.

        Raises
        ------
        TrajectoryError
            With the result code as evidence.

        """
        model, bounds = self._arm.model, self._arm.bounds
        slower = _SLOWER if self._arm.design.settings.slow_down else ()
        problem: TrajectoryError | None = None
        for factor in (1.0, *slower):
            trajectory = self._checked(start_state, joint_names, _stretched(points, factor),
                                       time_origin)
            try:
                check_feasibility(trajectory, self.needed_torque, bounds.usable,
                                  model.joint_names, units=model.effort_units,
                                  margin=bounds.margin)
            except TrajectoryError as error:
                problem = problem or error
            else:
                trajectory.table  # computed here, not in the cycle
                return trajectory
        assert problem is not None
        raise problem

    def _checked(self, start_state: StartState, joint_names: Sequence[str],
                 points: Sequence[TrajectoryPoint], time_origin: float | None) -> Trajectory:
        """Return the trajectory along the points, without a check of its torque."""
        model, settings = self._arm.model, self._arm.design.settings
        trajectory = check_trajectory(
            model, joint_names, points, start_state.reference,
            start_delay=0.0 if time_origin is None else time_origin - start_state.moment,
            allow_partial_joints=settings.allow_partial_joints_goal,
            position_bounds=start_state.position_bounds)
        limits = settings.position_limits
        check_recovery(model, trajectory, start_state.side, limits.tolerance,
                       limits.recovery_speed)
        return trajectory

    def begin(self, start_state: StartState, trajectory: Trajectory,
              tolerances: Tolerances | None = None, source: str = 'another trajectory') -> bool:
        """
        Follow a planned trajectory from its start state on, in place of the present motion.

        Parameters
        ----------
        start_state, trajectory
            As planned.
        tolerances : Tolerances, optional
            In place of those of the settings.
        source : str
            What replaces a stream, for the log.

        Returns
        -------
        bool
            False, without any change, if the start state has passed or differs from the reference
            by now: plan again.

        Raises
        ------
        StateError
            The arm may not move.

        """
        arm = self._arm
        elsewhere = self._arm.host.refresh()
        require_free(self._status)
        lead = start_state.moment - float(arm.memory.last_time)
        junction = start_state.junction
        if junction is None or self._status.mode is not Mode.TRACK:
            away = np.abs(self._paths.expected(lead).q - start_state.reference.q).max()
        if self._status.mode is Mode.TRACK and junction is not None:
            good = self._paths.on_time(junction)
        elif self._status.mode in (Mode.FLOAT, Mode.REACH):
            # the later position of an arm moved by hand is not known; the native loop has
            # continued meanwhile
            late, near = (_LATE, _NEAR) if elsewhere else (0.0, _SAME)
            good = -late <= lead <= 0.0 and away < near
        else:
            good = lead >= 0.0 and away < (_CLOSE if elsewhere else _SAME)
        if not good:
            return False
        self._paths.put(trajectory, start_state.moment, tolerances or arm.design.tolerances,
                        junction)
        arm.messages.goal_time = float(arm.program.motion.upcoming.goal_time)
        self._requests.make(modes.TO_FOLLOW)
        self.begun(source)
        return True

    def reach(self, position, quaternion) -> None:
        """
        Move the link to a pose, in place of the present motion; in any mode with references.

        Parameters
        ----------
        position : (3,)
            Of its origin in the base frame, in m.
        quaternion : (4,)
            Its orientation: x, y, z, w.

        Raises
        ------
        ArgumentError
            Not finite numbers, or not a unit quaternion.
        StateError
            The arm may not move.

        """
        target = checked_target(position, quaternion)
        require_free(self._status)
        require_inside(self._status, 'a pose')
        self._arm.program.motion.pose.target[:] = target
        self._requests.make(modes.TO_REACH)
        self.begun('a pose')

    def needed_torque(self, q, qd, qdd):
        """Return the torque of motions, (N, nv), without friction."""
        arm = self._arm
        return arm.dynamics.inverse_dynamics(q, qd, qdd) + arm.design.gains.armature * qdd


def _stretched(points: Sequence[TrajectoryPoint], factor: float) -> Sequence[TrajectoryPoint]:
    """Return points with times that are longer by a factor."""
    if factor == 1.0:
        return points
    return [replace(point, time_from_start=factor * point.time_from_start,
                    velocities=[v / factor for v in point.velocities],
                    accelerations=[a / factor ** 2 for a in point.accelerations])
            for point in points]
