"""Settings of motions: streams of targets, and tolerances of trajectories."""

from __future__ import annotations

from collections.abc import Mapping

from robodyn_ros.settings import for_each_joint, Numbers, parameter, settings

STREAM_MODES = ('auto', 'always', 'never')
OVERRUNS = ('extrapolate', 'stop')  # of a stream whose targets are late


@settings('stream')
class StreamSettings:
    """Streams of targets on ~/joint_trajectory."""

    mode: str = parameter(
        'auto', 'Messages on ~/joint_trajectory that are targets of a stream, not trajectories of '
        'their own. auto: those that end before stream.horizon while another is under way '
        'and not with velocities of 0, single points due within 0.06 s, and those that end in '
        'motion. always, never: all, none. Not with the frame_id trajectory; with the frame_id '
        'stream also in auto.',
        choices=STREAM_MODES)
    horizon: float = parameter(
        0.5, 'Time before which a message must end that auto takes for a part of a stream.', 's',
        0.0, 10.0)
    timeout: float = parameter(
        0.25, 'Silence after which a stream has ended; at least 2.5 periods.', 's', 0.02, 10.0)
    smoothing: float = parameter(
        0.05, 'Time over which targets are smoothed. The arm follows by the longer of this and a '
        'period behind the targets.', 's', 0.0, 2.0, in_ros=False)
    blend: float = parameter(
        0.25, 'Time in which the points of a message gain weight against those of the one before '
        'at the same times.', 's', 0.0, 5.0, in_ros=False)
    leap: float = parameter(
        0.5, 'Distance from one target to the next that is not followed: the arm comes to rest.',
        'rad or m', 1e-3, 100.0)
    overrun: str = parameter(
        'extrapolate', 'Motion when targets are late: extrapolate, for a period, at most 0.1 s, '
        'then come to rest; or stop: come to rest at once.', choices=OVERRUNS, in_ros=False)
    max_delay: float = parameter(
        1.0, 'Largest difference of a stamp to the clock; beyond it the time of arrival counts.',
        's', 0.0, 60.0)
    velocity_limit: Numbers = parameter(
        (), 'Velocity limits of streams; empty: of the URDF.', 'rad/s or m/s', 1e-4,
        per_joint=True)
    acceleration_limit: Numbers = parameter(
        (), 'Acceleration limits of streams; empty: by the torque where a stream begins, and at '
        'most the velocity limit in 0.1 s. The torque is limited in any case.',
        'rad/s^2 or m/s^2', 1e-3, per_joint=True)
    jerk_limit: Numbers = parameter(
        (), 'Jerk limits of streams; empty: the acceleration limit in 0.05 s.',
        'rad/s^3 or m/s^3', 1e-2, per_joint=True)


@settings()
class JointConstraints:
    """Tolerances of one joint."""

    trajectory: float = parameter(
        0.0, 'Largest error of this joint in motion; 0: constraints.trajectory.', 'rad or m', 0.0)
    goal: float = parameter(
        0.0, 'Largest error of this joint at the goal; 0: constraints.goal.', 'rad or m', 0.0)


@settings('constraints')
class Constraints:
    """Tolerances of trajectories, named as in joint_trajectory_controller."""

    trajectory: Numbers = parameter(
        (), 'Largest error in motion; 0: unchecked. Empty: 0.2 rad or 0.05 m, and unchecked under '
        'impedances, which give way. Of one joint: constraints.<joint>.trajectory.', 'rad or m',
        0.0, per_joint=True)
    goal: Numbers = parameter(
        (), 'Largest error at the goal; 0: unchecked. Empty: 0.05 rad or 0.01 m, to be met 2 s '
        'after the last point, and unchecked under impedances. Of one joint: '
        'constraints.<joint>.goal.', 'rad or m', 0.0, per_joint=True)
    goal_time: float = parameter(
        0.0, 'Time after the last point to get within the goal; 0: unlimited, where a goal '
        'tolerance is set.', 's', 0.0)
    stopped_velocity_tolerance: float = parameter(
        0.01, 'Speed below which a joint has arrived; 0: unchecked.', 'rad/s or m/s', 0.0)
    joints: Mapping[str, JointConstraints] = for_each_joint(JointConstraints)
