"""
What controller and guard must have in common, and what the guard learns from the controller.

The controller says on `~/guard_contract` how it understands the arm, as JSON in a latched
std_msgs/String: so that a guard that is started late, or anew, knows the payload, too, and refuses
to guard what it would command otherwise than the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
import json
from typing import Any

import numpy as np

from robodyn_ros.exceptions import ArgumentError, printable, shown
from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.nodes.command_settings import CommandSettings
from robodyn_ros.safety.torque_limits import TorqueLimits

TOPIC = 'guard_contract'
_CLOSE = 1e-9     # by which equal limits may differ
_LONGEST = 65536  # characters
_SHOWN = 200      # characters of a value in a message
_MOST = 100       # payloads
# what must be equal, and the parameters that decide it
_TERMS = {
    'model': 'urdf_file, robot_description, base, tip or locked (digest of the model)',
    'command_topic': 'effort_command_topic',
    'command_joints': 'command_joints',
    'joint_commands': 'publish_joint_commands',
    'driver_compensates_gravity': 'driver_compensates_gravity'}


def terms_of(model: RobotModel, command: CommandSettings, limits: TorqueLimits, command_topic: str,
             usable: np.ndarray) -> dict[str, Any]:
    """
    Return what must be equal.

    Parameters
    ----------
    model : RobotModel
        Of the arm.
    command : CommandSettings
        Parameters of the commands.
    limits : TorqueLimits
        Parameters of the torque limits.
    command_topic : str
        Full name of the topic of the torques.
    usable : (nv,) array
        Effort limits times margin.

    """
    return {'model': model_digest(model), 'command_topic': command_topic,
            'command_joints': list(command.command_joints or model.joint_names),
            'joint_commands': bool(command.publish_joint_commands),
            'driver_compensates_gravity': bool(limits.driver_compensates_gravity),
            'effort': dict(zip(model.joint_names, usable.tolist()))}


def model_digest(model: RobotModel) -> str:
    """Return a few letters that differ if arms do: in masses, geometry, joints or their limits."""
    digest = hashlib.sha256(model.structure_key.encode())
    digest.update(json.dumps([model.base_link, model.joint_names]).encode())
    for limits in (model.lower, model.upper):
        digest.update(limits.astype('<f8').tobytes())
    return digest.hexdigest()[:12]


def loads_of(payloads: Mapping[str, Payload], gravity: np.ndarray,
             armature: np.ndarray) -> dict[str, Any]:
    """Return what the guard is to reckon with."""
    return {'payloads': [{'link': load.link, 'mass': load.mass, 'com': load.com.tolist(),
                          'inertia': load.inertia.tolist()} for load in payloads.values()],
            'gravity': np.asarray(gravity).tolist(), 'armature': np.asarray(armature).tolist()}


def difference(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return which parameter differs between guard and controller, with both values; or ''."""
    for key, parameter in _TERMS.items():
        if own[key] != theirs.get(key):
            return (f'{parameter} differs: {_told(own[key])} here, {_told(theirs.get(key))} in '
                    'the controller')
    effort = theirs.get('effort')
    for joint, limit in own['effort'].items():
        other = effort.get(joint) if isinstance(effort, dict) else None
        if not isinstance(other, float) or not abs(other - limit) <= _CLOSE * limit:
            return (f'effort_limit x effort_margin of joint {joint!r} differs: {limit:g} here, '
                    f'{_told(other)} in the controller')
    return ''


def contract_from(text: str) -> dict[str, Any]:
    """Return what a controller says (raises `ArgumentError` if that cannot be understood)."""
    try:
        contract = json.loads(text) if len(text) < _LONGEST else None
    except (ValueError, RecursionError):
        contract = None
    if not isinstance(contract, dict):
        raise ArgumentError(f'{TOPIC}: not the contract of a controller: {shown(text)}')
    return contract


def payloads_from(contract: Mapping[str, Any]) -> list[Payload]:
    """Return the payloads of a contract (raises `RobodynError` if no real body is like that)."""
    loads = contract.get('payloads')
    if not isinstance(loads, list) or len(loads) > _MOST:
        raise ArgumentError(f'{TOPIC}: payloads is {shown(loads)}, not a list of at most {_MOST}')
    for load in loads:
        if not isinstance(load, dict) or not isinstance(load.get('link'), str):
            raise ArgumentError(f'{TOPIC}: a payload is {shown(load)}, without the name of a link')
    return [Payload(load['link'], *(load.get(key) for key in ('mass', 'com', 'inertia')))
            for load in loads]


def vector_from(contract: Mapping[str, Any], key: str, size: int) -> np.ndarray:
    """Return so many numbers of a contract (raises `ArgumentError`)."""
    try:
        vector = np.array(contract[key], dtype=float)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        vector = np.empty(0)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ArgumentError(f'{TOPIC}: {key} is {shown(contract.get(key))}, not {size} numbers')
    return vector


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return printable(value, _SHOWN)
    if isinstance(value, list):
        return printable(f'[{", ".join(map(_told, value[:_MOST]))}]', _SHOWN)
    return 'nothing' if value is None else shown(value)
