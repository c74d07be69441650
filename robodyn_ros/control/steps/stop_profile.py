"""
Stop from any motion, all joints in a common time.

The velocity of each joint falls from V to 0 along 1 - 3 x^2 + 2 x^3, whose steepest slope is
1.5 V / T. The acceleration of the reference at the start decays on top of it along
(1 - t / fade)^2, so that the torque has no step. A joint with too little distance to its position
limit stops sooner than the others and, if necessary, with a larger deceleration.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import no, when
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import clipped, positive, smooth_step

_FADE = 0.05      # s in which the initial acceleration decays
_SHORTEST = 0.05  # s, shortest stop of a joint


@block
class Memory:
    elapsed: float = scalar('s', 'Time since the stop began.')
    duration: float = scalar('s', 'Time until all joints are at rest.')
    q: list = joints('rad', 'Position at its start.')
    effort: list = joints('N m', 'Added effort at its start, which fades.')
    velocity: list = joints('rad/s', 'Velocity that decays along the cubic.')
    time: list = joints('s', 'Duration of that decay.')
    acceleration: list = joints('rad/s^2', 'Acceleration that decays on top of it.')


def plan(reference, deceleration, lower, upper):
    """Return the profile that starts from a reference."""
    qd, q = reference.qd, reference.q
    acceleration = clipped(reference.qdd, [-x for x in deceleration], deceleration)
    velocity = [v + a * _FADE / 3.0 for v, a in zip(qd, acceleration)]
    fastest = [maximum(absolute(v), absolute(w)) for v, w in zip(qd, velocity)]
    # if the fade takes at most half the time, both accelerations together stay within the larger
    duration = max(2.0 * _FADE, _SHORTEST)
    for speed, most in zip(fastest, deceleration):
        duration = maximum(1.5 * speed / most, duration)
    rows = [_joint(*each, duration) for each in zip(q, qd, velocity, acceleration, lower, upper)]
    velocity, time, acceleration = (list(column) for column in zip(*rows))
    return Memory(0.0, duration, q, reference.effort, velocity, time, acceleration)


def _joint(q, qd, velocity, acceleration, lower, upper, duration):
    """Return velocity, time and acceleration of a joint, within its distance to the limit."""
    ahead, behind = upper - q, q - lower
    reach = 0.5 * duration * absolute(velocity) + absolute(acceleration) * _FADE ** 2 / 12.0
    tight = no(minimum(ahead, behind) >= reach)
    velocity = when(tight, qd, velocity)
    acceleration = when(tight, 0.0, acceleration)
    room = maximum(when(qd > 0.0, ahead, behind), 0.0)
    speed = absolute(velocity)
    fits = room >= 0.5 * speed * duration
    time = maximum(2.0 * room / positive(speed), _SHORTEST)
    reduced = minimum(speed, 2.0 * room / time)
    reduced = when(velocity > 0.0, reduced, -reduced)
    harder = tight & no(fits)
    return when(harder, reduced, velocity), when(harder, time, duration), acceleration


def sample(m):
    """Return position, velocity, acceleration and effort, `elapsed` after the stop began."""
    t = maximum(m.elapsed, 0.0)
    over = m.elapsed >= m.duration
    faded = 1.0 - smooth_step(t / m.duration)
    y = maximum(1.0 - t / _FADE, 0.0)
    y2 = y * y
    rows = []
    for q, v, time, a, effort in zip(m.q, m.velocity, m.time, m.acceleration, m.effort):
        x = minimum(t / time, 1.0)
        x2 = x * x
        rows.append((
            when(over, q + (0.5 * v * time - a * _FADE ** 2 / 12.0),
                 q + v * time * (x - x2 * x + 0.5 * x2 * x2)
                 + a * (_FADE ** 2 / 12.0 * (y2 * y2 - 1.0))),
            when(over, 0.0, v * (1.0 - x2 * (3.0 - 2.0 * x)) - a * (_FADE / 3.0 * y2 * y)),
            when(over, 0.0, v / time * (6.0 * (x2 - x)) + a * y2),
            when(over, 0.0, effort * faded)))
    return [list(column) for column in zip(*rows)]
