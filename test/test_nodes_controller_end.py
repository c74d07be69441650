"""The end of the controller node: the arm comes to rest, the gravity torque is the last one."""

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, logged, MODEL, PATIENT, RATE, set_in_motion, simulator,
    trajectory, Wire)
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from ros_process import NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402


@pytest.fixture(scope='module')
def robot(probe):
    with simulator() as plant:
        yield Wire(probe, plant)


@pytest.fixture
def arm(probe, robot):
    """Return the arm at home, held by brakes, with no message received yet."""
    robot.reset()
    robot.states[:-1], robot.commands[:] = [], []
    return robot


@pytest.mark.parametrize('number, effort', [
    (signal.SIGTERM, 'hold'), (signal.SIGINT, 'release')])
def test_a_signal_in_motion_stops_the_arm_and_ends_with_the_gravity_torque(probe, arm, number,
                                                                           effort):
    parameters = {'urdf_file': str(ARM), 'shutdown_effort': effort, 'release_time': 0.3,
                  'publish_joint_commands': True, **PATIENT}
    named = probe.subscribe(JointState, 'joint_commands', 1000)
    with NodeProcess(CONTROLLER, parameters) as controller:
        controller.wait_for_output(ACTIVE)
        far = trajectory(MODEL.joint_names, HOME + 0.9, seconds=2.0)
        set_in_motion(probe, controller, arm, far, 0.5)
        controller.process.send_signal(number)
        controller.process.send_signal(number)  # impatience changes nothing
        probe.until(lambda: not controller.alive, 'the end', 10.0)
        assert controller.wait() == 0
    assert 'Traceback' not in controller.output
    arm.catch_up()
    torques = arm.torques
    assert list(named[-1].name) == list(MODEL.joint_names)
    np.testing.assert_array_equal(named[-1].effort, torques[-1])
    assert np.isfinite(torques).all()
    allowed = 100.0 * MODEL.effort_limit * 0.05
    assert np.all(np.abs(np.diff(torques, axis=0)) <= allowed + 1e-9)
    if effort == 'release':
        assert not torques[-1].any()
        assert logged(controller, 'the last torque is zero') == 1
        return
    assert logged(controller, 'the last torque is the gravity torque') == 1
    rest = arm.q
    assert np.abs(rest - HOME).max() > 0.05, 'it did not move at all'
    np.testing.assert_allclose(torques[-1], Dynamics(MODEL).gravity(rest), atol=0.5)
    count = len(arm.states)
    probe.until(lambda: len(arm.states) > count + RATE, 'a second without a controller')
    assert np.abs(arm.q - rest).max() < 5e-3


def test_an_arm_that_swings_when_it_is_left_is_waited_for(probe, arm):
    """Held up for a moment while it stops: the last torque goes on, and throws the arm back."""
    with NodeProcess(CONTROLLER, {'urdf_file': str(ARM), **PATIENT}) as controller:
        controller.wait_for_output(ACTIVE)
        far = trajectory(MODEL.joint_names, HOME + 0.9, seconds=1.2)
        set_in_motion(probe, controller, arm, far, 0.9)
        controller.process.send_signal(signal.SIGINT)
        probe.spin_for(0.06)
        controller.process.send_signal(signal.SIGSTOP)
        probe.spin_for(0.05)
        controller.process.send_signal(signal.SIGCONT)
        assert controller.wait() == 0
    arm.catch_up()
    rest, count = arm.q, len(arm.states)
    assert np.abs(arm.states[-1].velocity).max() < 0.03
    probe.until(lambda: len(arm.states) > count + RATE, 'a second without a controller')
    assert np.abs(arm.q - rest).max() < 0.02, 'the weight alone does not stop what moves'
