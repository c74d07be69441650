"""Report of a commissioning as one HTML file, with pictures where matplotlib is installed."""

from __future__ import annotations

import base64
from html import escape
from importlib.util import find_spec
import io
from pathlib import Path

import numpy as np

from robodyn_ros.commissioning.identification_step import PICTURE
from robodyn_ros.commissioning.work import RESULT, Work
from robodyn_ros.identification.recording import load, Run
from robodyn_ros.text import number

_STYLE = """body { font: 15px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .2em .8em; text-align: right }
td:first-child, th:first-child { text-align: left } tr { border-bottom: 1px solid #ddd }
img { max-width: 100% }"""
_UNITS = {'viscous': 'N m s/rad', 'coulomb': 'N m', 'offset': 'N m', 'armature': 'kg m^2',
          'stribeck': 'N m', 'load': ''}


def write_report(work: Work, path: Path) -> Path:
    """Write the report; return its path."""
    done, names = work.folder.done, work.model.joint_names
    found = done['identify2']
    parts = [
        f'<h1>Commissioning of {escape(work.model.name)}</h1>',
        f'<p>{escape(str(work.robot.urdf.absolute()))}; identified {found.get("date", "")}, '
        f'compared {done["after"].get("date", "")}.</p>',
        '<h2>Tracking error</h2>',
        _table(('joint', 'before (mrad|mm RMS)', 'after'), [
            (name, number(a), number(b)) for name, a, b in zip(
                names, done['before']['rms'], done['after']['rms'])]),
        *_error_picture(work),
        '<h2>Identified, with half of the 95 % interval</h2>',
        _identified(names, found),
        '<h2>Validation: part of the held-back torque that is not explained (%)</h2>',
        _table(('joint', 'identified', 'URDF'), [
            (name, number(100.0 * a), number(100.0 * b)) for name, a, b in zip(
                names, found['held_back'], found['urdf'])]),
        *_embedded(work.folder / PICTURE),
        '<h2>What the data does not determine</h2>', _unknown(work, found),
        '<h2>Loop and sensors</h2>', _loop(work, done['steps']),
        f'<p>Parameters: {RESULT}; recordings: the tables of this folder.</p>']
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Commissioning of '
        f'{escape(work.model.name)}</title><style>{_STYLE}</style>\n' + '\n'.join(parts)
        + '</html>\n', encoding='utf-8')
    return path


def _identified(names, found: dict) -> str:
    heads = [f'{kind} ({unit})' if (unit := _UNITS.get(kind)) else kind
             for kind in found['joints']]
    width = found['parameters'].get('friction.width', [])
    rows = [(name, *(f'{number(value)} \u00b1{number(margin)}' if margin else
                     f'{number(value)} (URDF)'
                     for value, margin in (each[j] for each in found['joints'].values())),
             *(f'{w:.2g}' for w in width[j:j + 1])) for j, name in enumerate(names)]
    return _table(('joint', *heads, *(['width of dry friction (rad/s)'] if width else [])), rows)


def _table(heads, rows) -> str:
    lines = ['<tr>' + ''.join(f'<th>{escape(head)}</th>' for head in heads) + '</tr>']
    lines += ['<tr>' + ''.join(f'<td>{escape(cell)}</td>' for cell in row) + '</tr>'
              for row in rows]
    return '<table>' + '\n'.join(lines) + '</table>'


def _unknown(work: Work, found: dict) -> str:
    names = work.model.joint_names
    lines = [f'{kind} of {names[j]}: not excited, as in the URDF' for kind, j in
             found['unexcited']]
    lines += [f'{name}: not excited, near the URDF' for name, *_, identified in found['base']
              if not identified]
    if not lines:
        return '<p>Everything was excited.</p>'
    return '<ul>' + ''.join(f'<li>{escape(line)}</li>' for line in lines) + '</ul>'


def _loop(work: Work, measures: dict) -> str:
    wn = work.folder.done['gains']['parameters']['natural_frequency']
    delay, period = (number(1e3 * measures[key]) for key in ('delay', 'period'))
    return (f'<p>A torque acts {delay} ms after the state that it answers; states come every '
            f'{period} ms; reported velocities are '
            f'{number(1e3 * np.nan_to_num(measures["velocity_lag"]))} ms late.</p>' + _table(
                ('joint', 'resolution', 'velocity noise', 'sticks (%)',
                 'natural frequency (rad/s)'),
                [(name, f'{measures["resolution"][j]:.2g}',
                  f'{measures["velocity_noise"][j]:.2g}',
                  number(100.0 * measures['sticking'][j]), number(wn[j]))
                 for j, name in enumerate(work.model.joint_names)]))


def _error_picture(work: Work) -> list[str]:
    """Return the picture of the errors before and after; none without matplotlib."""
    if find_spec('matplotlib') is None:
        return ['<p>No pictures: matplotlib is not installed.</p>']
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    observed = work.folder.done['after']['parameters']['disturbance_observer']
    duration = work.folder.done['after']['duration']
    files = ('before.csv', f'after_{"with" if observed else "without"}_observer.csv')
    figure, axes = pyplot.subplots(1, 2, figsize=(14, 4.5), sharex=True)
    for axis, file, title in zip(axes, files, ('Before', 'After')):
        run: Run = load(work.folder / file, work.model.nv).last(duration)
        for j, name in enumerate(work.model.joint_names):
            axis.plot(run.times - run.times[0], 1e3 * run.error[:, j], lw=1.2, label=name)
        worst = 1e3 * float(np.abs(run.error).max()) if len(run.times) else 0.0
        axis.set_title(f'{title}: largest error {number(worst)} mrad|mm')
        axis.set_xlabel('time (s)')
        axis.grid(alpha=0.3)
    axes[0].set_ylabel('reference - measured (mrad|mm)')
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format='png', dpi=90)
    pyplot.close(figure)
    return [_image(data.getvalue())]


def _embedded(path: Path) -> list[str]:
    return [_image(path.read_bytes())] if path.exists() else []


def _image(data: bytes) -> str:
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(data).decode()}">'
