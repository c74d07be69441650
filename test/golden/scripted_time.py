"""A clock that advances only in waits, with a queue of messages."""

from collections import deque
from contextlib import contextmanager
import sys
import time

EPOCH = 1_700_000_000_000_000_000  # ns since 1970, at which a scenario begins
_BEGIN = 1_000_000_000_000         # ns, of the steady clock
_LATE = 43_000                     # ns by which timers wake late


class ScriptedTime:
    """
    Replaces the module `time` in the nodes, and has a queue of messages as a subscription has.

    Parameters
    ----------
    source : callable
        Returns arrival (ns) and message of the next joint state up to a time in ns, or None.
    depth : int
        Length of the queue of messages.
    stalls : sequence of (float, float)
        Begin and end (s) of pauses of the process.

    Attributes
    ----------
    now : int
        ns since the scenario began.

    """

    def __init__(self, source, depth=1, stalls=()):
        self.now, self._source = 0, source
        self._stalls = [[round(1e9 * each) for each in stall] for stall in stalls]
        self._waiting = deque(maxlen=depth)

    # --- as the module ----------------------------------------------------------------------

    def monotonic(self):
        """Return the steady clock, s."""
        return 1e-9 * (_BEGIN + self.now)

    def time(self):
        """Return the clock of the system, s."""
        return 1e-9 * self.time_ns()

    def time_ns(self):
        """Return the clock of the system, ns."""
        return EPOCH + self.now

    def sleep(self, seconds):
        """Advance the clock; messages of this time are queued."""
        self._pass(self._wakes(self.now + max(round(1e9 * seconds), 0) + _LATE))

    # --- as a subscription ------------------------------------------------------------------

    def take(self):
        """Return the oldest queued message, or None."""
        self._pass(self.now)
        return self._waiting.popleft() if self._waiting else None

    def wait(self, patience):
        """Return the next message, or None after `patience` seconds."""
        message = self.take()
        if message is not None:
            return message
        end = self.now + max(round(1e9 * patience), 0) + _LATE
        found = self._source(end)
        if found is not None:
            self._waiting.append(found[1])
        self._pass(self._wakes(end if found is None else max(self.now, found[0])))
        return self._waiting.popleft() if self._waiting else None

    def _wakes(self, moment):
        """Return when a process that would wake at a moment does, after a pause."""
        return next((end for begin, end in self._stalls if begin <= moment < end), moment)

    def _pass(self, end):
        while (found := self._source(end)) is not None:
            self._waiting.append(found[1])
        self.now = max(self.now, end)


@contextmanager
def instead_of_time(clock):
    """Replace the module `time` in the nodes by a clock."""
    modules = [module for name, module in sys.modules.items()
               if name.startswith('robodyn_ros.nodes') and getattr(module, 'time', None) is time]
    for module in modules:
        module.time = clock
    try:
        yield
    finally:
        for module in modules:
            module.time = time
