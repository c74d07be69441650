"""
What a controller makes of its guard: whether it may command.

A process that was held up cannot know what happened meanwhile: its guard may have taken over. So
it asks, with a heartbeat of its own stamp, and commands again when the guard's answer echoes that
stamp: no message from before the pause can be mistaken for it. Pure: time is an argument.
"""

from __future__ import annotations

import math

from robodyn_ros.safety.guarding import GuardState, HELD_UP, Phase

_REFUSED = 'the guard refuses to guard this controller, its log says why'


class Deference:
    """
    Decides whether a controller may command, as far as its guard is concerned.

    Parameters
    ----------
    required : bool
        Whether there must be a guard, always.
    timeout : float
        Seconds without a word of the guard after which it counts as gone.
    expected : bool
        Whether there must be one before the arm is taken over.

    Attributes
    ----------
    word : GuardState or None
        What the guard said last; None before.
    asking : bool
        Whether an answer of the guard is waited for.
    deferring : bool
        Whether the guard commands the arm.

    """

    def __init__(self, required: bool, timeout: float, expected: bool = False):
        self._required, self._timeout, self._expected = required, timeout, expected
        self.word: GuardState | None = None
        self.asking = self.deferring = False
        self._question: int | None = None
        self._first: int | None = None  # heartbeat, of which the guard's words know or do not
        self._met = False
        self._turned = self._heard = -math.inf
        self._asked = 0.0

    @property
    def known(self) -> bool:
        """Whether there is, or was, a guard that has not left in good order."""
        return self.word not in (None, GuardState.GONE)

    @property
    def silent(self) -> bool:
        """Whether a guard that was there is silent."""
        return self.known and self._turned - self._heard > self._timeout

    @property
    def complaint(self) -> str:
        """Return why the arm must not move; empty if it may."""
        if self.deferring:
            return 'the guard has taken over the arm'
        if self._required and not self.known:
            return 'there is no guard, and guard.required is set'
        if self._required and self.word is GuardState.REFUSING:
            return f'{_REFUSED}, and guard.required is set'
        if self._required and self.silent:
            return (f'the guard is silent for {self._turned - self._heard:.2f} s, and '
                    'guard.required is set')
        return ''

    @property
    def refusal(self) -> str:
        """Return why the arm cannot be taken over; empty if it can."""
        if self.word is GuardState.COMMANDING and not self.silent:
            return 'the guard commands the arm: call its service ~/reset'
        if self._expected and (not self.known or self.silent or not self._met):
            return 'no word of the guard yet'
        if self._expected and self.word is GuardState.REFUSING:
            return _REFUSED
        return self.complaint

    def paused(self, now: float) -> bool:
        """Whether the process was held up within this turn: what it permitted is out of date."""
        return self.known and HELD_UP < now - self._turned < math.inf

    def phase(self, now: float, commands: bool) -> Phase:
        """Return what the heartbeat says, of a controller that commands or does not."""
        if self.asking or self.paused(now):
            return Phase.ASKING
        return Phase.ACTIVE if commands else Phase.STANDBY

    def told(self, now: float, word: GuardState, echo: int) -> None:
        """
        Take note of a word of the guard.

        Parameters
        ----------
        now : float
            Steady clock, s.
        word : GuardState
            What it does.
        echo : int
            Stamp of the newest heartbeat that it had heard by then.

        """
        self.word, self._heard = word, now
        # a guard that was started anew has heard nothing yet
        self._met = self._first is not None and echo >= self._first
        if self._question is not None and echo >= self._question:
            self.asking, self._question = False, None

    def beaten(self, stamp: int) -> None:
        """Take note of the stamp of a heartbeat that was sent."""
        if self._first is None:
            self._first = stamp
        if self.asking and self._question is None:
            self._question = stamp

    def may_command(self, now: float) -> bool:
        """Return whether to command; to be called every turn, after words that came were told."""
        paused, self._turned = self.paused(now), now
        if paused:
            # the pause was this process's own: what the guard said meanwhile is still to be read
            self._heard = max(self._heard, now)
            self.asking, self._question, self._asked = True, None, now
            # a guard that missed the heartbeat may have said that there is no controller
            self._met, self._first = False, None
        if self.asking and (not self.known or now - self._asked > self._timeout):
            self.asking, self._question = False, None
        self.deferring = self.word is GuardState.COMMANDING and not self.silent
        return not (self.asking or self.deferring)
