"""
Permission to send torques, from the states that the guard publishes.

A process that was held up cannot know whether its guard has taken over meanwhile. It publishes a
heartbeat of phase ASKING, and commands again when a state of the guard echoes the stamp of that
heartbeat: no message from before the pause can be mistaken for this confirmation.

Stamps are those of the heartbeats, in s since an arbitrary time; infinite where there is none.
"""

from __future__ import annotations

from dataclasses import replace
import math

from robodyn_ros.dynamics.jit.blocks import block, scalar
from robodyn_ros.dynamics.jit.flags import all_of, equal, finite, flag, no, when
from robodyn_ros.dynamics.jit.trace import maximum
from robodyn_ros.safety.guard_state_machine import GuardState, HELD_UP

NEVER = math.inf
GUARD_STATES = tuple(GuardState)
ACTIVE, ASKING, STANDBY = 0.0, 1.0, 2.0  # phases of `safety.Phase`
_COMMANDING, _GONE = (float(GUARD_STATES.index(each) + 1) for each in (
    GuardState.COMMANDING, GuardState.GONE))


@block
class Program:
    timeout: float = scalar('s', 'Time without a message of the guard after which it is silent.')


@block
class Turn:
    now: float = scalar('s', 'Time of the steady clock.')
    commands: float = scalar('', 'Flag: torques are sent.')
    stamp: float = scalar('s', 'Stamp of the heartbeat that is sent.')
    guard_state: float = scalar('', 'State of the guard, from 1 on in the order of `GuardState`.')
    echo: float = scalar('s', 'Stamp of the newest heartbeat that the guard had received.')


@block
class Memory:
    guard_state: float = scalar('', 'Last state of the guard; 0: none was received.')
    received: float = scalar('s', 'Time at which it was received.')
    last_turn: float = scalar('s', 'Time of the last turn of the loop.')
    pending: float = scalar('', 'Flag: a confirmation of the guard is awaited.')
    pending_since: float = scalar('s', 'Time since which it is awaited.')
    request_stamp: float = scalar('s', 'Stamp of the heartbeat that requests it.')
    first_stamp: float = scalar('s', 'Stamp of the first heartbeat.')
    first_received: float = scalar('', 'Flag: the guard has received the first heartbeat.')
    guard_commands: float = scalar('', 'Flag: the guard commands the arm.')
    silent: float = scalar('', 'Flag: a known guard is silent.')


def initial():
    """Return the memory before the first turn."""
    return Memory(0.0, -NEVER, -NEVER, 0.0, 0.0, NEVER, NEVER, 0.0, 0.0, 0.0)


def known(m):
    """Return whether a guard is known that did not shut down in good order."""
    return flag(m.guard_state) & no(equal(m.guard_state, _GONE))


def silent(m, p):
    """Return whether a known guard is silent."""
    return known(m) & (m.last_turn - m.received > p.timeout)


def paused(m, now):
    """Return whether the process was held up within this turn: its permission is out of date."""
    passed = now - m.last_turn
    return all_of([known(m), passed > HELD_UP, finite(passed)])


def receive(turn, m, p):
    """Return the memory after a message of the guard, and 0."""
    # a restarted guard has not received any heartbeat yet
    confirmed = finite(m.request_stamp) & (turn.echo >= m.request_stamp)
    return replace(m, guard_state=turn.guard_state, received=turn.now, silent=0.0,
                   first_received=finite(m.first_stamp) & (turn.echo >= m.first_stamp),
                   pending=m.pending & no(confirmed),
                   request_stamp=when(confirmed, NEVER, m.request_stamp)), 0.0


def begin(turn, m, p):
    """Return the memory at the beginning of a turn, and whether torques may be sent in it."""
    now = turn.now
    was_paused = paused(m, now)
    # this process itself was paused: messages of the guard from meanwhile are not read yet, and a
    # guard that missed the heartbeat may have reported that there is no controller
    m = when(was_paused, replace(
        m, last_turn=now, received=maximum(m.received, now), pending=1.0, pending_since=now,
        request_stamp=NEVER, first_stamp=NEVER, first_received=0.0), replace(m, last_turn=now))
    expired = m.pending & (no(known(m)) | (now - m.pending_since > p.timeout))
    m = replace(m, pending=m.pending & no(expired),
                request_stamp=when(expired, NEVER, m.request_stamp))
    m = replace(m, silent=silent(m, p))
    m = replace(m, guard_commands=equal(m.guard_state, _COMMANDING) & no(m.silent))
    return m, no(m.pending | m.guard_commands)


def check(turn, m, p):
    """Return the same memory, and whether the permission of this turn is out of date."""
    return m, paused(m, turn.now)


def heartbeat_sent(turn, m, p):
    """Return the memory after a heartbeat was sent, and the phase that it must carry."""
    phase = when(m.pending | paused(m, turn.now), ASKING, when(turn.commands, ACTIVE, STANDBY))
    first_stamp = when(finite(m.first_stamp), m.first_stamp, turn.stamp)
    requests = m.pending & no(finite(m.request_stamp))
    return replace(m, first_stamp=first_stamp,
                   request_stamp=when(requests, turn.stamp, m.request_stamp)), phase
