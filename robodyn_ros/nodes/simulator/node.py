"""
The simulator node: torques in, joint states out, in place of an arm, with sensors and faults.

One loop with absolute deadlines steps the plant. Commands are polled before each step, and the
measured state is published after it. Services and parameters are served between steps, fifty times
per second. In lockstep there are no deadlines: each step waits for the command that answers the
last state. While nothing else is to be done, the native loop makes the steps, see `native`.
"""

from __future__ import annotations

from collections.abc import Sequence
import sys
import time

from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.commanders import Commanders
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.compilation_log import compilation_logged
from robodyn_ros.nodes.containment import contained, serve_once
from robodyn_ros.nodes.description import load_robot
from robodyn_ros.nodes.native.plant_loop import PlantWires
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.realtime import configure_realtime
from robodyn_ros.nodes.simulator.applied_wrenches import AppliedWrenches
from robodyn_ros.nodes.simulator.background_build import BackgroundPlantBuild, change_numbers
from robodyn_ros.nodes.simulator.lockstep import Lockstep
from robodyn_ros.nodes.simulator.native import open_native
from robodyn_ros.nodes.simulator.pacing import Pacer
from robodyn_ros.nodes.simulator.parameters import (
    decimation, joints_from, LIVE_JOINT_PARAMETERS, period, plant_from, SimulatorSettings)
from robodyn_ros.nodes.simulator.report import SimulatorReport
from robodyn_ros.nodes.simulator.sensor_parameters import arm_from
from robodyn_ros.nodes.simulator.sensors_and_faults import SensorsAndFaults
from robodyn_ros.nodes.simulator.state_publisher import StatePublisher

NAME = 'robot_simulator'
_SERVE = 0.02      # s between polls of services and parameters
_NATIVE = 0.1      # s, longest wait for a request while the native loop runs
_QUEUE = 10        # commands that can wait for a step; all are checked, the newest counts
_OF_BODIES = ('payload', 'mismatch')  # groups of parameters that change the rigid bodies


class SimulatorNode(Node):
    """
    A plant with its topics and services.

    Attributes
    ----------
    plant : Plant
        The simulated arm.
    commands : CommandReader
        Reader of the commands.
    pushes : AppliedWrenches
        Wrenches on its links.
    measurement : SensorsAndFaults
        Its sensors and faults.
    states : StatePublisher
        Publishers of its state.
    commanders : Commanders
        Nodes that publish commands.
    pacer : Pacer
        Deadlines of steps.
    paused : bool
        Whether the simulation is paused.
    lockstep : Lockstep or None
        Lockstep with a controller, if set.
    simulated_time : bool
        Whether stamps are simulated time.
    decimation : int
        Steps from one published state to the next.
    total_steps, commanded_step : int
        Steps since the start, not reset by `~/reset`; the same at the last valid command.
    commanded : float
        Time of the last valid command, steady clock, in s.
    silences : int
        Silences of the commander after which the brakes were applied.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, SimulatorSettings, self._check_change, self._change)
        self._table.refuse_unknown()
        values = self._table.values
        self._robot = load_robot(self, values.robot)
        with compilation_logged(self.get_logger(), self._robot.model.name):
            self.plant = plant_from(values, self._robot.model)
        for warning in self.plant.warnings:
            self.get_logger().warning(warning)
        self.measurement = SensorsAndFaults(self._robot.model, values.errors)
        self.commands = CommandReader(self.plant.model.joint_names, values.command_joints)
        self.pushes = AppliedWrenches(self.plant, self.commands.refusals)
        self.pacer = Pacer(period(values))
        self.paused = values.start_paused
        self.simulated_time = values.real_time_factor != 1.0 or values.lockstep
        self.decimation = decimation(values)
        self._build: BackgroundPlantBuild | None = None
        self.total_steps = self.silences = self._stamp = 0
        self.commanded_step, self.commanded = 0, time.monotonic()
        self._open()
        self.lockstep = Lockstep(self._named, self._take_answer, self._step,
                                 self.states.repeat) if values.lockstep else None
        self._report = SimulatorReport(self, self._robot)
        self._native, self._reason = open_native(self, self._wires())

    @property
    def values(self) -> SimulatorSettings:
        """Return the parameters."""
        return self._table.values

    @property
    def loop(self) -> str:
        """Return the kind of loop, with the reason, for diagnostics."""
        reason = self._reason if self._native is None else self._native.reason
        return f'python: {reason}' if reason else 'native'

    def _open(self) -> None:
        """Open topics and services."""
        self._array = PolledSubscription(self, Float64MultiArray, 'effort_controller/commands',
                                         qos.reliable(_QUEUE))
        self._named = PolledSubscription(self, JointState, 'joint_commands', qos.reliable(_QUEUE))
        self._wrench = PolledSubscription(self, WrenchStamped, '~/wrench', qos.reliable(_QUEUE))
        self.commanders = Commanders(self, (self._array.topic, self._named.topic))
        self.states = StatePublisher(self, self._robot.model, self.simulated_time)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/step', self._on_step)

    def _wires(self) -> PlantWires:
        states = self.states
        return PlantWires(
            self, self._array.subscription, self._named.subscription, self._wrench.subscription,
            _QUEUE, states.states, states.truth, states.clock,
            self.create_guard_condition(lambda: None), states.names, states.coordinate,
            states.multiplier, states.offset, states.independent)

    # --- the loop ---------------------------------------------------------------------------

    def work(self, stop: StopRequest) -> None:
        """Simulate until a signal is received."""
        try:
            self._work(stop)
        finally:
            if self._native is not None:
                self._native.close()

    def _work(self, stop: StopRequest) -> None:
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        model = self.plant.model
        self.get_logger().info(
            f'{model.name}: {model.nv} joints ({", ".join(self.commands.command_joints)}), held '
            'by brakes until the first command')
        self.get_logger().info(f'loop: {self.loop}'.replace(': python: ', ': python, because '))
        configure_realtime(self, self._table.values.realtime)
        self._publish_first()
        self._report.start()
        serve = time.monotonic()
        self.pacer.restart()
        while not stop.requested and self.context.ok():
            self._run_once()
            now = time.monotonic()
            timeout = _NATIVE if self._is_native else _SERVE if self.paused else 0.0
            if timeout or now >= serve:
                serve = now + _SERVE
                serve_once(executor, self.get_logger(), timeout)
                self.states.update_subscribers()
                self._replace_plant()
            self._report.update(now)
        executor.shutdown(timeout_sec=1.0)

    @property
    def _is_native(self) -> bool:
        """Whether the native loop makes the steps at present."""
        return self._native is not None and self._native.running

    def _stop_native(self) -> None:
        """Stop the native loop until the next `_run_once`."""
        if self._native is not None:
            self._native.stop()

    def _run_once(self) -> None:
        """Make a step if it is due, unless paused or made by the native loop."""
        if self.lockstep:
            if self.paused:
                self.lockstep.repeat()
            else:
                self._exchange()
        elif self.paused:
            self._receive()
            self.pacer.restart()
        elif self._native is not None and self._native.run_once():
            pass
        elif self.pacer.wait():
            self.pacer.begin()
            self._step()

    def _step(self) -> bool:
        """Make one step with the newest command; return whether a state was published."""
        if not self.lockstep:
            self._receive()
        plant, measurement = self.plant, self.measurement
        self.pushes.end()
        for fault in measurement.update(plant.time):
            self.get_logger().info(f'fault: {fault}')
        silent = (self.total_steps - self.commanded_step) * plant.step_size
        if measurement.stopped:
            plant.engage()
        elif 0.0 < self._table.values.command_timeout < silent and not plant.brakes:
            self.silences += 1
            self.log_silence(silent)
            plant.engage()
        had_fault = bool(plant.fault)
        if not plant.step(measurement.torque(self.commands.torque)) and not had_fault:
            self.get_logger().error(plant.fault + '; ~/reset starts again')
        self.total_steps += 1
        return self.total_steps % self.decimation == 0 and self._publish()

    def _receive(self) -> None:
        """Take all waiting messages."""
        commands, commands_dropped, valid = self.commands, self.measurement.commands_dropped, False
        for message in self._array.waiting():
            valid |= not commands_dropped and commands.read_array(message)
        for message in self._named.waiting():
            valid |= not commands_dropped and commands.read_named(message)
        self._receive_wrenches()
        if valid:
            self._command_received()

    def read(self, source: str, data: bytes) -> bool:
        """
        Read a serialized message that the native loop could not read.

        Parameters
        ----------
        source : str
            One of `plant_code.INPUTS`.
        data : bytes
            The message.

        Returns
        -------
        bool
            Whether it was a valid command.

        """
        kind, take = {'arrays': (Float64MultiArray, self.commands.read_array),
                      'named': (JointState, self.commands.read_named),
                      'wrenches': (WrenchStamped, self._push)}[source]
        message = contained(self.get_logger(), deserialize_message, data, kind)
        valid = message is not None and bool(take(message))
        if valid:
            self._command_received()
        return valid

    def _exchange(self) -> bool:
        """Wait `_SERVE` for the answer to the last state; return whether steps were made."""
        return self.lockstep.exchange(self._stamp, _SERVE)

    def _take_answer(self, message: JointState) -> None:
        self._receive_wrenches()
        if self.commands.read_named(message):
            self._command_received()

    def _receive_wrenches(self) -> None:
        for message in self._wrench.waiting():
            self._push(message)

    def _push(self, message: WrenchStamped) -> None:
        self.pushes.take(message, self._table.values.wrench_timeout)

    def _command_received(self) -> None:
        """Record a valid command; release the brakes, unless a fault holds them."""
        self.commanded_step, self.commanded = self.total_steps, time.monotonic()
        if self.plant.brakes and not self.plant.fault and not self.measurement.stopped:
            self.plant.release()
            self.log_release()

    def log_release(self) -> None:
        """Log that the brakes were released."""
        self.get_logger().info('first command: brakes released')

    def log_silence(self, silent: float) -> None:
        """Log that the brakes were applied after a silence (s)."""
        self.get_logger().warning(f'no command for {silent:.3f} s: brakes on')

    def _publish(self) -> bool:
        self._stamp = (round(1e9 * self.total_steps * self.plant.step_size)
                       if self.simulated_time else time.time_ns())
        return self.states.publish(self.plant, self.measurement, self._stamp)

    def _publish_first(self) -> None:
        """Publish the first state after a start or reset."""
        published = self._publish()
        if self.lockstep:
            self.lockstep.waiting = published

    # --- services and parameters ------------------------------------------------------------

    def _on_reset(self, _request, response):
        self._stop_native()
        self.plant.reset(brakes=True)
        self.commands.clear()
        self.pushes.clear()
        self.measurement.reset()
        self.total_steps += 1  # a new stamp for the new state
        self._publish_first()
        response.success = True
        response.message = 'back at the initial positions, held by brakes until the next command'
        return response

    def _on_pause(self, request, response):
        self._stop_native()
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
                self._step()
            elif not self._exchange_completed():
                response.success = False
                response.message = f'no answer to the state at {self.plant.time:.6f} s'
                return response
        response.success = not self.plant.fault
        response.message = self.plant.fault or f'at {self.plant.time:.6f} s'
        return response

    def _exchange_completed(self) -> bool:
        """Make one exchange; return whether the answer arrived within a second."""
        end = time.monotonic() + 1.0
        while not (stepped := self._exchange()) and time.monotonic() < end:
            pass
        return stepped

    def _check_change(self, values: SimulatorSettings, names: Sequence[str]) -> RobotModel | None:
        """Return the arm if its bodies change; raises `RobodynError` for a change to refuse."""
        if not names:  # at the start there is no arm yet
            return None
        if 'real_time_factor' in names and not self.simulated_time:
            raise ParameterError('stamps are wall clock time: to change real_time_factor, start '
                                 'the simulator with another one than 1')
        model = self._robot.model
        self.measurement.check(values.errors, self.plant.time)
        joints_from(values, model)
        changed = any(name.startswith(_OF_BODIES) for name in names)
        return arm_from(values.errors, model) if changed else None

    def _change(self, values: SimulatorSettings, names: list[str], arm: RobotModel | None) -> None:
        """Apply parameters that were set at run time and checked."""
        self._stop_native()
        model = self._robot.model
        self.measurement.change(values.errors, names, self.plant.time)
        if 'publish_rate' in names:
            self.decimation = decimation(values)
        if 'real_time_factor' in names:
            self.pacer.change(period(values))
        if LIVE_JOINT_PARAMETERS.intersection(names):
            self.plant.change(**joints_from(values, model))
            if self._build is not None:  # its joints are out of date
                arm = arm_from(values.errors, model)
        if arm is not None:
            self._change_arm(arm, values)

    def _change_arm(self, arm, values) -> None:
        self._build = None  # a running build is out of date
        if change_numbers(self.plant, arm):
            return
        self._build = BackgroundPlantBuild(lambda: plant_from(values, self._robot.model))
        if self.lockstep:  # reproducible: always at the same step
            self._build.wait()
            self._replace_plant()

    def _replace_plant(self) -> None:
        """Replace the plant if another one is built."""
        if self._build is None or not self._build.done:
            return
        self._stop_native()
        made, self._build = self._build, None
        if made.problem:
            self.get_logger().error(f'the arm is unchanged: {made.problem}')
            return
        assert made.plant is not None
        made.plant.follow(self.plant)
        self.plant = made.plant
        self.pushes.move(self.plant)
        self.get_logger().info('the arm has changed')


def main(args=None) -> int:
    """Run the simulator."""
    return run_process(NAME, lambda stop: SimulatorNode(), lambda node, stop: node.work(stop),
                       args)


if __name__ == '__main__':
    sys.exit(main())
