"""The spring between a point of a link and the pointer that drags it."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.effective_mass import effective_mass
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.view.snapshot import Push

FREQUENCY = 4.0    # rad/s, with the effective mass of the point
DAMPING = 0.7      # damping ratio
STRETCH = 0.4      # m; length at which the force is limited
_IMMOVABLE = 1e4   # ratio to the smallest effective mass above which a mass counts as infinite


class Spring:
    """
    Spring and damper from a point of a body to a target.

    The stiffness is proportional to the effective mass of the point, so that every arm and link
    has the same natural frequency.

    Parameters
    ----------
    dynamics : Dynamics
    body : int
        Index of the body.
    point : (3,) array
        Point in the frame of the body.

    """

    def __init__(self, dynamics: Dynamics, body: int, point: np.ndarray):
        self._dynamics, self._point = dynamics, np.array(point)
        self.link = dynamics.model.body_names[body]

    @classmethod
    def at(cls, dynamics: Dynamics, body: int, position: np.ndarray, q: np.ndarray) -> Spring:
        """Return a spring at a position in the frame of the base, for an arm at `q`."""
        pose = dynamics.forward_kinematics(q, dynamics.model.body_names[body])
        return cls(dynamics, body, pose[:3, :3].T @ (np.asarray(position) - pose[:3, 3]))

    def end(self, q: np.ndarray) -> np.ndarray:
        """Return the position of the point, (3,), in the frame of the base."""
        pose = self._dynamics.forward_kinematics(q, self.link)
        return pose[:3, :3] @ self._point + pose[:3, 3]

    def push(self, q: np.ndarray, qd: np.ndarray, target: np.ndarray) -> Push:
        """Return the wrench on the link for a target in the frame of the base, (3,)."""
        pose = self._dynamics.forward_kinematics(q, self.link)
        R, arm = pose[:3, :3], pose[:3, :3] @ self._point
        linear, angular = np.split(self._dynamics.jacobian(q, self.link), 2)
        J = linear - np.cross(arm, angular, axis=0)  # w x r of each joint
        mass = self._mass(q, J)
        stretch = np.asarray(target) - pose[:3, 3] - arm
        stretch *= min(1.0, STRETCH / max(float(np.linalg.norm(stretch)), 1e-9))
        limit = FREQUENCY ** 2 * STRETCH
        acceleration = FREQUENCY ** 2 * stretch - 2.0 * DAMPING * FREQUENCY * (J @ qd)
        # limited, as delayed damping on a busy machine would be unstable
        force = mass * acceleration * min(
            1.0, limit / max(float(np.linalg.norm(acceleration)), 1e-9))
        return Push(self.link, R.T @ force, R.T @ np.cross(arm, force))

    def _mass(self, q: np.ndarray, J: np.ndarray) -> float:
        """Return the smallest effective mass of the point, at most the mass of the arm."""
        try:
            dynamics = self._dynamics
            lightest = effective_mass(dynamics.mass_matrix(q), J, _IMMOVABLE,
                                      dynamics.model.joint_names).masses[0]
        except ArgumentError:  # the mass matrix is singular
            lightest = np.inf
        return float(min(lightest, self._dynamics.model.mass.sum()))
