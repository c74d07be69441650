"""
The demo as `ros2 launch` starts it: it becomes active, follows a trajectory, ends in good order.

For `launch_test`; `test_launch_demo.py` runs it from pytest.
"""
from pathlib import Path
import sys
import unittest

from launch import LaunchDescription
import launch_testing
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
import numpy as np
from robodyn_ros.nodes.launching import include
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

# launch_test does not put the folder of this file on the path
sys.path.insert(0, str(Path(__file__).parent))
from ros_process import Probe  # noqa: E402

CONTROLLER = 'computed_torque_controller'
JOINTS = [f'joint{k}' for k in range(1, 8)]
TARGET = np.array([0.3, 0.4, -0.2, -0.8, 0.3, 0.5, 0.2])
# rad; after the end of the motion, with the friction of the model
ARRIVED = 5e-3


def generate_test_description():
    return LaunchDescription([include('demo'), launch_testing.actions.ReadyToTest()])


class TestDemo(unittest.TestCase):

    def setUp(self):
        self.probe = Probe('launch_probe')
        self.probe.__enter__()
        self.addCleanup(self.probe.__exit__)
        self.states = self.probe.subscribe(JointState, 'joint_states')
        self.probe.until(self.active, 'the controller becomes active')

    def active(self):
        state = self.probe.call(GetState, f'{CONTROLLER}/get_state').current_state
        return state.id == State.PRIMARY_STATE_ACTIVE

    def error(self):
        """Return the largest distance of a joint from the target, in the newest state."""
        state = self.states[-1]
        position = dict(zip(state.name, state.position))
        return max(abs(position[name] - target) for name, target in zip(JOINTS, TARGET))

    def test_follows_a_trajectory(self):
        self.probe.until(lambda: self.states, 'joint states')
        point = JointTrajectoryPoint(positions=TARGET.tolist(), velocities=[0.0] * 7)
        point.time_from_start.sec = 2
        goal = JointTrajectory(joint_names=JOINTS, points=[point])
        self.probe.publisher(JointTrajectory, f'{CONTROLLER}/joint_trajectory').publish(goal)
        assert self.error() > 0.5
        self.probe.until(lambda: self.error() < ARRIVED, 'the end of the trajectory')

    def test_services_answer(self):
        for name, message in (('float', 'gravity_compensation'), ('hold', 'stopping')):
            answer = self.probe.call(Trigger, f'{CONTROLLER}/{name}')
            assert answer.success and answer.message == message


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):

    def test_exit_codes(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_the_gravity_torque_is_the_last_one(self, proc_output):
        launch_testing.asserts.assertInStderr(
            proc_output, 'the last torque is the gravity torque', 'controller',
            strict_proc_matching=False)
