"""Stops of the simulated arm: they push, yield and take energy."""
import math

from hypothesis import given, settings, strategies
import numpy as np
import pytest
from robodyn_ros.simulation import Plant
from simulated_arm import ARM, energy, finish, NO_FRICTION, one_joint, run


def test_a_pressed_stop_yields_by_torque_over_stiffness():
    plant = Plant(one_joint('revolute', limit='<limit lower="-1" upper="0.5" effort="50" '
                            'velocity="10"/>'), **NO_FRICTION)
    finish(plant, 3.0, 50.0)
    assert plant.q[0] - 0.5 == pytest.approx(0.01, rel=1e-6)
    assert plant.stop[0] == pytest.approx(-50.0, rel=1e-6)
    assert abs(plant.qd[0]) < 1e-9
    finish(plant, 3.0, -25.0)
    assert -1.0 - plant.q[0] == pytest.approx(0.005, rel=1e-6)


@pytest.mark.parametrize('side', [1, -1])
def test_a_stop_is_left_with_the_velocity_of_one_that_pushes_only(side):
    # A critically damped spring that detaches when it begins to pull: exp(-2) of the impact.
    plant = Plant(one_joint('revolute', limit='<limit lower="-1" upper="1" effort="50" '
                            'velocity="10"/>'), 2e-5, **NO_FRICTION)
    plant.reset([0.99 * side])
    plant.qd[0] = 2.0 * side
    finish(plant, 0.1)
    assert plant.qd[0] == pytest.approx(-2.0 * side * math.exp(-2.0), rel=0.02)


def test_a_joint_with_a_heavy_rotor_does_not_bounce_off_its_stop():
    """
    Protects the rotor inertia in the damping of a stop: it is critical for body and rotor.

    Damped for the body alone, a rotor of nine times its inertia would leave with 0.6 of its speed.
    """
    plant = Plant(one_joint('revolute', limit='<limit lower="-1" upper="1" effort="50" '
                            'velocity="10"/>'), 2e-5, armature=9.0, **NO_FRICTION)
    plant.reset([0.99])
    plant.qd[0] = 2.0
    finish(plant, 0.15)
    assert plant.qd[0] == pytest.approx(-2.0 * math.exp(-2.0), rel=0.02)


def test_stops_only_push_and_take_energy():
    plant = Plant(ARM, **NO_FRICTION)
    plant.reset([0.0, 0.2, 0.0, -1.0, 0.0, 0.3, 0.0])
    before = energy(plant)
    touched = np.zeros(7, dtype=bool)
    for _ in run(plant, 5.0, 0.0):
        outward = np.where(plant.stop < 0.0, plant.q - ARM.upper, ARM.lower - plant.q)
        pushing = plant.stop != 0.0
        touched |= pushing
        # met at up to 20 rad/s, at the end of the step
        assert np.all(outward[pushing] > -0.02)
    assert touched.sum() >= 3, 'the arm never fell into its stops'
    assert energy(plant) < before + 1e-3 * abs(before)


@settings(max_examples=25, deadline=None)
@given(inertia=strategies.floats(1e-6, 1.0), speed=strategies.floats(0.0, 50.0),
       stiffness=strategies.floats(1.0, 1e7), damping=strategies.floats(0.0, 1e5))
def test_a_stop_never_returns_more_than_it_got(inertia, speed, stiffness, damping):
    plant = Plant(one_joint('revolute', mass=0.0, inertia=0.0, limit='<limit lower="-1e9" '
                            'upper="1" effort="50" velocity="10"/>'),
                  armature=inertia, stop_stiffness=stiffness, stop_damping=damping,
                  **NO_FRICTION)
    plant.reset([0.999])
    plant.qd[0] = speed
    for _ in range(200):
        assert plant.step(np.zeros(1)), plant.fault
        # an undamped stop that is met within a step may miss by as much as the step is coarse
        assert plant.qd[0] >= -1.2 * speed - 1e-9
        assert plant.stop[0] <= 1e-9


def test_a_joint_started_between_tight_stops_stays_there():
    plant = Plant(one_joint('revolute', lever=0.3, limit='<limit lower="0.1" upper="0.1001" '
                            'effort="50" velocity="10"/>'))
    finish(plant, 2.0, 20.0)
    assert 0.09 < plant.q[0] < 0.11
