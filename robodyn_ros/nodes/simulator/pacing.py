"""When the simulator steps: at deadlines, or in lockstep, after the answer to the last state."""

from __future__ import annotations

from collections.abc import Callable
import time

from sensor_msgs.msg import JointState

from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.statistics import Window

_MAX_BEHIND = 0.05  # s, largest delay that is made up for
_EARLY = 20e-6      # s before a deadline at which it counts as reached; below the kernel's error
_STEPS = 100   # most steps in one call without a published state
_REPEAT = 0.1  # s after which a state without an answer is published again


class Pacer:
    """
    Deadlines of steps, with statistics of the delays.

    Deadlines are a period apart, so errors do not add up. Late steps are made up for at once, one
    after the other; beyond 50 ms the simulation falls behind instead, and lost steps are counted.

    Parameters
    ----------
    period : float
        Time between steps, in s; 0: always due.
    paused : bool
        Whether to begin paused.

    Attributes
    ----------
    paused : bool
        Whether the simulation is paused.
    late : int
        Steps that began more than one period (at least 1 ms) after their deadline.
    half_late : int
        Steps that began more than half a period after their deadline.
    lost : int
        Periods given up.
    delay : Window
        Delays of the last steps, in s.
    period, tolerance, deadline : int
        Time between steps, delay beyond which a step is late, and time of the next step on the
        steady clock, in ns.

    """

    def __init__(self, period: float, paused: bool = False):
        self.paused = paused
        self.late = self.half_late = self.lost = 0
        self.delay = Window()
        self.change(period)

    def change(self, period: float) -> None:
        """Set another period (s), from now on."""
        self.period = round(1e9 * period)
        self.tolerance = max(self.period, 1_000_000)
        self.restart()

    def restart(self) -> None:
        """Set the next deadline to now."""
        self.deadline = time.monotonic_ns()

    def remaining(self) -> float:
        """Return the time until the next step is due, in s; not positive if it is due."""
        return 1e-9 * (self.deadline - time.monotonic_ns())

    @property
    def behind(self) -> int:
        """Return the time since the last step was due, in ns; 0 if steps are always due."""
        return max(time.monotonic_ns() - self.deadline + self.period, 0) if self.period else 0

    def wait(self) -> bool:
        """Sleep until the next step is due, or for 50 ms; return whether it is due."""
        left = self.remaining()
        if left > _EARLY:
            time.sleep(min(left, 0.05))
        return left <= 0.05

    def begin(self) -> None:
        """Record that a step begins now, and set the next deadline."""
        if not self.period:
            return
        behind = time.monotonic_ns() - self.deadline
        self.delay.add(1e-9 * max(behind, 0))
        self.late += behind > self.tolerance
        self.half_late += 2 * behind > self.period
        if behind > 1e9 * _MAX_BEHIND:
            given_up = behind // self.period
            self.lost += given_up
            self.deadline += given_up * self.period
        self.deadline += self.period


class Lockstep:
    """
    Steps the simulation to the next published state for each command that answers the last one.

    Parameters
    ----------
    answers : PolledSubscription
        Subscription of named efforts with the stamp of the state that they answer.
    take : callable
        Takes a command.
    step : callable
        Makes one step; returns whether a state was published.
    repeat : callable
        Publishes the last state again.

    Attributes
    ----------
    waiting : bool
        Whether a published state has no answer yet.
    answered : float
        Time of the last answer, steady clock, in s.
    unmatched : int
        Commands that answer another state, mostly one that was published twice.

    """

    def __init__(self, answers: PolledSubscription, take: Callable[[JointState], None],
                 step: Callable[[], bool], repeat: Callable[[], None]):
        self._answers, self._take = answers, take
        self._step, self._repeat = step, repeat
        self.answered, self._repeated = time.monotonic(), 0.0
        self.unmatched = 0
        self.waiting = True

    def advance(self, stamp: int, timeout: float) -> bool:
        """
        Wait for the answer to a state, then step to the next published state.

        One call makes at most a hundred steps; the next one continues.

        Parameters
        ----------
        stamp : int
            Stamp of the state, in ns.
        timeout : float
            Longest wait, in s.

        Returns
        -------
        bool
            Whether steps were made.

        """
        if self.waiting and not self._receive(stamp, timeout):
            return False
        # where a fault or a lost measurement suppresses a state, the simulation continues without
        # an answer; the number of steps is bounded for the other tasks of the node
        self.waiting = any(self._step() for _ in range(_STEPS))
        return True

    def _receive(self, stamp: int, timeout: float) -> bool:
        message = self._answers.wait(timeout)
        if message is None:
            self.repeat()
            return False
        if 10**9 * message.header.stamp.sec + message.header.stamp.nanosec != stamp:
            self.unmatched += 1
            return False
        self._take(message)  # a refused command is an answer as well: the last torque stays
        self.answered = time.monotonic()
        return True

    def repeat(self) -> None:
        """Publish the state again from time to time, for a controller that started later."""
        now = time.monotonic()
        if self.waiting and now - max(self.answered, self._repeated) >= _REPEAT:
            self._repeated = now
            self._repeat()
