"""
Permission to send torques: what a controller makes of the words of its guard.

A process that was held up cannot know what happened meanwhile: its guard may have taken over. So
it asks, with a heartbeat of its own stamp, and commands again when the answer of the guard echoes
that stamp: no message from before the pause can be mistaken for it.

Stamps are those of the heartbeats, in s since some time; infinite where there is none.
"""

from __future__ import annotations

from dataclasses import replace
import math

from robodyn_ros.control.blocks import block, scalar
from robodyn_ros.dynamics.jit.flags import (
    above, all_of, at_least, both, either, equal, finite, flag, no, when)
from robodyn_ros.dynamics.jit.trace import maximum
from robodyn_ros.safety.guarding import GuardState, HELD_UP

NEVER = math.inf
WORDS = tuple(GuardState)
ACTIVE, ASKING, STANDBY = 0.0, 1.0, 2.0  # phases of `safety.Phase`
_COMMANDING, _GONE = (float(WORDS.index(each) + 1) for each in (
    GuardState.COMMANDING, GuardState.GONE))


@block
class Program:
    timeout: float = scalar('s', 'Time without a word of the guard after which it is silent.')


@block
class Turn:
    now: float = scalar('s', 'Time of the steady clock.')
    commands: float = scalar('', 'Flag: torques are sent.')
    stamp: float = scalar('s', 'Stamp of the heartbeat that is sent.')
    word: float = scalar('', 'State of the guard, from 1 on in the order of `GuardState`.')
    echo: float = scalar('s', 'Stamp of the newest heartbeat that it had received.')


@block
class Memory:
    word: float = scalar('', 'Last state of the guard; 0: none was received.')
    heard: float = scalar('s', 'Time at which it was received.')
    turned: float = scalar('s', 'Time of the last turn of this process.')
    asking: float = scalar('', 'Flag: an answer of the guard is waited for.')
    asked: float = scalar('s', 'Time since when.')
    question: float = scalar('s', 'Stamp of the heartbeat that asks.')
    first: float = scalar('s', 'Stamp of the first heartbeat.')
    met: float = scalar('', 'Flag: the guard has received that one.')
    deferring: float = scalar('', 'Flag: the guard commands the arm.')
    silent: float = scalar('', 'Flag: a guard that was there is silent.')


def begun():
    """Return the memory before the first turn."""
    return Memory(0.0, -NEVER, -NEVER, 0.0, 0.0, NEVER, NEVER, 0.0, 0.0, 0.0)


def known(m):
    """Return whether there is, or was, a guard that did not end in good order."""
    return both(flag(m.word), no(equal(m.word, _GONE)))


def silent(m, p):
    """Return whether a guard that was there is silent."""
    return both(known(m), above(m.turned - m.heard, p.timeout))


def paused(m, now):
    """Return whether this process was held up within its turn: a permission is out of date."""
    passed = now - m.turned
    return all_of([known(m), above(passed, HELD_UP), finite(passed)])


def hear(turn, m, p):
    """Return the memory after a word of the guard; nothing besides."""
    # a guard that was started anew has received nothing yet
    answered = both(finite(m.question), at_least(turn.echo, m.question))
    return replace(m, word=turn.word, heard=turn.now, silent=0.0,
                   met=both(finite(m.first), at_least(turn.echo, m.first)),
                   asking=both(m.asking, no(answered)),
                   question=when(answered, NEVER, m.question)), 0.0


def begin(turn, m, p):
    """Return the memory at the begin of a turn, and whether torques may be sent in it."""
    now = turn.now
    was_paused = paused(m, now)
    # the pause was this process's own: the words of the guard from meanwhile are still to be
    # read, and one that missed the heartbeat may have said that there is no controller
    m = when(was_paused, replace(
        m, turned=now, heard=maximum(m.heard, now), asking=1.0, asked=now, question=NEVER,
        first=NEVER, met=0.0), replace(m, turned=now))
    in_vain = both(m.asking, either(no(known(m)), above(now - m.asked, p.timeout)))
    m = replace(m, asking=both(m.asking, no(in_vain)),
                question=when(in_vain, NEVER, m.question))
    m = replace(m, silent=silent(m, p))
    m = replace(m, deferring=both(equal(m.word, _COMMANDING), no(m.silent)))
    return m, no(either(m.asking, m.deferring))


def check(turn, m, p):
    """Return the same memory, and whether the permission of this turn is out of date."""
    return m, paused(m, turn.now)


def beat(turn, m, p):
    """Return the memory after a heartbeat with a stamp, and the phase that it names."""
    phase = when(either(m.asking, paused(m, turn.now)), ASKING,
                 when(turn.commands, ACTIVE, STANDBY))
    first = when(finite(m.first), m.first, turn.stamp)
    asks = both(m.asking, no(finite(m.question)))
    return replace(m, first=first, question=when(asks, turn.stamp, m.question)), phase
