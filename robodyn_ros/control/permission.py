"""What a controller makes of its guard: whether it may command. Time is an argument."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robodyn_ros.control import blocks
from robodyn_ros.control.steps import permission
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.safety.guarding import GuardState, Phase

_REFUSED = 'the guard refuses to guard this controller, its log says why'
PHASES = Phase.ACTIVE, Phase.ASKING, Phase.STANDBY  # in the order of `steps.permission`
SPACING = 4e-3  # s between two heartbeats of the same phase
_NANOSECOND = 1e-9  # s


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
    functions : dict of str to Function
        The steps 'hear', 'begin', 'check' and 'beat'.
    values : dict of str to array
        What they work on: 'turn', 'before', 'program', 'memory', 'result'.
    since : int or None
        Time in ns that the stamps of the memory count from.

    """

    def __init__(self, required: bool, timeout: float, expected: bool = False):
        self._required, self._expected = required, expected
        classes = {'turn': permission.Turn, 'before': permission.Memory,
                   'program': permission.Program, 'memory': permission.Memory}
        self.values = {name: np.zeros(blocks.size(cls, {})) for name, cls in classes.items()}
        self.values['result'] = np.zeros(1)
        views = {name: blocks.views(cls, self.values[name], {}) for name, cls in classes.items()}
        self._turn, self.memory, self._program = (
            views[name] for name in ('turn', 'memory', 'program'))
        self._program.timeout[()] = timeout
        self.values['memory'][:] = flatten(permission.begun())
        self.functions = {step.__name__: _function(step) for step in (
            permission.hear, permission.begin, permission.check, permission.beat)}
        self._calls = {name: self._bound(each) for name, each in self.functions.items()}
        self.since: int | None = None

    def _bound(self, function: Function) -> Callable[[], None]:
        bound = function.bound(*self.values.values())
        bound.feed(self.values['before'], self.values['memory'])
        return bound.call

    def _run(self, step: str, now: float) -> float:
        self._turn.now[()] = now
        self._calls[step]()
        return float(self.values['result'][0])

    @property
    def word(self) -> GuardState | None:
        """Return the last word of the guard; None before."""
        return permission.WORDS[int(self.memory.word) - 1] if self.memory.word else None

    @property
    def asking(self) -> bool:
        """Whether an answer of the guard is waited for."""
        return bool(self.memory.asking)

    @property
    def deferring(self) -> bool:
        """Whether the guard commands the arm."""
        return bool(self.memory.deferring)

    @property
    def known(self) -> bool:
        """Whether there is, or was, a guard that has not ended in good order."""
        return self.word not in (None, GuardState.GONE)

    @property
    def silent(self) -> bool:
        """Whether a guard that was there is silent."""
        return bool(self.memory.silent)

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
            passed = float(self.memory.turned - self.memory.heard)
            return f'the guard is silent for {passed:.2f} s, and guard.required is set'
        return ''

    @property
    def refusal(self) -> str:
        """Return why the arm cannot be taken over; empty if it can."""
        if self.word is GuardState.COMMANDING and not self.silent:
            return 'the guard commands the arm: call the service ~/reset of the guard'
        if self._expected and (not self.known or self.silent or not self.memory.met):
            return 'no word of the guard yet'
        if self._expected and self.word is GuardState.REFUSING:
            return _REFUSED
        return self.complaint

    def paused(self, now: float) -> bool:
        """Whether the process was held up within this turn: what it permitted is out of date."""
        return bool(self._run('check', now))

    def told(self, now: float, word: GuardState, echo: float) -> None:
        """
        Take note of a word of the guard.

        Parameters
        ----------
        now : float
            Steady clock, s.
        word : GuardState
            What it does.
        echo : int
            Stamp in ns of the newest heartbeat that it had received by then.

        """
        self._turn.word[()] = permission.WORDS.index(word) + 1.0
        self._turn.echo[()] = -permission.NEVER if self.since is None else self._stamp(echo)
        self._run('hear', now)

    def may_command(self, now: float) -> bool:
        """Return whether to command; to be called every turn, after words that came were told."""
        return bool(self._run('begin', now))

    def beat(self, now: float, commands: bool, stamp: int) -> Phase:
        """
        Take note of a heartbeat that is sent, and return the phase for it.

        Parameters
        ----------
        now : float
            Steady clock, s.
        commands : bool
            Whether torques are sent.
        stamp : int
            Of the heartbeat, in ns.

        """
        if self.since is None:
            self.since = stamp
        self._turn.commands[()], self._turn.stamp[()] = commands, self._stamp(stamp)
        return PHASES[int(self._run('beat', now))]

    def _stamp(self, stamp: float) -> float:
        return _NANOSECOND * (stamp - self.since)


def _function(step: Callable) -> Function:
    """Return a step as a function of arrays: turn, memory, program -> memory, result."""
    def body(turn, m, p):
        after, result = step(blocks.unpack(permission.Turn, turn, {}),
                             blocks.unpack(permission.Memory, m, {}),
                             blocks.unpack(permission.Program, p, {}))
        return [flatten(after), [result]]

    size = blocks.size(permission.Memory, {})
    return Function(body, {'turn': blocks.size(permission.Turn, {}), 'memory': size,
                           'program': blocks.size(permission.Program, {})},
                    {'next': size, 'result': 1}, cache=machine.default_cache())
