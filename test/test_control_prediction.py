"""The predicted state against the simulated arm, under the same torques."""

from dataclasses import replace

from closed_loop import arm, BENT, Loop, MODEL
import numpy as np
import pytest
from robodyn_ros.control import make_gains
from robodyn_ros.control.steps import predict
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.simulation import Plant
from design import gains_with
from steps import array, body_of, doubles, filled, LONGEST_PAUSE

# the gravity torque, and some more
TORQUE = Dynamics(MODEL).gravity(BENT) + [4.0, -6.0, 1.0, 2.0, 0.06, 0.06, 0.004]


def predicted(dynamics, seconds, calls, torque=TORQUE, longest=LONGEST_PAUSE, **gains):
    """Return position and velocity after a torque has acted on the resting arm."""
    body, m = body_of(dynamics, gains_with(dynamics, **gains)), filled(predict.Memory, q=BENT)
    for _ in range(calls):
        m = predict.update(body, m, *doubles([torque, seconds / calls]), longest)
    return array(m).reshape(2, 7)


@pytest.mark.parametrize('armature', [0.0, 0.1])
def test_it_moves_as_the_simulated_arm_does(armature):
    plant = Plant(MODEL, 1e-4, armature=armature)
    plant.reset(BENT)
    for _ in range(3000):
        assert plant.step(TORQUE)
    assert np.abs(plant.q - BENT).max() > 0.1
    q, qd = predicted(Dynamics(MODEL), 0.3, 60, armature=armature)
    np.testing.assert_allclose(q, plant.q, atol=1e-2)
    np.testing.assert_allclose(qd, plant.qd, atol=0.1)


def test_the_rate_of_its_calls_makes_little_difference():
    often, seldom = (predicted(Dynamics(MODEL), 0.3, calls)[0] for calls in (300, 6))
    np.testing.assert_allclose(often, seldom, atol=5e-3)


def test_gravity_compensated_by_the_driver_is_no_part_of_the_torque():
    q, _ = predicted(Dynamics(MODEL), 0.5, 1, 0.0 * TORQUE, longest=0.5,
                     driver_compensates_gravity=True)
    np.testing.assert_allclose(q, BENT, atol=1e-6)


def test_no_more_is_predicted_than_the_longest_pause():
    """Protects the time that a cycle takes after a pause of seconds."""
    body = body_of(Dynamics(MODEL), make_gains(Dynamics(MODEL)))
    start = filled(predict.Memory, q=BENT)
    last = predict.update(body, start, *doubles([TORQUE, 2e-3 * 126]), LONGEST_PAUSE)
    after = predict.update(body, start, *doubles([TORQUE, 2e-3 * 1000]), LONGEST_PAUSE)
    np.testing.assert_array_equal(array(after), array(last))


@pytest.mark.parametrize('dt, away, speed, plausible', [
    (0.2, 0.299, 9.0, True), (0.201, 0.0, 0.0, False), (0.001, 0.301, 0.0, False),
    (0.001, -0.301, 0.0, False), (0.001, 0.0, np.nan, False), (0.001, np.nan, 0.0, False)])
def test_a_prediction_counts_near_its_reference_and_for_a_while(dt, away, speed, plausible):
    q, qd = BENT.copy(), np.zeros(7)
    q[4], qd[4] = q[4] + away, speed
    m = filled(predict.Memory, q=q, qd=qd)
    assert bool(predict.plausible(m, *doubles([dt, BENT]))) is plausible


def test_an_arm_that_goes_silent_at_speed_comes_to_rest_where_it_should():
    loop = arm(friction=True)
    loop.moving(share=0.8)
    loop.coast(2.0)
    assert np.abs(loop.plant.qd).max() < 1e-4
    np.testing.assert_allclose(loop.plant.q, loop.control.reference.q, atol=2e-3)


@pytest.mark.parametrize('gains', [
    {'natural_frequency': 500.0}, {'natural_frequency': 100.0, 'damping_ratio': 5.0}])
def test_what_is_stiff_while_states_come_is_calm_without(gains):
    loop = arm(friction=True, gains=gains)
    loop.moving()
    loop.period = 5e-3  # torques are fewer then
    silent = len(loop.log)
    loop.coast(2.0)
    assert np.abs(loop.plant.qd).max() < 0.01
    assert (np.abs(loop.torques[silent:]) < 0.9 * MODEL.effort_limit).all()


def test_the_gravity_torque_of_a_silent_arm_is_that_of_its_predicted_position():
    loop = arm()
    loop.moving(share=0.8)
    seen = loop.plant.q.copy()
    loop.coast(2.0)
    np.testing.assert_allclose(loop.control.gravity_torque(), loop.torque, atol=1e-3)
    assert np.abs(loop.dynamics.gravity(seen) - loop.torque).max() > 0.1


def test_a_joint_that_moves_no_mass_takes_nothing_from_the_others():
    bodies = {name: getattr(MODEL, name).copy() for name in ('mass', 'first_moment', 'inertia')}
    for values in bodies.values():
        values[-1] = 0.0
    # the arm itself has that mass, its model does not
    loop = Loop(replace(MODEL, **bodies), q=BENT, plant=MODEL,
                gains={'constraints__trajectory': 0.0})
    loop.moving()
    loop.coast(1.0)
    assert not loop.control.fault
    assert np.isfinite(loop.torques).all() and np.isfinite(loop.control.gravity_torque()).all()
    assert not loop.control.reference.qd.any()


def test_an_arm_that_stood_still_in_a_long_silence_is_not_chased():
    # as a driver with a watchdog of its own would do: the torque of the motion moved nothing
    loop = arm(friction=True)
    loop.moving(share=0.8)
    for gap in (0.6, *[5e-3] * 100):
        loop.now += gap
        torque = loop.control.cycle.coast(loop.now)
        assert np.abs(torque).max() < 20.0
