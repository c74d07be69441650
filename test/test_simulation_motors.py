"""Motors and gears against their closed forms."""
import math

import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.step import Constants
from test_simulation_plant import finish, one_joint, run

NO_FRICTION = {'damping': 0.0, 'friction': 0.0}


def test_a_motor_follows_its_command_as_a_lag_of_first_order():
    bandwidth = 30.0
    plant = Plant(one_joint(inertia=1.0), motor_bandwidth=bandwidth, **NO_FRICTION)
    for _ in run(plant, 0.2, 2.0):
        assert plant.applied[0] == pytest.approx(
            2.0 * -math.expm1(-bandwidth * plant.time), rel=1e-9)
    before, start = plant.applied[0], plant.time
    for _ in run(plant, 0.1, 0.0):
        assert plant.applied[0] == pytest.approx(
            before * math.exp(-bandwidth * (plant.time - start)), rel=1e-9)


def test_the_limit_is_that_of_the_command_before_the_lag():
    plant = Plant(one_joint(inertia=1.0), motor_bandwidth=100.0, effort_limit=3.0, **NO_FRICTION)
    for _ in run(plant, 0.5, 1e3):
        assert plant.applied[0] <= 3.0
    assert plant.applied[0] == pytest.approx(3.0, rel=1e-9)


def geared(backlash, **joints):
    return Plant(one_joint('revolute', inertia=0.5, mass=0.0, limit='<limit lower="-9" upper="9" '
                           'effort="10" velocity="10"/>'),
                 armature=0.1, backlash=backlash, **{**NO_FRICTION, **joints})


def test_in_the_gap_of_a_gear_only_the_motor_moves():
    plant = geared(0.1)
    duration = 0.0
    # half of the play at torque / armature
    expected = math.sqrt(2.0 * 0.05 / (2.0 / 0.1))
    while plant.qd[0] == 0.0:
        finish(plant, 1e-3, 2.0)
        duration += 1e-3
    assert duration == pytest.approx(expected, rel=0.05)


def test_beyond_the_gap_motor_and_joint_move_as_one():
    plant = geared(0.02)
    finish(plant, 2.0, 0.01)
    speed = plant.qd[0]
    finish(plant, 1.0, 0.01)
    assert plant.qd[0] - speed == pytest.approx(0.01 / (0.5 + 0.1), rel=1e-3)


def test_a_gear_gives_back_no_more_than_it_got():
    plant = geared(0.05)
    finish(plant, 0.3, 3.0)
    plant_energy = []
    for _ in run(plant, 2.0, 0.0):
        rotor = plant.qd[0] + plant.gap_rate[0]
        plant_energy.append(0.5 * 0.5 * plant.qd[0]**2 + 0.5 * 0.1 * rotor**2)
    assert plant_energy[-1] <= 1.001 * plant_energy[0]
    assert max(plant_energy) <= 1.05 * plant_energy[0]


def test_teeth_and_bristles_are_damped_for_body_and_rotor():
    """Protects the rotor inertia in the damping of gears and bristles: 2 sqrt(k (I + A))."""
    plant = geared(0.02, gear_stiffness=4e3, friction=2.0, presliding=1e-4)
    constants = Constants(*plant.constants[:-1].reshape(-1, 1))
    total = 0.5 + 0.1
    np.testing.assert_allclose(constants.gear_damping, 2.0 * math.sqrt(4e3 * total), rtol=1e-12)
    np.testing.assert_allclose(constants.bristle_stiffness, 2.0 / 1e-4, rtol=1e-12)
    np.testing.assert_allclose(
        constants.bristle_damping, 2.0 * math.sqrt(2e4 * total), rtol=1e-12)


def test_without_backlash_the_gear_is_rigid():
    rigid = Plant(one_joint(inertia=0.5), armature=0.1, **NO_FRICTION)
    tight = Plant(one_joint(inertia=0.5), armature=0.1, backlash=1e-9, **NO_FRICTION)
    for plant in (rigid, tight):
        finish(plant, 1.0, 2.0)
    np.testing.assert_allclose(tight.qd, rigid.qd, rtol=1e-3)


@pytest.mark.parametrize('joints, words', [
    ({'backlash': 0.1}, 'armature of joint'), ({'motor_bandwidth': 0.0}, 'motor_bandwidth.*above'),
    ({'friction': 2.0, 'stiction': 1.0}, 'stiction.*Coulomb'), ({'presliding': 0.0}, 'above 0'),
    ({'stribeck_velocity': -1.0}, 'stribeck_velocity')])
def test_impossible_joints_are_refused_by_name(joints, words):
    with pytest.raises(ArgumentError, match=words):
        Plant(one_joint(), **joints)
