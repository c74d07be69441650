"""Diagnostics and log of a simulator; publisher of the robot description."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from std_msgs.msg import String

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.description import Robot
from robodyn_ros.nodes.publishers import Commanders
from robodyn_ros.nodes.simulator.pacing import Lockstep, Pacer
from robodyn_ros.nodes.simulator.simulated_arm import SimulatedArm
from robodyn_ros.nodes.statistics import Diagnostics

_DESCRIBE = 1.0  # s to discover another publisher of the description
_QUIET = 0.5     # s without commands before a warning
_REPEAT = 5.0    # s between two log lines about a missing answer


class SimulatorReport:
    """
    Publishes diagnostics once a second.

    Parameters
    ----------
    node : Node
        The simulator node.
    robot : Robot
        Robot with its description.
    arm : SimulatedArm
        The simulated arm.
    commands : CommandReader
        Reader of the commands.
    commanders : Commanders
        Nodes that publish commands.
    pacer : Pacer
        Deadlines of steps.
    lockstep : Lockstep or None
        Lockstep with a controller, if set.
    loop : callable
        Returns the kind of loop.

    """

    def __init__(self, node: Node, robot: Robot, arm: SimulatedArm, commands: CommandReader,
                 commanders: Commanders, pacer: Pacer, lockstep: Lockstep | None,
                 loop: Callable[[], str]):
        self._node, self._robot, self._arm, self._commands = node, robot, arm, commands
        self._commanders, self._pacer = commanders, pacer
        self._lockstep, self._loop = lockstep, loop
        self._diagnostics = Diagnostics(node, 'simulation', robot.model.name)
        self._description: Any = None  # publisher; False if another node publishes it
        self._steps = self._refusals = 0
        self.start()

    def start(self) -> None:
        """Start the period of the reports."""
        self._started = self._reported = self._logged = time.monotonic()
        self._arm.commanded = self._started

    def update(self, now: float) -> None:
        """Report if a second has passed."""
        if now - self._reported < 1.0:
            return
        node, commands, commanders = self._node, self._commands, self._commanders
        for line in commands.refusals.new_lines():
            node.get_logger().warning(line)
        if commanders.update():
            node.get_logger().warning(commanders.conflict)
        self._log_waiting(now)
        self._diagnostics.publish(*self._verdict(now), self._figures(now))
        if self._description is None and now - self._started >= _DESCRIBE:
            self._describe()
        self._reported, self._steps = now, self._arm.total_steps

    def _log_waiting(self, now: float) -> None:
        """Log that the simulation waits for an answer."""
        lockstep = self._lockstep
        waiting = lockstep and not self._pacer.paused and now - lockstep.answered > _REPEAT
        if waiting and now - self._logged > _REPEAT:
            self._logged = now
            self._node.get_logger().info(
                'lockstep: waiting for named efforts on joint_commands with the stamp of the last '
                'state; the controller node sends them with lockstep: true')

    def _verdict(self, now: float) -> tuple[bytes, str]:
        arm, commanders = self._arm, self._commanders
        if arm.plant.fault:
            return DiagnosticStatus.ERROR, arm.plant.fault
        refused = sum(self._commands.refusals.counts.values())
        new, self._refusals = refused - self._refusals, refused
        if commanders.conflict:
            return DiagnosticStatus.WARN, commanders.conflict
        if new:
            return DiagnosticStatus.WARN, f'{new} messages dropped within a second'
        if self._pacer.paused:
            return DiagnosticStatus.OK, 'paused'
        if arm.measurement.stopped:
            return DiagnosticStatus.WARN, 'emergency stop: motors off, brakes on'
        if arm.plant.brakes and arm.held:
            return DiagnosticStatus.WARN, arm.held
        if arm.plant.brakes:
            return DiagnosticStatus.OK, 'held by brakes until the next command'
        if not self._lockstep and now - arm.commanded > _QUIET:
            return DiagnosticStatus.WARN, (
                f'no command for {now - arm.commanded:.1f} s: the last torque stays')
        return DiagnosticStatus.OK, 'running'

    def _figures(self, now: float) -> dict[str, str]:
        arm, commands, pacer, plant = self._arm, self._commands, self._pacer, self._arm.plant
        simulated = (arm.total_steps - self._steps) * plant.step_size
        values = {
            'steps': str(arm.total_steps), 'simulated time (s)': f'{plant.time:.3f}',
            'real time factor': f'{simulated / (now - self._reported):.3f}',
            'loop': self._loop(), 'late steps': str(pacer.late),
            'steps late by half a period': str(pacer.half_late), 'lost steps': str(pacer.lost),
            'brakes': str(plant.brakes).lower(), 'paused': str(pacer.paused).lower(),
            'fault': plant.fault, 'commands': str(commands.received),
            'commanders': ', '.join(self._commanders.names) or 'none',
            'silences ended by brakes': str(arm.silences),
            'age of last command (s)': f'{now - arm.commanded:.3f}' if commands.received
            else 'none yet'}
        for label, value in zip(('p50', 'p99', 'max'), pacer.delay.percentiles()):
            values[f'delay {label} (us)'] = f'{1e6 * value:.0f}'
        pacer.delay.clear()
        for reason, count in commands.refusals.counts.items():
            values[f'dropped: {reason}'] = str(count)
        if self._lockstep:
            values['answers to another state'] = str(self._lockstep.unmatched)
        values.update(arm.measurement.figures(plant.time))
        values['arm differs in'] = ', '.join(self._differences()) or 'nothing'
        return values

    def _differences(self) -> list[str]:
        """Return the differences between the simulated arm and the URDF."""
        nominal, model = self._robot.model, self._arm.plant.model
        differences = [
            f'{name}: {mass / was:.3g} of its mass' for name, mass, was in
            zip(model.body_names, model.mass, nominal.mass) if mass != was and was > 0.0]
        for name, h, mass, old, was in zip(model.body_names, model.first_moment, model.mass,
                                           nominal.first_moment, nominal.mass):
            if mass > 0.0 and was > 0.0 and abs(shift := h / mass - old / was).max() > 1e-9:
                x, y, z = shift
                differences.append(f'{name}: centre of mass ({x:.3g}, {y:.3g}, {z:.3g}) m away')
        if (model.gravity != nominal.gravity).any():
            x, y, z = model.gravity
            differences.append(f'gravity ({x:.3g}, {y:.3g}, {z:.3g})')
        return differences + [f'{load.link}: payload of {load.mass:g} kg'
                              for load in model.payloads if load.mass]

    def _describe(self) -> None:
        """Publish the robot description, unless another node does."""
        self._description = False
        if not self._robot.from_topic and not self._node.count_publishers('robot_description'):
            self._description = self._node.create_publisher(
                String, 'robot_description', qos.latched())
            self._description.publish(String(data=self._robot.urdf))
