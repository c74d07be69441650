"""Lateness of messages: jitter is found whatever the clocks say, and what is no jitter is not."""
import numpy as np
import pytest
from robodyn_ros.safety import Lateness


@pytest.mark.parametrize('offset', [0.0, -3600.0, 1.7e9])
def test_jitter_is_found_whatever_the_difference_of_the_clocks(offset):
    lateness, rng = Lateness(), np.random.default_rng(0)
    jitter = rng.exponential(3e-4, 2000).clip(max=0.015)
    jitter[0] = 0.0
    for k, late in enumerate(jitter):
        measured = 100.0 + 1e-3 * k
        found = lateness.received(measured + 2e-4 + late, measured + offset)
        # rounding of large stamps, and the drift that is allowed for
        assert found == pytest.approx(late, abs=3e-6 + 2e-4 * 2e-3 * k)
        assert found >= 0.0


def test_the_first_and_what_has_no_stamp_are_not_late():
    lateness = Lateness()
    assert lateness.received(5.0, 0.0) == 0.0
    assert lateness.received(5.0, 4.0) == 0.0
    assert lateness.received(5.002, 4.001) == pytest.approx(1e-3, abs=1e-6)
    assert lateness.received(5.003, 0.0) == 0.0


def test_messages_without_a_stamp_are_not_late_and_do_not_count():
    """Protects from a lateness that grows by the period of messages whose stamp is 0."""
    lateness = Lateness()
    lateness.received(0.0, 5.0)
    assert [lateness.received(1e-3 * k, 0.0) for k in range(1, 20)] == [0.0] * 19
    assert lateness.received(0.022, 5.02) == pytest.approx(2e-3, abs=1e-5)


def test_time_that_starts_over_makes_nothing_late():
    """Protects from lateness that a reset of simulated time would add for good."""
    lateness = Lateness()
    lateness.received(50.0, 50.0)
    assert lateness.received(1.0, 1.0) == 0.0
    assert lateness.received(1.001, 1.001) == pytest.approx(0.0, abs=1e-9)


def test_a_drifting_clock_is_followed():
    lateness = Lateness()
    for k in range(60_000):  # a minute, in which the sender's clock loses 6 ms
        now = 1e-3 * k
        late = lateness.received(now + 1e-3, 10.0 + now * (1.0 - 1e-4))
    assert late < 1e-5


def test_a_pause_is_no_lateness():
    lateness = Lateness()
    for k in range(100):
        lateness.received(1e-3 * k, 1.0 + 1e-3 * k)
    assert lateness.received(0.1 + 0.5, 1.1) == 0.0
    assert lateness.received(0.601, 1.601) == pytest.approx(0.0, abs=2e-4)


def test_reset_forgets():
    lateness = Lateness()
    lateness.received(1.0, 5.0)
    lateness.reset()
    assert lateness.received(1.0, 1.0) == 0.0
