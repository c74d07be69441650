"""
The wires of the control cycle: a state of the arm triggers it, a torque is its answer.

What the torque is, `robodyn_ros.control` decides. Here states are waited for and answered at
once, and their absence is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import time

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.control import ArmController
from robodyn_ros.control.state import COAST, FROM_STATE, SILENT
from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.native import HELD_UP, NativeControl
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.controller.torque_output import TorqueOutput
from robodyn_ros.nodes.conversions import in_seconds
from robodyn_ros.nodes.statistics import CycleStatistics

_STANDSTILL = 0.5  # s without a step of the simulation
_SMOOTHING = 0.1  # part by which a gap between states moves their expected one


class ControlCycle:
    """
    Closes the loop between the joint states and the torques on the wire.

    Parameters
    ----------
    controller : ArmController
        Decides what the torques are.
    states : StateInput
        What comes in.
    output : TorqueOutput
        What goes out.
    guard : GuardLink
        Who else may command.
    clock : ControllerClock
        When.
    log : RcutilsLogger
        Of the node.
    rate : float
        Torques per second where states come more slowly, in Hz; 0: a torque per state.
    native : NativeControl, optional
        Runs the cycle in place of this while the arm is under control.
    reason : str
        Why there is none.

    Attributes
    ----------
    active : bool
        Whether states are answered; to be ended by who leaves the arm in good order.
    coasting : bool
        Whether the arm is brought to rest by the model alone, because its states are silent.
    sent : bool
        Whether the last torque was sent; after a pause of this process it is held back.
    statistics : CycleStatistics
        How long answers take.

    """

    def __init__(self, controller: ArmController, states: StateInput, output: TorqueOutput,
                 guard: GuardLink, clock: ControllerClock, log: RcutilsLogger,
                 rate: float = 0.0, native: NativeControl | None = None, reason: str = ''):
        self._native, self._reason = native, reason
        self._controller, self._states, self._output = controller, states, output
        self._guard, self._clock, self._log = guard, clock, log
        self.active = self.coasting = self.sent = self._commands = False
        self.statistics = CycleStatistics()
        self._begun = 0.0
        self._period = 1.0 / rate if rate else math.inf
        self._due = math.inf
        self._came, self._gap = time.monotonic(), 0.0
        self._torque = np.zeros(controller.model.nv)

    def take_over(self) -> None:
        """Begin to answer; the arm is held, or floats, where it is."""
        clock, states, controller = self._clock, self._states, self._controller
        now = clock.now()
        controller.activate(clock.moment(now), states.q, states.qd, now)
        self._guard.take_back(controller)
        self.statistics.restart()
        self.active, self.coasting, self._commands = True, False, False
        self._due = math.inf
        if clock.lockstep:  # the simulation waits for the answer to a state that was read before
            torque, _ = controller.update(clock.moment(now), states.q, states.qd, states.effort)
            self._send(torque, clock.stamp)
        if self._native is not None:
            try:
                self._reason = self._native.start(self.statistics)
            except Exception:
                self.end()
                controller.deactivate()
                raise
        self._log.info('loop: ' + (f'python, because {self._reason}' if self._reason
                                   else 'native'))

    @property
    def loop(self) -> str:
        """Return which loop there is, with the reason, for diagnostics."""
        return f'python: {self._reason}' if self._reason else 'native'

    @property
    def is_native(self) -> bool:
        """Whether the loop is a thread in machine code while the arm is under control."""
        return self._native is not None

    @property
    def refused(self) -> int:
        """Return how many messages the native loop could not read."""
        return self._native.refused if self._native is not None else 0

    def summary(self) -> dict[str, str]:
        """Return how long answers take, and what the native loop missed, for diagnostics."""
        missed = self._native.summary() if self._native is not None else {}
        return {**self.statistics.summary(), **missed}

    def turn(self, wait: Callable[[float], None] = time.sleep) -> None:
        """
        Answer the next joint state, or act on its absence.

        Parameters
        ----------
        wait : callable
            Lets at most so many seconds pass, where no torque waits for Python.

        """
        if self._native is not None and self._native.running:
            self._native.turn()
            wait(self._native.pause)
            self.coasting, self.sent = self._native.coasting, self._native.sent
            return
        sample = self._states.wait(self._patience())
        self._begun = time.monotonic()
        clock = self._clock
        if sample is None and clock.lockstep:
            return
        if sample is not None:
            self._gap += _SMOOTHING * (self._begun - self._came - self._gap)
            self._came = self._begun
        now = clock.now(sample)
        if self.active and clock.was_answered():
            self._output.command(self._torque, sample.stamp)
            return
        permitted = self._in_charge()
        torque = (self._states.elapse(now, permitted, now >= self._due) if sample is None
                  else self._states.receive(sample, now, permitted, now >= self._due))
        if not permitted:
            self._due = math.inf
        if torque is not None:
            self._answer(torque, sample, now)
        elif permitted and clock.lockstep and not self.coasting:
            self._send(self._torque)  # a state that cannot be used wants an answer as well
        self._guard.beat(self._commands)

    def _patience(self) -> float:
        """Return how long to wait for a state: at most until a torque is due without one."""
        return min(max(self._due - time.monotonic(), 0.0), COAST)

    @property
    def next_state(self) -> float:
        """Time of the steady clock at which the next state is expected, in s."""
        # in lockstep states wait for their answers, and the native loop has others to wait for
        free = self._clock.lockstep or not self.active or (
            self._native is not None and self._native.running)
        return math.inf if free else self._came + self._gap

    @property
    def stands_still(self) -> bool:
        """Whether the simulation in lockstep with this cycle makes no steps."""
        return self._clock.lockstep and time.monotonic() - self._came > _STANDSTILL

    def run(self, until: Callable[[], bool], timeout: float) -> None:
        """Go on until a condition holds, at most `timeout` seconds; from inside a callback."""
        end = time.monotonic() + timeout
        while not until() and time.monotonic() < end:
            self.turn()

    def halt(self) -> None:
        """End the native loop, if it runs: what is sent comes from Python from now on."""
        if self._native is not None:
            self._native.stop()

    def close(self) -> None:
        """Give back what the native loop has."""
        if self._native is not None:
            self._native.close()

    def end(self) -> None:
        """Answer no more states; the guard is told that nobody is needed."""
        self.halt()
        self.active = self._commands = False
        self._guard.beat(False)

    def _in_charge(self) -> bool:
        """Return whether to command: an active controller that does not defer to its guard."""
        permitted = self._guard.may_command() or self._clock.lockstep
        if not self.active:
            return False
        if self._guard.complaint and not self._controller.fault:
            self._controller.fail(self._guard.complaint)
        if self._guard.commands:
            self._controller.lose()
            self.coasting, self._commands = True, False
        elif permitted:
            self._guard.take_back(self._controller)
        return permitted

    def _answer(self, torque: np.ndarray, sample: JointStateSample | None, now: float) -> None:
        """Send what the cycle returned for a state, or for its absence."""
        seen = self._controller.states
        if seen.kind == FROM_STATE:
            if seen.pause:
                self._log.warning(HELD_UP.format(float(seen.pause)))
            if seen.resumes:
                self.statistics.restart()
            self.coasting = False
            self._send(torque, sample.stamp)
            self._due = now + self._period
            self._account(in_seconds(sample.stamp), now)
            return
        if seen.kind == SILENT:
            self.coasting, self._due = True, math.inf
        else:
            self._due = max(self._due, now - self._period) + self._period
        self._send(torque)

    def _account(self, measured: float, now: float) -> None:
        self.statistics.add(measured or now, self._clock.latency(measured, time.time()),
                            time.monotonic() - self._begun)

    def _send(self, torque: np.ndarray, stamp: int | None = None) -> None:
        """Let a torque out; `stamp` is that of the state it answers in ns, if any."""
        self.sent = self._clock.lockstep or not self._guard.paused()
        if not self.sent:
            return
        self._torque, self._commands = torque, True
        self._clock.answer()
        if stamp is None:
            stamp = self._clock.stamp
        self._output.send(torque, self._clock.ros_stamp() if stamp is None else stamp)
