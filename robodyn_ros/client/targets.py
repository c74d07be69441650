"""Targets of a stream: their checks, and whether the controller follows them."""

from __future__ import annotations

import math
import time

from numpy.typing import ArrayLike

from robodyn_ros.client.arguments import joint_rows, require
from robodyn_ros.client.connection import Connection
from robodyn_ros.control.stream_message import CLOSEST, FURTHEST, MOST_POINTS
from robodyn_ros.exceptions import ArgumentError, StateError
from robodyn_ros.nodes.conversions import point
from robodyn_ros.nodes.trajectories.stream_input import STREAM

_LATEST = 2.0**31 - 1.0  # s, of a stamp
_PAUSE = 0.25            # s without targets, after which those that follow are another stream


class Targets:
    """Sends targets through a connection."""

    def __init__(self, connection: Connection):
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
        self._connection.send([point(q, qd, time=dt * k)
                               for k, (q, qd) in enumerate(zip(rows, speeds), 1)], stamp, STREAM)

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
