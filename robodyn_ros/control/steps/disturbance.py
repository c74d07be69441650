"""
Compensation of disturbances: unknown torque, learned from the error of the position.

The torque `b + F s`, with the smoothed sign s of the reference velocity, contains dry friction
that the model lacks: it changes its sign with the reference, not a time constant later. b and F
follow from the feedback of the law, with the inertia G = M + E in it,

    (b + F s)' = K G (kp e + kd e'),    shared by b and F in the ratio 1 : s^2

(normalised least mean squares), where e is the error of the position beyond a small one, and e'
its change: velocities are not used, so that wrong or noisy ones are not learned. With a rotor A
that the model lacks and viscous friction v the error obeys

    (M + A) e''' + (G kd + v) e'' + G (kp + K kd) e' + G K kp e = 0

and decays if (Hurwitz)

    K (kp - d kd) < d kp,    d = (G kd + v) / (M + A).

d is computed for three times the rotor that the joint is built for, see `likely_rotors`, without
friction; K is that of the slowest joint, as joints are coupled. Where the loop was measured E is
0: the rotors are known. Before that unknown rotors may be many times the inertia in one direction
of coupled joints, and without friction what is learned makes an arm swing. Nothing is learned
while a joint has swung at rest for long: the feedback alone calms it.

Against dry friction integration makes a joint at rest stick, slip to the other side of its
reference, and so on. At rest the compensation is therefore constant while the error is within a
zone. It is at first a tenth of the error at which the feedback overcomes the dry friction F of the
joint, within bounds, and widened each time that the error leaves it on the other side: slips end
after a few. What is learned at rest may be dry friction of any sign. As much of it as the joint
may have, r, is a part of its own, which ends with the rest.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.friction import smoothed_sign, SMOOTHING
from robodyn_ros.control.steps import collision, feedback, laws, loads, transition
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, all_of, any_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import (
    added, clipped, difference, positive, product, zeros)
from robodyn_ros.safety import oscillation

_SMALL = 3e-4  # rad or m, error that teaches nothing: perfect arms are not affected
_LARGE = 0.1   # rad or m, error beyond which it has other causes than a wrong model
_USUAL, _WIDE = 2e-3, 0.02  # rad or m, largest zone at first, and largest
_WIDER = 3.0
_WAIT = 0.5  # s without late torques before anything is learned
_FORGOTTEN = 0.2  # s, time constant with which what was learned decays
_BANDWIDTH = 0.25  # of kd: stable without rotors for any damping ratio
_FASTEST = 30.0  # rad/s
_ROTOR = 3.0  # times the likely rotor
_SWINGS = 0.02  # of the velocity limit, above which a joint does not rest,
_SWUNG, _LONGEST = 1.5, 2.0  # s for which it may; s that are counted


@block
class Program:
    limit: list = joints('N m', 'Largest torque that compensates disturbances.')


@block
class Memory:
    continues: float = scalar('', 'Flag: the error is that of the last state.')
    elapsed: float = scalar('s', 'Time since that state.')
    prompt: float = scalar('s', 'Time for which torques have not been late.')
    error: list = joints('rad', 'Error of the position beyond a small one, up to a large one.')
    bias: list = joints('N m', 'Part b of the compensation, without a direction.')
    dry_friction: list = joints('N m', 'Part F with the sign of the reference velocity.')
    model: list = joints('N m', 'Dry friction of the model that it adds to.')
    rest: list = joints('N m', 'Part r of joints at rest.')
    zone: list = joints('rad', 'Error within which the compensation rests at rest; its sign is '
                        'the side of the error.')
    swung: float = scalar('s', 'Time for which a joint has swung at rest, less that since.')


def torque(m, p, velocity):
    """Return the compensation; velocity: of the reference."""
    return _within([b + r * (1.0 - s * s) + f * s for b, r, f, s in zip(
        m.bias, m.rest, m.dry_friction, _direction(velocity))], p.limit)


def ready(m):
    """Return whether torques have been prompt for long enough to learn."""
    return m.prompt >= _WAIT


def without_learning(m, gains, compensates, prompt, dt, fades, bias_fades):
    """
    Return the memory after a cycle in which nothing is learned.

    The dry friction is that of the joints, under any law; what the model gains of it is not
    compensated twice. compensates: flag of the law. prompt: flag that torques are not late. fades,
    bias_fades: flags that the dry friction, or the rest, may be wrong, and decays.
    """
    decay = maximum(1.0 - dt / _FORGOTTEN, 0.0)
    friction = [when(fades, decay, 1.0) * each for each in gains.disturbance_observer]
    on = [when(compensates & each, when(bias_fades, decay, 1.0), 0.0)
          for each in gains.disturbance_observer]
    waited = when(prompt, minimum(m.prompt + dt, _WAIT), 0.0)
    dry = [f - maximum(minimum(now - before, maximum(f, 0.0)), minimum(f, 0.0))
           for f, now, before in zip(m.dry_friction, gains.coulomb, m.model)]
    return Memory(m.continues, m.elapsed + dt, waited, m.error, product(on, m.bias),
                  product(friction, dry), gains.coulomb, product(on, m.rest), m.zone, m.swung)


def interrupted(m):
    """Return the memory after a cycle whose error is not that of the law."""
    return replace(m, continues=0.0, elapsed=0.0)


def restarted(m, flag_):
    """Return the memory of an arm that is taken over, where a flag holds."""
    nothing = zeros(m.error)
    empty = Memory(0.0, 0.0, 0.0, *[nothing] * 6, 0.0)
    return when(flag_, empty, m)


def update(m, p, gains, moved, error, reference, K):
    """
    Return the memory after a state; m: that of `without_learning`.

    gains: in use. moved: function that returns G times accelerations. error: of the position. K:
    bandwidth, rad/s.
    """
    zone = zones(m.zone, error, reference, narrow_zones(gains, m.dry_friction))
    large = _within(difference(error, _within(error, _SMALL)), _LARGE)
    change = when(m.continues, difference(large, m.error), zeros(error))
    step = moved(
        [when(flag(on) & moves, K * (kp * m.elapsed * e + kd * c), 0.0) for on, moves, kp, kd, e,
         c in zip(gains.disturbance_observer, active(zone, error, reference), gains.kp, gains.kd,
                  large, change)])
    step = when(all_finite(step), [
        when(flag(on), x, 0.0) for on, x in zip(gains.disturbance_observer, step)], zeros(step))
    s = _direction(reference.qd)
    share = [each / (1.0 + d * d) for each, d in zip(step, s)]
    dry = _within([f + x * d for f, x, d in zip(m.dry_friction, share, s)], p.limit)
    ending = [r * (1.0 - d * d) for r, d in zip(m.rest, s)]
    rest = _within([r + when(_at_rest(v, a), x, 0.0) for r, x, v, a in zip(
        ending, share, reference.qd, reference.qdd)],
        [friction + absolute(f) for friction, f in zip(gains.stiction, dry)])
    bias = _within([b + x - (after - r) for b, x, after, r in zip(m.bias, share, rest, ending)],
                   p.limit)
    return Memory(1.0, 0.0, m.prompt, large, bias, dry, m.model, rest, zone, m.swung)


def _within(values, limits):
    """Return values within limits, which are a list or a number."""
    limits = limits if isinstance(limits, list) else [limits for _ in values]
    return clipped(values, [-most for most in limits], limits)


def bandwidth(gains, scale):
    """Return the bandwidth K, rad/s; scale: part of E in use."""
    result = _FASTEST
    for on, kp, kd, M, E, f in zip(gains.disturbance_observer, gains.kp, gains.kd, gains.inertia,
                                   gains.feedback_inertia, scale):
        decay = kd * (M + f * E) / positive(_ROTOR * (M + E))
        bound = minimum(_BANDWIDTH * kd, decay * kp / positive(kp - decay * kd))
        result = when(flag(on), minimum(result, bound), result)
    return result


def narrow_zones(gains, dry_friction):
    """Return the zone of each joint in motion; dry_friction: that is not in the model."""
    return [maximum(minimum(0.1 * (c + absolute(f)) / positive(kp * (M + E)), _USUAL), _SMALL)
            for c, f, kp, M, E in zip(gains.coulomb, dry_friction, gains.kp, gains.inertia,
                                      gains.feedback_inertia)]


def zones(zone, error, reference, narrow):
    """
    Return the zone of each joint, with the sign of the side on which the error was last.

    error: of the position. reference: of the joints. narrow: zone in motion.
    """
    result = []
    for z, e, v, a, least in zip(zone, error, reference.qd, reference.qdd, narrow):
        size = absolute(z)
        crossed = (absolute(e) > size) & (z * e < 0.0)
        wider = minimum(_WIDER * size, _WIDE)
        side = when(e > 0.0, 1.0, -1.0)
        result.append(when(no(_at_rest(v, a)), side * least, when(crossed, side * wider, z)))
    return result


def active(zone, error, reference):
    """Return flags of joints whose compensation changes."""
    return [when(_at_rest(v, a), absolute(e) > absolute(z), 1.0) for z, e, v,
            a in zip(zone, error, reference.qd, reference.qdd)]


def watched(m, reference, qd, speeds, dt):
    """Return the memory after `dt` s, with how long the arm has swung; qd: filtered, rad/s."""
    swings = any_of([_at_rest(v, a) & (absolute(x) > _SWINGS * most) for v, a, x, most in zip(
        reference.qd, reference.qdd, qd, speeds)])
    return replace(m, swung=maximum(minimum(m.swung + when(swings, dt, -dt), _LONGEST), 0.0))


def _direction(velocity):
    """Return the smoothed sign of the reference velocity."""
    return smoothed_sign(velocity, [SMOOTHING for _ in velocity])


def _at_rest(velocity, acceleration):
    return equal(velocity, 0.0) & equal(acceleration, 0.0)


# --- of a cycle ----------------------------------------------------------------------------------

def compensated(body, m, p, gains, light, row, q, dt, flags):
    """
    Return the memory of the compensation of disturbances after a torque of a law.

    gains, light: in use. flags: the law compensates; the error is that of its whole feedback; the
    torque is one between two states.
    """
    compensates, learns, between = flags
    error, seen = difference(m.motion.reference.q, q), m.acceptance.plausibility
    estimated = flag(seen.delay)
    # with the compensation the feedback is stiffer than that of the law alone
    prompt = equal(feedback.stable_scale(
        m.feedback, 2.0 * p.law_damping, 2.0 * p.law_stiffness), 1.0)
    # loads that change may have been learned
    settled = loads.settled(m.loads)
    shaken = oscillation.recent(m.oscillation)  # what was learned then drives a soft joint away
    before = watched(
        m.disturbance, m.motion.reference, m.passive.once, body.robot.speeds, dt)
    kept = without_learning(before, gains, compensates, prompt, dt, fades=estimated
                            | shaken, bias_fades=any_of([estimated, no(settled), shaken]))
    computed_torque = equal(row, laws.ROWS['computed_torque'])
    # the error of a joint with strongly reduced gains shows little
    significant = computed_torque | all_of([part >= 0.9 for part in light.scale])

    def learned():
        K = bandwidth(replace(gains, feedback_inertia=p.gains.feedback_inertia),
                      when(computed_torque, light.scale, zeros(q)))

        def moved(acceleration):
            return choose(computed_torque, [
                lambda: product(product(light.scale, gains.inertia), acceleration),
                lambda: added(body.part('inertial', q, gains.armature, acceleration),
                              product(gains.feedback_inertia, acceleration))])

        return update(
            kept, p.disturbance, gains, moved, error, m.motion.reference, K)

    steady = all_of([
        compensates, learns, ready(kept), significant, settled, no(estimated),
        no(kept.swung > _SWUNG), no(seen.undecided), no(m.motion.fault.code),
        no(transition.under_way(m.transition)),
        no(collision.present(m.collision, p.collision))])
    return choose(steady, [
        lambda: when(between, kept, interrupted(kept)), learned])
