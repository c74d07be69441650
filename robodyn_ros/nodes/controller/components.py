"""Parts of a configured controller node: arm controller, topics and periodic tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import math
import time

from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from robodyn_ros.control import ArmController, drive, load_own_law
from robodyn_ros.control.turn_host import TurnHost
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import with_slots
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.command_writer import CommandWriter
from robodyn_ros.nodes.compilation_log import compilation_logged
from robodyn_ros.nodes.containment import contained
from robodyn_ros.nodes.controller.begin_and_end import Activation, Shutdown
from robodyn_ros.nodes.controller.control_loop import ControlLoop
from robodyn_ros.nodes.controller.guard_link import ConfigurationPublisher, GuardLink
from robodyn_ros.nodes.controller.inputs import Inputs
from robodyn_ros.nodes.controller.native import open_native
from robodyn_ros.nodes.controller.other_commanders import OtherCommanders
from robodyn_ros.nodes.controller.output import TorqueOutput
from robodyn_ros.nodes.controller.parameters import check_loop, ControllerSettings, SHARED
from robodyn_ros.nodes.controller.report import ControllerReport
from robodyn_ros.nodes.controller.shared import SharedControl
from robodyn_ros.nodes.controller.state_input import ControllerClock, StateInput
from robodyn_ros.nodes.description import load_robot, problem_of_tip
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.publishers import publisher_names
from robodyn_ros.nodes.trajectories.interfaces import TrajectoryInterfaces

_GRAVITY = 'driver_compensates_gravity'
# s between runs of the periodic tasks
_SOON, _OFTEN, _SELDOM, _WARN, _REPORT = 0.005, 0.01, 0.05, 0.25, 1.0


class Periodic:
    """Calls, each with its period in s: `run`, which is called often, makes those that are due."""

    def __init__(self, *calls: tuple[Callable[[], None], float]):
        self._calls, self._due = calls, [-math.inf] * len(calls)

    def run(self) -> None:
        """Make the calls that are due."""
        for k, (call, period) in enumerate(self._calls):
            if (now := time.monotonic()) >= self._due[k]:
                self._due[k] = now + period
                call()


class Components:
    """
    Robot model, compiled dynamics, topics and tasks of a configured node.

    Parameters
    ----------
    node : LifecycleNode
        The controller node.
    table : Parameters
        Parameters of the node; per-joint parameters are added.

    Attributes
    ----------
    controller : ArmController
        Controller of the arm.
    configured : Bounds
        Torque bounds at configuration; they cannot be raised while the node is configured.
    states : StateInput
        Joint states.
    guard : GuardLink
        Connection to the guard.
    other_commanders : OtherCommanders
        Other publishers of torques and joint states.
    cycle : ControlLoop
        Control cycle from joint state to torque.
    activation : Activation
        Checks before activation.
    shutdown : Shutdown
        End of control.
    trajectories : TrajectoryInterfaces
        Topic and action for trajectories.
    inputs : Inputs
        Topics for payloads, gravity, wrenches, poses and linear feedback.
    report : ControllerReport
        Diagnostics and log.
    periodic : Periodic
        What is done periodically besides the control of the arm.

    Raises
    ------
    RobodynError
        The robot description or a parameter is invalid.

    """

    def __init__(self, node: LifecycleNode, table: Parameters):
        robot = load_robot(node, table.values.robot, table.values.control.limits.effort_limit)
        model = robot.model
        table.declare_for(model.joint_names)
        table.refuse_unknown()
        values = table.values
        with compilation_logged(node.get_logger(), model.name):
            dynamics = Dynamics(with_slots(model))
            own_law = load_own_law(values.own_law, dynamics) if values.own_law else None
            self.controller = ArmController(dynamics, values.control, own_law,
                                            values.lockstep or _simulated(node))
        self.configured = self.controller.bounds
        self._open_cycle(node, values)
        self.activation = Activation(node, self.controller, self.cycle, self.states, self.guard,
                                     self.other_commanders,
                                     values.control.limits.driver_compensates_gravity
                                     if table.given(_GRAVITY) else None,
                                     problem_of_tip(robot, values.robot),
                                     self._falls, values.silence.may_fall)
        self._open_inputs(node, values)
        self._configuration = ConfigurationPublisher(node, self.controller, table,
                                                     self._output.topic)
        self.report = ControllerReport(node, self.controller, self.states, self.cycle,
                                       self.inputs, self.guard, self.trajectories,
                                       self.other_commanders)
        self._measured = values.measure_loop and not values.lockstep
        self._measures = False
        self._silent_since = math.inf  # s
        self._withheld = False
        self.periodic = self._periodic(node)
        log = node.get_logger()
        if missing := self.controller.compile_others(lambda: log.info('all laws are compiled')):
            log.info(f'still compiling the laws {", ".join(missing)}, first time only')

    def _open_cycle(self, node: LifecycleNode, values: ControllerSettings) -> None:
        """Open the topics of the control cycle, after the checks of the parameters."""
        controller, log = self.controller, node.get_logger()
        model = controller.model
        check_loop(values, _simulated(node))
        shared = values.loop == SHARED
        writer = CommandWriter(model.joint_names, values.command, values.drives,
                               drive.function(controller.host.compiled.dimensions))
        self._falls = writer.falls_in_silence(
            controller.dynamics, values.control.limits.driver_compensates_gravity,
            values.silence.drives)
        self._clock = clock = ControllerClock(
            node.get_clock(), controller.status.states.offset, values.lockstep, _simulated(node))
        self._output = output = TorqueOutput(
            node, controller, writer, values.command.effort_command_topic,
            values.command.publish_joint_commands or values.lockstep, clock, shared)
        # in lockstep the simulator waits until each state was received
        decoder = JointStateDecoder()
        subscription = PolledSubscription(
            node, JointState, 'joint_states',
            qos.reliable(5) if values.lockstep else qos.joint_states(), decoder.decode)
        self.states = states = StateInput(subscription, decoder, controller, clock, writer.scale)
        use = values.guard.use
        turns = TurnHost(
            use == 'required', values.guard.silent_after, use != 'optional',
            # in lockstep the simulator waits for the answer to each state
            math.inf if values.lockstep or not values.fixed_rate else 1.0 / values.fixed_rate,
            values.loop_patience)
        self.guard = guard = GuardLink(node, output.topic, writer, values.guard, turns)
        other = (SharedControl(node, controller, output, clock, values) if shared else
                 open_native(node, controller, states, output, guard, clock, values))
        self.cycle = cycle = ControlLoop(controller, states, output, guard, clock, log, other)
        self.other_commanders = OtherCommanders(node, output.topic, states.topic, guard.name,
                                                output.publishes)
        self.shutdown = Shutdown(controller, cycle, output, guard, log)

    def _open_inputs(self, node: LifecycleNode, values: ControllerSettings) -> None:
        """Open the topics of trajectories and of other requests."""
        clock = self._clock
        self.trajectories = TrajectoryInterfaces(
            node, self.controller, self.states, values, clock.law_time, clock.wall,
            self.other_commanders.unheard)
        self.inputs = Inputs(node, self.controller, clock.law_time)

    def destroy(self) -> None:
        """Close the topics."""
        self.controller.close()
        self.cycle.other.close()
        for part in (self.states, self.trajectories, self.inputs, self.guard, self._output,
                     self._configuration, self.report):
            part.destroy()

    def _periodic(self, node: LifecycleNode) -> Periodic:
        """Return what is done periodically; a defect in a task does not end the control."""
        report, output, guard, log = self.report, self._output, self.guard, node.get_logger()
        tasks = (
            (report.log_changes, _OFTEN), (self.inputs.poll, _SOON), (self._measure, _SOON),
            (self.trajectories.poll, _SOON),
            (guard.heartbeat.update_subscribers, _SELDOM), (output.telemetry.update, _SELDOM),
            (self._configuration.publish, _SELDOM), (report.log_warnings, _WARN),
            (lambda: self.other_commanders.name_foreign(self.states.foreign), _SELDOM),
            (lambda: self._leave(node), _SOON),
            (self._look_for_others, _REPORT), (report.publish, _REPORT))
        return Periodic(*(
            (partial(contained, log, task, what='a task of the node failed'), period)
            for task, period in tasks))

    def _look_for_others(self) -> None:
        """Look for other commanders; with a guard that is required they are a fault."""
        self.other_commanders.update(self.cycle.active)
        problem = self.guard.turns.demanded(self.other_commanders.conflict)
        if problem and not self.controller.fault:
            self.controller.requests.fail(problem)

    def _leave(self, node: LifecycleNode) -> None:
        """Deactivate if the driver is gone or replaced, which would get the torque of before."""
        states = self.states
        if not (self.cycle.active and self.cycle.coasting):
            self._silent_since, self._withheld = math.inf, False
            return
        self._silent_since = min(self._silent_since, time.monotonic())
        if self.cycle.new_driver != self._withheld:
            self._withheld = self.cycle.new_driver
            if self._withheld:
                node.get_logger().error(
                    f'a node subscribes to {self._output.topic} since the states are silent, it '
                    'may be a driver that was restarted: no torque is sent until there are states')
        if not self.controller.fault:
            return
        # the middleware lists a driver that was killed for about 20 s
        replaced = states.appeared > self._silent_since
        if not replaced and not self.other_commanders.gone(states.bound):
            return
        cause = ('is gone' if not replaced else 'is silent, and '
                 + publisher_names(node, states.topic, [states.foreign])
                 + ' has begun to report instead')
        node.get_logger().error(
            f'the driver on {states.topic} {cause}: deactivated, so that its brakes do not '
            'open by themselves when it is restarted; start it, compare the pose of the arm, then '
            'activate the controller (robodyn activate), or restart it')
        self.shutdown.at_once()
        node.trigger_deactivate()

    def _measure(self) -> None:
        """Continue the measurement of the loop, from the activation on."""
        if self.cycle.active != self._measures:
            self._measures = self.cycle.active
            if self._measures and self._measured:
                self.controller.loop.begin()
            else:
                self.controller.loop.stop()
        self.controller.update_loop()


def _simulated(node: LifecycleNode) -> bool:
    """Return whether the node uses simulated time."""
    return node.get_parameter('use_sim_time').value
