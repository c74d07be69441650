"""What gravity asks of the motors over the whole workspace, in findings and as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.check.finding import Finding, NOTE, STOP, WARNING
from robodyn_ros.cli.check.workspace import (
    carry, Condition, condition, Payload, sample, usable_limits, weigh, Weight)
from robodyn_ros.cli.report import number, paragraph, table
from robodyn_ros.cli.units import force_unit, joint_units, large_unit, small_unit
from robodyn_ros.control.gain_design import joint_inertia, missing_rotors
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel

_ILL = 1e10      # condition number from which accelerations have few good digits
_ALL = 0.999     # share of poses that is all of them
_HEAVY = 0.8     # part of the effort limit from which little is left for motion


class Motors(NamedTuple):
    """
    The workspace of an arm, and what its motors have to do there.

    Attributes
    ----------
    count, seed : int
        How many poses were drawn, and from what.
    inertia : (nv,) array
        Of each joint as it is usual.

    """

    count: int
    seed: int
    weight: Weight
    payload: Payload
    condition: Condition
    inertia: np.ndarray

    @classmethod
    def examine(cls, dynamics: Dynamics, tip: str, count: int, seed: int,
                look: Callable[[str], None] = lambda _: None) -> Motors:
        """Return what is found in so many poses."""
        poses = sample(dynamics.model, count, seed)
        return cls(count, seed, weigh(dynamics, poses, look), carry(dynamics, tip, poses),
                   condition(dynamics, poses), joint_inertia(dynamics))

    def used(self, model: RobotModel) -> np.ndarray:
        """Return the largest weight as a part of the effort limit; NaN without a limit."""
        limit = usable_limits(model)
        return np.where(np.isfinite(limit), np.abs(self.weight.torque) / limit, np.nan)


def findings(model: RobotModel, motors: Motors) -> list[Finding]:
    """Return what is worth knowing about the motors."""
    return [*_overloads(model, motors), *_weakest(model, motors), _payload(model, motors),
            _condition(model, motors), *_rotors(model, motors)]


def _overloads(model: RobotModel, motors: Motors) -> list[Finding]:
    found, weight = [], np.abs(motors.weight.torque)
    for j in np.flatnonzero(motors.used(model) > 1.0):
        name, unit = model.joint_names[j], joint_units(model)[j][1]
        share = motors.weight.over[j]
        text = (f"joint '{name}': gravity alone takes up to {_number(weight[j])} "
                f'{unit}, its effort limit is {_number(model.effort_limit[j])} {unit}; too much '
                f'in {_percent(share)} of {motors.count} poses: ')
        text += ('the arm cannot be held at all; check masses and limit, also their units'
                 if share > _ALL else
                 'narrow the position limits to where the motor can hold, or lighten the arm')
        text += f'. Worst pose: {pose_text(model, motors.weight.poses[j])}'
        found.append(Finding(STOP if share > _ALL else WARNING, 'gravity', text))
    return found


def _weakest(model: RobotModel, motors: Motors) -> list[Finding]:
    used = motors.used(model)
    if not (used > 0.0).any():
        return []
    j = int(np.nanargmax(used))
    unit = joint_units(model)[j][1]
    weight, limit = abs(motors.weight.torque[j]), model.effort_limit[j]
    text = (f"weakest joint: '{model.joint_names[j]}', gravity takes up to "
            f'{100.0 * used[j]:.3g} % of its effort limit ({_number(weight)} of '
            f'{_number(limit)} {unit})')
    if used[j] <= 1.0:
        text += f', in the pose {pose_text(model, motors.weight.poses[j])}'
    level = NOTE
    if _HEAVY < used[j] <= 1.0:
        level, text = WARNING, text + '; little is left for motion and feedback'
    return [Finding(level, 'gravity', text)]


def _payload(model: RobotModel, motors: Motors) -> Finding:
    payload = motors.payload
    start = f"largest payload at the origin of link '{payload.link}': "
    if payload.joint < 0:
        return Finding(NOTE, 'payload', start + 'no joint with an effort limit bears it')
    name = model.joint_names[payload.joint]
    ninety, half = payload.shares[90], payload.shares[50]
    text = start + (
        f"{_number(payload.mass)} kg in every pose, limited by joint '{name}' in the pose "
        if payload.mass else f"none in every pose, joint '{name}' has not even the torque for the "
        'arm itself in the pose ') + pose_text(model, payload.pose)
    text += (f'; {_number(ninety)} kg in 90 % of the poses, {_number(half)} kg in half of them. '
             'At rest, without any reserve for motion')
    if _of_finger(model, payload):
        text += (f". Joint '{name}' is one of a gripper: --tip names the link that holds it, "
                 'such as a flange, for what the arm carries')
    return Finding(NOTE, 'payload', text)


def _of_finger(model: RobotModel, payload: Payload) -> bool:
    """Return whether the joint that limits a payload moves but a finger that has the link."""
    body = model.links[payload.link].body
    beside = (model.parent == model.parent[body]).sum() > 1
    return (int(model.coordinate[body]) == payload.joint
            and bool(beside or model.prismatic[body]) and model.nb > 1)


def _condition(model: RobotModel, motors: Motors) -> Finding:
    worst = motors.condition
    name = model.joint_names[worst.joint]
    if not np.isfinite(worst.number):
        return Finding(WARNING, 'condition', 'the mass matrix is singular: accelerations cannot '
                       f"be computed, the simulator will fail; the links that joint '{name}' "
                       'moves need a mass and an inertia')
    text = (f'condition number of the mass matrix: up to {worst.number:.3g}, the lightest '
            f"direction is mostly joint '{name}' (kg m^2, or kg at sliding joints)")
    if worst.number > _ILL:
        return Finding(WARNING, 'condition', text + '; accelerations lose digits: check masses '
                       'and inertias of the links it moves')
    return Finding(NOTE, 'condition', text)


def _rotors(model: RobotModel, motors: Motors) -> list[Finding]:
    text = missing_rotors(model, motors.inertia, np.zeros(model.nv))
    return [Finding(WARNING, 'armature', text)] if text else []


def limits_table(model: RobotModel, motors: Motors) -> list[str]:
    """Return the table of the joints: limits, and the largest weight."""
    used = 100.0 * motors.used(model)
    columns = (model.lower, model.upper, model.velocity_limit, model.effort_limit,
               motors.weight.torque, used, 100.0 * motors.weight.over)
    rows = [(name, *(number(column[j]) for column in columns))
            for j, name in enumerate(model.joint_names)]
    place = large_unit(small_unit(model))
    force = force_unit(small_unit(model))
    at, gravity = f'position ({place})', f'largest gravity ({force})'
    lines = table(('joint', 'lower', 'upper', f'{place}/s', f'limit ({force})', 'at worst',
                   '% used', '% poses over'),
                  rows, ('', at, at, 'speed', 'effort', gravity, gravity, gravity))
    return [*lines, *paragraph('', f'{motors.count} poses, seed {motors.seed}; the arm may hit '
                               'itself in some. Positive torque: the motor pushes along the axis')]


def pose_text(model: RobotModel, pose: np.ndarray) -> str:
    """Return a pose in joint order with its units."""
    unit = large_unit(small_unit(model))
    # adding 0 turns -0 into 0
    return f'({", ".join(f"{value:.2f}" for value in np.round(pose, 2) + 0.0)}) {unit}'


def _number(value: float) -> str:
    return number(value) if np.isfinite(value) else 'none'


def _percent(share: float) -> str:
    return f'{100.0 * share:.3g} %' if share else 'none drawn'
