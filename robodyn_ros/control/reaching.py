"""Poses: from a target for a link to a motion of the reference; and what the link is to press."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.following import Following
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.pose.task_report import TaskReport
from robodyn_ros.exceptions import ArgumentError, ModelError, StateError
from robodyn_ros.safety import ABSURD

_UNIT = 1e-2  # by which the norm of a quaternion may differ from 1


class Reaching(Following):
    """A cycle that can be asked to bring a link to a pose."""

    @property
    def task_gains(self) -> TaskGains:
        """Return the gains of the Cartesian laws."""
        return self._law.task_gains

    @property
    def task(self) -> TaskReport | None:
        """Return what a Cartesian law tells of its link; None while another one is at work."""
        return self._law.task if self._law.law.cartesian and not self._motion.led else None

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return where joint positions have the link, (4, 4) in the base frame."""
        return self._dynamics.forward_kinematics(q, self.task_gains.link)

    def tool_poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the link was seen last, and where its reference is."""
        return self.pose(self._q), self.pose(self.reference.q)

    def reach(self, position, quaternion) -> None:
        """
        Bring the link to a pose, in place of what runs; in any mode that follows references.

        Parameters
        ----------
        position : (3,)
            Of its origin in the base frame, in m.
        quaternion : (4,)
            Its orientation: x, y, z, w.

        Raises
        ------
        ArgumentError
            Not finite numbers, or not a unit quaternion.
        StateError
            The arm may not move.

        """
        values = np.array([*position, *quaternion], dtype=float)
        if values.shape != (7,) or not (np.abs(values) < ABSURD).all():
            raise ArgumentError(f'the target pose is {values.tolist()}; position (x, y, z) and '
                                f'quaternion (x, y, z, w) must be finite numbers below {ABSURD:g}')
        norm = float(np.linalg.norm(values[3:]))
        if not abs(norm - 1.0) <= _UNIT:
            raise ArgumentError(f'the quaternion of the target pose has norm {norm:.4g}; '
                                'normalise it, (0, 0, 0, 1) is no rotation', value=norm)
        self._require_ready()
        self._guests.check_free()
        if self._motion.led:
            self._transition.begin()
        self._motion.reach(rotation_matrix(values[3:] / norm), values[:3])

    def set_task_gains(self, gains: TaskGains) -> None:
        """
        Use other Cartesian gains from the next cycle on; the torque goes over smoothly.

        Raises
        ------
        ParameterError
            They are for another link.

        """
        self._law.task_gains = gains
        self._law.task_stiffness.change(gains.stiffness, self.settings.transition_time)
        if self._law.law.cartesian:
            self._transition.begin()

    def press(self, now: float, link: str, wrench) -> None:
        """
        Let a link apply a wrench, (6,) in its axes, to what it touches.

        It counts for `settings.wrench_timeout` while a Cartesian law is at work. Raises as
        `ExternalWrenches.apply`, StateError in other modes, and ModelError for a wrench that the
        motors could not apply here.
        """
        if not self._law.law.cartesian:
            raise StateError(f'a target wrench counts in the Cartesian modes only, the mode is '
                             f'{self._law.tracking}; set mode to cartesian_impedance or '
                             'operational_space')
        self._require_ready()
        reaction = -np.asarray(wrench, dtype=float)
        self._check_wrench(link, reaction, 'target wrench', 'for it')
        self.target.apply(now, link, reaction, self.settings.wrench_timeout)

    def _check_wrench(self, link: str, wrench, what: str, role: str, remedy: str = '') -> None:
        """Raise `ModelError` for a wrench, (6,), that the motors could not bear here."""
        torque = np.abs(self.wrenches.effect(self._q, link, wrench))
        share = torque / self.bounds.usable
        j = int(np.argmax(share))
        if share[j] > 1.0:
            raise ModelError(
                f"{what} on link {link!r}: joint '{self.model.joint_names[j]}' would need "
                f'{self._effort(j, torque[j])} {role}, its motor may give '
                f'{self._effort(j, self.bounds.usable[j])}{remedy}', link=link)

    def _effort(self, joint: int, value: float) -> str:
        return f'{value:.4g} {self.model.effort_units[joint]}'


def rotation_matrix(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])
