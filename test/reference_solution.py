"""Reference solution of an arm's motion, to twelve digits with SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.simulation.plant import Plant

_TOLERANCE = 1e-12


def reference_motion(plant: Plant, torque: ArrayLike | Callable[[float], ArrayLike],
                     times: ArrayLike) -> tuple[NDArray, NDArray]:
    """
    Return the motion from a plant's state, without stops, dry friction and torque limits.

    Dormand and Prince's method of order 8 with an adaptive step (Hairer, Norsett, Wanner,
    Solving Ordinary Differential Equations I, II.5).

    Parameters
    ----------
    plant : Plant
        Plant whose model, armature and viscous friction are used; its state is not changed.
    torque : (nv,) array_like or callable
        Torque of the motors; a function of time must be smooth.
    times : (n,) array_like
        Times of the result, in s from now, increasing.

    Returns
    -------
    q, qd : (n, nv) array
        Position and velocity.

    Raises
    ------
    RobodynError
        The integration failed.

    """
    from scipy.integrate import solve_ivp  # slower to import than the rest of the simulator
    dynamics, nv = plant.dynamics, plant.nv
    damping, armature = plant.joints.damping, np.diag(plant.joints.armature)
    motor = torque if callable(torque) else lambda t: torque

    def rate(t, y):
        q, qd = y[:nv], y[nv:]
        force = np.asarray(motor(t)) + plant.external - damping * qd - dynamics.bias(q, qd)
        return np.concatenate([qd, np.linalg.solve(dynamics.mass_matrix(q) + armature, force)])

    times = np.asarray(times, dtype=float)
    solution = solve_ivp(rate, (0.0, times[-1]), np.concatenate([plant.q, plant.qd]), 'DOP853',
                         times, rtol=_TOLERANCE, atol=_TOLERANCE)
    if not solution.success:
        raise RobodynError(f'integration failed at {solution.t[-1] if solution.t.size else 0}'
                           f' s: {solution.message}')
    return solution.y[:nv].T, solution.y[nv:].T
