"""The equation of motion of a state as tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.cli.explain.equation import Equation, TERMS
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import force_unit, joint_units, large_unit, small_unit
from robodyn_ros.text import number, paragraph, table, WIDTH

_COLUMN = 10    # letters of a column of a matrix, with the space before it
_LABEL = 4      # letters of its first column
_ROOM = 19      # letters for a joint in the table of the state; longer names are listed below
_DUST = 1e-12   # part of the largest element below which an element counts as 0
_DOMINANT = 0.3  # part of the largest component from which a joint is named


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
