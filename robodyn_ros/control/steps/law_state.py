"""What the laws keep: the integral of the error, and stiffness on its way."""

from __future__ import annotations

from robodyn_ros.control.blocks import block, numbers, scalar
from robodyn_ros.control.steps.vectors import positive
from robodyn_ros.dynamics.jit.flags import above, all_of, both, equal, finite, flag, no, when
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, sqrt

_ROUNDING = 1e-12  # relative, below which a stiffness has arrived


def integrate(value, dt, error, cut, gains):
    """
    Return the integral of the error, an acceleration, after `dt` seconds.

    What the limits take from the torque is fed back through the inertia of the arm,
        i' = Ki e + M^-1 (sent - wanted) / Tt,    Tt = sqrt(Kd / Ki),
    so that the integral runs to where the limit is just met (back-calculation; Astrom and
    Hagglund, PID Controllers, 3.5). cut: M^-1 (sent - wanted). Joints without Ki have none.
    """
    result = []
    for i, e, c, ki, kd in zip(value, error, cut, gains.ki, gains.kd):
        rate = minimum(sqrt(ki / maximum(kd, 1e-12)), 1.0 / maximum(dt, 1e-9))
        value = i + dt * (ki * e + rate * c)
        result.append(when(both(flag(ki), finite(value)), value, 0.0))
    return result


def stiffness_memory(dimension):
    """Return the block of a stiffness on its way, with so many springs."""
    unit = 'N m/rad'

    @block
    class Springs:
        value: list = numbers(dimension, unit, 'Stiffness that counts.')
        target: list = numbers(dimension, unit, 'Stiffness that was asked for.')
        rate: list = numbers(dimension, f'{unit} 1/s', 'Fastest change.')
        energy: float = scalar('J', 'Content of the tank.')
        change: float = scalar('', 'Number of the change that is under way.')

    return Springs


Springs = stiffness_memory('joints')
TaskSprings = stiffness_memory('task')


def requested(m, change, target, duration):
    """Return the springs that go over to another stiffness, if it is a new change."""
    new = no(equal(change, m.change))
    rate = [absolute(t - v) / maximum(duration, 1e-9) for t, v in zip(target, m.value)]
    return type(m)(m.value, when(new, target, m.target), when(new, rate, m.rate), m.energy,
                   change)


def arrived(m, flag_):
    """Return springs that have the stiffness asked for, where a flag holds."""
    return type(m)(when(flag_, m.target, m.value), m.target, m.rate, m.energy, m.change)


def refilled(m, tank, flag_):
    """Return springs with a full tank, where a flag holds."""
    return type(m)(m.value, m.target, m.rate, when(flag_, tank, m.energy), m.change)


def soften_or_stiffen(m, dt, error, dissipated, tank):
    """
    Return the springs after `dt` seconds.

    A spring that is made stiffer while it is deflected gains 1/2 dK e^2. That is taken from a
    tank, into which goes what dampers dissipate and softer springs release; where it is empty,
    the stiffness waits (Ferraguti, Secchi, Fantuzzi 2013).
    """
    energy = minimum(m.energy + maximum(dissipated, 0.0) * dt, tank)
    step = [minimum(maximum(t - v, -r * dt), r * dt)
            for t, v, r in zip(m.target, m.value, m.rate)]
    cost = [0.5 * s * e * e for s, e in zip(step, error)]
    paid = sum(maximum(c, 0.0) for c in cost)
    released = sum(maximum(-c, 0.0) for c in cost)
    budget = energy + released
    short = above(paid, budget)
    part_ = when(short, budget / positive(paid), 1.0)
    step = [when(above(s, 0.0), s * part_, s) for s in step]
    paid = when(short, budget, paid)
    value = [v + s for v, s in zip(m.value, step)]
    near = all_of([no(above(absolute(v - t), _ROUNDING * absolute(t)))
                   for v, t in zip(value, m.target)])
    settled = all_of([equal(v, t) for v, t in zip(m.value, m.target)])
    return type(m)(when(near, m.target, value), m.target, m.rate,
                   when(settled, energy, minimum(budget - paid, tank)), m.change)
