"""
Motors: limited torque, limited bandwidth, and gears with backlash.

A gear with backlash lets the motor turn by half its width either way before a tooth meets the
next; what they then exchange is a stiff spring and damper. Motor and joint are two bodies, and
the step is implicit in both: with K = dt (d + dt k) the torque on the joint is

    t = t0 + K (m'' - q''),   A m'' = tau - t
      = t0 + K / (A + K) (tau - t0) - K A / (A + K) q''

so that the joint sees a torque and an inertia, both known before its acceleration is.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import maximum, minimum, select
from robodyn_ros.simulation import stops


def motor_torque(command, before, limit, blend):
    """Return the torque of a motor: the command, limited, through a lag of first order."""
    # in this order of arguments a command that is no number stays visible
    limited = maximum(-limit, minimum(limit, command))
    return before + blend * (limited - before)


class Gears:
    """
    What joints feel of their motors during one step.

    Parameters
    ----------
    torque : list
        Of the motors.
    gap, gap_rate : list
        Angle of each motor beyond its joint, and its rate at the beginning of the step.
    constants : Constants
        See `step`.
    dt : scalar
        Duration of the step.

    Attributes
    ----------
    force, inertia : list
        What the joints feel.

    """

    def __init__(self, torque, gap, gap_rate, constants, dt):
        c, joints = constants, range(len(torque))
        self._torque, self._gap, self._rate = torque, gap, gap_rate
        self._play, self._armature, self._dt = c.backlash, c.armature, dt
        ahead = [gap[i] + dt * gap_rate[i] for i in joints]
        depth = [stops.penetration(ahead[i], -0.5 * c.backlash[i], 0.5 * c.backlash[i])
                 for i in joints]
        touch = [stops.pushes(depth[i], depth[i], gap_rate[i], c.gear_stiffness[i],
                              c.gear_damping[i]) for i in joints]
        self._contact = [touch[i] * (c.gear_stiffness[i] * depth[i]
                                     + c.gear_damping[i] * gap_rate[i]) for i in joints]
        self._K = [touch[i] * dt * (c.gear_damping[i] + dt * c.gear_stiffness[i]) for i in joints]
        self.force, self.inertia = [], []
        for i in joints:
            share = self._K[i] / self._total(i)
            t = self._contact[i] + share * (torque[i] - self._contact[i])
            self.force.append(select(self._play[i], t, torque[i]))
            self.inertia.append(select(self._play[i], share * self._armature[i],
                                       self._armature[i]))

    def _total(self, i):
        # without backlash nothing of this is used: only keep it from dividing by zero
        return select(self._play[i], self._armature[i] + self._K[i], 1.0)

    def after(self, qdd):
        """Return gap and gap rate at the end of the step, from the joints' acceleration."""
        gap, rate = [], []
        for i, a in enumerate(qdd):
            motor = (self._torque[i] - self._contact[i] + self._K[i] * a) / self._total(i)
            r = self._rate[i] + self._dt * (motor - a)
            rate.append(select(self._play[i], r, 0.0))
            gap.append(select(self._play[i], self._gap[i] + self._dt * r, 0.0))
        return gap, rate
