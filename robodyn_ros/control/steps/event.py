"""Why something happened in a cycle: a code, and what shows it."""

from __future__ import annotations

from robodyn_ros.control.blocks import block, scalar


@block
class Event:
    """Why something happened: a code of `messages`, and what shows it."""

    code: float = scalar('', 'Code; 0: nothing.')
    joint: float = scalar('', 'Joint.')
    value: float = scalar('', 'Value, in the unit of the code.')
    bound: float = scalar('', 'Bound that it exceeds.')
    time: float = scalar('s', 'Time, as the code has it.')


NOTHING = Event(0.0, 0.0, 0.0, 0.0, 0.0)


def event(code):
    """Return an event that its code says all about."""
    return Event(code, 0.0, 0.0, 0.0, 0.0)
