"""
The control laws, composed of their terms.

Each law is a plain function over scalars, like the algorithms of `dynamics.kernels` that it
builds on, and is compiled whole: one call per cycle returns every term of the torque.

    computed_torque       tau = RNEA(q, qd, qdd_ref + Kp e + Kd e') + friction + effort
    feedforward_pd        tau = RNEA(q_ref, qd_ref, qdd_ref) + Kp e + Kd e' + friction + effort
    gravity_compensation  tau = g(q) - D qd
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from robodyn_ros.control.computed_torque import feedback_acceleration
from robodyn_ros.control.friction import friction
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.saturation import within_limits
from robodyn_ros.dynamics import Dynamics, kernels
from robodyn_ros.exceptions import ParameterError


class Term(IntEnum):
    """Rows of what a law returns, in N m or N; TOTAL is the sum of the others."""

    INERTIA = 0
    CORIOLIS = 1
    GRAVITY = 2
    FRICTION = 3
    FEEDBACK = 4
    EFFORT = 5
    TOTAL = 6


def computed_torque(tree, runtime, q, qd, q_ref, qd_ref, qdd_ref, effort, kp, kd, viscous,
                    coulomb, gravity_scale, authority, limit):
    """Return the terms of computed torque (Craig 10.5; Lynch and Park 11.37)."""
    g = kernels.gravity(tree, runtime, q)
    correction = feedback_acceleration(q, qd, q_ref, qd_ref, kp, kd, authority[0])
    return _terms(
        inertia=kernels.inertial(tree, runtime, q, qdd_ref),
        coriolis=_difference(kernels.bias(tree, runtime, q, qd), g),
        gravity=_product(gravity_scale, g),
        friction=friction(qd_ref, viscous, coulomb),
        feedback=kernels.inertial(tree, runtime, q, correction),
        effort=effort, limit=limit)


def feedforward_pd(tree, runtime, q, qd, q_ref, qd_ref, qdd_ref, effort, kp, kd, viscous,
                   coulomb, gravity_scale, authority, limit):
    """Return the terms of feedforward along the reference with PD (Lynch and Park 11.4.2)."""
    g = kernels.gravity(tree, runtime, q_ref)
    return _terms(
        inertia=kernels.inertial(tree, runtime, q_ref, qdd_ref),
        coriolis=_difference(kernels.bias(tree, runtime, q_ref, qd_ref), g),
        gravity=_product(gravity_scale, g),
        friction=friction(qd_ref, viscous, coulomb),
        feedback=feedback_acceleration(q, qd, q_ref, qd_ref, kp, kd, authority[0]),
        effort=effort, limit=limit)


def gravity_compensation(tree, runtime, q, qd, damping, gravity_scale):
    """Return the terms that make the arm float."""
    zero = [0.0] * tree.nv
    return _terms(
        inertia=zero, coriolis=zero,
        gravity=_product(gravity_scale, kernels.gravity(tree, runtime, q)),
        friction=zero, feedback=[-d * v for d, v in zip(damping, qd)], effort=zero)


def _terms(inertia, coriolis, gravity, friction, feedback, effort, limit=None):
    if limit:
        rest = _sums([inertia, coriolis, gravity, friction, effort])
        feedback = within_limits(feedback, rest, limit)
    rows = [inertia, coriolis, gravity, friction, feedback, effort]
    return [*rows, _sums(rows)]


def _sums(rows):
    return [sum(column) for column in zip(*rows)]


def _difference(a, b):
    return [x - y for x, y in zip(a, b)]


def _product(a, b):
    return [x * y for x, y in zip(a, b)]


TRACKING_LAWS = {'computed_torque': computed_torque, 'feedforward_pd': feedforward_pd}


class ControlLaw:
    """
    The compiled laws of one robot, with their gains.

    Parameters
    ----------
    dynamics : Dynamics
        Gravity and payload are read from it at every call.
    gains : Gains
        May be replaced between calls.
    tracking : {'computed_torque', 'feedforward_pd'}
        The law that follows references.
    effort_limit : float or (nv,)
        Within which feedback stays, see `saturation`; what else there is may exceed it.

    Attributes
    ----------
    terms : (7, nv) array
        What the last call returned, rows as in `Term`.

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, tracking: str = 'computed_torque',
                 effort_limit=np.inf):
        if tracking not in TRACKING_LAWS:
            raise ParameterError(f'no tracking law is called {tracking!r}; there are '
                                 f'{", ".join(TRACKING_LAWS)}', value=tracking)
        n = dynamics.nv
        state = {'q': n, 'qd': n}
        follow = {**state, 'q_ref': n, 'qd_ref': n, 'qdd_ref': n, 'effort': n, 'kp': n, 'kd': n,
                  'viscous': n, 'coulomb': n, 'gravity_scale': n, 'authority': 1, 'limit': n}
        self._nv = n
        self.gains = gains
        self.tracking = tracking
        self.terms = np.zeros((len(Term), n))
        self._authority = np.ones(1)
        self._limit = np.array(np.broadcast_to(effort_limit, n), dtype=np.float64)
        self._follow = self._compile(dynamics, TRACKING_LAWS[tracking], follow)
        self._float = self._compile(dynamics, gravity_compensation,
                                    {**state, 'damping': n, 'gravity_scale': n})

    @property
    def gains(self) -> Gains:
        """Gains from the next call on."""
        return self._gains

    @gains.setter
    def gains(self, gains: Gains) -> None:
        if gains.kp.size != self._nv:
            raise ParameterError(f'gains for {gains.kp.size} joints; this robot has {self._nv}')
        self._gains = gains

    @staticmethod
    def _compile(dynamics, law, arguments):
        shape = (len(Term), dynamics.nv)
        kernel = dynamics.kernel(law, arguments, shape, law.__name__)
        return kernel.builtin(law.__name__, law.__doc__)

    def follow(self, q, qd, reference, authority: float = 1.0) -> np.ndarray:
        """
        Return the terms that follow a reference.

        Parameters
        ----------
        q, qd : (nv,)
            Measured; continuous joints unwrapped as in the reference.
        reference : Reference
            Where the joints should be.
        authority : float
            Part of the feedback that is used, in [0, 1].

        """
        gains = self._gains
        self._authority[0] = authority
        kp, kd = gains.of(self.tracking)
        return self._follow(q, qd, reference.q, reference.qd, reference.qdd, reference.effort,
                            kp, kd, gains.viscous, gains.coulomb, gains.gravity_scale,
                            self._authority, self._limit, out=self.terms)

    def compensate(self, q, qd) -> np.ndarray:
        """Return the terms that hold the weight and damp motion."""
        gains = self._gains
        return self._float(q, qd, gains.damping, gains.gravity_scale, out=self.terms)
