"""Whatever comes in, what goes out is finite, bounded and near the last torque."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
import numpy as np
import pytest
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.safety.limits import checked_bounds, NOT_FINITE, Program, supervise
from steps import array, doubles

NAMES = ('shoulder', 'elbow', 'wrist')
LIMIT = np.array([50.0, 20.0, np.inf])
RATE = np.array([1000.0, 500.0, 2000.0])
DT = 1e-3
GRAVITY = np.array([5.0, -3.0, 1.0])
NAN = np.full(3, np.nan)


class Limiter:
    """The limits, from cycle to cycle."""

    def __init__(self, torque=GRAVITY, margin=1.0):
        self.change(LIMIT, RATE, margin)
        torque = np.where(np.isfinite(torque), torque, 0.0)
        self.last = np.clip(torque, -self._p.effort, self._p.effort)

    def change(self, effort, rate, margin=1.0):
        self._p = Program(*checked_bounds(NAMES, effort, rate, margin))

    def supervise(self, desired, fallback, dt):
        p = Program(list(self._p.effort), list(self._p.rate))
        torque, verdict = supervise(*doubles([list(desired), list(fallback), list(self.last), dt]),
                                    doubles(p))
        self.last = array(torque)
        return self.last.copy(), NOT_FINITE[int(verdict.not_finite)].format(
            value=float(verdict.value), joint=NAMES[int(verdict.joint)])


def supervisor_at(torque=GRAVITY, **options):
    return Limiter(torque, **options)


def anything():
    return arrays.arrays(float, 3, elements=st.floats(allow_nan=True, allow_infinity=True))


def test_good_torque_passes_untouched():
    desired = GRAVITY + 0.1
    torque, fault = supervisor_at().supervise(desired, GRAVITY, DT)
    np.testing.assert_array_equal(torque, desired)
    assert not fault


def test_rate_is_limited_until_arrival():
    supervisor = supervisor_at()
    desired = GRAVITY + [3.0, -0.2, 3.0]
    torque, fault = supervisor.supervise(desired, GRAVITY, DT)
    np.testing.assert_allclose(torque, GRAVITY + [1.0, -0.2, 2.0])
    for _ in range(3):
        torque, fault = supervisor.supervise(desired, GRAVITY, DT)
    np.testing.assert_allclose(torque, desired)
    assert not fault


def test_clamp_with_margin_marks_the_joint():
    supervisor = supervisor_at(margin=0.5)
    for _ in range(200):
        torque, fault = supervisor.supervise(np.array([99.0, -99.0, 99.0]), GRAVITY, DT)
    np.testing.assert_allclose(torque, [25.0, -10.0, 99.0])
    assert not fault


def test_broken_torque_falls_back_to_gravity():
    torque, fault = supervisor_at().supervise(np.array([0.0, np.nan, 0.0]), GRAVITY + 0.2, DT)
    np.testing.assert_allclose(torque, GRAVITY + 0.2)
    assert fault == "desired torque: nan for joint 'elbow'; sent gravity + damping"


def test_broken_fallback_repeats_the_last_torque():
    supervisor = supervisor_at()
    torque, fault = supervisor.supervise(NAN, np.array([0.0, 0.0, -np.inf]), DT)
    np.testing.assert_array_equal(torque, GRAVITY)
    assert fault == ("desired torque: nan for joint 'shoulder'; gravity + damping is not finite "
                     'either; sent the last torque again')
    _, fault = supervisor.supervise(GRAVITY, GRAVITY, DT)
    assert not fault


@pytest.mark.parametrize('dt', [0.0, -1.0, np.nan])
def test_no_time_no_change(dt):
    torque, _ = supervisor_at().supervise(GRAVITY + 9.0, GRAVITY, dt)
    np.testing.assert_array_equal(torque, GRAVITY)


@pytest.mark.parametrize('dt', [10.0, np.inf])
def test_a_pause_permits_no_jump(dt):
    limiter = supervisor_at()
    torque, _ = limiter.supervise(GRAVITY + 99.0, GRAVITY, dt)
    np.testing.assert_allclose(torque, np.minimum(GRAVITY + np.minimum(99.0, RATE * 0.05), LIMIT))


def test_unlimited_rate_and_effort_pass_everything():
    supervisor = supervisor_at()
    supervisor.change(np.full(3, np.inf), np.inf)
    for desired in (np.full(3, 1e300), np.full(3, -1e300)):
        torque, fault = supervisor.supervise(desired, GRAVITY, DT)
        np.testing.assert_array_equal(torque, desired)
        assert not fault


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(anything(), anything(), st.floats(allow_nan=True)), min_size=1,
                max_size=6), anything(), st.sampled_from([0.3, 1.0]))
def test_bounds_hold_for_any_input(cycles, initial, margin):
    supervisor = supervisor_at(initial, margin=margin)
    last = supervisor.last
    for desired, fallback, dt in cycles:
        torque, fault = supervisor.supervise(desired, fallback, dt)
        assert np.isfinite(torque).all()
        assert (np.abs(torque) <= LIMIT * margin).all()
        step = RATE * min(dt, 0.05) if dt > 0.0 else np.zeros(3)
        assert (np.abs(torque - last) <= step + 1e-15 * np.abs(last) + 1e-12).all()
        assert (not fault) == bool(np.isfinite(desired).all())
        last = torque.copy()


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_lowered_effort_limit_takes_the_torque_down_at_its_rate(side):
    """
    Protects from a step of torque where the effort limit falls below the torque being sent.

    The law continues to demand more; the bound follows the rate limit, and ends at the new limit.
    """
    desired = side * np.array([40.0, 15.0, 30.0])
    supervisor = supervisor_at(desired)
    lowered = np.array([10.0, 14.9, 29.0])
    supervisor.change(lowered, RATE)
    before = desired
    for cycle in range(40):
        torque, fault = supervisor.supervise(desired, GRAVITY, DT)
        bound = np.maximum(lowered, np.abs(desired) - RATE * DT * (cycle + 1))
        np.testing.assert_allclose(torque, side * bound, rtol=1e-12)
        assert (np.abs(torque - before) <= RATE * DT * (1.0 + 1e-9)).all()
        before = torque.copy()
    np.testing.assert_array_equal(torque, side * lowered)


@pytest.mark.parametrize('arguments, options, text', [
    (([1.0, -1.0], 1.0), {}, "effort limit of joint '1' is -1.0"),
    (([1.0, np.nan], 1.0), {'joint_names': ('a', 'b')}, "effort limit of joint 'b' is nan"),
    (([1.0, 1.0], [1.0, 0.0]), {}, "rate limit of joint '1' is 0.0; it must be above 0"),
    (([1.0], 1.0), {'margin': 1.2}, 'margin is 1.2'),
    (([1.0], 1.0), {'margin': 0.0}, 'margin is 0.0')])
def test_wrong_parameters(arguments, options, text):
    with pytest.raises(ParameterError, match=text):
        checked_bounds(options.pop('joint_names', '0123'[:len(arguments[0])]), *arguments,
                       **options)
