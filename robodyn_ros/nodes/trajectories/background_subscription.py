"""
Subscription that deserializes large messages in a thread, so that the cycle does not wait.

The deserialization of a trajectory takes ten microseconds per point; meanwhile the interpreter can
run the cycle. The messages are processed in the thread of the cycle.
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

_SWITCH = 5e-4  # s for which another thread may hold the interpreter
_END = 2.0      # s, longest for the end of the thread
_RETRY = 0.1    # s until the next attempt after an unexpected error
_MESSAGES = 8   # messages that can wait for the cycle; the oldest is dropped
_REQUESTS = 8   # requests in progress; others wait in the queues of the middleware
_REPORT = 1.0   # s between two log lines
_SPACING = 0.01  # s, least time between two notifications of the cycle
_FOREVER = -1


class BackgroundSubscription:
    """
    Takes messages of a topic and requests of an action server in a thread.

    Parameters
    ----------
    node : Node
        Owner of both; its executor runs the tasks of the action server.
    message : type
        Message type.
    topic : str
        Topic name.
    qos : QoSProfile
        Quality of service of the topic.
    server : ActionServer, optional
        Action server in a `PolledGroup`, so that no executor waits for it.

    Attributes
    ----------
    has_request : bool
        Whether something has arrived; reset by the caller.
    dropped : int
        Messages that were replaced by newer ones before they were delivered.
    age : float
        Time since the arrival of the message that is being delivered, in s.
    source : object
        Identifier of its publisher; None if the middleware does not provide it.

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
        self._closing = self.has_request = self._paused = False
        self.dropped = self._reported = 0
        self.age, self.source = 0.0, None
        self._report = self._next_notice = 0.0
        self._wake = GuardCondition(None, None, context=node.context)
        self._notice = node.create_guard_condition(_notified)  # ends a wait of the node
        node.context.on_shutdown(self.close)
        self._thread = threading.Thread(target=self._run, daemon=True, name='subscription')
        self._thread.start()

    @property
    def topic(self) -> str:
        """Return the full name of the topic."""
        return self._subscription.topic_name

    def deliver(self, receive: Callable[[Any], None]) -> None:
        """Deliver at most one message and one request, which bounds the work between cycles."""
        now = time.monotonic()
        if self.dropped != self._reported and now >= self._report:
            self._report, self._reported = now + _REPORT, self.dropped
            self._node.get_logger().warning(
                f'{self.dropped} messages on {self.topic} dropped so far: they arrive faster than '
                'they can be taken')
        if self._messages or self._requests:
            self._next_notice, self.has_request = now + _SPACING, True
        executor: Executor | None = self._node.executor
        self._tasks = [task for task in self._tasks if not task.done()]
        if self._requests and self._server is not None and executor is not None:
            self._tasks.append(executor.create_task(self._server.execute,
                                                    self._requests.popleft()))
        if self._paused and not self._full():
            self._paused = False
            self._wake.trigger()
        if self._messages:
            message, arrival, self.source = self._messages.popleft()
            self.age = now - arrival
            receive(message)

    def close(self) -> None:
        """Stop the thread."""
        if not self._closing:
            self._closing = True
            self._wake.trigger()
            self._thread.join(_END)

    def destroy(self) -> None:
        """Unsubscribe."""
        self.close()
        self._node.destroy_subscription(self._subscription)
        self._node.destroy_guard_condition(self._notice)

    def _run(self) -> None:
        while not self._closing:
            try:
                self._wait_and_take()
            except Exception:  # expected if ROS is shut down meanwhile
                if self._closing or not self._node.context.ok():
                    return
                self._node.get_logger().error(
                    f'a trajectory could not be taken: {stack_trace()}')
                time.sleep(_RETRY)

    def _wait_and_take(self) -> None:
        self._paused = self._full()
        server, subscription = None if self._paused else self._server, self._subscription.handle
        counts = [1, 1, 0, 0, 0, 0]
        if server is not None:
            more = server.get_num_entities()
            counts = [ours + theirs for ours, theirs in zip(counts, (
                more.num_subscriptions, more.num_guard_conditions, more.num_timers,
                more.num_clients, more.num_services, more.num_events))]
        with subscription, self._wake.handle:
            subscriptions, guards, timers, clients, services, events = counts
            context: Any = self._node.context.handle
            wait_set = WaitSet(
                subscriptions, guards, timers, clients, services, events, context)
            wait_set.clear_entities()
            wait_set.add_subscription(subscription)
            wait_set.add_guard_condition(self._wake.handle)
            if server is not None:
                server.add_to_wait_set(wait_set)
            wait_set.wait(_FOREVER)
            if self._closing:
                return
            taken = subscription.take_message(self._type, False)
            if taken is not None:
                self.dropped += len(self._messages) == _MESSAGES
                publisher = taken[1].get('publisher_gid') or {}
                self._messages.append((taken[0], time.monotonic(), publisher.get('data')))
        ready = server is not None and server.is_ready(wait_set)
        if server is not None and ready:
            self._requests.append(server.take_data())
        # at high rates the next regular poll is soon enough
        if (taken is not None or ready) and time.monotonic() >= self._next_notice:
            self.has_request = True
            self._notice.trigger()

    def _full(self) -> bool:
        """Return whether the number of requests in progress has reached its limit."""
        return len(self._requests) + len(self._tasks) >= _REQUESTS


def _notified() -> None:
    """Do nothing: what has arrived is taken between two cycles."""


def _never(_message) -> None:
    raise AssertionError('an executor delivered to a background subscription')
