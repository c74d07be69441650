"""
A payload: where to start looking for it, and its numbers as people give them.

Source: Khalil, Gautier, Lemoine, Identification of the payload inertial parameters of industrial
manipulators, 2007.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.equations import Equations, JOINT_TERMS
from robodyn_ros.identification.log_cholesky import to_matrix
from robodyn_ros.model.frame import Frame
from robodyn_ros.model.inertia import parallel_axis
from robodyn_ros.model.payload import Payload

_TERMS = len(JOINT_TERMS)
_LIGHTEST = 0.05  # kg: a guess has to weigh something
_RADIUS = 0.05    # m, of gyration of a guess
_FARTHEST = 0.5   # m from the link's origin


def guessed_payload(dynamics: Dynamics, joints: list[Equations],
                    link: str) -> tuple[int, NDArray]:
    """
    Return the body that holds a payload, and a first guess of it in that body.

    The guess is a small ball of the mass and at the place that explain the torque best, beside
    the URDF's arm and any friction.

    Raises
    ------
    ArgumentError
        The link belongs to the base.
    ModelError
        There is no such link.

    """
    frame = dynamics.model.link(link)
    if frame.body < 0:
        raise ArgumentError(f'link {link!r} belongs to the immovable base, no joint feels its '
                            'payload; name a link that moves', link=link)
    phi = dynamics.parameters
    # in parts of each joint's torque, so that each counts
    sizes = [max(np.sqrt(np.mean(joint.effort ** 2)), 1e-12) if len(joint) else 1.0
             for joint in joints]
    rest = [(joint.effort - joint.columns[:, :-_TERMS] @ phi) / size
            for joint, size in zip(joints, sizes)]
    found = np.linalg.lstsq(_columns(joints, frame.body, sizes), np.concatenate(rest),
                            rcond=1e-8)[0]
    mass = max(float(found[0]), _LIGHTEST)
    com = frame.rotation.T @ (found[1:4] / mass - frame.translation)
    com *= min(1.0, _FARTHEST / max(np.linalg.norm(com), 1e-12))
    ball = Payload(link, mass, com, mass * _RADIUS ** 2 * np.eye(3))
    return frame.body, ball.parameters_in_body(frame)


def mass_deviation(joints: list[Equations], body: int, deviation: NDArray) -> float:
    """
    Return the standard deviation of a payload's mass, had it any mass, also a negative one.

    Parameters
    ----------
    joints : list of Equations
        In model order.
    body : int
        That holds it.
    deviation : (nv,) array
        Of the errors of each joint's torque.

    """
    columns = _columns(joints, body, deviation)
    return float(np.sqrt(np.linalg.pinv(columns.T @ columns, rcond=1e-12, hermitian=True)[0, 0]))


def _columns(joints: list[Equations], body: int, sizes: Sequence[float]) -> NDArray:
    """Return weighted columns of mass, first moment, and each joint's friction and offset."""
    blocks = []
    for j, (joint, size) in enumerate(zip(joints, sizes)):
        own = np.zeros((len(joint), 3 * len(joints)))
        own[:, 3 * j:3 * j + 3] = joint.columns[:, -_TERMS:-1]  # all but the rotor's
        blocks.append(np.hstack([joint.columns[:, 10 * body:10 * body + 4], own]) / size)
    return np.vstack(blocks)


def payload_numbers(phi: NDArray, frame: Frame) -> NDArray:
    """
    Return mass, centre of mass and inertia about it, in the frame of the link; (10,).

    Parameters
    ----------
    phi : (10,) array
        In the body, about its origin.
    frame : Frame
        Pose of the link in the body.

    """
    P, mass = to_matrix(phi), phi[0]
    com = P[:3, 3] / mass
    J = np.array([[phi[4], phi[7], phi[8]], [phi[7], phi[5], phi[9]], [phi[8], phi[9], phi[6]]])
    R = frame.rotation
    about_com = R.T @ (J - parallel_axis(np.zeros((3, 3)), mass, com)) @ R
    return np.concatenate([[mass], R.T @ (com - frame.translation),
                           np.diag(about_com), about_com[[0, 0, 1], [1, 2, 2]]])


def payload_derivative(phi: NDArray, frame: Frame) -> NDArray:
    """Return the derivative of `payload_numbers`, (10, 10), by differences."""
    steps = 1e-6 * np.maximum(np.abs(phi), 1e-3 * phi[0])
    return np.column_stack([
        (payload_numbers(phi + step * unit, frame) - payload_numbers(phi - step * unit, frame))
        / (2.0 * step) for step, unit in zip(steps, np.eye(10))])
