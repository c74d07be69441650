"""
The simulator node: torques in, joint states out; stands in for the arm.

One loop with absolute deadlines steps the plant. Commands are looked for just before each step,
and the state is published right after it. Services and parameters, which may wait, get their
turn between steps, fifty times per second.
"""

from __future__ import annotations

import gc
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.conversions import JointStateWriter, set_stamp
from robodyn_ros.nodes.description import load_robot
from robodyn_ros.nodes.pacing import Pacer
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.pushes import Pushes
from robodyn_ros.nodes.simulator_parameters import (
    check, decimation, joints_from, PARAMETERS, plant_from)
from robodyn_ros.nodes.statistics import diagnostic_array

NAME = 'robot_simulator'
_SERVE = 0.02      # s between two looks at services and parameters
_DESCRIBE = 1.0    # s for others to show that they publish the description
_QUEUE = 10        # commands that can wait for a step; the newest counts, all are checked


class SimulatorNode(Node):
    """
    A plant with its topics and services.

    Attributes
    ----------
    plant : Plant
        The simulated arm.
    paused : bool
        Whether time stands still.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, PARAMETERS, check=check, changed=self._change)
        self._table.refuse_unknown()
        values = self._table.values
        self._robot = load_robot(self, values)
        self.plant = plant_from(values, self._robot.model)
        for warning in self.plant.warnings:
            self.get_logger().warning(warning)
        self._commands = CommandReader(self.plant.model.joint_names, values.command_joints)
        self._pushes = Pushes(self.plant, self._commands.refusals)
        self._pacer = Pacer(values.step / values.real_time_factor
                            if values.real_time_factor else 0.0)
        self._simulated_time = values.real_time_factor != 1.0
        self._decimation = decimation(values)
        self.paused = False
        self._total_steps = 0
        self._commanded = self._reported = time.monotonic()
        self._reported_steps = self._reported_refusals = 0
        self._open()

    def _open(self) -> None:
        """Open topics and services."""
        model = self.plant.model
        self._array = PolledSubscription(self, Float64MultiArray, 'effort_controller/commands',
                                         qos.reliable(_QUEUE))
        self._named = PolledSubscription(self, JointState, 'joint_commands', qos.reliable(_QUEUE))
        self._wrench = PolledSubscription(self, WrenchStamped, '~/wrench', qos.reliable(_QUEUE))
        self._states = self.create_publisher(JointState, 'joint_states', qos.reliable(5))
        self._clock_publisher = self.create_publisher(
            Clock, '/clock', qos.reliable()) if self._simulated_time else None
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 5)
        self._description = None
        self._clock_message = Clock()
        self._writer = JointStateWriter(model.body_joints)
        # joints that mimic another are published as well, as by a real driver, without effort
        self._coordinate = model.coordinate
        self._leads = np.array([joint == model.joint_names[c] for joint, c in
                                zip(model.body_joints, model.coordinate)], dtype=float)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/step', self._on_step)

    # --- the loop ---------------------------------------------------------------------------

    def work(self, stop: StopRequest) -> None:
        """Simulate until a signal comes."""
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        model = self.plant.model
        self.get_logger().info(
            f'{model.name}: {model.nv} joints ({", ".join(self._commands.command_joints)}), held '
            'by brakes until the first command')
        gc.collect()
        gc.freeze()  # what is there stays: collections need not look at it again
        self._publish()
        self._started = self._reported = serve = time.monotonic()
        self._pacer.restart()
        while not stop.requested and self.context.ok():
            if self.paused:
                executor.spin_once(timeout_sec=_SERVE)
                self._listen()
                self._pacer.restart()
            elif self._pacer.wait():
                self._pacer.begin()
                self._advance()
            now = time.monotonic()
            if now >= serve and not self.paused:
                serve = now + _SERVE
                executor.spin_once(timeout_sec=0)
            if now - self._reported >= 1.0:
                self._report(now)
        executor.shutdown(timeout_sec=1.0)

    def _advance(self) -> None:
        """Make one step with the newest command, and publish where it led."""
        self._listen()
        plant = self.plant
        self._pushes.end()
        was_well = not plant.fault
        if not plant.step(self._commands.torque) and was_well:
            self.get_logger().error(plant.fault + '; ~/reset starts again')
        self._total_steps += 1
        if self._total_steps % self._decimation == 0:
            self._publish()

    def _listen(self) -> None:
        """Take all messages that wait."""
        commands, good = self._commands, False
        while (message := self._array.take()) is not None:
            good |= commands.read_array(message)
        while (message := self._named.take()) is not None:
            good |= commands.read_named(message)
        while (message := self._wrench.take()) is not None:
            self._pushes.take(message, self._table.values.wrench_timeout)
        if good:
            self._commanded = time.monotonic()
            if self.plant.brakes and not self.plant.fault:
                self.plant.release()
                self.get_logger().info('first command: brakes released')

    def _publish(self) -> None:
        plant, writer, model = self.plant, self._writer, self.plant.model
        coordinate = self._coordinate
        np.multiply(model.multiplier, plant.q[coordinate], out=writer.position)
        writer.position += model.offset
        np.multiply(model.multiplier, plant.qd[coordinate], out=writer.velocity)
        np.multiply(self._leads, plant.applied[coordinate], out=writer.effort)
        stamp = writer.message.header.stamp
        if self._simulated_time:
            now = round(1e9 * self._total_steps * plant.step_size)
            set_stamp(self._clock_message.clock, now)
            self._clock_publisher.publish(self._clock_message)
        else:
            now = time.time_ns()
        set_stamp(stamp, now)
        self._states.publish(writer.message)

    # --- services and parameters ------------------------------------------------------------

    def _on_reset(self, _request, response):
        self.plant.reset(brakes=True)
        self._commands.clear()
        self._pushes.clear()
        self._publish()
        response.success = True
        response.message = 'back at the initial positions, held by brakes until the next command'
        return response

    def _on_pause(self, request, response):
        self.paused = request.data
        response.success = True
        response.message = f'{"paused" if self.paused else "running"} at {self.plant.time:.3f} s'
        return response

    def _on_step(self, _request, response):
        if not self.paused:
            response.success = False
            response.message = 'running: pause the simulation first'
            return response
        for _ in range(self._table.values.steps_per_call):
            self._advance()
        response.success = not self.plant.fault
        response.message = self.plant.fault or f'at {self.plant.time:.6f} s'
        return response

    def _change(self, values, names) -> None:
        """Take over parameters that were set while running."""
        if 'publish_rate' in names:
            self._decimation = decimation(values)
        if 'friction_scale' in names:
            self.plant.change(**joints_from(values, self.plant.model))

    # --- what is told -----------------------------------------------------------------------

    def _report(self, now: float) -> None:
        """Once a second: diagnostics, news to the log, and the description where it lacks."""
        for line in self._commands.refusals.news():
            self.get_logger().warning(line)
        values = self._figures(now)
        level, message = self._verdict()
        self._diagnostics.publish(diagnostic_array(
            self.get_clock().now().to_msg(), f'{self.get_name()}: simulation',
            self.plant.model.name, level, message, values))
        if self._description is None and now - self._started >= _DESCRIBE:
            self._describe()
        self._reported, self._reported_steps = now, self._total_steps

    def _verdict(self) -> tuple[bytes, str]:
        if self.plant.fault:
            return DiagnosticStatus.ERROR, self.plant.fault
        refused = sum(self._commands.refusals.counts.values())
        news, self._reported_refusals = refused - self._reported_refusals, refused
        if news:
            return DiagnosticStatus.WARN, f'{news} messages dropped within a second'
        if self.paused:
            return DiagnosticStatus.OK, 'paused'
        if self.plant.brakes:
            return DiagnosticStatus.OK, 'held by brakes until the first command'
        return DiagnosticStatus.OK, 'running'

    def _figures(self, now: float) -> dict[str, str]:
        commands, pacer = self._commands, self._pacer
        simulated = (self._total_steps - self._reported_steps) * self.plant.step_size
        values = {
            'steps': str(self._total_steps), 'simulated time (s)': f'{self.plant.time:.3f}',
            'real time factor': f'{simulated / (now - self._reported):.3f}',
            'late steps': str(pacer.late), 'lost steps': str(pacer.lost),
            'brakes': str(self.plant.brakes).lower(), 'commands': str(commands.received),
            'age of last command (s)': f'{now - self._commanded:.3f}' if commands.received
            else 'none yet'}
        for label, value in zip(('p50', 'p99', 'max'), pacer.delay.percentiles()):
            values[f'delay {label} (us)'] = f'{1e6 * value:.0f}'
        pacer.delay.clear()
        for reason, count in commands.refusals.counts.items():
            values[f'dropped: {reason}'] = str(count)
        return values

    def _describe(self) -> None:
        """Publish the robot description, unless somebody does."""
        self._description = False
        if not self._robot.from_topic and not self.count_publishers('robot_description'):
            self._description = self.create_publisher(String, 'robot_description', qos.latched())
            self._description.publish(String(data=self._robot.urdf))


def main(args=None) -> int:
    """Run the simulator."""
    return run_process(NAME, lambda stop: SimulatorNode(), lambda node, stop: node.work(stop),
                       args)


if __name__ == '__main__':
    sys.exit(main())
