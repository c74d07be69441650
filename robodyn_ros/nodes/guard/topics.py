"""Topics of a guard: controller, joint states, torques and its own state."""

from __future__ import annotations

from collections import Counter
from itertools import chain
import time

from geometry_msgs.msg import InertiaStamped, Vector3Stamped
import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateSample, JointStateWriter
from robodyn_ros.nodes.command_writer import CommandWriter
from robodyn_ros.nodes.conversions import (
    gravity_from, in_seconds, JointStateAssembler, payload_from)
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.polling import Heard, PolledSubscription
from robodyn_ros.nodes.publishers import full_name, publisher_names, send
from robodyn_ros.safety import Guard, GuardState, Phase
from robodyn_ros.safety.acceptance import Age, REQUESTS
from robodyn_ros.safety.state_judge import StateJudge

_PHASES = {phase.value: phase for phase in Phase}
_HEARTBEATS = 50    # that can wait
_PAUSE = 1.0        # s between two log lines about loads: floods must not hold the guard up
_ACKNOWLEDGE = 0.2  # s to wait for the acknowledgement of the last messages
_LONGEST = 0.25  # s, pause of the guard that is no silence of the states


class ControllerMonitor:
    """
    Subscriptions of the controller's heartbeat and torque, and of payload and gravity.

    Parameters
    ----------
    node : Node
        The guard node.
    model : RobotModel
        Model of the arm.
    values : GuardSettings
        Parameters of the guard.
    writer : CommandWriter
        Writer of the commands, which reads those of the controller.

    Attributes
    ----------
    stamp : Time or None
        Stamp of the newest heartbeat.

    """

    def __init__(self, node: Node, model: RobotModel, values: GuardSettings,
                 writer: CommandWriter):
        self._log, self._base, name = node.get_logger(), model.base_link, values.controller
        self._node, self._named = node, set[bytes]()
        # of several controllers: the newest heartbeat of each
        self._heartbeats = PolledSubscription(
            node, Header, f'{name}/heartbeat', qos.reliable(_HEARTBEATS))
        self._commands = PolledSubscription(
            node, writer.message.type, values.command.effort_command_topic, qos.newest())
        self._payload = PolledSubscription(node, InertiaStamped, f'{name}/payload',
                                           qos.reliable(10))
        self._gravity = PolledSubscription(node, Vector3Stamped, f'{name}/gravity',
                                           qos.reliable(2))
        self._writer, self._command = writer, None
        self.stamp = None

    def torque(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray | None:
        """Return the torque of the last command in a state, (nv,); None if there is none."""
        try:
            return None if self._command is None else self._writer.torque_of(self._command, q, qd)
        except ArgumentError:
            return None

    def poll(self, guard: Guard, torque: GuardTorque) -> None:
        """Take new messages; apply payload and gravity only while no controller handles them."""
        for heartbeat in self._heartbeats.waiting():
            if heartbeat.frame_id in _PHASES:
                guard.heartbeat_received(_PHASES[heartbeat.frame_id], self._heartbeats.source)
                if self._heartbeats.source == guard.source:
                    self.stamp = heartbeat.stamp
        if guard.foreign and guard.foreign not in self._named:
            self._named.add(guard.foreign)
            self._log.warning(
                f'{publisher_names(self._node, self._heartbeats.topic, [guard.foreign])} sends '
                'heartbeats as well, which are ignored: stop the other controller')
        command = None if guard.in_charge else self._commands.take()
        self._command = self._command if command is None else command
        alone = guard.in_charge or not guard.controller_alive
        in_charge = guard.in_charge
        self._poll_load(self._payload, alone,
                        lambda each: torque.set_payload(payload_from(each), in_charge))
        self._poll_load(self._gravity, alone, lambda each: torque.set_gravity(
            gravity_from(each, self._base), in_charge))

    def _poll_load(self, subscription: PolledSubscription, alone: bool, take) -> None:
        message = subscription.take()
        if message is None or not alone:
            return
        try:
            take(message)
            self._log.info(f'applied: {subscription.topic}', throttle_duration_sec=_PAUSE)
        except RobodynError as error:
            self._log.error(f'refused on {subscription.topic}: {error}',
                            throttle_duration_sec=_PAUSE)


class StateSubscriber:
    """
    Subscription of joint states, which are judged as those of a controller.

    Parameters
    ----------
    node : Node
        The guard node.
    dynamics : Dynamics
        Dynamics of the arm.
    values : GuardSettings
        Parameters of the guard.
    usable, scale : (nv,) array
        Effort limits, in N m or N, and effort of messages by torque.

    Attributes
    ----------
    q, qd : (nv,) array
        Last state that was used; the velocity is estimated where positions contradict it.

    """

    def __init__(self, node: Node, dynamics: Dynamics, values: GuardSettings, usable: np.ndarray,
                 scale: np.ndarray):
        self._states = PolledSubscription(node, JointState, 'joint_states', qos.joint_states(),
                                          JointStateDecoder().decode)
        self._ros = node.get_clock() if node.get_parameter('use_sim_time').value else None
        stale = values.stale
        self._judge = judge = StateJudge(dynamics, usable, hold=stale.hold, stop=_LONGEST,
                                         skew=stale.max_skew, slack=stale.jump)
        self._assembler = JointStateAssembler(dynamics.model.joint_names, judge.given.q,
                                              judge.given.qd, judge.given.effort, False,
                                              scale)
        self.q, self.qd = judge.seen.q, judge.seen.qd
        self._source = b''

    @property
    def complete(self) -> bool:
        """Whether a state was used so far."""
        return bool(self._judge.seen.complete)

    def poll(self, sent: np.ndarray | None, timeout: float = 0.0) -> float:
        """
        Take the waiting states, or wait up to `timeout` s; return the kind of cycle that follows.

        sent: last torque, (nv,); None: the guard does not command.
        """
        kind = REQUESTS
        first = self._states.wait(timeout) if timeout else None
        for sample in chain(() if first is None else (first,), self._states.waiting()):
            if self._assembler.read(sample):
                kind = self._received(sample, sent)
        if kind == REQUESTS:  # none of them was a state
            kind = self._judge.judge(time.monotonic(), False, sent)
        return kind

    def bind(self, bound: bool) -> None:
        """Use states of the publisher and in the order of the last one alone, or all of them."""
        self._assembler.keep_order(bound)
        self._states.bound = frozenset([self._source] if bound and self._source else ())

    def age(self) -> Age:
        """Return how old the state is."""
        return self._judge.age(time.monotonic(), self._assembler.problem)

    def _received(self, sample: JointStateSample, sent: np.ndarray | None) -> float:
        clock = time.time() if self._ros is None else 1e-9 * self._ros.now().nanoseconds
        measured = float(self._judge.seen.measured)
        kind = self._judge.judge(time.monotonic(), True, sent, in_seconds(sample.stamp), clock)
        if float(self._judge.seen.measured) != measured:
            self._source = self._states.source
        return kind


class CommandPublisher:
    """
    Publishers of the guard's state and of torques.

    Parameters
    ----------
    node : Node
        The guard node.
    model : RobotModel
        Model of the arm.
    values : GuardSettings
        Parameters of the guard.
    writer : CommandWriter
        Writer of the commands.

    Attributes
    ----------
    command_topic : str
        Full name of the torque topic.

    """

    def __init__(self, node: Node, model: RobotModel, values: GuardSettings,
                 writer: CommandWriter):
        self._node = node
        self._state = node.create_publisher(Header, '~/state', qos.latched())
        self._states = PolledSubscription(node, Header, '~/state', qos.reliable(_HEARTBEATS))
        self._heard = Heard()
        self._writer, self._answered = writer, np.zeros((2, model.nv))  # as of `drive.State`
        writer.follow(self._answered.ravel())
        self._commands = node.create_publisher(
            writer.message.type, values.command.effort_command_topic, qos.reliable())
        self._named = (node.create_publisher(JointState, 'joint_commands', qos.reliable())
                       if values.command.publish_joint_commands else None)
        self.command_topic: str = self._commands.topic_name
        self._joints = JointStateWriter(model.joint_names)
        self._header = Header()
        self._controller = node.resolve_topic_name(values.controller)
        self.new_driver(silent=False)

    def twin(self, now: float) -> str:
        """Return that another guard of this name is there; empty if this one is alone."""
        for _ in self._states.waiting():
            self._heard.add(self._states.source, now)
        count = len(self._heard.recent(now))
        return (f'{count} guards publish on {self._states.topic}: stop all but one'
                if count > 1 else '')

    def publish_state(self, state: GuardState, echo) -> None:
        """Publish the state of the guard, with the stamp of the newest received heartbeat."""
        self._header.frame_id = state.value
        if echo is not None:
            self._header.stamp = echo
        send(self._state, self._header)

    def command(self, torque: np.ndarray, q: np.ndarray, qd, last: bool = False) -> None:
        """
        Publish a torque; named efforts carry the present position as well.

        Parameters
        ----------
        torque : (nv,) array
            Torque, in N m or N.
        q, qd : (nv,) array
            State that it answers; velocity 0 where none is known: drives with a damping use it.
        last : bool
            See `CommandWriter.write`.

        """
        self._answered[0], self._answered[1] = q, qd
        now = self._node.get_clock().now().nanoseconds
        send(self._commands, self._writer.write(torque, now, last))
        if self._named is not None:
            self._joints.position[:], self._joints.effort[:] = q, torque
            send(self._named, self._joints.write(now))

    def new_driver(self, silent: bool) -> str:
        """
        Return the nodes that subscribe to the torques since the states are silent; '' if none.

        One may be a driver that was restarted, whose arm is in another pose: its first torque
        would open the brakes.
        """
        if not silent:
            self._subscribers, self._count, self._new = None, -1, ''
        elif (count := self._commands.get_subscription_count()) != self._count:
            self._count = count
            names = Counter(map(full_name, self._node.get_subscriptions_info_by_topic(
                self.command_topic)))
            del names[self._controller]  # it listens to a guard that commands
            before = names if self._subscribers is None else self._subscribers
            self._new = ', '.join(sorted(names - before)) or self._new
            self._subscribers = before & names
        return self._new

    def wait_until_acknowledged(self) -> None:
        """Wait until the last messages are acknowledged, for a limited time."""
        for publisher in (self._commands, self._state):
            publisher.wait_for_all_acked(Duration(seconds=_ACKNOWLEDGE))
