"""Permission of a controller to command, given by its guard. Time is an argument."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robodyn_ros.control.steps import permission
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.safety.guard_state_machine import GuardState, Phase

_REFUSED = 'the guard refuses to guard this controller, see its log'
PHASES = Phase.ACTIVE, Phase.ASKING, Phase.STANDBY  # in the order of `steps.permission`
SPACING = 4e-3  # s between two heartbeats of the same phase
_NANOSECOND = 1e-9  # s


class CommandPermission:
    """
    Permission of a controller to command, from the states that its guard publishes.

    Parameters
    ----------
    required : bool
        Whether there must always be a guard.
    timeout : float
        Seconds without a message of the guard after which it counts as silent.
    expected : bool
        Whether there must be a guard before the arm is taken over.

    Attributes
    ----------
    functions : dict of str to Function
        The steps 'receive', 'begin', 'check' and 'heartbeat_sent'.
    values : dict of str to array
        Their arguments: 'turn', 'before', 'program', 'memory', 'result'.
    since : int or None
        Time in ns from which the stamps of the memory are counted.

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
        self.values['memory'][:] = flatten(permission.initial())
        self.functions = {step.__name__: _function(step) for step in (
            permission.receive, permission.begin, permission.check, permission.heartbeat_sent)}
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
    def guard_state(self) -> GuardState | None:
        """Return the last state of the guard; None before the first message."""
        index = int(self.memory.guard_state)
        return permission.GUARD_STATES[index - 1] if index else None

    @property
    def pending(self) -> bool:
        """Whether a confirmation of the guard is awaited."""
        return bool(self.memory.pending)

    @property
    def guard_commands(self) -> bool:
        """Whether the guard commands the arm."""
        return bool(self.memory.guard_commands)

    @property
    def known(self) -> bool:
        """Whether a guard is known that did not shut down in good order."""
        return self.guard_state not in (None, GuardState.GONE)

    @property
    def silent(self) -> bool:
        """Whether a known guard is silent."""
        return bool(self.memory.silent)

    @property
    def problem(self) -> str:
        """Return why the arm must not move; empty if it may."""
        if self.guard_commands:
            return 'the guard has taken over the arm'
        if self._required and not self.known:
            return 'there is no guard, and guard.use is required'
        if self._required and self.guard_state is GuardState.REFUSING:
            return f'{_REFUSED}, and guard.use is required'
        if self._required and self.silent:
            passed = float(self.memory.last_turn - self.memory.received)
            return f'the guard is silent for {passed:.2f} s, and guard.use is required'
        return ''

    @property
    def refusal(self) -> str:
        """Return why the arm cannot be taken over; empty if it can."""
        if self.guard_state is GuardState.COMMANDING and not self.silent:
            return 'the guard commands the arm: call the service ~/reset of the guard'
        if self.guard_state is GuardState.ARMED and not self.silent:
            return 'the guard is armed: another controller commands the arm'
        if self._expected and (not self.known or self.silent or not self.memory.first_received):
            return 'no message of the guard yet'
        if self._expected and self.guard_state is GuardState.REFUSING:
            return _REFUSED
        return self.problem

    def paused(self, now: float) -> bool:
        """Whether the process was held up within this turn: its permission is out of date."""
        return bool(self._run('check', now))

    def receive(self, now: float, guard_state: GuardState, echo: int) -> None:
        """
        Handle a message of the guard.

        Parameters
        ----------
        now : float
            Steady clock, s.
        guard_state : GuardState
            State of the guard.
        echo : int
            Stamp in ns of the newest heartbeat that the guard had received by then.

        """
        self._turn.guard_state[()] = permission.GUARD_STATES.index(guard_state) + 1.0
        self._turn.echo[()] = -permission.NEVER if self.since is None else self._stamp(echo)
        self._run('receive', now)

    def may_command(self, now: float) -> bool:
        """Return whether to command; called in every turn, after `receive` of all new messages."""
        return bool(self._run('begin', now))

    def heartbeat_sent(self, now: float, commands: bool, stamp: int) -> Phase:
        """
        Handle a heartbeat that is about to be sent; return its phase.

        Parameters
        ----------
        now : float
            Steady clock, s.
        commands : bool
            Whether torques are sent.
        stamp : int
            Stamp of the heartbeat, in ns.

        """
        if self.since is None:
            self.since = stamp
        self._turn.commands[()], self._turn.stamp[()] = commands, self._stamp(stamp)
        return PHASES[int(self._run('heartbeat_sent', now))]

    def _stamp(self, stamp: int) -> float:
        return _NANOSECOND * (stamp - (self.since or 0))


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
