"""The end of control, inside the cycle: rest, gravity torque, release."""

from closed_loop import BENT, FLOATING, HEAVY, Loop, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.exceptions import StateError

LONGEST = 8.0  # s


def shut_down(loop, release=None, silent=lambda now: False):
    """Control until the last torque; return the modes on the way."""
    loop.control.requests.shut_down('the controller leaves', release)
    modes, end = [], loop.now + LONGEST
    while not loop.control.status.shutdown_over:
        assert loop.now < end, 'no end of the shutdown'
        loop.silence() if silent(loop.now) else loop.cycle()
        if loop.control.mode not in modes[-1:]:
            modes.append(loop.control.mode)
    return modes


def moving(**more):
    loop = Loop(MODEL, q=BENT, **more)
    loop.moving()
    return loop


def test_a_motion_ends_at_rest_and_the_gravity_torque_is_the_last_one():
    loop = moving(friction=True)
    assert shut_down(loop) == [Mode.STOP, Mode.HOLD, Mode.CARRY]
    assert loop.control.message == 'the controller leaves'
    np.testing.assert_allclose(loop.torque, loop.dynamics.gravity(loop.plant.q), atol=1e-9)
    assert np.abs(loop.plant.qd).max() < 0.02
    assert loop.largest_change < 1.0
    rest = loop.plant.q.copy()
    for _ in range(1000):
        loop.plant.step(loop.torque)
    assert np.abs(loop.plant.q - rest).max() < 5e-3, 'the weight alone does not hold it'


def test_the_gravity_torque_is_released_in_its_time():
    loop = moving(friction=True)
    shut_down(loop, release=0.5)
    assert not loop.torque.any()
    not_zero = np.abs(loop.torques).max(axis=1) > 0.0
    begin = np.argmax(loop.times > loop.now - 0.5)
    assert not_zero[begin:-1].all()
    half = np.argmax(loop.times > loop.now - 0.25)
    np.testing.assert_allclose(loop.torques[half], 0.5 * loop.dynamics.gravity(loop.q[half]),
                               atol=0.2)
    assert loop.largest_change < 1.0


def test_a_load_beyond_the_gravity_torque_is_stopped_once_more():
    loop = moving(plant=HEAVY, gains={'ki': 400.0})
    modes = shut_down(loop)
    # it swings without the integral, comes to rest, and is released in the end
    assert modes.count(Mode.CARRY) == 2 and modes[-3:] == [Mode.STOP, Mode.HOLD, Mode.CARRY]
    assert loop.largest_change < 1.0


def test_a_floating_arm_that_is_moved_comes_to_rest_first():
    loop = Loop(MODEL, FLOATING, q=BENT, qd=np.full(7, 0.3), friction=True)
    loop.run(0.05)
    assert shut_down(loop) == [Mode.STOP, Mode.HOLD, Mode.CARRY]
    assert np.abs(loop.plant.qd).max() < 0.02


def test_without_states_it_ends_all_the_same():
    loop = moving(friction=True)
    modes = shut_down(loop, silent=lambda now: True)
    assert modes == [Mode.STOP, Mode.HOLD, Mode.CARRY]
    assert not loop.control.fault
    assert np.abs(loop.plant.qd).max() < 0.1


def test_a_torque_that_may_change_slowly_has_its_time():
    settings = settings_of(torque_rate_limit=0.3 * MODEL.effort_limit)
    loop = Loop(MODEL, settings, q=BENT, plant=HEAVY, gains={'ki': 400.0}, friction=True)
    loop.run(3.0)
    shut_down(loop)
    changes = np.abs(np.diff(loop.torques, axis=0)) / loop.period
    assert (changes[-500:-1] <= 0.3 * MODEL.effort_limit + 1e-6).all()
    np.testing.assert_allclose(loop.torque, loop.control.gravity_torque(), atol=1e-9)


def test_states_that_return_in_mode_carrying_end_nothing():
    loop = moving(friction=True)
    shut_down(loop, release=1.0, silent=lambda now: int(now / 0.05) % 2)
    assert not loop.torque.any()


def test_no_motion_begins_meanwhile_and_an_activation_ends_it():
    loop = moving(friction=True)
    loop.control.requests.shut_down('the controller leaves')
    for request in (loop.control.requests.hold, loop.control.requests.compensate_gravity,
                    lambda: loop.follow(BENT, 1.0)):
        with pytest.raises(StateError, match='is being ended; activate it again'):
            request()
    loop.run(0.2)
    loop.control.activation.deactivate()
    loop.control.requests.shut_down('twice')  # nothing is under control
    loop.start(loop.plant.q)
    loop.settle()
    assert loop.control.mode is Mode.HOLD and not loop.control.status.shutdown_over
    loop.follow(BENT, 2.0)
    loop.run(2.1)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-2)


def test_it_ends_for_any_arm_that_is_shaken():
    loop = Loop(MODEL, q=BENT)
    loop.run(0.3)
    random = np.random.default_rng(3)
    loop.control.requests.shut_down('the controller leaves')
    end = loop.now + LONGEST
    while not loop.control.status.shutdown_over and loop.now < end:
        loop.plant.qd += random.normal(0.0, 0.05, 7)
        loop.cycle()
    assert loop.control.status.shutdown_over
    np.testing.assert_allclose(loop.torque, loop.control.gravity_torque(), atol=1.0)


def test_a_release_is_no_faster_than_the_torque_may_change():
    rate = 0.3 * MODEL.effort_limit
    loop = Loop(MODEL, settings_of(torque_rate_limit=rate), q=BENT)
    not_zero = loop.control.gravity_torque().copy()
    assert (np.abs(not_zero) / rate).max() > 0.4
    loop.plant.step = lambda torque: None  # something supports it
    loop.run(1.0)
    begin = len(loop.log)
    shut_down(loop, release=0.1)
    assert not loop.torque.any()
    changes = np.abs(np.diff(loop.torques[begin:], axis=0)) / loop.period
    assert (changes <= rate * (1.0 + 1e-9)).all()
    assert loop.now - loop.times[begin] < 0.5 + (np.abs(not_zero) / rate).max()


@pytest.mark.parametrize('period', [0.08, 0.095])
def test_it_ends_where_each_state_is_followed_by_silence(period):
    loop = Loop(MODEL, q=BENT)
    control, state, plant = loop.control, loop.control.host.state, loop.plant
    control.activation.deactivate()
    control.activate(0.0, plant.q, plant.qd, 0.0)
    came, torque, step = 0.0, control.gravity_torque().copy(), 0
    while not control.status.shutdown_over:
        now = 5e-3 * (step := step + 1)
        assert now < 3.0, 'no end of the shutdown'
        if now >= came + period:
            came = now
            state.q[:], state.qd[:], state.effort[:] = plant.q, plant.qd, np.nan
            sent = control.receive(now, now, now)
        else:
            sent = control.cycle.wait(now)
        torque = torque if sent is None else sent.copy()
        for _ in range(5):
            plant.step(torque)
        if step == 100:
            control.requests.shut_down('the controller leaves', 0.1)
    assert not torque.any()
