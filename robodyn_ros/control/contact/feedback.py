"""
How much of the external torque a law that shapes inertia may feed back.

A joint of inertia M is made to show m: its external torque, as the observer of bandwidth K sees
it, comes back M / m - 1 times. With a part c of that, and the damping D of the law, the joint on a
spring is stable, however stiff the spring, if and only if

    c K (M - m) <= D

(Hurwitz: M s^3 + (M/m D + M K) s^2 + ... with the stiffness going to infinity). More inertia than
the joint has, m > M, costs nothing. For all joints together M / m is the largest eigenvalue of
m^-1/2 M m^-1/2, which no row sum of absolute values falls below.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, reciprocal, select, sqrt
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel

_TINY = 1e-9


def stable_part(tree, runtime, q, armature, inertia, decay):
    """Return c: at most 1, and `decay / (M/m - 1)` with `decay` the least D / (m K)."""
    M = algorithms.add_to_diagonal(algorithms.mass_matrix(tree, runtime, q), armature)
    ratio = 1.0
    for row, m in zip(M, inertia):
        size = sum((absolute(each) / sqrt(m * other) for each, other in zip(row, inertia)), 0.0)
        ratio = maximum(size, ratio)
    return [select(_TINY - (ratio - 1.0), 1.0, minimum(
        decay[0] * reciprocal(maximum(ratio - 1.0, _TINY)), 1.0))]


def check_shaping(gains: Gains, model: RobotModel) -> None:
    """
    Refuse an apparent inertia that contact would make unstable where the arm has its usual one.

    Raises
    ------
    ParameterError
        Naming the joint, and what would help.

    """
    m, K = gains.apparent_inertia, gains.observer_bandwidth
    D = gains.spring_damping(gains.stiffness, m)
    less = gains.inertia - m
    if not (K * less > D).any():
        return
    j = int(np.argmax(K * less > D))
    name = model.joint_names[j]
    raise ParameterError(
        f"impedance.inertia of joint '{name}' is {m[j]:.3g}, its own is {gains.inertia[j]:.3g}: "
        'in contact with something stiff that is unstable, unless its damping is at least '
        f'observer.bandwidth times the difference, {K[j] * less[j]:.3g}; it is {D[j]:.3g}. Raise '
        'inertia or damping, or lower observer.bandwidth', joint=name, value=float(m[j]))
