"""Results of a check as a JSON document with stable keys."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from robodyn_ros.inspection.finding import Finding, stops
from robodyn_ros.inspection.loop import LoopCost
from robodyn_ros.inspection.motors import Motors
from robodyn_ros.inspection.urdf import Reading
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.model.units import joint_units

if TYPE_CHECKING:
    from robodyn_ros.inspection.live import LiveResult


def document(robot: Robot, reading: Reading, findings: list[Finding], motors: Motors | None,
             cost: LoopCost | None, live: LiveResult | None) -> dict[str, Any]:
    """Return the results as JSON types; values that are not finite are null."""
    model = reading.model
    return plain({
        'urdf': str(robot.urdf),
        'robot': model and model.name,
        'passed': not stops(findings),
        'findings': [each._asdict() for each in findings],
        'roles': reading.roles,
        'joints': _joints(model, motors) if model and motors else [],
        'workspace': motors and {
            'poses': motors.poses, 'seed': motors.seed, 'overloaded': motors.gravity.over_any},
        'payload': motors and model and _payload(model, motors),
        'mass_matrix': motors and {
            'condition': motors.condition.number, 'pose': motors.condition.pose},
        'loop': cost and cost._asdict(),
        'live': live and live.measured,
    })


def _joints(model: RobotModel, motors: Motors) -> list[dict[str, Any]]:
    used, units = motors.used(model), joint_units(model)
    return [{
        'name': name, 'position_unit': units[j][0], 'effort_unit': units[j][1],
        'lower': model.lower[j], 'upper': model.upper[j], 'velocity': model.velocity_limit[j],
        'effort': model.effort_limit[j], 'gravity': motors.gravity.torque[j], 'used': used[j],
        'overloaded': motors.gravity.over[j], 'pose': motors.gravity.poses[j],
    } for j, name in enumerate(model.joint_names)]


def _payload(model: RobotModel, motors: Motors) -> dict[str, Any]:
    payload = motors.payload
    return {'link': payload.link, 'mass': payload.mass, 'pose': payload.pose,
            'joint': model.joint_names[payload.joint] if payload.joint >= 0 else None,
            'mass_in_percent_of_poses': payload.shares}


def plain(value: Any) -> Any:
    """Return a value as JSON types; numbers that are not finite are None."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value
