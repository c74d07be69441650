"""
Periodic tasks and callbacks, run in the gaps between the cycles of a control loop.

A task that is due runs in the next gap that is long enough for it, judged by its last durations;
without such a gap it runs after `_LONGEST_WAIT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import math
import time
from typing import Any

from rclpy.node import Node
from rclpy.subscription import Subscription

from robodyn_ros.nodes.polling import WaitSet

_LONGEST_WAIT = 0.05  # s, longest delay of a due task
_DECAY = 0.9     # factor of the longest duration after a shorter run
_INPUTS = 0.005  # s, least time between two waits that an input ends


class PeriodicTask:
    """
    Task that runs periodically.

    Parameters
    ----------
    act : callable
        The task; without arguments.
    period : float
        Time between two runs, in s.

    Attributes
    ----------
    due : float
        Time of the next run on the steady clock, in s.
    duration : float
        Decaying maximum of the duration of a run, in s.

    """

    def __init__(self, act: Callable[[], None], period: float):
        self._act, self._period = act, period
        self.due, self.duration = -math.inf, 0.0

    def run(self, now: float) -> float:
        """Run the task; return the time of its end."""
        self.due = now + self._period
        self._act()
        end = time.monotonic()
        self.duration = max(end - now, _DECAY * self.duration)
        return end


class PeriodicTasks:
    """
    Tasks that share the gaps of one loop.

    Parameters
    ----------
    tasks : iterable of (callable, float)
        Tasks with their periods, in s.

    """

    def __init__(self, tasks: Iterable[tuple[Callable[[], None], float]]):
        self._tasks = [PeriodicTask(*each) for each in tasks]
        self._next = -math.inf

    def run(self, end: float) -> None:
        """Run the due tasks that are expected to end before a time of the steady clock."""
        now = time.monotonic()
        if now < self._next:
            return
        for task in sorted(self._tasks, key=lambda each: each.due):
            if now < task.due:
                break
            if now + task.duration <= end or now - task.due > _LONGEST_WAIT:
                now = task.run(now)
        self._next = min(task.due for task in self._tasks)


class CallbackProbe:
    """
    Checks whether an executor has a callback to run, faster than the executor itself.

    Parameters
    ----------
    node : Node
        Node whose services, clients, timers, guard conditions and executor-served subscriptions
        are checked.

    Attributes
    ----------
    inputs : sequence of Subscription
        Subscriptions polled by the node, whose messages end a wait too, at most every 5 ms.
    patience : float
        Longest wait, in s.
    found : bool or None
        Whether a callback was waiting at the last check; None if that check is too old.

    """

    _KINDS = ('subscription', 'guard_condition', 'timer', 'client', 'service')

    def __init__(self, node: Node):
        self._node = node
        self.inputs: Sequence[Subscription] = ()
        self.patience = math.inf
        self.found: bool | None = None
        self._due = 0.0
        self._sizes: list[int] = []
        self._wait_set: Any = None

    def ready(self) -> bool:
        """Return whether a callback is waiting, by the last check if that is not too old."""
        if self.found is None:
            self.wait(0.0)
        return bool(self.found)

    def wait(self, timeout: float) -> None:
        """Wait for a callback or an input, at most `timeout` seconds."""
        node, left = self._node, self._due - time.monotonic()
        entities: tuple[list, ...] = (
            [each for each in node.subscriptions if each.callback_group.can_execute(each)],
            list(node.guards), list(node.timers), list(node.clients), list(node.services))
        sizes = [len(each) for each in (*entities, self.inputs)]
        if sizes != self._sizes:
            self._sizes = sizes
            subscriptions, guards, timers, clients, services, inputs = sizes
            context: Any = node.context.handle
            self._wait_set = WaitSet(
                subscriptions + inputs, guards, timers, clients, services, 0, context)
        wait_set = self._wait_set
        wait_set.clear_entities()
        for kind, group in zip(self._KINDS, entities):
            add = getattr(wait_set, f'add_{kind}')
            for entity in group:
                add(entity.handle)
        for entity in self.inputs if left <= 0.0 else ():
            wait_set.add_subscription(entity.handle)
        limit = min(timeout, self.patience)
        wait_set.wait(int(1e9 * (limit if left <= 0.0 else min(limit, left))))
        ready = [pointer for kind in self._KINDS for pointer in wait_set.get_ready_entities(kind)]
        others = set(ready).difference(entity.handle.pointer for entity in self.inputs)
        self.found = bool(others)
        if len(others) < len(ready):
            self._due = time.monotonic() + _INPUTS
