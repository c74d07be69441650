"""
External laws: when one of them controls the arm, and when it is disabled.

It takes over an arm that the built-in law controls, without a fault and fully activated. On any
problem with it, the built-in law brings the arm to rest from its present motion. A disabled law
takes over again when its mode is chosen again.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import laws, modes, transition
from robodyn_ros.control.terms import SUMMANDS, Term
from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, scalar
from robodyn_ros.dynamics.jit.flags import all_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.vectors import difference, product, total, zeros

NONE, OWN, LINEAR = 0.0, 1.0, 2.0


@block
class Program:
    request: float = scalar('', 'Number of the last choice.')
    choice: float = scalar('', 'External law: 0 none, 1 own law, 2 linear feedback.')
    until: float = scalar('s', 'Time of the law until which the linear feedback is valid.')
    feedforward: list = joints('N m', 'Torque of the linear feedback at the desired state.')
    position: list = joints('rad', 'Desired position of the linear feedback.')
    velocity: list = joints('rad/s', 'Desired velocity of the linear feedback.')
    gain: list = numbers('feedback', 'N m/rad, N m s/rad', 'Gains of the linear feedback, row by '
                         'row: of positions, then of velocities.')


@block
class Memory:
    request: float = scalar('', 'Last choice that was handled.')
    chosen: float = scalar('', 'Chosen law.')
    active: float = scalar('', 'Law that controlled the arm in the last cycle.')
    disabled: float = scalar('', 'Flag: it has been disabled since, for `reason`.')
    reason: float = scalar('', 'Code of the reason.')


def requested(m, p, chooses):
    """Return the memory after a new choice; `chooses`: flag that the choice is applied again."""
    new = no(equal(p.request, m.request)) | chooses
    return Memory(p.request, when(new, p.choice, m.chosen), m.active,
                  when(new, 0.0, m.disabled), m.reason)


def disabled(m, flag_, code):
    """Return the memory with the law disabled until one is chosen again, where a flag holds."""
    flag_ = flag_ & flag(m.chosen)
    reports = flag_ & flag(m.active)
    return Memory(m.request, when(flag_, NONE, m.chosen), m.active, flag(m.disabled) | reports,
                  when(reports, code, m.reason))


def released(m, flag_):
    """Return the memory with the law suspended for this cycle, where a flag holds."""
    return Memory(m.request, m.chosen, when(flag_, NONE, m.active),
                  when(flag_, 0.0, m.disabled), m.reason)


def candidate(m, p, now, ready, at_rest):
    """Return the law to use; linear feedback takes over an arm at rest only."""
    current = (p.until > now) & (at_rest | equal(m.active, LINEAR))
    possible = no(equal(m.chosen, LINEAR)) | current
    return when(all_of([ready, possible]), m.chosen, NONE)


def linear_torque(p, q, qd):
    """Return K (x_des - x) of the linear feedback."""
    error = [*difference(p.position, q), *difference(p.velocity, qd)]
    width = len(error)
    return [total(product(p.gain[i * width:(i + 1) * width], error), len(q))
            for i in range(len(q))]


# --- of a cycle ----------------------------------------------------------------------------------

def terms(body, now, ready, follows, q, qd, wrench_torque, m, p):
    """Return the state of the external laws, the rows of their torque, and the memory."""
    ext_law, motion_ = m.external_law, m.motion
    at_rest = equal(motion_.mode, modes.HOLD)
    active_law = candidate(ext_law, p.external_law, now, ready, at_rest)
    reference, nothing = motion_.reference, zeros(q)
    x = SimpleNamespace(
        q=q, qd=qd, q_ref=reference.q, qd_ref=reference.qd, qdd_ref=reference.qdd,
        effort=reference.effort, external=wrench_torque, integral=nothing, disturbance=nothing,
        contact=nothing)
    none = [nothing for _ in SUMMANDS], 0.0

    def own():
        rows_, report = laws.evaluate(body, laws.OWN, x, p.gains, p.task, 1.0,
                                      p.limits.effort)
        return rows_, report[0]

    def linear():
        rows_ = [nothing for _ in SUMMANDS]
        rows_[Term.EFFORT] = p.external_law.feedforward
        rows_[Term.FEEDBACK] = linear_torque(p.external_law, q, qd)
        return rows_, 0.0

    rows_, problem = choose(active_law, [lambda: none, own, linear])
    failed = flag(problem)
    motion_ = modes.latched(motion_, failed, modes.event(problem))
    # an interrupted motion in addition to that of the law itself
    interrupted = when(failed & modes.moves(motion_, p.motion), 1.0, 0.0)
    motion_ = replace(motion_, interruptions=motion_.interruptions + interrupted)
    ext_law = disabled(ext_law, failed, problem)
    active_law = when(failed, NONE, active_law)
    changes = follows & no(equal(active_law, ext_law.active))
    takes_over = changes & equal(active_law, LINEAR)
    ends = all_of([changes, no(takes_over), equal(ext_law.active, LINEAR)
                   | flag(ext_law.disabled)])
    silence = when(equal(ext_law.chosen, LINEAR), modes.NO_LINEAR_FEEDBACK, 0.0)
    reason = modes.event(when(ext_law.disabled, ext_law.reason, silence))
    # a fault has more evidence than its code
    reason = when(equal(reason.code, motion_.fault.code), motion_.fault, reason)
    motion_ = modes.act(
        body.robot, motion_, p.motion,
        when(takes_over, modes.LINEAR, when(ends, modes.STOP, motion_.mode)),
        when(takes_over, modes.RELEASE, when(ends, modes.STOP_FROM_STATE, modes.KEEP)),
        when(takes_over, modes.NOTHING, when(ends, reason, motion_.message)), q, qd)
    driven = follows & equal(active_law, LINEAR)
    motion_ = replace(motion_, reference=when(
        driven, modes.Reference(q, qd, nothing, nothing), motion_.reference))
    ext_law = replace(ext_law, active=when(follows, active_law, NONE),
                      disabled=when(changes | no(follows), 0.0, ext_law.disabled))
    return ext_law, rows_, replace(
        m, motion=motion_, transition=transition.begin(m.transition, p.transition, changes))
