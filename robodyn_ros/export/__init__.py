"""Export of a robot's dynamics and control cycle to C."""

from robodyn_ros.export.export import DEFAULT_FUNCTIONS, Export

__all__ = ['DEFAULT_FUNCTIONS', 'Export']
