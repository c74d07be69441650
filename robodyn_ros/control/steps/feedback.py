"""Feedback of a cycle: gains and scale that are stable at the interval between torques."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import feedback_share, laws, stable_gains
from robodyn_ros.dynamics.jit.flags import both, equal, no, when


def limit(flags, m, p):
    """
    Return memory, program with the gains in use, and the feedback as a namespace.

    Of the namespace: `scale`, in [0, 1]; `undelayed`, the scale without the delay of estimated
    velocities; `grown`, flag that feedback has grown after activation.
    """
    silent = flags.silent
    share = when(both(silent, no(m.coasting)), feedback_share.restarted(m.share, 1.0),
                 feedback_share.update(m.share, flags.dt, when(
                     p.acceptance.simulated, 0.0, m.acceptance.offset)))
    rates = when(silent, laws.COASTING_RATES, (p.law_damping, p.law_stiffness))
    p = stable_gains.reduced(p, feedback_share.interval(share), m.schedule)
    growth = feedback_share.growth(share, p.share, flags.now)
    scale = feedback_share.stable_share(share, *rates, when(
        silent, 0.0, m.acceptance.plausibility.delay)) * growth
    undelayed = feedback_share.stable_share(share, *rates) * growth
    return replace(m, share=share), p, SimpleNamespace(
        scale=scale, undelayed=undelayed, grown=equal(growth, 1.0))
