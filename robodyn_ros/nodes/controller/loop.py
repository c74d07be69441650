"""
The loop of the controller node: the cycle, and right after it everything else.

A state triggers the cycle: it is waited for alone, and answered at once. Services, trajectories
and periodic tasks have their turn between an answer and the next state.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rclpy.executors import SingleThreadedExecutor

from robodyn_ros.control.state import COAST
from robodyn_ros.nodes.containment import contained, serve_once
from robodyn_ros.nodes.process import StopRequest
from robodyn_ros.nodes.tasks import CallbackProbe

if TYPE_CHECKING:
    from robodyn_ros.nodes.controller.node import ControllerNode

_SERVE = 0.01    # s between looks at services and trajectories
_TURNS = 2       # of an executor for a request: the one after it finds that nothing is left
_ATTEMPT = 0.1   # s between two attempts to activate
_PART = 0.2      # s in which the end of a goal is passed on


def work(node: ControllerNode, stop: StopRequest) -> None:
    """Control until a signal comes, leave in good order."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        _loop(node, executor, stop)
    finally:
        try:
            node.leave()
        finally:
            if node.components is not None:
                node.components.cycle.halt()  # before anything is destroyed that it uses
        _part(node, executor)
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
        components.cycle.turn(probe.wait)
        components.inputs.poll_feedback()
        components.tasks.run(components.cycle.next_state)
        now = time.monotonic()
        if now >= serve or components.trajectories.called or probe.found:
            serve = now + _SERVE
            _serve(node, executor, probe)
        if node.starting and now >= attempt:
            attempt = now + _ATTEMPT
            node.attempt_activation()


def _serve(node: ControllerNode, executor: SingleThreadedExecutor, probe: CallbackProbe) -> None:
    """Pass on how motions stand, and call back for requests that wait."""
    trajectories, log = node.components.trajectories, node.get_logger()
    contained(log, trajectories.look)
    for _ in range(trajectories.turns() or _TURNS * (probe.found or probe.ready())):
        serve_once(executor, log)


def _part(node: ControllerNode, executor: SingleThreadedExecutor) -> None:
    """Let whoever waits for the end of a motion hear of it."""
    if node.components is None:
        return
    trajectories = node.components.trajectories
    trajectories.close()
    if not trajectories.unheard:
        return
    end = time.monotonic() + _PART  # all of it: what is sent last needs time to get out
    while time.monotonic() < end:
        contained(node.get_logger(), trajectories.look)
        serve_once(executor, node.get_logger())
        time.sleep(COAST)
