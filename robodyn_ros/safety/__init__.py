"""Safety functions of controller and guard: pure functions of state and time, over scalars."""

from robodyn_ros.safety.guard_state_machine import Guard, GuardState, Phase
from robodyn_ros.safety.limits import (
    check_not_raised, checked_bounds, checked_effort_limits, MAX_PLAUSIBLE_VALUE, USUAL_RATE)

__all__ = ['Guard', 'GuardState', 'MAX_PLAUSIBLE_VALUE', 'Phase', 'USUAL_RATE', 'check_not_raised',
           'checked_bounds', 'checked_effort_limits']
