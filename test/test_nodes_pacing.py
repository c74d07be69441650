"""Deadlines that do not drift, bounded catching up, and the account of it."""
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from robodyn_ros.nodes.simulator import pacing  # noqa: E402

MS = 1_000_000


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that advances only by sleeping, or on request."""
    made = SimpleNamespace(now=10**12)

    def sleep(seconds):
        made.now += round(1e9 * seconds)

    monkeypatch.setattr(pacing, 'time', SimpleNamespace(
        monotonic_ns=lambda: made.now, sleep=sleep))
    return made


def run(pacer, clock, until):
    """Step whenever it is time; return when the steps began."""
    begun = []
    while clock.now < until:
        if pacer.wait():
            pacer.begin()
            begun.append(clock.now)
    return begun


def test_steps_begin_at_their_deadlines(clock):
    start = clock.now
    pacer = pacing.Pacer(1e-3)
    begun = run(pacer, clock, start + 100 * MS)
    assert all(abs(at - start - k * MS) <= 20_000 for k, at in enumerate(begun))
    assert pacer.late == pacer.lost == 0


def test_a_short_delay_is_caught_up(clock):
    start = clock.now
    pacer = pacing.Pacer(1e-3)
    begun = run(pacer, clock, start + 10 * MS)
    clock.now += 20 * MS
    begun += run(pacer, clock, start + 100 * MS)
    assert len(begun) in (100, 101)
    assert 17 <= pacer.late <= 20 and pacer.lost == 0
    assert pacer.late <= pacer.half_late <= pacer.late + 1
    assert pacer.delay.percentiles()[2] == pytest.approx(0.02, rel=0.1)


def test_a_long_delay_is_given_up_and_counted(clock):
    start = clock.now
    pacer = pacing.Pacer(1e-3)
    begun = run(pacer, clock, start + 10 * MS)
    clock.now += 1000 * MS
    begun += run(pacer, clock, start + 1100 * MS)
    assert pacer.lost == pytest.approx(1000, abs=2)
    assert len(begun) + pacer.lost == pytest.approx(1100, abs=2)


def test_slow_periods_are_waited_for_in_parts(clock):
    pacer = pacing.Pacer(0.2)
    pacer.begin()
    before = clock.now
    assert not pacer.wait(), 'nothing could be served for 0.2 s'
    assert clock.now - before == 50 * MS


def test_no_period_is_always_due(clock):
    pacer = pacing.Pacer(0.0)
    for _ in range(10):
        assert pacer.wait()
        pacer.begin()
    assert pacer.late == pacer.lost == 0


def test_steps_that_are_made_up_for_know_when_they_were_due(clock):
    pacer, due = pacing.Pacer(2e-3), []
    pacer.begin()
    clock.now += 20 * MS
    while pacer.remaining() <= 0.0:
        assert pacer.wait()
        pacer.begin()
        due.append(clock.now - pacer.behind)
        clock.now += MS // 50  # a step takes 20 us
    assert len(due) == 10
    assert {b - a for a, b in zip(due, due[1:])} == {2 * MS}
    assert pacing.Pacer(0.0).behind == 0
