"""Equation of motion for the laws, over scalars: robot, rotors, and payloads."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.vectors import difference, product, sums


class Arm:
    """
    The equation of motion, term by term.

    Parameters
    ----------
    tree, runtime
        Structure, and gravity and payload parameters, as for kernels.
    armature : list of scalar
        Rotor inertia, reflected to the joints.
    gravity_scale : list of scalar
        Part of gravity that is compensated.
    frame : frame, optional
        Frame of the link that Cartesian laws control.

    """

    def __init__(self, tree, runtime, armature, gravity_scale, frame=None):
        self.tree, self.runtime, self.nv, self.frame = tree, runtime, tree.nv, frame
        self._armature, self._gravity_scale = armature, gravity_scale
        self._bare = tree.without_payloads()
        # payloads on a robot without mass
        self._load = replace(
            tree, mass=tuple(0.0 for _ in tree.bodies),
            first_moment=tuple((0.0,) * 3 for _ in tree.bodies),
            inertia=tuple(((0.0,) * 3,) * 3 for _ in tree.bodies))

    def motion(self, q, qd, qdd, velocity=None):
        """
        Return the terms of `M(q) qdd + C(q, qd) velocity + g(q)`.

        `velocity` is `qd` by default. Gravity is scaled. The payloads are one term.
        """
        g, load = (algorithms.gravity(part, self.runtime, q) for part in (self._bare, self._load))
        velocities = [self._velocity_forces(part, q, qd, velocity)
                      for part in (self._bare, self._load)]
        return {
            Term.INERTIA: sums([self._inertial(self._bare, q, qdd),
                                product(self._armature, qdd)]),
            Term.CORIOLIS: velocities[0],
            Term.GRAVITY: product(self._gravity_scale, g),
            Term.PAYLOAD: sums([self._inertial(self._load, q, qdd), velocities[1],
                                product(self._gravity_scale, load)])}

    def coriolis(self, q, qd, velocity):
        """Return `C(q, qd) velocity`, payloads included."""
        return self._velocity_forces(self.tree, q, qd, velocity)

    def inertial(self, q, qdd):
        """Return `M(q) qdd`, rotors and payloads included."""
        return sums([self._inertial(self.tree, q, qdd), product(self._armature, qdd)])

    def mass_matrix(self, q):
        """Return `M(q)`, rotors and payloads included."""
        return algorithms.add_to_diagonal(
            algorithms.mass_matrix(self.tree, self.runtime, q), self._armature)

    def _inertial(self, part, q, qdd):
        return algorithms.inertial(part, self.runtime, q, qdd)

    def _velocity_forces(self, part, q, qd, velocity):
        """Return `C(q, qd) velocity` with the C of the Christoffel symbols."""
        weightless = [0.0, 0.0, 0.0, *self.runtime[3:]]

        def forces(v):
            return algorithms.bias(part, weightless, q, v)

        if velocity is None:
            return forces(qd)
        # quadratic in the velocity, and symmetric: C(q, a) b = (c(a + b) - c(a - b)) / 4
        more, less = forces(sums([qd, velocity])), forces(difference(qd, velocity))
        return [0.25 * (a - b) for a, b in zip(more, less)]
