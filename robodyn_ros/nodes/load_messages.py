"""Conversions of messages with payloads, gravity and target poses."""

from __future__ import annotations

from geometry_msgs.msg import InertiaStamped, PoseStamped, Vector3Stamped
import numpy as np

from robodyn_ros.exceptions import ArgumentError, ModelError
from robodyn_ros.model import Payload


def payload_from(message: InertiaStamped) -> Payload:
    """Return the payload in a message; raise if it names no link or is not physical."""
    inertia = message.inertia
    about_com = np.array([
        [inertia.ixx, inertia.ixy, inertia.ixz], [inertia.ixy, inertia.iyy, inertia.iyz],
        [inertia.ixz, inertia.iyz, inertia.izz]])
    return Payload(link_of(message, 'holds it'), inertia.m, np.array(vector(inertia.com)),
                   about_com)


def payload_message(payload: Payload) -> InertiaStamped:
    """Return the message of a payload, without a stamp."""
    message, (xx, xy, xz, _, yy, yz, _, _, zz) = InertiaStamped(), payload.inertia.flat
    inertia = message.inertia
    message.header.frame_id = payload.link
    inertia.m = payload.mass
    inertia.com.x, inertia.com.y, inertia.com.z = payload.com.tolist()
    inertia.ixx, inertia.ixy, inertia.ixz = float(xx), float(xy), float(xz)
    inertia.iyy, inertia.iyz, inertia.izz = float(yy), float(yz), float(zz)
    return message


def gravity_from(message: Vector3Stamped, base: str) -> list[float]:
    """Return gravity in the frame of the base; raise if the message has another frame."""
    _require_base(message, base, 'gravity')
    return vector(message.vector)


def pose_from(message: PoseStamped, base: str) -> tuple[list[float], list[float]]:
    """Return position and quaternion (x, y, z, w); raise if the frame is not the base."""
    _require_base(message, base, 'a target pose')
    turn = message.pose.orientation
    return vector(message.pose.position), [*vector(turn), turn.w]


def _require_base(message, base: str, what: str) -> None:
    frame = message.header.frame_id.strip('/')
    if frame not in ('', base):
        raise ModelError(f'{what} in the frame {frame!r}; give it in that of the base, '
                         f'{base!r}', frame=frame)


def link_of(message, role: str) -> str:
    """Return the link that a message names; raise `ArgumentError` if it names none."""
    link = message.header.frame_id.strip('/')
    if not link:
        raise ArgumentError(f'header.frame_id is empty: name the link that {role}')
    return link


def vector(message) -> list[float]:
    """Return a vector, or a point, as a list."""
    return [message.x, message.y, message.z]
