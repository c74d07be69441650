"""Torques between two states: the law's for the state that the model predicts."""

from closed_loop import arm, HEAVY, MODEL
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.control.steps import observer
from design import settings_of
from steps import array, doubles, filled

SLOW = 10  # ms from one state to the next
QUICK = settings_of(activation_time=0.1)


def run(loop, seconds, every=SLOW):
    """Control with a torque per ms, and a state now and then."""
    for _ in range(round(seconds / loop.period)):
        fresh = len(loop.log) % every == 0
        loop.send((loop.control.update(loop.now, loop.plant.q, loop.plant.qd) if fresh
                   else loop.control.cycle.between(loop.now)))


def swing(loop, go):
    """Return the error of a motion, at all times of the plant."""
    go(loop, 0.5)
    loop.follow(loop.swing(1.0, 0.6), 1.0)
    begin = len(loop.log)
    go(loop, 1.2)
    assert loop.control.mode is Mode.HOLD
    return loop.error[begin:]


def rms(plant, go, period=1e-3):
    loop = arm(settings=QUICK, gains={'natural_frequency': 30.0}, plant=plant, period=period)
    return np.sqrt(np.mean(swing(loop, go) ** 2))


def test_a_motion_is_followed_better_than_with_a_torque_per_state():
    slow = rms(MODEL, lambda loop, seconds: loop.run(seconds), 1e-3 * SLOW)
    assert rms(MODEL, run) < 0.2 * slow


@pytest.mark.parametrize('plant', [MODEL.with_payload('link6', 0.2), HEAVY],
                         ids=['a little heavier', 'much heavier'])
def test_an_unmodelled_torque_does_not_soften_feedback(plant):
    # an unknown load is most of the error, at any rate
    assert rms(plant, run) == pytest.approx(
        rms(plant, lambda loop, seconds: run(loop, seconds, 1)), rel=0.02)


def test_gains_that_states_alone_do_not_allow_are_used():
    gains = {'natural_frequency': 100.0}
    slow = arm(settings=QUICK, gains=gains, period=1e-3 * SLOW)
    fast = arm(settings=QUICK, gains=gains)
    for loop, go in ((slow, lambda loop, seconds: loop.run(seconds)), (fast, run)):
        go(loop, 0.5)
        loop.plant.qd[:] += 0.1
        go(loop, 0.7)
        assert np.abs(loop.plant.qd).max() < 1e-3
    assert 'with a torque every 10 ms' in slow.control.status.unstable_gains
    assert not fast.control.status.unstable_gains
    assert np.abs(fast.error).max() < np.abs(slow.error).max()


def test_with_a_perfect_model_the_torque_is_that_of_a_state_every_ms():
    often, seldom = arm(settings=QUICK), arm(settings=QUICK)
    swing(often, lambda loop, s: run(loop, s, 1))
    swing(seldom, run)
    assert np.abs(often.torques - seldom.torques).max() < 0.05
    np.testing.assert_allclose(often.q, seldom.q, atol=1e-4)


def test_a_prediction_that_is_far_off_is_not_used():
    loop = arm(settings=QUICK)
    run(loop, 0.3)
    state = loop.plant.q.copy(), loop.plant.qd.copy()
    loop.control.update(loop.now, state[0], np.full(7, 80.0))
    for _ in range(20):  # 80 rad/s would be 1.6 rad
        loop.now += 1e-3
        torque = loop.control.cycle.between(loop.now)
        predicted = loop.control.host.memory.predicted.q
        assert np.isfinite(torque).all() and np.abs(predicted - state[0]).max() < 0.3
    loop.now += 1e-3
    loop.control.update(loop.now, *state)
    assert not loop.control.fault


def test_what_the_observer_sees_does_not_depend_on_the_torques_between():
    seen = []
    for every in (1, SLOW):
        loop = arm(settings=QUICK)
        run(loop, 0.3, every)
        loop.plant.push('link5', [0.0, 0.0, 6.0, 0.0, 0.0, 0.0])
        run(loop, 0.6, every)
        seen.append(loop.control.observation.torque.copy())
    assert np.abs(seen[0]).max() > 2.0
    np.testing.assert_allclose(seen[1], seen[0], atol=0.1)


def test_the_mean_torque_is_that_of_all_since_the_last_state():
    m = filled(observer.MeanTorque, 2)
    elapsed, torque, m = observer.mean_torque(m, *doubles([0.01, (1.0, 2.0)]))
    assert elapsed == 0.01
    np.testing.assert_array_equal(array(torque), [1.0, 2.0])
    for dt, sent in ((0.001, (1.0, 0.0)), (0.003, (2.0, 0.0))):
        m = observer.torque_added(m, *doubles([dt, sent]))
    elapsed, torque, m = observer.mean_torque(m, *doubles([0.004, (3.0, 4.0)]))
    assert elapsed == pytest.approx(0.008)
    np.testing.assert_allclose(array(torque), [19.0 / 8.0, 2.0])
    np.testing.assert_array_equal(
        array(observer.mean_torque(m, *doubles([0.01, (5.0, 5.0)]))[1]), [5.0, 5.0])


def test_time_that_goes_back_between_two_states_takes_nothing_from_the_mean_torque():
    m = observer.torque_added(filled(observer.MeanTorque, 2), *doubles([0.002, (1.0, -2.0)]))
    elapsed, torque, _ = observer.mean_torque(m, *doubles([-0.1, (9.0, 9.0)]))
    assert elapsed == 0.002
    np.testing.assert_allclose(array(torque), [1.0, -2.0])
