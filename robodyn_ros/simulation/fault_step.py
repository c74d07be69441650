"""
Faults as numbers, in one step of a compiled loop: the same effects as in `fault_injection`.

A fault is a list of numbers, see `FIELDS`. States are reported as
    position + offset,    gain * velocity + offset,    effort + offset
of the true ones, of a delayed one, or of a kept one, in one report of `every`; commands are kept,
motors scaled, brakes applied, loads changed. An offset that is not a number makes the measured
value one that is not a number.

As in the simulator, faults are evaluated at the begin of a step; the state at its end has those of
the step before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.dynamics.jit.flags import (
    above, all_of, any_of, at_least, below, both, either, equal, flag, no, when)
from robodyn_ros.dynamics.jit.flow import choose, lookup
from robodyn_ros.dynamics.jit.trace import floor, nearest, select

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
    'first': (1, -1.0),             # joints whose names are swapped; -1: none
    'second': (1, -1.0),
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
    'row': (1, 0.0)}                # first row in the table of recorded delays


class Link(NamedTuple):
    """
    Memory of the link between arm and controller.

    reports: number since the begin of the fault. kept: its first report. free: time at which the
    host is free. command: last one that the driver received. since: steps since then. braked:
    flag.
    """

    reports: object
    kept_q: list
    kept_qd: list
    kept_effort: list
    free: object
    command: list
    late: list
    is_late: object
    since: object
    braked: object


class Report(NamedTuple):
    """
    A reported state.

    Flags that there is one, and that there is one that cannot be read; position, velocity, effort;
    offset of the stamp and age, in s.
    """

    present: object
    unreadable: object
    q: list
    qd: list
    effort: list
    clock: object
    age: object


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


def link_size(nv: int) -> int:
    """Return the length of a `Link`."""
    return 5 * nv + 5


def link_of(values, nv: int) -> Link:
    """Return the memory of a link from a list."""
    rest = list(values)

    def joints():
        return [rest.pop(0) for _ in range(nv)]

    return Link(rest.pop(0), joints(), joints(), joints(), rest.pop(0), joints(), joints(),
                rest.pop(0), rest.pop(0), rest.pop(0))


def new_link(nv: int) -> NDArray:
    """Return the memory before the first step: the brakes hold the arm."""
    values = np.zeros(link_size(nv))
    values[0], values[-1] = 0.0, 1.0
    return values


def active(f, time):
    """Return whether the fault is active at a time."""
    return both(at_least(time, f.start), below(time, f.end))


def measured(f, on, q, qd, effort, noise, link, history, step, dt):
    """
    Return the report of a state, and the next memory of the link.

    Parameters
    ----------
    f : namespace
        The fault.
    on : scalar
        Flag: the fault is active.
    q, qd, effort : list
        True state.
    noise : list
        Normally distributed numbers, for positions, then for velocities.
    link : Link
        Memory.
    history : callable
        `history(steps)` returns the true state (q, qd, effort) so many steps ago.
    step, dt : scalar
        Number of this step, and its duration.

    """
    n = len(q)
    delayed, age = both(on, flag(f.delay)), select(on, f.delay, 0.0)
    q, qd, effort = choose(delayed, [lambda: (q, qd, effort), lambda: history(f.delay)])
    sigma_q = f.usual_position_noise + select(on, f.position_noise, 0.0)
    sigma_qd = f.usual_velocity_noise + select(on, f.velocity_noise, 0.0)
    q = [x + sigma_q * e for x, e in zip(q, noise[:n])]
    qd = [x + sigma_qd * e for x, e in zip(qd, noise[n:])]
    unit = select(on, select(f.resolution, f.resolution, f.usual_resolution), f.usual_resolution)
    known = select(unit, unit, 1.0)
    q = [when(flag(unit), nearest(x / known) * known, x) for x in q]

    # a delayed state is one from before the fault until its time is over
    too_early = both(delayed, above(f.start, (step - f.delay - 1.0) * dt + 1e-9))
    count = when(on, link.reports + 1.0, 0.0)
    first = equal(count, 1.0)
    kept = [when(first, now, old) for now, old in zip(
        [q, qd, effort], [link.kept_q, link.kept_qd, link.kept_effort])]
    turn = count - f.every * floor(count / f.every)
    hit = both(on, either(equal(f.every, 1.0), equal(turn, f.phase)))
    q, qd, effort = when(both(on, f.repeats), kept, [q, qd, effort])
    swapped = both(on, at_least(f.first, 0.0))
    q, qd, effort = ([select(swapped, x, y) for x, y in zip(exchanged(f, row), row)]
                     for row in (q, qd, effort))
    frozen = [both(on, each) for each in f.frozen]
    q = [select(hold, old, x) for hold, old, x in zip(frozen, kept[0], q)]
    qd = [select(hold, 0.0, x) for hold, x in zip(frozen, qd)]
    q = [select(hit, x + d, x) for x, d in zip(q, f.position)]
    qd = [select(hit, g * x + d, x) for x, g, d in zip(qd, f.velocity_gain, f.velocity)]
    effort = [select(hit, x + d, x) for x, d in zip(effort, f.effort)]
    unreadable = both(on, flag(f.unreadable))
    present = no(any_of([both(on, f.silent), unreadable, too_early]))
    return (Report(present, unreadable, q, qd, effort, select(on, f.clock, 0.0), age * dt),
            link._replace(reports=count, kept_q=kept[0], kept_qd=kept[1], kept_effort=kept[2]))


def exchanged(f, row):
    """Return a row in which two joints have each other's number."""
    one, other = 0.0, 0.0
    for j, x in enumerate(row):
        one = select(equal(f.first, float(j)), x, one)
        other = select(equal(f.second, float(j)), x, other)
    return [select(equal(f.first, float(j)), other, select(equal(f.second, float(j)), one, x))
            for j, x in enumerate(row)]


def host_delay(f, on, begins, delays, step, time, dt, link):
    """
    Return the flag that the host runs in this step, the delay of its answer, and the next memory.

    The host is busy for the recorded delay of each step, times a factor. While it is, states are
    replaced by newer ones, as in a queue of one. A pause is one long delay.
    """
    factor = f.usual_delays + select(on, f.delays, 0.0)
    (recorded,) = lookup(delays, f.row + step, [0])
    delay = factor * recorded + select(begins, f.pause, 0.0)
    asleep = above(link.free, time + dt * (1.0 - 1e-9))
    waited = select(above(link.free, time), link.free - time, 0.0)
    answered = waited + delay
    too_late = above(answered, dt * (1.0 - 1e-9))
    runs = no(either(asleep, too_late))
    free = when(both(no(asleep), too_late), time + answered, link.free)
    return runs, answered, link._replace(free=free)


def driven(f, on, on_before, link, torque, sent, late, dt):
    """
    Return the command that the driver applies, flag of its brakes, and the next memory.

    Parameters
    ----------
    f : namespace
        The fault.
    on, on_before : scalar
        Flags: it is active in this step, and in the one before.
    link : Link
        Memory.
    torque, sent : list, scalar
        Torque of the controller, and flag that it was sent.
    late : scalar
        Flag: it arrives too late for this step.
    dt : scalar
        Duration of a step, s.

    """
    heard = no(both(on_before, f.deaf))
    # a late command acts from the next step on, unless that has one of its own
    old = both(link.is_late, heard)
    now = all_of([sent, no(late), heard])
    command = when(now, torque, when(old, link.late, link.command))
    arrived = either(now, old)
    since = when(arrived, 0.0, link.since + 1.0)
    released = both(arrived, no(both(on_before, f.brakes)))
    braked = when(released, 0.0, link.braked)
    expired = all_of([on, flag(f.timeout), above(since * dt, f.timeout)])
    braked = either(braked, either(both(on, f.brakes), expired))
    motors = [select(on, g, 1.0) * x for g, x in zip(f.motor, command)]
    return motors, braked, link._replace(
        command=command, late=torque, is_late=both(sent, late), since=since,
        braked=when(braked, 1.0, 0.0))
