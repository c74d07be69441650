"""A hand on a link: what is dragged with the mouse is pulled by a spring."""

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
_FRESH = 0.15  # s: an arm that was somewhere longer ago is not pulled


class _Held(NamedTuple):
    """Who holds a spring, and where its other end is."""

    client_id: int
    spring: Spring
    target: np.ndarray


class DragForce:
    """
    Pulls the link that is dragged, in a plane that faces the camera.

    Parameters
    ----------
    scene : SceneApi
    dynamics : Dynamics
    arm : DrawnArm
        Whose surfaces can be dragged.
    order : callable
        Takes a `Wrench` while a link is pulled.
    may : callable
        Tells of the id of a client whether it may pull.

    """

    def __init__(self, scene: viser.SceneApi, dynamics: Dynamics, arm: DrawnArm,
                 order: Callable[[Wrench], None], may: Callable[[int], bool]):
        self._dynamics, self._order, self._may = dynamics, order, may
        self._snapshot: Snapshot | None = None
        self._held: _Held | None = None
        self._pulled = ''
        self._line = scene.add_line_segments(
            '/pull', np.zeros((1, 2, 3)), _COLOR, thickness=4.0, thickness_units='screen',
            visible=False)
        for body, mesh in arm.meshes:
            if body >= 0:
                mesh.on_drag('left')(self._dragger(body))

    def _dragger(self, body: int):
        async def drag(event) -> None:  # not a plain function: those may come out of order
            snapshot, held = self._snapshot, self._held
            if held is not None and event.client_id != held.client_id:
                return
            if event.phase == 'end' or snapshot is None or not self._may(event.client_id):
                self._held = None
                return
            if event.phase == 'start' or held is None:
                spring = Spring.at(self._dynamics, body, event.start_position, snapshot.q)
            else:
                spring = held.spring
            self._held = _Held(event.client_id, spring, np.array(event.end_position))
        return drag

    def pull(self, snapshot: Snapshot) -> None:
        """Pull what is held, the arm being like this; to be called many times per second."""
        self._snapshot, held = snapshot, self._held
        able = snapshot.simulated and snapshot.age < _FRESH
        link = held.spring.link if held is not None and able else ''
        # only here, so that the end of a pull cannot overtake the pull
        if self._pulled and self._pulled != link:
            self._order(Wrench(self._pulled, np.zeros(3), np.zeros(3)))
        self._pulled = link
        if link:
            push = held.spring.push(snapshot.q, snapshot.qd, held.target)
            self._order(Wrench(link, push.force, push.moment))

    def draw(self, snapshot: Snapshot) -> None:
        """Show the spring."""
        held = self._held if self._pulled else None
        if held is not None:
            self._line.points = np.array([[held.spring.end(snapshot.q), held.target]],
                                         dtype=np.float32)
        self._line.visible = held is not None
