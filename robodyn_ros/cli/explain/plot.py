"""The picture of a state: torque terms, and both ellipsoids."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robodyn_ros.cli.explain.equation import Equation
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import force_unit, large_unit, small_unit
from robodyn_ros.picture import colour, picture
from robodyn_ros.text import number, shortened

_PLANES = (('x', 'y'), ('x', 'z'), ('y', 'z'))
_LETTERS = 14
_MAX_RATIO = 20.0  # largest ratio of masses that is drawn; longer axes are cut


def plot(model: RobotModel, equation: Equation, path: Path) -> None:
    """
    Write the picture.

    Raises
    ------
    ImportError
        matplotlib is not installed.

    """
    with picture(path, 1, 3, figsize=(18, 6.5), dpi=100) as (figure, axes):
        figure.subplots_adjust(left=0.055, right=0.985, bottom=0.2, top=0.85, wspace=0.2)
        _draw_terms(axes[0], model, equation)
        _draw_masses(axes[1], equation)
        _draw_torques(axes[2], model, equation)
        figure.suptitle(f'{model.name}: torque and ellipsoids of one state', fontsize=15, x=0.055,
                        y=0.96, ha='left')


def _draw_terms(axis, model: RobotModel, equation: Equation) -> None:
    """Draw the stacked terms of each joint, in % of the effort limits if all have one."""
    limit = model.effort_limit
    bounded = bool((np.isfinite(limit) & (limit > 0.0)).all())
    scale = 100.0 / limit if bounded else np.ones(model.nv)
    positions = np.arange(model.nv)
    upper, lower = np.zeros(model.nv), np.zeros(model.nv)
    for k, (name, term) in enumerate(equation.terms.items()):
        term = term * scale
        axis.bar(positions, term, bottom=np.where(term > 0.0, upper, lower), width=0.6,
                 color=colour(k), label=name)
        upper, lower = upper + np.maximum(term, 0.0), lower + np.minimum(term, 0.0)
    axis.plot(positions, equation.torque * scale, 'k_', ms=22, mew=2.5, label='sum')
    axis.axhline(0.0, color='black', lw=0.8)
    force = force_unit(small_unit(model))
    axis.set_ylabel('% of the effort limit' if bounded else force)
    axis.set_title('Terms of the torque')
    axis.set_xticks(positions, [f'{name}\n{number(tau)} {force}' for name, tau in zip(
        _labels(model), equation.torque)], rotation=45 if model.nv > 4 else 0, fontsize=9)
    axis.legend(frameon=False, fontsize=10)


def _draw_masses(axis, equation: Equation) -> None:
    """Draw the outlines of the mass ellipsoid along each axis of the base frame."""
    axis.set_title(f'Effective mass of {equation.link[-24:]}')
    if equation.masses is None or not np.isfinite(equation.masses[0]):
        axis.text(0.5, 0.5, 'a joint moves no mass' if equation.masses is None else
                  'no joint can move it', ha='center', transform=axis.transAxes)
        return
    masses = np.minimum(equation.masses, _MAX_RATIO * equation.masses[0])
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    for k, plane in enumerate(_PLANES):
        rows = ['xyz'.index(name) for name in plane]
        # the outline of a projected ellipsoid is the one of the rows of its half-axes
        left, sizes, _ = np.linalg.svd((equation.mass_axes * masses)[rows])
        outline = left @ (sizes[:, None] * np.array([np.cos(turn), np.sin(turn)]))
        axis.plot(*outline, color=colour(k), lw=2.0, label=f'{plane[0]} to the right, '
                                                           f'{plane[1]} upward')
    if (masses < equation.masses).any():
        axis.text(0.02, 0.02, f'axes longer than {number(masses.max())} kg are cut',
                  transform=axis.transAxes, fontsize=9)
    axis.set_aspect('equal', adjustable='datalim')
    axis.set_xlabel('kg, in the base frame')
    axis.set_ylabel('kg')
    axis.legend(frameon=False, fontsize=10)


def _draw_torques(axis, model: RobotModel, equation: Equation) -> None:
    """Draw the directions of the torque ellipsoid as columns, with the half-lengths below."""
    n = model.nv
    axes = equation.torque_axes * np.sign(
        equation.torque_axes[np.abs(equation.torque_axes).argmax(axis=0), range(n)])
    image = axis.imshow(axes, cmap='RdBu', vmin=-1.0, vmax=1.0, aspect='auto')
    axis.grid(False)
    axis.figure.colorbar(image, ax=axis, label='part of the direction')
    position, force = large_unit(small_unit(model)), force_unit(small_unit(model))
    axis.set_title(f'Torque ellipsoid: {force} for 1 {position}/s^2')
    axis.set_xticks(range(n), [number(size) for size in equation.torque_sizes],
                    rotation=45 if n > 7 else 0)
    axis.set_xlabel(f'half-lengths ({force})')
    axis.set_yticks(range(n), _labels(model), fontsize=9)


def _labels(model: RobotModel) -> list[str]:
    """Return short names of the joints, unique by their numbers."""
    return [f'{j} {shortened(name, _LETTERS)}' for j, name in enumerate(model.joint_names, 1)]
