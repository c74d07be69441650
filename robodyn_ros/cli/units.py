"""Units of joints: an arm may have turning and sliding ones."""

from __future__ import annotations

from robodyn_ros.cli.motion import joint_slides
from robodyn_ros.model import RobotModel


def small_unit(model: RobotModel) -> str:
    """Return the unit of a thousandth of the joints' positions."""
    slides = joint_slides(model)
    return 'mm' if slides.all() else 'mrad|mm' if slides.any() else 'mrad'


def large_unit(small: str) -> str:
    """Return the unit of positions that belongs to that of their thousandths."""
    return {'mrad': 'rad', 'mm': 'm'}.get(small, 'rad|m')


def force_unit(small: str) -> str:
    """Return the unit of torques that belongs to that of positions."""
    return {'mrad': 'N m', 'mm': 'N'}.get(small, 'N m|N')


def joint_units(model: RobotModel) -> list[tuple[str, str]]:
    """Return the unit of position and of force of each joint."""
    return [('m', 'N') if slides else ('rad', 'N m') for slides in joint_slides(model)]
