"""The control cycle without good states: silence, faults, no numbers, and odd clocks."""

import math

from closed_loop import arm, BENT, FLOATING, HEAVY, MODEL, ROUNDING
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.exceptions import StateError


def arm_in(mode):
    """Return a loop that holds, floats, moves along a trajectory ('track') or begins to stop."""
    loop = arm(settings=FLOATING if mode == 'float' else None)
    if mode in ('track', 'stop'):
        loop.moving()
    if mode == 'stop':
        loop.control.requests.stop('enough')
    return loop


@pytest.mark.parametrize('silence', [0.05, 0.1, 0.3])
def test_silence_in_motion_is_bridged_by_the_model(silence):
    loop = arm()
    loop.moving()
    begin = len(loop.log)
    loop.coast(silence)
    assert loop.control.message == 'the joint states are silent'
    # no state is received, yet the arm follows the reference: the model is right
    assert np.abs(loop.error[begin:]).max() < 0.01
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.run(1.0)
    assert loop.largest_change <= 1.0 + 1e-9
    assert loop.control.mode is Mode.HOLD
    assert np.abs(loop.plant.qd).max() < 1e-2
    # without feedback at first what is left of the motion goes on a little
    assert np.abs(loop.error[begin:]).max() < 0.05
    loop.follow(BENT, 2.0)
    loop.run(2.3)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-4)


@pytest.mark.parametrize('floats', [False, True])
def test_a_pause_without_torques_ends_a_motion_but_no_float(floats):
    loop = arm()
    loop.moving()
    if floats:
        loop.control.requests.compensate_gravity()
        loop.run(0.1)
    for _ in range(200):
        loop.plant.step(loop.torque)
    loop.now += 0.2
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    begin = len(loop.log)
    loop.run(0.1)
    if floats:
        assert loop.control.mode is Mode.FLOAT
        return
    loop.settle()
    assert loop.largest_change <= 1.0 + 1e-9
    assert loop.control.mode is Mode.HOLD
    assert loop.control.message == 'the motion is given up after a gap of states or torques'
    # a joint that was thrown beyond twice its velocity limit is stopped from rest
    thrown = np.abs(loop.log[begin][2]) > 2.0 * MODEL.velocity_limit
    largest = np.abs(loop.error[begin:]).max(axis=0)
    assert largest[~thrown].max() < 0.2 and largest.max() < 1.0


@pytest.mark.parametrize('friction', [False, True])
def test_after_long_silence_the_gravity_torque_remains(friction):
    loop = arm(settings=FLOATING, friction=friction)
    loop.run(0.2)
    loop.coast(1.5)
    assert loop.control.mode is Mode.HOLD
    np.testing.assert_allclose(loop.torque, loop.dynamics.gravity(BENT), **ROUNDING)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-5)


def test_silence_without_a_model_error_needs_no_feedback_to_hold_an_unknown_load():
    # the load pulls the arm down, but slowly enough for a stop; torques stay those of the model
    loop = arm(plant=HEAVY, friction=True)
    loop.run(1.0)
    loop.coast(0.3)
    # what held the load fades as the predicted arm comes to where it should be
    expected_gravity = loop.dynamics.gravity(loop.control.reference.q)
    assert np.abs(loop.torque - expected_gravity).max() < 0.02 * np.abs(expected_gravity).max()
    assert loop.largest_change <= 1.0 + 1e-9


def test_a_fault_is_latched_until_it_is_reset():
    loop = arm()
    loop.moving()
    loop.control.requests.fail('the first')
    loop.control.requests.fail('the second')
    assert loop.control.fault == 'the first' and loop.control.mode is Mode.STOP
    for request in (lambda: loop.follow(BENT, 2.0), lambda: loop.control.requests.hold(),
                    lambda: loop.control.requests.compensate_gravity()):
        with pytest.raises(StateError, match='a fault is latched: the first; .*reset_fault'):
            request()
    loop.control.requests.stop('stop is always allowed')
    loop.run(0.8)
    assert loop.control.mode is Mode.HOLD and loop.control.fault == 'the first'
    assert np.abs(loop.error).max() < 5e-4
    loop.control.reset_fault()
    loop.follow(BENT, 2.0)
    loop.run(2.2)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-4)


def test_a_fault_while_holding_changes_no_torque():
    loop = arm()
    loop.run(1.0)
    before = loop.torque
    loop.control.requests.fail('odd')
    loop.run(0.1)
    np.testing.assert_allclose(loop.torque, before, **ROUNDING)
    assert loop.control.mode is Mode.HOLD


@pytest.mark.parametrize('mode', ['hold', 'float', 'track', 'stop'])
@pytest.mark.parametrize('value, which', [
    (np.nan, 'position'), (np.nan, 'velocity'), (-np.inf, 'position')])
def test_a_state_that_is_no_number_is_a_fault_and_the_torque_stays_safe(mode, value, which):
    loop = arm_in(mode)
    loop.run(0.1)
    begin = len(loop.log)
    q, qd = loop.plant.q.copy(), loop.plant.qd.copy()
    (q if which == 'position' else qd)[4] = value
    for _ in range(100):
        loop.send(loop.control.update(loop.now, q, qd))
    assert f"joint 'joint5' reports position {q[4]}" in loop.control.fault
    torques = loop.torques[begin - 1:]
    assert np.isfinite(torques).all() and np.isfinite(loop.control.gravity_torque()).all()
    assert np.all(np.abs(torques) <= MODEL.effort_limit)
    assert loop.largest_change <= 1.0 + 1e-9
    loop.settle()
    loop.run(0.5)
    assert np.abs(loop.plant.qd).max() < 1e-2
    assert np.abs(loop.error[begin:]).max() < 0.02
    with pytest.raises(StateError, match='joint5'):
        loop.follow(BENT, 2.0)
    loop.control.reset_fault()
    loop.follow(BENT, 2.0)


def test_irregular_periods_do_no_harm():
    loop = arm()
    rng = np.random.default_rng(1)
    loop.moving()
    begin, allowed = len(loop.log), []
    for _ in range(400):
        loop.period = 0.001 * rng.integers(1, 12)
        allowed.append(100.0 * MODEL.effort_limit * min(loop.period, 0.05))
        loop.cycle()
    changes = np.abs(np.diff(loop.torques[begin:], axis=0))
    assert np.all(changes <= np.array(allowed[:-1]) * (1 + 1e-6))
    assert np.abs(loop.error).max() < 0.02
    assert loop.control.message == 'the goal is reached'


@pytest.mark.parametrize('leap', [0.0, -0.5, math.nan, 2.0, 1e6])
@pytest.mark.parametrize('mode', ['hold', 'track', 'stop', 'float'])
def test_a_clock_that_stands_leaps_or_goes_back_moves_nothing(leap, mode):
    loop = arm_in(mode)
    loop.run(0.15 if mode == 'stop' else 0.05)
    reference, torque = loop.control.reference.copy(), loop.torque
    after = loop.control.update(loop.now - loop.period + leap, loop.plant.q, loop.plant.qd)
    most = 0.0 if not leap > 0.0 else 100.0 * 0.05 * MODEL.effort_limit
    assert np.all(np.abs(after - torque) <= most + 1e-12)
    moved = np.abs(loop.control.reference.q - reference.q)
    # no further than in the longest pause at this speed
    assert np.all(moved <= np.abs(reference.qd) * 0.251 + 1e-6)
    loop.now += leap if math.isfinite(leap) else 0.0
    loop.log.clear()
    loop.run(2.0)
    assert np.abs(loop.plant.qd).max() < 1e-2
    assert np.abs(loop.error).max() < 0.5
    assert not loop.control.fault or math.isnan(leap)


@pytest.mark.parametrize('speed', [1e8, 1.7e308])
def test_finite_but_implausible_states_are_faults(speed):
    loop = arm(settings=FLOATING)
    loop.run(0.2)
    qd = loop.plant.qd.copy()
    qd[2] = speed
    torque = loop.control.update(loop.now, loop.plant.q, qd)
    assert np.isfinite(torque).all()
    assert MODEL.joint_names[2] in loop.control.fault
    for _ in range(5):
        loop.control.requests.stop('again')
        assert np.isfinite(loop.control.cycle.coast(loop.now)).all()


def test_silence_does_not_activate():
    loop = arm()
    loop.control.activation.deactivate()
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    assert loop.control.mode is Mode.INACTIVE
