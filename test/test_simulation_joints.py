"""What a plant takes joints to be like where only some of it is given."""

import math

import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation.joints import JointPhysics
from robodyn_ros.simulation.step import Constants

INERTIA = np.array([0.4, 0.2, 0.1])
DT = 1e-3


def robot(efforts):
    """Return a chain of joints with these effort limits, and the same friction."""
    links = ''.join(f'<link name="l{i}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
                    'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
                    for i in range(len(efforts) + 1))
    joints = ''.join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/>'
        f'<axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="{effort}" velocity="3"/>'
        '<dynamics damping="0.3" friction="0.7"/></joint>' for i, effort in enumerate(efforts))
    return RobotModel.from_urdf(f'<robot name="chain">{links}{joints}</robot>')


MODEL = robot([50.0, 20.0, 0.0])


def constants(**given):
    """Return the constants of a step, by name."""
    flat = JointPhysics.from_model(MODEL, INERTIA, **given).constants(DT)
    assert flat[-1] == DT
    return Constants(*flat[:-1].reshape(-1, 3))


def test_defaults_are_those_of_the_documentation():
    """
    Protects what an arm is like of which nothing but its URDF is given.

    The largest torque moves a joint 0.01 rad into its stop, and winds up a gear by 1 mrad. Where
    there is none, a stop has 100 rad/s, and a gear what 1 N m winds up by 1 mrad.
    """
    c = constants()
    np.testing.assert_array_equal(c.effort_limit, [50.0, 20.0, 0.0])
    for row, value in ((c.damping, 0.3), (c.friction, 0.7), (c.stiction, 0.7), (c.armature, 0.0),
                       (c.stribeck_velocity, 0.05), (c.backlash, 0.0), (c.lower, -1.0),
                       (c.upper, 2.0), (c.blend, 1.0)):
        np.testing.assert_array_equal(row, value)
    np.testing.assert_allclose(c.bristle_stiffness, 0.7 / 1e-5)
    np.testing.assert_allclose(c.stop_stiffness, [5000.0, 2000.0, 1e4 * 0.1])
    np.testing.assert_allclose(c.gear_stiffness, [5e4, 2e4, 1e3])


def test_where_the_torque_has_no_bound_stops_and_gears_are_those_of_a_zero_limit():
    """Protects from stiffness that is infinite or not a number."""
    c = constants(effort_limit=math.inf)
    np.testing.assert_allclose(c.stop_stiffness, 1e4 * INERTIA)
    np.testing.assert_allclose(c.gear_stiffness, 1e3)


def test_damping_is_critical_for_body_and_rotor_at_the_stiffness_that_counts():
    """Protects rotors, and stiffness that is given, in 2 sqrt(k (I + A)) of all three springs."""
    armature, stiff = np.array([0.1, 0.2, 0.3]), np.array([1e3, 2e3, 3e3])
    c = constants(armature=armature, stiction=1.4, friction=0.7, presliding=1e-4,
                  stop_stiffness=stiff, gear_stiffness=2.0 * stiff)
    for damping, stiffness in ((c.stop_damping, stiff), (c.gear_damping, 2.0 * stiff),
                               (c.bristle_damping, 1.4 / 1e-4)):
        np.testing.assert_allclose(damping, 2.0 * np.sqrt(stiffness * (INERTIA + armature)))
    np.testing.assert_array_equal(constants(stop_damping=7.0).stop_damping, 7.0)


def test_a_lag_is_what_one_of_first_order_makes_up_in_a_step():
    """Protects the step response of motors: 1 - exp(-w dt), all of it without a lag."""
    c = constants(motor_bandwidth=[30.0, 2e3, math.inf])
    np.testing.assert_allclose(c.blend, [1.0 - math.exp(-0.03), 1.0 - math.exp(-2.0), 1.0])


@pytest.mark.parametrize('given, words', [
    ({'friction': [0.1, 2.0, 0.1], 'stiction': 1.0}, "stiction of joint 'j1' is 1.0: .*Coulomb"),
    ({'backlash': [0.0, 0.0, 0.1]}, "armature of joint 'j2' is 0.0: .*rotor with inertia"),
    ({'damping': math.inf}, "damping of joint 'j0' is inf: .*finite"),
    ({'gear_stiffness': 0.0}, "gear_stiffness of joint 'j0' is 0.0: it must be above 0, and fin"),
    ({'effort_limit': [1.0, -1.0, 1.0]}, "effort_limit of joint 'j1' is -1.0: .*negative"),
    ({'stop_damping': math.nan}, "stop_damping of joint 'j0' is nan")])
def test_what_no_joint_is_like_is_refused_by_name(given, words):
    """Protects a simulation from numbers with which nothing comes to rest, or all diverges."""
    with pytest.raises(ArgumentError, match=words):
        JointPhysics.from_model(MODEL, INERTIA, **given)


def test_only_a_joint_without_torque_is_warned_of():
    """Protects the warning of an effort limit of 0, and its absence."""
    assert [words.split("'")[1] for words in JointPhysics.from_model(MODEL, INERTIA).warnings] == [
        'j2']
    assert JointPhysics.from_model(MODEL, INERTIA, effort_limit=1.0).warnings == ()


def test_numbers_of_joints_cannot_be_overwritten():
    """Protects the constants of a running plant from an assignment that it does not see."""
    with pytest.raises(ValueError, match='read-only'):
        JointPhysics.from_model(MODEL, INERTIA).damping[0] = 9.0
