"""
Feedback that is stable: faded in at activation, limited by the time between torques.

A torque acts until the next one is sent. With torques T apart, the error of a joint with
e'' = -c (kd e' + kp e) between them decays if and only if
    c kd T < 2    and    kp T < 2 kd
(Jury criterion, double integrator behind a zero-order hold). Gains that are stable at 1 kHz
therefore destabilise the arm as soon as the computer is too busy to respond in time. After a long
interval between torques feedback is reduced for a moment, down to zero. For the usual interval
gains are, see `light_joints` for those that are not on accelerations.

With torques T apart that act one interval after the state was measured, the error of a joint with
e'' = -(kd e' + kp e) decays if and only if

    kd T < (1 - 3 x / 2) / (1 - x / 2)^2    with x = kp T / kd

(Jury criterion, double integrator behind a zero-order hold). Where gains are higher, the natural
frequency is lowered at the same damping ratio: kd f, kp f^2 and ki f^3, with

    f = 0.8 / (kd T + x),

with which the criterion holds for damping ratios above 0.3. The oscillation of less damped joints
grows slowly, and friction stops it.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import flag, no, when
from robodyn_ros.dynamics.jit.trace import maximum, minimum
from robodyn_ros.dynamics.jit.vectors import positive, product, smooth_step

DAMPED = 0.8    # of kd T, below which an error decays without oscillation
_MEMORY = 0.1    # s in which a long interval is forgotten
_USUAL = 2.0     # s, time constant of the usual interval
_SHORT = 0.02    # s in which a short interval is forgotten
_IRREGULAR = 3   # times the usual interval: gains are designed for less than that,
_LATE = 0.02     # s, and for at most this
LAWS = 'computed_torque', 'operational_space'  # laws with gains on accelerations
UNDAMPED = 2.5  # largest ratio of x to kd T that counts: (1 / (2 damping ratio))^2


@block
class Program:
    activation_time: float = scalar('s', 'Time in which feedback grows from zero.')
    delay: float = scalar('s', 'Delay from torque to velocity that no stamp shows.')
    found: float = scalar('', 'Flag: this delay was measured, or is being measured.')
    behind: list = joints('s', 'Measured delay of each joint; 0: short, or unknown.')


@block
class Memory:
    since: float = scalar('s', 'Time of the law at which feedback began to grow.')
    gap: float = scalar('s', 'Largest recent interval between torques.')
    usual: float = scalar('s', 'Usual interval between torques; 0: not known yet.')
    least: float = scalar('s', 'Smallest recent interval between torques; 0: not known yet.')
    lag: float = scalar('s', 'Largest recent lateness of a state.')


def update(m, dt, late=0.0):
    """Return the memory after a torque sent `dt` after the one before, for a state so late (s)."""
    usual = when(flag(m.usual), m.usual + (dt - m.usual) * minimum(dt / _USUAL, 1.0), dt)
    kept = maximum(1.0 - dt / _MEMORY, 0.0)
    least = when(flag(m.least), minimum(m.least * (1.0 + dt / _SHORT), dt), dt)
    return Memory(m.since, maximum(dt, m.gap * kept), usual, least, maximum(late, m.lag * kept))


def restarted(m, flag_):
    """Return the memory without past intervals, where a flag holds."""
    return Memory(m.since, *(when(flag_, 0.0, each) for each in (m.gap, m.usual, m.least, m.lag)))


def growing(m, now, flag_):
    """Return the memory of feedback that begins to grow, where a flag holds."""
    return replace(m, since=when(flag_, now, m.since))


def growth(m, p, now):
    """Return the part to which feedback has grown, in [0, 1]."""
    ahead = maximum(now - m.since, 0.0)
    grown = no(p.activation_time > ahead)
    return when(grown, 1.0, smooth_step(ahead / positive(p.activation_time)))


def stable_share(m, damping, stiffness, delay=0.0):
    """
    Return the share of the feedback that is stable at the interval of the torques, in [0, 1].

    damping, stiffness: largest kd, and kp / kd, of the law (1/s). delay: delay of estimated
    velocities, s; a torque that acts for T has the same lag as one delayed by T / 2.
    """
    gap = when(_regular(m) & no(flag(delay)), 0.0, m.gap) + 2.0 * delay
    return (minimum(DAMPED / maximum(gap * damping, DAMPED), 1.0)
            * minimum(maximum(2.0 - gap * stiffness, 0.0), 1.0))


def interval(m):
    """
    Return the interval between torques that gains must suit, s, with the lateness of states.

    Longer intervals than usual do not count here, see `stable_share`.
    """
    return when(_regular(m), maximum(minimum(m.usual, m.gap), m.least), 0.0) + m.lag


def found_delay(p):
    """Return the delay that no stamp shows where it was or is being measured, s; else 0."""
    return when(p.found, p.delay, 0.0)


def caught_up(p, reference, q, qd):
    """
    Return position and velocity moved ahead along the reference by the measured delays.

    The state shows where the reference was so long ago, also where the torque acts late. Compared
    with the present reference a joint would be driven ahead of it by its way in that time, and
    beyond its speed at the begin of each motion.
    """
    return ([x + t * (v - 0.5 * t * a)
             for x, t, v, a in zip(q, p.behind, reference.qd, reference.qdd)],
            [x + t * a for x, t, a in zip(qd, p.behind, reference.qdd)])


def _regular(m):
    return no(m.gap > minimum(_IRREGULAR * m.usual, _LATE))


# --- gains at the usual interval -----------------------------------------------------------------

def factors(kp, kd, intervals):
    """Return the factor f of each natural frequency, in (0, 1]; intervals: T of each, s."""
    result = []
    for spring, damper, T in zip(kp, kd, intervals):
        decay = damper * T
        x = minimum(spring * T / positive(damper), UNDAMPED * decay)
        result.append(DAMPED / maximum(decay + x, DAMPED))
    return result


def reduced(p, interval):
    """Return the program with gains that are stable at an interval between torques, s."""
    gains, task = p.gains, p.task
    intervals = [interval for _ in gains.kp]
    f = factors(gains.kp, gains.kd, intervals)
    link = factors(task.kp, task.kd, [interval for _ in task.kp])
    posture = factors(task.posture_kp, task.posture_kd, intervals)
    return replace(
        p, gains=replace(gains, kp=product(gains.kp, product(f, f)), kd=product(gains.kd, f),
                         ki=product(gains.ki, product(f, product(f, f)))),
        task=replace(task, kp=product(task.kp, product(link, link)), kd=product(task.kd, link),
                     posture_kp=product(task.posture_kp, product(posture, posture)),
                     posture_kd=product(task.posture_kd, posture)))
