"""Feedback of a cycle: what is stable at the interval between torques, and what it does."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    feedback_share, gravity_check, laws, loop_probe, modes, transition)
from robodyn_ros.dynamics.jit.flags import all_of, any_of, equal, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.vectors import difference
from robodyn_ros.safety import oscillation, passive_stop


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
    share = when(silent & no(m.coasting), feedback_share.restarted(m.share, 1.0),
                 feedback_share.update(m.share, flags.dt, late))
    rates = when(silent, laws.COASTING_RATES, (p.law_damping, p.law_stiffness))
    p = feedback_share.reduced(p, feedback_share.interval(share))
    growth = feedback_share.growth(share, p.share, flags.now)
    # the gains of a task are none of the joints, which `light_joints` reduces
    unseen = when(equal(p.law, laws.ROWS['cartesian_impedance']),
                  feedback_share.found_delay(p.share), 0.0)
    scale = feedback_share.stable_share(share, *rates, when(
        silent, 0.0, m.acceptance.plausibility.delay + unseen)) * growth
    undelayed = feedback_share.stable_share(share, *rates) * growth
    return replace(m, share=share), p, SimpleNamespace(
        scale=scale, undelayed=undelayed, grown=equal(growth, 1.0))


def watch(robot, body, flags, m, p):
    """Return the memory with oscillations, who carries the arm, and a passive stop."""
    q, qd = m.predicted.q, m.predicted.qd
    shaken = choose(flags.fresh, [lambda: m.oscillation, lambda: oscillation.update(
        m.oscillation, difference(qd, m.motion.reference.qd), m.sent, robot.speeds,
        p.gains.lightest_inertia, flags.now, m.share.usual)])
    shaken = choose(loop_probe.under_way(m.probe), [lambda: shaken, lambda: oscillation.unchanged(
        shaken, m.oscillation, loop_probe.probes(m.probe, p.probe))])
    # gains with margins of the measured loop are not lowered in addition
    shaken = choose(equal(p.probe.use, m.probe.use), [
        lambda: oscillation.restored(shaken, p.probe.measured), lambda: shaken])
    # what oscillated because of wrong states is over when these are not used any more
    shaken = oscillation.restarted(shaken,
                                   all_of([flags.fresh, m.acceptance.plausibility.switched
                                           | m.acceptance.moved, no(oscillation.rings(shaken))]))
    passive = equal(m.motion.mode, modes.PASSIVE)
    resting = passive_stop.update(m.passive, q, qd, robot.speeds, flags.dt)
    carried = choose(flags.fresh, [lambda: m.gravity_check, lambda: gravity_check.update(
        body, m.gravity_check, q, qd, flags.dt)])
    carried = when(flags.silent
                   | any_of(
                       [equal(m.motion.mode, each)
                        for each in (modes.TRACK, modes.REACH, modes.LINEAR)]),
                   gravity_check.interrupted(carried), carried)
    probe = loop_probe.update(m.probe, p.probe, _may_be_probed(m, p, flags), flags.fresh, q, qd,
                              shaken.torque, flags.dt)
    return replace(m, oscillation=shaken, gravity_check=carried, probe=probe, passive=when(
        passive, resting, replace(resting, slow=0.0)))


def _may_be_probed(m, p, flags):
    """Return whether the arm is held at rest, with its whole feedback."""
    return all_of([
        equal(m.motion.mode, modes.HOLD), no(flags.silent), no(m.motion.fault.code),
        no(m.external_law.active), no(m.oscillation.failed), no(m.gravity_check.checks),
        no(transition.under_way(m.transition)),
        equal(feedback_share.growth(m.share, p.share, flags.now), 1.0)])
