"""Torques as bars relative to the effort limits, in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from robodyn_ros.model import RobotModel

GOOD, HIGH, OVER = '#3b82c4', '#e39a2d', '#d64545'
_HIGH, _OVER = 0.7, 0.98  # parts of the limit at which a bar changes its colour
_ROW = """<div style="display:flex;align-items:center;gap:8px;height:20px">
<span style="width:84px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">{name}</span>
<div style="position:relative;flex:1;height:10px;border-radius:3px;background:#8884">
<div style="position:absolute;left:{left:.2f}%;width:{width:.2f}%;height:100%;border-radius:3px;
background:{color}"></div>
<div style="position:absolute;left:50%;width:1px;height:100%;background:#8888"></div></div>
<span style="width:104px;text-align:right;font-variant-numeric:tabular-nums">{text}</span></div>"""


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
