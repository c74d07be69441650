"""
The control cycle of the node: a joint state in, a torque out.

`robodyn_ros.control` computes the torque. This module waits for states, sends torques, and
detects the absence of states.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import time

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.control import ArmController
from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.native import HELD_UP_TEXT, NativeControl, NoOtherLoop
from robodyn_ros.nodes.controller.output import TorqueOutput
from robodyn_ros.nodes.controller.shared import SharedControl
from robodyn_ros.nodes.controller.state_input import ControllerClock, StateInput
from robodyn_ros.nodes.conversions import in_seconds
from robodyn_ros.nodes.statistics import CycleStatistics
from robodyn_ros.safety.acceptance import COAST, FROM_STATE, SILENT

_STANDSTILL = 0.5  # s without a step of the simulation


class ControlLoop:
    """
    Closes the loop between joint states and torques.

    Parameters
    ----------
    controller : ArmController
        Computes the torques.
    states : StateInput
        Joint states.
    output : TorqueOutput
        Publishers of torques.
    guard : GuardLink
        Connection to the guard.
    clock : ControllerClock
        Cycle time and stamps.
    log : RcutilsLogger
        Logger of the node.
    other : NativeControl, SharedControl or NoOtherLoop
        Loop outside of Python, which runs the cycle while the arm is under control.

    Attributes
    ----------
    active : bool
        Whether states are answered with torques.
    coasting : bool
        Whether the arm is brought to rest by the model alone, because its states are silent.
    sent : bool
        Whether the last torque was sent; after a pause of this process it is withheld.
    statistics : CycleStatistics
        Durations of the cycle.
    loop : str
        Kind of loop, with the reason why it is Python's, for diagnostics.

    """

    def __init__(self, controller: ArmController, states: StateInput, output: TorqueOutput,
                 guard: GuardLink, clock: ControllerClock, log: RcutilsLogger,
                 other: NativeControl | SharedControl | NoOtherLoop):
        self.other, self.loop = other, other.name
        self._controller, self._states, self._output = controller, states, output
        self._guard, self._turns, self._clock, self._log = guard, guard.turns, clock, log
        self.active = self.coasting = self.sent = False
        self.statistics = CycleStatistics()
        self._cycle_start, self._arrival = 0.0, time.monotonic()
        self._torque = np.zeros(controller.model.nv)

    def activate(self) -> None:
        """Begin to answer states: the arm is held at its present position, or floats."""
        clock, states, controller = self._clock, self._states, self._controller
        now = clock.now()
        controller.activate(clock.law_time(now), states.q, states.qd, now)
        self._guard.resume_from_guard(controller)
        states.bind()
        self.statistics.restart()
        self._turns.release()
        self.active, self.coasting = True, False
        self._guard.since = time.monotonic()
        if clock.lockstep:  # the simulator waits for the answer to the last state
            torque = controller.update(clock.law_time(now), states.q, states.qd, states.effort)
            self._send(torque, clock.stamp)
        try:
            reason = self.other.start(self.statistics)
        except Exception:
            self.deactivate()
            controller.activation.deactivate()
            raise
        self.loop = f'python: {reason}' if reason else self.other.name
        self._log.info(f'loop: {self.loop}'.replace('python: ', 'python, because '))

    @property
    def new_driver(self) -> bool:
        """Whether nothing is sent because of a subscriber that came during a silence."""
        return self._turns.new_driver

    def summary(self) -> dict[str, str]:
        """Return durations of the cycle and errors of the native loop, for diagnostics."""
        return {**self.statistics.summary(), **self.other.summary()}

    def update(self) -> None:
        """Read what the loop outside of Python has done, and give it what was requested."""
        self.other.update()
        self.coasting, self.sent = self.other.coasting, self.other.sent

    def run_once(self) -> None:
        """Answer the next joint state, or act on its absence; wait for it for a limited time."""
        if self.other.running:
            self.update()
            time.sleep(COAST)
            return
        sample = self._states.wait(self._turns.wait(time.monotonic()))
        self._cycle_start = time.monotonic()
        clock = self._clock
        if sample is None and clock.lockstep:
            return
        if sample is not None:
            self._arrival = self._cycle_start
        now = clock.now(sample)
        if sample is not None and self.active and clock.was_answered():
            self._output.command(self._torque, sample.stamp)
            return
        permitted = self._begin(sample is not None and self._states.usable)
        due = self._turns.is_due
        torque = (self._states.elapse(now, permitted, due) if sample is None
                  else self._states.receive(sample, now, permitted, due))
        self._turns.end(now, self._controller.status.states.kind)
        if torque is not None:
            self._send_result(torque, sample, now)
        elif permitted and clock.lockstep and not self.coasting:
            self._send(self._torque)  # the simulator waits for the answer to an unusable state too
        self._guard.send_heartbeat()

    @property
    def simulation_stopped(self) -> bool:
        """Whether the simulator in lockstep with this cycle has stopped."""
        return self._clock.lockstep and time.monotonic() - self._arrival > _STANDSTILL

    def run(self, until: Callable[[], bool], timeout: float) -> None:
        """Run until a condition holds, at most `timeout` seconds; may be called in a callback."""
        end = time.monotonic() + timeout
        while not until() and time.monotonic() < end:
            self.run_once()

    def deactivate(self) -> None:
        """Stop answering states, and report that in the heartbeat."""
        self.other.stop()
        self.active = False
        self._turns.release()
        self._guard.since = math.inf
        self._states.release()
        self._guard.send_heartbeat()

    def _begin(self, received: bool) -> bool:
        """Begin a turn; return whether to command in it; act on a guard that commands."""
        permitted = self._guard.begin(received) or self._clock.lockstep
        if not self.active:
            return False
        if self._guard.problem and not self._controller.fault:
            self._controller.requests.fail(self._guard.problem)
        if self._turns.guard_commands:
            self._controller.cycle.lose()
            self.coasting = True
        elif permitted:
            self._guard.resume_from_guard(self._controller)
        return permitted

    def _send_result(self, torque: np.ndarray, sample: JointStateSample | None, now: float
                     ) -> None:
        """Send the torque of a state, or of its absence."""
        states = self._controller.status.states
        if sample is not None and states.kind == FROM_STATE:
            if states.pause:
                self._log.warning(HELD_UP_TEXT.format(float(states.pause)))
            if states.resumes:
                self.statistics.restart()
            self.coasting = False
            self._send(torque, sample.stamp)
            self._add_statistics(in_seconds(sample.stamp), now)
            return
        if states.kind == SILENT:
            self.coasting = True
        self._send(torque)

    def _add_statistics(self, measured: float, now: float) -> None:
        self.statistics.add(measured or now, self._clock.latency(measured, time.time()),
                            time.monotonic() - self._cycle_start)

    def _send(self, torque: np.ndarray, stamp: int | None = None) -> None:
        """Send a torque; `stamp` is that of the state it answers in ns, if any."""
        kind = self._controller.status.states.kind
        self.sent = self._clock.lockstep or not self._turns.withheld(
            time.monotonic(), float(kind), self._output.subscribers if kind == SILENT else 0)
        if not self.sent:
            return
        self._torque = torque
        self._turns.sent(time.monotonic())
        self._clock.answer()
        if stamp is None:
            stamp = self._clock.stamp
        self._output.send(torque, self._clock.ros_stamp() if stamp is None else stamp)
