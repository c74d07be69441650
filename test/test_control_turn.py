"""Turns of a loop: when a torque is due, what is reported, and who is told."""

import math

import pytest
from robodyn_ros.control.turn import Inputs
from robodyn_ros.control.turn_host import TurnHost
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.safety import GuardState, Phase
from robodyn_ros.safety.acceptance import BETWEEN, COAST, FROM_STATE, REQUESTS, SILENT


def test_a_torque_is_due_a_period_after_the_last_and_keeps_the_pace():
    turns = TurnHost(False, 0.5, period=0.01)

    def turn(now, kind, received=False):
        """Make a turn; return whether a torque was due in it, and for how long the next waits."""
        assert turns.begin(now, received)
        due = turns.is_due
        turns.end(now, kind)
        return due, turns.wait(now)

    longest = pytest.approx(COAST)
    assert turn(50.0, REQUESTS) == (False, longest), 'nothing is due before the first state'
    assert turn(50.001, FROM_STATE, received=True) == (False, longest)
    assert turn(50.006, REQUESTS) == (False, longest)
    assert turn(50.009, REQUESTS) == (False, pytest.approx(0.002))
    # a state replaces the torque that is due
    assert turn(50.012, FROM_STATE, received=True) == (False, longest)
    # late by less than a period the pace is kept; of a longer gap one torque is made up for
    assert turn(50.023, BETWEEN) == (True, longest)
    assert turn(50.0325, BETWEEN) == (True, longest)
    assert turn(50.065, BETWEEN) == (True, 0.0)
    assert turn(50.066, BETWEEN) == (True, longest)
    assert turn(50.0735, REQUESTS) == (False, pytest.approx(0.0015))
    assert turn(50.09, SILENT) == (True, longest) and turn(51.0, REQUESTS) == (False, longest)
    turn(52.0, FROM_STATE, received=True)
    turns.guard_heard(52.001, GuardState.COMMANDING, 0)
    assert not turns.begin(52.005) and turns.memory.guard_commands
    turns.end(52.005, REQUESTS)
    assert turns.memory.due == math.inf, 'while the guard commands nothing is due'


def test_a_process_without_a_sign_of_life_leaves_the_loop_unattended():
    turns = TurnHost(False, 0.5, patience=0.2)
    turns.begin(50.0)
    inputs = turns.values['inputs']
    place = next(entry.begin for entry in blocks.entries(Inputs, {}) if entry.name == 'alive')
    for alive, expected in ((49.9, False), (49.79, True), (49.9, False)):
        inputs[place] = alive
        turns._run('begin', 50.0)
        assert bool(turns.memory.unattended) is expected


def test_a_subscriber_that_comes_while_the_states_are_silent_gets_nothing_until_there_are_states():
    turns = TurnHost(False, 0.5)

    def withheld(kind, subscribers):
        return turns.withheld(50.0, kind, subscribers)

    assert not withheld(FROM_STATE, 2) and not withheld(BETWEEN, 3)
    assert not withheld(SILENT, 3) and not withheld(SILENT, 2) and not withheld(SILENT, 2)
    assert withheld(SILENT, 3) and turns.new_driver
    assert withheld(SILENT, 2), 'the one that was there at first is no longer listed'
    assert not withheld(FROM_STATE, 2) and not turns.new_driver
    assert not withheld(SILENT, 2), 'it is known by then'


def test_torques_that_can_not_be_published_end_the_heartbeat():
    """So that the guard takes over."""
    turns = TurnHost(False, 0.5)
    for k in range(12):
        turns.begin(50.0 + 0.005 * k)
        turns._run('sent', 50.0)   # `published` is not set
        assert (turns.heartbeat(50.0 + 0.005 * k, k) is None) == (k >= 9)
    turns.sent(50.1)
    assert turns.heartbeat(50.1, 20) is Phase.ACTIVE


def test_heartbeats_are_spaced_and_a_change_of_phase_is_told_at_once():
    turns = TurnHost(False, 0.5)
    turns.begin(50.0)
    assert turns.heartbeat(50.0, 1) is Phase.STANDBY
    assert turns.heartbeat(50.002, 2) is None
    turns.sent(50.003)
    assert turns.heartbeat(50.003, 3) is Phase.ACTIVE
    assert turns.heartbeat(50.006, 4) is None
    assert turns.heartbeat(50.0075, 5) is Phase.ACTIVE
    turns.release()
    assert turns.heartbeat(50.008, 6) is Phase.STANDBY
