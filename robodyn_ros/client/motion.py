"""Motion to a position, from rest to rest: sent as a trajectory, and its end awaited."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.client.arguments import joint_rows, require
from robodyn_ros.client.connection import Connection
from robodyn_ros.control.mode import Mode
from robodyn_ros.exceptions import ArgumentError, StateError, TrajectoryError
from robodyn_ros.nodes.conversions import point
from robodyn_ros.nodes.trajectories.stream_input import TRAJECTORY
from robodyn_ros.trajectory import least_duration

_LEAST = 0.6      # s, shortest motion without a given duration
_BEGUN = 2.0      # s after which a motion is under way, also on a busy machine
_LATE = 0.5       # s after the end of a motion until the last reference has arrived
_POLL = 0.01      # s between two checks
_NEAR, _STILL = 1e-3, 1e-4  # rad or m, and rad/s or m/s: reference at rest at the goal
_TINY, _HUGE = 1e-6, 1e6  # of times and velocities


def move(connection: Connection, q: ArrayLike, duration: float | None, speed: float) -> None:
    """Move to a position, and wait; arguments and errors as of `Arm.move`."""
    rows = joint_rows('q', q, connection.joint_names)
    if len(rows) > 1:
        raise ArgumentError(f'q has {len(rows)} rows: give one position, or use `stream`')
    require('speed', speed, _TINY, _HUGE, 'a number above 0, in rad/s or m/s')
    if duration is not None:
        require('duration', duration, _TINY, _HUGE, 'a time above 0, in s')
    goal, start = rows[0], connection.state
    zero = np.zeros_like(goal)
    if duration is None:
        duration = max(_LEAST, least_duration(zero + speed, goal - start.reference, 1.0))
    before = dict(connection.diagnostics or connection.next_diagnostics())
    sent, begun = connection.clock, time.monotonic()
    connection.send([point(goal, zero, zero, time=duration)], frame=TRAJECTORY)
    while connection.clock - sent < duration or not _rests_at(connection, goal):
        connection.wait(lambda: False, _POLL)
        connection.require_alive()
        since = connection.reported - begun
        if since >= 0.0:
            _require_under_way(connection, before, since, goal)


def _require_under_way(connection: Connection, before: dict[str, str], since: float,
                       goal: NDArray) -> None:
    """
    Raise an error if the controller has refused or ended the motion.

    before: diagnostics before the motion. since: time from its begin to the newest ones, s.
    """
    now = connection.diagnostics
    if now.get('trajectories refused') != before.get('trajectories refused'):
        raise TrajectoryError(f'the controller refused: {now.get("last refusal")}')
    if fault := now.get('fault'):
        raise StateError(f'the controller has a fault: {fault}')
    # at a lower speed, or paused, it is still on its way
    if (since > _BEGUN and now.get('mode') != Mode.TRACK.value
            and not connection.wait(lambda: _rests_at(connection, goal), _LATE)):
        raise StateError('the motion has ended elsewhere: '
                         f'{now.get("last motion") or "see the log of the controller"}')


def _rests_at(connection: Connection, goal: NDArray) -> bool:
    """Return whether the reference is at rest at the goal."""
    reference = connection.reference
    # a continuous joint may rest one turn away
    away = (reference.position - goal + math.pi) % (2.0 * math.pi) - math.pi
    return bool(np.abs(away).max() < _NEAR and np.abs(reference.velocity).max() < _STILL)
