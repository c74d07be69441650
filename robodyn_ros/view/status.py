"""State of arm and controller, and torques as bars relative to the effort limits, in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from robodyn_ros.model import RobotModel
from robodyn_ros.view.snapshot import NO_CONTROLLER, Snapshot

LAST_MOTION = 'last motion'  # name of the note
_SILENT = 0.5  # s without joint states after which they count as missing
_GREEN, _AMBER, _RED, _GREY = '#2f9e5b', '#e39a2d', '#d64545', '#868e96'
_PILL = ('<span style="background:{color};color:white;border-radius:10px;padding:2px 12px;'
         'font-weight:600">{text}</span>')
GOOD, HIGH, OVER = '#3b82c4', '#e39a2d', '#d64545'
_HIGH, _OVER = 0.7, 0.98  # parts of the limit at which a bar changes its colour
_ROW = """<div style="display:flex;align-items:center;gap:8px;height:20px">
<span style="width:84px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">{name}</span>
<div style="position:relative;flex:1;height:10px;border-radius:3px;background:#8884">
<div style="position:absolute;left:{left:.2f}%;width:{width:.2f}%;height:100%;border-radius:3px;
background:{color}"></div>
<div style="position:absolute;left:50%;width:1px;height:100%;background:#8888"></div></div>
<span style="min-width:112px;white-space:nowrap;text-align:right;
font-variant-numeric:tabular-nums">{text}</span></div>"""


def status(snapshot: Snapshot) -> str:
    """Return mode, problem and notes."""
    color, words, trouble = _verdict(snapshot)
    lines = [_PILL.format(color=color, text=escape(words))]
    if snapshot.simulated:
        lines[0] += f'<span style="color:{_GREY}"> &nbsp;simulated arm</span>'
    if trouble:
        lines.append(f'<span style="color:{_RED}">{escape(trouble)}</span>')
    for name, text in snapshot.notes.items():
        if text:
            wrong = snapshot.aborted and name == LAST_MOTION
            color, shown = ((_AMBER, f'<b>{escape(text)}</b>') if wrong else
                            (_GREY, escape(text)))
            lines.append(f'<span style="color:{color}">{escape(name)}:</span> {shown}')
    rows = ''.join(f'<div style="margin:3px 0">{line}</div>' for line in lines)
    return f'<div style="font-size:13px;padding:4px 10px">{rows}</div>'


def _verdict(snapshot: Snapshot) -> tuple[str, str, str]:
    """Return colour and name of the state, and the problem."""
    if snapshot.age > _SILENT and not snapshot.paused:
        since = 'yet' if snapshot.age == float('inf') else f'for {snapshot.age:.0f} s'
        return _RED, 'no joint states', f'no joint states {since}: is the driver running?'
    if snapshot.fault:
        return _RED, 'fault', snapshot.fault
    if snapshot.paused:
        return _AMBER, 'paused', ''
    if snapshot.mode == NO_CONTROLLER:
        return _GREY, snapshot.mode, ''
    mode = snapshot.mode.replace('_', ' ')
    return (_AMBER, f'{mode}: motion aborted', '') if snapshot.aborted else (_GREEN, mode, '')


def torque_bars(model: RobotModel, torque: np.ndarray) -> str:
    """Return one row for each joint: name, bar from the centre, torque and limit."""
    rows = [_row(name, float(value), float(limit), unit) for name, value, limit, unit in zip(
        model.joint_names, torque, model.effort_limit, model.effort_units)]
    return _framed(rows)


def _row(name: str, torque: float, limit: float, unit: str) -> str:
    bounded = np.isfinite(limit) and limit > 0.0
    known = np.isfinite(torque)
    share = min(max(torque / limit, -1.0), 1.0) if bounded and known else 0.0
    color = OVER if abs(share) >= _OVER else HIGH if abs(share) >= _HIGH else GOOD
    text = f'{torque:.1f}' if known else '-'
    text += f' / {limit:.4g} {unit}' if bounded else f' {unit}'
    return _ROW.format(name=escape(name), left=50.0 + 50.0 * min(share, 0.0),
                       width=50.0 * abs(share), color=color, text=text)


def _framed(rows: Sequence[str]) -> str:
    return f'<div style="font-size:12px;padding:4px 10px">{"".join(rows)}</div>'
