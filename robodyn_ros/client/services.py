"""Calls of services whose response may be lost."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

_AGAIN = 1.0  # s; a server on a busy computer may discover the client only after its response


def ask(client, request, wait: Callable[[Callable[[], Any], float], bool], timeout: float,
        once: bool = False, wake: Callable[[Any], None] | None = None) -> Any:
    """
    Return the response of a service, or None after the timeout.

    Discovery is not symmetric: the client can know a server that does not know the client yet, and
    whose response then reaches nobody (ros2/rmw_fastrtps#842). So the request is sent again every
    second.

    Parameters
    ----------
    client : rclpy.client.Client
        Client of a service that is ready.
    request : message
        Of its type.
    wait : callable
        `wait(condition, timeout)` runs callbacks until the condition holds, at most `timeout` s,
        and returns whether it holds.
    timeout : float
        s
    once : bool
        Whether the request may be executed only once.
    wake : callable, optional
        Callback for a response, with its future.

    """
    futures: list = []

    def responded():
        return next((each for each in futures if each.done()), None)

    end = time.monotonic() + timeout
    while (left := end - time.monotonic()) > 0.0:
        futures.append(client.call_async(request))
        if wake is not None:
            futures[-1].add_done_callback(wake)
        if wait(responded, left if once else min(left, _AGAIN)):
            return responded().result()
    return None
