"""Speed of motions along their path: scaling and pause."""

from __future__ import annotations

from numbers import Real

from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.request_writer import require_ready
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.steps import modes
from robodyn_ros.exceptions import ArgumentError, shown


class PathSpeed:
    """
    Scales the speed of trajectories and of motions to a pose; stops are not scaled.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.

    Attributes
    ----------
    scaling : float
        Requested part of the speed, 0 to 1.
    paused : bool
        Whether motions are paused.

    """

    def __init__(self, arm: ControlledArm, status: Status):
        self._arm, self._status = arm, status
        self.scaling, self.paused = 1.0, False

    def scale(self, scaling: float) -> None:
        """
        Scale the speed, now and for motions that follow.

        Raises `ArgumentError` unless the factor is a number from 0 to 1.
        """
        if not isinstance(scaling, Real) or not 0.0 <= scaling <= 1.0:
            raise ArgumentError(f'the speed scaling is {shown(scaling)}; send a factor from 0 to '
                                '1, such as 0.5 for half of the speed')
        self.scaling = float(scaling)
        self._write()

    def pause(self) -> None:
        """Bring motions to rest on their path; raises `StateError` if the arm is not active."""
        require_ready(self._status)
        self.paused = True
        self._write()

    def resume(self) -> None:
        """Continue motions on their path; raises `StateError` if the arm is not active."""
        require_ready(self._status)
        self.release()

    def release(self) -> None:
        """End a pause."""
        self.paused = False
        self._write()

    @property
    def rate(self) -> float:
        """Return the present part of the speed of a trajectory; otherwise the requested one."""
        m = self._arm.memory.motion
        return float(m.time.rate if m.mode == modes.TRACK else self._requested)

    @property
    def text(self) -> str:
        """Return the present part of the speed as text."""
        return f'{100.0 * self.rate:.0f} %' + (' (paused)' if self.paused else '')

    @property
    def _requested(self) -> float:
        return 0.0 if self.paused else self.scaling

    def _write(self) -> None:
        self._arm.program.motion.time.scaling[()] = self._requested
        self._arm.host.apply()
