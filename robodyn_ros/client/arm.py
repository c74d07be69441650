"""An arm behind a running controller: its state, streamed targets, motions and requests."""

from __future__ import annotations

import math
import time
from types import TracebackType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.client.arguments import joint_rows, require
from robodyn_ros.client.connection import Connection
from robodyn_ros.client.state import State
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.stream import FURTHEST, MOST_POINTS
from robodyn_ros.exceptions import ArgumentError, StateError, TrajectoryError
from robodyn_ros.nodes.trajectories.points import point
from robodyn_ros.nodes.trajectories.stream_input import STREAM, TRAJECTORY
from robodyn_ros.trajectory import least_duration

_LEAST = 0.6      # s, shortest motion without a given duration
_BEGUN = 2.0      # s after which a motion is under way, also on a busy machine
_LATE = 0.5       # s after the end of a motion until the last reference has arrived
_NEAR, _STILL = 1e-3, 1e-4  # rad or m, and rad/s or m/s: reference at rest at the goal
_LATEST = 2.0**31 - 1.0  # s, of a stamp
_TINY, _HUGE = 1e-6, 1e6  # of times and velocities
_PAUSE = 0.25     # s without targets, after which those that follow are another stream


class Arm:
    """
    A running controller and its arm, used in a `with` block.

    Callbacks run in a thread with a ROS context of its own: the script does not spin, and may use
    ROS besides. At the end of the block the arm holds its position.

    Parameters
    ----------
    namespace : str
        Namespace of the controller.
    timeout : float
        Time in s for discovery, and for the response of a service.
    enclave : str
        SROS 2 enclave with the keys; '' for none.

    Attributes
    ----------
    joint_names : tuple of str
        Joints of the controller, the order of all arrays.

    Raises
    ------
    StateError
        No joint states or references arrive within `timeout`.

    """

    def __init__(self, namespace: str = '', timeout: float = 10.0, enclave: str = ''):
        self._connection = Connection(namespace, timeout, enclave)
        self.joint_names = self._connection.joint_names
        self._begun = self._sent = -math.inf  # of the stream: its first and last target

    def __enter__(self) -> Arm:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.hold()
        except StateError:
            if error is None:
                raise
        finally:
            self.close()

    def close(self) -> None:
        """End ROS; the arm continues with what was requested last."""
        self._connection.close()

    @property
    def state(self) -> State:
        """Return the newest state; raises `StateError` if none has arrived for a second."""
        return self._connection.state

    @property
    def diagnostics(self) -> dict[str, str]:
        """Return the newest diagnostics of the controller: mode, fault, last refusal, ..."""
        return dict(self._connection.diagnostics or self._connection.next_diagnostics())

    # --- targets ----------------------------------------------------------------------------

    def stream(self, chunk: ArrayLike, dt: float = 0.02, velocities: ArrayLike | None = None,
               stamp: float | None = None) -> None:
        """
        Send one target or a chunk of targets of a stream, blended with those sent before.

        Parameters
        ----------
        chunk : (nv,) or (T, nv) array_like
            Positions at dt, 2 dt, ... after the beginning.
        dt : float
            Time between targets, in s.
        velocities : array_like, optional
            Velocities of the targets, of the same shape; default by interpolation.
        stamp : float, optional
            Beginning, such as the `State.stamp` of the observation that a policy computed the
            chunk from: targets of times that have passed meanwhile are left out. Default the
            arrival of the message.

        Raises
        ------
        ArgumentError
            Wrong shape, or a number that is not finite; the message names the joint.
        StateError
            The controller is silent, has a fault, or does not follow the stream after another
            motion or a hold: it does again when the stream has paused for `stream.timeout`.

        """
        rows = self._rows('chunk', chunk)
        speeds = [()] * len(rows) if velocities is None else self._rows('velocities', velocities)
        if len(speeds) != len(rows):
            raise ArgumentError(f'velocities have {len(speeds)} rows, the chunk has {len(rows)}')
        if len(rows) > MOST_POINTS:
            raise ArgumentError(f'the chunk has {len(rows)} rows, more than {MOST_POINTS}: send '
                                'the next ones only')
        require('dt', dt, _TINY, FURTHEST / len(rows), 'the time from one target to the next in '
                f's, above 0, with the last one {FURTHEST:g} s ahead at most')
        if stamp is not None:
            require('stamp', stamp, 0.0, _LATEST, 'a time in s, such as that of a state')
        self._require_followed()
        self._connection.send([point(q, qd, time=dt * k)
                               for k, (q, qd) in enumerate(zip(rows, speeds), 1)], stamp, STREAM)

    def move(self, q: ArrayLike, duration: float | None = None, speed: float = 0.5) -> None:
        """
        Move to a position, from rest to rest, and wait until the reference is there.

        Parameters
        ----------
        q : (nv,) array_like
            Goal.
        duration : float, optional
            Duration in s; default by `speed`.
        speed : float
            Largest velocity of a joint, in rad/s or m/s.

        Raises
        ------
        ArgumentError
            As `stream`.
        TrajectoryError
            The controller refused the motion; with its reason.
        StateError
            The controller is silent or has a fault, or something else ended the motion.

        """
        rows = self._rows('q', q)
        if len(rows) > 1:
            raise ArgumentError(f'q has {len(rows)} rows: give one position, or use `stream`')
        require('speed', speed, _TINY, _HUGE, 'a number above 0, in rad/s or m/s')
        if duration is not None:
            require('duration', duration, _TINY, _HUGE, 'a time above 0, in s')
        goal, start = rows[0], self.state
        zero = np.zeros_like(goal)
        if duration is None:
            duration = max(_LEAST, least_duration(zero + speed, goal - start.reference, 1.0))
        before, sent, begun = self.diagnostics, self._connection.clock, time.monotonic()
        self._connection.send([point(goal, zero, zero, time=duration)], frame=TRAJECTORY)
        while self._connection.clock - sent < duration or not self._rests_at(goal):
            self._connection.wait(lambda: False, 0.01)
            self._connection.require_alive()
            now, since = self._connection.diagnostics, self._connection.reported - begun
            if since < 0.0:
                continue
            if now.get('trajectories refused') != before.get('trajectories refused'):
                raise TrajectoryError(f'the controller refused: {now.get("last refusal")}')
            if fault := now.get('fault'):
                raise StateError(f'the controller has a fault: {fault}')
            # at a lower speed, or paused, it is still on its way
            if (since > _BEGUN and now.get('mode') != Mode.TRACK.value
                    and not self._connection.wait(lambda: self._rests_at(goal), _LATE)):
                raise StateError('the motion has ended elsewhere: '
                                 f'{now.get("last motion") or "see the log of the controller"}')

    def speed(self, factor: float) -> None:
        """Scale the speed along the path by a factor from 0 to 1, from now on."""
        self._connection.require_open()
        require('the speed factor', factor, 0.0, 1.0, 'a number from 0 to 1')
        self._connection.scale_speed(factor)

    # --- requests: raise StateError if the service does not respond, or refuses --------------

    def hold(self) -> None:
        """Decelerate and hold."""
        self._connection.call('hold')

    def pause(self) -> None:
        """Come to rest on the path."""
        self._connection.call('pause')

    def resume(self) -> None:
        """Continue along the path after `pause`."""
        self._connection.call('resume')

    def reset_fault(self) -> None:
        """Clear a fault whose cause is gone."""
        self._connection.call('reset_fault')
        self._connection.next_diagnostics()  # without the fault

    def _rows(self, name: str, values: ArrayLike) -> NDArray:
        return joint_rows(name, values, self.joint_names)

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

    def _rests_at(self, goal: NDArray) -> bool:
        reference = self._connection.reference
        # a continuous joint may rest one turn away
        away = (reference.position - goal + math.pi) % (2.0 * math.pi) - math.pi
        return bool(np.abs(away).max() < _NEAR and np.abs(reference.velocity).max() < _STILL)

    # last, as it hides the type in what follows
    def float(self) -> None:  # noqa: A003
        """Compensate gravity: the arm can be guided by hand."""
        self._connection.call('float')
