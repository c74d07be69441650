"""
The adapter between golden logs and the control cycle of the node.

It composes the parts of the node that answer joint states, as `nodes.controller.wiring` does, on
a ROS node of its own. Two parts differ from those of the node: the clock is scripted, and joint
states come from that clock instead of a topic. An implementation that is to be compared with the
logs in place of `ControlCycle` and `Shutdown` needs a class with the methods of `NodeHost`:
`turn()` answers the next state or its absence, `request(name, now, arguments)` makes one of the
requests of `ControllerHost` or of those in `NodeHost.request`, `status()` returns a dict that must
be equal after every command and turn, `destroy()` closes topics; each command is passed to `sent`.
"""

from contextlib import contextmanager
import os
from types import SimpleNamespace

import rclpy
from rclpy.logging import LoggingSeverity
from rclpy.serialization import deserialize_message, serialize_message
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.controller.activation import Activation
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.company import Company
from robodyn_ros.nodes.controller.cycle import ControlCycle
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.shutdown import Shutdown
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.controller.torque_output import TorqueOutput
from robodyn_ros.nodes.controller.wiring import BELIEVED
from robodyn_ros.nodes.conversions import EffortWriter, JointStateReader, set_stamp
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety import Continuity, StaleMonitor
from std_msgs.msg import Float64MultiArray, Header

from golden.controller_host import ControllerHost
from golden.scripted_time import EPOCH

DEFAULTS = {'stale_hold': 0.05, 'stale_stop': 0.25, 'stale_jump': 0.06, 'stale_max_skew': 1.0,
            'fixed_rate': 0.0, 'lockstep': False, 'simulated': False, 'command_joints': [],
            'driver_compensates_gravity': False, 'shutdown_effort': 'hold', 'release_time': 0.2,
            'stop_time': 0.2, 'guard_name': 'guard', 'guard_required': False,
            'guard_expected': False, 'guard_timeout': 0.2}
_DELIVERY = 5.0  # s of real time for a message within the process


@contextmanager
def ros_nodes():
    """Yield the nodes of a controller and of a guard for a while."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    nodes = [rclpy.create_node(name, context=context, namespace=f'/golden_{os.getpid()}')
             for name in ('controller', 'guard')]
    for node in nodes:
        node.get_logger().set_level(LoggingSeverity.FATAL)
    try:
        yield nodes
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown(context=context)


class _States:
    """The scripted clock as the subscription of joint states; they are serialized as on a wire."""

    topic, refused, problem = 'joint_states', 0, ''

    def __init__(self, clock):
        self._clock, self._decoder = clock, JointStateDecoder()

    def take(self):
        """Return the oldest queued sample, or None."""
        return self._sample(self._clock.take())

    def waiting(self):
        """Yield the queued samples, oldest first."""
        return iter(self.take, None)

    def wait(self, patience):
        """Return the next sample, or None after `patience` seconds."""
        return self._sample(self._clock.wait(patience))

    def _sample(self, message):
        return message and self._decoder.decode(serialize_message(message))


class _Output(TorqueOutput):
    """Commands torques, and passes them on."""

    def __init__(self, *arguments, sent, writer, **options):
        self._sent, self._wire = sent, writer
        super().__init__(*arguments, writer=writer, **options)

    def command(self, torque, stamp=None):
        """Command a torque."""
        super().command(torque, stamp)
        message = deserialize_message(self._wire.write(torque), Float64MultiArray)
        self._sent(message.data.tolist(), stamp)


class NodeHost:
    """
    The control cycle of a node, driven turn by turn.

    Parameters
    ----------
    robot : str
    setup : dict
        As of `ControllerHost`; besides, as node, the parameters in `DEFAULTS`.
    nodes : pair of Node
        Of the controller, and of its guard, with their topics.
    clock : ScriptedTime
        In place of the module `time`.
    sent : callable
        Called with every command: torques, and the stamp (ns) of the state it answers, or 0.

    Attributes
    ----------
    joints : tuple of str
        In the order of the wire.
    effort_limit : (nv,) array
        In that order.

    """

    def __init__(self, robot, setup, nodes, clock, sent):
        node, self._guard_node = nodes
        self.inner = ControllerHost(robot, setup)
        controller = self.inner.controller
        names = controller.model.joint_names
        values = self._values = SimpleNamespace(**{**DEFAULTS, **setup.get('node', {})})
        log = node.get_logger()
        self._time, self._sent = clock, sent
        self._law_clock = ControllerClock(node.get_clock(), values.lockstep, values.simulated)
        self._reader = JointStateReader(names, controller.model.continuous, Continuity(
            names, controller.model.velocity_limit, values.stale_jump,
            values.stale_stop + BELIEVED))
        self.states = StateInput(_States(clock), self._reader, StaleMonitor(
            values.stale_hold, values.stale_stop, values.stale_max_skew), self._law_clock)
        writer = EffortWriter(names, values.command_joints)
        self.joints = writer.joints
        self.effort_limit = self.inner.effort_limit[[list(names).index(each)
                                                     for each in self.joints]]
        self._output = _Output(
            node, controller, topic='commands', named=values.lockstep, clock=self._law_clock,
            writer=writer, sent=self._command)
        self._guard = GuardLink(node, self._output.topic, CommandReader(
            names, values.command_joints), values)
        self.cycle = ControlCycle(controller, self.states, self._output, self._guard,
                                  self._law_clock, log, values.fixed_rate)
        company = Company(node, self._output.topic, self.states.topic, self._guard.name)
        self._activation = Activation(node, controller, self.cycle, self.states, self._guard,
                                      company, values.driver_compensates_gravity)
        self._shutdown = Shutdown(controller, self.cycle, self.states, self._output, self._guard,
                                  self._law_clock, log)
        self._open_guard()

    def destroy(self):
        """Close the topics."""
        for part in (self._guard, self._output, *self._twins):
            part.destroy()
        for publisher in self._publishers:
            self._guard_node.destroy_publisher(publisher)

    def _command(self, torque, stamp):
        since = 0 if stamp is None else stamp - EPOCH
        # what answers no state has the stamp of a clock that is not scripted
        self._sent(torque, since if abs(since) < 10 ** 11 else 0)

    # --- requests ---------------------------------------------------------------------------

    def turn(self):
        """Answer the next state, or act on its absence."""
        self.cycle.turn()

    def request(self, name, now, arguments):
        """Make a request; return the answer."""
        own = {'activate': self._activation.take_over, 'shutdown': self._shut_down,
               'guard': self._guard_state, 'slow_law': self._slow_down,
               'guard_commands': self._guard_commands, 'break': self._break}
        if name not in own:
            return self.inner.request(name, self._law_clock.moment(), arguments)
        try:
            own[name](**arguments)
        except RobodynError as error:
            return f'{type(error).__name__}: {error}'
        return 'done'

    def _shut_down(self, effort='hold'):
        self._values.shutdown_effort = effort
        self._shutdown.leave(self._values)

    def _break(self):
        """Make the law raise from now on."""
        law = self.inner.controller._law
        law.follow = law.coast = _defect

    def _slow_down(self, seconds):
        """Make the next call of the law take some seconds."""
        law, sleep = self.inner.controller._law, self._time.sleep

        def follow(*arguments):
            del law.follow
            sleep(seconds)
            return law.follow(*arguments)
        law.follow = follow

    def status(self):
        """Return what must be equal after every command and turn."""
        statistics = self.cycle.statistics
        return {**self.inner.status(), 'active': self.cycle.active,
                'coasting': self.cycle.coasting, 'complete': self._reader.complete,
                'problem': self._reader.problem, 'refused': self._reader.refused,
                'late': int(statistics.late), 'guard': self._guard.summary,
                'guard_commands': self._guard.commands, 'complaint': bool(self._guard.complaint)}

    # --- the guard --------------------------------------------------------------------------

    def _open_guard(self):
        node, state, commands = self._guard_node, f'{self._values.guard_name}/state', 'commands'
        self._publishers = [node.create_publisher(Header, state, qos.latched()),
                            node.create_publisher(Float64MultiArray, commands, qos.reliable())]
        self._twins = [PolledSubscription(node, Header, state, qos.latched()),
                       PolledSubscription(node, Float64MultiArray, commands, qos.reliable())]

    def _guard_state(self, state, echo=0.0):
        """Publish a state of the guard; `echo`: s from now, stamp of its last heartbeat."""
        message = Header(frame_id=state)
        set_stamp(message.stamp, self._time.time_ns() + round(1e9 * echo) + 1000)
        self._publish(0, message)

    def _guard_commands(self, torque):
        self._publish(1, Float64MultiArray(data=torque))

    def _publish(self, which, message):
        """Publish, and wait for delivery within this process."""
        twin = self._twins[which]
        while twin.take() is not None:
            pass
        self._publishers[which].publish(message)
        assert twin.wait(_DELIVERY) is not None, 'no delivery within the process'


def _defect(*_):
    raise RuntimeError('a defect')
