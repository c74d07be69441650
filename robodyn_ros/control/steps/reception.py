"""Kind of cycle from what was received: `acceptance`, as a function compiled separately."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import modes
from robodyn_ros.dynamics.jit.flags import all_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import call, choose
from robodyn_ros.dynamics.jit.nested import flatten, unflatten
from robodyn_ros.safety.acceptance import REQUESTS
from robodyn_ros.safety.events import Event


def receive(functions, state, m, p):
    """
    Return state and memory of the cycle that follows, its time, and the effect of missing states.

    The time is that at which a torque is sent: of the local clock, or of a simulation. The effect:
    flag that the arm was out of control, flag of a fault, event of the silence or of an
    implausible state.
    """
    inactive = equal(m.motion.mode, modes.INACTIVE)
    raw = state.kind > REQUESTS
    kept = flatten(m.acceptance)
    accepted = unflatten(m.acceptance, choose(raw, [lambda: kept, lambda: call(
        functions.accept, 0.0, flatten(state), kept, flatten(p.acceptance),
        [inactive, *m.sent], outputs=len(kept))]))
    kind, now, q, qd, effort = when(
        raw, [accepted.kind, accepted.now, accepted.q, accepted.qd, accepted.effort],
        [state.kind, state.now, state.q, state.qd, state.effort])
    state = replace(state, kind=kind, now=now, q=q, qd=qd, effort=effort)
    clock = when(raw & no(p.acceptance.simulated), state.arrival, now)
    requested = Event(modes.SILENT, 0.0, state.cause, 0.0, state.now)
    cause = when(flag(accepted.problem.code), accepted.problem, accepted.remark)
    silence = when(raw, replace(cause, bound=when(
        flag(accepted.problem.code), cause.bound, state.cause), time=accepted.age), requested)
    implausible = all_of([raw, flag(accepted.plausibility.fault.code), no(inactive),
                          state.permitted])
    return (state, replace(m, acceptance=accepted), clock, raw & accepted.resumes,
            (raw & accepted.fails) | implausible,
            when(implausible, accepted.plausibility.fault, silence))
