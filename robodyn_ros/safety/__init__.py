"""What keeps the arm safe: pure functions of the state and of time."""

from robodyn_ros.safety.anchor import Anchor
from robodyn_ros.safety.continuity import Continuity, judged_speeds
from robodyn_ros.safety.guarding import Guard, GuardState, Phase
from robodyn_ros.safety.limits import (
    ABSURD, brake_at_limits, check_not_raised, checked_effort_limits, clamp_effort, limit_rate,
    USUAL_RATE)
from robodyn_ros.safety.stale import check_ages, Freshness, freshness, StaleMonitor, StaleVerdict
from robodyn_ros.safety.supervisor import checked_bounds, Supervisor, Verdict
from robodyn_ros.safety.velocity import PlausibleVelocity

__all__ = [
    'ABSURD', 'Anchor', 'Continuity', 'Freshness', 'Guard', 'GuardState', 'Phase',
    'PlausibleVelocity', 'StaleMonitor', 'StaleVerdict', 'Supervisor', 'USUAL_RATE', 'Verdict',
    'brake_at_limits', 'check_ages', 'check_not_raised', 'checked_bounds',
    'checked_effort_limits', 'clamp_effort', 'freshness', 'judged_speeds',
    'limit_rate']
