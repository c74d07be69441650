"""Settings and gains for tests; `__` stands for the dot in the name of a parameter."""

from dataclasses import fields, replace

from robodyn_ros.control import make_gains, make_task_gains, Settings
from robodyn_ros.control.settings import CartesianSettings
from robodyn_ros.settings import with_values

_FIELDS = {field.name for field in fields(Settings)}


def with_settings(settings, **values):
    """Return settings with other values or groups: settings_of(kp=4.0, friction__coulomb=0.1)."""
    groups = {name: values.pop(name) for name in list(values)
              if name in _FIELDS and hasattr(values[name], '__dataclass_fields__')}
    return with_values(replace(settings, **groups), {
        name.replace('__', '.'): value for name, value in values.items()})


def settings_of(**values):
    """Return settings."""
    return with_settings(Settings(), **values)


def gains_with(dynamics, **values):
    """Return the gains of settings."""
    return make_gains(dynamics, settings_of(**values))


def task_gains_with(dynamics, **cartesian):
    """Return the gains of the Cartesian laws of settings."""
    return make_task_gains(dynamics, Settings(cartesian=CartesianSettings(**cartesian)))


def change_settings(control, **values):
    """Change settings of a controller."""
    control.changes.change(with_settings(control.settings, **values))
