"""The page: arm, reference, torques and plots, and the controls of one client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import threading
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.view.controls import Controls
from robodyn_ros.view.drag_force import DragForce
from robodyn_ros.view.plots import Plots
from robodyn_ros.view.scene import DrawnArm, Extras
from robodyn_ros.view.server import detect_disconnect
from robodyn_ros.view.snapshot import (
    CallService, PageCommand, SetPayload, Snapshot, SubscribeTerms)
from robodyn_ros.view.status import status, torque_bars
from robodyn_ros.view.surfaces import Surface
from robodyn_ros.view.throttle import Throttle

if TYPE_CHECKING:
    import viser

# s between updates, which take a browser longer than those of the arm
_TEXT, _PLOTS = 0.125, 0.25
_GHOST = (240, 150, 40)   # colour of the reference
_GOAL = (46, 158, 91)     # colour of the goal
_APART = 0.01             # rad or m from the arm above which the reference is shown
ANGLE = 0.8               # rad, vertical field of view
_TILE = 0.25              # m
_CAMERA = np.array([1.3, -1.2, 0.6])  # position of the camera, as a part of the reach


class Page:
    """
    Content of the browsers, updated by `show`.

    Parameters
    ----------
    server : ViserServer
    dynamics : Dynamics
    surfaces : sequence of Surface
        Surfaces of the arm.
    tip : str
        Link of the mass ellipsoid and of the payload.
    send : callable
        Called with each `PageCommand`, from threads of the server.
    control : bool
        Whether the first client may send commands; others only watch.
    poses : mapping of str to (nv,) array
        Poses of the menu.
    rate : float
        Frames per second.

    """

    def __init__(self, server: viser.ViserServer, dynamics: Dynamics,
                 surfaces: Sequence[Surface], tip: str, send: Callable[[PageCommand], None],
                 control: bool = False, poses: Mapping[str, np.ndarray] | None = None,
                 rate: float = 30.0):
        self._server, self._dynamics, self._tip, self._send = server, dynamics, tip, send
        self._control, self._poses = control, dict(poses or {})
        self._lock = threading.Lock()
        self._controls: Controls | None = None
        self._payload = SetPayload(tip, 0.0, True)
        self._snapshot: Snapshot | None = None
        self._throttles = [Throttle(period) for period in (
            1.0 / rate, max(_TEXT, 1.0 / rate), max(_PLOTS, 2.0 / rate))]
        self._build_scene(surfaces)
        self._build_panel()
        server.on_client_connect(self._on_connect)
        server.on_client_disconnect(self._on_disconnect)

    def _build_scene(self, surfaces: Sequence[Surface]) -> None:
        scene, dynamics = self._server.scene, self._dynamics
        self._arm = DrawnArm(scene, dynamics, surfaces, '/arm')
        moving = [surface for surface in surfaces if surface.body >= 0]
        self._ghost = DrawnArm(scene, dynamics, moving, '/reference', _GHOST, 0.25)
        self._ghost.visible = False
        if self._control:
            self._goal = DrawnArm(scene, dynamics, moving, '/goal', _GOAL, 0.25)
            self._goal.visible = False
            self._drag_force = DragForce(scene, dynamics, self._arm, self._send,
                                         self._may_control)
        # without a graphics processor, environment map and shadows would occupy a processor
        scene.configure_environment_map(None)
        scene.configure_default_lights(cast_shadow=False)
        scene.add_light_hemisphere('/sky', sky_color=(255, 255, 255),
                                   ground_color=(176, 180, 188), intensity=2.2)
        scene.add_line_segments('/floor', _floor(reach_of(dynamics)), (214, 217, 221),
                                thickness=1.0, thickness_units='screen')
        camera = self._server.initial_camera
        camera.position, camera.look_at = first_view(dynamics)
        camera.fov = ANGLE

    def _build_panel(self) -> None:
        gui, model = self._server.gui, self._dynamics.model
        gui.main_panel.dock_right()
        gui.main_panel.set_width(400)
        self._status = gui.add_html('')
        with gui.add_folder('Torque'):
            self._bars = gui.add_html('')
        # first the joint with the largest gravity torque in a bent pose
        bent = np.clip(np.full(model.nv, 0.5), model.lower, model.upper)
        loaded = int(np.argmax(np.abs(self._dynamics.gravity(bent))))
        self._plots = Plots(gui, model, model.joint_names[loaded],
                            lambda on: self._send(SubscribeTerms(on)))
        self._extras = Extras(self._server, self._dynamics, self._tip)

    def show(self, snapshot: Snapshot) -> None:
        """Show a state, at most at the rate of the page, and apply the force of a drag."""
        self._snapshot = snapshot
        self._plots.add(snapshot)
        if self._control:
            self._drag_force.apply(snapshot)
        controls = self._controls
        if controls is not None:
            controls.teaching.add(snapshot)
        if not self._server.get_clients():
            return
        for throttle, draw in zip(self._throttles, (self._draw_arm, self._draw_text,
                                                    self._plots.draw)):
            if throttle.ready(snapshot.time):
                draw()

    def notify(self, title: str, text: str, good: bool = True) -> None:
        """Show the result of a command to the client that may send commands."""
        controls = self._controls
        if controls is not None:
            controls.notify(title, text, good)

    def _draw_arm(self) -> None:
        snapshot = self._snapshot
        assert snapshot is not None
        with self._server.atomic():
            self._arm.show(snapshot.q)
            self._show_ghost(snapshot)
            self._extras.show(snapshot)
            if self._control:
                self._show_goal()
                self._drag_force.draw(snapshot)

    def _draw_text(self) -> None:
        snapshot = self._snapshot
        assert snapshot is not None
        self._status.content = status(snapshot)
        self._bars.content = torque_bars(self._dynamics.model, snapshot.torque)
        self._assign_control()
        controls = self._controls
        if controls is not None and controls.client_id in self._server.get_clients():
            controls.show(snapshot)

    def _show_ghost(self, snapshot: Snapshot) -> None:
        reference = snapshot.reference
        apart = reference is not None and np.nanmax(np.abs(reference - snapshot.q)) > _APART
        if reference is not None and apart:
            self._ghost.show(reference)
        self._ghost.visible = bool(apart and self._extras.ghost)

    def _show_goal(self) -> None:
        controls = self._controls
        goal = controls.goal if controls is not None else None
        if goal is not None:
            self._goal.show(goal)
        self._goal.visible = goal is not None

    # --- clients ----------------------------------------------------------------------------

    def _may_control(self, client_id: int) -> bool:
        controls = self._controls
        return controls is not None and controls.client_id == client_id

    def _on_connect(self, client: viser.ClientHandle) -> None:
        detect_disconnect(self._server, client.client_id)
        self._assign_control()

    def _on_disconnect(self, client: viser.ClientHandle) -> None:
        with self._lock:
            if self._controls is not None and self._may_control(client.client_id):
                controls, self._controls = self._controls, None
                self._payload = controls.payload
                if controls.teaching.records:  # the arm is not left floating
                    self._send(CallService('hold'))
        if not self._server.get_clients():
            self._plots.hide_terms()
        self._assign_control()

    def _assign_control(self) -> None:
        """Give the controls to the client that connected first, unless another one has them."""
        with self._lock:
            if not self._control or self._controls is not None or self._snapshot is None:
                return
            for _, client in sorted(self._server.get_clients().items()):
                self._controls = Controls(client, self._dynamics, self._poses, self._send,
                                          self._snapshot, self._payload)
                return


def _floor(reach: float) -> np.ndarray:
    """Return the lines of a floor of about twice the reach to each side; (n, 2, 3)."""
    edge = _TILE * np.ceil(2.0 * reach / _TILE)
    ticks = np.linspace(-edge, edge, 2 * round(edge / _TILE) + 1)
    along = np.array([[[x, -edge, 0.0], [x, edge, 0.0]] for x in ticks])
    return np.concatenate([along, along[..., [1, 0, 2]]])


def first_view(dynamics: Dynamics) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return initial position and target of the camera, in the frame of the base."""
    reach = reach_of(dynamics)
    middle = np.array([0.0, 0.0, 0.45 * reach])
    return tuple((middle + reach * _CAMERA).tolist()), tuple(middle.tolist())


def reach_of(dynamics: Dynamics) -> float:
    """Return the approximate reach of the arm (m)."""
    model = dynamics.model
    reach = np.zeros(model.nb + 1)  # the last entry is of the base
    for body, parent in enumerate(model.parent):
        reach[body] = reach[parent] + np.linalg.norm(model.translation[body])
    return max(float(reach.max()), 0.3)
