"""Turns of the loop of one arm: calls of the functions of `turn`. Time is an argument."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robodyn_ros.control import turn
from robodyn_ros.dynamics.jit import blocks, machine
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.safety.acceptance import DUE, FROM_STATE
from robodyn_ros.safety.guard_state_machine import GuardState, Phase

_REFUSED = 'the guard refuses to guard this controller, see its log'
PHASES = Phase.ACTIVE, Phase.ASKING, Phase.STANDBY  # in the order of `turn`
STEPS = turn.wait, turn.guard_heard, turn.begin, turn.check, turn.sent, turn.end, turn.heartbeat
_NANOSECOND = 1e-9  # s


class TurnHost:
    """
    Turns of the loop of a controller: its permission to command, given by its guard, and its pace.

    Parameters
    ----------
    required : bool
        Whether there must always be a guard.
    timeout : float
        Seconds without a message of the guard after which it counts as silent.
    expected : bool
        Whether there must be a guard before the arm is taken over.
    period : float
        Seconds between torques without a state; infinite: none is sent.
    patience : float
        Seconds without a sign of life after which a motion is stopped.

    Attributes
    ----------
    functions : dict of str to Function
        The functions of `turn` by name.
    values : dict of str to array
        Their arguments: 'inputs', 'previous', 'program', 'memory', 'result'.
    since : int or None
        Time in ns from which the stamps of the memory are counted.

    """

    def __init__(self, required: bool, timeout: float, expected: bool = False,
                 period: float = np.inf, patience: float = np.inf):
        self._required, self._expected = required, expected
        classes = {'inputs': turn.Inputs, 'previous': turn.Memory, 'program': turn.Program,
                   'memory': turn.Memory}
        self.values = {name: np.zeros(blocks.size(cls, {})) for name, cls in classes.items()}
        self.values['result'] = np.zeros(1)
        views = {name: blocks.views(cls, self.values[name], {}) for name, cls in classes.items()}
        self._inputs, self.memory = views['inputs'], views['memory']
        for name, value in (('timeout', timeout), ('period', period), ('patience', patience)):
            getattr(views['program'], name)[()] = value
        self.values['memory'][:] = flatten(turn.initial())
        self.functions = {step.__name__: turn_function(step) for step in STEPS}
        self._calls = {name: self._bound(each) for name, each in self.functions.items()}
        self.since: int | None = None

    def _bound(self, function: Function) -> Callable[[], None]:
        bound = function.bound(*self.values.values())
        bound.feed(self.values['previous'], self.values['memory'])
        return bound.call

    def _run(self, step: str, now: float) -> float:
        self._inputs.now[()] = now
        self._calls[step]()
        return float(self.values['result'][0])

    @property
    def guard_state(self) -> GuardState | None:
        """Return the last state of the guard; None before the first message."""
        index = int(self.memory.guard_state)
        return turn.GUARD_STATES[index - 1] if index else None

    @property
    def guard_commands(self) -> bool:
        """Whether the guard commands the arm."""
        return bool(self.memory.guard_commands)

    @property
    def known(self) -> bool:
        """Whether a guard is known that did not shut down in good order."""
        return self.guard_state not in (None, GuardState.GONE)

    @property
    def guard_silent(self) -> bool:
        """Whether a known guard is silent."""
        return bool(self.memory.guard_silent)

    @property
    def problem(self) -> str:
        """Return why the arm must not move; empty if it may."""
        if self.guard_commands:
            return 'the guard has taken over the arm'
        if not self.known:
            return self.demanded('there is no guard')
        if self.guard_state is GuardState.REFUSING:
            return self.demanded(_REFUSED)
        passed = float(self.memory.last_turn - self.memory.received)
        return self.demanded(
            f'the guard is silent for {passed:.2f} s' if self.guard_silent else '')

    def demanded(self, lack: str) -> str:
        """Return why the arm must not move where this lacks; empty if no guard is required."""
        return f'{lack}, and guard.use is required' if lack and self._required else ''

    @property
    def refusal(self) -> str:
        """Return why the arm cannot be taken over; empty if it can."""
        if self.guard_state is GuardState.COMMANDING and not self.guard_silent:
            return 'the guard commands the arm: call the service ~/reset of the guard'
        if self.guard_state is GuardState.ARMED and not self.guard_silent:
            return 'the guard is armed: another controller commands the arm'
        if self._expected and (
                not self.known or self.guard_silent or not self.memory.first_received):
            return 'no message of the guard yet'
        if self._expected and self.guard_state is GuardState.REFUSING:
            return _REFUSED
        return self.problem

    def withheld(self, now: float, kind: float = FROM_STATE, subscribers: int = 0) -> bool:
        """
        Return whether the torque of this turn must not be sent.

        Parameters
        ----------
        now : float
            Steady clock, s.
        kind : float
            Kind of the cycle that was made, see `safety.acceptance`.
        subscribers : int
            Number of subscribers of the torques.

        """
        self._inputs.kind[()], self._inputs.subscribers[()] = kind, subscribers
        return bool(self._run('check', now))

    @property
    def new_driver(self) -> bool:
        """Whether nothing is sent because of a subscriber that came during a silence."""
        return bool(self.memory.new_driver)

    def guard_heard(self, now: float, guard_state: GuardState, echo: int) -> None:
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
        self._inputs.guard_state[()] = turn.GUARD_STATES.index(guard_state) + 1.0
        self._inputs.echo[()] = -turn.NEVER if self.since is None else self._stamp(echo)
        self._run('guard_heard', now)

    def wait(self, now: float) -> float:
        """Return for how long to wait for a state, in s: at most until a torque is due."""
        return self._run('wait', now)

    def begin(self, now: float, received: bool = False) -> bool:
        """
        Begin a turn, after `guard_heard` of all new messages; return whether to command in it.

        `received`: whether there is a state of the arm.
        """
        inputs = self._inputs
        inputs.received[()], inputs.alive[()] = received, now
        return bool(self._run('begin', now))

    @property
    def is_due(self) -> bool:
        """Whether a torque is due in this turn, in which there is no state."""
        return self.memory.kind == DUE

    def sent(self, now: float) -> None:
        """Handle a torque that was sent."""
        self._inputs.published[()] = 1.0
        self._run('sent', now)

    def end(self, now: float, kind: float) -> None:
        """End a turn in which a cycle of a kind was made, see `safety.acceptance`."""
        self._inputs.kind[()] = kind
        self._run('end', now)

    def release(self) -> None:
        """Command no longer."""
        self.memory.commands[()], self.memory.due[()] = 0.0, turn.NEVER

    def heartbeat(self, now: float, stamp: int) -> Phase | None:
        """
        Return the phase of the heartbeat that is to be sent; None if none is due.

        Parameters
        ----------
        now : float
            Steady clock, s.
        stamp : int
            Stamp of the heartbeat, in ns.

        """
        if self.since is None:
            self.since = stamp
        self._inputs.stamp[()] = self._stamp(stamp)
        phase = self._run('heartbeat', now)
        return None if phase == turn.NO_PHASE else PHASES[int(phase)]

    def _stamp(self, stamp: int) -> float:
        return _NANOSECOND * (stamp - (self.since or 0))


def turn_function(step: Callable) -> Function:
    """Return a function of `turn` over arrays: inputs, memory, program -> memory, result."""
    def body(x, m, p):
        after, result = step(*(blocks.unpack(cls, each, {}) for cls, each in (
            (turn.Inputs, x), (turn.Memory, m), (turn.Program, p))))
        return [flatten(after), [result]]

    size = blocks.size(turn.Memory, {})
    return Function(body, {'inputs': blocks.size(turn.Inputs, {}), 'memory': size,
                           'program': blocks.size(turn.Program, {})},
                    {'next': size, 'result': 1}, cache=machine.default_cache())
