"""Payload estimation by the adaptive law, on top of the known payloads."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.adaptive.adaptation_step import ESTIMATE, PARAMETERS, STATE, step
from robodyn_ros.dynamics.jit.blocks import block, numbers, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, equal, no, when
from robodyn_ros.dynamics.jit.flow import call, choose
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import minimum

_LONGEST = 0.02  # s, longest step: a pause is no evidence


@block
class Program:
    change: float = scalar('', 'Number of the last change of these numbers.')
    forget: float = scalar('', 'Number of the last request to restart from zero.')
    rate: float = scalar('kg s/(N m rad)', 'Rate of the adaptation.')
    dead_zone: float = scalar('rad/s', 'Norm of s below which nothing is learned.')
    largest_mass: float = scalar('kg', 'Largest estimated mass.')
    size: float = scalar('m', 'Extent of the payload.')


@block
class Memory:
    change: float = scalar('', 'Last change that was handled.')
    forget: float = scalar('', 'Last restart that was handled.')
    estimate: list = numbers('pseudo_inertia', 'kg m^2, kg m, kg', 'Pseudo-inertia of the '
                             'payload in the axes of its link, row by row.')
    active: float = scalar('', 'Flag: the estimate was updated in the last cycle.')


def sizes(dimensions):
    """Return the lengths of the inputs of a step, besides the runtime."""
    return len(STATE) * dimensions['joints'], 16, 4


def body_of(tree, frame, n):
    """Return a step as a function of its inputs, over scalars; n: number of joints."""
    def learn(runtime, state, estimate, values):
        x = SimpleNamespace(**{name: state[k * n:(k + 1) * n] for k, name in enumerate(STATE)})
        return step(tree, runtime, x, estimate, values, frame)

    return learn


def update(functions, body, m, p, dt, state, learned, slot):
    """
    Return the memory after `dt` seconds, and the estimated parameters of all payload slots.

    state: rows by the names of `STATE`. slot: index of the ten numbers in the runtime.
    """
    answer = call(functions, 0.0, body.runtime, flatten(state), m.estimate,
                  [p.rate * minimum(dt, _LONGEST), p.dead_zone, p.largest_mass, p.size],
                  outputs=PARAMETERS.stop)
    good = all_finite(answer)
    place = slice(slot, slot + 10)
    result = list(learned)
    result[place] = when(good, answer[PARAMETERS], learned[place])
    return Memory(m.change, m.forget, when(good, answer[ESTIMATE], m.estimate), m.active), result


def bounded(functions, body, m, p, learned, slot):
    """Return memory and parameters as `update` does, within the bounds of a new program."""
    kept = replace(m, change=p.change), learned
    if slot is None:
        return kept
    rows = [[0.0] * body.nv for _ in STATE]
    return choose(no(equal(m.change, p.change)), [
        lambda: kept, lambda: update(functions, body, kept[0], p, 0.0, rows, learned, slot)])
