"""
A fault as numbers, for the compiled loop and for the reports of a simulator.

See `FIELDS`. States are reported as
    position + offset,    gain * velocity + offset,    effort + offset
of the true ones, of a delayed one, or of a kept one, in one report of `every`; commands are kept,
motors scaled, brakes applied, loads changed. An offset that is not a number makes the measured
value one that is not a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
from numpy.typing import ArrayLike, NDArray


# length of each field, 'joints' for one number per joint; and its value without a fault
FIELDS: dict[str, tuple[int | str, float]] = {
    'start': (1, np.inf),           # s of simulated time
    'end': (1, np.inf),             # s
    'every': (1, 1.0),              # one report of so many has the fault,
    'phase': (1, 0.0),              # the one whose number has this remainder
    'silent': (1, 0.0),             # flag: nothing is reported
    'unreadable': (1, 0.0),         # flag: what is reported cannot be read
    'repeats': (1, 0.0),            # flag: the first report is repeated
    'delay': (1, 0.0),              # steps by which states are late
    'clock': (1, 0.0),              # s by which stamps are off
    'frozen': ('joints', 0.0),      # flag: the position stays, the velocity is zero
    'position': ('joints', 0.0),    # offset
    'velocity_gain': ('joints', 1.0),
    'velocity': ('joints', 0.0),    # offset
    'effort': ('joints', 0.0),      # offset
    'position_noise': (1, 0.0),     # standard deviations,
    'velocity_noise': (1, 0.0),
    'resolution': (1, 0.0),         # and resolution of positions
    'deaf': (1, 0.0),               # flag: the driver receives no command
    'timeout': (1, 0.0),            # s without a command after which it brakes; 0: never
    'brakes': (1, 0.0),             # flag: the brakes hold the arm
    'motor': ('joints', 1.0),       # gain of the torque
    'wrench': (6, 0.0),             # on the tip, in base axes
    'gravity': (3, 0.0),            # m/s^2, in addition
    'load': (10, 0.0),              # inertial parameters of the last body, in addition
    'delays': (1, 0.0),             # factor of the recorded delays of the host
    'pause': (1, 0.0),              # s for which the host does not run
    # --- not limited to the time of the fault
    'usual_position_noise': (1, 0.0),
    'usual_velocity_noise': (1, 0.0),
    'usual_resolution': (1, 0.0),
    'usual_delays': (1, 0.0),
    'age': (1, 0.0),                # steps by which all states are late; no stamp shows it
    'rotor': (1, 0.0),              # flag: the encoders are on the motors
    'row': (1, 0.0)}                # first row in the table of recorded delays


def _size(length: int | str, nv: int) -> int:
    """Return the length of a field."""
    return nv if isinstance(length, str) else length


def numbers_size(nv: int) -> int:
    """Return the length of the numbers of a fault."""
    return sum(_size(length, nv) for length, _ in FIELDS.values())


def numbers(nv: int, values: Mapping[str, ArrayLike] | None = None) -> NDArray:
    """Return the numbers of a fault, by the names of `FIELDS`; the others have no effect."""
    found = _defaults(nv).copy()
    for name, value in (values or {}).items():
        found[place(nv, name)] = value
    return found


@lru_cache(maxsize=1)
def _defaults(nv: int) -> NDArray:
    return np.concatenate([np.full(_size(length, nv), default)
                           for length, default in FIELDS.values()])


def place(nv: int, name: str) -> slice:
    """Return where a field is among the numbers."""
    return _places(nv)[name]


@lru_cache(maxsize=1)
def _places(nv: int) -> dict[str, slice]:
    found, begin = {}, 0
    for name, (length, _) in FIELDS.items():
        size = _size(length, nv)
        found[name] = slice(begin, begin + size)
        begin += size
    return found


def fault_of(values, nv: int) -> SimpleNamespace:
    """Return the numbers of a fault by name: lists, and single ones."""
    found = {}
    for name, (length, _) in FIELDS.items():
        part = values[place(nv, name)]
        found[name] = part[0] if length == 1 else part
    return SimpleNamespace(**found)


def active(f, time):
    """Return whether the fault is active at a time."""
    return (time >= f.start) & (time < f.end)
