"""The spring between a point of a link and the pointer that pulls it."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.effective_mass import effective_mass
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.view.snapshot import Push

FREQUENCY = 6.0    # rad/s, of the mass that the point shows to a push
DAMPING = 0.7      # of the critical one
STRETCH = 0.4      # m: pulling further does not pull harder
_IMMOVABLE = 1e4   # a direction that is so much heavier than the lightest one cannot be moved


class Spring:
    """
    Pulls a point of a body towards a target.

    As stiff as the arm is heavy there, so that it feels the same for every arm and every link.

    Parameters
    ----------
    dynamics : Dynamics
    body : int
        Index of the body.
    point : (3,) array
        In its frame.

    """

    def __init__(self, dynamics: Dynamics, body: int, point: np.ndarray):
        self._dynamics, self._point = dynamics, np.array(point)
        self.link = dynamics.model.body_names[body]

    @classmethod
    def at(cls, dynamics: Dynamics, body: int, place: np.ndarray, q: np.ndarray) -> Spring:
        """Return a spring at a place in the frame of the base, where the body is at `q`."""
        pose = dynamics.forward_kinematics(q, dynamics.model.body_names[body])
        return cls(dynamics, body, pose[:3, :3].T @ (np.asarray(place) - pose[:3, 3]))

    def end(self, q: np.ndarray) -> np.ndarray:
        """Return where the point of the body is, (3,), in the frame of the base."""
        pose = self._dynamics.forward_kinematics(q, self.link)
        return pose[:3, :3] @ self._point + pose[:3, 3]

    def push(self, q: np.ndarray, qd: np.ndarray, target: np.ndarray) -> Push:
        """Return what it does to its link, with the other end at a target (base frame)."""
        pose = self._dynamics.forward_kinematics(q, self.link)
        R, arm = pose[:3, :3], pose[:3, :3] @ self._point
        linear, angular = np.split(self._dynamics.jacobian(q, self.link), 2)
        J = linear - np.cross(arm, angular, axis=0)  # w x r of each joint
        mass = self._mass(q, J)
        stretch = np.asarray(target) - pose[:3, 3] - arm
        stretch *= min(1.0, STRETCH / max(float(np.linalg.norm(stretch)), 1e-9))
        most = FREQUENCY ** 2 * STRETCH
        pull = FREQUENCY ** 2 * stretch - 2.0 * DAMPING * FREQUENCY * (J @ qd)
        # a damper that comes too late, on a busy machine, must not throw the arm
        force = mass * pull * min(1.0, most / max(float(np.linalg.norm(pull)), 1e-9))
        return Push(self.link, R.T @ force, R.T @ np.cross(arm, force))

    def _mass(self, q: np.ndarray, J: np.ndarray) -> float:
        """Return the least mass that the point shows; that of the arm if it cannot be moved."""
        try:
            dynamics = self._dynamics
            lightest = effective_mass(dynamics.mass_matrix(q), J, _IMMOVABLE,
                                      dynamics.model.joint_names).masses[0]
        except ArgumentError:  # some joint moves no mass
            lightest = np.inf
        return float(min(lightest, self._dynamics.model.mass.sum()))
