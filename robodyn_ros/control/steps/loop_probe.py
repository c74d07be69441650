"""
Probe of the loop of one joint: two doublets of torque while the arm is held, and its velocity.

The torque +a, -a, +a for L, 2 L and L leaves neither velocity nor displacement behind; with dry
friction it does, and its opposite, which follows at once, leads back. The feedback of this joint
rests meanwhile, and the torque that held it is added, so that the torque is known. What the
velocity shows is analysed outside of the cycle, see `loop_measurement`.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, scalar
from robodyn_ros.dynamics.jit.flags import any_above, any_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute
from robodyn_ros.dynamics.jit.vectors import element, magnitudes

SAMPLES = 64
ENDS = (1.0, 3.0, 4.0, 5.0, 7.0, 8.0)  # of the parts, in L; the torque alternates
EDGES = len(ENDS)
UNDER_WAY, RECORDED, INTERRUPTED, EXCEEDED = 0.0, 1.0, 2.0, 3.0  # results
FURTHEST = 2e-3  # rad or m, displacement that ends a doublet, beside the way of its begin
_QUIET = 0.2     # rad/s or m/s, above which an arm is not at rest; light joints swing
_ROUNDING = 1e-6  # s


@block
class Program:
    request: float = scalar('', 'Number of the last doublet that was requested.')
    joint: float = scalar('', 'Index of its joint.')
    amplitude: float = scalar('N m', 'Its a.')
    length: float = scalar('s', 'Its L.')
    window: float = scalar('s', 'Time from its begin for which the velocity is recorded.')
    softness: list = joints('', 'Reduction of the natural frequency of a joint whose answer to '
                            'doublets is unexplained, 0 to 1.')
    lowered: list = joints('', 'Reduction of it that the gains have for the measured loop.')
    use: float = scalar('', 'Number of the last result that is in use.')
    measured: list = joints('', 'Flag: the gains of this joint have margins by that result.')


@block
class Memory:
    request: float = scalar('', 'Number of the last doublet that was begun.')
    use: float = scalar('', 'Last result in use that was handled.')
    result: float = scalar('', 'How it ended: 0 under way, 1 recorded, 2 interrupted, 3 too far.')
    elapsed: float = scalar('s', 'Time since its begin.')
    part: float = scalar('', 'Part of it; the number of parts: its end.')
    edges: list = numbers('edges', 's', 'Times at which its parts ended.')
    rest: float = scalar('N m', 'Torque of the joint without it.')
    q: float = scalar('rad', 'Position of the joint at its begin.')
    qd: float = scalar('rad/s', 'Its velocity then.')
    count: float = scalar('', 'Number of samples.')
    states: float = scalar('', 'States in the sample that is being averaged.')
    time: float = scalar('s', 'Sum of their times since the begin.')
    speed: float = scalar('rad/s', 'Sum of their velocities.')
    times: list = numbers('samples', 's', 'Mean times of the samples.')
    speeds: list = numbers('samples', 'rad/s', 'Mean velocities of the samples.')


def under_way(m):
    """Return whether a doublet, or its record, is under way."""
    return flag(m.request) & equal(m.result, UNDER_WAY)


def obeying(p):
    """Return 1 for each joint, 0 for one that moves against its torque: no feedback may act."""
    return [when(soft < 1.0, 1.0, 0.0) for soft in p.softness]


def probes(m, p):
    """Return flags of joints: which one is probed now."""
    busy = under_way(m)
    return [busy & equal(p.joint, float(j)) for j in range(len(p.measured))]


def update(m, p, may, fresh, q, qd, torque, dt):
    """
    Return the memory after a cycle.

    Parameters
    ----------
    m, p : Memory, Program
        Memory and program of this step.
    may, fresh : scalar
        Flags: the arm is held at rest, and may be probed; there is a state.
    q, qd, torque : list of scalar
        State, and the mean torque.
    dt : scalar
        Time since the last cycle, s.

    """
    requested, m = no(equal(p.request, m.request)), replace(m, use=p.use)
    return choose(requested | under_way(m), [lambda: m, lambda: choose(requested, [
        lambda: _continued(m, p, may, fresh, q, qd, dt),
        lambda: _begun(m, p, may & no(any_above(magnitudes(qd), _QUIET)), q, qd, torque)])])


def _begun(m, p, may, q, qd, torque):
    zero = [0.0] * SAMPLES
    return Memory(p.request, m.use, when(may, UNDER_WAY, INTERRUPTED), 0.0, 0.0, [0.0] * EDGES,
                  element(torque, p.joint), element(q, p.joint), element(qd, p.joint), 0.0, 0.0,
                  0.0, 0.0, zero, zero)


def _continued(m, p, may, fresh, q, qd, dt):
    elapsed = m.elapsed + dt
    # the end of each part, as it is sent
    ends = [each * p.length for each in ENDS]
    passed = [equal(m.part, float(k)) & (elapsed >= end - _ROUNDING) for k, end in enumerate(ends)]
    edges = [when(each, elapsed, edge) for each, edge in zip(passed, m.edges)]
    part = m.part + when(any_of(passed), 1.0, 0.0)
    m = replace(m, elapsed=elapsed, edges=edges, part=part)
    m = choose(fresh, [lambda: m, lambda: _sampled(m, p, qd)])
    far = absolute(element(q, p.joint) - m.q - m.qd * elapsed) > FURTHEST
    over = elapsed >= p.window
    return replace(m, result=when(no(may), INTERRUPTED, when(
        far, EXCEEDED, when(over, RECORDED, UNDER_WAY))))


def _sampled(m, p, qd):
    states, time, speed = m.states + 1.0, m.time + m.elapsed, m.speed + element(qd, p.joint)
    spacing = p.window / SAMPLES
    full = (m.elapsed >= (m.count + 1.0) * spacing) & (m.count < SAMPLES - 0.5)
    here = [full & equal(m.count, float(k)) for k in range(SAMPLES)]
    return replace(
        m, states=when(full, 0.0, states), time=when(full, 0.0, time),
        speed=when(full, 0.0, speed), count=m.count + when(full, 1.0, 0.0),
        times=[when(each, time / states, old) for each, old in zip(here, m.times)],
        speeds=[when(each, speed / states, old) for each, old in zip(here, m.speeds)])


def applied(m, p, torque):
    """Return the torques of a cycle, with the doublet while it is under way."""
    return choose(under_way(m), [lambda: torque, lambda: _with_doublet(m, p, torque)])


def _with_doublet(m, p, torque):
    odd = any_of([equal(m.part, float(k)) for k in range(1, EDGES, 2)])
    sign = when(odd, -1.0, 1.0)
    pulse = m.rest + when(m.part < EDGES - 0.5, sign * p.amplitude, 0.0)
    return [when(each, pulse, t) for each, t in zip(probes(m, p), torque)]
