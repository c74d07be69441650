"""An arm behind a running controller: its state, streamed targets, motions and requests."""

from __future__ import annotations

import math
from types import TracebackType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.client.connection import Connection, State
from robodyn_ros.control.mode import Mode
from robodyn_ros.exceptions import ArgumentError, StateError, TrajectoryError
from robodyn_ros.nodes.trajectories.points import point
from robodyn_ros.nodes.trajectories.stream_input import STREAM
from robodyn_ros.trajectory import least_duration

_LEAST = 0.6      # s, shortest motion; a shorter one may count as a part of a stream
_LATE = 2.0       # s after the end of a motion until the reference must rest at the goal
_NEAR, _STILL = 1e-3, 1e-4  # rad or m, and rad/s or m/s: reference at rest at the goal
_LATEST = 2.0**31  # s, stamps are below it


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
        return dict(self._connection.diagnostics)

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
            The controller is silent, or has a fault.

        """
        rows = self._checked('chunk', chunk)
        speeds = () if velocities is None else self._checked('velocities', velocities)
        if velocities is not None and len(speeds) != len(rows):
            raise ArgumentError(f'velocities have {len(speeds)} rows, the chunk has {len(rows)}')
        if not 0.0 < dt < math.inf:
            raise ArgumentError(f'dt is {dt!r}: it must be a time above 0, in s')
        if stamp is not None and not 0.0 <= stamp < _LATEST:
            raise ArgumentError(f'stamp is {stamp!r}: it must be a time in s, such as that of a '
                                'state')
        self._connection.require_alive()
        if fault := self._connection.diagnostics.get('fault'):
            raise StateError(f'the controller has a fault: {fault}; remove its cause and call '
                             '`reset_fault`')
        self._connection.send([point(q, qd, time=dt * k) for k, (q, qd) in enumerate(
            zip(rows, speeds if len(speeds) else [()] * len(rows)), 1)], stamp, STREAM)

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
        rows = self._checked('q', q)
        if len(rows) > 1:
            raise ArgumentError(f'q has {len(rows)} rows: give one position, or use `stream`')
        for name, value in (('speed', speed), ('duration', duration)):
            if value is not None and not 0.0 < value < math.inf:
                raise ArgumentError(f'{name} is {value!r}: it must be a finite number above 0')
        goal = rows[0]
        zero = np.zeros_like(goal)
        start = self.state
        if duration is None:
            duration = max(_LEAST, least_duration(
                np.full_like(goal, speed), goal - start.reference, 1.0))
        before = self._connection.next_diagnostics()
        sent = self._connection.clock
        self._connection.send([point(goal, zero, zero, time=duration)])
        while (elapsed := self._connection.clock - sent) < duration or not self._rests_at(goal):
            self._connection.require_alive()
            now = self._connection.diagnostics
            if now.get('trajectories refused') != before.get('trajectories refused'):
                raise TrajectoryError(f'the controller refused: {now.get("last refusal")}')
            if fault := now.get('fault'):
                raise StateError(f'the controller has a fault: {fault}')
            # at a lower speed, or paused, it is still on its way
            if elapsed > duration + _LATE and now.get('mode') != Mode.TRACK.value:
                end = self._connection.next_diagnostics().get('last motion') or 'see its log'
                raise StateError(f'the motion has ended elsewhere: {end}')
            self._connection.wait(lambda: False, 0.01)

    def speed(self, factor: float) -> None:
        """Scale the speed along the path by a factor from 0 to 1, from now on."""
        self._connection.require_open()
        if not 0.0 <= factor <= 1.0:
            raise ArgumentError(f'the speed factor is {factor!r}: it must be from 0 to 1')
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

    def _checked(self, name: str, values: ArrayLike) -> NDArray:
        """Return (T, nv) numbers; raise `ArgumentError` if they are not."""
        rows, nv = np.atleast_2d(np.asarray(values, dtype=float)), len(self.joint_names)
        if rows.ndim != 2 or rows.shape[1] != nv or not len(rows):
            raise ArgumentError(f'{name} must have shape ({nv},) or (T, {nv}), for the joints '
                                f'{", ".join(self.joint_names)}; got {np.shape(values)}')
        broken = np.argwhere(~np.isfinite(rows))
        if len(broken):
            k, j = broken[0]
            raise ArgumentError(f"{name}, row {k}, joint '{self.joint_names[j]}' is "
                                f'{rows[k, j]}: it must be a finite number',
                                joint=self.joint_names[j])
        return rows

    def _rests_at(self, goal: NDArray) -> bool:
        reference = self._connection.reference
        # a continuous joint may rest one turn away
        away = (reference.position - goal + math.pi) % (2.0 * math.pi) - math.pi
        return bool(np.abs(away).max() < _NEAR and np.abs(reference.velocity).max() < _STILL)

    # last, as it hides the type in what follows
    def float(self) -> None:  # noqa: A003
        """Compensate gravity: the arm can be guided by hand."""
        self._connection.call('float')
