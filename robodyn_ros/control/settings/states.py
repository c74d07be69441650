"""Settings of the measured states: which are used, and where the arm may be."""

from __future__ import annotations

import math

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.settings import parameter, settings

VELOCITY_SOURCES = ('auto', 'measured', 'estimated')


@settings('position_limits')
class PositionLimits:
    """Arm at and beyond its position limits."""

    tolerance: float = parameter(
        0.01, 'Distance beyond a position limit that counts as inside, for measured positions, '
        'not for references.', 'rad or m', 0.0, 0.1, read_only=True)
    recovery: float = parameter(
        0.2, 'Largest distance beyond a position limit from which an arm at rest is activated, '
        'for motion inwards only; 0: activation is refused beyond the tolerance.', 'rad or m',
        0.0, 1.0, read_only=True, in_ros=False)
    recovery_speed: float = parameter(
        0.1, 'Largest speed of that motion.', 'rad/s or m/s', 0.001, 1.0, read_only=True,
        in_ros=False)

    @property
    def furthest(self) -> float:
        """Largest distance beyond a limit from which an arm is activated, in rad or m."""
        return max(self.tolerance, self.recovery)


@settings('stale')
class StaleSettings:
    """Joint states that are used, and their absence."""

    hold: float = parameter(
        0.05, 'Silence of the joint states after which the arm is brought to rest by the model '
        'alone.', 's', 0.002, 1.0, read_only=True)
    stop: float = parameter(
        0.25, 'Silence after which a fault is latched.', 's', 0.004, 10.0, read_only=True)
    jump: float = parameter(
        0.06, 'Jump of a position that is accepted, as time at the velocity limit of the joint: '
        '0.06 is 0.09 rad at 1.5 rad/s. A state that is further from there than twice that speed '
        'allows is rejected. .inf: none is.', 's', 0.001, math.inf, read_only=True, in_ros=False)
    max_skew: float = parameter(
        1.0, 'Largest difference between stamp and clock; .inf where the clocks are known to '
        'differ.', 's', 0.001, math.inf, read_only=True)

    def check(self) -> None:
        """Raise `ParameterError` unless hold comes before stop."""
        if not self.hold <= self.stop:
            raise ParameterError(f'stale.hold is {self.hold} s and stale.stop {self.stop} s; '
                                 'needed is hold <= stop', value=(self.hold, self.stop))


@settings('plausibility')
class PlausibilitySettings:
    """Consistency of measured positions and velocities."""

    motion: float = parameter(
        0.005, 'Motion from which on velocities are compared with positions: above resolution and '
        'noise, here three steps of an encoder of 12 bits. .inf: no comparison.', 'rad or m',
        1e-6, math.inf, read_only=True, in_ros=False)
    velocity_lag: float = parameter(
        0.025, 'Lag of measured velocities that is accepted: that of a filter in the driver, for '
        'example. At least 2.5 periods of the states.', 's', 1e-3, 1.0, read_only=True,
        in_ros=False)
    repeated: float = parameter(
        0.005, 'Motion that states which repeat position and velocity of all joints may hide; '
        'from there on they are rejected. .inf: none is.', 'rad or m', 1e-6, math.inf,
        read_only=True, in_ros=False)
