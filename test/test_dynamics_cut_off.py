"""Joints that a tip cuts off although the gravity torque depends on them."""

from model_urdf import arm, gripper, INERTIAL, joint, link
import numpy as np
import pytest

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.cut_off import cut_off
from robodyn_ros.model import RobotModel

EARTH = (0.0, 0.0, -9.81)
WRIST = (link('hand'), joint('wrist', 'forearm', 'hand', axis='0 1 0'))
LIGHT = INERTIAL.replace('value="2"', 'value="0.02"')  # a finger
BESIDE = (link('camera'), joint('neck', 'base', 'camera', axis='0 1 0'))


def sentence(urdf, gravity=EARTH, **selection):
    return cut_off(RobotModel.from_urdf(urdf, gravity, **selection), urdf, gravity, selection)


def test_a_joint_that_carries_weight_is_named_with_the_change_that_it_makes():
    # 2 kg at 0.1 m from the wrist, turned from 0 to 2 rad: its share of the torque of the elbow
    # is m g r |sin(e + w) - sin e| <= 2 m g r sin(w / 2); the poses are random
    text = sentence(arm(*WRIST), tip='forearm')
    assert text.startswith("joint 'wrist' is cut off by the tip and gets no torque, but changes "
                           "the gravity torque of 'elbow' by up to ")
    change = float(text.split(' by up to ')[1].split()[0])
    assert 0.8 * 2 * 1.962 * np.sin(1.0) < change <= 2 * 1.962 * np.sin(1.0)
    assert text.endswith('state where it is locked, such as wrist:0')


@pytest.mark.parametrize('urdf, selection', [
    (arm(*WRIST), {}), (arm(*WRIST), {'tip': 'hand'}),
    (arm(*WRIST), {'tip': 'forearm', 'locked': {'wrist': 0.3}}),   # stated
    (arm(*BESIDE), {'tip': 'forearm'}),                            # carried by the base
    (gripper().replace(link('left'), link('left', LIGHT)).replace(
        link('right'), link('right', LIGHT)), {'tip': 'hand'})])
def test_what_is_stated_or_does_not_matter_is_silent(urdf, selection):
    assert sentence(urdf, **selection) == ''


def test_the_model_with_the_tip_differs_as_said():
    urdf = arm(*WRIST)
    cut = Dynamics(RobotModel.from_urdf(urdf, tip='forearm'), backend='python')
    whole = Dynamics(RobotModel.from_urdf(urdf), backend='python')
    q = np.array([0.0, 1.2])
    assert np.allclose(cut.gravity(q), whole.gravity([*q, 0.0])[:2])
    change = whole.gravity([*q, 1.5])[:2] - cut.gravity(q)
    assert np.allclose(change, [0.0, 2 * 9.81 * 0.1 * (np.sin(1.2) - np.sin(2.7))])
