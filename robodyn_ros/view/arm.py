"""An arm in the scene of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from viser.transforms import SO3

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.view.surfaces import Surface

if TYPE_CHECKING:
    import viser


_VISIBLE = 2e-4  # rad or m; smaller motions are not visible, and not sent


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
