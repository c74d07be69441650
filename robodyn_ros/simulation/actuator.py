"""
Motors: limited torque, limited bandwidth, gears with backlash, and elastic joints.

With backlash the motor can turn freely by half the backlash to either side before teeth touch; the
contact is a stiff spring and damper. Motor and joint are two bodies, and the step is implicit in
both: with K = dt (d + dt k) the torque on the joint is

    t = t0 + K (m'' - q''),   A m'' = tau - t
      = t0 + K / (A + K) (tau - t0) - K A / (A + K) q''

so that the joint is driven by a torque and an inertia that do not depend on its acceleration.

An elastic joint has a spring k and a damper d between motor and joint. It must ring: the midpoint
rule, which neither adds nor takes energy, has the same form with the mean spring torque t, where

    t0 = k (g + dt r / 2) + d r,    K = dt / 2 (d + dt k / 2)

with gap g and gap rate r. Its frequency w is that of tan(w' dt / 2) = w dt / 2: 2 % low at a
tenth of the rate of the steps (Hairer, Lubich and Wanner, Geometric Numerical Integration, VI.4).
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import maximum, minimum, select
from robodyn_ros.simulation import stops


def motor_torque(command, last, limit, blend):
    """Return the torque of a motor: the command, limited, through a first-order lag."""
    # this order of arguments propagates NaN in the command
    limited = maximum(-limit, minimum(limit, command))
    return last + blend * (limited - last)


class Gears:
    """
    Torque and inertia of the motors as they act on the joints during one step.

    Parameters
    ----------
    torque : list
        Torques of the motors.
    gap, gap_rate : list
        Angle of each motor relative to its joint, and its rate, at the beginning of the step.
    constants : Constants
        Constants of the joints, see `step`.
    dt : scalar
        Duration of the step, in s.
    elastic : bool
        Whether any joint is elastic.

    Attributes
    ----------
    force, inertia : list
        Torque and inertia at the joints.

    """

    def __init__(self, torque, gap, gap_rate, constants, dt, elastic=False):
        c, joints = constants, range(len(torque))
        self._torque, self._gap, self._rate = torque, gap, gap_rate
        self._armature, self._dt = c.armature, dt
        predicted = [gap[i] + dt * gap_rate[i] for i in joints]
        depth = [stops.penetration(predicted[i], -0.5 * c.backlash[i], 0.5 * c.backlash[i])
                 for i in joints]
        touch = [stops.in_contact(depth[i], depth[i], gap_rate[i], c.gear_stiffness[i],
                                  c.gear_damping[i]) for i in joints]
        self._contact = [touch[i] * (c.gear_stiffness[i] * depth[i]
                                     + c.gear_damping[i] * gap_rate[i]) for i in joints]
        self._K = [touch[i] * dt * (c.gear_damping[i] + dt * c.gear_stiffness[i]) for i in joints]
        self._elastic, self._geared = None, c.backlash
        if elastic:
            self._elastic = k = c.stiffness
            d, half = c.spring_damping, 0.5 * dt
            self._geared = [select(k[i], 1.0, c.backlash[i]) for i in joints]
            self._contact = [select(k[i], k[i] * (gap[i] + half * gap_rate[i])
                                    + d[i] * gap_rate[i], self._contact[i]) for i in joints]
            self._K = [select(k[i], half * (d[i] + half * k[i]), self._K[i]) for i in joints]
        self.force, self.inertia = [], []
        for i in joints:
            share = self._K[i] / self._total(i)
            t = self._contact[i] + share * (torque[i] - self._contact[i])
            self.force.append(select(self._geared[i], t, torque[i]))
            self.inertia.append(select(self._geared[i], share * self._armature[i],
                                       self._armature[i]))

    def _total(self, i):
        # 1 avoids a division by zero; without gears the result is not used
        return select(self._geared[i], self._armature[i] + self._K[i], 1.0)

    def gap_after(self, qdd):
        """Return gap and gap rate at the end of the step, from the joints' acceleration."""
        gap, rate = [], []
        for i, a in enumerate(qdd):
            motor = (self._torque[i] - self._contact[i] + self._K[i] * a) / self._total(i)
            r = self._rate[i] + self._dt * (motor - a)
            rate.append(select(self._geared[i], r, 0.0))
            after = self._gap[i] + self._dt * r
            if self._elastic is not None:
                mean = 0.5 * (self._rate[i] + r)
                after = select(self._elastic[i], self._gap[i] + self._dt * mean, after)
            gap.append(select(self._geared[i], after, 0.0))
        return gap, rate
