"""Force on a link that is dragged with the mouse: a spring from a point of it to the pointer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.effective_mass import effective_mass
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.view.snapshot import Push, Snapshot, Wrench

if TYPE_CHECKING:
    import viser

    from robodyn_ros.view.scene import DrawnArm

FREQUENCY = 4.0    # rad/s, with the effective mass of the point
DAMPING = 0.7      # damping ratio
STRETCH = 0.4      # m; length at which the force is limited
_IMMOVABLE = 1e4   # ratio to the smallest effective mass above which a mass counts as infinite
_COLOR = (214, 69, 69)
_FRESH = 0.15  # s; largest age of a state for which forces are applied


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


class _Drag(NamedTuple):
    """A client that drags, with spring and target."""

    client_id: int
    spring: Spring
    target: np.ndarray


class DragForce:
    """
    Applies a force to the dragged link, in the plane that faces the camera.

    Parameters
    ----------
    scene : SceneApi
    dynamics : Dynamics
    arm : DrawnArm
        Arm whose surfaces can be dragged.
    send : callable
        Called with a `Wrench` while a link is dragged.
    may_control : callable
        Function of a client's id that returns whether it may apply forces.

    """

    def __init__(self, scene: viser.SceneApi, dynamics: Dynamics, arm: DrawnArm,
                 send: Callable[[Wrench], None], may_control: Callable[[int], bool]):
        self._dynamics, self._send, self._may_control = dynamics, send, may_control
        self._snapshot: Snapshot | None = None
        self._drag: _Drag | None = None
        self._link = ''  # link with a force
        self._line = scene.add_line_segments(
            '/pull', np.zeros((1, 2, 3)), _COLOR, thickness=4.0, thickness_units='screen',
            visible=False)
        for body, mesh in arm.meshes:
            if body >= 0:
                mesh.on_drag('left')(self._on_drag(body))

    def _on_drag(self, body: int):
        async def update(event) -> None:  # a coroutine, as plain functions may run out of order
            snapshot, drag = self._snapshot, self._drag
            if drag is not None and event.client_id != drag.client_id:
                return
            if event.phase == 'end' or snapshot is None or not self._may_control(event.client_id):
                self._drag = None
                return
            if event.phase == 'start' or drag is None:
                spring = Spring.at(self._dynamics, body, event.start_position, snapshot.q)
            else:
                spring = drag.spring
            self._drag = _Drag(event.client_id, spring, np.array(event.end_position))
        return update

    def apply(self, snapshot: Snapshot) -> None:
        """Send the force of the spring in a state; to be called many times per second."""
        self._snapshot, drag = snapshot, self._drag
        possible = snapshot.simulated and snapshot.age < _FRESH
        drag = drag if possible else None
        link = drag.spring.link if drag is not None else ''
        # zero is sent only here, so that it cannot overtake a force
        if self._link and self._link != link:
            self._send(Wrench(self._link, np.zeros(3), np.zeros(3)))
        self._link = link
        if drag is not None:
            push = drag.spring.push(snapshot.q, snapshot.qd, drag.target)
            self._send(Wrench(link, push.force, push.moment))

    def draw(self, snapshot: Snapshot) -> None:
        """Draw the spring."""
        drag = self._drag if self._link else None
        if drag is not None:
            self._line.points = np.array([[drag.spring.end(snapshot.q), drag.target]],
                                         dtype=np.float32)
        self._line.visible = drag is not None
