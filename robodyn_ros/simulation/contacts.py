"""
What joints feel of themselves: dry friction that sticks or slips, stops that push or do not.

Both are taken at the end of the step, so that no stiffness, friction or light wrist makes it
unstable. They are linear in the velocity there, once it is known which joints stick and which
are in a stop:

    (M + dt d) qdd = force - d qd - s f - (1 - s) F sign - c ks x
    d = b + s (df + dt kf) + c (ds + dt ks)

with s = 1 where dry friction sticks (bristle force f, stiffness kf, damping df) and 0 where it
slips at its level F; c = 1 where a joint is in a stop, from which it is x away (beyond it where
positive), with stiffness ks and damping ds.
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.dynamics.algorithms import solve
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, select
from robodyn_ros.simulation import friction, stops

# A joint that moves with its bristle bent as far as this goes on slipping, most likely.
_NEARLY = 0.9


class Contacts(NamedTuple):
    """Which joints stick (1 or 0), friction of those that slip, distance from stop, contact."""

    stick: list
    slip: list
    x: list
    touch: list


class JointContacts:
    """
    The equation of one step, with friction and stops.

    Parameters
    ----------
    M : matrix
        With the inertia of the motors on its diagonal.
    force : list
        All joint forces but those of friction and stops.
    state, constants
        See `step`.
    dt : scalar
        Duration of the step.
    dry, stopped : bool
        Whether any joint has dry friction; or stops.

    """

    def __init__(self, M, force, state, constants, dt, dry=True, stopped=True):
        nothing = [0.0] * len(force)
        s, c = state, constants
        if not dry:
            s = s._replace(bristle=nothing)
            c = c._replace(friction=nothing, stiction=nothing, bristle_stiffness=nothing,
                           bristle_damping=nothing)
        self._stopped = stopped
        self.M, self.force, self.s, self.c, self.dt = M, force, s, c, dt
        self.joints = range(len(force))
        self.level = [friction.level(s.velocity[i], c.friction[i], c.stiction[i],
                                     c.stribeck_velocity[i]) for i in self.joints]
        # what friction and stops become by a unit of velocity at the end of the step
        self.per_friction = [c.bristle_damping[i] + dt * c.bristle_stiffness[i]
                             for i in self.joints]
        self.per_stop = [c.stop_damping[i] + dt * c.stop_stiffness[i] for i in self.joints]

    def solve(self, contacts):
        """Return acceleration, and velocity at the end, with these contacts."""
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
        """Return contacts that hold, with acceleration and velocity; by trial only if need be."""
        expected = self.predict_modes()
        qdd, v = self.solve(expected)
        return choose(self.modes_consistent(expected, v), [
            self.solve_modes, lambda: (expected, qdd, v)])

    def predict_modes(self):
        """Return the contacts that the last step lets expect."""
        s = self.s
        bent = [_NEARLY * self.level[i] - absolute(s.bristle[i]) for i in self.joints]
        back = [-s.velocity[i] * s.bristle[i] for i in self.joints]
        stick = [select(bent[i], 1.0, select(back[i], 1.0, 0.0)) for i in self.joints]
        slip = [(1.0 - stick[i]) * self._slipping(s.bristle[i], i) for i in self.joints]
        return Contacts(stick, slip, *self._stops(s.velocity))

    def modes_consistent(self, contacts, v):
        """Return 1 if a solution has the contacts it was made with, else 0."""
        differences = 0.0
        x, touch = self._stops(v)
        for i in self.joints:
            f = self._bristle_force(i, v)
            stick = friction.sticks(f, self.level[i])
            slip = (1.0 - stick) * self._slipping(f, i)
            # the same stop: x changes its sign from one to the other
            other = contacts.touch[i] * absolute(x[i] - contacts.x[i]) * select(
                x[i] * contacts.x[i], 0.0, 1.0)
            for expected, found in ((contacts.stick[i], stick), (contacts.slip[i], slip),
                                    (contacts.touch[i], touch[i])):
                differences = differences + absolute(expected - found)
            differences = differences + other
        return select(differences, 0.0, 1.0)

    def solve_modes(self):
        """Return contacts that hold, found by trial, with acceleration and velocity."""
        n = len(self.force)
        contacts = Contacts([1.0] * n, [0.0] * n, *self._stops(self.s.velocity))
        _, v = self.solve(contacts)
        stick = [friction.sticks(self._bristle_force(i, v), self.level[i]) for i in self.joints]
        slip = [(1.0 - stick[i]) * self._slipping(self._bristle_force(i, v), i)
                for i in self.joints]
        contacts = Contacts(stick, slip, *self._stops(v))
        _, v = self.solve(contacts)
        contacts = self._corrected(contacts, v)
        return (contacts, *self.solve(contacts))

    def _corrected(self, contacts, v):
        """Let go where a bristle would bear too much, or a stop that others relieve would pull."""
        stick, slip, touch = [], [], []
        for i in self.joints:
            f = self._bristle_force(i, v)
            holds = friction.sticks(f, self.level[i])
            stick.append(contacts.stick[i] * holds)
            slip.append((1.0 - stick[i]) * select(
                1.0 - holds, self._slipping(f, i), contacts.slip[i]))
            depth = contacts.x[i] + self.dt * v[i]
            touch.append(contacts.touch[i] * self._pushes(i, depth, v))
        return Contacts(stick, slip, contacts.x, touch)

    def torques(self, contacts, v):
        """Return torques of friction and stops, and the force of the bristles, at the end."""
        s, c = self.s, self.c
        rubbing, stopping, bristles = [], [], []
        for i in self.joints:
            stick, slip, x, touch = (row[i] for row in contacts)
            rubbing.append(-(c.damping[i] * v[i] + stick * self._bristle_force(i, v) + slip))
            stopping.append(-touch * (c.stop_stiffness[i] * x + self.per_stop[i] * v[i]))
            bristles.append(friction.carried(
                s.bristle[i], self.dt * v[i], c.bristle_stiffness[i], self.level[i]))
        return rubbing, stopping, bristles

    def _bristle_force(self, i, v):
        return self.s.bristle[i] + self.per_friction[i] * v[i]

    def _slipping(self, force, i):
        return friction.direction(force) * self.level[i]

    def _stops(self, v):
        """Return how far joints are from the stop that they meet with v, and whether it pushes."""
        c, q = self.c, self.s.position
        if not self._stopped:
            return [0.0] * len(q), [0.0] * len(q)
        depth = [stops.penetration(q[i] + self.dt * v[i], c.lower[i], c.upper[i])
                 for i in self.joints]
        return ([depth[i] - self.dt * v[i] for i in self.joints],
                [self._pushes(i, depth[i], v) for i in self.joints])

    def _pushes(self, i, depth, v):
        return stops.pushes(depth, depth, v[i], self.c.stop_stiffness[i], self.c.stop_damping[i])
