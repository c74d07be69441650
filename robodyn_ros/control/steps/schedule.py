"""Gain schedule: factors on the natural frequency that depend on the configuration."""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.trace import maximum, minimum, nearest
from robodyn_ros.dynamics.jit.vectors import exponential

_TURN = 6.283185307179586
_FASTEST = 1.0  # 1/s, largest rate of a factor
# gains, and the power of the natural frequency to which they are proportional
_POWERS = {'kp': 2, 'kd': 1, 'pd_kp': 2, 'pd_kd': 1, 'sliding_damping': 1}


def wanted(schedule, q):
    """Return the factors for a configuration: means, weighted by proximity."""
    exponents = []
    for row in schedule.rows:
        away = [a - b for a, b in zip(row, q)]
        away = [x - _TURN * nearest(x / _TURN) if turns else x
                for x, turns in zip(away, schedule.continuous)]
        exponents.append(-schedule.sharpness * sum(x * x for x in away))
    top = exponents[0]
    for each in exponents[1:]:
        top = maximum(each, top)
    weights = [exponential(each - top, 1024) for each in exponents]
    total = sum(weights)
    return [sum(w * factors[j] for w, factors in zip(weights, schedule.factors)) / total
            for j in range(len(q))]


def update(schedule, factor, gains, dt, q):
    """Return the factors after `dt` seconds; they change more slowly than the error decays."""
    if not schedule.rows:
        return factor
    result = []
    for f, w, kd in zip(factor, wanted(schedule, q), gains.kd):
        fastest = dt * minimum(_FASTEST, 0.5 * kd * (f * f))
        result.append(f + minimum(maximum(w - f, -fastest), fastest))
    return result


def scaled(schedule, factor, gains):
    """Return the gains for these factors."""
    if not schedule.rows:
        return gains
    powers = {1: factor, 2: [f * f for f in factor]}
    return replace(gains, **{name: [g * f for g, f in zip(getattr(gains, name), powers[power])]
                             for name, power in _POWERS.items()})
