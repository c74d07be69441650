"""Texts of faults for a controller that runs without its node."""

from __future__ import annotations

from string import Formatter

from robodyn_ros.control.arm.messages import TEMPLATES

_FIELDS = ('joint', 'value', 'bound', 'time', 'unit', 'speed', 'percent')
# fields that only the node can fill in, and what stands for them
_FIXED = {'because': '', 'cause': 'the joint states are silent', 'size': '{value}', 'side': 'off',
          'unit_of_velocity': 'check its unit',
          'repetition': "joint '{joint}' at {value} {speed}: the driver has stopped, or brakes "
                        'hold the arm'}


def fault_texts() -> dict[int, str]:
    """
    Return the texts of faults by their codes.

    A field in braces stands for the joint's name, value, bound and time of the event, the units of
    effort (unit) and speed of the joint, or the value in percent of the bound. Faults of motions
    that only the node commands are left out.
    """
    found = {}
    for code, template in TEMPLATES.items():
        parts = list(Formatter().parse(template))
        if all(name in (None, *_FIELDS, *_FIXED) for _, name, _, _ in parts):
            found[int(code)] = ''.join(
                text + ('' if name is None else _FIXED.get(name, f'{{{name}}}'))
                for text, name, _, _ in parts)
    return found
