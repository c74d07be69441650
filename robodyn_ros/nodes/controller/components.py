"""All that a configured controller node has, put together: the law of the arm, and its wires."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from robodyn_ros.control import ArmController, load_own_law
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import with_slots
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.compilation import compilation_logged
from robodyn_ros.nodes.controller.activation import Activation
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.configuration_publisher import ContractPublisher
from robodyn_ros.nodes.controller.cycle import ControlCycle
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.inputs import Inputs
from robodyn_ros.nodes.controller.native import open_native
from robodyn_ros.nodes.controller.other_commanders import OtherCommanders
from robodyn_ros.nodes.controller.parameters import check_rate, ControllerSettings
from robodyn_ros.nodes.controller.payload_estimate import PayloadEstimate
from robodyn_ros.nodes.controller.report import ControllerReport
from robodyn_ros.nodes.controller.shutdown import Shutdown
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.controller.torque_output import TorqueOutput
from robodyn_ros.nodes.conversions import EffortWriter
from robodyn_ros.nodes.description import load_robot
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.tasks import PeriodicTasks
from robodyn_ros.nodes.trajectories.interfaces import TrajectoryInterfaces

# s between runs of the periodic tasks
_SOON, _OFTEN, _SELDOM, _REPORT = 0.005, 0.01, 0.05, 1.0


class Components:
    """
    Reads the robot, compiles its dynamics, opens the topics.

    Parameters
    ----------
    node : LifecycleNode
        The controller node.
    table : Parameters
        Its parameters; those of single joints are added.

    Attributes
    ----------
    controller : ArmController
        The law.
    configured : Bounds
        Of the torque at the configuration: while it lasts they are not raised.
    states : StateInput
        What comes in.
    guard : GuardLink
        Who commands if the controller cannot.
    other_commanders : OtherCommanders
        Who else publishes torques and states.
    cycle : ControlCycle
        What answers it.
    activation : Activation
        How that begins.
    shutdown : Shutdown
        How it ends.
    trajectories : TrajectoryInterfaces
        What the arm is to follow.
    inputs : Inputs
        What else the law has to reckon with.
    report : ControllerReport
        What is told about all this.
    tasks : PeriodicTasks
        What is done between two states.

    Raises
    ------
    RobodynError
        The robot or a parameter makes no sense.

    """

    def __init__(self, node: LifecycleNode, table: Parameters):
        model = load_robot(node, table.values.robot).model
        table.declare_for(model.joint_names)
        table.refuse_unknown()
        values = table.values
        with compilation_logged(node.get_logger(), model.name):
            dynamics = Dynamics(with_slots(model))
            own_law = (load_own_law(values.own_law, dynamics, values.own_law_deadline)
                       if values.own_law else None)
            self.controller = ArmController(dynamics, values.control, own_law,
                                            values.lockstep or _simulated(node))
        self.configured = self.controller.bounds
        self._connect(node, values)
        self._listen(node, values)
        self._contract = ContractPublisher(node, self.controller, table, self._output.topic)
        self.report = ControllerReport(node, self.controller, self.states, self.cycle,
                                       self.inputs, self.guard, self.trajectories,
                                       self.other_commanders)
        self.tasks = self._periodic()
        log = node.get_logger()
        if missing := self.controller.compile_others(lambda: log.info('all laws are compiled')):
            log.info(f'still compiling the laws {", ".join(missing)}, first time only')

    def _connect(self, node: LifecycleNode, values: ControllerSettings) -> None:
        """Open the loop's own topics; what may be refused comes before the first of them."""
        controller, log = self.controller, node.get_logger()
        model = controller.model
        check_rate(values, _simulated(node))
        writer = EffortWriter(model.joint_names, values.command.command_joints)
        self._clock = clock = ControllerClock(
            node.get_clock(), controller.states.offset, values.lockstep, _simulated(node))
        self._output = output = TorqueOutput(
            node, controller, writer, values.command.effort_command_topic,
            values.command.publish_joint_commands or values.lockstep, clock)
        # in lockstep every state is waited for on the other side
        decoder = JointStateDecoder()
        subscription = PolledSubscription(node, JointState, 'joint_states',
                                          qos.reliable(5) if values.lockstep else qos.newest(),
                                          decoder.decode)
        self.states = states = StateInput(subscription, decoder, controller, clock)
        self.guard = guard = GuardLink(node, output.topic, CommandReader(
            model.joint_names, values.command.command_joints), values.guard)
        native, reason = open_native(node, controller, states, output, guard, clock, values)
        self.cycle = cycle = ControlCycle(controller, states, output, guard, clock, log,
                                          values.fixed_rate, native, reason)
        self.other_commanders = OtherCommanders(node, output.topic, states.topic, guard.name)
        self.activation = Activation(node, controller, cycle, states, guard, self.other_commanders,
                                     values.control.limits.driver_compensates_gravity)
        self.shutdown = Shutdown(controller, cycle, output, guard, log)

    def _listen(self, node: LifecycleNode, values: ControllerSettings) -> None:
        """Open the topics of those who ask something of the arm."""
        clock = self._clock
        self.trajectories = TrajectoryInterfaces(
            node, self.controller, self.states, values, clock.moment, clock.wall)
        self.inputs = Inputs(node, self.controller, clock.moment)
        self._estimate = PayloadEstimate(node, self.controller)

    def destroy(self) -> None:
        """Close the topics."""
        self.controller.close()
        self.cycle.close()
        for part in (self.states, self.trajectories, self.inputs, self.guard, self._output,
                     self._estimate, self._contract, self.report):
            part.destroy()

    def _periodic(self) -> PeriodicTasks:
        """Return what has its turn between two states."""
        report, output, guard, others = (
            self.report, self._output, self.guard, self.other_commanders)
        return PeriodicTasks([
            (report.tell, _OFTEN), (self.inputs.poll, _SOON), (guard.look, _SELDOM),
            (output.look, _SELDOM), (self._contract.publish, _SELDOM),
            (self._estimate.publish, _SELDOM),
            (lambda: others.look(self.cycle.active), _REPORT), (report.publish, _REPORT)])


def _simulated(node: LifecycleNode) -> bool:
    """Return whether the node uses simulated time."""
    return node.get_parameter('use_sim_time').value
