"""Gains: made of design values, one for all joints or one each, and checked by name."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from robodyn_ros.control import Gains, make_gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import joint_inertia
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel

from design import gains_with

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
DYN = Dynamics(RobotModel.from_urdf(ARM))
DESIGN = ('natural_frequency', 'damping_ratio', 'kp', 'kd', 'float_damping', 'impedance__damping',
          'gravity_scale')


def test_one_number_is_for_all_joints():
    gains = gains_with(DYN, natural_frequency=10.0, damping_ratio=0.5)
    np.testing.assert_array_equal(gains.kp, np.full(7, 100.0))
    np.testing.assert_array_equal(gains.kd, np.full(7, 10.0))
    np.testing.assert_array_equal(gains.gravity_scale, np.ones(7))
    np.testing.assert_array_equal(gains.viscous, DYN.model.damping)
    np.testing.assert_array_equal(gains.coulomb, DYN.model.friction)


def test_one_number_per_joint():
    wn = np.arange(1.0, 8.0)
    gains = gains_with(DYN, natural_frequency=wn)
    np.testing.assert_array_equal(gains.kp, wn**2)
    np.testing.assert_array_equal(gains.kd, 2.0 * wn)


def test_gains_given_outright_come_before_the_design():
    gains = gains_with(DYN, natural_frequency=10.0, kp=[7.0], kd=(), float_damping=3.0)
    np.testing.assert_array_equal(gains.kp, np.full(7, 7.0))
    np.testing.assert_array_equal(gains.kd, np.full(7, 20.0))
    np.testing.assert_array_equal(gains.damping, np.full(7, 3.0))


def test_gains_in_torque_are_those_of_the_joints_inertia():
    gains, inertia = make_gains(DYN), joint_inertia(DYN)
    np.testing.assert_array_equal(gains.pd_kp, gains.kp * inertia)
    np.testing.assert_array_equal(gains.pd_kd, gains.kd * inertia)
    np.testing.assert_array_equal(gains.damping, inertia)
    assert np.all(inertia > 0.0)


def test_read_only_and_their_own():
    given = np.ones(7)
    gains = gains_with(DYN, kp=given)
    given[:] = 99.0
    assert gains.kp[0] == 1.0
    for field in fields(Gains):
        with pytest.raises(ValueError, match='read-only'):
            getattr(gains, field.name)[0] = 5.0


@pytest.mark.parametrize('name', DESIGN)
@pytest.mark.parametrize('value', [-1.0, np.nan, np.inf])
def test_a_bad_number_is_refused_naming_parameter_place_and_value(name, value):
    values, parameter = 0.5 * np.ones(7), name.replace('__', '.')
    values[2] = value
    with pytest.raises(ParameterError, match=f"'{parameter}', number 3 of 7, is {value}") as info:
        gains_with(DYN, **{name: values})
    assert info.value.evidence['name'] == parameter
    with pytest.raises(ParameterError, match=f"'{parameter}' is {value}"):
        gains_with(DYN, **{name: value})


@pytest.mark.parametrize('name', DESIGN)
@pytest.mark.parametrize('value, words', [
    ([0.5, 0.6], ' has 2 values.*7 joints: joint1, joint2'), ('stiff', "' is 'stiff'"),
    ([0.5] * 6 + [None], "', number 7 of 7, is None"), ([0.5, [0.6]], "', number 2 of 2, is ")])
def test_a_wrong_shape_or_kind_is_refused(name, value, words):
    with pytest.raises(ParameterError, match=f"(?s){name.replace('__', '.')}{words}"):
        gains_with(DYN, **{name: value})


def test_gains_check_themselves():
    gains = make_gains(DYN)
    for field in fields(Gains):
        for value in (-np.ones(7), np.full(7, np.nan)):
            with pytest.raises(ParameterError, match=f'{field.name} must be finite'):
                replace(gains, **{field.name: value})
        with pytest.raises(ParameterError, match='shape'):
            replace(gains, **{field.name: np.ones(6)})
        with pytest.raises(ParameterError, match='shape'):
            replace(gains, **{field.name: np.ones((7, 7))})
