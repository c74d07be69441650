"""
Scheduling of the controller node: the control cycle first, then all other work.

A joint state triggers the cycle: the loop waits for it alone and computes the torque at once.
Services, trajectories and periodic tasks run between a torque and the next state. A task that is
due runs in the next gap that is long enough for it, judged by its last durations; without such a
gap it runs after `_LONGEST_WAIT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import math
import time
from typing import Any, TYPE_CHECKING

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from robodyn_ros.control.state import COAST
from robodyn_ros.nodes.containment import contained, serve_once
from robodyn_ros.nodes.polling import WaitSet
from robodyn_ros.nodes.process import StopRequest

if TYPE_CHECKING:
    from robodyn_ros.nodes.controller.node import ControllerNode

_SERVE = 0.01    # s between polls of services and trajectories
_CALLBACKS = 2   # executor calls per request: the second one finds the queue empty
_ATTEMPT = 0.1   # s between two attempts to activate
_DRAIN = 0.2     # s to send the result of the last goal
_LONGEST_WAIT = 0.05  # s, longest delay of a due task
_DECAY = 0.9     # factor of the longest duration after a shorter run


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
    found : bool
        Whether a callback was waiting at the last check.

    """

    _KINDS = ('subscription', 'guard_condition', 'timer', 'client', 'service')

    def __init__(self, node: Node):
        self._node, self.found = node, False
        self._sizes: list[int] = []
        self._wait_set: Any = None

    def ready(self) -> bool:
        """Return whether a callback is waiting."""
        self.wait(0.0)
        return self.found

    def wait(self, timeout: float) -> None:
        """Wait for a callback, at most `timeout` seconds."""
        node = self._node
        entities: tuple[list, ...] = (
            [each for each in node.subscriptions if each.callback_group.can_execute(each)],
            list(node.guards), list(node.timers), list(node.clients), list(node.services))
        sizes = [len(each) for each in entities]
        if sizes != self._sizes:
            self._sizes = sizes
            subscriptions, guards, timers, clients, services = sizes
            context: Any = node.context.handle
            self._wait_set = WaitSet(
                subscriptions, guards, timers, clients, services, 0, context)
        wait_set = self._wait_set
        wait_set.clear_entities()
        for kind, group in zip(self._KINDS, entities):
            add = getattr(wait_set, f'add_{kind}')
            for entity in group:
                add(entity.handle)
        wait_set.wait(int(1e9 * timeout))
        self.found = any(wait_set.get_ready_entities(kind) for kind in self._KINDS)


def work(node: ControllerNode, stop: StopRequest) -> None:
    """Run the node until a signal is received, then bring the arm to rest."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        _loop(node, executor, stop)
    finally:
        try:
            node.deactivate()
        finally:
            if node.components is not None:
                node.components.cycle.stop_native()  # before its topics are destroyed
        _drain(node, executor)
        executor.shutdown(timeout_sec=1.0)


def _loop(node: ControllerNode, executor: SingleThreadedExecutor, stop: StopRequest) -> None:
    probe, serve = CallbackProbe(node), time.monotonic()
    attempt = serve
    while not stop.requested:
        components = node.components
        if components is None:
            serve_once(executor, node.get_logger(), _SERVE)
            continue
        probe.found = False
        components.cycle.run_once(probe.wait)
        components.inputs.poll_feedback()
        components.tasks.run(components.cycle.next_state)
        now = time.monotonic()
        if now >= serve or components.trajectories.has_request or probe.found:
            serve = now + _SERVE
            _serve(node, executor, probe)
        if node.starting and now >= attempt:
            attempt = now + _ATTEMPT
            node.attempt_activation()


def _serve(node: ControllerNode, executor: SingleThreadedExecutor, probe: CallbackProbe) -> None:
    """Publish the progress of motions, and run the callbacks of waiting requests."""
    assert node.components is not None
    trajectories, log = node.components.trajectories, node.get_logger()
    contained(log, trajectories.poll)
    for _ in range(trajectories.pending_callbacks()
                   or _CALLBACKS * (probe.found or probe.ready())):
        serve_once(executor, log)


def _drain(node: ControllerNode, executor: SingleThreadedExecutor) -> None:
    """Send the result of the last goal to its client."""
    if node.components is None:
        return
    trajectories = node.components.trajectories
    trajectories.close()
    if not trajectories.result_pending:
        return
    end = time.monotonic() + _DRAIN  # in full: the middleware needs time for the last message
    while time.monotonic() < end:
        contained(node.get_logger(), trajectories.poll)
        serve_once(executor, node.get_logger())
        time.sleep(COAST)
