"""Parameters about what acts on the arm from outside."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control import CollisionSettings, ObserverSettings
from robodyn_ros.control.contact.settings import REACTIONS, SOURCES
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.parameters import Parameter

OBSERVER_PARAMETERS = (
    Parameter('observer.bandwidth', 'double_array', (30.0,), 'Of the momentum observer: external '
              'torque shows with the time constant 1/bandwidth.', 'rad/s', minimum=0.1,
              maximum=500.0, per_joint=True),
    Parameter('observer.torque_source', 'string', 'command', 'What the motors are taken to give: '
              'what is commanded, or the effort of the joint states.', choices=SOURCES),
    Parameter('observer.link', 'string', '', 'Link of ~/estimated_wrench; empty: the tip.',
              read_only=True),
    Parameter('disturbance_observer', 'bool', False, 'Whether computed_torque and feedforward_pd '
              'compensate unknown external torque, as the observer sees it; in place of ki.'),
    Parameter('disturbance_limit', 'double', 0.3, 'Part of the effort limits that it may use.',
              minimum=0.0, maximum=1.0),
    Parameter('reflection.gain', 'double_array', (0.0,), 'Part of the torque on '
              '~/reflected_torque that a hand feels while the arm floats.', minimum=0.0,
              maximum=2.0, per_joint=True),
    Parameter('reflection.limit', 'double', 0.2, 'Part of the effort limits that it may use.',
              minimum=0.0, maximum=1.0),
    Parameter('collision.threshold', 'double_array', (), 'Unknown external torque that is a '
              'collision; empty: none is.', 'N m or N', minimum=1e-6, per_joint=True),
    Parameter('collision.release', 'double', 0.5, 'Part of the threshold below which it is over.',
              minimum=0.0, maximum=1.0),
    Parameter('collision.duration', 'double', 0.005, 'For which the threshold must be exceeded.',
              's', minimum=0.0, maximum=1.0),
    Parameter('collision.model_error', 'double', 0.1, 'Part of the torque of the motion, the '
              'payload and friction by which the threshold is wider.', minimum=0.0, maximum=1.0),
    Parameter('collision.reaction', 'string', 'stop', 'What is done: tell; hold where the arm is '
              'found; or give way. The last two are faults.', choices=REACTIONS),
)


def observer_from(values: SimpleNamespace) -> ObserverSettings:
    """
    Return what the parameters ask for.

    Raises
    ------
    ParameterError
        The torque of the motors would be ambiguous.

    """
    if values.observer_torque_source == 'measured' and values.driver_compensates_gravity:
        raise ParameterError(
            'observer.torque_source: measured does not go with driver_compensates_gravity: true: '
            'drivers differ in whether the effort they report has gravity in it; set it to '
            'command')
    return ObserverSettings(
        values.observer_torque_source, values.observer_link, values.disturbance_limit,
        CollisionSettings(
            values.collision_threshold or None, values.collision_release,
            values.collision_duration, values.collision_model_error,
            values.collision_reaction))
