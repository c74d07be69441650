"""Cause of something that happened in a cycle: a code, and its evidence."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, scalar


@block
class Event:
    """Cause of something that happened: a code of `messages`, and its evidence."""

    code: float = scalar('', 'Code; 0: no event.')
    joint: float = scalar('', 'Joint.')
    value: float = scalar('', 'Value, in the unit of the code.')
    bound: float = scalar('', 'Bound that it exceeds.')
    time: float = scalar('s', 'Time; meaning depends on the code.')


NOTHING = Event(0.0, 0.0, 0.0, 0.0, 0.0)


def event(code):
    """Return an event without evidence."""
    return Event(code, 0.0, 0.0, 0.0, 0.0)
