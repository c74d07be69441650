"""What a script sends: targets of a stream, and motions from rest to rest, which it awaits."""

from __future__ import annotations

from collections.abc import Sequence
import math
from numbers import Real
import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.client.live import LiveConnection
from robodyn_ros.control.arm.stream_inputs import CLOSEST, FURTHEST, MOST_POINTS
from robodyn_ros.control.mode import Mode
from robodyn_ros.exceptions import ArgumentError, shown, StateError, TrajectoryError
from robodyn_ros.nodes.conversions import point
from robodyn_ros.nodes.trajectories.stream_input import STREAM, TRAJECTORY
from robodyn_ros.trajectory import least_duration

_LATEST = 2.0**31 - 1.0  # s, of a stamp
_PAUSE = 0.25            # s without targets, after which those that follow are another stream
_LEAST = 0.6      # s, shortest motion without a given duration
_BEGUN = 2.0      # s after which a motion is under way, also on a busy machine
_LATE = 0.5       # s after the end of a motion until the last reference has arrived
_POLL = 0.01      # s between two checks
_NEAR, _STILL = 1e-3, 1e-4  # rad or m, and rad/s or m/s: reference at rest at the goal
_TINY, _HUGE = 1e-6, 1e6  # of times and velocities


def require(name: str, value: object, least: float, most: float, what: str) -> None:
    """Raise `ArgumentError` unless a number is between two bounds."""
    if not isinstance(value, Real) or not least <= float(value) <= most:
        raise ArgumentError(f'{name} is {shown(value)}: it must be {what}')


def joint_rows(name: str, values: ArrayLike, joint_names: Sequence[str]) -> NDArray:
    """Return (T, nv) numbers; raise `ArgumentError` if they are not."""
    nv, joints = len(joint_names), ', '.join(joint_names)
    try:
        rows = np.atleast_2d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise ArgumentError(f'{name} is {shown(values)}: it must be {nv} numbers, for the joints '
                            f'{joints}') from None
    if rows.ndim != 2 or rows.shape[1] != nv or not len(rows):
        raise ArgumentError(f'{name} must have shape ({nv},) or (T, {nv}), for the joints '
                            f'{joints}; got {np.shape(values)}')
    broken = np.argwhere(~np.isfinite(rows))
    if len(broken):
        k, j = broken[0]
        raise ArgumentError(f"{name}, row {k}, joint '{joint_names[j]}' is {rows[k, j]}: it must "
                            'be a finite number', joint=joint_names[j])
    return rows


class Targets:
    """Sends targets through a connection."""

    def __init__(self, connection: LiveConnection):
        self._connection = connection
        self._begun = self._sent = -math.inf  # times of the first and last targets of the stream

    def send(self, chunk: ArrayLike, dt: float, velocities: ArrayLike | None,
             stamp: float | None) -> None:
        """Send targets; arguments and errors as of `Arm.stream`."""
        names = self._connection.joint_names
        rows = joint_rows('chunk', chunk, names)
        speeds = [()] * len(rows) if velocities is None else joint_rows(
            'velocities', velocities, names)
        if len(speeds) != len(rows):
            raise ArgumentError(f'velocities have {len(speeds)} rows, the chunk has {len(rows)}')
        if len(rows) > MOST_POINTS:
            raise ArgumentError(f'the chunk has {len(rows)} rows, more than {MOST_POINTS}: send '
                                'the next ones only')
        require('dt', dt, CLOSEST, FURTHEST / len(rows), 'the time from one target to the next '
                f'in s, above 0, with the last one {FURTHEST:g} s ahead at most')
        if stamp is not None:
            require('stamp', stamp, 0.0, _LATEST, 'a time in s, such as that of a state')
        self._require_followed()
        self._connection.send(
            names, [point(q, qd, time=dt * k) for k, (q, qd) in enumerate(zip(rows, speeds), 1)],
            stamp, STREAM)

    def _require_followed(self) -> None:
        """Raise `StateError` if the controller does not follow the targets sent last."""
        self._connection.require_alive()
        reported, now = self._connection.diagnostics, time.monotonic()
        if fault := reported.get('fault'):
            raise StateError(f'the controller has a fault: {fault}; remove its cause and call '
                             '`reset_fault`')
        if now - self._sent > _PAUSE:
            self._begun = now
        stream = reported.get('stream', '')
        if stream.startswith('not followed') and self._connection.reported > self._begun:
            raise StateError(f'the stream is {stream}')
        self._sent = now


def move(connection: LiveConnection, q: ArrayLike, duration: float | None, speed: float) -> None:
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
    connection.send(connection.joint_names, [point(goal, zero, zero, time=duration)],
                    frame=TRAJECTORY)
    while connection.clock - sent < duration or not _rests_at(connection, goal):
        connection.wait(lambda: False, _POLL)
        connection.require_alive()
        since = connection.reported - begun
        if since >= 0.0:
            _require_under_way(connection, before, since, goal)


def _require_under_way(connection: LiveConnection, before: dict[str, str], since: float,
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


def _rests_at(connection: LiveConnection, goal: NDArray) -> bool:
    """Return whether the reference is at rest at the goal."""
    reference = connection.reference
    # a continuous joint may rest one turn away
    away = (reference.position - goal + math.pi) % (2.0 * math.pi) - math.pi
    return bool(np.abs(away).max() < _NEAR and np.abs(reference.velocity).max() < _STILL)
