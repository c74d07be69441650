"""Points of trajectory messages, from arrays in model order."""

from __future__ import annotations

from array import array

import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.trajectory import Reference, shortest_turn


def point(q=(), qd=(), qdd=(), effort=(), time: float = 0.0) -> JointTrajectoryPoint:
    """Return a point; `time` is that from the start, in s."""
    message = JointTrajectoryPoint(
        positions=array('d', q), velocities=array('d', qd), accelerations=array('d', qdd),
        effort=array('d', effort))
    nanoseconds = max(round(1e9 * time), 0)
    message.time_from_start.sec, message.time_from_start.nanosec = divmod(nanoseconds, 10**9)
    return message


def deviation(model: RobotModel, reference: Reference, states: StateInput
              ) -> tuple[np.ndarray, np.ndarray]:
    """Return reference minus state, (nv,) each: positions (shortest turn) and velocities."""
    error = reference.q - states.q
    for j in np.flatnonzero(model.continuous):
        error[j] = shortest_turn(float(error[j]))
    return error, reference.qd - states.qd
