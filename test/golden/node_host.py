"""
The adapter between golden logs and the control cycle of the node.

It takes the wiring of the node, with parameters by their names, on ROS nodes of its own. Two parts
differ: the clock is scripted, and joint states come from that clock instead of a topic. An
implementation that is to be compared with the logs needs a class with the methods of `NodeHost`:
`turn()` answers the next state or its absence, `request(name, now, arguments)` makes one of the
requests of `ControllerHost` or of those in `NodeHost.request`, `status()` returns a dict that must
be equal after every command and turn, `destroy()` closes topics; each command is passed to `sent`.
"""

from contextlib import contextmanager
from dataclasses import replace
import os

import rclpy
from rclpy.logging import LoggingSeverity
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.controller import components
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety.acceptance import REQUESTS
from robodyn_ros.settings import parameters, values as named, with_values
from std_msgs.msg import Float64MultiArray, Header

from golden.controller_host import ControllerHost
from golden.scripted_time import EPOCH

# in place of defaults
_SHORT = {'loop': 'python', 'stop_time': 0.2, 'release_time': 0.2, 'guard.silent_after': 0.2}
# parameters about the states that are used
_OF_STATES = ('stale.', 'plausibility.', 'velocity_', 'overspeed')
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
    source, foreign, bound = b'', b'', frozenset()

    def __init__(self, clock):
        self._clock, self._decoder = clock, JointStateDecoder()

    def forget(self):
        """Do nothing: there is one publisher."""

    def take(self):
        """Return the oldest queued sample, or None."""
        return self._sample(self._clock.take())

    def waiting(self):
        """Yield the queued samples, oldest first."""
        while (sample := self.take()) is not None:
            yield sample

    def wait(self, patience):
        """Return the next sample, or None after `patience` seconds."""
        return self._sample(self._clock.wait(patience))

    def _sample(self, message):
        return message and self._decoder.decode(serialize_message(message))


class _Wiring(components.Components):
    """The wiring of the node, without topics for trajectories, inputs and reports."""

    def __init__(self, node, controller, values, states, sent):
        self.controller = controller
        subscription = components.PolledSubscription
        components.PolledSubscription = lambda *_: states
        try:
            self._open_cycle(node, values)
        finally:
            components.PolledSubscription = subscription
        self.activation = components.Activation(
            node, controller, self.cycle, self.states, self.guard, self.other_commanders,
            values.control.limits.driver_compensates_gravity, '', '', False)
        self.writer = self._output.writer
        self.law_clock, self._sent, self._send = self._clock, sent, self._output.command
        self._output.command, self.commands = self._command, self._output.topic

    def _command(self, torque, stamp=None, held=False):
        self._send(torque, stamp, held)
        message = deserialize_message(self.writer.write(torque), Float64MultiArray)
        since = 0 if stamp is None else stamp - EPOCH
        # a command that answers no state has the stamp of a clock that is not scripted
        self._sent(message.data.tolist(), since if abs(since) < 10 ** 11 else 0)

    def destroy(self):
        """Close the topics."""
        self.guard.destroy()
        self._output.destroy()


class NodeHost:
    """
    The control cycle of a node, driven turn by turn.

    Parameters
    ----------
    robot : str
    setup : dict
        As of `ControllerHost`; besides, as node, parameters, and simulated for use_sim_time.
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
        changes = dict(setup.get('node', {}))
        simulated = changes.pop('simulated', False)
        node.set_parameters([Parameter('use_sim_time', value=simulated)])
        dotted = {name.replace('.', '_'): name for name in
                  (row.name for row in parameters(ControllerSettings))}
        self._values = values = with_values(ControllerSettings(), {
            **_SHORT, **{dotted[name]: value for name, value in changes.items()}})
        self.inner = ControllerHost(robot, {**setup, 'parameters': {
            name: value for name, value in named(values.control).items()
            if name.startswith(_OF_STATES)}}, simulated=values.lockstep or simulated)
        self._time = clock
        self.components = _Wiring(node, self.inner.controller, values, _States(clock), sent)
        self.joints, names = self.components.writer.message.joints, list(self.inner.names)
        self.effort_limit = self.inner.effort_limit[[names.index(each) for each in self.joints]]
        self._open_guard()

    def destroy(self):
        """Close the topics."""
        for part in (self.components, *self._twins):
            part.destroy()
        for publisher in self._publishers:
            self._guard_node.destroy_publisher(publisher)

    # --- requests ---------------------------------------------------------------------------

    def turn(self):
        """Answer the next state, or act on its absence."""
        self.components.cycle.run_once()

    def request(self, name, now, arguments):
        """Make a request; return the answer."""
        own = {'activate': self.components.activation.activate, 'shutdown': self._shut_down,
               'guard': self._guard_state, 'slow_law': self._slow_down,
               'guard_commands': self._guard_commands, 'break': self._break}
        if name not in own:
            return self.inner.request(name, self.components.law_clock.law_time(), arguments)
        try:
            own[name](**arguments)
        except RobodynError as error:
            return f'{type(error).__name__}: {error}'
        return 'done'

    def _shut_down(self, effort='hold'):
        self._values = replace(self._values, shutdown_effort=effort)
        self.components.shutdown.run(self._values)

    def _break(self):
        """Make every cycle that answers raise from now on."""
        self._ahead_of_cycles(_defect)

    def _slow_down(self, seconds):
        """Make the next cycle that answers take some seconds."""
        def late():
            del self.inner.controller.host.run
            self._time.sleep(seconds)
        self._ahead_of_cycles(late)

    def _ahead_of_cycles(self, call):
        """Let something happen ahead of each cycle whose torque may be sent."""
        host = self.inner.controller.host
        run = host.run

        def delayed(kind, now):
            if kind != REQUESTS and (kind < REQUESTS or host.state.permitted):
                call()
            return run(kind, now)
        host.run = delayed

    def status(self):
        """Return what must be equal after every command and turn."""
        cycle, states, guard = self.components.cycle, self.components.states, self.components.guard
        return {**self.inner.status(), 'active': cycle.active, 'coasting': cycle.coasting,
                'complete': states.complete, 'problem': states.problem,
                'refused': states.refused, 'late': int(cycle.statistics.late),
                'guard': guard.summary, 'guard_commands': guard.turns.guard_commands,
                'complaint': bool(guard.problem)}

    # --- the guard --------------------------------------------------------------------------

    def _open_guard(self):
        node, guard = self._guard_node, self._values.guard.name
        topics = ((Header, f'{guard}/state', qos.latched()),
                  (Float64MultiArray, self.components.commands, qos.reliable()))
        self._publishers = [node.create_publisher(*each) for each in topics]
        self._twins = [PolledSubscription(node, *each) for each in topics]

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


def _defect():
    raise RuntimeError('a defect')
