"""
Main loop of the controller node: the control cycle, then all other work.

A joint state triggers the cycle: the loop waits for it alone and computes the torque at once.
Services, trajectories and periodic tasks run between a torque and the next state.
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

_SERVE = 0.01    # s between polls of services and trajectories
_CALLBACKS = 2   # executor calls per request: the second one finds the queue empty
_ATTEMPT = 0.1   # s between two attempts to activate
_DRAIN = 0.2     # s to send the result of the last goal


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
