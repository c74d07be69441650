"""From what was received to the kind of cycle: `acceptance`, as a function compiled alone."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control import blocks
from robodyn_ros.control.state import REQUESTS, State
from robodyn_ros.control.steps import acceptance, motion
from robodyn_ros.control.steps.event import Event
from robodyn_ros.dynamics.jit.flags import above, all_of, both, either, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import call, choose
from robodyn_ros.dynamics.jit.nested import flatten, unflatten

_BLOCKS = State, acceptance.Memory, acceptance.Program


def body_of(dimensions):
    """Return `acceptance.accept` as a function of lists of scalars."""
    def accept(*values):
        *given, (inactive, *sent) = values
        return acceptance.accept(*(blocks.unpack(cls, each, dimensions)
                                   for cls, each in zip(_BLOCKS, given)), inactive, sent)

    return accept


def receive(functions, state, m, p):
    """
    Return state and memory of the cycle that follows, and what the absence of states means.

    That is: flag that the arm was out of control, flag of a fault, event of the silence or of
    what is not plausible.
    """
    inactive = equal(m.motion.mode, motion.INACTIVE)
    raw = above(state.kind, REQUESTS)
    kept = flatten(m.acceptance)
    seen = unflatten(m.acceptance, choose(raw, [lambda: kept, lambda: call(
        functions.accept, 0.0, flatten(state), kept, flatten(p.acceptance),
        [inactive, *m.sent], outputs=len(kept))]))
    kind, now, q, qd, effort = when(
        raw, [seen.kind, seen.now, seen.q, seen.qd, seen.effort],
        [state.kind, state.now, state.q, state.qd, state.effort])
    state = replace(state, kind=kind, now=now, q=q, qd=qd, effort=effort)
    asked = Event(motion.SILENT, 0.0, state.cause, 0.0, state.now)
    why = when(flag(seen.problem.code), seen.problem, seen.remark)
    silence = when(raw, replace(why, bound=when(
        flag(seen.problem.code), why.bound, state.cause), time=seen.age), asked)
    implausible = all_of([raw, flag(seen.plausibility.fault.code), no(inactive),
                          state.permitted])
    return (state, replace(m, acceptance=seen), both(raw, seen.resumes),
            either(both(raw, seen.fails), implausible),
            when(implausible, seen.plausibility.fault, silence))
