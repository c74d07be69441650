"""
Detection of stale data, from arrival times and message stamps.

Arrival times are of one local steady clock; stamps are of the sender's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

from robodyn_ros.exceptions import ParameterError


@dataclass(slots=True)
class StaleVerdict:
    """
    Verdict on a source; the monitor reuses one object.

    Attributes
    ----------
    fresh : bool
        Whether the data may be used.
    age : float
        Seconds since the newest good data was measured; infinite before any.
    reason : str
        Reason in words; empty while the source is fresh.

    """

    fresh: bool
    age: float
    reason: str


def check_ages(hold: float, stop: float, max_skew: float) -> None:
    """Raise `ParameterError` unless 0 < hold <= stop and max_skew > 0, all in s."""
    if not 0.0 < hold <= stop:
        raise ParameterError(f'stale.hold is {hold} s and stale.stop {stop} s; needed is '
                             '0 < hold <= stop', value=(hold, stop))
    if not max_skew > 0.0:
        raise ParameterError(f'max_skew is {max_skew} s; it must be above 0', value=max_skew)


class StaleMonitor:
    """
    Monitors the age of a source's data.

    A message counts only if its stamp is newer than the one before it and
    within `max_skew` of the clock. For a zero stamp only the arrival counts.

    Parameters
    ----------
    hold_after : float
        Seconds of age from which on the data are not used.
    max_skew : float
        Largest difference of stamp and clock, in s; infinite if the clocks are known
        to differ. The transport delay by stamp is added to the age.

    """

    def __init__(self, hold_after: float, max_skew: float = 1.0):
        check_ages(hold_after, math.inf, max_skew)
        self.hold_after, self.max_skew = hold_after, max_skew
        self._verdict = StaleVerdict(False, math.inf, '')
        self.reset()

    def reset(self) -> None:
        """Return to the state before the first message."""
        self._measured = -math.inf
        self._stamp = 0.0
        self._remark = 'nothing received yet'

    def received(self, now: float, stamp: float = 0.0, clock: float | None = None) -> bool:
        """
        Record a message and return whether it is accepted.

        Parameters
        ----------
        now
            Arrival, local clock, seconds.
        stamp
            The message's stamp in seconds, 0 if it has none.
        clock
            Time of the stamps' clock at arrival; `now` if left out.

        """
        if stamp == 0.0:
            self._accept(now, 0.0)
            return True
        before, self._stamp = self._stamp, stamp
        delay = (now if clock is None else clock) - stamp
        if not abs(delay) <= self.max_skew:
            side = 'behind' if delay > 0.0 else 'ahead of'
            self._remark = (f'stamps are {abs(delay):.3f} s {side} the clock; check time '
                            f'synchronisation and use_sim_time')
        elif stamp == before:
            self._remark = f'the stamp is frozen at {stamp:.6f} s'
        elif stamp < before:
            self._remark = f'the stamp went back by {before - stamp:.6f} s'
        else:
            self._accept(now, max(delay, 0.0) if math.isfinite(self.max_skew) else 0.0)
            return True
        return False

    def _accept(self, now: float, delay: float) -> None:
        self._measured = now - delay
        self._remark = 'silent'
        if delay >= self.hold_after:
            self._remark = f'by their stamps messages arrive {delay:.3f} s late'

    def check(self, now: float) -> StaleVerdict:
        """Return how stale the source is at `now`, local clock."""
        verdict = self._verdict
        if now < self._measured:
            # A local clock set back must not hide silence until it catches up.
            self._measured = now
        age = verdict.age = now - self._measured
        verdict.fresh = age < self.hold_after
        verdict.reason = ('' if verdict.fresh else
                          f'no good data for {age:.3f} s: {self._remark}')
        return verdict
