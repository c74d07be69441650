"""
One turn of a control loop: what comes before and after the cycle, in whatever process it runs.

    wait         at most until a torque is due without a state
    guard_heard  a state of the guard, where one came
    begin        permission to command, kind of the cycle, and whether it is attended
    `cycle`      the cycle
    check        whether its torque is withheld: the permission is out of date, or a driver came
    sent         what became of the torque
    end          when the next torque is due without a state
    heartbeat    its phase, where one is due

Permission: a process that was held up cannot know whether its guard has taken over meanwhile. It
publishes a heartbeat of phase ASKING, and commands again when a state of the guard echoes the
stamp of that heartbeat: no message from before the pause can be mistaken for this confirmation.

Driver: a subscriber of the torques that comes while the states are silent may be a driver that was
restarted, whose arm is in another pose; its first torque would open the brakes. Nothing is sent
until there are states again.

Stamps are those of the heartbeats, in s since an arbitrary time; infinite where there is none.
Each function returns the next memory and a number.
"""

from __future__ import annotations

from dataclasses import replace
import math

from robodyn_ros.dynamics.jit.blocks import block, scalar
from robodyn_ros.dynamics.jit.flags import all_of, equal, finite, first_of, flag, no, when
from robodyn_ros.dynamics.jit.trace import maximum, minimum
from robodyn_ros.safety.acceptance import (
    BETWEEN, COAST, DUE, FROM_STATE, RECEIVED, SILENT, WAITING)
from robodyn_ros.safety.guard_state_machine import GuardState, HELD_UP

NEVER = math.inf
GUARD_STATES = tuple(GuardState)
ACTIVE, ASKING, STANDBY = 0.0, 1.0, 2.0  # phases of `safety.Phase`
NO_PHASE = -1.0
_SPACING = 4e-3  # s between two heartbeats of the same phase
_FAILURES = 10.0  # failures to publish a torque, in a row, after which no heartbeat is sent
_COMMANDING, _GONE = (float(GUARD_STATES.index(each) + 1) for each in (
    GuardState.COMMANDING, GuardState.GONE))


@block
class Program:
    timeout: float = scalar('s', 'Time without a message of the guard after which it is silent.')
    period: float = scalar('s', 'Time between torques without a state; infinite: none is sent.')
    patience: float = scalar('s', 'Time without a sign of life of the process that supervises the '
                             'loop, after which a motion is stopped.')


@block
class Inputs:
    now: float = scalar('s', 'Time of the steady clock.')
    received: float = scalar('', 'Flag: a state of the arm was received.')
    alive: float = scalar('s', 'Time of the last sign of life of the supervising process.')
    lost: float = scalar('', 'Flag: the guard has commanded, and the arm is not resumed from it.')
    kind: float = scalar('', 'Kind of the cycle that was made, see `safety.acceptance`.')
    published: float = scalar('', 'Flag: the torque was published.')
    stamp: float = scalar('s', 'Stamp of a heartbeat.')
    guard_state: float = scalar('', 'State of the guard, from 1 on in the order of `GuardState`.')
    echo: float = scalar('s', 'Stamp of the newest heartbeat that the guard had received.')
    subscribers: float = scalar('', 'Number of subscribers of the torques.')


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
    guard_silent: float = scalar('', 'Flag: a known guard is silent.')
    permitted: float = scalar('', 'Flag: a torque may be sent in this turn.')
    kind: float = scalar('', 'Kind of the cycle of this turn, see `safety.acceptance`.')
    unattended: float = scalar('', 'Flag: the supervising process gives no sign of life.')
    due: float = scalar('s', 'Time at which a torque is due without a state.')
    commands: float = scalar('', 'Flag: torques are sent.')
    failures: float = scalar('', 'Failures to publish a torque, in a row.')
    phase: float = scalar('', 'Phase of the last heartbeat.')
    beat: float = scalar('s', 'Time of the last heartbeat.')
    subscribers: float = scalar('', 'Fewest subscribers of the torques in this silence of the '
                                'states; infinite while there are states.')
    new_driver: float = scalar('', 'Flag: one has come since, and nothing is sent to it.')


def initial():
    """Return the memory before the first turn."""
    return Memory(0.0, -NEVER, -NEVER, 0.0, 0.0, NEVER, NEVER, 0.0, 0.0, 0.0, 0.0, WAITING, 0.0,
                  NEVER, 0.0, 0.0, NO_PHASE, -NEVER, NEVER, 0.0)


def known(m):
    """Return whether a guard is known that did not shut down in good order."""
    return flag(m.guard_state) & no(equal(m.guard_state, _GONE))


def guard_silent(m, p):
    """Return whether a known guard is silent."""
    return known(m) & (m.last_turn - m.received > p.timeout)


def paused(m, now):
    """Return whether the process was held up within this turn: its permission is out of date."""
    passed = now - m.last_turn
    return all_of([known(m), passed > HELD_UP, finite(passed)])


def wait(x, m, p):
    """Return the same memory, and for how long to wait for a state, s."""
    return m, maximum(minimum(m.due - x.now, COAST), 0.0)


def guard_heard(x, m, p):
    """Return the memory after a message of the guard, and 0."""
    # a restarted guard has not received any heartbeat yet
    confirmed = finite(m.request_stamp) & (x.echo >= m.request_stamp)
    return replace(m, guard_state=x.guard_state, received=x.now, guard_silent=0.0,
                   first_received=finite(m.first_stamp) & (x.echo >= m.first_stamp),
                   pending=m.pending & no(confirmed),
                   request_stamp=when(confirmed, NEVER, m.request_stamp)), 0.0


def begin(x, m, p):
    """Return the memory at the beginning of a turn, and whether torques may be sent in it."""
    now, was_paused = x.now, paused(m, x.now)
    # this process itself was paused: messages of the guard from meanwhile are not read yet, and a
    # guard that missed the heartbeat may have reported that there is no controller
    m = when(was_paused, replace(
        m, last_turn=now, received=maximum(m.received, now), pending=1.0, pending_since=now,
        request_stamp=NEVER, first_stamp=NEVER, first_received=0.0), replace(m, last_turn=now))
    expired = m.pending & (no(known(m)) | (now - m.pending_since > p.timeout))
    m = replace(m, pending=m.pending & no(expired),
                request_stamp=when(expired, NEVER, m.request_stamp))
    m = replace(m, guard_silent=guard_silent(m, p))
    taken = equal(m.guard_state, _COMMANDING) & no(m.guard_silent)
    permitted = no(m.pending | taken) & no(x.lost)
    kind = first_of((x.received, RECEIVED), (now >= m.due, DUE), otherwise=(WAITING,))[0]
    return replace(
        m, guard_commands=taken, permitted=permitted, kind=kind,
        unattended=no(p.patience >= now - x.alive), commands=m.commands & no(taken),
        failures=when(taken, 0.0, m.failures)), permitted


def check(x, m, p):
    """Return the memory before a torque is published, and whether it is withheld."""
    silence = equal(x.kind, SILENT)
    came = silence & (m.new_driver | (x.subscribers > m.subscribers))
    fewest = when(silence, minimum(m.subscribers, x.subscribers), NEVER)
    return replace(m, subscribers=fewest, new_driver=came), came | paused(m, x.now)


def sent(x, m, p):
    """Return the memory after a torque was published, or failed to be, and 0."""
    return replace(m, commands=m.commands | x.published,
                   failures=when(x.published, 0.0, m.failures + 1.0)), 0.0


def end(x, m, p):
    """Return the memory after the cycle, and the time at which a torque is due without a state."""
    due, = first_of((no(m.permitted) | equal(x.kind, SILENT), NEVER),
                    (equal(x.kind, FROM_STATE), x.now + p.period),
                    # the pace is kept; of a gap longer than a period, one torque is made up for
                    (equal(x.kind, BETWEEN), maximum(m.due, x.now - p.period) + p.period),
                    otherwise=(m.due,))
    return replace(m, due=due), due


def heartbeat(x, m, p):
    """Return the memory after a heartbeat, and the phase that it must carry; -1: none is due."""
    phase = when(m.pending | paused(m, x.now), ASKING, when(m.commands, ACTIVE, STANDBY))
    # if torques can not be sent, the guard is to take over
    due = (no(equal(phase, m.phase)) | (x.now - m.beat >= _SPACING)) & (m.failures < _FAILURES)
    requests = m.pending & no(finite(m.request_stamp))
    after = replace(m, first_stamp=when(finite(m.first_stamp), m.first_stamp, x.stamp),
                    request_stamp=when(requests, x.stamp, m.request_stamp), phase=phase,
                    beat=x.now)
    return when(due, [after, phase], [m, NO_PHASE])
