"""State of the laws: the integral of the error, and stiffness during a change."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import laws, learning
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.blocks import block, numbers, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_above, equal, finite, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, sqrt
from robodyn_ros.dynamics.jit.vectors import (
    difference, positive, product, total, zeros)
from robodyn_ros.safety import oscillation

_ROUNDING = 1e-12  # relative difference below which a change of stiffness is complete


def integrate(value, dt, error, cut, gains):
    """
    Return the integral of the error, an acceleration, after `dt` seconds.

    Anti-windup by back-calculation through the inertia of the arm (Astrom and Hagglund, PID
    Controllers, 3.5),
        i' = Ki e + M^-1 (sent - desired) / Tt,    Tt = sqrt(Kd / Ki):
    the integral settles where the limit is just met. cut: M^-1 (sent - desired). Joints without
    Ki have no integral.
    """
    result = []
    for i, e, c, ki, kd in zip(value, error, cut, gains.ki, gains.kd):
        rate = minimum(sqrt(ki / maximum(kd, 1e-12)), 1.0 / maximum(dt, 1e-9))
        value = i + dt * (ki * e + rate * c)
        result.append(when(flag(ki) & finite(value), value, 0.0))
    return result


def stiffness_memory(dimension):
    """Return the block of a stiffness that may change, of given dimension."""
    unit = 'N m/rad'

    @block
    class Springs:
        value: list = numbers(dimension, unit, 'Stiffness in effect.')
        target: list = numbers(dimension, unit, 'Requested stiffness.')
        rate: list = numbers(dimension, f'{unit} 1/s', 'Largest rate of change.')
        energy: float = scalar('J', 'Energy in the tank.')
        change: float = scalar('', 'Number of the last change.')

    return Springs


Springs = stiffness_memory('joints')
TaskSprings = stiffness_memory('task')


def requested(m, change, target, duration):
    """Return the springs with a new target stiffness, if the change is a new one."""
    new = no(equal(change, m.change))
    rate = [absolute(t - v) / maximum(duration, 1e-9) for t, v in zip(target, m.value)]
    return type(m)(m.value, when(new, target, m.target), when(new, rate, m.rate), m.energy,
                   change)


def completed(m, flag_):
    """Return the springs with the requested stiffness in effect, where a flag holds."""
    return type(m)(when(flag_, m.target, m.value), m.target, m.rate, m.energy, m.change)


def refilled(m, tank, flag_):
    """Return the springs with a full tank, where a flag holds."""
    return type(m)(m.value, m.target, m.rate, when(flag_, tank, m.energy), m.change)


def update_stiffness(m, dt, error, dissipated, tank):
    """
    Return the springs after `dt` seconds.

    Stiffening a deflected spring by dK adds the energy 1/2 dK e^2. It is taken from a tank, which
    is fed with the energy that dampers dissipate and softened springs release; while the tank is
    empty, the stiffness does not increase (Ferraguti, Secchi, Fantuzzi 2013).
    """
    energy = minimum(m.energy + maximum(dissipated, 0.0) * dt, tank)
    step = [minimum(maximum(t - v, -r * dt), r * dt)
            for t, v, r in zip(m.target, m.value, m.rate)]
    cost = [0.5 * s * e * e for s, e in zip(step, error)]
    paid = total([maximum(c, 0.0) for c in cost])
    released = total([maximum(-c, 0.0) for c in cost])
    budget = energy + released
    short = paid > budget
    part_ = when(short, budget / positive(paid), 1.0)
    step = [when(s > 0.0, s * part_, s) for s in step]
    paid = when(short, budget, paid)
    value = [v + s for v, s in zip(m.value, step)]
    near = all_of([no(absolute(v - t) > _ROUNDING * absolute(t)) for v, t in zip(value, m.target)])
    settled = all_of([equal(v, t) for v, t in zip(m.value, m.target)])
    return type(m)(when(near, m.target, value), m.target, m.rate,
                   when(settled, energy, minimum(budget - paid, tank)), m.change)


# --- of a cycle ----------------------------------------------------------------------------------

def update_law_state(body, flags, law, terms, follows, undisturbed, m, p):
    """
    Return the memory after updating the state of the laws; unchanged in a cycle of silence.

    law: see `torque.law_terms`. terms: of the torque that is sent. Flags. follows: the built-in
    law follows a reference. undisturbed: the torque is that of the law, with its whole feedback.
    """
    dt, q, qd, report = flags.dt, law.q, law.qd, law.report
    reference = m.motion.reference
    error = difference(reference.q, q)
    integrates, has_springs, adapts, cartesian = (
        follows & laws.one_of(p.law, names) for names in (
            laws.INTEGRATE, laws.SPRING, laws.ADAPT, laws.CARTESIAN))

    def integrated():
        cut = choose(any_above([absolute(x) for x in terms[Term.LIMIT]], 0.0), [
            lambda: zeros(q), lambda: body.response(q, terms[Term.LIMIT])])
        return integrate(m.integral, dt, error, cut, p.gains)

    integral = choose(integrates & any_above(p.gains.ki, 0.0),
                      [lambda: zeros(q),
                       lambda: choose(undisturbed, [lambda: m.integral, integrated])])

    def stiffness_changed():
        feedback = terms[Term.FEEDBACK]
        spring_torque = choose(laws.one_of(p.law, laws.SHAPE), [lambda: feedback, lambda: product(
            p.gains.apparent_inertia, body.response(q, feedback))])
        damping = difference(spring_torque, product(m.springs.value, error))
        power = total(product(damping, difference(reference.qd, qd)))
        return update_stiffness(m.springs, dt, error, power, p.tank)

    springs = choose(has_springs, [
        lambda: completed(m.springs, 1.0),
        lambda: choose(undisturbed, [lambda: m.springs, stiffness_changed])])
    # the power of filtered velocities is not that of the dampers
    dissipated = when(oscillation.filters(m.oscillation), 0.0, report[19])
    task = choose(cartesian, [
        lambda: completed(m.task_springs, 1.0),
        lambda: choose(undisturbed, [
            lambda: m.task_springs, lambda: update_stiffness(
                m.task_springs, dt, report[:6], dissipated, p.tank)])])
    learns = all_of([
        adapts, undisturbed, no(m.motion.fault.code), no(oscillation.lowered(m.oscillation)),
        *[equal(x, 0.0) for term in (Term.LIMIT, Term.EXTERNAL, Term.EFFORT)
          for x in terms[term]],
        # the error must be that of full gravity compensation
        *[equal(x, 1.0) for x in p.gains.gravity_scale],
        # an estimate from a joint with strongly reduced gains is not reliable
        *[x >= 0.9 for x in m.light.scale]])
    kept = replace(m.learning, active=learns), m.loads.learned
    learned, parameters = kept if body.robot.slot is None else choose(learns, [
        lambda: kept, lambda: learning.update(
            body, kept[0], p.learning, dt,
            [q, qd, reference.q, reference.qd, reference.qdd,
             p.gains.sliding], kept[1], body.robot.slot)])
    after = replace(m, integral=integral, springs=springs, task_springs=task, learning=learned,
                    loads=replace(m.loads, learned=parameters))
    idle = replace(m, learning=replace(m.learning, active=0.0))
    return when(flags.silent, idle, after)
