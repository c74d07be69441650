"""Equation of motion of a state: terms and matrices, as data, tables and picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import force_unit, joint_units, large_unit, small_unit
from robodyn_ros.picture import colour, picture
from robodyn_ros.text import number, paragraph, shortened, table, WIDTH

_PLANES = (('x', 'y'), ('x', 'z'), ('y', 'z'))
_LETTERS = 14
_MAX_RATIO = 20.0  # largest ratio of masses that is drawn; longer axes are cut

_COLUMN = 10    # letters of a column of a matrix, with the space before it
_LABEL = 4      # letters of its first column
_ROOM = 19      # letters for a joint in the table of the state; longer names are listed below
_DUST = 1e-12   # part of the largest element below which an element counts as 0
_DOMINANT = 0.3  # part of the largest component from which a joint is named

TERMS = ('inertia', 'centrifugal', 'Coriolis', 'gravity', 'friction')


@dataclass(frozen=True, eq=False)
class Equation:
    """
    Terms and matrices of a state.

    Attributes
    ----------
    q, qd, qdd : (nv,) array
        State.
    mass_matrix, coriolis_matrix : (nv, nv) array
    terms : dict of str to (nv,) array
        Terms of the torque by the names of `TERMS`, N m or N.
    torque : (nv,) array
        Sum of the terms.
    torque_sizes, torque_axes : (nv,), (nv, nv) array
        Half-lengths of the torque ellipsoid, smallest first, and its directions as columns: the
        torques of all accelerations of size 1.
    link : str
        Link of `pose` and `masses`.
    pose : (4, 4) array
        Pose of the link in the base frame.
    masses, mass_axes : (3,), (3, 3) array, or None
        Effective masses of the link in kg, smallest first, infinite where the joints cannot move
        it; directions as columns, in the base frame. None if the mass matrix is singular.

    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    mass_matrix: np.ndarray
    coriolis_matrix: np.ndarray
    terms: dict[str, np.ndarray]
    torque: np.ndarray
    torque_sizes: np.ndarray
    torque_axes: np.ndarray
    link: str
    pose: np.ndarray
    masses: np.ndarray | None
    mass_axes: np.ndarray | None

    @classmethod
    def of(cls, dynamics: Dynamics, link: str, q: np.ndarray, qd: np.ndarray,
           qdd: np.ndarray) -> Equation:
        """Return the equation of a state."""
        model = dynamics.model
        M = dynamics.mass_matrix(q)
        centrifugal, coriolis = dynamics.velocity_forces(q, qd)
        terms = dict(zip(TERMS, (
            M @ qdd, centrifugal, coriolis, dynamics.gravity(q),
            model.friction_torque(qd))))
        masses: np.ndarray | None
        mass_axes: np.ndarray | None
        try:
            _, masses, mass_axes = dynamics.effective_mass(q, link)
        except ArgumentError:
            masses = mass_axes = None
        return cls(q, qd, qdd, M, dynamics.coriolis_matrix(q, qd), terms, sum(terms.values()),
                   *dynamics.torque_ellipsoid(q), link, dynamics.forward_kinematics(q, link),
                   masses, mass_axes)

    def values(self) -> dict[str, Any]:
        """Return all values by name."""
        return {'q': self.q, 'qd': self.qd, 'qdd': self.qdd, 'mass_matrix': self.mass_matrix,
                'coriolis_matrix': self.coriolis_matrix, 'terms': self.terms,
                'torque': self.torque,
                'torque_ellipsoid': {'sizes': self.torque_sizes, 'axes': self.torque_axes},
                'link': self.link, 'pose': self.pose,
                'mass_ellipsoid': {'masses': self.masses, 'axes': self.mass_axes}}


def text(model: RobotModel, equation: Equation) -> list[str]:
    """Return the lines of all tables; the first one has the numbers and names of the joints."""
    position = large_unit(small_unit(model))
    force = force_unit(small_unit(model))
    heads = [str(j) for j in range(1, model.nv + 1)]
    return [
        *_state(model, equation, position, force), *_beyond(model, equation), '',
        f'torque ({force}), joints as numbered above', *_terms(equation, heads), '',
        f'M(q), mass matrix ({_of_matrix(position, "kg m^2", "kg", "kg m")})',
        *matrix(heads, heads, equation.mass_matrix), '',
        f'C(q, qd), Coriolis matrix ({_of_matrix(position, "N m s", "N s/m", "N s")})',
        *matrix(heads, heads, equation.coriolis_matrix), '',
        *_torque_ellipsoid(equation, force, position), '',
        *_mass_ellipsoid(equation)]


def _of_matrix(position: str, turning: str, sliding: str, both: str) -> str:
    """Return the unit of the elements of a matrix."""
    return {'rad': turning, 'm': sliding}.get(position, f'{turning} | {both} | {sliding}')


def _state(model: RobotModel, equation: Equation, position: str, force: str) -> list[str]:
    used = np.where(model.effort_limit > 0.0, np.abs(equation.torque) / model.effort_limit, np.nan)
    columns = (equation.q, equation.qd, equation.qdd, equation.torque, model.effort_limit,
               100.0 * used)
    names = [f'{j} {name}' for j, name in enumerate(model.joint_names, start=1)]
    fits = max(map(len, names)) <= _ROOM
    rows = [(name if fits else str(j + 1), *(number(column[j]) for column in columns))
            for j, name in enumerate(names)]
    legend = [line for name in names for line in paragraph('', name)]
    lines = table(('joint', f'q ({position})', f'qd ({position}/s)', f'qdd ({position}/s^2)',
                  f'torque ({force})', f'limit ({force})', '% used'), rows)
    return lines if fits else [*lines, *legend]


def _beyond(model: RobotModel, equation: Equation) -> list[str]:
    notes = beyond(model, equation)
    return ['', *(line for note in notes for line in paragraph('note  ', note))] if notes else []


def beyond(model: RobotModel, equation: Equation) -> list[str]:
    """Return remarks about joints beyond their position or velocity limits."""
    notes = []
    for j, name in enumerate(model.joint_names):
        unit = joint_units(model)[j][0]
        q, lower, upper = equation.q[j], model.lower[j], model.upper[j]
        if not lower <= q <= upper:
            notes.append(f"joint '{name}' at {q:g} {unit} is outside its limits {lower:g} .. "
                         f'{upper:g} {unit}: the arm cannot be there')
        speed, limit = abs(equation.qd[j]), model.velocity_limit[j]
        if 0.0 < limit < speed:
            notes.append(f"joint '{name}' with {speed:g} {unit}/s is faster than its limit of "
                         f'{limit:g} {unit}/s')
    return notes


def _terms(equation: Equation, heads: Sequence[str]) -> list[str]:
    rows = np.array([*(equation.terms[name] for name in TERMS), equation.torque])
    return matrix([*TERMS, 'sum'], heads, rows)


def matrix(labels: Sequence[str], heads: Sequence[str], values: np.ndarray) -> list[str]:
    """Return the table of a matrix, in several parts if it is too wide."""
    label = max(_LABEL, *map(len, labels))
    count = (WIDTH - label) // _COLUMN
    dust = _DUST * np.abs(values).max()
    lines = []
    for begin in range(0, values.shape[1], count):
        part = slice(begin, begin + count)
        lines.append(' ' * label + ''.join(head.rjust(_COLUMN) for head in heads[part]))
        lines += [name.rjust(label) + ''.join(
            _digits(x, dust).rjust(_COLUMN) for x in row[part])
                  for name, row in zip(labels, values)]
    return lines


def _digits(value: float, dust: float) -> str:
    return f'{value:.3g}' if abs(value) > dust else '0'


def _torque_ellipsoid(equation: Equation, force: str, position: str) -> list[str]:
    lines = paragraph('', f'torque ellipsoid: torques ({force}) for accelerations of size 1 '
                          f'({position}/s^2) at rest, without gravity, and their directions '
                          '(large components of a unit vector)')
    rows = [f'{size:>9.3g}  {_direction(axis)}' for size, axis in zip(
        equation.torque_sizes, equation.torque_axes.T)]
    return lines + [line for row in rows for line in paragraph(row[:11], row[11:])]


def _direction(axis: np.ndarray) -> str:
    """Return the large components of a direction, the largest positive and first."""
    axis = _upright(axis)
    order = np.argsort(-np.abs(axis), kind='stable')
    return ', '.join(f'{axis[j]:+.2f} joint {j + 1}' for j in order
                     if abs(axis[j]) >= _DOMINANT * np.abs(axis).max())


def _upright(axis: np.ndarray) -> np.ndarray:
    """Return a direction with its largest component positive, rounded, without -0."""
    return np.round(axis * np.sign(axis[np.abs(axis).argmax()]), 3) + 0.0


def _mass_ellipsoid(equation: Equation) -> list[str]:
    position = ', '.join(f'{x:.3f}' for x in equation.pose[:3, 3] + 0.0)
    if equation.masses is None or equation.mass_axes is None:
        return paragraph('', f"link '{equation.link}' at ({position}) m has no effective mass: a "
                             'joint moves no mass, the mass matrix is singular')
    lines = paragraph('', f"mass ellipsoid: effective mass (kg) of link '{equation.link}' at "
                          f'({position}) m, and its directions in the base frame (x, y, z)')
    for mass, axis in zip(equation.masses, equation.mass_axes.T):
        axis = _upright(axis)
        what = f'{mass:.3g}' if np.isfinite(mass) else 'infinite'
        lines.append(f'{what:>9}  ({axis[0]:.3f}, {axis[1]:.3f}, {axis[2]:.3f})'
                     + ('' if np.isfinite(mass) else '  the joints cannot move it there'))
    return lines


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
