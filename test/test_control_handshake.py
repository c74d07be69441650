"""The handshake before a takeover: what a resting arm may report, and what it means if not."""

import math

from closed_loop import arm, BENT, Loop, MODEL
from design import change_settings, settings_of
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.model import RobotModel

DYN = Dynamics(MODEL)
GRAVITY = DYN.gravity(BENT)
STILL = np.zeros(7)
# the default of the parameters: a tenth of the effort limits
LIMIT = 0.1 * MODEL.effort_limit
TIGHT = settings_of(handshake_tolerance=0.5)
FLIPPED = np.where(np.arange(7) == 3, -1.0, 1.0)
SIDEWAYS = (0.0, -9.81, 0.0)
PLAIN, OVERHEAD = arm().control, Dynamics(MODEL.with_gravity((0.0, 0.0, 9.81))).gravity(BENT)


def on_the_wall(q=BENT):
    return Dynamics(MODEL.with_gravity(SIDEWAYS)).gravity(q)


def with_tool(mass, link='tool0', com=(0.0, 0.0, 0.0)):
    return Dynamics(MODEL.with_payload(link, mass, com)).gravity(BENT)


def shake(effort, settings=None, driver=False, q=BENT, qd=STILL):
    control = arm(settings=settings).control
    return control.activation.check_effort(q, qd, np.asarray(effort, dtype=float), driver)


def test_the_pose_of_these_tests_has_gravity_torques():
    assert np.count_nonzero(np.abs(GRAVITY) > LIMIT) >= 2


@pytest.mark.parametrize('effort', [
    GRAVITY, GRAVITY + 0.9 * LIMIT, GRAVITY - 0.9 * LIMIT], ids=['exact', 'above', 'below'])
@pytest.mark.parametrize('driver', [False, True])
def test_an_arm_whose_effort_is_its_gravity_torque_is_taken_over(effort, driver):
    # Franka reports the torque of its motors, although its driver compensates gravity
    assert shake(effort, driver=driver) == ''


def test_nothing_is_what_a_driver_that_compensates_gravity_may_report():
    assert shake(STILL, driver=True) == ''
    with pytest.raises(StateError, match='driver_compensates_gravity: true'):
        shake(STILL)


@pytest.mark.parametrize('effort, words', [
    (STILL, 'all efforts are 0: the driver does not fill them, .*Only in the last case'),
    (STILL + 1e-310, 'all efforts are 0'),
    (GRAVITY * np.where(np.arange(7) == 3, 159.0, 1.0), "unit of 'joint4' alone, such as raw"),
    (2.0 * GRAVITY, 'gravity is compensated twice'),
    (-GRAVITY, 'the sign of all efforts is flipped'),
    (OVERHEAD, 'the sign of all efforts is flipped.*or gravity points the wrong way'),
    (GRAVITY * FLIPPED, "the sign of 'joint4' is flipped: the joint axis"),
    (GRAVITY / 0.1, '10 times the gravity torque in all joints: likely another unit'),
    (GRAVITY * 1e-3 * 7.0, 'likely the driver compensates'),
    (0.3 * GRAVITY, '0.3 times the gravity torque in all joints: .*motor current'),
    (with_tool(3.0), "payload is missing.*about 3 kg at link 'tool0'.*~/payload"),
    (with_tool(2.0, com=(0.0, 0.0, 0.02)), 'payload is missing'),
    (on_the_wall(), r'mounted another way: gravity \(.*, -9.8\d, .*\).* 90 degrees'),
    (GRAVITY + (0, 30, 0, -30, 0, 0, 0), 'compare masses and joint axes')])
def test_an_effort_that_contradicts_gravity_is_named_with_its_likely_cause(effort, words):
    with pytest.raises(StateError, match=words) as caught:
        shake(effort, TIGHT)
    text = str(caught.value)
    j = MODEL.joint_names.index(text.split("'")[1])
    assert f'reports {effort[j]:.2f} at rest' in text and f'model is {GRAVITY[j]:.2f}' in text
    assert 'tolerance 0.50' in text and 'handshake: false' in text
    # with the default tolerance it is noticed as well
    with pytest.raises(StateError, match="joint 'joint[24]' reports"):
        shake(effort)


@pytest.mark.parametrize('driver, effort', [
    (True, -GRAVITY), (True, 2.0 * GRAVITY), (True, GRAVITY * FLIPPED)])
def test_a_driver_that_compensates_gravity_excuses_no_other_mistake(driver, effort):
    with pytest.raises(StateError, match='sign|twice'):
        shake(effort, driver=driver)


def test_joints_that_cannot_be_compared_are_reported():
    assert shake(np.full(7, math.nan)) == 'the joint states contain no effort'
    partly = GRAVITY.copy()
    partly[4:6] = math.nan
    assert shake(partly) == 'no effort is reported for joint5, joint6'
    partly[1] = 0.0
    with pytest.raises(StateError, match="'joint2' reports 0.00"):
        shake(partly)
    moving = STILL.copy()
    moving[2] = -0.3
    assert shake(STILL, qd=moving) == "joint 'joint3' moves at -0.3 rad/s"


def test_it_can_be_turned_off_and_upright_arms_are_not_compared():
    assert shake(STILL, settings_of(handshake=False)) == ''
    assert shake(STILL, q=np.zeros(7)) == ''


def test_a_known_payload_is_expected():
    from robodyn_ros.model import Payload
    loop = arm()
    loop = type(loop)(MODEL.with_payload('tool0', 0.0), q=BENT)
    loop.control.activation.deactivate()
    loop.control.load_changes.set_payload(Payload('tool0', 3.0, (0, 0, 0), np.zeros((3, 3))))
    assert loop.control.activation.check_effort(BENT, STILL, with_tool(3.0)) == ''
    with pytest.raises(StateError):
        loop.control.activation.check_effort(BENT, STILL, with_tool(0.0))


def test_the_tip_is_the_last_link_down_the_tree():
    assert MODEL.tip == 'tool0'


def test_the_check_does_not_change_gravity():
    loop = arm()
    before = loop.dynamics.runtime.copy()
    loop.control.activation.check_effort(BENT, STILL, GRAVITY)
    np.testing.assert_array_equal(loop.dynamics.runtime, before)


def test_one_joint_has_no_mounting_to_be_found():
    model = RobotModel.from_urdf("""<robot name="one"><link name="base"/><link name="bar">
      <inertial><origin xyz="0.5 0 0"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/>
      <axis xyz="0 -1 0"/><limit lower="-2" upper="2" effort="40" velocity="2"/></joint>
      </robot>""")
    dyn = Dynamics(model)
    control = type(PLAIN)(dyn)
    with pytest.raises(StateError, match="the sign of 'hinge' is flipped"):
        control.activation.check_effort(np.zeros(1), np.zeros(1), np.array([-9.81]))
    with pytest.raises(StateError, match="hinge' reports 30.00.*compare masses"):
        control.activation.check_effort(np.zeros(1), np.zeros(1), np.array([30.0]))


def test_an_arm_that_the_usable_effort_cannot_hold_is_not_taken_over():
    stretched = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0])
    loop = Loop(MODEL, settings_of(effort_margin=0.15))
    with pytest.raises(StateError, match=r"'joint2' would need .* effort_margin"):
        loop.control.activation.check_state(stretched, np.zeros(7))
    loop.control.activation.check_state(np.zeros(7), np.zeros(7))


def test_limits_below_the_gravity_torque_are_refused_while_the_arm_is_held():
    stretched = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0])
    loop = Loop(MODEL, q=stretched)
    loop.run(0.05)
    before = loop.control.bounds
    with pytest.raises(ParameterError, match="'joint2' would need .* fall"):
        change_settings(loop.control, effort_margin=0.15)
    assert loop.control.bounds is before
