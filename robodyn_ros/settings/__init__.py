"""
Settings as trees of frozen dataclasses; each field with default, unit, range and description.

A tree is both the input of a program and the ROS parameters of a node: the attribute
`settings.impedance.damping` is the parameter `impedance.damping`. Validation, descriptors, files
of parameters and documentation derive from the fields.

    @settings('impedance')
    class Impedance:
        damping: Numbers = parameter((), 'Damping of the joints.', 'N m s/rad', 0.0, 1e5)

    @settings()
    class Settings:
        mode: str = parameter('computed_torque', 'Control law.', choices=('computed_torque',))
        impedance: Impedance = group(Impedance)

    Settings(impedance=Impedance(damping=3.0)).impedance.damping    # (3.0,)
"""

from robodyn_ros.settings.declaration import (
    for_each_joint, group, Numbers, parameter, settings, Texts)
from robodyn_ros.settings.description import KINDS, Parameter, unusable
from robodyn_ros.settings.joint_numbers import numbers, per_joint
from robodyn_ros.settings.tree import for_joints, JOINT, parameters, values, with_values

__all__ = [
    'for_each_joint', 'for_joints', 'group', 'JOINT', 'KINDS', 'Numbers', 'numbers', 'Parameter',
    'parameter', 'parameters', 'per_joint', 'settings', 'Texts', 'unusable', 'values',
    'with_values']
