"""Rates of the feedback of a law: kp (1/s^2) and kd (1/s), as accelerations."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.dynamics.usual_inertia import MIN_INERTIA


def of_joints(gains: Gains, _task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of gains that act on accelerations."""
    return gains.kp, gains.kd


def of_springs(gains: Gains, _task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of joint impedances for the typical inertia of each joint."""
    return _spring(gains, gains.inertia)


def of_shaped_springs(gains: Gains, _task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of joint impedances for the requested inertia of each joint."""
    return _spring(gains, gains.apparent_inertia)


def of_task(_gains: Gains, task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of operational_space: of the link, then of the posture."""
    return (np.concatenate((task.kp, task.posture_kp)),
            np.concatenate((task.kd, task.posture_kd)))


def of_task_springs(gains: Gains, task: TaskGains) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of cartesian_impedance: of the typical link mass, then of the posture."""
    inertia = np.maximum(gains.inertia, MIN_INERTIA)
    kp = task.stiffness * task.mobility
    kd = task.damping * task.mobility + 2.0 * task.damping_ratio * np.sqrt(kp)
    return (np.concatenate((kp, task.posture_stiffness / inertia)),
            np.concatenate((kd, task.posture_damping / inertia)))


def fastest(kp: np.ndarray, kd: np.ndarray) -> tuple[float, float]:
    """Return the largest kd and kp / kd (1/s); joints without damping are ignored."""
    damped = kd > 0.0
    ratio = np.divide(kp, kd, out=np.zeros_like(kd), where=damped)
    return float(kd.max()), float(ratio.max())


def _spring(gains: Gains, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    m = np.maximum(inertia, MIN_INERTIA)
    return gains.stiffness / m, gains.spring_damping(gains.stiffness, m) / m
