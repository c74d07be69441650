"""
The simulator node: torques in, joint states out; stands in for the arm, and is its adversary.

One loop with absolute deadlines steps the plant. Commands are looked for just before each step,
and the state is published right after it, as the sensors have it and as faults leave it. Services
and parameters, which may wait, get their turn between steps, fifty times per second. In lockstep
there are no deadlines: a command that answers the state is waited for.
"""

from __future__ import annotations

import sys
import time

from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.commanders import Commanders
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.compilation import compilation_logged
from robodyn_ros.nodes.containment import serve_once
from robodyn_ros.nodes.description import load_robot
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.realtime import be_on_time
from robodyn_ros.nodes.simulator.adversary import Adversary
from robodyn_ros.nodes.simulator.adversary_parameters import arm_from, MISMATCH_PARAMETERS
from robodyn_ros.nodes.simulator.applied_wrenches import AppliedWrenches
from robodyn_ros.nodes.simulator.lockstep import Lockstep
from robodyn_ros.nodes.simulator.pacing import Pacer
from robodyn_ros.nodes.simulator.parameters import (
    check, decimation, joints_from, LIVE_JOINT_PARAMETERS, PARAMETERS, period, plant_from)
from robodyn_ros.nodes.simulator.plant_exchange import change_numbers, PlantInTheMaking
from robodyn_ros.nodes.simulator.report import SimulatorReport
from robodyn_ros.nodes.simulator.state_publisher import StatePublisher

NAME = 'robot_simulator'
_SERVE = 0.02      # s between two looks at services and parameters
_QUEUE = 10        # commands that can wait for a step; the newest counts, all are checked
_MISMATCH = {row.name for row in MISMATCH_PARAMETERS}


class SimulatorNode(Node):
    """
    A plant with its topics and services.

    Attributes
    ----------
    plant : Plant
        The simulated arm.
    commands : CommandReader
        What was commanded.
    adversary : Adversary
        What stands between the plant and the wire.
    commanders : Commanders
        Who commands.
    pacer : Pacer
        When steps are due.
    paused : bool
        Whether time stands still.
    lockstep : Lockstep or None
        What lets time go on if it waits for commands.
    total_steps : int
        Since the start; resets do not count as steps back.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, PARAMETERS, check=check, changed=self._change)
        self._table.refuse_unknown()
        values = self._table.values
        self._robot = load_robot(self, values)
        with compilation_logged(self.get_logger(), self._robot.model.name):
            self.plant = plant_from(values, self._robot.model)
        for warning in self.plant.warnings:
            self.get_logger().warning(warning)
        self.adversary = Adversary(self._robot.model, values)
        self.commands = CommandReader(self.plant.model.joint_names, values.command_joints)
        self._pushes = AppliedWrenches(self.plant, self.commands.refusals)
        self.pacer = Pacer(period(values))
        self.paused = values.start_paused
        self._simulated_time = values.real_time_factor != 1.0 or values.lockstep
        self._decimation = decimation(values)
        self._made: PlantInTheMaking | None = None
        self.total_steps = self.silences = self._stamp = 0
        self._commanded_step = 0
        self._open()
        self.lockstep = Lockstep(self._named, self._take_answer, self._advance,
                                 self._states.repeat) if values.lockstep else None
        self._report = SimulatorReport(self, self._robot)

    def _open(self) -> None:
        """Open topics and services."""
        self._array = PolledSubscription(self, Float64MultiArray, 'effort_controller/commands',
                                         qos.reliable(_QUEUE))
        self._named = PolledSubscription(self, JointState, 'joint_commands', qos.reliable(_QUEUE))
        self._wrench = PolledSubscription(self, WrenchStamped, '~/wrench', qos.reliable(_QUEUE))
        self.commanders = Commanders(self, (self._array.topic, self._named.topic))
        self._states = StatePublisher(self, self._robot.model, self._simulated_time)
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
            f'{model.name}: {model.nv} joints ({", ".join(self.commands.command_joints)}), held '
            'by brakes until the first command')
        be_on_time(self, self._table.values)
        self._publish_first()
        self._report.start()
        serve = time.monotonic()
        self.pacer.restart()
        while not stop.requested and self.context.ok():
            self._turn()
            now = time.monotonic()
            if self.paused or now >= serve:
                serve = now + _SERVE
                serve_once(executor, self.get_logger(), _SERVE if self.paused else 0.0)
                self._states.look()
                self._take_new_plant()
            self._report.look(now)
        executor.shutdown(timeout_sec=1.0)

    def _turn(self) -> None:
        """Do what is due: nothing while paused."""
        if self.lockstep:
            if self.paused:
                self.lockstep.repeat()
            else:
                self._exchange()
        elif self.paused:
            self._listen()
            self.pacer.restart()
        elif self.pacer.wait():
            self.pacer.begin()
            self._advance()

    def _advance(self) -> bool:
        """Make one step with the newest command; return whether a state went out."""
        if not self.lockstep:
            self._listen()
        plant, adversary = self.plant, self.adversary
        self._pushes.end()
        for fault in adversary.advance(plant.time):
            self.get_logger().info(f'fault: {fault}')
        silent = (self.total_steps - self._commanded_step) * plant.step_size
        if adversary.stopped:
            plant.engage()
        elif 0.0 < self._table.values.command_timeout < silent and not plant.brakes:
            self.silences += 1
            self.get_logger().warning(f'no command for {silent:.3f} s: brakes on')
            plant.engage()
        was_well = not plant.fault
        if not plant.step(adversary.torque(self.commands.torque)) and was_well:
            self.get_logger().error(plant.fault + '; ~/reset starts again')
        self.total_steps += 1
        return self.total_steps % self._decimation == 0 and self._publish()

    def _listen(self) -> None:
        """Take all messages that wait."""
        commands, deaf, good = self.commands, self.adversary.deaf, False
        for message in self._array.waiting():
            good |= not deaf and commands.read_array(message)
        for message in self._named.waiting():
            good |= not deaf and commands.read_named(message)
        self._listen_to_pushes()
        if good:
            self._heard()

    def _exchange(self) -> bool:
        """Wait a little for the answer to the last state; return whether time went on."""
        return self.lockstep.exchange(self._stamp, _SERVE)

    def _take_answer(self, message: JointState) -> None:
        self._listen_to_pushes()
        if self.commands.read_named(message):
            self._heard()

    def _listen_to_pushes(self) -> None:
        for message in self._wrench.waiting():
            self._pushes.take(message, self._table.values.wrench_timeout)

    def _heard(self) -> None:
        """Take note of a good command: the first one lets go of the brakes."""
        self._commanded_step = self.total_steps
        self._report.commanded = time.monotonic()
        if self.plant.brakes and not self.plant.fault and not self.adversary.stopped:
            self.plant.release()
            self.get_logger().info('first command: brakes released')

    def _publish(self) -> bool:
        self._stamp = (round(1e9 * self.total_steps * self.plant.step_size)
                       if self._simulated_time else time.time_ns())
        return self._states.publish(self.plant, self.adversary, self._stamp)

    def _publish_first(self) -> None:
        """Publish a state that does not follow from the one before."""
        published = self._publish()
        if self.lockstep:
            self.lockstep.waiting = published

    # --- services and parameters ------------------------------------------------------------

    def _on_reset(self, _request, response):
        self.plant.reset(brakes=True)
        self.commands.clear()
        self._pushes.clear()
        self.adversary.reset()
        self.total_steps += 1  # another state has another stamp
        self._publish_first()
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
            if not self.lockstep:
                self._advance()
            elif not self._answered():
                response.success = False
                response.message = f'nobody answers the state at {self.plant.time:.6f} s'
                return response
        response.success = not self.plant.fault
        response.message = self.plant.fault or f'at {self.plant.time:.6f} s'
        return response

    def _answered(self) -> bool:
        """Make one exchange, with a second for the answer."""
        end = time.monotonic() + 1.0
        while not (went_on := self._exchange()) and time.monotonic() < end:
            pass
        return went_on

    def _change(self, values, names) -> None:
        """Take over parameters that were set while running; raises if they make no sense."""
        model = self._robot.model
        arm = arm_from(values, model) if _MISMATCH.intersection(names) else None
        if 'real_time_factor' in names and not self._simulated_time:
            raise ParameterError('stamps are those of the clock on the wall: start the simulator '
                                 'with another real_time_factor than 1 to change it')
        self.adversary.change(values, names, self.plant.time)
        if 'publish_rate' in names:
            self._decimation = decimation(values)
        if 'real_time_factor' in names:
            self.pacer.change(period(values))
        if LIVE_JOINT_PARAMETERS.intersection(names):
            self.plant.change(**joints_from(values, model))
            if self._made is not None:  # of other joints by now
                arm = arm_from(values, model)
        if arm is not None:
            self._change_arm(arm, values)

    def _change_arm(self, arm, values) -> None:
        self._made = None  # what is still in the making is out of date
        if change_numbers(self.plant, arm):
            return
        self._made = PlantInTheMaking(lambda: plant_from(values, self._robot.model))
        if self.lockstep:  # always at the same step
            self._made.wait()
            self._take_new_plant()

    def _take_new_plant(self) -> None:
        """Go on with another plant as soon as its step is compiled."""
        if self._made is None or not self._made.done:
            return
        made, self._made = self._made, None
        if made.problem:
            self.get_logger().error(f'the arm stays as it was: {made.problem}')
            return
        made.plant.follow(self.plant)
        self.plant = made.plant
        self._pushes.move(self.plant)
        self.get_logger().info('the arm has changed')


def main(args=None) -> int:
    """Run the simulator."""
    return run_process(NAME, lambda stop: SimulatorNode(), lambda node, stop: node.work(stop),
                       args)


if __name__ == '__main__':
    sys.exit(main())
