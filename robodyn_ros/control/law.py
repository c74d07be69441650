"""
The control laws, composed of their terms.

Each law is a plain function over scalars, like the algorithms of `dynamics.kernels` that it
builds on, and is compiled whole: one call per cycle returns every term of the torque.

    computed_torque       tau = RNEA(q, qd, qdd_ref + Kp e + Kd e') + friction + effort - J^T w
    feedforward_pd        tau = RNEA(q_ref, qd_ref, qdd_ref) + Kp e + Kd e' + friction + effort
                                - J^T w
    gravity_compensation  tau = g(q) - D qd

Inertia is that of the bodies and of the rotors. All that a payload adds is one term of its own,
but for its part in the feedback.
"""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum

import numpy as np

from robodyn_ros.control.computed_torque import feedback_acceleration
from robodyn_ros.control.friction import friction
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.saturation import within_limits
from robodyn_ros.dynamics import Dynamics, kernels
from robodyn_ros.exceptions import ParameterError

# rad/s, of the error while coasting: stable as long as there is a torque every 50 ms
_COASTING = 20.0


class Term(IntEnum):
    """
    Rows of what a law returns, in N m or N; TOTAL is the sum of the others.

    LIMIT is zero in a law: it is what supervision adds, see `ArmController.terms`.
    """

    INERTIA = 0
    CORIOLIS = 1
    GRAVITY = 2
    FRICTION = 3
    PAYLOAD = 4
    FEEDBACK = 5
    EXTERNAL = 6
    EFFORT = 7
    LIMIT = 8
    TOTAL = 9


def computed_torque(tree, runtime, q, qd, q_ref, qd_ref, qdd_ref, effort, external, kp, kd,
                    viscous, coulomb, armature, gravity_scale, authority, limit):
    """Return the terms of computed torque (Craig 10.5; Lynch and Park 11.37)."""
    correction = feedback_acceleration(q, qd, q_ref, qd_ref, kp, kd, authority[0])
    return _terms(
        *_feedforward(tree, runtime, q, qd, qdd_ref, armature, gravity_scale),
        friction=friction(qd_ref, viscous, coulomb),
        feedback=_sums([kernels.inertial(tree, runtime, q, correction),
                        _product(armature, correction)]),
        external=external, effort=effort, limit=limit)


def feedforward_pd(tree, runtime, q, qd, q_ref, qd_ref, qdd_ref, effort, external, kp, kd,
                   viscous, coulomb, armature, gravity_scale, authority, limit):
    """Return the terms of feedforward along the reference with PD (Lynch and Park 11.4.2)."""
    return _terms(
        *_feedforward(tree, runtime, q_ref, qd_ref, qdd_ref, armature, gravity_scale),
        friction=friction(qd_ref, viscous, coulomb),
        feedback=feedback_acceleration(q, qd, q_ref, qd_ref, kp, kd, authority[0]),
        external=external, effort=effort, limit=limit)


def gravity_compensation(tree, runtime, q, qd, damping, gravity_scale):
    """Return the terms that make the arm float."""
    zero = [0.0] * tree.nv
    g, load = (_product(gravity_scale, kernels.gravity(part, runtime, q))
               for part in _bare_and_load(tree))
    return _terms(zero, zero, g, load, friction=zero,
                  feedback=[-d * v for d, v in zip(damping, qd)], external=zero, effort=zero)


def _feedforward(tree, runtime, q, qd, qdd, armature, gravity_scale):
    """Return inertia, Coriolis and gravity of the bare robot, and what its payloads add."""
    bare, load = _bare_and_load(tree)
    g, own = kernels.gravity(bare, runtime, q), kernels.gravity(load, runtime, q)
    return (
        _sums([kernels.inertial(bare, runtime, q, qdd), _product(armature, qdd)]),
        _difference(kernels.bias(bare, runtime, q, qd), g),
        _product(gravity_scale, g),
        _sums([_difference(kernels.inverse_dynamics(load, runtime, q, qd, qdd), own),
               _product(gravity_scale, own)]))


def _bare_and_load(tree):
    """Return the robot without its payloads, and the payloads on a robot without mass."""
    return replace(tree, payload_bodies=()), replace(
        tree, mass=tuple(0.0 for _ in tree.bodies),
        first_moment=tuple((0.0,) * 3 for _ in tree.bodies),
        inertia=tuple(((0.0,) * 3,) * 3 for _ in tree.bodies))


def _terms(inertia, coriolis, gravity, payload, friction, feedback, external, effort, limit=None):
    if limit:
        rest = _sums([inertia, coriolis, gravity, friction, payload, external, effort])
        feedback = within_limits(feedback, rest, limit)
    rows = [inertia, coriolis, gravity, friction, payload, feedback, external, effort]
    return [*rows, [0.0] * len(inertia), _sums(rows)]


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
        The law that follows references; may be replaced between calls.
    effort_limit : float or (nv,)
        Within which feedback stays, see `saturation`; what else there is may exceed it.

    Attributes
    ----------
    terms : (10, nv) array
        What the last call returned, rows as in `Term`.

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, tracking: str = 'computed_torque',
                 effort_limit=np.inf):
        n = dynamics.nv
        state = {'q': n, 'qd': n}
        follow = {**state, **dict.fromkeys(
            ('q_ref', 'qd_ref', 'qdd_ref', 'effort', 'external', 'kp', 'kd', 'viscous', 'coulomb',
             'armature', 'gravity_scale'), n), 'authority': 1, 'limit': n}
        self._nv = n
        self.gains = gains
        self.tracking = tracking
        self.terms = np.zeros((len(Term), n))
        self._authority = np.ones(1)
        self._nothing = np.zeros(n)
        self._coasting = np.full(n, _COASTING**2), np.full(n, 2.0 * _COASTING)
        self._limit = np.empty(n)
        self.effort_limit = effort_limit
        # all of them, so that none is compiled while there is an arm to hold
        self._follow = {name: self._compile(dynamics, law, follow)
                        for name, law in TRACKING_LAWS.items()}
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

    @property
    def tracking(self) -> str:
        """Law that follows references from the next call on."""
        return self._tracking

    @tracking.setter
    def tracking(self, tracking: str) -> None:
        if tracking not in TRACKING_LAWS:
            raise ParameterError(f'no tracking law is called {tracking!r}; there are '
                                 f'{", ".join(TRACKING_LAWS)}', value=tracking)
        self._tracking = tracking

    @property
    def effort_limit(self) -> np.ndarray:
        """Limit of feedback from the next call on."""
        return self._limit

    @effort_limit.setter
    def effort_limit(self, limit) -> None:
        self._limit[:] = limit

    @staticmethod
    def _compile(dynamics, law, arguments):
        shape = (len(Term), dynamics.nv)
        kernel = dynamics.kernel(law, arguments, shape, law.__name__)
        return kernel.builtin(law.__name__, law.__doc__)

    def follow(self, q, qd, reference, authority: float = 1.0, external=None) -> np.ndarray:
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
        external : (nv,), optional
            What known external wrenches leave to the joints, -J^T w.

        """
        gains, law = self._gains, self._tracking
        return self._track(law, *gains.of(law), gains.gravity_scale, q, qd, reference, authority,
                           external)

    def coast(self, q, qd, reference, authority: float = 1.0, external=None) -> np.ndarray:
        """
        Return the terms that follow a reference with a predicted state, and carry all the weight.

        Computed torque with gains of its own: torques are fewer than while states come, and what
        is stiff or heavily damped would be unstable. Arguments as for `follow`.
        """
        return self._track('computed_torque', *self._coasting, self._gains.weight_scale, q, qd,
                           reference, authority, external)

    def _track(self, law, kp, kd, gravity_scale, q, qd, reference, authority, external):
        gains = self._gains
        self._authority[0] = authority
        return self._follow[law](
            q, qd, reference.q, reference.qd, reference.qdd, reference.effort,
            self._nothing if external is None else external, kp, kd, gains.viscous,
            gains.coulomb, gains.armature, gravity_scale, self._authority, self._limit,
            out=self.terms)

    def compensate(self, q, qd) -> np.ndarray:
        """Return the terms that hold the weight and damp motion."""
        gains = self._gains
        return self._float(q, qd, gains.damping, gains.gravity_scale, out=self.terms)
