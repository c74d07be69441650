"""Source of a node's robot: a file, a parameter, or the topic `robot_description`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import time
from typing import Any, NamedTuple, TypeVar

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from std_msgs.msg import String

from robodyn_ros.dynamics.cut_off import cut_off
from robodyn_ros.exceptions import ModelError, ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import joint_values
from robodyn_ros.model.source import read_source, read_text
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.publishers import publisher_names
from robodyn_ros.nodes.qos import latched, SOURCES
from robodyn_ros.settings import Numbers, parameter, settings, Texts

TOPIC = 'robot_description'
_T = TypeVar('_T')
_POLL = 0.02    # s between two polls of the topic
_REPEAT = 2.0   # s between two log lines


@settings()
class RobotSettings:
    """Robot of a node."""

    urdf_file: str = parameter(
        '', 'Path of the URDF; has priority over robot_description.', read_only=True)
    robot_description: str = parameter(
        '', 'Text of the URDF. If this and urdf_file are empty, the node waits for the topic '
        'robot_description.', read_only=True)
    description_timeout: float = parameter(
        10.0, 'Time to wait for the topic robot_description.', 's', 0.0, read_only=True)
    base: str = parameter('', 'Link that is the immovable base; empty: the root.', read_only=True)
    tip: str = parameter(
        '', 'Link at the end of the chain of joints that move; empty: all move. Joints off the '
        'chain are locked, and keep their mass.', read_only=True)
    locked: Texts = parameter(
        (), 'Joints to lock, each as joint:position, such as finger_joint:0.02.', 'rad or m',
        kind='string_array', read_only=True)
    gravity: Numbers = parameter(
        (0.0, 0.0, -9.81), 'Gravity in the frame of the base; rotated for an arm on a wall or a '
        'ceiling.', 'm/s^2', read_only=True)
    velocity_limit: Numbers = parameter(
        (), 'Velocity limits in place of those in the URDF, where these are placeholders.',
        'rad/s or m/s', 1e-4, 1e3, per_joint=True, read_only=True)


class Robot(NamedTuple):
    """
    Robot of a node.

    Attributes
    ----------
    model : RobotModel
        Model with base, tip and locked joints applied.
    urdf : str
        Text of the URDF.
    from_topic : bool
        Whether another node publishes that text.

    """

    model: RobotModel
    urdf: str
    from_topic: bool


def load_robot(node: Node, values: RobotSettings, effort_limit: Numbers = ()) -> Robot:
    """
    Return the robot that the parameters describe.

    May wait for the topic; safe inside a callback, because no executor is spun. Warnings of the
    model are logged.

    Parameters
    ----------
    node : Node
        For the topic and the log.
    values : RobotSettings
        Parameters of the robot.
    effort_limit : sequence of float, optional
        Parameter of the effort limits; those above the URDF's raise them, see
        `RobotModel.with_limits`.

    Raises
    ------
    ParameterError
        No description was received, or a parameter is invalid.
    ModelError
        The description or the selection is invalid.

    """
    selection = _selection(values)

    def model_of(source: str | Path) -> RobotModel:
        return RobotModel.from_urdf(source, values.gravity, **selection)

    source = _given(node, values)
    from_topic = source is None
    if source is None:
        source, model = wait_for_description(node, values.description_timeout, model_of)
    else:
        model = model_of(source)
    for warning in model.warnings:
        node.get_logger().warning(warning)
    model, given = model.with_limits(effort_limit, values.velocity_limit), model
    for name in ('effort_limit', 'velocity_limit'):
        changes = ', '.join(f"{old:g} -> {new:g} ('{joint}')" for joint, old, new in zip(
            model.joint_names, getattr(given, name), getattr(model, name)) if old != new)
        if changes:
            node.get_logger().warning(f'{name} of the parameters replaces that of the URDF: '
                                      + changes)
    urdf = source if isinstance(source, str) else source.read_text('utf-8', errors='replace')
    return Robot(model, urdf, from_topic)


def description_of(values: RobotSettings) -> str:
    """Return the text of the URDF in the parameters; raise `ParameterError` if there is none."""
    if values.urdf_file:
        text = read_source(Path(values.urdf_file).expanduser())
        return text if isinstance(text, str) else text.decode('utf-8', 'replace')
    if values.robot_description:
        return values.robot_description
    raise ParameterError('publish_description is set, but the robot came from the topic: set '
                         'urdf_file or robot_description', parameter='publish_description')


def problem_of_tip(robot: Robot, values: RobotSettings) -> str:
    """Return which joint the tip cuts off although it matters, see `cut_off`; '' if none."""
    return cut_off(robot.model, robot.urdf, values.gravity, _selection(values))


def _selection(values: RobotSettings) -> dict[str, Any]:
    """Return base, tip and locked joints as arguments of `RobotModel.from_urdf`."""
    return {'base': values.base or None, 'tip': values.tip or None,
            'locked': joint_values('locked', values.locked)}


def _given(node: Node, values: RobotSettings) -> str | Path | None:
    """Return the robot that the parameters give; None for that of the topic."""
    if values.urdf_file:
        if values.robot_description:
            node.get_logger().info(
                'both urdf_file and robot_description are set: the file is used')
        return Path(values.urdf_file).expanduser()
    if values.robot_description:
        return read_text(values.robot_description, 'parameter robot_description')
    return None


def wait_for_description(node: Node, timeout: float, use: Callable[[str], _T]) -> tuple[str, _T]:
    """
    Return the first useful URDF on the topic `robot_description`, and what was made of it.

    The text is never used as a path. A message that is no use is logged with the reason, and
    waited past: its publisher need not be that of the arm.

    Parameters
    ----------
    node : Node
        For the topic and the log.
    timeout : float
        Longest wait, s.
    use : callable
        Called with the text; raises `ModelError` if it is no use.

    Raises
    ------
    ParameterError
        No useful message was received in time; the text has the publishers, the
        reason of the last refusal, and the remedies.

    """
    subscription = PolledSubscription(node, String, TOPIC, latched(SOURCES))
    logger = node.get_logger()
    start = time.monotonic()
    next_log, refused, reason = start + min(_REPEAT, 0.5), 0, ''
    try:
        while True:
            message = subscription.take()
            if message is not None and message.data.strip():
                try:
                    text = read_text(message.data, f'the message on {subscription.topic}')
                    return text, use(text)
                except ModelError as error:
                    refused, reason = refused + 1, str(error)
                    logger.warning(f'robot description {refused} is no use: {reason}; waiting '
                                   'for another')
            now = time.monotonic()
            if now - start >= timeout:
                break
            if now >= next_log:
                next_log = now + _REPEAT
                logger.info(f'waiting for a robot description on {subscription.topic} '
                            f'({_publishers(node, subscription.topic)}), '
                            f'{timeout - (now - start):.0f} s more')
            time.sleep(_POLL)
    finally:
        subscription.destroy()
    raise ParameterError(
        f'no {"useful " if refused else ""}robot description within {timeout:g} s on '
        f'{subscription.topic} ({_publishers(node, subscription.topic)}): set '
        'the parameter urdf_file or robot_description, or start robot_state_publisher'
        + (f'; {refused} refused, the last one: {reason}' if refused else ''),
        topic=subscription.topic)


def _publishers(node: Node, topic: str) -> str:
    """Return who publishes on a topic, as far as discovery, which takes seconds, has found it."""
    found = node.get_publishers_info_by_topic(topic)
    if not found:
        return 'no publisher found so far'
    names = publisher_names(node, topic, [bytes(each.endpoint_gid) for each in found])
    late = all(each.qos_profile.durability is DurabilityPolicy.VOLATILE for each in found)
    return f'from {names}' + (
        ', which has no durability transient_local and therefore does not reach this node'
        if late else '')
