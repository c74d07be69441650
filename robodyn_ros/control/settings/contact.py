"""Settings of external torques: those from other nodes, and those that the arm observes."""

from __future__ import annotations

from robodyn_ros.settings import Numbers, parameter, settings

TORQUE_SOURCES = ('command', 'measured')
REACTIONS = ('report', 'stop', 'float')  # to a collision


@settings('linear_feedback')
class LinearFeedbackSettings:
    """Bounds of torques that come as linear feedback from another node."""

    timeout: float = parameter(
        0.1, 'Time for which a message on ~/linear_feedback is used.', 's', 0.001, 1.0)
    largest_error: float = parameter(
        0.3, 'Largest distance of the position in a message from the measured one.', 'rad or m',
        0.0, 10.0, in_ros=False)
    largest_torque: float = parameter(
        1.5, 'Largest torque of a message at the measured state, in effort limits; above 1 it is '
        'clamped.', '', 0.0, 100.0, in_ros=False)
    largest_growth: float = parameter(
        5.0, 'Largest rate of growth of a motion of the linear model under the gains of a '
        'message; a damped one has none.', '1/s', 0.0, 1000.0, in_ros=False)


@settings('external_wrench')
class ExternalWrenchSettings:
    """Known wrenches and torques from other nodes."""

    timeout: float = parameter(
        0.1, 'Time for which a message on ~/external_wrench, ~/target_wrench or '
        '~/reflected_torque is used.', 's', 0.001, 60.0)


@settings('observer')
class ObserverSettings:
    """Momentum observer of the external torque."""

    bandwidth: Numbers = parameter(
        (30.0,), 'Bandwidth of the momentum observer: external torque is estimated with the time '
        'constant 1/bandwidth.', 'rad/s', 0.1, 500.0, per_joint=True)
    torque_source: str = parameter(
        'command', 'Source of the motor torques: the command, or the effort of the joint states.',
        choices=TORQUE_SOURCES)
    link: str = parameter('', 'Link of ~/estimated_wrench; empty: the tip.', read_only=True)


@settings('reflection')
class ReflectionSettings:
    """Torque of another arm, reflected to the hand that guides this one."""

    gain: Numbers = parameter(
        (0.0,), 'Part of the torque on ~/reflected_torque that is added while the arm floats.', '',
        0.0, 2.0, per_joint=True)
    limit: float = parameter(
        0.2, 'Largest reflected torque, as a part of the effort limits.', '', 0.0, 1.0)


@settings('collision')
class CollisionSettings:
    """Detection of collisions."""

    threshold: Numbers = parameter(
        (), 'External torque that is a collision; empty: no detection.', 'N m or N', 1e-6,
        per_joint=True)
    release: float = parameter(
        0.5, 'Part of the threshold below which a collision is over.', '', 0.0, 1.0, in_ros=False)
    duration: float = parameter(
        0.005, 'Time for which the threshold must be exceeded.', 's', 0.0, 1.0, in_ros=False)
    model_error: float = parameter(
        0.1, 'Part of the torques of motion, payload and friction by which the threshold is '
        'wider.', '', 0.0, 1.0, in_ros=False)
    reaction: str = parameter(
        'stop', 'Reaction to a collision: report; stop, and hold where the arm is found; float. '
        'The last two are faults.', choices=REACTIONS)
