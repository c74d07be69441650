"""The simulation in machine code, where nothing but torques, steps and states is to be done."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from robodyn_ros.nodes.native.choice import open_loop
from robodyn_ros.nodes.native.plant_loop import PlantLoop, PlantWires
from robodyn_ros.nodes.native.rcl import NativeLoopError
from robodyn_ros.nodes.realtime import be_ordinary, bring_on_time

if TYPE_CHECKING:
    from robodyn_ros.nodes.simulator.node import SimulatorNode

_REST = 1.0  # s for which Python goes on after a message that machine code will not read next time


class NativeSimulation:
    """
    Lets a loop in machine code have the plant, and takes it back.

    Between `stop` and the next `turn` all is as if Python had made the steps.

    Parameters
    ----------
    node : SimulatorNode
        The simulator.
    wires : PlantWires
        Its handles.

    Raises
    ------
    NativeLoopError
        It cannot run here.

    """

    def __init__(self, node: SimulatorNode, wires: PlantWires):
        self._node = node
        self._loop = PlantLoop(wires, node.plant.model.joint_names, node.commands.command_joints)
        self._problem = self._loop.take_plant(node.plant, node.commands.torque)
        self._released = self._silences = self._errors = 0
        self._rest = -_REST

    @property
    def running(self) -> bool:
        """Whether the loop has the plant."""
        return self._loop.running

    @property
    def obstacle(self) -> str:
        """Return why Python makes the steps now; empty where it need not."""
        node = self._node
        return ('sensors err' if not node.measurement.sensors.ideal else
                'faults are under way' if not node.measurement.nominal else
                'a wrench pushes' if not node.pushes.idle else
                'there are messages that machine code does not read'
                if time.monotonic() - self._rest < _REST else self._problem)

    def turn(self) -> bool:
        """Let the loop have the plant where it can; return False if the next step is Python's."""
        if self.running:
            if not self._loop.ended:
                self.look()
                return True
            self.stop()
            return False
        node = self._node
        if self.obstacle or node.plant.time >= node.measurement.quiet_until:
            return False
        self._problem = self._loop.take_plant(node.plant, node.commands.torque)
        if not self._problem:
            try:
                self._start()
            except NativeLoopError as error:  # no thread: Python goes on
                self._problem = str(error)
        return self.running

    def _start(self) -> None:
        node, block = self._node, self._loop.block
        plant, pacer, values = node.plant, node.pacer, node.values
        for name in ('period', 'tolerance', 'deadline', 'late', 'half_late', 'lost'):
            block[name] = getattr(pacer, name)
        for name in ('total_steps', 'commanded_step', 'decimation'):
            block[name] = getattr(node, name)
        block['steps'], block['brakes'], block['fault'] = plant.steps, plant.brakes, bool(
            plant.fault)
        block['received'], block['simulated'] = node.commands.received, node.simulated_time
        block.set_number('timeout', values.command_timeout)
        block.set_number('until', node.measurement.quiet_until)
        block.set_number('commanded', node.commanded)
        self._tell()
        self._loop.start()
        bring_on_time(self._loop.thread, values.realtime)
        be_ordinary(threading.get_native_id(), values.realtime)

    def _tell(self) -> None:
        """Let the loop know who listens."""
        states, block = self._node.states, self._loop.block
        block['listened'], block['told'] = states.listened, states.told

    def look(self) -> None:
        """Take note of what the loop has done."""
        node, block = self._node, self._loop.block
        for name in ('deadline', 'late', 'half_late', 'lost'):
            setattr(node.pacer, name, block[name])
        node.pacer.delay.extend(self._loop.delays())
        node.total_steps, node.commanded_step = block['total_steps'], block['commanded_step']
        node.plant.steps, node.plant.brakes = block['steps'], bool(block['brakes'])
        node.commands.received, node.commanded = block['received'], block.number('commanded')
        self._tell()
        self._report()

    def _report(self) -> None:
        """Log what has happened."""
        node, block = self._node, self._loop.block
        released, silences, errors = (block[name] for name in ('released', 'silences', 'errors'))
        if silences != self._silences:
            node.silences += silences - self._silences
            node.tell_silence(block.number('silent'))
        if released != self._released:
            node.tell_release()
        if errors != self._errors:
            node.get_logger().error('the middleware has refused to take or to publish, '
                                    f'{errors} times so far', throttle_duration_sec=1.0)
        self._released, self._silences, self._errors = released, silences, errors

    def stop(self) -> None:
        """End the loop, if it runs; the plant is Python's, with the message that it left."""
        if not self.running:
            return
        self._loop.stop()
        bring_on_time(threading.get_native_id(), self._node.values.realtime)
        self.look()
        strange = self._loop.strange()
        if strange is not None:
            self._read(*strange)

    def _read(self, source: str, data: bytes) -> None:
        """Read a message for the loop, and let it read those that are alike."""
        layouts = self._loop.layouts[source]
        register = {'arrays': layouts.register_array, 'named': layouts.register_named}.get(source)
        if not (self._node.read(source, data) and register and register(data)):
            self._rest = time.monotonic()

    def close(self) -> None:
        """End the loop, and give back what it has."""
        self.stop()
        self._loop.close()


def open_native(node: SimulatorNode, wires: PlantWires) -> tuple[NativeSimulation | None, str]:
    """Return the loop in machine code, if it is to run, and why not, see `open_loop`."""
    return open_loop(node.values.loop, 'lockstep is set' if node.values.lockstep else '',
                     lambda: NativeSimulation(node, wires))
