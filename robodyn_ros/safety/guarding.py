"""
The guard of an arm: when it takes over from a controller that fell silent, and when it gives back.

The controller's heartbeat says in which phase it is, the guard's state is its answer. At every
moment one of the two commands, and which of them is agreed before the other begins; what a
controller makes of the answer is in `control.permission`. Pure: time is an argument.
"""

from __future__ import annotations

from enum import Enum
import math

from robodyn_ros.exceptions import StateError

HELD_UP = 0.05   # s without a turn of its own after which a process asks before it commands again
_LOOK = 0.25     # of the timeout that one look counts at most: a guard that is late is not alone
_GONE = 3.0      # timeouts of silence after which a controller that was refused counts as gone
_LISTEN = 0.03   # s for which a guard that was held up listens first


class Phase(Enum):
    """What a heartbeat says of its controller."""

    ACTIVE = 'active'      # commands the arm
    ASKING = 'asking'      # was held up, and waits for an answer before it commands again
    STANDBY = 'standby'    # does not command


class GuardState(Enum):
    """What a guard does."""

    WATCHING = 'watching'      # nobody is in charge, or the guard could not take over
    REFUSING = 'refusing'      # it would command otherwise than the controller, and will not
    ARMED = 'armed'            # takes over when the heartbeat falls silent
    COMMANDING = 'commanding'  # has taken over
    YIELDING = 'yielding'      # commands until the controller does
    GONE = 'gone'              # leaves in good order


class Guard:
    """
    Decides who commands, heartbeat by heartbeat.

    Silence is counted in looks: while the guard itself is held up nothing counts, so that a pause
    of the whole machine is no silence of the controller.

    Parameters
    ----------
    timeout : float
        Seconds of silence after which the guard takes over; above `HELD_UP`, within which a
        controller goes on without asking.
    patience : float
        Seconds after a reset in which a controller may take over.

    Attributes
    ----------
    state : GuardState
        What it does.
    reason : str
        Why.
    takeovers : int
        How often it took over.
    refusal : str
        Why it must not be armed, empty if it may; to be set from outside.

    """

    def __init__(self, timeout: float, patience: float = 10.0):
        self.timeout, self._patience = timeout, patience
        self.state, self.reason = GuardState.WATCHING, 'no heartbeat yet'
        self.takeovers, self.refusal = 0, ''
        self._silence, self._phase = math.inf, Phase.STANDBY
        self._looked = self._until = self._listening = -math.inf

    @property
    def in_charge(self) -> bool:
        """Whether the arm is the guard's."""
        return self.state in (GuardState.COMMANDING, GuardState.YIELDING)

    @property
    def commands(self) -> bool:
        """Whether to command now; after a pause it listens first."""
        return self.in_charge and not self.listens

    @property
    def listens(self) -> bool:
        """Whether it was held up in charge of the arm, and looks who commands by now."""
        return self.in_charge and self._looked < self._listening

    @property
    def silence(self) -> float:
        """Seconds without a heartbeat; infinite before the first."""
        return self._silence

    @property
    def hears(self) -> bool:
        """Whether the controller is alive."""
        return self._silence < self.timeout

    def heard(self, phase: Phase) -> None:
        """Take note of a heartbeat."""
        self._silence, self._phase = 0.0, phase

    def look(self, now: float, able: bool) -> GuardState:
        """
        Go on to `now`, after all waiting heartbeats were heard.

        Parameters
        ----------
        now : float
            Steady clock, s.
        able : bool
            Whether the guard knows what it needs to command.

        """
        passed, self._looked = now - self._looked, now
        self._silence += min(passed, _LOOK * self.timeout)
        if passed > HELD_UP:
            self._listening = now + _LISTEN
        if self.state in (GuardState.WATCHING, GuardState.REFUSING):
            self._watch(able)
        elif self.state is GuardState.ARMED:
            self._stay_armed()
        elif self.state is GuardState.COMMANDING:
            if now < self._listening and self._phase is Phase.ACTIVE and self.hears:
                self._go(GuardState.ARMED, 'the controller commanded while the guard was held up')
        elif self.state is GuardState.YIELDING:
            self._give_back(now)
        return self.state

    def reset(self, now: float) -> None:
        """
        Give the arm back to the controller as soon as it commands.

        Raises
        ------
        StateError
            There is nothing to give back, or nobody to give it to.

        """
        if not self.in_charge:
            raise StateError(f'there is nothing to reset: the guard is {self.state.value}')
        if not self.hears:
            raise StateError('no controller to give the arm to: its heartbeat is silent; start '
                             'the controller first. To end without one, close the brakes and '
                             'stop the guard')
        self._until = now + self._patience
        self._phase = Phase.STANDBY  # only a heartbeat from now on counts
        self._go(GuardState.YIELDING, 'reset')

    def _watch(self, able: bool) -> None:
        watching = GuardState.WATCHING
        # one that was held up must not find a guard that has nothing against it
        refused = (self.state is GuardState.REFUSING and self.refusal
                   and self._silence < _GONE * self.timeout)
        if not self.hears and not refused:
            self._go(watching, 'no heartbeat yet' if self._silence == math.inf
                     else 'the controller is gone')
        elif self.refusal:
            self._go(GuardState.REFUSING, self.refusal)
        elif self._phase is not Phase.ACTIVE:
            self._go(watching, 'the controller does not command')
        elif not able:
            self._go(watching, 'the state of the arm is not known')
        else:
            self._go(GuardState.ARMED, 'the controller commands')

    def _stay_armed(self) -> None:
        if not self.hears:
            self._take_over(f'no heartbeat of the controller for {self._silence:.3f} s')
        elif self._phase is Phase.STANDBY:
            self._go(GuardState.WATCHING, 'the controller has left in good order')

    def _give_back(self, now: float) -> None:
        if self.hears and self._phase is Phase.ACTIVE:
            self._go(GuardState.ARMED, 'the controller commands again')
        elif not self.hears:
            self._take_over('after the reset the heartbeat fell silent again')
        elif now >= self._until:
            self._take_over(f'no controller took over within {self._patience:g} s of the reset')

    def _take_over(self, reason: str) -> None:
        self.takeovers += self.state is GuardState.ARMED
        self._go(GuardState.COMMANDING, reason)

    def _go(self, state: GuardState, reason: str) -> None:
        self.state, self.reason = state, reason
