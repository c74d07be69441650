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
from typing import Any

from rclpy.action import ActionServer
from rclpy.executors import Executor
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Task

from robodyn_ros.nodes.containment import stack_trace
from robodyn_ros.nodes.polling import PolledGroup, WaitSet

_SWITCH = 5e-4  # s for which another thread may keep the interpreter from the cycle
_END = 2.0      # s that the thread may take to end
_AGAIN = 0.1    # s until the next attempt after an unexpected error
_MESSAGES = 4   # that can wait for the cycle; the oldest gives way
_REQUESTS = 8   # in work; more wait in the middleware, whose queues for goal and cancel are apart
_REPORT = 1.0   # s between two log lines
_SPACING = 0.01  # s from one look to the next that something new asks for
_FOR_EVER = -1


class BackgroundSubscription:
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
        Whether something waits; to be set back by who looks.
    dropped : int
        Messages that gave way to newer ones because the cycle did not get to them.

    """

    def __init__(self, node: Node, message: type, topic: str, qos: QoSProfile,
                 server: ActionServer | None = None):
        sys.setswitchinterval(_SWITCH)
        self._node, self._type, self._server = node, message, server
        self._subscription = node.create_subscription(
            message, topic, _never, qos, callback_group=PolledGroup())
        self._messages: deque[Any] = deque(maxlen=_MESSAGES)
        self._requests: deque[Any] = deque()
        self._tasks: list[Task] = []
        self._closing = self.called = self._held_back = False
        self.dropped = self._reported = 0
        self._report = self._rest = 0.0
        self._wake = GuardCondition(None, None, context=node.context)
        node.context.on_shutdown(self.close)
        self._thread = threading.Thread(target=self._run, daemon=True, name='inbox')
        self._thread.start()

    def deliver(self, receive: Callable[[Any], None]) -> None:
        """Pass on one message and one request at most: the work between two cycles is bounded."""
        now = time.monotonic()
        if self.dropped != self._reported and now >= self._report:
            self._report, self._reported = now + _REPORT, self.dropped
            self._node.get_logger().warning(
                f'{self.dropped} trajectories dropped so far: they come faster than they can be '
                'checked')
        if self._messages or self._requests:
            self._rest, self.called = now + _SPACING, True
        executor: Executor | None = self._node.executor
        self._tasks = [task for task in self._tasks if not task.done()]
        if self._requests and executor is not None:
            self._tasks.append(executor.create_task(self._server.execute,
                                                    self._requests.popleft()))
        if self._held_back and not self._full():
            self._held_back = False
            self._wake.trigger()
        if self._messages:
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
                    f'a trajectory could not be taken: {stack_trace()}')
                time.sleep(_AGAIN)

    def _wait_and_take(self) -> None:
        self._held_back = self._full()
        server, subscription = None if self._held_back else self._server, self._subscription.handle
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
                self.dropped += len(self._messages) == _MESSAGES
                self._messages.append(taken[0])
        ready = server is not None and server.is_ready(wait_set)
        if ready:
            self._requests.append(server.take_data())
        # in a flood the next regular look is soon enough
        if (taken is not None or ready) and time.monotonic() >= self._rest:
            self.called = True

    def _full(self) -> bool:
        """Return whether as many requests wait or are in work as may be."""
        return len(self._requests) + len(self._tasks) >= _REQUESTS


def _never(_message) -> None:
    raise AssertionError('an executor delivered to an inbox')
