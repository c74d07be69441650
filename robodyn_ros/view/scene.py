"""Elements of the scene: the arm, ghost, centre of mass, mass ellipsoid, external forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import trimesh
from viser.transforms import SO3

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.view.overlay import force_arrow, mass_ellipsoid
from robodyn_ros.view.snapshot import Snapshot
from robodyn_ros.view.surfaces import Surface

if TYPE_CHECKING:
    import viser

_VISIBLE = 2e-4  # rad or m; smaller motions are not visible, and not sent
_BALL = trimesh.creation.icosphere(3)


class DrawnArm:
    """
    Surfaces that follow the poses of the bodies.

    Parameters
    ----------
    scene : SceneApi
        Scene of the page.
    dynamics : Dynamics
        Dynamics with the kinematics of the bodies.
    surfaces : sequence of Surface
    name : str
        Name of the root node in the scene.
    color : tuple of int, optional
        Red, green and blue, 0 to 255, of all surfaces, instead of their own.
    opacity : float
        Factor of the opacity of all surfaces.

    Attributes
    ----------
    meshes : list of (int, MeshHandle)
        The drawn surfaces, each with the index of its body.

    """

    def __init__(self, scene: viser.SceneApi, dynamics: Dynamics, surfaces: Sequence[Surface],
                 name: str, color: tuple[int, int, int] | None = None, opacity: float = 1.0):
        self._dynamics = dynamics
        self._root = scene.add_frame(name, show_axes=False)
        self._bodies = [scene.add_frame(f'{name}/{body}', show_axes=False)
                        for body in dynamics.model.body_names]
        self._q: np.ndarray | None = None
        self.meshes: list[tuple[int, viser.MeshHandle]] = []
        for k, surface in enumerate(surfaces):
            parent = f'{name}/{dynamics.model.body_names[surface.body]}' if (
                surface.body >= 0) else name
            *own, own_opacity = surface.color
            total = opacity * own_opacity
            mesh = scene.add_mesh_simple(
                f'{parent}/surface{k}', surface.vertices, surface.faces,
                color=color or tuple(round(255 * x) for x in own),
                opacity=None if total == 1.0 else total, side='double',
                cast_shadow=total == 1.0, receive_shadow=False)
            self.meshes.append((surface.body, mesh))

    @property
    def visible(self) -> bool:
        """Whether the arm is shown."""
        return self._root.visible

    @visible.setter
    def visible(self, value: bool) -> None:
        self._root.visible = value

    def show(self, q: np.ndarray) -> None:
        """Show the arm at positions `q`, (nv,)."""
        if self._q is not None and np.abs(q - self._q).max() <= _VISIBLE:
            return
        self._q = np.array(q)
        for body, name in zip(self._bodies, self._dynamics.model.body_names):
            pose = self._dynamics.forward_kinematics(self._q, name)
            body.wxyz = SO3.from_matrix(pose[:3, :3]).wxyz
            body.position = pose[:3, 3]


class Extras:
    """
    Check boxes, and the elements that they show.

    Parameters
    ----------
    server : ViserServer
    dynamics : Dynamics
    tip : str
        Link whose mass ellipsoid is drawn.

    """

    def __init__(self, server: viser.ViserServer, dynamics: Dynamics, tip: str):
        self._dynamics, self._tip, scene = dynamics, tip, server.scene
        with server.gui.add_folder('Show'):
            add = server.gui.add_checkbox
            self._ghost = add('reference', True, hint='The reference of the controller.')
            self._center = add('centre of mass', False)
            self._mass = add('mass ellipsoid', False, hint=(
                f'The effective mass of {tip} by direction, drawn as length.'))
        self._dot = scene.add_icosphere('/centre_of_mass', 0.025, color=(227, 154, 45),
                                        visible=False)
        self._ellipsoid = scene.add_mesh_simple(
            '/mass_ellipsoid', _BALL.vertices, _BALL.faces, color=(139, 99, 197), opacity=0.35,
            cast_shadow=False, receive_shadow=False, visible=False)
        self._pushes = scene.add_arrows('/pushes', np.zeros((1, 2, 3)), (214, 69, 69),
                                        shaft_radius=0.008, head_radius=0.02, head_length=0.05,
                                        visible=False)

    @property
    def ghost(self) -> bool:
        """Whether the reference is to be shown."""
        return self._ghost.value

    def show(self, snapshot: Snapshot) -> None:
        """Update all elements."""
        if self._center.value:
            self._dot.position = self._dynamics.center_of_mass(snapshot.q)
        self._dot.visible = self._center.value
        self._show_ellipsoid(snapshot)
        self._show_pushes(snapshot)

    def _show_ellipsoid(self, snapshot: Snapshot) -> None:
        found = mass_ellipsoid(self._dynamics, snapshot.q, self._tip) if (
            self._mass.value) else None
        if found is not None:
            self._ellipsoid.position = found.center
            self._ellipsoid.wxyz = SO3.from_matrix(found.rotation).wxyz
            self._ellipsoid.scale = tuple(found.lengths.tolist())
        self._ellipsoid.visible = found is not None

    def _show_pushes(self, snapshot: Snapshot) -> None:
        arrows = []
        for push in snapshot.pushes:
            pose = self._dynamics.forward_kinematics(snapshot.q, push.link)
            tail, force = pose[:3, 3], pose[:3, :3] @ push.force
            if np.linalg.norm(force) > 0.1:
                arrows.append(force_arrow(tail, force))
        if arrows:
            self._pushes.points = np.array(arrows, dtype=np.float32)
        self._pushes.visible = bool(arrows)
