"""
The loop of the controller node: the cycle, and right after it everything else.

A state triggers the cycle: it is waited for alone, and answered at once. Services, trajectories
and diagnostics get their turn right after an answer, while the next state is on its way.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rclpy.executors import SingleThreadedExecutor

from robodyn_ros.nodes.controller.cycle import COAST
from robodyn_ros.nodes.process import StopRequest

if TYPE_CHECKING:
    from robodyn_ros.nodes.controller.node import ControllerNode

_CHORES = 0.01   # s between looks at services, timers and other topics
_ATTEMPT = 0.1   # s between two attempts to activate
_PART = 0.2      # s in which the end of a goal is passed on


def work(node: ControllerNode, stop: StopRequest) -> None:
    """Control until a signal comes, leave in good order."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        _loop(node, executor, stop)
    finally:
        node.leave()
        _part(node, executor)
        executor.shutdown(timeout_sec=1.0)


def _loop(node: ControllerNode, executor: SingleThreadedExecutor, stop: StopRequest) -> None:
    chores = attempt = time.monotonic()
    while not stop.requested:
        wiring = node.wiring
        if wiring is not None:
            wiring.cycle.turn()
            wiring.inputs.poll(time.monotonic())
        now = time.monotonic()
        if now >= chores or wiring is None or wiring.trajectories.called:
            chores = now + _CHORES
            _attend(node, executor)
        if node.starting and now >= attempt:
            attempt = now + _ATTEMPT
            node.attempt_activation()


def _attend(node: ControllerNode, executor: SingleThreadedExecutor) -> None:
    """Do one of the things that wait."""
    if node.wiring is None:
        executor.spin_once(timeout_sec=_CHORES)
        return
    trajectories = node.wiring.trajectories
    trajectories.look()
    for _ in range(trajectories.turns()):
        executor.spin_once(timeout_sec=0.0)
    if node.wiring is not None:  # that may have been its cleanup
        node.wiring.report.tell()


def _part(node: ControllerNode, executor: SingleThreadedExecutor) -> None:
    """Let whoever waits for the end of a motion hear of it."""
    if node.wiring is None:
        return
    trajectories = node.wiring.trajectories
    trajectories.close()
    if not trajectories.unheard:
        return
    end = time.monotonic() + _PART  # all of it: what is sent last needs time to get out
    while time.monotonic() < end:
        _attend(node, executor)
        time.sleep(COAST)
