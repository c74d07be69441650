"""Where the arm is while nobody tells: its model, moved by the torques that are sent."""

from __future__ import annotations

import math

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.kernels import forward_dynamics, gravity
from robodyn_ros.dynamics.trace import sqrt

_STEP = 2e-3    # s, at most
_LONGEST = 0.2  # s for which one torque tells where an arm is
_FAR = 0.3      # rad or m from the reference; an arm that was followed is nearer
_CREEP = 1e-3   # rad/s or m/s below which dry friction counts as viscous


class Prediction:
    """
    The state that follows from the last one seen and the torques since.

    Parameters
    ----------
    dynamics : Dynamics
        The arm; its gravity and payloads are those of the moment.

    Attributes
    ----------
    q, qd : (nv,)
        The state.

    """

    def __init__(self, dynamics: Dynamics):
        n = dynamics.nv
        self._state = np.zeros((2, n))
        self.q, self.qd = self._state
        arguments = dict.fromkeys(('q', 'qd', 'torque', 'viscous', 'coulomb', 'armature',
                                   'weight_scale'), n)
        self._move = dynamics.kernel(predict, {**arguments, 'dt': 1}, (2, n),
                                     'predict').builtin('predict', predict.__doc__)
        self._dt = np.zeros(1)

    def start(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Begin with a state that was seen."""
        self.q[:], self.qd[:] = q, qd

    def believable(self, dt: float, reference: np.ndarray) -> bool:
        """
        Return whether the arm may well be there, after a step of `dt`.

        What was sent does not tell for long where an arm is, least of all far from where it
        should be: it may stand in its brakes. A joint that moves no mass in the model gives no
        numbers at all.
        """
        return dt <= _LONGEST and bool((np.abs(self.q - reference) < _FAR).all()
                                       and np.isfinite(self.qd).all())

    def advance(self, dt: float, torque: np.ndarray, gains: Gains) -> None:
        """Let a torque, (nv,), act for `dt` seconds; `gains` tell friction and armature."""
        count = math.ceil(dt / _STEP)
        for _ in range(count):
            self._dt[0] = dt / count
            self._move(self.q, self.qd, torque, gains.viscous, gains.coulomb, gains.armature,
                       gains.weight_scale, self._dt, out=self._state)


def predict(tree, runtime, q, qd, torque, viscous, coulomb, armature, weight_scale, dt):
    """Return position and velocity after a step, as in `simulation.integrators.midpoint`."""
    joints, h = range(tree.nv), dt[0]
    middle = [q[i] + 0.5 * h * qd[i] for i in joints]
    g = gravity(tree, runtime, middle)
    drag = [viscous[i] + coulomb[i] / sqrt(qd[i] * qd[i] + _CREEP * _CREEP) for i in joints]
    # what the controller leaves out of the weight, the driver carries
    force = [torque[i] + (1.0 - weight_scale[i]) * g[i] - drag[i] * qd[i] for i in joints]
    # friction at the end of the step: stable for any
    inertia = [armature[i] + h * drag[i] for i in joints]
    first = forward_dynamics(tree, runtime, middle, qd, force, inertia)
    halfway = [qd[i] + 0.5 * h * first[i] for i in joints]
    qdd = forward_dynamics(tree, runtime, middle, halfway, force, inertia)
    v = [qd[i] + h * qdd[i] for i in joints]
    return [[q[i] + 0.5 * h * (qd[i] + v[i]) for i in joints], v]
