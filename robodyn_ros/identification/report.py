"""Results of an identification as lines, and as a picture of the torque of each joint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.identification.dry_friction import DryFriction
from robodyn_ros.identification.equations import RegressionData
from robodyn_ros.identification.estimate import Estimate, Value
from robodyn_ros.identification.recording import Recording
from robodyn_ros.identification.verdict import MAX_RESIDUAL, validation_failures
from robodyn_ros.model import RobotModel
from robodyn_ros.picture import picture
from robodyn_ros.text import number, paragraph, table

_UNEVEN = 1.5  # ratio of steps between stamps that is worth a remark
_PAYLOAD = ('mass (kg)', 'com x (m)', 'com y', 'com z', 'Ixx (kg m^2)', 'Iyy', 'Izz', 'Ixy', 'Ixz',
            'Iyz')
_GAP = 1.5  # periods between two samples from which one is missing
_STYLE = {'axes.grid': True, 'grid.alpha': 0.3}
_RECORDED, _PREDICTED, _RESIDUAL = '#7F7F7F', '#0072B2', '#D55E00'


def described(data: RegressionData, recording: Recording) -> list[str]:
    """Return lines about the recording, and what was used of it."""
    steps = 1e3 * np.diff(np.unique(recording.position_time))
    filters = data.filters
    pieces = 'one piece' if data.segments == 1 else f'{data.segments} pieces'
    lines = [f'{data.used:.1f} of {data.recorded:.1f} s used, in {pieces}; '
             f'positions up to {filters.position:.3g} Hz, torques up to {filters.equation:.3g} '
             'Hz']
    if steps.max() > _UNEVEN * np.median(steps):
        lines.append(f'the stamps are {steps.min():.3g} to {steps.max():.3g} ms apart: if the '
                     'driver samples evenly, give its --period')
    return lines


def report(model: RobotModel, found: Estimate, everything: bool = False,
           dry: DryFriction | None = None, listed: str = '--all lists them') -> list[str]:
    """Return the tables; `listed`: where all base parameters are."""
    kinds = list(found.joints)
    rows = [(name, *(_cell(found.joints[kind][j]) for kind in kinds),
             *(f'{100.0 * share[j]:.3g}' for share in (found.fitted, found.held_back, found.urdf)))
            for j, name in enumerate(model.joint_names)]
    residual = 'residual (%)'
    lines = table(('joint', *kinds, 'fitted', 'held back', 'URDF'), rows,
                  ('', *('' for _ in kinds), residual, residual, residual))
    lines += ['', 'N m, s, rad, or N, s, m; +- half of the 95 % interval; (URDF): not estimated',
              f'the efforts are {1e3 * found.delay.value:.2f} +-{1e3 * found.delay.margin:.2f} ms '
              'later than the positions']
    if found.payload:
        lines += ['', 'payload', *(f'  {name:<14} {_cell(value)}'
                                   for name, value in zip(_PAYLOAD, found.payload))]
        if not found.has_payload:
            lines.append('  none: the mass is below its uncertainty, and is not written')
    if found.base:
        lines += ['', *_base_lines(found, everything, listed)]
    lines += _dry_lines(model, dry)
    for kind, j in found.unexcited:
        # a joint that moves is excited, but what is smaller than the rest of its torque is hidden
        moves = 'viscous' in found.joints and ('viscous', j) not in found.unexcited
        why = ('effort not explained' if found.fitted[j] > MAX_RESIDUAL else
               'not determined' if moves else 'not excited')
        lines.append(f'{why}: {kind} of {model.joint_names[j]}, kept as in the URDF '
                     f'({number(_kept(found, kind, j))})')
    resting = [name for name, fitted, held_back in zip(
        model.joint_names, found.fitted, found.held_back)
        if np.isfinite(fitted) and not np.isfinite(held_back)]
    if resting and len(resting) < np.isfinite(found.fitted).sum():
        lines += paragraph('not validated, at rest in the part that is held back: ',
                           ', '.join(resting))
    return [*lines, '', *_verdict(model, found)]


def _dry_lines(model: RobotModel, dry: DryFriction | None) -> list[str]:
    """Return lines about the shape of dry friction."""
    if dry is None or dry.shape == 'sign':
        return []
    if not np.isfinite(dry.velocity).any():
        return ['', f'dry friction: the data supports the sign of the velocity, not {dry.shape}']
    what = {'smooth': 'tanh(velocity / v)', 'stribeck': 'Stribeck velocity v'}[dry.shape]
    parts = [f'{name} ' + (f'{v:.3g}' if np.isfinite(v) else 'not supported by the data')
             for name, v in zip(model.joint_names, dry.velocity)]
    return ['', *paragraph(f'dry friction, {what}: ', ', '.join(parts))]


def _kept(found: Estimate, kind: str, j: int) -> float:
    return found.joints[kind][j].value if kind in found.joints else float('nan')


def _base_lines(found: Estimate, everything: bool, listed: str) -> list[str]:
    count = sum(each.identified for each in found.base)
    where = '' if everything else f' ({listed})'
    lines = [f'all {count} base parameters are identified{where}' if count == len(found.base) else
             f'{count} of {len(found.base)} base parameters are identified; the others stay near '
             f'the URDF{where}']
    if everything:
        rows = [(each.name, f'{each.urdf:.4f}', f'{each.value:.4f}', f'{each.margin:.4f}',
                 '' if each.identified else 'not excited') for each in found.base]
        lines += ['', *table(('base parameter', 'URDF', 'found', '+- 95 %', ''), rows)]
    return lines


def _verdict(model: RobotModel, found: Estimate) -> list[str]:
    """Return a line for each joint that fails, and one about all."""
    reasons = validation_failures(model.joint_names, found)
    means = [f'{100.0 * np.mean(each[np.isfinite(found.held_back)]):.3g} %'
             for each in (found.held_back, found.urdf) if np.isfinite(found.held_back).any()]
    lines = [row for reason in reasons for row in paragraph('FAIL  ', reason)]
    if means:
        lines.append(f'{"FAIL" if reasons else "pass"}  held-back torque: mean residual '
                     f'{means[0]}, with the URDF {means[1]}')
    return lines


def _cell(value: Value) -> str:
    if not value.margin:
        return f'{number(value.value)} (URDF)'
    return f'{number(value.value)} +-{number(value.margin)}'


def plot(model: RobotModel, found: Estimate, path: Path) -> None:
    """
    Write the picture.

    Raises
    ------
    ImportError
        matplotlib is not installed.

    """
    with picture(path, model.nv, 1, _STYLE, figsize=(14, 2.2 * model.nv + 1.0), dpi=90,
                 sharex=True, squeeze=False) as (figure, axes):
        for j, axis in enumerate(axes[:, 0]):
            _draw(axis, found, j)
            axis.set_ylabel(model.joint_names[j])
            axis.set_title(f'residual {100.0 * found.fitted[j]:.2g} %, on held-back data '
                           f'{100.0 * found.held_back[j]:.2g} %, with the URDF '
                           f'{100.0 * found.urdf[j]:.2g} %', loc='left', fontsize=10)
        axes[-1, 0].set_xlabel('time (s)')
        axes[0, 0].legend(loc='upper right', ncol=3, frameon=False, fontsize=9)
        figure.suptitle(f'{model.name}: recorded effort and that of the identified model (N m or '
                        'N); held back: shaded')
        figure.tight_layout()


def _draw(axis, found: Estimate, j: int) -> None:
    times, measured, predicted = broken(found.times[j], found.measured[j], found.predicted[j])
    axis.plot(times, measured, color=_RECORDED, lw=2.5, label='recorded')
    axis.plot(times, predicted, color=_PREDICTED, lw=1.0, label='predicted')
    axis.plot(times, measured - predicted, color=_RESIDUAL, lw=1.0, label='residual')
    if len(times):
        axis.axvspan(found.split, times[-1], color='black', alpha=0.06, lw=0)


def broken(times: NDArray, *rows: NDArray) -> list[NDArray]:
    """Return times and values with NaN where samples are left out, so that lines are broken."""
    steps = np.diff(times)
    usual = np.median(steps) if len(steps) else 0.0
    gaps = np.flatnonzero(steps > _GAP * usual) + 1
    return [np.insert(times, gaps, times[gaps]), *(np.insert(row, gaps, np.nan) for row in rows)]
