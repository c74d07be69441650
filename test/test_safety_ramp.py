"""Blending: from end to end, smooth, exact, and turning round on the way."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.safety import Ramp, smooth_step


def test_smooth_step_ends_are_exact():
    assert [smooth_step(x) for x in (-1.0, 0.0, 0.5, 1.0, 7.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert smooth_step(float('nan')) == 0.0


@pytest.mark.parametrize('target', [0.0, 1.0])
def test_monotone_and_exactly_there(target):
    ramp = Ramp(2.0, value=1.0 - target)
    ramp.toward(target, 5.0)
    values = np.array([ramp.value(now) for now in np.linspace(5.0, 7.0, 300)])
    assert values[0] == 1.0 - target and values[-1] == target
    assert (np.diff(values) * (2.0 * target - 1.0) > 0.0).all()
    assert ramp.value(6.99) != target and ramp.value(7.0) == ramp.value(1e9) == target


def test_repeating_the_target_changes_nothing():
    ramp, once = Ramp(1.0), Ramp(1.0)
    once.toward(1.0, 0.0)
    for now in np.linspace(0.0, 1.2, 40):
        ramp.toward(1.0, now)
        assert ramp.value(now) == once.value(now)


def test_zero_duration_jumps():
    ramp = Ramp(0.0)
    assert ramp.value(1.0) == 0.0
    ramp.toward(1.0, 1.0)
    assert ramp.value(1.0) == 1.0


def test_a_clock_that_goes_back_does_not_leave_the_range():
    ramp = Ramp(1.0)
    ramp.toward(1.0, 10.0)
    assert ramp.value(-100.0) == 0.0


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(0.0, 1.5), min_size=1, max_size=8))
def test_turning_round_keeps_value_and_slope(waits):
    ramp, now, tiny, waited = Ramp(1.0), 0.0, 1e-6, 0.0
    for number, wait in enumerate(waits):
        before = ramp.value(now)
        slope = (before - ramp.value(now - tiny)) / tiny
        ramp.toward(1.0 - number % 2, now)
        assert ramp.value(now) == pytest.approx(before, abs=1e-12)
        if min(wait, waited) > 1e-3 and 1e-4 < before < 1.0 - 1e-4:
            # Second derivatives are bounded, so slopes over `tiny` agree.
            after = (ramp.value(now + tiny) - before) / tiny
            assert after == pytest.approx(slope, abs=2e-3)
        values = [ramp.value(now + wait * part) for part in np.linspace(0.0, 1.0, 30)]
        assert all(0.0 <= value <= 1.0 for value in values)
        now, waited = now + wait, wait
    assert ramp.value(now + 1.001) == ramp.target


def test_going_on_after_turning_twice_does_not_overshoot():
    ramp = Ramp(1.0)
    ramp.toward(1.0, 0.0)
    ramp.toward(0.0, 0.85)
    ramp.toward(1.0, 0.851)
    values = [ramp.value(now) for now in np.linspace(0.851, 2.0, 400)]
    assert (np.diff(values) >= 0.0).all() and values[-1] == 1.0


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_target_just_ahead_of_a_moving_value_is_approached_from_one_side(side):
    """
    Protects the shorter duration of a ramp that is already fast.

    Within the usual duration a cubic with this slope would pass the target by 0.18.
    """
    ramp = Ramp(1.0, value=0.5 - 0.5 * side)
    ramp.toward(0.5 + 0.5 * side, 0.0)
    ramp.toward(0.5 + 0.1 * side, 0.5)
    values = np.array([ramp.value(now) for now in np.linspace(0.5, 1.6, 400)])
    assert (side * np.diff(values) >= 0.0).all()
    assert values[-1] == 0.5 + 0.1 * side


@pytest.mark.parametrize('call', [
    lambda: Ramp(-1.0), lambda: Ramp(float('nan')), lambda: Ramp(float('inf')),
    lambda: Ramp(1.0, value=1.5), lambda: Ramp(1.0).jump(-0.1),
    lambda: Ramp(1.0).toward(2.0, 0.0)])
def test_wrong_use(call):
    with pytest.raises(ArgumentError, match='ramp'):
        call()
