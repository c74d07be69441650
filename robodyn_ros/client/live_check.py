"""Observation of a running arm for `robodyn check --live`, without its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import time
from typing import Any, NamedTuple, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

from robodyn_ros.client.connection import ask
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.controller.report import loop_lines, loop_numbers
from robodyn_ros.nodes.conversions import seconds
from robodyn_ros.nodes.description import wait_for_description
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import init_tool, run, tool_node
from robodyn_ros.nodes.publishers import Commanders, full_name
from robodyn_ros.nodes.qos import newest

_DEPTH = 4000    # messages that can wait
_POLL = 0.1      # s between two polls
_DISCOVERY = 2.0  # s for discovery of all nodes
_TIMEOUT = 3.0   # s for the response of a parameter service
_T = TypeVar('_T')
_JOINT_STATE = 'sensor_msgs/msg/JointState'


class SeenState(NamedTuple):
    """
    One joint state message.

    Attributes
    ----------
    arrived, clock, stamp : float
        Time of arrival on the steady clock and on the system clock, and stamp, in s.
    names : tuple of str
    position, velocity, effort : array
        Values as received; may be empty.

    """

    arrived: float
    clock: float
    stamp: float
    names: tuple[str, ...]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class Seen(NamedTuple):
    """
    Observation of a running arm.

    Attributes
    ----------
    topic : str
        Expected topic of joint states.
    messages : list of SeenState
    publishers : tuple of str
        Nodes that publish joint states there.
    elsewhere : tuple of str
        Other topics with joint states.
    commands : str
        Topic of the commands.
    commanders, guards, listeners : tuple of str
        Nodes that publish commands; guards among them; nodes that subscribe to commands.
    effort_controller : str
        Name of the node that probably executes the commands.
    parameters : dict or None
        Its `joints` and `interface_name`; None if there is no such node, or no response.
    command_joints : tuple of str or None
        Parameter of the controller of this package, if it runs.
    loop : tuple of str
        What it found when it measured the loop, as lines.
    loops : dict
        By joint the numbers of its loop, see `Status.loop_numbers`.
    simulated : bool
        Whether a node publishes `/clock`: stamps may be simulated time.

    """

    topic: str
    messages: list[SeenState]
    publishers: tuple[str, ...]
    elsewhere: tuple[str, ...]
    commands: str
    commanders: tuple[str, ...]
    guards: tuple[str, ...]
    listeners: tuple[str, ...]
    effort_controller: str
    parameters: dict[str, Any] | None
    command_joints: tuple[str, ...] | None
    loop: tuple[str, ...] = ()
    loops: dict[str, dict[str, float]] = {}
    simulated: bool = False


def observe(joint_states: str, commands: str, timeout: float, duration: float,
            on_poll: Callable[[], None] = lambda: None, enclave: str = '',
            namespace: str = '') -> Seen:
    """
    Observe an arm with a node of its own.

    Parameters
    ----------
    joint_states, commands : str
        Topics.
    timeout : float
        Longest wait for the first joint state, in s.
    duration : float
        Duration of the observation from then on, in s.
    on_poll : callable
        Called at every poll.
    enclave : str
        Enclave of SROS 2, see `init_tool`.
    namespace : str
        Namespace of the arm.

    Raises
    ------
    ParameterError
        A topic name is invalid, or there is no such enclave.

    """
    context = rclpy.Context()
    init_tool(enclave, context)
    try:
        node = tool_node('robodyn_check', namespace, context)
        return _observe(node, joint_states, commands, timeout, duration, on_poll)
    except rclpy.exceptions.InvalidTopicNameException as error:
        raise ParameterError(f'{joint_states!r} or {commands!r} is not a valid topic name: '
                             + str(error).partition('\n')[0]) from error
    finally:
        context.try_shutdown()


def description(namespace: str, enclave: str, timeout: float,
                use: Callable[[str], _T]) -> tuple[str, _T]:
    """Return the robot description that the driver publishes, and what was made of it."""
    context = rclpy.Context()
    init_tool(enclave, context)
    try:
        return wait_for_description(tool_node('robodyn_check', namespace, context), timeout, use)
    finally:
        context.try_shutdown()


def _observe(node: Node, joint_states: str, commands: str, timeout: float, duration: float,
             on_poll: Callable[[], None]) -> Seen:
    states = PolledSubscription(node, JointState, joint_states, newest(_DEPTH))
    diagnostics = PolledSubscription(node, DiagnosticArray, '/diagnostics', newest(_DEPTH))
    topic = node.resolve_topic_name(commands)
    begin = time.monotonic()
    messages = _collect(states, begin + timeout, on_poll, first=True)
    if messages:
        messages += _collect(states, max(time.monotonic() + duration, begin + _DISCOVERY), on_poll)
    commanders = Commanders(node, [topic])
    commanders.update()
    effort_controller = topic.rpartition('/')[0]
    own = f'{node.get_namespace().rstrip("/")}/{controller.NAME}'
    found = _parameters(node, own, ['command_joints']) if own in commanders.names else None
    return Seen(
        states.topic, messages, _names(node.get_publishers_info_by_topic(states.topic)),
        _elsewhere(node, states.topic), topic, commanders.names, commanders.guards,
        _names(node.get_subscriptions_info_by_topic(topic)), effort_controller,
        _parameters(node, effort_controller, ['joints', 'interface_name']),
        None if found is None else tuple(found['command_joints'] or ()),
        *(((), {}) if found is None else _measured_loop(diagnostics, own)),
        bool(node.count_publishers('/clock')))


def _collect(states: PolledSubscription, end: float, on_poll: Callable[[], None],
             first: bool = False) -> list[SeenState]:
    """Return the messages until a time, or only the first one."""
    found: list[SeenState] = []
    while (left := end - time.monotonic()) > 0.0 and not (first and found):
        message = states.wait(min(left, _POLL))
        if message is not None:
            found.append(SeenState(
                time.monotonic(), time.time(), seconds(message.header.stamp), tuple(message.name),
                *(np.array(row, dtype=float)
                  for row in (message.position, message.velocity, message.effort))))
        on_poll()
    return found


def _measured_loop(diagnostics: PolledSubscription, own: str
                   ) -> tuple[tuple[str, ...], dict[str, dict[str, float]]]:
    """Return what the controller of a name has found about its loop, as lines and numbers."""
    lines: tuple[str, ...] = ()
    numbers: dict[str, dict[str, float]] = {}
    while (message := diagnostics.wait(0.0)) is not None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if status.name == f'{own}: controller':
                lines, numbers = tuple(loop_lines(values)), loop_numbers(values)
    return lines, numbers


def _parameters(node: Node, name: str, wanted: Sequence[str]) -> dict[str, Any] | None:
    """Return parameters of another node; None if it does not run or does not respond."""
    known = {f'{space.rstrip("/")}/{each}' for each, space in node.get_node_names_and_namespaces()}
    if name not in known:
        return None
    client: Any = node.create_client(GetParameters, f'{name}/get_parameters')
    try:
        if not run(node, client.service_is_ready, _TIMEOUT):
            return None
        found = dict.fromkeys(wanted)
        for each in wanted:  # one by one: a node that lacks one of several returns none
            response = ask(client, GetParameters.Request(names=[each]), partial(run, node),
                           _TIMEOUT)
            if response is None:
                return None
            for value in response.values:
                found[each] = parameter_value_to_python(value)
        return found
    finally:
        node.destroy_client(client)


def _elsewhere(node: Node, topic: str) -> tuple[str, ...]:
    return tuple(name for name, kinds in node.get_topic_names_and_types()
                 if _JOINT_STATE in kinds and name != topic and node.count_publishers(name))


def _names(infos) -> tuple[str, ...]:
    return tuple(sorted(map(full_name, infos)))
