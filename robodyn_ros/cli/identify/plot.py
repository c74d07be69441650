"""The picture of an identification: recorded and predicted torque of each joint, and residual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.identification.estimate import Estimate
from robodyn_ros.model import RobotModel
from robodyn_ros.picture import picture

_GAP = 1.5  # periods between two samples from which one is missing
_STYLE = {'axes.grid': True, 'grid.alpha': 0.3}
_RECORDED, _PREDICTED, _RESIDUAL = '#7F7F7F', '#0072B2', '#D55E00'


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
