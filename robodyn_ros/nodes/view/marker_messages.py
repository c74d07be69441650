"""Markers for RViz: centre of mass, mass ellipsoid and forces."""

from __future__ import annotations

from geometry_msgs.msg import Point
import numpy as np
from visualization_msgs.msg import Marker

from robodyn_ros.control.laws.task_space import quaternion
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.view.overlay import Ellipsoid, force_arrow

_NAMESPACE = 'robodyn'
_SHAFT, _HEAD = 0.012, 0.03  # m
_LIFETIME = 500_000_000      # ns, after the end of the node
_AMBER, _PURPLE = (0.89, 0.6, 0.18, 1.0), (0.55, 0.39, 0.77, 0.4)
RED, BLUE = (0.84, 0.27, 0.27, 1.0), (0.26, 0.52, 0.96, 1.0)


def center_of_mass(dynamics: Dynamics, q: np.ndarray) -> Marker:
    """Return a sphere at the centre of mass."""
    marker = _marker(dynamics, 'centre of mass', Marker.SPHERE, _AMBER)
    _set(marker.pose.position, dynamics.center_of_mass(q))
    _set(marker.scale, (0.05, 0.05, 0.05))
    return marker


def ellipsoid(dynamics: Dynamics, found: Ellipsoid) -> Marker:
    """Return the ellipsoid of the effective mass of a link."""
    marker = _marker(dynamics, 'mass ellipsoid', Marker.SPHERE, _PURPLE)
    _set(marker.pose.position, found.center)
    _set(marker.scale, 2.0 * found.lengths)
    turn = marker.pose.orientation
    turn.w, (turn.x, turn.y, turn.z) = quaternion(found.rotation.tolist())
    return marker


def arrow(dynamics: Dynamics, what: str, tail: np.ndarray, force: np.ndarray,
          color: tuple[float, ...]) -> Marker:
    """Return a force that acts at a point, both in the frame of the base."""
    marker = _marker(dynamics, what, Marker.ARROW, color)
    marker.scale.x, marker.scale.y = _SHAFT, _HEAD
    for end in force_arrow(tail, force):
        point = Point()
        _set(point, end)
        marker.points.append(point)
    return marker


def _marker(dynamics: Dynamics, what: str, kind: int, color: tuple[float, ...]) -> Marker:
    marker = Marker(ns=f'{_NAMESPACE}: {what}', type=kind, action=Marker.ADD)
    marker.header.frame_id = dynamics.model.base_link
    marker.pose.orientation.w = 1.0
    marker.lifetime.nanosec = _LIFETIME
    marker.frame_locked = True
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = color
    return marker


def _set(vector, numbers) -> None:
    vector.x, vector.y, vector.z = map(float, numbers)
