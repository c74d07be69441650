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

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.compilation_log import compilation_logged
from robodyn_ros.nodes.containment import serve
from robodyn_ros.nodes.description import description_of, load_robot, TOPIC
from robodyn_ros.nodes.native.rcl import open_loop
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.process import run_process, StopRequest
from robodyn_ros.nodes.publishers import Commanders
from robodyn_ros.nodes.realtime import configure_realtime
from robodyn_ros.nodes.simulator import NAME
from robodyn_ros.nodes.simulator.inputs import Inputs
from robodyn_ros.nodes.simulator.native import NativeSimulation
from robodyn_ros.nodes.simulator.other_arms import OtherArms
from robodyn_ros.nodes.simulator.pacing import Lockstep, Pacer
from robodyn_ros.nodes.simulator.parameters import decimation, period, SimulatorSettings
from robodyn_ros.nodes.simulator.report import SimulatorReport
from robodyn_ros.nodes.simulator.simulated_arm import SimulatedArm
from robodyn_ros.nodes.simulator.state_publisher import StatePublisher

_SERVE = 0.02      # s between polls of services and parameters
_NATIVE = 0.1      # s, longest wait for a request while the native loop runs


class SimulatorNode(Node):
    """
    A plant with its topics and services.

    Attributes
    ----------
    arm : SimulatedArm
        The simulated arm.
    commands : CommandReader
        Reader of the commands.
    inputs : Inputs
        Topics of commands and wrenches.
    states : StatePublisher
        Publishers of the state of the arm.
    commanders : Commanders
        Nodes that publish commands.
    pacer : Pacer
        Deadlines of steps, and pauses.
    lockstep : Lockstep or None
        Lockstep with a controller, if set.
    simulated_time : bool
        Whether stamps are simulated time.
    decimation : int
        Steps from one published state to the next.

    """

    def __init__(self):
        super().__init__(NAME)
        self._table = Parameters(self, SimulatorSettings, self._check_change, self._change)
        self._table.refuse_unknown()
        values = self._table.values
        self._robot = load_robot(self, values.robot)
        model = self._robot.model
        self.commands = CommandReader(model.joint_names, values.command_joints)
        with compilation_logged(self.get_logger(), model.name):
            self.arm = SimulatedArm(model, values, self.commands.refusals, self.get_logger())
        for warning in self.arm.plant.warnings:
            self.get_logger().warning(warning)
        self.pacer = Pacer(period(values), values.start_paused)
        self.simulated_time = values.real_time_factor != 1.0 or values.lockstep
        self.decimation = decimation(values)
        self._stamp = 0
        self.inputs = Inputs(self, self.arm, self.commands, self._table)
        self.commanders = Commanders(self, (self.inputs.arrays.topic, self.inputs.named.topic))
        self.states = StatePublisher(self, model, self.simulated_time)
        if values.publish_description:
            self._description = self.create_publisher(String, TOPIC, qos.latched())
            self._description.publish(String(data=description_of(values.robot)))
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/step', self._on_step)
        self.lockstep = Lockstep(self.inputs.named, self.inputs.take_answer, self._step,
                                 self.states.repeat) if values.lockstep else None
        self._other_arms = None if values.lockstep else OtherArms(self, self.arm)
        self._report = SimulatorReport(self, self._robot, self.arm, self.commands,
                                       self.commanders, self.pacer, self.lockstep,
                                       lambda: self.loop)
        self._native, self._reason = open_loop(
            values.loop, 'lockstep is set' if values.lockstep else
            '' if values.message.usual else f'commands are {values.message.command_type}',
            lambda: NativeSimulation(self, self.arm, self.commands, self.inputs, self.states,
                                     self.pacer, self._table))

    @property
    def values(self) -> SimulatorSettings:
        """Return the parameters."""
        return self._table.values

    @property
    def loop(self) -> str:
        """Return the kind of loop, with the reason, for diagnostics."""
        reason = self._reason if self._native is None else self._native.reason
        return f'python: {reason}' if reason else 'native'

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
        model = self.arm.plant.model
        self.get_logger().info(
            f'{model.name}: {model.nv} joints ({", ".join(self.commands.command_joints)}), held '
            'by brakes until the first command')
        self.get_logger().info(f'loop: {self.loop}'.replace(': python: ', ': python, because '))
        configure_realtime(self, self._table.values.realtime, alone=stop.owns_process)
        self._publish_first()
        self._report.start()
        due = time.monotonic()
        if self._other_arms is not None:
            self.arm.hold(self._other_arms.start(due))
        self.pacer.restart()
        while not stop.requested and self.context.ok():
            self._run_once()
            now = time.monotonic()
            timeout = _NATIVE if self._is_native else _SERVE if self.pacer.paused else 0.0
            if timeout or now >= due:
                due = now + _SERVE
                serve(executor, self.get_logger(), timeout)
                self.states.update_subscribers()
                self._replace_plant()
                self._look_for_other_arms(now)
            self._report.update(now)
        executor.shutdown(timeout_sec=1.0)

    @property
    def _is_native(self) -> bool:
        """Whether the native loop makes the steps at present."""
        return self._native is not None and self._native.running

    def _look_for_other_arms(self, now: float) -> None:
        """Keep the brakes on while another arm is there."""
        if self._other_arms is None or self._other_arms.over:
            return
        reason = self._other_arms.reason(now)
        if reason != self.arm.held:
            self._stop_native()
            self.arm.hold(reason)

    def _stop_native(self) -> None:
        """Stop the native loop until the next `_run_once`."""
        if self._native is not None:
            self._native.stop()

    def _run_once(self) -> None:
        """Make a step if it is due, unless paused or made by the native loop."""
        if self.lockstep:
            if self.pacer.paused:
                self.lockstep.repeat()
            else:
                self._advance()
        elif self.pacer.paused:
            self.inputs.poll()
            self.pacer.restart()
        elif self._native is not None and self._native.run_once():
            pass
        elif self.pacer.wait():
            self.pacer.begin()
            self._step()

    def _step(self) -> bool:
        """Make one step with the newest command; return whether a state was published."""
        if not self.lockstep:
            self.inputs.poll()
        self.arm.step(self.commands.command, self.values.command_timeout)
        return self.arm.total_steps % self.decimation == 0 and self._publish()

    def _advance(self) -> bool:
        """Wait `_SERVE` for the answer to the last state; return whether steps were made."""
        return self.lockstep.advance(self._stamp, _SERVE)

    def _publish(self) -> bool:
        arm = self.arm
        # steps that are made up for after a pause carry the time at which they were due
        self._stamp = (round(1e9 * arm.total_steps * arm.plant.step_size)
                       if self.simulated_time else time.time_ns() - self.pacer.behind)
        return self.states.publish(arm.plant, arm.measurement, self._stamp)

    def _publish_first(self) -> None:
        """Publish the first state after a start or reset."""
        published = self._publish()
        if self.lockstep:
            self.lockstep.waiting = published

    # --- services and parameters ------------------------------------------------------------

    def _on_reset(self, _request, response):
        self._stop_native()
        self.arm.reset()
        self.commands.clear()
        self._publish_first()
        response.success = True
        response.message = 'back at the initial positions, held by brakes until the next command'
        return response

    def _on_pause(self, request, response):
        self._stop_native()
        self.pacer.paused = request.data
        response.success = True
        state = 'paused' if self.pacer.paused else 'running'
        response.message = f'{state} at {self.arm.plant.time:.3f} s'
        return response

    def _on_step(self, _request, response):
        if not self.pacer.paused:
            response.success = False
            response.message = 'running: pause the simulation first'
            return response
        for _ in range(self._table.values.steps_per_call):
            if not self.lockstep:
                self._step()
            elif not self._advanced():
                response.success = False
                response.message = f'no answer to the state at {self.arm.plant.time:.6f} s'
                return response
        response.success = not self.arm.plant.fault
        response.message = self.arm.plant.fault or f'at {self.arm.plant.time:.6f} s'
        return response

    def _advanced(self) -> bool:
        """Advance once; return whether the answer arrived within a second."""
        end = time.monotonic() + 1.0
        while not (stepped := self._advance()) and time.monotonic() < end:
            pass
        return stepped

    def _check_change(self, values: SimulatorSettings, names: Sequence[str]) -> RobotModel | None:
        """Return the bodies if they change; raise `RobodynError` for a change to refuse."""
        if not names:  # at the start there is no arm yet
            return None
        if 'real_time_factor' in names and not self.simulated_time:
            raise ParameterError('stamps are wall clock time: to change real_time_factor, start '
                                 'the simulator with another one than 1')
        return self.arm.check_change(values, names)

    def _change(self, values: SimulatorSettings, names: list[str],
                bodies: RobotModel | None) -> None:
        """Apply parameters that were set at run time and checked."""
        self._stop_native()
        if 'publish_rate' in names:
            self.decimation = decimation(values)
        if 'real_time_factor' in names:
            self.pacer.change(period(values))
        self.arm.change(values, names, bodies)

    def _replace_plant(self) -> None:
        """Replace the plant if another one is built."""
        if self.arm.plant_is_built:
            self._stop_native()
            self.arm.replace_plant()


def main(args=None) -> int:
    """Run the simulator."""
    return run_process(NAME, lambda stop: SimulatorNode(), lambda node, stop: node.work(stop),
                       args)


if __name__ == '__main__':
    sys.exit(main())
