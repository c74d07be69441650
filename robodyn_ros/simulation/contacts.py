"""
Joint-internal contacts: dry friction that sticks or slips, stops that push or do not.

Both are evaluated at the end of the step, so that the step is stable for any stiffness, friction
and inertia. They are linear in the velocity there, once it is known which joints stick and which
are in a stop:

    (M + dt d) qdd = force - d qd - s f - (1 - s) F sign - c ks x
    d = b + s (df + dt kf) + c (ds + dt ks)

with s = 1 where dry friction sticks (bristle force f, stiffness kf, damping df) and 0 where it
slips at its level F; c = 1 where a joint is in a stop, at the signed distance x from it (positive
beyond), with stiffness ks and damping ds.
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.dynamics.algorithms import solve
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, select
from robodyn_ros.simulation import friction, stops

# A moving joint whose bristle force is this part of the friction level is predicted to slip.
_SLIPPING = 0.9


class Contacts(NamedTuple):
    """Flags of sticking, friction of slipping joints, distance from the stop, flags of contact."""

    stick: list
    slip: list
    x: list
    touch: list


class JointContacts:
    """
    Equation of motion of one step, with friction and stops.

    Parameters
    ----------
    M : matrix
        Mass matrix, with the motors' inertia on its diagonal.
    force : list
        Joint forces except friction and stops.
    state, constants
        State and constants of the joints, see `step`.
    dt : scalar
        Duration of the step, in s.
    dry, stopped : bool
        Whether any joint has dry friction, or stops.

    """

    def __init__(self, M, force, state, constants, dt, dry=True, stopped=True):
        zeros = [0.0] * len(force)
        s, c = state, constants
        if not dry:
            s = s._replace(bristle=zeros)
            c = c._replace(friction=zeros, stiction=zeros, bristle_stiffness=zeros,
                           bristle_damping=zeros)
        self._stopped = stopped
        self.M, self.force, self.s, self.c, self.dt = M, force, s, c, dt
        self.joints = range(len(force))
        self.level = [friction.level(s.velocity[i], c.friction[i], c.stiction[i],
                                     c.stribeck_velocity[i]) for i in self.joints]
        # damping of friction and stops with respect to the velocity at the end of the step
        self.per_friction = [c.bristle_damping[i] + dt * c.bristle_stiffness[i]
                             for i in self.joints]
        self.per_stop = [c.stop_damping[i] + dt * c.stop_stiffness[i] for i in self.joints]

    def solve(self, contacts):
        """Return acceleration, and velocity at the end of the step, with these contacts."""
        s, c, dt = self.s, self.c, self.dt
        left, right = [list(row) for row in self.M], list(self.force)
        for i in self.joints:
            stick, slip, x, touch = (row[i] for row in contacts)
            d = c.damping[i] + stick * self.per_friction[i] + touch * self.per_stop[i]
            left[i][i] = left[i][i] + dt * d
            right[i] = right[i] - (d * s.velocity[i] + stick * s.bristle[i] + slip
                                   + touch * c.stop_stiffness[i] * x)
        qdd = solve(left, right)
        return qdd, [s.velocity[i] + dt * qdd[i] for i in self.joints]

    def resolve(self):
        """Return consistent contacts, with acceleration and velocity; by trial only if needed."""
        expected = self.predict_modes()
        qdd, v = self.solve(expected)
        return choose(self.modes_consistent(expected, v), [
            self.solve_modes, lambda: (expected, qdd, v)])

    def predict_modes(self):
        """Return the contacts expected from the last step."""
        s = self.s
        margin = [_SLIPPING * self.level[i] - absolute(s.bristle[i]) for i in self.joints]
        back = [-s.velocity[i] * s.bristle[i] for i in self.joints]
        stick = [select(margin[i], 1.0, select(back[i], 1.0, 0.0)) for i in self.joints]
        slip = [(1.0 - stick[i]) * self._slip_force(s.bristle[i], i) for i in self.joints]
        return Contacts(stick, slip, *self._stops(s.velocity))

    def modes_consistent(self, contacts, v):
        """Return 1 if the velocity of a solution leads to the contacts assumed for it, else 0."""
        differences = 0.0
        x, touch = self._stops(v)
        for i in self.joints:
            f = self._bristle_force(i, v)
            stick = friction.sticks(f, self.level[i])
            slip = (1.0 - stick) * self._slip_force(f, i)
            # x has opposite signs at the lower and the upper stop
            other = contacts.touch[i] * absolute(x[i] - contacts.x[i]) * select(
                x[i] * contacts.x[i], 0.0, 1.0)
            for expected, found in ((contacts.stick[i], stick), (contacts.slip[i], slip),
                                    (contacts.touch[i], touch[i])):
                differences = differences + absolute(expected - found)
            differences = differences + other
        return select(differences, 0.0, 1.0)

    def solve_modes(self):
        """Return consistent contacts, found by trial, with acceleration and velocity."""
        n = len(self.force)
        contacts = Contacts([1.0] * n, [0.0] * n, *self._stops(self.s.velocity))
        _, v = self.solve(contacts)
        stick = [friction.sticks(self._bristle_force(i, v), self.level[i]) for i in self.joints]
        slip = [(1.0 - stick[i]) * self._slip_force(self._bristle_force(i, v), i)
                for i in self.joints]
        contacts = Contacts(stick, slip, *self._stops(v))
        _, v = self.solve(contacts)
        contacts = self._corrected(contacts, v)
        return (contacts, *self.solve(contacts))

    def _corrected(self, contacts, v):
        """Release bristles above the friction level, and stops that would pull."""
        stick, slip, touch = [], [], []
        for i in self.joints:
            f = self._bristle_force(i, v)
            holds = friction.sticks(f, self.level[i])
            stick.append(contacts.stick[i] * holds)
            slip.append((1.0 - stick[i]) * select(
                1.0 - holds, self._slip_force(f, i), contacts.slip[i]))
            depth = contacts.x[i] + self.dt * v[i]
            touch.append(contacts.touch[i] * self._in_contact(i, depth, v))
        return Contacts(stick, slip, contacts.x, touch)

    def torques(self, contacts, v):
        """Return torques of friction and stops, and bristle forces, at the end of the step."""
        s, c = self.s, self.c
        friction_torque, stop_torque, bristles = [], [], []
        for i in self.joints:
            stick, slip, x, touch = (row[i] for row in contacts)
            friction_torque.append(
                -(c.damping[i] * v[i] + stick * self._bristle_force(i, v) + slip))
            stop_torque.append(-touch * (c.stop_stiffness[i] * x + self.per_stop[i] * v[i]))
            bristles.append(friction.bristle_force(
                s.bristle[i], self.dt * v[i], c.bristle_stiffness[i], self.level[i]))
        return friction_torque, stop_torque, bristles

    def _bristle_force(self, i, v):
        return self.s.bristle[i] + self.per_friction[i] * v[i]

    def _slip_force(self, force, i):
        return friction.direction(force) * self.level[i]

    def _stops(self, v):
        """Return the distance from the stop that joints reach with v, and flags of contact."""
        c, q = self.c, self.s.position
        if not self._stopped:
            return [0.0] * len(q), [0.0] * len(q)
        depth = [stops.penetration(q[i] + self.dt * v[i], c.lower[i], c.upper[i])
                 for i in self.joints]
        return ([depth[i] - self.dt * v[i] for i in self.joints],
                [self._in_contact(i, depth[i], v) for i in self.joints])

    def _in_contact(self, i, depth, v):
        return stops.in_contact(depth, depth, v[i], self.c.stop_stiffness[i],
                                self.c.stop_damping[i])
