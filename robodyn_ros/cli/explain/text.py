"""The equation of motion of a state as tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.cli.explain.equation import Equation, TERMS
from robodyn_ros.cli.report import number, paragraph, table, WIDTH
from robodyn_ros.cli.units import force_unit, joint_units, large_unit, small_unit
from robodyn_ros.model import RobotModel

_COLUMN = 10    # letters of a column of a matrix, with the space before it
_LABEL = 4      # letters of its first column
_ROOM = 19      # letters for a joint in the table of the state; longer names are told below
_DUST = 1e-12   # of the largest element, that rounding may have left where 0 is meant
_DOMINANT = 0.3  # part of a direction from which a joint is named


def text(model: RobotModel, equation: Equation) -> list[str]:
    """Return the lines of all tables; joints are numbered, the first one tells their names."""
    place = large_unit(small_unit(model))
    force = force_unit(small_unit(model))
    heads = [str(j) for j in range(1, model.nv + 1)]
    return [
        *_state(model, equation, place, force), *_beyond(model, equation), '',
        f'torque ({force}), joints as numbered above', *_terms(equation, heads), '',
        f'M(q), mass matrix ({_of_matrix(place, "kg m^2", "kg", "kg m")})',
        *matrix(heads, heads, equation.mass_matrix), '',
        f'C(q, qd), Coriolis matrix ({_of_matrix(place, "N m s", "N s/m", "N s")})',
        *matrix(heads, heads, equation.coriolis_matrix), '',
        *_torque_ellipsoid(equation, force, place), '',
        *_mass_ellipsoid(equation)]


def _of_matrix(place: str, turning: str, sliding: str, both: str) -> str:
    """Return the unit of the elements of a matrix."""
    return {'rad': turning, 'm': sliding}.get(place, f'{turning} | {both} | {sliding}')


def _state(model: RobotModel, equation: Equation, place: str, force: str) -> list[str]:
    used = np.where(model.effort_limit > 0.0, np.abs(equation.torque) / model.effort_limit, np.nan)
    columns = (equation.q, equation.qd, equation.qdd, equation.torque, model.effort_limit,
               100.0 * used)
    names = [f'{j} {name}' for j, name in enumerate(model.joint_names, start=1)]
    fits = max(map(len, names)) <= _ROOM
    rows = [(name if fits else str(j + 1), *(number(column[j]) for column in columns))
            for j, name in enumerate(names)]
    legend = [line for name in names for line in paragraph('', name)]
    lines = table(('joint', f'q ({place})', f'qd ({place}/s)', f'qdd ({place}/s^2)',
                  f'torque ({force})', f'limit ({force})', '% used'), rows)
    return lines if fits else [*lines, *legend]


def _beyond(model: RobotModel, equation: Equation) -> list[str]:
    notes = beyond(model, equation)
    return ['', *(line for note in notes for line in paragraph('note  ', note))] if notes else []


def beyond(model: RobotModel, equation: Equation) -> list[str]:
    """Return which joints are explained where, or as fast as, their limits do not let them be."""
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
    """Return the table of a matrix, in several parts where it is too wide for one."""
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


def _torque_ellipsoid(equation: Equation, force: str, place: str) -> list[str]:
    lines = paragraph('', f'torque ellipsoid: accelerations of size 1 ({place}/s^2) at rest, '
                          f'without gravity, take these torques ({force}) along these directions '
                          'of the joints (parts of a unit vector, the large ones)')
    rows = [f'{size:>9.3g}  {_direction(axis)}' for size, axis in zip(
        equation.torque_sizes, equation.torque_axes.T)]
    return lines + [line for row in rows for line in paragraph(row[:11], row[11:])]


def _direction(axis: np.ndarray) -> str:
    """Return the large parts of a direction, the largest positive and first."""
    axis = _upright(axis)
    order = np.argsort(-np.abs(axis), kind='stable')
    return ', '.join(f'{axis[j]:+.2f} joint {j + 1}' for j in order
                     if abs(axis[j]) >= _DOMINANT * np.abs(axis).max())


def _upright(axis: np.ndarray) -> np.ndarray:
    """Return a direction with its largest part positive, and no -0 in three digits."""
    return np.round(axis * np.sign(axis[np.abs(axis).argmax()]), 3) + 0.0


def _mass_ellipsoid(equation: Equation) -> list[str]:
    place = ', '.join(f'{x:.3f}' for x in equation.pose[:3, 3] + 0.0)
    if equation.masses is None:
        return paragraph('', f"link '{equation.link}' at ({place}) m has no effective mass: some "
                             'joint moves no mass, the mass matrix is singular')
    lines = paragraph('', f"mass ellipsoid: what link '{equation.link}' at ({place}) m shows to "
                          'a push (kg), along these directions of the base frame (x, y, z)')
    for mass, axis in zip(equation.masses, equation.mass_axes.T):
        axis = _upright(axis)
        what = f'{mass:.3g}' if np.isfinite(mass) else 'infinite'
        lines.append(f'{what:>9}  ({axis[0]:.3f}, {axis[1]:.3f}, {axis[2]:.3f})'
                     + ('' if np.isfinite(mass) else '  the joints cannot move it there'))
    return lines
