"""States of the controller, and the control modes that can be chosen."""

from __future__ import annotations

from enum import Enum

from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.steps import external_law


class Mode(Enum):
    """State of the controller; in the order of `steps.modes`."""

    INACTIVE = 'inactive'
    HOLD = 'hold'
    FLOAT = 'gravity_compensation'
    TRACK = 'tracking'
    STOP = 'stopping'
    REACH = 'reaching'
    LINEAR_FEEDBACK = 'linear_feedback'
    CARRY = 'carrying'
    PASSIVE = 'passive_stop'


# by the parameter `mode`: codes of `steps.external_law`
EXTERNAL_LAWS = {'own_law': external_law.OWN, Mode.LINEAR_FEEDBACK.value: external_law.LINEAR}
MODES = (*TRACKING, *EXTERNAL_LAWS, Mode.FLOAT.value)
