"""Checked requests of the page: motions from rest to rest, payloads that the motors can hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.trajectory import least_duration, Reference
from robodyn_ros.trajectory.checks import check_trajectory
from robodyn_ros.trajectory.feasibility import check_feasibility
from robodyn_ros.trajectory.points import TrajectoryPoint
from robodyn_ros.view.snapshot import Move

_MIN_DURATION = 0.5  # s


def plan_move(dynamics: Dynamics, start: np.ndarray, goal: np.ndarray, speed: float,
              controlled: Sequence[str] = ()) -> Move:
    """
    Return a motion within the limits of position, velocity and torque.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm.
    start, goal : (nv,) array
        Present reference, and goal.
    speed : float
        Part of the velocity limits that the fastest joint reaches.
    controlled : sequence of str
        Joints of the controller; empty: all. The others do not move.

    Raises
    ------
    TrajectoryError
        The motion violates a limit; with joint, value, limit and remedy.

    """
    model = dynamics.model
    chosen = np.array([not controlled or name in controlled for name in model.joint_names])
    goal = np.where(chosen, goal, start)
    duration = move_duration(model, goal - start, speed)
    point = TrajectoryPoint(goal.tolist(), np.zeros(model.nv).tolist(),
                            np.zeros(model.nv).tolist(), time_from_start=duration)
    trajectory = check_trajectory(model, model.joint_names, [point], Reference.at_rest(start))
    check_feasibility(trajectory, lambda q, qd, qdd: (
        dynamics.inverse_dynamics(q, qd, qdd) + model.friction_torque(qd)),
        model.effort_limit, model.joint_names, units=model.effort_units)
    names = tuple(np.array(model.joint_names)[chosen].tolist())
    return Move(names, tuple(goal[chosen].tolist()), duration)


def move_duration(model: RobotModel, distance: np.ndarray, speed: float) -> float:
    """Return the duration in s of a motion by (nv,) distances, at a part of velocity limits."""
    return max(least_duration(speeds(model), distance, max(speed, 1e-3)), _MIN_DURATION)


def default_poses(model: RobotModel) -> dict[str, np.ndarray]:
    """Return poses for every arm: all joints at 0, or at the nearest limit."""
    return {'zero': np.clip(np.zeros(model.nv), model.lower, model.upper)}


def check_payload(dynamics: Dynamics, q: np.ndarray, link: str, mass: float) -> None:
    """Raise `ArgumentError` if a motor cannot hold a mass (kg) at the origin of a link at `q`."""
    model, unloaded = dynamics.model, dynamics.gravity(q)
    torque = unloaded - dynamics.jacobian(q, link)[:3].T @ (mass * model.gravity)
    # a joint that cannot hold the arm alone may have a payload that reduces its torque
    over = np.abs(torque) > np.maximum(model.effort_limit, np.abs(unloaded))
    if over.any():
        j = int(np.argmax(over))
        name, unit = model.joint_names[j], model.effort_units[j]
        raise ArgumentError(
            f"joint '{name}' would need {torque[j]:.4g} {unit} to hold {mass:g} kg here, its "
            f'motor has {model.effort_limit[j]:g} {unit}: choose less, or another pose',
            joint=name, value=float(torque[j]), limit=float(model.effort_limit[j]))
