"""Safety functions of controller and guard: pure functions of state and time."""

from robodyn_ros.safety.anchor import Anchor
from robodyn_ros.safety.guard_state_machine import Guard, GuardState, Phase
from robodyn_ros.safety.jump_detector import finite_velocity_limits, JumpDetector
from robodyn_ros.safety.limits import (
    brake_at_limits, check_not_raised, checked_effort_limits, MAX_PLAUSIBLE_VALUE, USUAL_RATE)
from robodyn_ros.safety.stale import check_ages, StaleMonitor, StaleVerdict
from robodyn_ros.safety.torque_limiter import checked_bounds, TorqueLimiter
from robodyn_ros.safety.velocity_estimator import PlausibleVelocity

__all__ = [
    'Anchor', 'Guard', 'GuardState', 'JumpDetector', 'MAX_PLAUSIBLE_VALUE', 'Phase',
    'PlausibleVelocity', 'StaleMonitor', 'StaleVerdict', 'TorqueLimiter', 'USUAL_RATE',
    'brake_at_limits', 'check_ages', 'check_not_raised', 'checked_bounds', 'checked_effort_limits',
    'finite_velocity_limits']
