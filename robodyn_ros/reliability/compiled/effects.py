"""The injections of the campaign as numbers for the compiled loop, see `fault_numbers.FIELDS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.model import RobotModel
from robodyn_ros.reliability import injections
from robodyn_ros.reliability.cases import Case
from robodyn_ros.reliability.injections import (
    Draw, Faulty, InLoop, Loaded, payload_of, Tilted, tilted_gravity)

Numbers = Mapping[str, ArrayLike]
_EVERY = 15   # reports between two of a second publisher: one in 0.03 s
_OUTLIERS = 50


def _chosen(model: RobotModel, draw: Draw, count: int) -> np.ndarray:
    """Return 1 for the joints that have the fault; all if the count is 0."""
    flags = np.zeros(model.nv)
    flags[list(draw.joints[:count or model.nv])] = 1.0
    return flags


def _nan(flags: np.ndarray, value: float = math.nan) -> np.ndarray:
    return np.where(flags > 0.0, value, 0.0)


# by kind of `simulation.faults.KINDS`: flags of the joints, amount, period -> numbers
_KINDS: dict[str, Callable[[np.ndarray, float, float, Draw], Numbers]] = {
    'silence': lambda j, x, dt, draw: {'silent': 1.0},
    # such messages are not read by the node
    'missing': lambda j, x, dt, draw: {'unreadable': 1.0},
    'swap': lambda j, x, dt, draw: {'unreadable': 1.0},
    'duplicate': lambda j, x, dt, draw: {'unreadable': 1.0},
    'delay': lambda j, x, dt, draw: {'delay': max(1.0, math.ceil((x - 1e-9) / dt))},
    'freeze': lambda j, x, dt, draw: {'frozen': j},
    'nan': lambda j, x, dt, draw: {'position': _nan(j), 'velocity': _nan(j)},
    'nan_velocity': lambda j, x, dt, draw: {'velocity': _nan(j)},
    'nan_effort': lambda j, x, dt, draw: {'effort': _nan(j)},
    'infinite': lambda j, x, dt, draw: {'position': _nan(j, math.inf)},
    'clock_jump': lambda j, x, dt, draw: {'clock': x},
    'repeat': lambda j, x, dt, draw: {'repeats': 1.0},
    'velocity_zero': lambda j, x, dt, draw: {'velocity_gain': 1.0 - j},
    'velocity_scale': lambda j, x, dt, draw: {'velocity_gain': 1.0 + (x - 1.0) * j},
    'velocity_outliers': lambda j, x, dt, draw: {
        'every': _OUTLIERS, 'phase': 0.0, 'velocity_gain': 1.0 - j, 'velocity': x * j},
    'second_arm': lambda j, x, dt, draw: {
        'every': 2.0, 'phase': 1.0, 'velocity_gain': 0.0, 'position': x},
    'estop': lambda j, x, dt, draw: {'brakes': 1.0},
    'torque_loss': lambda j, x, dt, draw: {'motor': 1.0 - j},
    'deaf': lambda j, x, dt, draw: {'deaf': 1.0}}


def has_effect(case: Case) -> bool:
    """Return whether a fault of the campaign exists in the compiled loop."""
    inject = case.inject
    return (isinstance(inject, (Loaded, Tilted, InLoop))
            or isinstance(inject, Faulty) and inject.kind in _KINDS
            or inject in (injections.offset, injections.second_publisher))


def numbers_of(case: Case, draw: Draw, model: RobotModel, dt: float, random) -> Numbers:
    """
    Return the numbers of a fault, without its times.

    Parameters
    ----------
    case, draw
        The fault.
    model : RobotModel
        Nominal arm.
    dt : float
        Period of the states, s.
    random : numpy.random.Generator
        Generator of what the draw does not have.

    """
    inject, sign = case.inject, draw.sign * draw.amount
    one = _chosen(model, draw, 1)
    if isinstance(inject, Faulty):
        amount = inject.size(draw) if inject.amount else 0.0
        found = dict(_KINDS[inject.kind](_chosen(model, draw, inject.joints), amount, dt, draw))
        return {**found, 'timeout': inject.timeout}
    if isinstance(inject, Loaded):
        payload = payload_of(model, draw)
        return {'load': payload.parameters_in_body(model.link(payload.link))}
    if isinstance(inject, Tilted):
        return {'gravity': tilted_gravity(model.gravity, draw) - model.gravity}
    if inject is injections.offset:
        return {'position': sign * one}
    if inject is injections.second_publisher:
        return {'every': _EVERY, 'phase': 1.0, 'position': sign * one, 'velocity_gain': 0.0,
                'effort': math.nan}
    assert isinstance(inject, InLoop)
    return _in_loop(inject.kind, draw, model, random)


def _in_loop(kind: str, draw: Draw, model: RobotModel, random) -> Numbers:
    direction = random.standard_normal(3)
    weight = float(model.mass.sum() * np.linalg.norm(model.gravity))
    force = draw.amount * weight * direction / np.linalg.norm(direction)
    found: dict[str, Numbers] = {
        'noise': {'position_noise': draw.amount, 'velocity_noise': 50.0 * draw.amount},
        'resolution': {'resolution': draw.amount}, 'delays': {'delays': draw.amount},
        'pause': {'pause': draw.duration},
        'push': {'wrench': np.append(force, np.zeros(3))}}
    return found.get(kind, {})
