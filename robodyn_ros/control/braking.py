"""The brake in front of position limits, with each joint's inertia in its present pose."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics import Dynamics, kernels
from robodyn_ros.safety import brake_at_limits

_DAMPING = 160.0  # 1/s, per unit of the joint's inertia
_TIME = 0.1       # s in which a floating joint may reach its limit


def responses(tree, runtime, q, armature, torque):
    """Return the accelerations that joint torques above the weight cause at rest."""
    M = kernels.mass_matrix(tree, runtime, q)
    for i in range(tree.nv):
        M[i][i] = M[i][i] + armature[i]
    return kernels.solve(M, list(torque))


class LimitBrake:
    """
    Adds what stops joints in front of their limits.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.

    """

    def __init__(self, dynamics: Dynamics):
        nv, self._model = dynamics.nv, dynamics.model
        self._brake, self._unit, self._response = np.zeros((3, nv))
        kernel = dynamics.kernel(responses, dict.fromkeys(('q', 'armature', 'torque'), nv), (nv,),
                                 'responses')
        self._responses = kernel.builtin('responses', responses.__doc__)

    def add(self, torque: np.ndarray, q, qd, armature, free: bool) -> None:
        """
        Add the braking torque to `torque`, in place.

        Parameters
        ----------
        torque, q, qd, armature : (nv,)
            Of the cycle; inertia of the rotors.
        free : bool
            Whether nothing else brakes: then it begins earlier.

        """
        brake = brake_at_limits(q, qd, self._model.lower, self._model.upper, _DAMPING,
                                _TIME if free else 0.25 * _TIME, out=self._brake)
        for j in brake.nonzero()[0]:
            # what 1 N m (N) above the weight would do to the joint while the others are free
            self._unit.fill(0.0)
            self._unit[j] = 1.0
            self._responses(q, armature, self._unit, out=self._response)
            torque[j] += brake[j] / self._response[j]
