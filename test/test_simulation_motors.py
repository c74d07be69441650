"""Motors and gears against their closed forms."""
import math

import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.actuator import Gears, motor_torque
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


def test_teeth_exchange_the_torque_of_a_spring_and_damper_at_the_end_of_the_step():
    """
    Protects the two bodies of a gear with backlash: action is reaction, and teeth only push.

    The judge are the equations of rotor and joint with the tooth torque at the end of the step.
    """
    dt, inertia, armature, play, stiffness, damping = 1e-3, 0.5, 0.1, 0.02, 4e3, 30.0
    constants = Constants(*[[0.0]] * len(Constants._fields))._replace(
        armature=[armature], backlash=[play], gear_stiffness=[stiffness], gear_damping=[damping])
    rng, touched = np.random.default_rng(4), 0
    for _ in range(300):
        torque, gap, rate = (rng.uniform(-most, most) for most in (5.0, 0.015, 2.0))
        gears = Gears([torque], [gap], [rate], constants, dt)
        qdd = gears.force[0] / (inertia + gears.inertia[0])
        (gap_after,), (rate_after,) = gears.gap_after([qdd])
        assert gap_after == pytest.approx(gap + dt * rate_after, abs=1e-12)
        tooth = torque - armature * (qdd + (rate_after - rate) / dt)
        assert tooth == pytest.approx(inertia * qdd, abs=1e-9)
        ahead = gap + dt * rate
        depth = ahead - math.copysign(min(abs(ahead), 0.5 * play), ahead)
        if depth * (stiffness * depth + damping * rate) > 0.0:
            side = math.copysign(0.5 * play, ahead)
            assert tooth == pytest.approx(
                stiffness * (gap_after - side) + damping * rate_after, abs=1e-9)
            touched += 1
        else:
            assert tooth == pytest.approx(0.0, abs=1e-9)
    assert 60 < touched < 240


def test_a_motor_is_limited_in_both_directions():
    """Protects the lower bound of the torque as well as the upper one."""
    assert [motor_torque(command, 0.0, 3.0, 1.0) for command in (-9.0, -2.0, 2.0, 9.0)] == [
        -3.0, -2.0, 2.0, 3.0]


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
