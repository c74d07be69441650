"""Parameters of external forces: observer, force reflection and collisions."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control import CollisionSettings, ObserverSettings
from robodyn_ros.control.contact.settings import REACTIONS, SOURCES
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.parameters import Parameter

OBSERVER_PARAMETERS = (
    Parameter('observer.bandwidth', 'double_array', (30.0,), 'Bandwidth of the momentum observer: '
              'its estimate follows the external torque with the time constant 1/bandwidth.',
              'rad/s', minimum=0.1, maximum=500.0, per_joint=True),
    Parameter('observer.torque_source', 'string', 'command', 'Source of the motor torque: the '
              'commanded torque, or the effort of the joint states.', choices=SOURCES),
    Parameter('observer.link', 'string', '', 'Link of ~/estimated_wrench; empty: the tip.',
              read_only=True),
    Parameter('disturbance_observer', 'bool', False, 'Compensation of the unknown external torque '
              'that the observer estimates, by computed_torque and feedforward_pd; in place of '
              'ki.'),
    Parameter('disturbance_limit', 'double', 0.3, 'Limit of the disturbance compensation, as a '
              'fraction of the effort limits.', minimum=0.0, maximum=1.0),
    Parameter('reflection.gain', 'double_array', (0.0,), 'Gain of the torque on '
              '~/reflected_torque that is applied while the arm floats.', minimum=0.0,
              maximum=2.0, per_joint=True),
    Parameter('reflection.limit', 'double', 0.2, 'Limit of the reflected torque, as a fraction of '
              'the effort limits.', minimum=0.0, maximum=1.0),
    Parameter('collision.threshold', 'double_array', (), 'Unknown external torque above which a '
              'collision is detected; empty: no detection.', 'N m or N', minimum=1e-6,
              per_joint=True),
    Parameter('collision.release', 'double', 0.5, 'Fraction of the threshold below which a '
              'collision is over.', minimum=0.0, maximum=1.0),
    Parameter('collision.duration', 'double', 0.005, 'Time for which the threshold must be '
              'exceeded.', 's', minimum=0.0, maximum=1.0),
    Parameter('collision.model_error', 'double', 0.1, 'Fraction of the torque of motion, payload '
              'and friction that is added to the threshold.', minimum=0.0, maximum=1.0),
    Parameter('collision.reaction', 'string', 'stop', 'Reaction to a collision: report it; stop '
              'and hold; or compensate gravity only (float). The last two latch a fault.',
              choices=REACTIONS),
)


def observer_from(values: SimpleNamespace) -> ObserverSettings:
    """
    Return the settings of observer and collision detection.

    Raises
    ------
    ParameterError
        The source of the motor torque is ambiguous.

    """
    if values.observer_torque_source == 'measured' and values.driver_compensates_gravity:
        raise ParameterError(
            'observer.torque_source: measured does not go with driver_compensates_gravity: true: '
            'drivers differ in whether the reported effort includes the gravity torque; set it '
            'to command')
    return ObserverSettings(
        values.observer_torque_source, values.observer_link, values.disturbance_limit,
        CollisionSettings(
            values.collision_threshold or None, values.collision_release,
            values.collision_duration, values.collision_model_error,
            values.collision_reaction))
