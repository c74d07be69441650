"""Native loop of the simulator, used while there are only torques, steps and states."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from robodyn_ros.nodes.native.plant_loop import PlantLoop, PlantWires
from robodyn_ros.nodes.native.probe import open_loop
from robodyn_ros.nodes.native.rcl import NativeLoopError
from robodyn_ros.nodes.realtime import configure_thread, reset_priority
from robodyn_ros.nodes.simulator.inputs import QUEUE

if TYPE_CHECKING:
    from robodyn_ros.nodes.simulator.node import SimulatorNode

_UNREADABLE = 1.0  # s for which Python steps after a message that machine code cannot read


class NativeSimulation:
    """
    Starts and stops the native loop of a simulator.

    Between `stop` and the next `run_once` the node is in the same state as if Python had made the
    steps.

    Parameters
    ----------
    node : SimulatorNode
        The simulator.

    Raises
    ------
    NativeLoopError
        The platform or the middleware does not support the native loop.

    """

    def __init__(self, node: SimulatorNode):
        self._node, plant = node, node.arm.plant
        self._loop = PlantLoop(_wires(node), plant.model.joint_names, node.commands.command_joints)
        self._problem = self._loop.set_plant(plant, node.commands.torque)
        self._released = self._silences = self._errors = 0
        self._unreadable = -_UNREADABLE

    @property
    def running(self) -> bool:
        """Whether the loop runs."""
        return self._loop.running

    @property
    def reason(self) -> str:
        """Return why Python makes the steps at present; empty if the loop can run."""
        arm = self._node.arm
        return ('sensors are not ideal' if not arm.measurement.sensors.ideal else
                'faults are active' if not arm.measurement.nominal else
                'a wrench is applied' if not arm.pushes.idle else
                'messages arrive that machine code cannot read'
                if time.monotonic() - self._unreadable < _UNREADABLE else self._problem)

    def run_once(self) -> bool:
        """Start the loop if it can run; return False if Python must make the next step."""
        if self.running:
            if not self._loop.ended:
                self.update()
                return True
            self.stop()
            return False
        plant = self._node.arm.plant
        if self.reason or plant.time >= self._node.arm.measurement.quiet_until:
            return False
        self._problem = self._loop.set_plant(plant, self._node.commands.torque)
        if not self._problem:
            try:
                self._start()
            except NativeLoopError as error:  # no thread: Python makes the steps
                self._problem = str(error)
        return self.running

    def _start(self) -> None:
        node, block = self._node, self._loop.block
        arm, pacer, values = node.arm, node.pacer, node.values
        for name in ('period', 'tolerance', 'deadline', 'late', 'half_late', 'lost'):
            block[name] = getattr(pacer, name)
        block['total_steps'], block['commanded_step'] = arm.total_steps, arm.commanded_step
        block['steps'], block['brakes'] = arm.plant.steps, arm.plant.brakes
        block['fault'], block['decimation'] = bool(arm.plant.fault), node.decimation
        block['received'], block['simulated'] = node.commands.received, node.simulated_time
        block.set_number('timeout', values.command_timeout)
        block.set_number('until', arm.measurement.quiet_until)
        block.set_number('commanded', arm.commanded)
        self._set_subscribed()
        self._loop.start()
        configure_thread(self._loop.thread, values.realtime)
        reset_priority(threading.get_native_id(), values.realtime)

    def _set_subscribed(self) -> None:
        """Set which topics of the loop have subscribers."""
        states, block = self._node.states, self._loop.block
        block['truth_subscribed'] = states.truth_subscribed
        block['clock_subscribed'] = states.clock_subscribed

    def update(self) -> None:
        """Copy the state of the loop to the node; log events."""
        node, arm, block = self._node, self._node.arm, self._loop.block
        for name in ('deadline', 'late', 'half_late', 'lost'):
            setattr(node.pacer, name, block[name])
        node.pacer.delay.extend(self._loop.delays())
        arm.total_steps, arm.commanded_step = block['total_steps'], block['commanded_step']
        arm.plant.steps, arm.plant.brakes = block['steps'], bool(block['brakes'])
        node.commands.received, arm.commanded = block['received'], block.number('commanded')
        self._set_subscribed()
        self._log_changes()

    def _log_changes(self) -> None:
        """Log releases of the brakes, silences and errors."""
        node, block = self._node, self._loop.block
        released, silences, errors = (block[name] for name in ('released', 'silences', 'errors'))
        if silences != self._silences:
            node.arm.silences += silences - self._silences
            node.arm.log_silence(block.number('silent'))
        if released != self._released:
            node.arm.log_release()
        if errors != self._errors:
            node.get_logger().error('the middleware failed to take or to publish, '
                                    f'{errors} times so far', throttle_duration_sec=1.0)
        self._released, self._silences, self._errors = released, silences, errors

    def stop(self) -> None:
        """Stop the loop, if it runs; read the message that ended it."""
        if not self.running:
            return
        self._loop.stop()
        configure_thread(threading.get_native_id(), self._node.values.realtime)
        self.update()
        unknown = self._loop.unknown_message()
        if unknown is not None:
            self._read(*unknown)

    def _read(self, source: str, data: bytes) -> None:
        """Read a message in Python, and register its layout."""
        layouts = self._loop.layouts[source]
        register = {'arrays': layouts.register_array, 'named': layouts.register_named}.get(source)
        if not (self._node.inputs.read(source, data) and register and register(data)):
            self._unreadable = time.monotonic()

    def close(self) -> None:
        """Stop the loop and release its resources."""
        self.stop()
        self._loop.close()


def _wires(node: SimulatorNode) -> PlantWires:
    states, inputs = node.states, node.inputs
    return PlantWires(
        node, inputs.arrays.subscription, inputs.named.subscription, inputs.wrenches.subscription,
        QUEUE, states.states, states.truth, states.clock,
        node.create_guard_condition(lambda: None), states.names, states.coordinate,
        states.multiplier, states.offset, states.independent)


def open_native(node: SimulatorNode) -> tuple[NativeSimulation | None, str]:
    """Return the native loop, None if it does not run, and the reason; see `open_loop`."""
    return open_loop(node.values.loop, 'lockstep is set' if node.values.lockstep else '',
                     lambda: NativeSimulation(node))
