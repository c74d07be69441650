"""
Franka arms by Franka's own library, `pylibfranka`.

Commands are torques without gravity, which the robot adds, and its friction compensation. The
library refuses a change of more than 1000 N m/s, see rate_limiting.h of libfranka; states come at
1000 Hz, and each is to be answered within its millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.bridge.loop import Fault, Gone, State

_LIMIT = np.array([87.0] * 4 + [12.0] * 3)  # N m, of FR3 and Panda
_RATE = 0.99  # N m from one state to the next
_DAMPING = 0.1  # s: of the limit, for 1 rad/s


class FrankaArm:
    """
    An arm of Franka.

    Parameters
    ----------
    address : str
        Address of the robot.
    joints : list of str
        Names of the joints.
    realtime : bool
        Whether the library insists on a real-time kernel.

    Attributes
    ----------
    packets, faults : int
        States that were read under control, and faults of it.
    worst : float
        Least success rate that the robot has reported under control.

    Raises
    ------
    ParameterError
        There is no robot at this address, or no library.

    """

    def __init__(self, address: str, joints: list[str], realtime: bool = True):
        self._library = library = _library()
        self.joints, self.damping = joints, _DAMPING * _LIMIT
        self._errors = (library.ControlException, library.CommandException,
                        library.InvalidOperationException)
        config = library.RealtimeConfig
        try:
            self._robot = library.Robot(address, config.kEnforce if realtime else config.kIgnore)
            self._robot.automatic_error_recovery()
        except self._errors:
            pass  # nothing to recover, or it stays: the begin of control tells
        except (library.FrankaException, RuntimeError) as error:
            raise ParameterError(f'no robot at {address}: {error}; is FCI active in Desk, and the '
                                 'address that of the robot?', address=address) from error
        self._control: Any = None
        self._sent = np.zeros(7)
        self.packets, self.faults, self.worst = 0, 0, 1.0

    def _try(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a call of the library; raise `Fault`."""
        try:
            return call(*arguments)
        except self._errors as error:
            self.faults += 1
            self._control = None
            raise Fault(str(error).strip()) from error
        except self._library.NetworkException as error:
            self._control = None
            raise Gone(f'the robot is gone: {error}') from error

    def read(self) -> State:
        """Return the next state, when it comes; raise `Fault`."""
        if self._control is None:
            state = self._try(self._robot.read_once)
        else:
            state, _ = self._try(self._control.readOnce)
            self.packets += 1
            if self.packets % 1000 > 200:  # the rate is that of the last 100 states
                self.worst = min(self.worst, state.control_command_success_rate)
        return State(state.time.to_sec(), state.q, state.dq, state.tau_J)

    def begin(self) -> None:
        """Begin control; raise `Fault`."""
        self._control = self._try(self._robot.start_torque_control)
        self._sent = np.zeros(7)
        self._try(self._control.readOnce)

    def write(self, torque: np.ndarray) -> None:
        """Send a torque, within the limits of torque and rate; raise `Fault`."""
        most = np.clip(torque, -_LIMIT, _LIMIT)
        self._sent = self._sent + np.clip(most - self._sent, -_RATE, _RATE)
        self._try(self._control.writeOnce, self._library.Torques(self._sent.tolist()))

    def release(self) -> None:
        """End control: the robot holds itself."""
        last = self._library.Torques(self._sent.tolist())
        last.motion_finished = True
        self._try(self._control.writeOnce, last)
        self._control = None

    def recover(self) -> None:
        """Clear the fault of the last control; raise `Fault`."""
        self._try(self._robot.automatic_error_recovery)

    def figures(self) -> str:
        """Return figures of the connection, for the log."""
        return (f'{self.packets} states under control, {self.faults} faults, least success rate '
                f'{self.worst:.2f}')


def _library() -> Any:
    try:
        import pylibfranka
    except ImportError as error:
        raise ParameterError(f'the library of Franka is not there: {error}; install it with '
                             '`pip install robodyn_ros[franka]`') from error
    return pylibfranka
