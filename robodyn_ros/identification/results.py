"""Results of an identification as files: parameters of the controller, and a URDF."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
import shlex
from typing import TypeGuard
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import as_yaml, CONTROLLER
from robodyn_ros.identification.dry_friction import DryFriction
from robodyn_ros.identification.estimate import Estimate
from robodyn_ros.identification.log_cholesky import to_matrix
from robodyn_ros.model import RobotModel

# rad/s or m/s, defaults of the parameters
STRIBECK_VELOCITY, WIDTH = 0.01, 0.001
# w per v with v / sqrt(v^2 + w^2) nearest to tanh(velocity / v): they differ by at most 0.05
_WIDTH_OF_TANH = 0.85
# parameters of the controller for estimates of each joint; offsets and scales have none
JOINT_PARAMETERS = {'viscous': 'friction.viscous', 'coulomb': 'friction.coulomb',
                    'armature': 'armature'}


def parameters(found: Estimate, dry: DryFriction | None = None) -> dict[str, list[float]]:
    """
    Return the parameters of the controller by name, one number for each joint.

    Friction that grows with the load has no parameter; that of the mean load is added to Coulomb
    friction.
    """
    values = {name: [each.value for each in found.joints[kind]]
              for kind, name in JOINT_PARAMETERS.items() if kind in found.joints}
    if 'load' in found.joints:
        values['friction.coulomb'] = [
            coulomb + growth.value * load for coulomb, growth, load in zip(
                values['friction.coulomb'], found.joints['load'], found.mean_load.tolist())]
    if dry is not None and 'stribeck' in found.joints:
        values['friction.stiction'] = [
            coulomb + each.value
            for coulomb, each in zip(values['friction.coulomb'], found.joints['stribeck'])]
        values['friction.stribeck_velocity'] = np.where(
            np.isfinite(dry.velocity), dry.velocity, STRIBECK_VELOCITY).tolist()
    if _is_smooth(dry) and 'friction.coulomb' in values:
        values['friction.width'] = np.where(
            np.isfinite(dry.velocity), np.maximum(_WIDTH_OF_TANH * dry.velocity, WIDTH),
            WIDTH).tolist()
    return dict(sorted(values.items(), key=lambda item: '.' not in item[0]))


def _is_smooth(dry: DryFriction | None) -> TypeGuard[DryFriction]:
    """Return whether the data supports smooth friction for some joint."""
    return dry is not None and dry.shape == 'smooth' and bool(np.isfinite(dry.velocity).any())


def remarks(found: Estimate, payload_link: str | None,
            dry: DryFriction | None = None) -> list[str]:
    """Return the results without a parameter: the payload, as a command, and the torque scale."""
    lines = []
    if _is_smooth(dry):
        lines.append('Dry friction is coulomb * tanh(velocity / v), v of each joint: '
                     + as_yaml(np.nan_to_num(dry.velocity).tolist()))
    if 'load' in found.joints:
        lines.append('Part of the load by which dry friction grows, of each joint: '
                     + as_yaml([each.value for each in found.joints['load']])
                     + ', contained in friction.coulomb for a load of '
                     + as_yaml(found.mean_load.tolist()))
    if found.has_payload and payload_link is not None:
        lines += ['The payload; report it to controller and guard while they run:',
                  payload_command(payload_link, [each.value for each in found.payload])]
    if 'scale' in found.joints:
        scale = as_yaml([each.value for each in found.joints['scale']])
        lines.append(f'Ratio of recorded effort to joint effort, for the driver: {scale}')
    return lines


def payload_command(link: str, numbers: Sequence[float], namespace: str = '') -> str:
    """Return the command that publishes a payload of ten numbers as in `Estimate.payload`."""
    mass, x, y, z, xx, yy, zz, xy, xz, yz = map(as_yaml, numbers)
    name = json.dumps(link, ensure_ascii=False)
    message = (f'{{header: {{frame_id: {name}}}, inertia: {{m: {mass}, '
               f'com: {{x: {x}, y: {y}, z: {z}}}, ixx: {xx}, ixy: {xy}, ixz: {xz}, iyy: {yy}, '
               f'iyz: {yz}, izz: {zz}}}}}')
    space = f'/{namespace.strip("/")}' if namespace else ''
    return (f'ros2 topic pub --once {space}/{CONTROLLER}/payload geometry_msgs/msg/InertiaStamped '
            + shlex.quote(message))


def identified_urdf(source: Path, model: RobotModel, phi: np.ndarray) -> str:
    """
    Return a URDF with the identified inertias of the moving links.

    They include the links fixed to a moving link, which have no <inertial> of their own.

    Parameters
    ----------
    source : Path
        URDF of the model.
    model : RobotModel
        Model that was read from it.
    phi : (10 nb,) array
        Inertial parameters as in `Dynamics.parameters`.

    Raises
    ------
    ParameterError
        A movable joint of the URDF was locked.

    """
    check_not_locked(source, model)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.parse(source, parser).getroot()
    bodies = dict(zip(model.body_names, np.reshape(phi, (-1, 10))))
    for link in root.findall('link'):
        name = link.get('name', '')
        frame = model.links.get(name)
        if frame is None or frame.body < 0:
            continue
        for inertial in link.findall('inertial'):
            link.remove(inertial)
        if name in bodies and bodies[name][0] > 0.0:
            link.insert(0, _inertial(bodies[name]))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode', xml_declaration=False) + '\n'


def check_not_locked(source: Path, model: RobotModel) -> None:
    """Raise `ParameterError` if a movable joint of the URDF of a model is locked."""
    for joint in ElementTree.parse(source).getroot().findall('joint'):
        parent, child = (model.links.get(each.get('link', '')) for end in ('parent', 'child')
                         for each in joint.findall(end)[:1])
        if (joint.get('type') != 'fixed' and parent is not None and child is not None
                and parent.body == child.body >= 0):
            raise ParameterError(
                f'joint {joint.get("name")!r} was locked, so that the inertias on both sides of '
                'it are identified only together: a URDF can be written only without locked '
                'joints; leave out --urdf-output', joint=joint.get('name'))


def _inertial(phi: np.ndarray) -> ElementTree.Element:
    """Return the <inertial> element of a body."""
    P, mass = to_matrix(phi), float(phi[0])
    com = P[:3, 3] / mass
    spread = P[:3, :3] - mass * np.outer(com, com)
    J = np.trace(spread) * np.eye(3) - spread
    element = ElementTree.Element('inertial')
    ElementTree.SubElement(element, 'origin', xyz=' '.join(f'{x:.9g}' for x in com), rpy='0 0 0')
    ElementTree.SubElement(element, 'mass', value=f'{mass:.9g}')
    ElementTree.SubElement(element, 'inertia', {
        'i' + 'xyz'[i] + 'xyz'[k]: f'{J[i, k]:.9g}' for i in range(3) for k in range(i, 3)})
    return element
