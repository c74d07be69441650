"""
Stable feedback of the external torque for inertia shaping.

Shaping the inertia M of a joint to m feeds back its external torque, as estimated by the observer
of bandwidth K, with the factor M / m - 1. With a part c of that, and the damping D of the law, the
joint in contact with a spring of any stiffness is stable if and only if

    c K (M - m) <= D

(Hurwitz: M s^3 + (M/m D + M K) s^2 + ... with the stiffness going to infinity). A larger inertia,
m > M, is always stable. For all joints together M / m is the largest eigenvalue of
m^-1/2 M m^-1/2, for which the largest row sum of absolute values is an upper bound.
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
    """Return c: at most 1, and `decay / (M/m - 1)` with `decay` the smallest D / (m K)."""
    M = algorithms.add_to_diagonal(algorithms.mass_matrix(tree, runtime, q), armature)
    ratio = 1.0
    for row, m in zip(M, inertia):
        size = sum((absolute(each) / sqrt(m * other) for each, other in zip(row, inertia)), 0.0)
        ratio = maximum(size, ratio)
    return [select(_TINY - (ratio - 1.0), 1.0, minimum(
        decay[0] * reciprocal(maximum(ratio - 1.0, _TINY)), 1.0))]


def check_shaping(gains: Gains, model: RobotModel) -> None:
    """
    Check the apparent inertia for stability in contact, at the typical inertia of the joints.

    Raises
    ------
    ParameterError
        It is unstable; the message names joint and remedy.

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
        'in contact with a stiff environment that is unstable, unless its damping is at least '
        f'observer.bandwidth times the difference, {K[j] * less[j]:.3g}; it is {D[j]:.3g}. Raise '
        'inertia or damping, or lower observer.bandwidth', joint=name, value=float(m[j]))
