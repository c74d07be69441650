"""
Streams of targets on `~/joint_trajectory`: which messages belong to one, and of which publisher.

The frame_id `stream` or `trajectory` decides. Without it, points that are due at once are targets:
those of MoveIt Servo, and of policies, which often have no time. Points that are due later are
goals, also those that rqt_joint_trajectory_controller sends ten times a second, 0.5 s ahead or
more: each replaces the one before, however far away it is.

One publisher at a time is followed: the first, until it is silent.
"""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.nodes.conversions import seconds, trajectory_points
from robodyn_ros.nodes.publishers import publisher_names

# frame_id of a message that belongs to a stream in any case, and of one that never does
STREAM, TRAJECTORY = 'stream', 'trajectory'
_SHORT = 0.06      # s, time of a single point that is a target in any case, also 0
_LATE = 1.5        # times the duration of a message, until which the next one belongs to it
_LOG = 1.0         # s between two log lines of a kind
_LATEST = 1.0      # s from a stamp to the clock, beyond which the time of arrival counts


class StreamInput:
    """
    Takes messages of streams.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    now, wall : callable
        Law time, and time of the clock of stamps, in s.
    topic : str
        Full name of the topic.

    Attributes
    ----------
    refused : int
        Messages that could not be understood, and that of other publishers.

    """

    def __init__(self, node: Node, controller: ArmController, now: Callable[[], float],
                 wall: Callable[[], float], topic: str):
        self._node, self._controller, self._topic = node, controller, topic
        self._now, self._wall = now, wall
        self.refused = 0
        self._source = b''
        self._under_way = -1.0  # law time until which a short message belongs to the last one

    @property
    def _settings(self):
        return self._controller.settings.stream

    def belongs(self, message: JointTrajectory) -> bool:
        """Return whether a message is one of a stream; others are trajectories of their own."""
        mode, points = self._settings.mode, message.points
        if mode == 'never' or not points or message.header.frame_id == TRAJECTORY:
            return False
        if mode == 'always' or message.header.frame_id == STREAM:
            return True
        now, last = self._now(), points[-1]
        duration = seconds(last.time_from_start)
        origin = self._time_origin(message, now)
        ends = duration if origin is None else origin + duration - now
        if max(ends, duration) >= self._settings.horizon:
            self._under_way = -1.0
            return False
        under_way, self._under_way = now < self._under_way, now + _LATE * max(ends, 0.0)
        moves = any(abs(v) > 0.0 for v in last.velocities)
        # a point with velocities of zero is a goal of its own
        rests = len(last.velocities) > 0 and not moves
        return (self._controller.stream.active or (under_way and not rests) or moves
                or (len(points) == 1 and duration <= _SHORT))

    def take(self, message: JointTrajectory, age: float = 0.0, source: bytes = b'') -> None:
        """
        Take a message of a stream.

        Parameters
        ----------
        message : JointTrajectory
            The message.
        age : float
            Time since its arrival, in s.
        source : bytes
            GID of its publisher.

        """
        stream, now = self._controller.stream, self._now()
        stream.poll(now)
        begins = not stream.active
        if begins:
            self._source = source
        elif source != self._source:
            self.refused += 1
            self._node.get_logger().warning(
                f'two nodes publish targets on {self._topic}: {self._name(self._source)}, which '
                f'is followed, and {self._name(source)}, which is ignored; stop one of them',
                throttle_duration_sec=_LOG)
            return
        try:
            stream.add(now - age, message.joint_names, trajectory_points(message),
                       self._time_origin(message, now))
        except RobodynError as error:
            self.refused += 1
            self._node.get_logger().warning(f'target refused: {error}',
                                            throttle_duration_sec=_LOG)
            return
        if begins and stream.active:
            what = ' and '.join(name for name in ('positions', 'velocities')
                                if len(getattr(message.points[0], name)))
            self._node.get_logger().info(
                f'stream of targets from {self._name(source)}: {len(message.points)} points per '
                f'message, {what}')

    def update(self) -> bool:
        """Follow what was taken; return whether a motion has begun; to be called often."""
        stream = self._controller.stream
        begun = stream.update(self._now())
        for text in stream.notices:
            self._node.get_logger().warning(text)
        stream.notices.clear()
        return begun

    def _time_origin(self, message: JointTrajectory, now: float) -> float | None:
        """Return the law time of the stamp; None without one, or if clocks differ."""
        stamp = seconds(message.header.stamp)
        if not stamp:
            return None
        late = self._wall() - stamp
        if abs(late) <= _LATEST:
            return now - late
        self._node.get_logger().warning(
            f'stamps on {self._topic} are {late:.3g} s before the clock, more than '
            f'{_LATEST:g} s: the time of arrival is used; check time synchronisation',
            throttle_duration_sec=_LOG)
        return None

    def _name(self, source: bytes) -> str:
        """Return the name of the node with a publisher."""
        return publisher_names(self._node, self._topic, [source])
