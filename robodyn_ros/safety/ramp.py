"""Blending between 0 and 1 without a step in value or slope."""

from __future__ import annotations

from robodyn_ros.exceptions import ArgumentError


def smooth_step(x: float) -> float:
    """Return 3 x^2 - 2 x^3 for x in [0, 1], 0 before and exactly 1 after."""
    if x >= 1.0:
        return 1.0
    if not x > 0.0:
        return 0.0
    return x * x * (3.0 - 2.0 * x)


class Ramp:
    """
    A value in [0, 1] that moves to its target along cubics.

    Value and slope are continuous also when the target changes on the way;
    the target is reached exactly. For activation, fading of feedback and
    release.

    Parameters
    ----------
    duration : float
        Seconds from one end to the other; 0 jumps.
    value : float
        Where it stands.

    """

    __slots__ = ('_begin', '_duration', '_from', '_slope', 'duration', 'target')

    def __init__(self, duration: float, value: float = 0.0):
        if not 0.0 <= duration < float('inf'):
            raise ArgumentError(f'a ramp cannot take {duration} s; it takes 0 s or more',
                                value=duration)
        self.duration = duration
        self.jump(value)

    def jump(self, value: float) -> None:
        """Stand at `value` at once."""
        if not 0.0 <= value <= 1.0:
            raise ArgumentError(f'a ramp stands between 0 and 1, not at {value}', value=value)
        self.target = self._from = float(value)
        self._begin = self._slope = self._duration = 0.0

    def toward(self, target: float, now: float) -> None:
        """Move to `target` in [0, 1] from time `now`; calling again changes nothing."""
        if target == self.target:
            return
        if not 0.0 <= target <= 1.0:
            raise ArgumentError(f'a ramp moves between 0 and 1, not to {target}', value=target)
        value, slope = self._state(now)
        self._from, self._slope, self._begin = value, slope, now
        self.target, self._duration = float(target), self.duration
        way = self.target - value
        if slope * way > 0.0:
            # A cubic that leaves at over three times its mean slope overshoots.
            self._duration = min(self._duration, 3.0 * way / slope)

    def value(self, now: float) -> float:
        """Return the value at `now`."""
        return self._state(now)[0]

    def _state(self, now: float) -> tuple[float, float]:
        ahead = max(now - self._begin, 0.0)
        if ahead >= self._duration:
            return self.target, 0.0
        x = ahead / self._duration
        way, reach = self.target - self._from, self._slope * self._duration
        # Hermite cubic from (from, slope) to (target, 0).
        value = self._from + way * smooth_step(x) + reach * x * (1.0 - x) ** 2
        slope = (way * 6.0 * x * (1.0 - x) + reach * (1.0 - x) * (1.0 - 3.0 * x)) / self._duration
        return min(max(value, 0.0), 1.0), slope
