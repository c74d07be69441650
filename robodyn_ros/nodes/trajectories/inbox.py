"""
A thread that takes what may be large, so that the cycle does not wait for it.

Making a Python message of a trajectory takes ten microseconds per point. Here the interpreter can
go on with the cycle meanwhile; what came is then dealt with in the thread of the cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import sys
import threading
import time
import traceback
from typing import Any

from rclpy.action import ActionServer
from rclpy.executors import Executor
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.qos import QoSProfile

from robodyn_ros.nodes.polling import PolledGroup, WaitSet

_SWITCH = 5e-4  # s for which another thread may keep the interpreter from the cycle
_END = 2.0      # s that the thread may take to end
_AGAIN = 0.1    # s until the next attempt after an unexpected error
_FOR_EVER = -1


class Inbox:
    """
    Takes messages of a topic and requests to an action server.

    Parameters
    ----------
    node : Node
        Owns both. Its executor runs what the action server makes of its requests.
    message : type
        Message type.
    topic : str
        Topic name.
    qos : QoSProfile
        Of the topic.
    server : ActionServer, optional
        In a `PolledGroup`, so that no executor waits for it.

    Attributes
    ----------
    called : bool
        Whether something has come; to be set back by who looks.

    """

    def __init__(self, node: Node, message: type, topic: str, qos: QoSProfile,
                 server: ActionServer | None = None):
        sys.setswitchinterval(_SWITCH)
        self._node, self._type, self._server = node, message, server
        self._subscription = node.create_subscription(
            message, topic, _never, qos, callback_group=PolledGroup())
        self._messages: deque[Any] = deque()
        self._closing = self.called = False
        self._wake = GuardCondition(None, None, context=node.context)
        node.context.on_shutdown(self.close)
        self._thread = threading.Thread(target=self._run, daemon=True, name='inbox')
        self._thread.start()

    def deliver(self, receive: Callable[[Any], None]) -> None:
        """Pass on the messages that have come."""
        while self._messages:
            receive(self._messages.popleft())

    def close(self) -> None:
        """End the thread."""
        if not self._closing:
            self._closing = True
            self._wake.trigger()
            self._thread.join(_END)

    def destroy(self) -> None:
        """Unsubscribe."""
        self.close()
        self._node.destroy_subscription(self._subscription)

    def _run(self) -> None:
        while not self._closing:
            try:
                self._wait_and_take()
            except Exception:  # when ROS is shut down meanwhile nobody misses it
                if self._closing or not self._node.context.ok():
                    return
                self._node.get_logger().error(
                    f'a trajectory could not be taken: {traceback.format_exc()}')
                time.sleep(_AGAIN)

    def _wait_and_take(self) -> None:
        server, subscription = self._server, self._subscription.handle
        counts = [1, 1, 0, 0, 0, 0]
        if server is not None:
            more = server.get_num_entities()
            counts = [ours + theirs for ours, theirs in zip(counts, (
                more.num_subscriptions, more.num_guard_conditions, more.num_timers,
                more.num_clients, more.num_services, more.num_events))]
        with subscription, self._wake.handle:
            wait_set = WaitSet(*counts, self._node.context.handle)
            wait_set.clear_entities()
            wait_set.add_subscription(subscription)
            wait_set.add_guard_condition(self._wake.handle)
            if server is not None:
                server.add_to_wait_set(wait_set)
            wait_set.wait(_FOR_EVER)
            if self._closing:
                return
            taken = subscription.take_message(self._type, False)
            if taken is not None:
                self._messages.append(taken[0])
                self.called = True
        if server is not None and server.is_ready(wait_set):
            requests = server.take_data()
            executor: Executor | None = self._node.executor
            if executor is not None:
                executor.create_task(server.execute, requests)
                self.called = True


def _never(_message) -> None:
    raise AssertionError('an executor delivered to an inbox')
