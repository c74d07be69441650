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
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    gravity_check, laws, loop_probe, modes, runaway, transition)
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_above, any_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import maximum, minimum
from robodyn_ros.dynamics.jit.vectors import difference, positive, product, smooth_step, zeros
from robodyn_ros.safety import oscillation, passive_stop

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


def stable_scale(m, damping, stiffness, delay=0.0):
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

    Longer intervals than usual do not count here, see `stable_scale`.
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


def slowed_for(p, interval):
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


# --- of a cycle ----------------------------------------------------------------------------------

def choose_gains(flags, m, p):
    """
    Return memory, program with the gains in use, and the feedback as a namespace.

    Of the namespace: `scale`, in [0, 1]; `undelayed`, the scale without the delay of estimated
    velocities; `grown`, flag that feedback has grown after activation.
    """
    silent = flags.silent
    states = m.acceptance
    # a source that repeats its last state is as late as that is old, and its torques may be, too
    late = when(states.plausibility.copied, states.age + states.plausibility.same,
                when(p.acceptance.simulated, 0.0, states.offset))
    intervals = when(silent & no(m.coasting), restarted(m.feedback, 1.0),
                     update(m.feedback, flags.dt, late))
    rates = when(silent, laws.COASTING_RATES, (p.law_damping, p.law_stiffness))
    p = slowed_for(p, interval(intervals))
    grown = growth(intervals, p.feedback, flags.now)
    # the gains of a task are none of the joints, which `light_joints` reduces
    unseen = when(equal(p.law, laws.ROWS['cartesian_impedance']),
                  found_delay(p.feedback), 0.0)
    scale = stable_scale(intervals, *rates, when(
        silent, 0.0, m.acceptance.plausibility.delay + unseen)) * grown
    undelayed = stable_scale(intervals, *rates) * grown
    return replace(m, feedback=intervals), p, SimpleNamespace(
        scale=scale, undelayed=undelayed, grown=equal(grown, 1.0))


def watch(body, flags, m, p):
    """Return the memory with oscillations, who carries the arm, and a passive stop."""
    q, qd, speeds = m.predicted.q, m.predicted.qd, body.robot.speeds
    shaken = choose(flags.fresh, [lambda: m.oscillation, lambda: oscillation.update(
        m.oscillation, difference(qd, m.motion.reference.qd), m.sent, speeds,
        p.gains.lightest_inertia, flags.now, m.feedback.usual)])
    shaken = choose(loop_probe.under_way(m.probe), [lambda: shaken, lambda: oscillation.unchanged(
        shaken, m.oscillation, loop_probe.probes(m.probe, p.probe))])
    # gains with margins of the measured loop are not lowered in addition
    shaken = choose(equal(p.probe.use, m.probe.use), [
        lambda: oscillation.restored(shaken, p.probe.measured), lambda: shaken])
    # what oscillated because of wrong states is over when these are not used any more
    shaken = oscillation.restarted(shaken,
                                   all_of([flags.fresh, m.acceptance.plausibility.switched
                                           | m.acceptance.moved, no(oscillation.rings(shaken))]))
    driven = choose(flags.fresh, [lambda: m.runaway, lambda: runaway.update(
        m.runaway, all_of([
            equal(m.motion.mode, modes.HOLD) | equal(m.motion.mode, modes.STOP),
            laws.one_of(p.law, laws.INTEGRATE), no(any_above(p.gains.safe_gravity_scale, 0.0))]),
        p.probe.measured, difference(q, m.motion.reference.q), qd)])
    passive = equal(m.motion.mode, modes.PASSIVE)
    resting = passive_stop.update(m.passive, q, qd, speeds, flags.dt)
    carried = choose(flags.fresh, [
        lambda: gravity_check.passed(m.gravity_check, flags.dt),
        lambda: gravity_check.update(body, m.gravity_check, q, qd, flags.dt)])
    carried = when(flags.silent
                   | any_of(
                       [equal(m.motion.mode, each)
                        for each in (modes.TRACK, modes.REACH, modes.LINEAR)]),
                   gravity_check.interrupted(carried), carried)
    probe = loop_probe.update(m.probe, p.probe, _may_be_probed(m, p, flags), flags.fresh, q, qd,
                              shaken.torque, flags.dt)
    passive = choose(passive, [
        lambda: replace(resting, slow=0.0, root=p.gains.stop_root, turned=zeros(q)),
        lambda: passive_stop.trusting(resting, qd, speeds, flags.dt)])
    return replace(m, oscillation=shaken, runaway=driven, gravity_check=carried, probe=probe,
                   passive=passive)


def _may_be_probed(m, p, flags):
    """Return whether the arm is held at rest, with its whole feedback."""
    return all_of([
        equal(m.motion.mode, modes.HOLD), no(flags.silent), no(m.motion.fault.code),
        no(m.external_law.active), no(m.oscillation.failed), no(m.gravity_check.checks),
        no(transition.under_way(m.transition)),
        equal(growth(m.feedback, p.feedback, flags.now), 1.0)])
