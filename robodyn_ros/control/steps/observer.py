"""Contact: external torque of the momentum observer, and collisions."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control import friction
from robodyn_ros.control.steps import collision, laws, loads, mean_torque, modes, wrenches
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.terms import rows_of, Term
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, all_of, equal, finite, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import maximum, minimum, sqrt
from robodyn_ros.dynamics.jit.vectors import zeros

_GAINS = (*friction.GAINS, 'armature', 'safe_gravity_scale')


@block
class Program:
    measured: float = scalar('', 'Flag: the motor torque is the measured effort.')
    model_error: float = scalar('', 'Relative model error of the torques of the motion.')


@block
class Memory:
    begins: float = scalar('', 'Flag: the next state is the first.')
    blending: float = scalar('', 'Flag: loads were changing at the last state.')
    change: float = scalar('', 'Change of the loads at the last state.')
    q: list = joints('rad', 'Position at the last state.')
    qd: list = joints('rad/s', 'Velocity at the last state.')
    momentum: list = joints('N m s', 'Generalised momentum M qd.')
    drift: list = joints('N m', 'C^T qd - g - friction.')
    external: list = joints('N m', 'External torque.')
    unknown: list = joints('N m', 'External torque without its known part.')
    allowance: list = joints('N m', 'Allowance of the external torque for model errors.')
    excess: list = joints('N m', 'Magnitude of the unknown part beyond the allowance.')


def _rows(m):
    return [m.momentum, m.drift, m.external, m.unknown, m.allowance, m.excess]


def restarted(m, flag_):
    """Return the memory of a restarted observer, where a flag holds."""
    rows = [when(flag_, zeros(row), row) for row in _rows(m)]
    return Memory(flag(m.begins) | flag_, m.blending, m.change, m.q, m.qd, *rows)


def update(body, m, p, dt, state, torque, known, terms, change_of_loads):
    """
    Return the memory after a state.

    dt: seconds since the last state. state: of the cycle. torque: mean torque sent since then.
    known: known external torque. terms: rows of the last law, see `Term`. change_of_loads: (flag
    that the loads are changing, number of their change).
    """
    blending, change = change_of_loads
    switches = flag(m.blending) | blending | no(equal(change, m.change))
    motors = [when(p.measured & finite(e), e, t) for e, t in zip(state.effort, torque)]
    g, nothing = body.gains, zeros(torque)
    gains = [getattr(g, name) for name in _GAINS]
    motion = [terms[term] for term in (Term.INERTIA, Term.CORIOLIS, Term.PAYLOAD)]

    def observed(q, qd, torque, known, bandwidth, step, rows):
        return body.rows('observe', q, qd, torque, known, motion, [bandwidth, *gains], step, rows)

    def initialised(q, qd):
        # without bandwidth the estimates are kept
        return observed(q, qd, nothing, nothing, nothing, [0.0, 0.0], _rows(m))

    def step_from(rows):
        return observed(state.q, state.qd, motors, known, g.observer_bandwidth,
                        [dt, p.model_error], rows)

    # a change of the model is no change of momentum: recompute the last state with the new model
    before = choose(switches & no(m.begins), [lambda: _rows(m), lambda: initialised(m.q, m.qd)])
    rows = choose(m.begins, [lambda: step_from(before), lambda: initialised(state.q, state.qd)])
    good = all_finite(rows)
    return Memory(no(good), blending, change, state.q, state.qd,
                  *when(good, rows, [nothing for _ in rows]))


def stable_external(body, q, external, stiffness):
    """Return the part of the external torque that a law with inertia shaping may feed back."""
    g = body.gains
    damping = [d + 2.0 * z * sqrt(k * m) for d, z, k, m in zip(
        g.joint_damping, g.impedance_ratio, stiffness, g.apparent_inertia)]
    slowest = _smallest([d / m for d, m in zip(damping, g.apparent_inertia)])
    fastest = _largest(g.observer_bandwidth)
    part, = body.part('stable_part', q, g.armature, g.apparent_inertia, [slowest / fastest])
    return [part * each for each in external]


def _smallest(values):
    result = values[0]
    for each in values[1:]:
        result = minimum(each, result)
    return result


def _largest(values):
    result = values[0]
    for each in values[1:]:
        result = maximum(each, result)
    return result


def observe(robot, functions, flags, state, m, p):
    """Return the memory after observing a state; `flags.hit` is set where a collision begins."""
    body = Body(robot, functions, loads.runtime(m.loads), p.gains)

    def observed():
        elapsed, torque, after_torque = mean_torque.finished(
            m.mean_torque, flags.now - m.before, m.sent)
        # a velocity from another source would look like a change of momentum
        regular = all_of([elapsed > 0.0, no(elapsed > robot.longest_pause),
                          no(m.acceptance.plausibility.switched)])
        undecided = m.acceptance.plausibility.undecided
        known = wrenches.known_torque(body, state.q, p.external, m.before)
        blending = no(loads.settled(m.loads)) | laws.one_of(p.law, laws.ADAPT)
        after = update(
            body, restarted(m.observer, no(regular)), p.observer, elapsed, state, torque,
            known, rows_of(m.terms), (blending, m.loads.change))
        hit, begun = collision.update(m.collision, p.collision, elapsed, after.excess,
                                      after.unknown, undecided)
        return after_torque, after, hit, begun

    after_torque, after, hit, begun = choose(flags.fresh, [
        lambda: (m.mean_torque, m.observer, m.collision, 0.0), observed])
    flags.hit = all_of([begun, no(modes.no_reference(m.motion)), flag(p.collision.reaction)])
    return replace(m, mean_torque=after_torque, observer=after, collision=hit)
