"""
State machine of the guard: takeover when the controller falls silent, return on reset.

The controller's heartbeat carries its phase, and the guard publishes its state in reply. Exactly
one of the two commands at a time; a change is agreed before the other begins. The controller's
side is `control.turn`. No clock is read: time is an argument.
"""

from __future__ import annotations

from enum import Enum
import math

from robodyn_ros.exceptions import StateError

HELD_UP = 0.05   # s without a cycle after which the guard's state is read before the next command
_MAX_COUNTED = 0.25  # largest silence counted per update, as a part of the timeout
_GONE = 3.0      # timeouts of silence after which a refused controller counts as gone
_OBSERVE = 0.03  # s for which a guard observes the controller after its own pause


class Phase(Enum):
    """Phase of a controller, as its heartbeat reports it."""

    ACTIVE = 'active'      # commands the arm
    ASKING = 'asking'      # was held up, and waits for the guard's state before it commands again
    STANDBY = 'standby'    # does not command


class GuardState(Enum):
    """State of a guard."""

    WATCHING = 'watching'      # no controller commands, or the guard could not take over
    REFUSING = 'refusing'      # its configuration differs from the controller's: no takeover
    ARMED = 'armed'            # takes over when the heartbeat falls silent
    COMMANDING = 'commanding'  # has taken over
    YIELDING = 'yielding'      # commands until the controller does
    GONE = 'gone'              # has ended normally


class Guard:
    """
    Decides from heartbeats whether the guard or the controller commands.

    Silence grows by a bounded step per update, so that a pause of the guard, or of the whole
    machine, does not count as silence of the controller.

    Parameters
    ----------
    timeout : float
        Seconds of silence after which the guard takes over; above `HELD_UP`, up to which a
        controller continues without asking.
    patience : float
        Seconds after a reset within which the controller must command.

    Attributes
    ----------
    state : GuardState
        State of the guard.
    reason : str
        Reason of the state.
    takeovers : int
        Number of takeovers.
    refusal : str
        Reason why the guard must not be armed, empty if it may; set by the caller.
    source : bytes
        Controller whose heartbeats count; others are ignored while it commands, or is alive.
    foreign : bytes
        Controller whose last heartbeat was ignored; empty: none was.

    """

    def __init__(self, timeout: float, patience: float = 10.0):
        self.timeout, self._patience = timeout, patience
        self.state, self.reason = GuardState.WATCHING, 'no heartbeat yet'
        self.takeovers, self.refusal = 0, ''
        self._silence, self._phase = math.inf, Phase.STANDBY
        self.source, self.foreign, self._armed = b'', b'', b''
        self._updated = self._until = self._observe_until = -math.inf

    @property
    def in_charge(self) -> bool:
        """Whether the guard is responsible for the arm."""
        return self.state in (GuardState.COMMANDING, GuardState.YIELDING)

    @property
    def commands(self) -> bool:
        """Whether to command now; after a pause the guard observes the controller first."""
        return self.in_charge and not self.observing

    @property
    def observing(self) -> bool:
        """Whether the guard was held up while in charge, and observes if another commands."""
        return self.in_charge and self._updated < self._observe_until

    @property
    def silence(self) -> float:
        """Seconds without a heartbeat; infinite before the first."""
        return self._silence

    @property
    def controller_alive(self) -> bool:
        """Whether the controller is alive."""
        return self._silence < self.timeout

    def heartbeat_received(self, phase: Phase, source: bytes = b'') -> None:
        """
        Record a heartbeat, its phase and its publisher.

        A controller that waits, or was forgotten, must neither disarm the guard of another one
        nor keep it from taking over.
        """
        if source != self.source:
            begins = phase is not Phase.STANDBY and self._phase is Phase.STANDBY
            if self.state is GuardState.ARMED or self.controller_alive and not begins:
                self.foreign = source
                return
            self.source = source
        self._silence, self._phase = 0.0, phase

    def update(self, now: float, able: bool) -> GuardState:
        """
        Return the state at time `now`, after all waiting heartbeats were recorded.

        Parameters
        ----------
        now : float
            Steady clock, s.
        able : bool
            Whether the guard has a complete state of the arm.

        """
        passed, self._updated = now - self._updated, now
        self._silence += min(passed, _MAX_COUNTED * self.timeout)
        if passed > HELD_UP:
            self._observe_until = now + _OBSERVE
        if self.state in (GuardState.WATCHING, GuardState.REFUSING):
            self._watch(able)
        elif self.state is GuardState.ARMED:
            self._stay_armed()
        elif self.state is GuardState.COMMANDING:
            if (now < self._observe_until and self._phase is Phase.ACTIVE
                    and self.controller_alive and self.source == self._armed):
                self._go(GuardState.ARMED, 'the controller commanded while the guard was held up')
        elif self.state is GuardState.YIELDING:
            self._give_back(now)
        return self.state

    def reset(self, now: float) -> None:
        """
        Return the arm to the controller, as soon as the controller commands.

        Raises
        ------
        StateError
            The guard does not command, or the controller's heartbeat is silent.

        """
        if not self.in_charge:
            raise StateError(f'there is nothing to reset: the guard is {self.state.value}')
        if not self.controller_alive:
            raise StateError('no controller to give the arm to: its heartbeat is silent; start '
                             'the controller first. To end without one, close the brakes and '
                             'stop the guard')
        self._until = now + self._patience
        self._phase = Phase.STANDBY  # only a heartbeat from now on counts
        self._go(GuardState.YIELDING, 'reset')

    def _watch(self, able: bool) -> None:
        watching = GuardState.WATCHING
        # a refused controller that was held up stays refused for a while, or it would be armed
        refused = (self.state is GuardState.REFUSING and self.refusal
                   and self._silence < _GONE * self.timeout)
        if not self.controller_alive and not refused:
            self._go(watching, 'no heartbeat yet' if self._silence == math.inf
                     else 'the controller is gone')
        elif self.refusal:
            self._go(GuardState.REFUSING, self.refusal)
        elif self._phase is not Phase.ACTIVE:
            self._go(watching, 'the controller does not command')
        elif not able:
            self._go(watching, 'the state of the arm is not known')
        else:
            self._armed = self.source
            self._go(GuardState.ARMED, 'the controller commands')

    def _stay_armed(self) -> None:
        if not self.controller_alive:
            self._take_over(f'no heartbeat of the controller for {self._silence:.3f} s')
        elif self._phase is Phase.STANDBY:
            self._go(GuardState.WATCHING, 'the controller has stopped commanding')

    def _give_back(self, now: float) -> None:
        if self.controller_alive and self._phase is Phase.ACTIVE:
            self._armed = self.source
            self._go(GuardState.ARMED, 'the controller commands again')
        elif not self.controller_alive:
            self._take_over('after the reset the heartbeat fell silent again')
        elif now >= self._until:
            self._take_over(f'no controller took over within {self._patience:g} s of the reset')

    def _take_over(self, reason: str) -> None:
        self.takeovers += self.state is GuardState.ARMED
        self._go(GuardState.COMMANDING, reason)

    def _go(self, state: GuardState, reason: str) -> None:
        self.state, self.reason = state, reason
