"""
Periodic tasks of a control loop, run in the gaps between its cycles.

A task that is due runs in a gap that is long enough for it, judged by how long it took before; one
that waits for such a gap in vain runs nevertheless after a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import math
import time

from rclpy.node import Node

from robodyn_ros.nodes.polling import WaitSet

_LONGEST_WAIT = 0.05  # s that a task may be overdue
_FORGET = 0.9         # part of the longest duration that counts after another run


class PeriodicTask:
    """
    Something to be done again and again.

    Parameters
    ----------
    act : callable
        Does it; takes nothing.
    period : float
        Seconds between two runs.

    Attributes
    ----------
    due : float
        Time of the next run on the steady clock, s.
    duration : float
        Seconds that a run takes: the longest of late.

    """

    def __init__(self, act: Callable[[], None], period: float):
        self._act, self._period = act, period
        self.due, self.duration = -math.inf, 0.0

    def run(self, now: float) -> float:
        """Run it; return the time at which it ended."""
        self.due = now + self._period
        self._act()
        end = time.monotonic()
        self.duration = max(end - now, _FORGET * self.duration)
        return end


class PeriodicTasks:
    """
    Tasks that share the gaps of one loop.

    Parameters
    ----------
    tasks : iterable of (callable, float)
        What each does, and its period in s.

    """

    def __init__(self, tasks: Iterable[tuple[Callable[[], None], float]]):
        self._tasks = [PeriodicTask(*each) for each in tasks]
        self._next = -math.inf

    def run(self, end: float) -> None:
        """Run what is due and, as far as can be foreseen, over at a time of the steady clock."""
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
    Looks whether an executor would have something to do, at a fraction of the cost of asking it.

    Parameters
    ----------
    node : Node
        Its services, clients, timers and guard conditions are looked at, and its subscriptions
        that an executor serves.

    Attributes
    ----------
    found : bool
        Whether a callback waited to be called, at the last look.

    """

    _KINDS = ('subscription', 'guard_condition', 'timer', 'client', 'service')

    def __init__(self, node: Node):
        self._node, self.found = node, False
        self._sizes: list[int] = []
        self._wait_set: WaitSet | None = None

    def ready(self) -> bool:
        """Return whether a callback waits to be called."""
        self.wait(0.0)
        return self.found

    def wait(self, patience: float) -> None:
        """Wait until a callback waits to be called, at most `patience` seconds."""
        node = self._node
        entities = (
            [each for each in node.subscriptions if each.callback_group.can_execute(each)],
            list(node.guards), list(node.timers), list(node.clients), list(node.services))
        sizes = [len(each) for each in entities]
        if sizes != self._sizes:
            self._sizes = sizes
            self._wait_set = WaitSet(*sizes, 0, node.context.handle)
        wait_set = self._wait_set
        wait_set.clear_entities()
        for kind, group in zip(self._KINDS, entities):
            add = getattr(wait_set, f'add_{kind}')
            for entity in group:
                add(entity.handle)
        wait_set.wait(int(1e9 * patience))
        self.found = any(wait_set.get_ready_entities(kind) for kind in self._KINDS)
