"""The picture of a demo: motion, errors with and without gravity, and torque terms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robodyn_ros.cli.demo.findings import Findings
from robodyn_ros.model.units import force_unit, large_unit
from robodyn_ros.picture import colour, picture
from robodyn_ros.text import number

_MAX_POINTS = 1200
_MAX_JOINTS = 12  # in a legend


def plot(findings: Findings, path: Path) -> None:
    """
    Write the picture.

    Raises
    ------
    ImportError
        matplotlib is not installed.

    """
    with picture(path, 2, 2, figsize=(16, 10), dpi=100, sharex='col') as (figure, axes):
        # explicit, as layout engines differ between versions of matplotlib
        figure.subplots_adjust(left=0.055, right=0.985, bottom=0.105, top=0.905, wspace=0.13,
                               hspace=0.17)
        _draw_motion(axes[0, 0], findings)
        _draw_terms(axes[0, 1], findings)
        _draw_error(axes[1, 0], findings, findings.tracking, 'Tracking error')
        _draw_error(axes[1, 1], findings, findings.without_gravity,
                    'Error of the same motion with gravity left out of the torque')
        for axis in axes[1]:
            axis.set_xlabel('time (s)')
        figure.suptitle(_title(findings), fontsize=15, x=0.055, y=0.965, ha='left')
        names = findings.model.joint_names[:_MAX_JOINTS]
        figure.legend(axes[0, 0].get_lines()[:len(names)], names, loc='lower center',
                      ncol=len(names), frameon=False)


def _title(findings: Findings) -> str:
    model, unit = findings.model, findings.unit
    with_gravity, without = (1e3 * each.rms.max() for each in (
        findings.tracking, findings.without_gravity))
    return (f'{model.name}, {model.nv} joints under computed torque: worst RMS error '
            f'{number(with_gravity)} {unit}, without gravity {number(without)} {unit}')


def _draw_motion(axis, findings: Findings) -> None:
    tracking = findings.tracking
    thin, start = _thinned(tracking.time), tracking.reference[0]
    for j in range(findings.model.nv):
        axis.plot(tracking.time[thin], (tracking.q - start)[thin, j], color=colour(j), lw=2.5,
                  alpha=0.85)
    for j in range(findings.model.nv):
        axis.plot(tracking.time[thin], (tracking.reference - start)[thin, j], color='black',
                  lw=0.9, ls=(0, (4, 3)))
    axis.set_title('Motion: measured (colours) on its reference (dashed)')
    axis.set_ylabel(f'from the start ({large_unit(findings.unit)})')


def _draw_error(axis, findings: Findings, tracking, title: str) -> None:
    thin = _thinned(tracking.time)
    for j in range(findings.model.nv):
        axis.plot(tracking.time[thin], 1e3 * tracking.error[thin, j], color=colour(j), lw=1.4)
    axis.set_title(title)
    axis.set_ylabel(f'reference - measured ({findings.unit})')


def _draw_terms(axis, findings: Findings) -> None:
    """Draw the stacked terms of the most loaded joint, positive and negative parts separately."""
    limits = findings.model.effort_limit
    j = int(np.argmax(findings.tracking.peak_torque / limits))
    if findings.terms:
        time = next(iter(findings.terms.values()))[0]
        time = time[_thinned(time)]
        parts = {name: np.interp(time, times, values[:, j])
                 for name, (times, values) in findings.terms.items()}
        stack = {np.maximum: 0.0, np.minimum: 0.0}
        for k, (name, part) in enumerate(parts.items()):
            for side, base in stack.items():
                stack[side] = base + side(part, 0.0)
                axis.fill_between(time, base, stack[side], color=colour(k), alpha=0.65, lw=0,
                                  label=name if side is np.maximum else None)
        axis.plot(time, sum(parts.values()), color='black', lw=1.5, label='sum')
    for limit in (limits[j], -limits[j]):
        axis.axhline(limit, color='#B2182B', ls='--', lw=1.5,
                     label='limit' if limit > 0.0 else None)
    axis.set_title(f'Terms of the torque of {findings.model.joint_names[j]}')
    axis.set_ylabel(force_unit(findings.unit))
    axis.legend(loc='upper center', bbox_to_anchor=(0.5, 0.0), ncol=7, frameon=False,
                fontsize=10, handlelength=1.2, columnspacing=1.0)


def _thinned(time: np.ndarray) -> slice:
    return slice(None, None, max(1, len(time) // _MAX_POINTS))
