"""Silence, late, frozen and jumping stamps."""

import math

import pytest
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.safety import StaleMonitor
from robodyn_ros.safety.stale import check_ages

HOLD = 0.05
EPOCH = 1.7e9


def monitor_after(*messages, max_skew=1.0):
    """Return a monitor that received (arrival, stamp, clock) messages, and what counted."""
    monitor = StaleMonitor(HOLD, max_skew)
    return monitor, [monitor.received(*message) for message in messages]


@pytest.mark.parametrize('age, fresh', [(0.0, True), (0.049, True), (0.051, False), (1e6, False)])
@pytest.mark.parametrize('stamp', [0.0, EPOCH])
def test_data_are_fresh_for_a_time(age, fresh, stamp):
    monitor, _ = monitor_after((10.0, stamp, EPOCH))
    verdict = monitor.check(10.0 + age)
    assert verdict.fresh is fresh and verdict.age == pytest.approx(age, abs=1e-6)
    assert bool(verdict.reason) == (not fresh)
    if not fresh:
        assert verdict.reason.endswith('silent')


def test_before_the_first_message():
    monitor = StaleMonitor(HOLD)
    verdict = monitor.check(0.0)
    assert not verdict.fresh and verdict.age == math.inf
    assert 'nothing received yet' in verdict.reason


def test_frozen_stamp_is_no_sign_of_life():
    monitor, counted = monitor_after(
        *((10.0 + 0.01 * i, EPOCH, EPOCH + 0.01 * i) for i in range(30)))
    assert counted == [True] + [False] * 29
    verdict = monitor.check(10.29)
    assert not verdict.fresh and 'frozen at 1700000000.0' in verdict.reason


def test_one_stamp_out_of_order_is_skipped_only():
    monitor, counted = monitor_after(
        (1.00, 5.00, 5.0), (1.01, 5.02, 5.01), (1.02, 5.01, 5.02), (1.03, 5.03, 5.03))
    assert counted == [True, True, False, True]
    assert monitor.check(1.03).fresh


def test_stamps_that_start_over_are_accepted_again():
    _, counted = monitor_after((1.00, 99.0, 99.0), (1.01, 0.5, 0.5), (1.02, 0.51, 0.51))
    assert counted == [True, False, True]


def test_stamp_going_back_is_named():
    monitor, _ = monitor_after((1.0, 5.0, 5.0), (1.01, 4.5, 5.01))
    assert 'the stamp went back by 0.5' in monitor.check(1.1).reason


@pytest.mark.parametrize('offset, side', [(-3.0, '3.000 s behind'), (3.0, '3.000 s ahead of')])
def test_stamps_far_from_the_clock_do_not_count(offset, side):
    messages = [(1.0 + 0.01 * i, EPOCH + offset + 0.01 * i, EPOCH + 0.01 * i) for i in range(5)]
    monitor, counted = monitor_after(*messages)
    assert not any(counted)
    verdict = monitor.check(1.05)
    assert not verdict.fresh
    assert side in verdict.reason and 'use_sim_time' in verdict.reason
    monitor, counted = monitor_after(*messages, max_skew=math.inf)
    assert all(counted) and monitor.check(1.05).fresh


def test_stamp_that_is_not_a_number_does_not_count():
    monitor, counted = monitor_after((1.0, 5.0, 5.0), (1.01, math.nan, 5.01), (1.02, 5.02, 5.02))
    assert counted == [True, False, True]


def test_late_arrival_adds_to_the_age():
    monitor, counted = monitor_after((1.0, 5.0, 5.1))
    assert counted == [True]
    verdict = monitor.check(1.02)
    assert not verdict.fresh and verdict.age == pytest.approx(0.12)
    assert 'messages arrive 0.100 s late' in verdict.reason


def test_a_stamp_slightly_ahead_does_not_make_data_younger():
    monitor, _ = monitor_after((1.0, 5.3, 5.0))
    assert not monitor.check(1.06).fresh


def test_zero_stamps_are_judged_by_arrival():
    _, counted = monitor_after(*((1.0 + 0.01 * i, 0.0, EPOCH) for i in range(4)))
    assert all(counted)


def test_local_clock_set_back_does_not_hide_silence():
    monitor, _ = monitor_after((100.0, 0.0))
    assert monitor.check(50.0).fresh
    assert not monitor.check(50.3).fresh


def test_reset_forgets():
    monitor, _ = monitor_after((1.0, 5.0, 5.0))
    monitor.reset()
    assert not monitor.check(1.0).fresh
    assert monitor.received(1.1, 4.0, 4.0)


def test_time_that_is_not_a_number_is_stop():
    monitor, _ = monitor_after((1.0, 0.0))
    assert not monitor.check(math.nan).fresh


@pytest.mark.parametrize('arguments', [
    (0.0, 1.0, 1.0), (0.3, 0.2, 1.0), (math.nan, 1.0, 1.0), (0.1, math.nan, 1.0), (0.1, 0.2, 0.0)])
def test_wrong_parameters(arguments):
    with pytest.raises(ParameterError, match='stale|max_skew'):
        check_ages(*arguments)
