"""Triangles of an arm: meshes, primitives, and capsules for bodies without shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import trimesh

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model import RobotModel
from robodyn_ros.view.visuals import find_mesh, Visual

GREY = (0.62, 0.65, 0.69, 1.0)
_SMOOTH = 0.6     # rad; edges with a larger angle are drawn sharp
_SLENDER = 0.12   # ratio of radius to length of a capsule
_MIN_SIZE = 1e-6  # m
_MAX_TRIANGLES = 300_000  # of a file; of a larger one the convex hull is drawn
_MAX_BYTES = 32 * 2**20   # of a file; a reader takes some ten times as much memory
_MAX_TOTAL = 3_000_000    # triangles of an arm
_MAX_SHAPES = 500  # of an arm, and as many capsules; each takes milliseconds


class Surface(NamedTuple):
    """
    Triangles that move with a body.

    Attributes
    ----------
    body : int
        Index in the model, -1 for the base.
    vertices, faces : (n, 3) array of float, (m, 3) array of int
        Triangles in the frame of the body (m).
    color : tuple of float
        Red, green, blue and opacity, 0 to 1.

    """

    body: int
    vertices: np.ndarray
    faces: np.ndarray
    color: tuple[float, ...]


def arm_surfaces(model: RobotModel, visuals: Sequence[Visual], folder: Path | None = None
                 ) -> tuple[list[Surface], list[str]]:
    """
    Return the surfaces of an arm, and messages about shapes that are not drawn.

    A body with a missing mesh, or without a shape, is drawn as capsules from its joint to the next
    ones. Shapes above the limits of shapes and triangles are left out.

    Parameters
    ----------
    model : RobotModel
        Model of the arm.
    visuals : sequence of Visual
        Shapes; those of links outside the model are left out.
    folder : Path, optional
        Folder of the URDF; None: it came from the network, see `find_mesh`.

    """
    surfaces, problems, lacking, triangles = [], [], set(), 0
    visuals = [visual for visual in visuals if visual.link in model.links]
    for k, visual in enumerate(visuals):
        if k == _MAX_SHAPES or triangles > _MAX_TOTAL:
            problems.append(f'{len(visuals) - k} shapes of {len(visuals)} are left out: at most '
                            f'{_MAX_SHAPES} shapes and {_MAX_TOTAL} triangles are drawn')
            break
        frame = model.links[visual.link]
        pose = frame.compose(visual.rotation, visual.translation)
        try:
            for mesh, color in _meshes(visual, folder, problems):
                surfaces.append(Surface(
                    frame.body, mesh.vertices @ pose.rotation.T + pose.translation, mesh.faces,
                    color))
                triangles += len(mesh.faces)
        except ModelError as error:
            problems.append(str(error))
            lacking.add(frame.body)
    without = set(range(-1, model.nb)) - {surface.body for surface in surfaces}
    replacements = (capsule for body in sorted(without | lacking)
                    for capsule in capsules(model, body))
    return surfaces + list(islice(replacements, _MAX_SHAPES)), problems


def _meshes(visual: Visual, folder: Path | None,
            problems: list[str]) -> list[tuple[trimesh.Trimesh, tuple]]:
    """Return triangles in the frame of the visual, with their colours (raises `ModelError`)."""
    if visual.shape == 'mesh':
        return _loaded(find_mesh(visual.file, folder), visual, problems)
    if min(visual.size) < _MIN_SIZE:
        raise ModelError(f'link {visual.link!r}: a {visual.shape} of size {visual.size} m has no '
                         'extent', link=visual.link)
    return [(_primitive(visual.shape, visual.size), visual.color or GREY)]


@lru_cache(maxsize=64)
def _primitive(shape: str, size: tuple[float, ...]) -> trimesh.Trimesh:
    """Return a cached box, cylinder, capsule or sphere, which must not be changed."""
    make = {'box': lambda *edges: trimesh.creation.box(edges),
            'cylinder': trimesh.creation.cylinder, 'capsule': _capsule,
            'sphere': lambda radius: trimesh.creation.icosphere(3, radius)}[shape]
    return _shaded(make(*size))


def _capsule(radius: float, length: float) -> trimesh.Trimesh:
    """Return a capsule along z with its centre at the origin, for all versions of trimesh."""
    mesh = trimesh.creation.capsule(radius=radius, height=length)
    mesh.vertices -= mesh.bounds.mean(axis=0)
    return mesh


def _loaded(path: Path, visual: Visual,
            problems: list[str]) -> list[tuple[trimesh.Trimesh, tuple]]:
    try:
        if (size := path.stat().st_size) > _MAX_BYTES:
            raise ValueError(f'{size / 2**20:.0f} MiB, more than {_MAX_BYTES / 2**20:.0f} MiB: '
                             'reduce its triangles')
        meshes = [mesh for mesh in trimesh.load_scene(path).dump()
                  if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces)]
        colors = [visual.color or _own_color(mesh) for mesh in meshes]
        for mesh in meshes:
            mesh.apply_scale(_unit(mesh) * np.array(visual.size))
        if (count := sum(len(mesh.faces) for mesh in meshes)) > _MAX_TRIANGLES:
            problems.append(f'the mesh {shown(str(path), 200)} has {count} triangles, more than '
                            f'{_MAX_TRIANGLES}: only its convex hull is drawn')
            meshes = [mesh.convex_hull for mesh in meshes]
        shaded = [(_shaded(mesh), color) for mesh, color in zip(meshes, colors)]
    except Exception as error:  # the readers of the formats raise many types
        reason = ' '.join(str(error).split())[:200]
        raise ModelError(f'the mesh {shown(str(path), 200)} cannot be read ({reason})',
                         file=str(path)) from error
    if not shaded:
        raise ModelError(f'the mesh {shown(str(path), 200)} has no triangles', file=str(path))
    return shaded


def _unit(mesh: trimesh.Trimesh) -> float:
    """Return the unit of a mesh in m, 1 if its file has none."""
    return trimesh.units.unit_conversion(mesh.units, 'meters') if mesh.units else 1.0


def _own_color(mesh: trimesh.Trimesh) -> tuple[float, ...]:
    """Return the main colour of a mesh."""
    material = getattr(mesh.visual, 'material', mesh.visual)
    if not getattr(mesh.visual, 'defined', True):
        return GREY
    return tuple(float(x) / 255.0 for x in material.main_color)


def _shaded(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return the mesh with vertices split at sharp edges, for flat shading there."""
    # without its material, which would be copied for every patch between sharp edges
    plain = trimesh.Trimesh(mesh.vertices, mesh.faces)
    return trimesh.graph.smooth_shade(plain, angle=_SMOOTH)


def capsules(model: RobotModel, body: int) -> Iterator[Surface]:
    """Yield a capsule from the origin of a body to each joint on it, or to its last link."""
    ends = [model.translation[child] for child in np.flatnonzero(model.parent == body)]
    if not ends:
        links = [frame.translation for frame in model.links.values() if frame.body == body]
        ends = [max(links, key=np.linalg.norm)]
    for end in ends:
        length = float(np.linalg.norm(end))
        if length < _MIN_SIZE:
            continue
        mesh = _capsule(_SLENDER * length, length)
        turn = trimesh.geometry.align_vectors([0.0, 0.0, 1.0], end)[:3, :3]
        yield Surface(body, mesh.vertices @ turn.T + 0.5 * end, mesh.faces, GREY)
