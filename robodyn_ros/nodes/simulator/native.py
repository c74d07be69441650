"""Native loop of the simulator, used while there are only torques, steps and states."""

from __future__ import annotations

import time

from rclpy.node import Node

from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.native.plant_loop import PlantHandles, PlantLoop
from robodyn_ros.nodes.native.rcl import NativeLoopError
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.realtime import configure_thread, reset_priority
from robodyn_ros.nodes.simulator.inputs import Inputs, QUEUE
from robodyn_ros.nodes.simulator.pacing import Pacer
from robodyn_ros.nodes.simulator.parameters import decimation
from robodyn_ros.nodes.simulator.simulated_arm import SimulatedArm
from robodyn_ros.nodes.simulator.state_publisher import StatePublisher

_UNREADABLE = 1.0  # s for which Python steps after a message that machine code cannot read


class NativeSimulation:
    """
    Starts and stops the native loop of a simulator.

    Between `stop` and the next `run_once` the node is in the same state as if Python had made the
    steps.

    Parameters
    ----------
    node : Node
        The simulator node.
    arm : SimulatedArm
        The simulated arm.
    commands : CommandReader
        Reader of the commands.
    inputs : Inputs
        Topics of commands and wrenches.
    states : StatePublisher
        Publishers of the state of the arm.
    pacer : Pacer
        Deadlines of steps.
    table : Parameters
        Parameters of the node.

    Raises
    ------
    NativeLoopError
        The platform or the middleware does not support the native loop.

    """

    def __init__(self, node: Node, arm: SimulatedArm, commands: CommandReader, inputs: Inputs,
                 states: StatePublisher, pacer: Pacer, table: Parameters):
        self._log, self._arm, self._commands, self._inputs = (
            node.get_logger(), arm, commands, inputs)
        self._states, self._pacer, self._table = states, pacer, table
        handles = PlantHandles(
            node, inputs.arrays.subscription, inputs.named.subscription,
            inputs.wrenches.subscription, QUEUE, states.states, states.truth, states.clock,
            node.create_guard_condition(lambda: None), states.names, states.coordinate,
            states.multiplier, states.offset, states.independent)
        self._loop = PlantLoop(handles, arm.plant.model.joint_names, commands.command_joints)
        self._problem = self._loop.set_plant(arm.plant, commands.torque)
        self._released = self._silences = self._errors = 0
        self._unreadable = -_UNREADABLE

    @property
    def running(self) -> bool:
        """Whether the loop runs."""
        return self._loop.running

    @property
    def reason(self) -> str:
        """Return why Python makes the steps at present; empty if the loop can run."""
        arm = self._arm
        return ('sensors are not ideal' if not arm.measurement.sensors.ideal else
                'the driver has habits' if not arm.measurement.driver.ideal else
                'faults are active' if not arm.measurement.nominal else
                'joints are elastic' if arm.plant.joints.stiffness.any() else
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
        plant = self._arm.plant
        if self.reason or plant.time >= self._arm.measurement.quiet_until:
            return False
        self._problem = self._loop.set_plant(plant, self._commands.torque)
        if not self._problem:
            try:
                self._start()
            except NativeLoopError as error:  # no thread: Python makes the steps
                self._problem = str(error)
        return self.running

    def _start(self) -> None:
        arm, block, values = self._arm, self._loop.block, self._table.values
        for name in ('period', 'tolerance', 'deadline', 'late', 'half_late', 'lost'):
            block[name] = getattr(self._pacer, name)
        block['total_steps'], block['commanded_step'] = arm.total_steps, arm.commanded_step
        block['steps'], block['brakes'] = arm.plant.steps, arm.plant.brakes
        block['fault'] = bool(arm.plant.fault or arm.held)
        block['decimation'] = decimation(values)
        block['received'] = self._commands.received
        block['simulated'] = self._states.clock is not None
        block.set_number('timeout', values.command_timeout)
        block.set_number('until', arm.measurement.quiet_until)
        block.set_number('commanded', arm.commanded)
        self._set_subscribed()
        self._loop.start()
        configure_thread(self._loop.thread, values.realtime)
        self._restore_priority = reset_priority()

    def _set_subscribed(self) -> None:
        """Set which topics of the loop have subscribers."""
        states, block = self._states, self._loop.block
        block['truth_subscribed'] = states.truth_subscribed
        block['clock_subscribed'] = states.clock_subscribed

    def update(self) -> None:
        """Copy the state of the loop to the other parts of the node; log events."""
        arm, pacer, block = self._arm, self._pacer, self._loop.block
        for name in ('deadline', 'late', 'half_late', 'lost'):
            setattr(pacer, name, block[name])
        pacer.delay.extend(self._loop.delays())
        arm.total_steps, arm.commanded_step = block['total_steps'], block['commanded_step']
        arm.plant.steps, arm.plant.brakes = block['steps'], bool(block['brakes'])
        arm.asked |= bool(arm.held) and block['received'] != self._commands.received
        self._commands.received, arm.commanded = block['received'], block.number('commanded')
        self._set_subscribed()
        self._log_changes()

    def _log_changes(self) -> None:
        """Log releases of the brakes, silences and errors."""
        arm, block = self._arm, self._loop.block
        released, silences, errors = (block[name] for name in ('released', 'silences', 'errors'))
        if silences != self._silences:
            arm.silences += silences - self._silences
            arm.log_silence(block.number('silence'))
        if released != self._released:
            arm.log_release()
        if errors != self._errors:
            self._log.error(f'the middleware failed to take or to publish, {errors} times so far',
                            throttle_duration_sec=1.0)
        self._released, self._silences, self._errors = released, silences, errors

    def stop(self) -> None:
        """Stop the loop, if it runs; read the message that ended it."""
        if not self.running:
            return
        self._loop.stop()
        self._restore_priority()
        self.update()
        unknown = self._loop.unknown_message()
        if unknown is not None:
            self._read(*unknown)

    def _read(self, source: str, data: bytes) -> None:
        """Read a message in Python, and register its layout."""
        layouts = self._loop.layouts[source]
        register = {'arrays': layouts.register_array, 'named': layouts.register_named}.get(source)
        if not (self._inputs.read(source, data) and register and register(data)):
            self._unreadable = time.monotonic()

    def close(self) -> None:
        """Stop the loop and release its resources."""
        self.stop()
        self._loop.close()
