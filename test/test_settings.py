"""Trees of settings: what they accept, how they change, and what they are called."""

import math

from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Settings
from robodyn_ros.control.settings import CartesianSettings, Constraints, ImpedanceSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.settings import for_joints, Parameter, parameters, values, with_values
from ros_process import ROOT


def test_names_and_values_are_those_of_the_parameters():
    tree = with_values(Settings(), {'impedance.damping': 3, 'constraints.joint1.goal': 0.1})
    assert tree.impedance.damping == (3.0,) and tree.constraints.joints['joint1'].goal == 0.1
    given = values(tree)
    assert given['impedance.damping'] == (3.0,) and given['constraints.joint1.goal'] == 0.1
    assert set(values(Settings())) == {
        row.name for row in parameters(Settings, of_python=True) if '{joint}' not in row.name}
    assert 'constraints.elbow.goal' in {
        row.name for row in for_joints(parameters(Settings, of_python=True), ['elbow'])}
    assert with_values(Settings(), values(Settings())) == Settings()


def test_a_change_does_not_alter_the_original_tree():
    before = Settings()
    after = with_values(before, {'stale.hold': 0.1})
    assert before == Settings() and after.stale.hold == 0.1
    assert after.impedance is before.impedance


def test_arrays_and_single_numbers_are_accepted():
    tree = settings_of(kp=np.array([1.0, 2.0]), kd=np.float64(3.0), stale__jump=math.inf)
    assert tree.kp == (1.0, 2.0) and tree.kd == (3.0,) and tree.stale.jump == math.inf


@pytest.mark.parametrize('given', [
    {'impedance': 5}, {'impedance': None}, {'impedance': ImpedanceSettings},
    {'impedance': CartesianSettings()}, {'constraints': {}}])
def test_a_group_of_another_class_is_refused_by_name(given):
    name, = given
    with pytest.raises(ParameterError, match=rf'^{name} is .*: set it to \w+\(\.\.\.\)'):
        Settings(**given)


def test_joints_are_a_mapping_of_their_constraints():
    with pytest.raises(ParameterError, match='constraints.joints is .*JointConstraints'):
        Constraints(joints={'joint1': 0.1})


@pytest.mark.parametrize('name, words', [
    ('impedance.dampin', "'impedance.damping'"), ('constraints.goal.joint1', 'there is no')])
def test_unknown_names_are_refused_with_the_near_ones(name, words):
    with pytest.raises(ParameterError, match=words):
        with_values(Settings(), {name: 1.0})


def test_what_is_no_settings_or_of_no_joint_is_refused():
    model = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
    for given in ({'kp': 1.0}, 5, Settings().impedance):
        with pytest.raises(ParameterError, match='give Settings'):
            ArmController(Dynamics(model), given)
    elsewhere = with_values(Settings(), {'constraints.joint9.goal': 0.1})
    with pytest.raises(ParameterError, match="no joint 'joint9'.*'joint"):
        ArmController(Dynamics(model), elsewhere)
    control = ArmController(Dynamics(model))
    for given in (None, {}, Settings().impedance):
        with pytest.raises(ParameterError, match='give Settings'):
            control.changes.change(given)
    assert control.settings == Settings()


@pytest.mark.parametrize('value', [5e-324, -1e-310, [0.1, 5e-324]])
def test_numbers_too_small_to_compute_with_are_refused(value):
    row = Parameter('armature', 'double_array', (0.0,), 'Inertia of rotors.')
    with pytest.raises(ParameterError, match="'armature'.* is .*e-3.*: that is too small"):
        row.checked(value)
    assert row.checked([0.0, -0.0, 2.3e-308]) == (0.0, 0.0, 2.3e-308)
