"""Silence, late, frozen and jumping stamps, of states that are judged outside of a cycle."""

import math

from closed_loop import MODEL
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.safety.acceptance import FROM_STATE, REQUESTS, SILENT
from robodyn_ros.safety.state_judge import StateJudge

HOLD = 0.05
EPOCH = 1.7e9
HOME = np.array([0.1, 0.5, 0.2, -1.0, 0.3, 0.5, 0.2])


def judge_after(*messages, skew=1.0, sent=None):
    """Return a judge that received (arrival, stamp, clock) of a resting arm, and what counted."""
    judge = StateJudge(Dynamics(MODEL), MODEL.effort_limit, hold=HOLD, stop=0.25, skew=skew,
                       slack=0.06, repeated=math.inf)
    counted = []
    for arrival, stamp, clock in messages:
        before = float(judge.seen.measured)
        judge.given.q[:], judge.given.qd[:], judge.given.effort[:] = HOME, 0.0, math.nan
        judge.judge(arrival, True, sent, stamp, clock)
        counted.append(float(judge.seen.measured) != before)
    return judge, counted


@pytest.mark.parametrize('age, fresh', [(0.0, True), (0.049, True), (0.051, False), (1e6, False)])
@pytest.mark.parametrize('stamp', [0.0, EPOCH])
def test_data_are_fresh_for_a_time(age, fresh, stamp):
    judge, _ = judge_after((10.0, stamp, EPOCH))
    found = judge.age(10.0 + age)
    assert found.fresh is fresh and found.age == pytest.approx(age, abs=1e-6)
    assert bool(found.reason) == (not fresh)
    if not fresh:
        assert found.reason.endswith('silent')


def test_before_the_first_message():
    judge, _ = judge_after()
    found = judge.age(0.0, 'joints not reported: joint4')
    assert not found.fresh and found.age == math.inf
    assert found.reason.endswith('nothing received yet (joints not reported: joint4)')


def test_frozen_stamp_is_no_sign_of_life():
    judge, counted = judge_after(
        *((10.0 + 0.01 * i, EPOCH, EPOCH + 0.01 * i) for i in range(30)))
    assert counted == [True] + [False] * 29
    assert 'frozen at 1700000000.0' in judge.age(10.29).reason


def test_stamps_out_of_order_are_skipped_and_those_that_start_over_accepted():
    _, counted = judge_after(
        (1.00, 5.00, 5.0), (1.01, 5.02, 5.01), (1.02, 5.01, 5.02), (1.03, 5.03, 5.03))
    assert counted == [True, True, False, True]
    judge, counted = judge_after((1.00, 99.0, 99.0), (1.01, 0.5, 0.5), (1.02, 0.51, 0.51))
    assert counted == [True, False, True]
    judge, _ = judge_after((1.0, 5.0, 5.0), (1.01, 4.5, 5.01))
    assert 'the stamp went back by 0.5' in judge.age(1.1).reason


@pytest.mark.parametrize('offset, side', [(-3.0, '3.000 s behind'), (3.0, '3.000 s ahead of')])
def test_stamps_far_from_the_clock_do_not_count(offset, side):
    messages = [(1.0 + 0.01 * i, EPOCH + offset + 0.01 * i, EPOCH + 0.01 * i) for i in range(5)]
    judge, counted = judge_after(*messages)
    assert not any(counted)
    reason = judge.age(1.05).reason
    assert side in reason and 'use_sim_time' in reason
    judge, counted = judge_after(*messages, skew=math.inf)
    assert all(counted) and judge.age(1.05).fresh


def test_late_arrival_adds_to_the_age():
    judge, counted = judge_after((1.0, 5.0, 5.1))
    assert counted == [True]
    found = judge.age(1.02)
    assert not found.fresh and found.age == pytest.approx(0.12)
    assert 'messages arrive 0.100 s late' in found.reason


def test_a_stamp_slightly_ahead_does_not_make_data_younger():
    judge, _ = judge_after((1.0, 5.3, 5.0))
    assert not judge.age(1.06).fresh


def test_a_clock_set_back_does_not_hide_silence():
    judge, _ = judge_after((100.0, 0.0, 0.0))
    assert judge.judge(50.0, False, HOME) == REQUESTS
    assert judge.judge(50.03, False, HOME) == REQUESTS
    assert judge.judge(50.06, False, HOME) == SILENT
    assert not judge.judge(math.nan, False, HOME) == FROM_STATE


def test_an_arm_that_is_not_under_control_may_be_anywhere():
    judge, _ = judge_after((1.0, 0.0, 0.0))
    judge.given.q[:] = -HOME
    assert judge.judge(1.01, True, HOME) == REQUESTS
    assert 'has jumped by 2' in judge.age(1.2).reason
    assert judge.judge(1.02, True, None) == REQUESTS
    np.testing.assert_array_equal(judge.seen.q, -HOME)
    assert judge.judge(1.03, True, HOME) == FROM_STATE


@pytest.mark.parametrize('factor', [0.0, -1.0, np.degrees(1.0)])
def test_velocities_that_contradict_positions_are_estimated(factor):
    judge, _ = judge_after()
    for k in range(200):
        judge.given.q[:] = HOME + 0.002 * k * 0.6
        judge.given.qd[:], judge.given.effort[:] = factor * 0.6, math.nan
        judge.judge(0.002 * k, True, HOME)
    np.testing.assert_allclose(judge.seen.qd, 0.6, atol=1e-3)
