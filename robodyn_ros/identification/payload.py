"""
Payloads: initial guess, and parameters in the frame of the link.

Source: Khalil, Gautier, Lemoine, Identification of the payload inertial parameters of industrial
manipulators, 2007.
"""

from __future__ import annotations

from collections.abc import Iterable

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
_MIN_MASS = 0.05  # kg, least mass of the guess
_RADIUS = 0.05    # m, radius of gyration of the guess
_FARTHEST = 0.5   # m, largest distance of the guess from the link's origin


def moving_link(dynamics: Dynamics, link: str) -> Frame:
    """
    Return the frame of a link that can hold a payload.

    Raises
    ------
    ArgumentError
        The link belongs to the base.
    ModelError
        There is no such link.

    """
    frame = dynamics.model.link(link)
    if frame.body < 0:
        raise ArgumentError(f'link {link!r} belongs to the immovable base, no joint moves its '
                            'payload; name a link that moves', link=link)
    return frame


def initial_payload(dynamics: Dynamics, joints: list[Equations],
                    link: str) -> tuple[int, NDArray]:
    """
    Return the body that holds a payload, and an initial guess of it in that body.

    The guess is a small ball whose mass and position explain the torque best, in addition to the
    URDF's arm and any friction. Raises as `moving_link`.
    """
    frame = moving_link(dynamics, link)
    phi = dynamics.parameters
    # relative to each joint's torque, so that all joints count equally
    sizes = [max(np.sqrt(np.mean(joint.effort ** 2)), 1e-12) if len(joint) else 1.0
             for joint in joints]
    rest = [(joint.effort - joint.columns[:, :-_TERMS] @ phi) / size
            for joint, size in zip(joints, sizes)]
    found = np.linalg.lstsq(_columns(joints, frame.body, sizes), np.concatenate(rest),
                            rcond=1e-8)[0]
    mass = max(float(found[0]), _MIN_MASS)
    com = frame.rotation.T @ (found[1:4] / mass - frame.translation)
    com *= min(1.0, _FARTHEST / max(float(np.linalg.norm(com)), 1e-12))
    ball = Payload(link, mass, com, mass * _RADIUS ** 2 * np.eye(3))
    return frame.body, ball.parameters_in_body(frame)


def mass_deviation(joints: list[Equations], body: int, deviation: NDArray) -> float:
    """
    Return the standard deviation of a payload's mass, without the bound at 0.

    Parameters
    ----------
    joints : list of Equations
        Equations of each joint, in model order.
    body : int
        Body that holds the payload.
    deviation : (nv,) array
        Standard deviation of each joint's torque.

    """
    columns = _columns(joints, body, deviation)
    return float(np.sqrt(np.linalg.pinv(columns.T @ columns, rcond=1e-12, hermitian=True)[0, 0]))


def _columns(joints: list[Equations], body: int, sizes: Iterable[float]) -> NDArray:
    """Return weighted columns of mass, first moment, and each joint's friction and offset."""
    blocks = []
    for j, (joint, size) in enumerate(zip(joints, sizes)):
        own = np.zeros((len(joint), 3 * len(joints)))
        # viscous and Coulomb friction, offset
        own[:, 3 * j:3 * j + 3] = joint.columns[:, -_TERMS:3 - _TERMS]
        blocks.append(np.hstack([joint.columns[:, 10 * body:10 * body + 4], own]) / size)
    return np.vstack(blocks)


def payload_numbers(phi: NDArray, frame: Frame) -> NDArray:
    """
    Return mass, centre of mass and inertia about it, in the frame of the link; (10,).

    Parameters
    ----------
    phi : (10,) array
        Parameters in the body, about its origin.
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
