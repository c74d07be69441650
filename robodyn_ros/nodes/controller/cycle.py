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
from robodyn_ros.control.state import FROM_STATE, SILENT
from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.controller.torque_output import TorqueOutput
from robodyn_ros.nodes.conversions import in_seconds
from robodyn_ros.nodes.statistics import CycleStatistics

COAST = 0.005     # s between torques while no state arrives
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

    Attributes
    ----------
    active : bool
        Whether states are answered; to be ended by who leaves the arm in good order.
    coasting : bool
        Whether the arm is brought to rest by the model alone, because its states are silent.
    statistics : CycleStatistics
        How long answers take.

    """

    def __init__(self, controller: ArmController, states: StateInput, output: TorqueOutput,
                 guard: GuardLink, clock: ControllerClock, log: RcutilsLogger,
                 rate: float = 0.0):
        self._controller, self._states, self._output = controller, states, output
        self._guard, self._clock, self._log = guard, clock, log
        self.active = self.coasting = self._commands = False
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
        self._take_back()
        self.statistics.restart()
        self.active, self.coasting, self._commands = True, False, False
        self._due = math.inf
        if clock.lockstep:  # the simulation waits for the answer to a state that was read before
            torque, _ = controller.update(clock.moment(now), states.q, states.qd, states.effort)
            self._send(torque, clock.stamp)

    def turn(self) -> None:
        """Answer the next joint state, or act on its absence."""
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
        # in lockstep states wait for their answers
        return math.inf if self._clock.lockstep or not self.active else self._came + self._gap

    def run(self, until: Callable[[], bool], timeout: float) -> None:
        """Go on until a condition holds, at most `timeout` seconds; from inside a callback."""
        end = time.monotonic() + timeout
        while not until() and time.monotonic() < end:
            self.turn()

    def resume(self) -> None:
        """Let the law go on from where the arm was seen last."""
        self._controller.resume(self._clock.moment(), self._states.q, self._states.qd)

    def end(self) -> None:
        """Answer no more states; the guard is told that nobody is needed."""
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
            self._take_back()
        return permitted

    def _take_back(self) -> None:
        """Begin with the last torque of a guard that gives the arm back."""
        torque = self._guard.handed_over()
        if torque is not None:
            self._controller.start_from(torque)

    def _answer(self, torque: np.ndarray, sample: JointStateSample | None, now: float) -> None:
        """Send what the cycle returned for a state, or for its absence."""
        seen = self._controller.states
        if seen.kind == FROM_STATE:
            if seen.pause:
                self._log.warning(f'this process was held up for {float(seen.pause):.3f} s')
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
        # the clock of a simulation stands while it waits
        told = measured and not self._clock.simulated
        self.statistics.add(measured or now, time.time() - measured if told else 0.0,
                            time.monotonic() - self._begun)

    def _send(self, torque: np.ndarray, stamp: int | None = None) -> None:
        """Let a torque out; `stamp` is that of the state it answers in ns, if any."""
        if self._guard.paused() and not self._clock.lockstep:
            return
        self._torque, self._commands = torque, True
        self._clock.answer()
        if stamp is None:
            stamp = self._clock.stamp
        self._output.send(torque, self._clock.ros_stamp() if stamp is None else stamp)
