"""
Coming to rest from any motion, all joints in one common time.

Each joint's velocity falls from V to 0 along 1 - 3 x^2 + 2 x^3, whose
steepest slope is 1.5 V / T. The acceleration that the reference has at that
moment dies out on top of it along (1 - t / fade)^2, so that the torque has no
step.
"""

from __future__ import annotations

import math

import numpy as np

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.safety.ramp import smooth_step
from robodyn_ros.trajectory.reference import Reference


class StopProfile:
    """
    A reference that leaves from another one and comes to rest.

    A joint with too little room to its position limit stops sooner than the
    others. If the room is too small even for the joint's own deceleration,
    the position limit comes first: the joint decelerates harder.

    Parameters
    ----------
    reference : Reference
        Where the motion stands. Accelerations beyond `deceleration` are cut
        to it; the added effort fades to zero.
    deceleration : float or (nv,)
        Largest acceleration in the profile, rad/s^2 or m/s^2.
    lower, upper : (nv,), optional
        Position limits. A joint already beyond one goes no further.
    fade : float
        Seconds in which the present acceleration dies out.
    shortest : float
        Seconds that such a joint takes at least. Where even that does not
        fit, its reference velocity steps down to what does.

    Attributes
    ----------
    duration : float
        Seconds until all joints rest.
    end : Reference
        Where they rest.

    """

    __slots__ = ('_acceleration', '_fade', '_start', '_time', '_velocity', 'duration', 'end')

    def __init__(self, reference: Reference, deceleration, lower=None, upper=None,
                 fade: float = 0.05, shortest: float = 0.05):
        nv = reference.q.size
        most = np.array(np.broadcast_to(np.asarray(deceleration, dtype=float), (nv,)))
        lower = np.full(nv, -np.inf) if lower is None else np.asarray(lower, dtype=float)
        upper = np.full(nv, np.inf) if upper is None else np.asarray(upper, dtype=float)
        _check(reference, most, fade, shortest)
        self._start, self._fade = reference.copy(), fade
        ahead, behind = upper - reference.q, reference.q - lower
        tight = self._plan(most, np.minimum(ahead, behind), shortest)
        for j in np.flatnonzero(tight):
            room = ahead[j] if reference.qd[j] > 0.0 else behind[j]
            self._fit(j, max(room, 0.0), shortest)
        travel = 0.5 * self._velocity * self._time - self._acceleration * fade**2 / 12.0
        self.end = Reference.at_rest(reference.q + travel)

    def _plan(self, most, room, shortest) -> np.ndarray:
        """Plan one time for all joints; return the mask of those that may lack the room."""
        qd, fade = self._start.qd, self._fade
        acceleration = np.clip(self._start.qdd, -most, most)
        velocity = qd + acceleration * fade / 3.0
        fastest = np.maximum(np.abs(qd), np.abs(velocity))
        # While the fade takes at most half the time, both accelerations
        # together stay within the larger of them.
        self.duration = float(np.max(1.5 * fastest / most, initial=max(2.0 * fade, shortest)))
        reach = 0.5 * self.duration * np.abs(velocity) + np.abs(acceleration) * fade**2 / 12.0
        tight = ~(reach <= room)
        self._acceleration = np.where(tight, 0.0, acceleration)
        self._velocity = np.where(tight, qd, velocity)
        self._time = np.full(qd.shape, self.duration)
        return tight

    def _fit(self, j, room, shortest) -> None:
        speed = abs(self._velocity[j])
        if 0.5 * speed * self.duration <= room:
            return
        time = max(2.0 * room / speed, shortest)
        self._time[j] = time
        self._velocity[j] = math.copysign(min(speed, 2.0 * room / time), self._velocity[j])

    def sample(self, t: float, out: Reference | None = None) -> Reference:
        """Return the reference `t` seconds after the stop began, in `out` if given."""
        if out is None:
            out = Reference.zeros(self.end.q.size)
        if t >= self.duration:
            return out.assign(self.end)
        t = t if t > 0.0 else 0.0
        x = np.minimum(t / self._time, 1.0)
        x2 = x * x
        distance = self._velocity * self._time
        np.add(self._start.q, distance * (x - x2 * x + 0.5 * x2 * x2), out=out.q)
        np.multiply(self._velocity, 1.0 - x2 * (3.0 - 2.0 * x), out=out.qd)
        np.multiply(self._velocity / self._time, 6.0 * (x2 - x), out=out.qdd)
        np.multiply(self._start.effort, 1.0 - smooth_step(t / self.duration), out=out.effort)
        if t < self._fade:
            y = 1.0 - t / self._fade
            out.q += self._acceleration * (self._fade**2 / 12.0 * (y**4 - 1.0))
            out.qd -= self._acceleration * (self._fade / 3.0 * y**3)
            out.qdd += self._acceleration * y**2
        else:
            out.q -= self._acceleration * (self._fade**2 / 12.0)
        return out


def _check(reference, most, fade, shortest) -> None:
    if not (most > 0.0).all():
        j = int(np.argmin(most > 0.0))
        raise ArgumentError(f'the deceleration of joint {j} is {most[j]}; it must be above 0',
                            value=float(most[j]))
    if not (fade > 0.0 and shortest > 0.0):
        raise ArgumentError(f'fade {fade} s and shortest {shortest} s must be above 0')
    if not all(np.isfinite(part).all() for part in reference.arrays):
        raise ArgumentError('the reference to stop from holds a number that is not finite')
