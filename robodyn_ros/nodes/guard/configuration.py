"""
Configuration that controller and guard share, and the loads that the guard takes over.

The controller publishes it on `~/guard_contract`, as JSON in a latched std_msgs/String. Thus a
guard that starts later has the payload as well, and refuses to guard a controller whose parameters
differ from its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import hashlib
import json
from typing import Any

import numpy as np

from robodyn_ros.exceptions import ArgumentError, printable, shown
from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.nodes.command_message import CommandSettings, DriveSettings
from robodyn_ros.safety.limits import TorqueLimits

TOPIC = 'guard_contract'
_TOLERANCE = 1e-9     # relative difference of equal limits
_MAX_LENGTH = 65536   # characters of a message
_MAX_SHOWN = 200      # characters of a value in an error message
_MAX_PAYLOADS = 100
_LOOP = 'delay', 'excess'  # of `MeasuredLoop`
# keys whose values must be equal, and the parameters that determine them
_PARAMETERS = {
    'model': 'urdf_file, robot_description, base, tip, locked or velocity_limit (digest of the '
             'model)',
    'command_topic': 'effort_command_topic',
    'command_joints': 'command_joints',
    'joint_commands': 'publish_joint_commands',
    'command': 'command_type, command_fields, drive_kp, drive_kd or effort_quantum',
    'effort_scale': 'effort_scale',
    'driver_compensates_gravity': 'driver_compensates_gravity'}


def shared_parameters(model: RobotModel, command: CommandSettings, limits: TorqueLimits,
                      command_topic: str, usable: np.ndarray,
                      drives: DriveSettings) -> dict[str, Any]:
    """
    Return the part of the configuration that must be equal.

    Parameters
    ----------
    model : RobotModel
        Model of the arm.
    command : CommandSettings
        Parameters of the commands.
    limits : TorqueLimits
        Limits of the torque.
    command_topic : str
        Full name of the torque topic.
    usable : (nv,) array
        Effort limits times margin, in N m or N.
    drives : DriveSettings
        Messages of the commands, and gains of the drives.

    """
    return {'model': model_digest(model), 'command_topic': command_topic,
            'command_joints': list(command.command_joints or model.joint_names),
            'joint_commands': bool(command.publish_joint_commands),
            'command': [drives.command_type, *drives.command_fields, *map(str, (
                *_shortest(drives.drive_kp), *_shortest(drives.drive_kd),
                *_shortest(drives.effort_quantum)))],
            'effort_scale': _shortest(command.effort_scale),
            'driver_compensates_gravity': bool(limits.driver_compensates_gravity),
            'effort': dict(zip(model.joint_names, usable.tolist()))}


def _shortest(values: Sequence[float]) -> list[float]:
    """Return one number where those of all joints are equal."""
    return list(values[:1] if len(set(values)) == 1 else values)


def model_digest(model: RobotModel) -> str:
    """Return a digest of masses, geometry, joints, and limits of position and velocity."""
    digest = hashlib.sha256(model.structure_key.encode())
    digest.update(json.dumps([model.base_link, model.joint_names]).encode())
    for limits in (model.lower, model.upper, model.velocity_limit):
        digest.update(limits.astype('<f8').tobytes())
    return digest.hexdigest()[:12]


def loads_of(payloads: Mapping[str, Payload], gravity: np.ndarray,
             armature: np.ndarray) -> dict[str, Any]:
    """Return the loads, the part of the configuration that the guard takes over."""
    return {'payloads': [{'link': load.link, 'mass': load.mass, 'com': load.com.tolist(),
                          'inertia': load.inertia.tolist()} for load in payloads.values()],
            'gravity': np.asarray(gravity).tolist(), 'armature': np.asarray(armature).tolist()}


def loop_of(loop: Any) -> dict[str, Any]:
    """Return what was measured, a `MeasuredLoop` or None: null unless all joints are known."""
    known = loop is not None and loop.known.all() and not loop.unexplained.any()
    return {f'loop_{name}': getattr(loop, name).tolist() if known else None for name in _LOOP}


def loop_from(configuration: Mapping[str, Any], size: int) -> list[np.ndarray]:
    """Return delay and excess of `size` joints, infinite where they are null; may raise."""
    return [np.full(size, np.inf) if configuration.get(f'loop_{name}') is None
            else vector_from(configuration, f'loop_{name}', size) for name in _LOOP]


def difference(own: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the parameter that differs in guard and controller, with both values; or ''."""
    for key, parameter in _PARAMETERS.items():
        if own[key] != other.get(key):
            return (f'{parameter} differs: {_text(own[key])} here, {_text(other.get(key))} in '
                    'the controller')
    effort = other.get('effort')
    for joint, limit in own['effort'].items():
        reported = effort.get(joint) if isinstance(effort, dict) else None
        if not isinstance(reported, float) or not abs(reported - limit) <= _TOLERANCE * limit:
            return (f'effort_limit x effort_margin of joint {joint!r} differs: {limit:g} here, '
                    f'{_text(reported)} in the controller')
    return ''


def configuration_from(text: str) -> dict[str, Any]:
    """Return the configuration in a message; raise `ArgumentError` if it is not one."""
    try:
        configuration = json.loads(text) if len(text) < _MAX_LENGTH else None
    except (ValueError, RecursionError):
        configuration = None
    if not isinstance(configuration, dict):
        raise ArgumentError(f'{TOPIC}: not the configuration of a controller: {shown(text)}')
    return configuration


def payloads_from(configuration: Mapping[str, Any]) -> list[Payload]:
    """Return the payloads; raise `RobodynError` if one is not physical."""
    loads = configuration.get('payloads')
    if not isinstance(loads, list) or len(loads) > _MAX_PAYLOADS:
        raise ArgumentError(f'{TOPIC}: payloads is {shown(loads)}, not a list of at most '
                            f'{_MAX_PAYLOADS}')
    for load in loads:
        if not isinstance(load, dict) or not isinstance(load.get('link'), str):
            raise ArgumentError(f'{TOPIC}: a payload is {shown(load)}, without the name of a link')
    return [Payload(load['link'], *(load.get(key) for key in ('mass', 'com', 'inertia')))
            for load in loads]


def vector_from(configuration: Mapping[str, Any], key: str, size: int) -> np.ndarray:
    """Return `size` finite numbers of a configuration; raise `ArgumentError` otherwise."""
    try:
        vector = np.array(configuration[key], dtype=float)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        vector = np.empty(0)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ArgumentError(
            f'{TOPIC}: {key} is {shown(configuration.get(key))}, not {size} numbers')
    return vector


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return printable(value, _MAX_SHOWN)
    if isinstance(value, list):
        return printable(f'[{", ".join(map(_text, value[:_MAX_PAYLOADS]))}]', _MAX_SHOWN)
    return 'nothing' if value is None else shown(value)
