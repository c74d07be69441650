"""Coming to rest: within deceleration and position limits, smooth, all together."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.safety import StopProfile
from robodyn_ros.trajectory import Reference

NV = 3
MOST = np.array([2.0, 5.0, 10.0])


def vectors(size):
    return arrays.arrays(float, NV, elements=st.floats(-size, size))


def stopping(q=(0.0, 0.0, 0.0), qd=(1.0, -2.0, 0.5), qdd=(0.0, 0.0, 0.0), effort=(1.0, 0.0, 2.0)):
    return Reference(*(np.array(part, dtype=float) for part in (q, qd, qdd, effort)))


def sampled(profile, count=400):
    times = np.linspace(0.0, profile.duration, count)
    return times, [profile.sample(t) for t in times]


def test_starts_where_it_was_and_ends_at_rest():
    reference = stopping(qdd=(1.0, 3.0, -9.0))
    profile = StopProfile(reference, MOST)
    for t in (-1.0, 0.0):
        first = profile.sample(t)
        for field in ('q', 'qd', 'qdd', 'effort'):
            np.testing.assert_allclose(getattr(first, field), getattr(reference, field),
                                       atol=1e-12)
    for t in (profile.duration, 1e9):
        last = profile.sample(t)
        np.testing.assert_array_equal(last.q, profile.end.q)
        assert not last.qd.any() and not last.qdd.any() and not last.effort.any()
    near = profile.sample(np.nextafter(profile.duration, 0.0))
    np.testing.assert_allclose(near.q, profile.end.q, atol=1e-9)


def test_the_added_effort_fades_without_a_kink():
    """Protects the added effort: along 1 - 3 x^2 + 2 x^3 to zero, a quarter of the way 27/32."""
    profile = StopProfile(stopping(effort=(1.0, -4.0, 2.0)), MOST)
    effort = profile.sample(0.25 * profile.duration).effort
    np.testing.assert_allclose(effort, 27.0 / 32.0 * np.array([1.0, -4.0, 2.0]))


def test_an_acceleration_that_fades_slowly_has_faded_when_the_stop_ends():
    """Protects from a step at the end of a stop that is shorter than the fade."""
    profile = StopProfile(stopping(qd=(0.0, 0.0, 0.0), qdd=(2.0, -5.0, 10.0)), MOST, fade=0.2)
    assert profile.duration >= 0.4
    near = profile.sample(np.nextafter(profile.duration, 0.0))
    np.testing.assert_allclose(near.q, profile.end.q, atol=1e-9)
    np.testing.assert_allclose(near.qd, 0.0, atol=1e-9)


def test_the_slowest_joint_decides_and_uses_its_deceleration():
    profile = StopProfile(stopping(qd=(1.0, -2.0, 0.5)), MOST)
    assert profile.duration == pytest.approx(1.5 * 1.0 / 2.0)
    _, path = sampled(profile, 2001)
    peaks = np.max([np.abs(part.qdd) for part in path], axis=0)
    np.testing.assert_allclose(peaks[0], 2.0, rtol=1e-5)
    np.testing.assert_allclose(profile.end.q, np.array([1.0, -2.0, 0.5]) * profile.duration / 2)


@settings(max_examples=80, deadline=None)
@given(vectors(10.0), vectors(6.0), vectors(50.0))
def test_within_deceleration_finite_and_consistent(q, qd, qdd):
    profile = StopProfile(Reference(q, qd, qdd, np.zeros(NV)), MOST)
    times, path = sampled(profile)
    acceleration = np.array([part.qdd for part in path])
    velocity = np.array([part.qd for part in path])
    position = np.array([part.q for part in path])
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
    for part in path:
        assert (part.q >= lower - 1e-9).all() and (part.q <= upper + 1e-9).all()
        assert abs(part.qdd[2]) <= MOST[2] * (1.0 + 1e-9), 'the joint without limits'


def test_short_room_shortens_one_joint_only():
    reference = stopping(qd=(1.0, 1.0, 0.0))
    profile = StopProfile(reference, MOST, upper=[np.inf, 0.2, np.inf])
    assert profile.duration == pytest.approx(0.75)
    _, path = sampled(profile)
    assert (np.abs([part.qdd for part in path]) <= MOST * (1.0 + 1e-9)).all()
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
    assert max(abs(part.qd[0]) for part in path) == pytest.approx(speed)
    assert max(abs(part.qdd[0]) for part in path) <= 1.5 * speed / 0.05 * (1.0 + 1e-9)
    assert profile.end.q[0] == pytest.approx(room)


def test_beyond_the_limit_goes_no_further_but_may_return():
    beyond = stopping(q=(1.5, 1.5, 0.0), qd=(1.0, -1.0, 0.0))
    profile = StopProfile(beyond, MOST, upper=[1.0, 1.0, 1.0])
    assert profile.end.q[0] == 1.5 and profile.end.q[1] < 1.5


def test_at_rest_stays():
    profile = StopProfile(Reference.at_rest([1.0, 2.0, 3.0]), 1.0)
    np.testing.assert_array_equal(profile.end.q, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(profile.sample(0.01).q, [1.0, 2.0, 3.0])


def test_out_is_filled_and_the_reference_left_alone():
    reference, out = stopping(qdd=(1.0, 1.0, 1.0)), Reference.zeros(NV)
    kept = reference.copy()
    profile = StopProfile(reference, MOST)
    for t in (0.01, 0.3, 9.0):
        assert profile.sample(t, out) is out
        np.testing.assert_array_equal(out.q, profile.sample(t).q)
    np.testing.assert_array_equal(reference.qd, kept.qd)


def test_the_reference_may_be_overwritten_by_the_stop_that_began_there():
    """Protects a stop that is sampled into the very reference from which it started."""
    reference = stopping(qdd=(1.0, 1.0, 1.0))
    profile, apart = StopProfile(reference, MOST), StopProfile(reference.copy(), MOST)
    for t in (0.01, 0.3, 0.5):
        profile.sample(t, reference)
        np.testing.assert_array_equal(reference.q, apart.sample(t).q)


@pytest.mark.parametrize('call, text', [
    (lambda: StopProfile(stopping(), [1.0, 0.0, 1.0]), 'deceleration of joint 1 is 0'),
    (lambda: StopProfile(stopping(), np.nan), 'deceleration of joint 0 is nan'),
    (lambda: StopProfile(stopping(), 1.0, fade=0.0), 'fade 0.0 s'),
    (lambda: StopProfile(stopping(qd=(np.nan, 0.0, 0.0)), 1.0), 'not finite')])
def test_wrong_use(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()
