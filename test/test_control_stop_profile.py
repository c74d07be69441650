"""Coming to rest: within deceleration and position limits, smooth, all together."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
import numpy as np
import pytest
from robodyn_ros.control.steps import modes, stop_profile
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.trajectory import Reference

NV = 3
MOST = np.array([2.0, 5.0, 10.0])
NONE = np.full(NV, np.inf)
FIELDS = ('q', 'qd', 'qdd', 'effort')


def _stop(reference, bounds, time):
    """Return the rows of a stop at a time, its duration, and times of the joints."""
    rows = [reference[k:k + NV] for k in range(0, 4 * NV, NV)]
    plan = stop_profile.plan(modes.Reference(*rows),
                             *(bounds[k:k + NV] for k in range(0, 3 * NV, NV)))
    return [*stop_profile.sample(replace(plan, elapsed=time[0])), plan.duration]


STOP = Function(_stop, {'reference': 4 * NV, 'bounds': 3 * NV, 'time': 1}, {'rows': 4 * NV + 1})


def vectors(size):
    return arrays.arrays(float, NV, elements=st.floats(-size, size))


def stopping(q=(0.0, 0.0, 0.0), qd=(1.0, -2.0, 0.5), qdd=(0.0, 0.0, 0.0), effort=(1.0, 0.0, 2.0)):
    return Reference(*(np.array(part, dtype=float) for part in (q, qd, qdd, effort)))


class StopProfile:
    """A stop from a reference, in machine code."""

    def __init__(self, reference, deceleration, lower=-NONE, upper=NONE):
        self._given = (np.concatenate(reference.arrays), np.concatenate(
            [np.broadcast_to(each, NV) for each in (deceleration, lower, upper)]).astype(float))
        self.duration = STOP(*self._given, [0.0])[-1]
        self.end = self.sample(1e9)

    def samples(self, times):
        """Return references at some times, as rows of (times, joints) by name."""
        rows = np.array([STOP(*self._given, [t])[:-1] for t in times])
        return Reference(*np.moveaxis(rows.reshape(-1, 4, NV), 1, 0))

    def sample(self, t):
        """Return the reference at a time."""
        return Reference(*(each[0] for each in self.samples([t]).arrays))


def sampled(profile, count=400):
    times = np.linspace(0.0, profile.duration, count)
    return times, profile.samples(times)


def test_starts_where_it_was_and_ends_at_rest():
    reference = stopping(qdd=(1.0, 3.0, -9.0))
    profile = StopProfile(reference, MOST)
    for t in (-1.0, 0.0):
        first = profile.sample(t)
        for field in FIELDS:
            np.testing.assert_allclose(getattr(first, field), getattr(reference, field),
                                       atol=1e-12)
    for t in (profile.duration, 1e9):
        last = profile.sample(t)
        np.testing.assert_array_equal(last.q, profile.end.q)
        assert not last.qd.any() and not last.qdd.any() and not last.effort.any()
    near = profile.sample(np.nextafter(profile.duration, 0.0))
    np.testing.assert_allclose(near.q, profile.end.q, atol=1e-9)


def test_floats_and_machine_code_are_the_same():
    reference = stopping(qdd=(1.0, 3.0, -9.0))
    profile = StopProfile(reference, MOST, upper=[0.1, np.inf, 0.05])
    for t in (0.0, 0.03, 0.3, 0.6, 9.0):
        np.testing.assert_allclose(STOP.interpret(*profile._given, [t])[:-1],
                                   np.concatenate(profile.sample(t).arrays), atol=1e-15)


def test_the_added_effort_fades_without_a_kink():
    """Protects the added effort: along 1 - 3 x^2 + 2 x^3 to zero, a quarter of the way 27/32."""
    profile = StopProfile(stopping(effort=(1.0, -4.0, 2.0)), MOST)
    effort = profile.sample(0.25 * profile.duration).effort
    np.testing.assert_allclose(effort, 27.0 / 32.0 * np.array([1.0, -4.0, 2.0]))


def test_the_acceleration_has_faded_when_the_stop_ends():
    """Protects from a step at the end of a stop that is shorter than the fade of 0.05 s."""
    profile = StopProfile(stopping(qd=(0.0, 0.0, 0.0), qdd=(2.0, -5.0, 10.0)), MOST)
    assert profile.duration == 0.1
    near = profile.sample(np.nextafter(profile.duration, 0.0))
    np.testing.assert_allclose(near.q, profile.end.q, atol=1e-9)
    np.testing.assert_allclose(near.qd, 0.0, atol=1e-9)


def test_the_slowest_joint_decides_and_uses_its_deceleration():
    profile = StopProfile(stopping(qd=(1.0, -2.0, 0.5)), MOST)
    assert profile.duration == pytest.approx(1.5 * 1.0 / 2.0)
    _, path = sampled(profile, 2001)
    peaks = np.abs(path.qdd).max(axis=0)
    np.testing.assert_allclose(peaks[0], 2.0, rtol=1e-5)
    np.testing.assert_allclose(profile.end.q, np.array([1.0, -2.0, 0.5]) * profile.duration / 2)


@settings(max_examples=80, deadline=None)
@given(vectors(10.0), vectors(6.0), vectors(50.0))
def test_within_deceleration_finite_and_consistent(q, qd, qdd):
    profile = StopProfile(Reference(q, qd, qdd, np.zeros(NV)), MOST)
    times, path = sampled(profile)
    position, velocity, acceleration = path.q, path.qd, path.qdd
    assert all(np.isfinite(part).all() for part in (position, velocity, acceleration))
    assert (np.abs(acceleration) <= MOST * (1.0 + 1e-9)).all()
    # C1 velocity: it never changes by more than the acceleration limit allows.
    step = times[1]
    assert (np.abs(np.diff(velocity, axis=0)) <= MOST * step * (1.0 + 1e-6) + 1e-12).all()
    trapezoid = position[0] + np.cumsum(0.5 * (velocity[1:] + velocity[:-1]), axis=0) * step
    np.testing.assert_allclose(position[1:], trapezoid, atol=1e-2 * profile.duration)


@settings(max_examples=100, deadline=None)
@given(vectors(1.0), vectors(6.0), vectors(50.0))
def test_position_limits_come_first(q, qd, qdd):
    lower, upper = np.array([-1.0, -1.2, -np.inf]), np.array([1.0, 1.2, np.inf])
    profile = StopProfile(Reference(q, qd, qdd, np.zeros(NV)), MOST, lower, upper)
    _, path = sampled(profile, 100)
    assert (path.q >= lower - 1e-9).all() and (path.q <= upper + 1e-9).all()
    assert (np.abs(path.qdd[:, 2]) <= MOST[2] * (1.0 + 1e-9)).all(), 'the joint without limits'


def test_short_room_shortens_one_joint_only():
    reference = stopping(qd=(1.0, 1.0, 0.0))
    profile = StopProfile(reference, MOST, upper=[np.inf, 0.2, np.inf])
    assert profile.duration == pytest.approx(0.75)
    _, path = sampled(profile)
    assert (np.abs(path.qdd) <= MOST * (1.0 + 1e-9)).all()
    assert profile.end.q[1] == pytest.approx(0.2) and profile.end.q[0] == pytest.approx(0.375)


def test_too_little_room_takes_more_deceleration():
    profile = StopProfile(stopping(qd=(1.0, 1.0, 0.0)), MOST, upper=[0.1, 0.0, np.inf])
    assert abs(profile.sample(0.0).qdd[0]) == 0.0
    assert abs(profile.sample(0.1).qdd[0]) > MOST[0]
    np.testing.assert_allclose(profile.end.q, [0.1, 0.0, 0.0])


def test_a_joint_with_little_room_starts_at_its_own_velocity():
    """Protects from a step of velocity where there is no room for the acceleration to fade."""
    reference = stopping(qd=(1.0, -2.0, 0.5), qdd=(2.0, -5.0, 9.0))
    profile = StopProfile(reference, MOST, lower=[-np.inf, -0.4, -np.inf], upper=[0.3, 9.0, 0.1])
    np.testing.assert_allclose(profile.sample(0.0).qd, reference.qd, rtol=1e-12)
    np.testing.assert_allclose(profile.end.q, [0.3, -0.4, 0.1], rtol=1e-12)


def test_in_a_tiny_room_the_velocity_steps_down_and_the_deceleration_stays_finite():
    """Protects the shortest time of a stop next to a limit: 0.05 s, whatever the room."""
    room = 1e-9
    profile = StopProfile(stopping(qd=(1.0, 0.0, 0.0)), MOST, upper=[room, np.inf, np.inf])
    _, path = sampled(profile)
    speed = 2.0 * room / 0.05
    assert np.abs(path.qd[:, 0]).max() == pytest.approx(speed)
    assert np.abs(path.qdd[:, 0]).max() <= 1.5 * speed / 0.05 * (1.0 + 1e-9)
    assert profile.end.q[0] == pytest.approx(room)


def test_beyond_the_limit_goes_no_further_but_may_return():
    beyond = stopping(q=(1.5, 1.5, 0.0), qd=(1.0, -1.0, 0.0))
    profile = StopProfile(beyond, MOST, upper=[1.0, 1.0, 1.0])
    assert profile.end.q[0] == 1.5 and profile.end.q[1] < 1.5


def test_at_rest_stays():
    profile = StopProfile(Reference.at_rest([1.0, 2.0, 3.0]), 1.0)
    np.testing.assert_array_equal(profile.end.q, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(profile.sample(0.01).q, [1.0, 2.0, 3.0])
