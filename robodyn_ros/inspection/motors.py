"""Gravity torques and payload over the workspace, as findings and as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import joint_inertia, missing_rotors
from robodyn_ros.inspection.finding import Finding, NOTE, STOP, WARNING
from robodyn_ros.inspection.workspace import (
    Condition, condition, gravity_load, GravityLoad, largest_payload, Payload, sample,
    usable_limits)
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import force_unit, joint_units, large_unit, small_unit
from robodyn_ros.text import number, paragraph, table

_ILL = 1e10      # condition number from which accelerations have few good digits
_ALL = 0.999     # share of poses that counts as all
_HEAVY = 0.8     # part of the effort limit above which a warning is given


class Motors(NamedTuple):
    """
    Gravity torques, payload and condition of an arm over its workspace.

    Attributes
    ----------
    poses, seed : int
        Number of random poses, and their seed.
    gravity : GravityLoad
    payload : Payload
    condition : Condition
    inertia : (nv,) array
        Typical inertia of each joint.

    """

    poses: int
    seed: int
    gravity: GravityLoad
    payload: Payload
    condition: Condition
    inertia: np.ndarray

    @classmethod
    def examine(cls, dynamics: Dynamics, tip: str, count: int, seed: int,
                tick: Callable[[str], None] = lambda _: None) -> Motors:
        """Return the result for `count` random poses; `tick` is called with the progress."""
        poses = sample(dynamics.model, count, seed)
        return cls(count, seed, gravity_load(dynamics, poses, tick),
                   largest_payload(dynamics, tip, poses), condition(dynamics, poses),
                   joint_inertia(dynamics))

    def used(self, model: RobotModel) -> np.ndarray:
        """Return the largest gravity torque as a part of the effort limit; NaN without a limit."""
        limit = usable_limits(model)
        return np.where(np.isfinite(limit), np.abs(self.gravity.torque) / limit, np.nan)


def findings(model: RobotModel, motors: Motors) -> list[Finding]:
    """Return the findings about the motors."""
    return [*_overloads(model, motors), *_weakest(model, motors), _payload(model, motors),
            _condition(model, motors), *_rotors(model, motors)]


def _overloads(model: RobotModel, motors: Motors) -> list[Finding]:
    found, torque = [], np.abs(motors.gravity.torque)
    for j in np.flatnonzero(motors.used(model) > 1.0):
        name, unit = model.joint_names[j], joint_units(model)[j][1]
        share = motors.gravity.over[j]
        text = (f"joint '{name}': gravity alone takes up to {_number(torque[j])} "
                f'{unit}, its effort limit is {_number(model.effort_limit[j])} {unit}; too much '
                f'in {_percent(share)} of {motors.poses} poses: ')
        text += ('the arm cannot be held at all; check masses and limit, also their units'
                 if share > _ALL else
                 'narrow the position limits to where the motor can hold, or lighten the arm')
        text += f'. Worst pose: {pose_text(model, motors.gravity.poses[j])}'
        found.append(Finding(STOP if share > _ALL else WARNING, 'gravity', text))
    return found


def _weakest(model: RobotModel, motors: Motors) -> list[Finding]:
    used = motors.used(model)
    if not (used > 0.0).any():
        return []
    j = int(np.nanargmax(used))
    unit = joint_units(model)[j][1]
    torque, limit = abs(motors.gravity.torque[j]), model.effort_limit[j]
    text = (f"weakest joint: '{model.joint_names[j]}', gravity takes up to "
            f'{100.0 * used[j]:.3g} % of its effort limit ({_number(torque)} of '
            f'{_number(limit)} {unit})')
    if used[j] <= 1.0:
        text += f', in the pose {pose_text(model, motors.gravity.poses[j])}'
    level = NOTE
    if _HEAVY < used[j] <= 1.0:
        level, text = WARNING, text + '; little torque remains for motion and feedback'
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
        if payload.mass else f"none in every pose, joint '{name}' cannot hold the arm itself in "
        'the pose ') + pose_text(model, payload.pose)
    text += (f'; {_number(ninety)} kg in 90 % of the poses, {_number(half)} kg in half of them. '
             'At rest, without any reserve for motion')
    if _is_finger(model, payload):
        text += (f". Joint '{name}' is one of a gripper: for the payload of the arm, give the "
                 'link that carries the gripper, such as a flange, with --tip')
    return Finding(NOTE, 'payload', text)


def _is_finger(model: RobotModel, payload: Payload) -> bool:
    """Return whether the joint that limits a payload moves only a gripper finger."""
    body = model.links[payload.link].body
    beside = (model.parent == model.parent[body]).sum() > 1
    return (int(model.coordinate[body]) == payload.joint
            and bool(beside or model.prismatic[body]) and model.nb > 1)


def _condition(model: RobotModel, motors: Motors) -> Finding:
    worst = motors.condition
    name = model.joint_names[worst.joint]
    if not np.isfinite(worst.number):
        return Finding(WARNING, 'condition', 'the mass matrix is singular: accelerations cannot '
                       f"be computed, simulation is impossible; the links that joint '{name}' "
                       'moves need a mass and an inertia')
    text = (f'condition number of the mass matrix: up to {worst.number:.3g}, the lightest '
            f"direction is mostly joint '{name}' (kg m^2, or kg at prismatic joints)")
    if worst.number > _ILL:
        return Finding(WARNING, 'condition', text + '; accelerations lose digits: check masses '
                       'and inertias of the links it moves')
    return Finding(NOTE, 'condition', text)


def _rotors(model: RobotModel, motors: Motors) -> list[Finding]:
    text = missing_rotors(model, motors.inertia, np.zeros(model.nv))
    return [Finding(WARNING, 'armature', text)] if text else []


def limits_table(model: RobotModel, motors: Motors) -> list[str]:
    """Return the table of the joints: limits, and the largest gravity torques."""
    used = 100.0 * motors.used(model)
    columns = (model.lower, model.upper, model.velocity_limit, model.effort_limit,
               motors.gravity.torque, used, 100.0 * motors.gravity.over)
    rows = [(name, *(number(column[j]) for column in columns))
            for j, name in enumerate(model.joint_names)]
    unit = large_unit(small_unit(model))
    force = force_unit(small_unit(model))
    at, gravity = f'position ({unit})', f'largest gravity ({force})'
    lines = table(('joint', 'lower', 'upper', f'{unit}/s', f'limit ({force})', 'at worst',
                   '% used', '% poses over'),
                  rows, ('', at, at, 'speed', 'effort', gravity, gravity, gravity))
    return [*lines, *paragraph('', f'{motors.poses} poses, seed {motors.seed}; self-collisions '
                               'are not checked. Positive torque: along the axis of the joint')]


def pose_text(model: RobotModel, pose: np.ndarray) -> str:
    """Return a pose in joint order with its units."""
    unit = large_unit(small_unit(model))
    # adding 0 turns -0 into 0
    return f'({", ".join(f"{value:.2f}" for value in np.round(pose, 2) + 0.0)}) {unit}'


def _number(value: float) -> str:
    return number(value) if np.isfinite(value) else 'none'


def _percent(share: float) -> str:
    return f'{100.0 * share:.3g} %' if share else 'none'
