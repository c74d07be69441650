"""
The wires of the control cycle: a state of the arm triggers it, a torque is its answer.

What the torque is, `robodyn_ros.control` decides. Here states are waited for and answered at
once, and their absence is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
import time

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.control import ArmController
from robodyn_ros.nodes.controller_clock import ControllerClock
from robodyn_ros.nodes.conversions import seconds
from robodyn_ros.nodes.state_input import StateInput
from robodyn_ros.nodes.statistics import CycleStatistics
from robodyn_ros.nodes.torque_output import TorqueOutput
from robodyn_ros.safety import Freshness

COAST = 0.005  # s between torques while no state arrives


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
    clock : ControllerClock
        When.
    log : RcutilsLogger
        Of the node.

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
                 clock: ControllerClock, log: RcutilsLogger):
        self._controller, self._states, self._output = controller, states, output
        self._clock, self._log = clock, log
        self.active = self.coasting = False
        self.statistics = CycleStatistics()
        self._begun = self._answered = self._latest = 0.0
        self._torque = np.zeros(controller.model.nv)

    def take_over(self) -> None:
        """Begin to answer; the arm is held, or floats, where it is."""
        clock, reader = self._clock, self._states.reader
        self._answered = now = clock.now()
        self._latest = clock.moment(now)
        self._controller.activate(self._latest, reader.q, reader.qd)
        self.statistics.restart()
        self.active, self.coasting = True, False
        if clock.lockstep:  # the simulation waits for the answer to a state that was read before
            self._respond(clock.stamp, now)

    def turn(self) -> None:
        """Answer the next joint state, or act on its absence."""
        message = self._states.wait(COAST)
        self._begun = time.monotonic()
        clock = self._clock
        if message is None and clock.lockstep:
            return
        now = clock.now(message)
        if self.active and clock.was_answered():
            self._output.command(self._torque, message.header.stamp)
            return
        fresh = message is not None and self._states.read(message, now)
        if not self.active:
            return
        if fresh:
            self._respond(message.header.stamp, now)
        else:
            self._watch(now)

    def run(self, until: Callable[[], bool], timeout: float) -> None:
        """Go on until a condition holds, at most `timeout` seconds; from inside a callback."""
        end = time.monotonic() + timeout
        while not until() and time.monotonic() < end:
            self.turn()

    def resume(self) -> None:
        """Let the law go on from where the arm was seen last."""
        reader = self._states.reader
        self._controller.resume(self._clock.moment(), reader.q, reader.qd)

    def _respond(self, stamp, now: float) -> None:
        """Answer the state that was read."""
        controller, reader, moment = self._controller, self._states.reader, self._clock.moment(now)
        pause = now - self._answered
        if not self.coasting and pause > self._states.longest_silence:
            # silence as well: the arm was out of control meanwhile
            self._log.warning(f'this process was held up for {pause:.3f} s')
            self.coasting = True
        if self.coasting or moment < self._latest:
            self.coasting = False
            self.statistics.restart()
            controller.resume(moment, reader.q, reader.qd)
        self._latest = moment
        torque, _ = controller.update(moment, reader.q, reader.qd)
        self._send(torque, stamp)
        self._answered = now
        self._account(seconds(stamp), now)

    def _account(self, measured: float, now: float) -> None:
        # the clock of a simulation stands while it waits
        told = measured and not self._clock.simulated
        self.statistics.add(measured or now, time.time() - measured if told else 0.0,
                            time.monotonic() - self._begun)

    def _watch(self, now: float) -> None:
        """Act on silence: the model alone brings the arm to rest, then a fault is latched."""
        verdict = self._states.verdict(now)
        if verdict.level is Freshness.FRESH:
            if self._clock.lockstep:  # a state that cannot be used wants an answer as well
                self._send(self._torque)
            return
        self.coasting = True
        if verdict.level is Freshness.STOP:
            self._controller.fail(f'joint states: {self._states.silence(verdict)}')
        torque, _ = self._controller.coast(self._clock.moment(now))
        self._send(torque)

    def _send(self, torque: np.ndarray, stamp=None) -> None:
        """Let a torque out; `stamp` is that of the state it answers, if any."""
        self._torque = torque
        self._clock.answer()
        self._output.send(torque, stamp or self._clock.stamp or self._clock.ros_stamp())
