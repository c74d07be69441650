"""
Link between arm and controller: reported states, received commands, and the host in between.

As in the simulator, faults are evaluated at the begin of a step; the state at its end has those of
the step before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.blocks import block, entries, Entry, joints, scalar, unpack
from robodyn_ros.dynamics.jit.flags import all_of, any_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose, lookup
from robodyn_ros.dynamics.jit.trace import floor, minimum, nearest, select


@block
class Link:
    reports: float = scalar('', 'Number of reports since the begin of the fault.')
    kept_q: list = joints('rad', 'Position in the first report of the fault.')
    kept_qd: list = joints('rad/s', 'Velocity in it.')
    kept_effort: list = joints('N m', 'Effort in it.')
    host_free_at: float = scalar('s', 'Time at which the host is free.')
    command: list = joints('N m', 'Last command that the driver received.')
    delayed_command: list = joints('N m', 'Last command of the controller.')
    has_delayed: float = scalar('', 'Flag: it was too late for its step.')
    steps_since_command: float = scalar('', 'Steps since the driver received one.')
    braked: float = scalar('', 'Flag: the brakes hold the arm.')


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


def link_entries(nv: int) -> list[Entry]:
    """Return the fields of a link and their places."""
    return entries(Link, {'joints': nv})


def link_size(nv: int) -> int:
    """Return the length of a `Link`."""
    return sum(each.size for each in link_entries(nv))


def link_of(values, nv: int) -> Link:
    """Return the memory of a link from a list."""
    return unpack(Link, values, {'joints': nv})


def new_link(nv: int) -> NDArray:
    """Return the memory before the first step: the brakes hold the arm."""
    values = np.zeros(link_size(nv))
    values[-1] = 1.0
    return values


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
        State as the encoders see it.
    noise : list
        Normally distributed numbers, for positions, then for velocities.
    link : Link
        Memory.
    history : callable
        `history(steps)` returns this state so many steps ago.
    step, dt : scalar
        Number of this step, and its duration.

    """
    n = len(q)
    delayed, age = flag(on) & flag(f.delay), select(on, f.delay, 0.0)
    # before the first step there is no other state
    steps = minimum(f.age + age, step - 2.0)
    q, qd, effort = choose(steps > 0.0, [lambda: (q, qd, effort), lambda: history(steps)])
    sigma_q = f.usual_position_noise + select(on, f.position_noise, 0.0)
    sigma_qd = f.usual_velocity_noise + select(on, f.velocity_noise, 0.0)
    q = [x + sigma_q * e for x, e in zip(q, noise[:n])]
    qd = [x + sigma_qd * e for x, e in zip(qd, noise[n:])]
    unit = select(on, select(f.resolution, f.resolution, f.usual_resolution), f.usual_resolution)
    known = select(unit, unit, 1.0)
    q = [when(flag(unit), nearest(x / known) * known, x) for x in q]

    # a delayed state is one from before the fault until its time is over
    too_early = delayed & (f.start > (step - f.delay - 1.0) * dt + 1e-9)
    (q, qd, effort), (count, *kept) = changed(f, on, [q, qd, effort], [
        link.reports, link.kept_q, link.kept_qd, link.kept_effort])
    unreadable = flag(on) & flag(f.unreadable)
    present = no(any_of([flag(on) & flag(f.silent), unreadable, too_early]))
    return (Report(present, unreadable, q, qd, effort, select(on, f.clock, 0.0), age * dt),
            replace(link, reports=count, kept_q=kept[0], kept_qd=kept[1], kept_effort=kept[2]))


def changed(f, on, state, memory):
    """
    Return a state as a fault reports it, and the next memory.

    state: position, velocity, effort; memory: number of reports since the begin of the fault, and
    position, velocity, effort of the first one.
    """
    reports, *kept = memory
    count = when(on, reports + 1.0, 0.0)
    first = equal(count, 1.0)
    kept = [when(first, now, old) for now, old in zip(state, kept)]
    turn = count - f.every * floor(count / f.every)
    hit = flag(on) & (equal(f.every, 1.0) | equal(turn, f.phase))
    q, qd, effort = when(flag(on) & flag(f.repeats), kept, state)
    frozen = [flag(on) & flag(each) for each in f.frozen]
    q = [select(hold, old, x) for hold, old, x in zip(frozen, kept[0], q)]
    qd = [select(hold, 0.0, x) for hold, x in zip(frozen, qd)]
    q = [select(hit, x + d, x) for x, d in zip(q, f.position)]
    qd = [select(hit, g * x + d, x) for x, g, d in zip(qd, f.velocity_gain, f.velocity)]
    effort = [select(hit, x + d, x) for x, d in zip(effort, f.effort)]
    return [q, qd, effort], [count, *kept]


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
    receives = no(flag(on_before) & flag(f.deaf))
    # a late command acts from the next step on, unless that has one of its own
    old = flag(link.has_delayed) & receives
    now = all_of([sent, no(late), receives])
    command = when(now, torque, when(old, link.delayed_command, link.command))
    arrived = now | old
    since = when(arrived, 0.0, link.steps_since_command + 1.0)
    released = arrived & no(flag(on_before) & flag(f.brakes))
    braked = when(released, 0.0, link.braked)
    expired = all_of([on, flag(f.timeout), since * dt > f.timeout])
    braked = flag(braked) | ((flag(on) & flag(f.brakes)) | expired)
    motors = [select(on, g, 1.0) * x for g, x in zip(f.motor, command)]
    return motors, braked, replace(
        link, command=command, delayed_command=torque, has_delayed=flag(sent) & flag(late),
        steps_since_command=since, braked=when(braked, 1.0, 0.0))


def host_delay(f, on, begins, delays, step, time, dt, link):
    """
    Return the flag that the host runs in this step, the delay of its answer, and the next memory.

    The host is busy for the recorded delay of each step, times a factor. While it is, states are
    replaced by newer ones, as in a queue of one. A pause is one long delay.
    """
    factor = f.usual_delays + select(on, f.delays, 0.0)
    (recorded,) = lookup(delays, f.row + step, [0])
    delay = factor * recorded + select(begins, f.pause, 0.0)
    asleep = link.host_free_at > time + dt * (1.0 - 1e-9)
    waited = select(link.host_free_at > time, link.host_free_at - time, 0.0)
    answered = waited + delay
    too_late = answered > dt * (1.0 - 1e-9)
    runs = no(asleep | too_late)
    free_at = when(no(asleep) & too_late, time + answered, link.host_free_at)
    return runs, answered, replace(link, host_free_at=free_at)
