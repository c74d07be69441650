"""The predicted state against the simulated arm, under the same torques."""

from dataclasses import replace

from closed_loop import arm, BENT, Loop, MODEL
import numpy as np
import pytest
from robodyn_ros.control import make_gains
from robodyn_ros.control.prediction import Prediction
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.simulation import Plant

# the weight, and some more
TORQUE = Dynamics(MODEL).gravity(BENT) + [4.0, -6.0, 1.0, 2.0, 0.06, 0.06, 0.004]


def predicted(dynamics, seconds, calls, **gains):
    prediction = Prediction(dynamics)
    prediction.start(BENT, np.zeros(7))
    for _ in range(calls):
        prediction.advance(seconds / calls, TORQUE, make_gains(dynamics, **gains))
    return prediction


@pytest.mark.parametrize('armature', [0.0, 0.1])
def test_it_moves_as_the_simulated_arm_does(armature):
    plant = Plant(MODEL, 1e-4, armature=armature)
    plant.reset(BENT)
    for _ in range(3000):
        assert plant.step(TORQUE)
    assert np.abs(plant.q - BENT).max() > 0.1
    found = predicted(Dynamics(MODEL), 0.3, 60, armature=armature)
    np.testing.assert_allclose(found.q, plant.q, atol=1e-2)
    np.testing.assert_allclose(found.qd, plant.qd, atol=0.1)


def test_how_often_it_is_asked_makes_little_difference():
    often, seldom = (predicted(Dynamics(MODEL), 0.3, calls) for calls in (300, 6))
    np.testing.assert_allclose(often.q, seldom.q, atol=5e-3)


def test_what_the_driver_carries_is_no_part_of_the_torque():
    dynamics = Dynamics(MODEL)
    prediction = Prediction(dynamics)
    prediction.start(BENT, np.zeros(7))
    gains = make_gains(dynamics, driver_compensates_gravity=True)
    prediction.advance(0.5, np.zeros(7), gains)
    np.testing.assert_allclose(prediction.q, BENT, atol=1e-6)


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


def test_the_weight_of_a_silent_arm_is_that_of_where_it_should_be():
    loop = arm()
    loop.moving(share=0.8)
    seen = loop.plant.q.copy()
    loop.coast(2.0)
    np.testing.assert_allclose(loop.control.weight(), loop.torque, atol=1e-3)
    assert np.abs(loop.dynamics.gravity(seen) - loop.torque).max() > 0.1


def test_a_joint_that_moves_no_mass_takes_nothing_from_the_others():
    bodies = {name: getattr(MODEL, name).copy() for name in ('mass', 'first_moment', 'inertia')}
    for values in bodies.values():
        values[-1] = 0.0
    # the arm itself has that mass: only its model does not know
    loop = Loop(replace(MODEL, **bodies), q=BENT, plant=MODEL)
    loop.moving()
    loop.coast(1.0)
    assert not loop.control.fault
    assert np.isfinite(loop.torques).all() and np.isfinite(loop.control.weight()).all()
    assert not loop.control.reference.qd.any()


def test_an_arm_that_stood_still_in_a_long_silence_is_not_chased():
    # as a driver with a watchdog of its own would do: the torque of the motion moved nothing
    loop = arm(friction=True)
    loop.moving(share=0.8)
    for gap in (0.6, *[5e-3] * 100):
        loop.now += gap
        torque, _ = loop.control.coast(loop.now)
        assert np.abs(torque).max() < 20.0
