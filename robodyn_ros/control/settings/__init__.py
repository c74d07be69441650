"""
Settings of the control cycle, in the tree of the controller's parameters.

`Settings().impedance.damping` is the parameter `impedance.damping`. Lists per joint have one
number for all joints, or one for each in the order of the model.
"""

from robodyn_ros.control.settings.groups import (
    AdaptiveSettings, AXES, CartesianSettings, CollisionSettings, Constraints,
    ExternalWrenchSettings, FrictionSettings, ImpedanceSettings, JointConstraints,
    LinearFeedbackSettings, ObserverSettings, PlausibilitySettings, PositionLimits,
    ReflectionSettings, StaleSettings, StreamSettings, VELOCITY_SOURCES)
from robodyn_ros.control.settings.tree import Settings

__all__ = ['AXES', 'AdaptiveSettings', 'CartesianSettings', 'CollisionSettings', 'Constraints',
           'ExternalWrenchSettings', 'FrictionSettings', 'ImpedanceSettings',
           'JointConstraints', 'LinearFeedbackSettings', 'ObserverSettings',
           'PlausibilitySettings', 'PositionLimits', 'ReflectionSettings', 'Settings',
           'StaleSettings', 'StreamSettings', 'VELOCITY_SOURCES']
