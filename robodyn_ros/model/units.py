"""Units of revolute and prismatic joints, and of arms with both."""

from __future__ import annotations

import numpy as np

from robodyn_ros.model import RobotModel


def joint_slides(model: RobotModel) -> np.ndarray:
    """Return whether each joint is prismatic; (nv,) of bool."""
    slides = np.zeros(model.nv, dtype=bool)
    for body, joint in enumerate(model.body_joints):
        if joint in model.joint_names:
            slides[model.joint_names.index(joint)] = model.prismatic[body]
    return slides


def small_unit(model: RobotModel) -> str:
    """Return the unit of positions times 1000."""
    slides = joint_slides(model)
    return 'mm' if slides.all() else 'mrad|mm' if slides.any() else 'mrad'


def large_unit(small: str) -> str:
    """Return the unit of positions for a unit of `small_unit`."""
    return {'mrad': 'rad', 'mm': 'm'}.get(small, 'rad|m')


def force_unit(small: str) -> str:
    """Return the unit of torques for a unit of `small_unit`."""
    return {'mrad': 'N m', 'mm': 'N'}.get(small, 'N m|N')


def joint_units(model: RobotModel) -> list[tuple[str, str]]:
    """Return the units of position and of torque or force of each joint."""
    return [('m', 'N') if slides else ('rad', 'N m') for slides in joint_slides(model)]
