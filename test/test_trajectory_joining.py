"""A dense plan from the measured position, joined from a reference beside it."""

import numpy as np
import pytest
from robodyn_ros.trajectory import Reference, Trajectory
from robodyn_ros.trajectory.joining import join

TIMES = np.linspace(0.0, 2.0, 101)


def plan(goal=(1.0, -0.5)):
    """Return positions, velocities and accelerations of a motion from zero, and no efforts."""
    s = TIMES[:, None] / 2.0
    goal = np.array(goal)
    return [goal * s**3 * (10 - 15 * s + 6 * s**2), goal * 30 * s**2 * (1 - s)**2 / 2.0,
            goal * 60 * s * (1 - s) * (1 - 2 * s) / 4.0, None]


def reference(q=(0.0, 0.0), qd=(0.0, 0.0), qdd=(0.0, 0.0)):
    return Reference(*(np.array(each, dtype=float) for each in (q, qd, qdd)), np.zeros(2))


def joined(start, rows, times=TIMES):
    return Trajectory.from_points(times, *join(times, rows, start), start=start).dense(0.002)


BESIDE, MOVING = reference((0.05, -0.03)), reference((0.02, 0.0), (0.3, -0.2), (1.0, -1.0))


# points without velocities do not determine the velocity of the joints
@pytest.mark.parametrize('given, start', [(1, BESIDE), (2, BESIDE), (2, MOVING), (3, BESIDE),
                                          (3, MOVING)])
def test_the_difference_fades_without_a_jump(given, start):
    rows = [row if i < given else None for i, row in enumerate(plan())]
    path = joined(start, rows)
    np.testing.assert_allclose(path.q[0], start.q, atol=1e-12)
    np.testing.assert_allclose(path.qd[0], start.qd, atol=1e-9)
    exact = joined(reference(), rows)
    later = path.times > 0.6
    np.testing.assert_allclose(path.q[later], exact.q[later], atol=1e-6)
    assert np.abs(path.qdd - exact.qdd).max() < 12.0
    assert np.abs(path.qd - exact.qd).max() < 0.5


def test_without_a_difference_nothing_changes():
    for before, after in zip(plan(), join(TIMES, plan(), reference())):
        assert after is None if before is None else np.array_equal(before, after)


@pytest.mark.parametrize('times, start', [
    (TIMES, reference((0.11, 0.0))), (TIMES + 0.01, reference((0.05, 0.0))),
    (TIMES * 100.0, reference((0.05, 0.0)))], ids=['far away', 'begins later', 'sparse'])
def test_others_are_left_as_they_are(times, start):
    rows = plan()
    assert all(before is after for before, after in zip(rows, join(times, rows, start)))


def test_a_late_plan_is_joined_where_it_is_now():
    times = TIMES - 0.5
    exact = plan()
    now = exact[0][25]
    path = joined(reference(now + 0.04, exact[1][25], exact[2][25]), exact, times)
    np.testing.assert_allclose(path.q[0], now + 0.04)
    assert np.abs(path.qdd).max() < 5.0


def test_a_short_plan_ends_where_it_should():
    times = TIMES / 10.0
    rows = [plan()[0], 10.0 * plan()[1], 100.0 * plan()[2], None]
    path = joined(reference((0.05, 0.05)), rows, times)
    np.testing.assert_allclose(path.q[-1], (1.0, -0.5), atol=1e-9)
    np.testing.assert_allclose(path.qd[-1], 0.0, atol=1e-9)
