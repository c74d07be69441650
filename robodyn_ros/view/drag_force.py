"""Force of a spring on a link that is dragged with the mouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.view.arm import DrawnArm
from robodyn_ros.view.page_commands import Wrench
from robodyn_ros.view.snapshot import Snapshot
from robodyn_ros.view.spring import Spring

if TYPE_CHECKING:
    import viser

_COLOR = (214, 69, 69)
_FRESH = 0.15  # s; largest age of a state for which forces are applied


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
