"""The state of arm and controller as HTML."""

from __future__ import annotations

from html import escape

from robodyn_ros.view.snapshot import NO_CONTROLLER, Snapshot

_SILENT = 0.5  # s without joint states after which they count as missing
_GREEN, _AMBER, _RED, _GREY = '#2f9e5b', '#e39a2d', '#d64545', '#868e96'
_PILL = ('<span style="background:{color};color:white;border-radius:10px;padding:2px 12px;'
         'font-weight:600">{text}</span>')


def status(snapshot: Snapshot) -> str:
    """Return mode, problem and notes."""
    color, words, trouble = _verdict(snapshot)
    lines = [_PILL.format(color=color, text=escape(words))]
    if snapshot.simulated:
        lines[0] += f'<span style="color:{_GREY}"> &nbsp;simulated arm</span>'
    if trouble:
        lines.append(f'<span style="color:{_RED}">{escape(trouble)}</span>')
    lines += [f'<span style="color:{_GREY}">{escape(name)}:</span> {escape(text)}'
              for name, text in snapshot.notes.items() if text]
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
    return _GREEN, snapshot.mode.replace('_', ' '), ''
