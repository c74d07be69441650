"""How much later than usual a message arrives: what jitter adds to the age of a state."""

from __future__ import annotations

import math

# s per s that the least delay may grow: clocks of two machines drift by less
_DRIFT = 2e-4
# s; what is later is no jitter but a pause or a leap of a clock, and says nothing
_LONGEST = 0.02


class Lateness:
    """
    Tells the delay of each message beyond the least delay seen.

    The sender's clock may differ from the local one by any amount: of stamp and arrival only the
    changes of their difference count. A reference that is looked up at the moment of arrival
    minus the lateness is the one for when the state was measured, but for a constant.
    """

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Forget all messages."""
        self._least, self._before = math.inf, 0.0

    def received(self, now: float, stamp: float) -> float:
        """
        Take note of a message; return how late it is, in s, 0 if that cannot be told.

        Parameters
        ----------
        now
            Arrival, local clock, s.
        stamp
            The message's stamp in s, 0 if it has none.

        """
        if not stamp:
            return 0.0
        delay = now - stamp
        self._least = min(delay, self._least + _DRIFT * max(0.0, now - self._before))
        self._before = now
        late = delay - self._least
        return late if late <= _LONGEST else 0.0
