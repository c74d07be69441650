"""An arm behind a running controller: its state, streamed targets, motions and requests."""

from __future__ import annotations

from types import TracebackType
import warnings

from numpy.typing import ArrayLike

from robodyn_ros.client.live import LiveConnection, State
from robodyn_ros.client.motion import move, require, Targets
from robodyn_ros.exceptions import StateError


class Arm:
    """
    A running controller and its arm, used in a `with` block.

    Callbacks run in a thread with a ROS context of its own: the script does not spin, and may use
    ROS besides. At the end of the block the arm holds its position; in a fault, in which the
    controller has stopped it already, a warning has the fault.

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
        self._connection = LiveConnection(namespace, timeout, enclave)
        self.joint_names = self._connection.joint_names
        self._targets = Targets(self._connection)

    def __enter__(self) -> Arm:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.hold()
        except StateError:
            if error is None and not self._warned_of_fault():
                raise
        finally:
            self.close()

    def _warned_of_fault(self) -> bool:
        """Warn of the fault in which a hold is refused; return whether there is one."""
        try:
            fault = self._connection.next_diagnostics().get('fault', '')
        except StateError:  # silent, or closed
            return False
        if fault:
            warnings.warn(f'the controller has stopped the arm by a fault: {fault}; remove its '
                          'cause, and call reset_fault()', stacklevel=3)
        return bool(fault)

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
        self._targets.send(chunk, dt, velocities, stamp)

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
        move(self._connection, q, duration, speed)

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

    # last, as it hides the type in what follows
    def float(self) -> None:  # noqa: A003
        """Compensate gravity: the arm can be guided by hand."""
        self._connection.call('float')
