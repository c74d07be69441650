"""The action FollowJointTrajectory in real time: long goals beside the cycle, and the end."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')
pytest.importorskip('control_msgs', reason='the action needs control_msgs')

from action_client import AWAY, Client, FAR, path, Result  # noqa: E402
from action_msgs.msg import GoalStatus  # noqa: E402
from controller_node import (  # noqa: E402
    ACTIVE, CONTROLLER, HOME, logged, NODE, PATIENT, RELEASED, simulator, Wire)
from ros_process import NodeProcess, Probe  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

pytestmark = pytest.mark.realtime


class Arm(Wire):
    """The simulated arm, in real time."""

    def rest(self):
        """Wait until nothing moves."""
        super().rest()
        self.catch_up()


@pytest.fixture(scope='module')
def probe():
    with Probe('action_probe') as made:
        yield made


@pytest.fixture(scope='module')
def robot():
    with simulator(friction_scale=0.0, publish_rate=1000.0) as process:
        yield process


@pytest.fixture(scope='module')
def controller(robot):
    # Without friction little feedback tracks as well, and stays stable where a busy machine
    # delays it: crossover at 20.6 rad/s with a phase margin of 1.33 rad allows 65 ms. With 30
    # rad/s it is 22 ms: beyond, the arm jerks until its states are refused as jumps.
    parameters = {**PATIENT, 'stale.hold': 0.9, 'stale.stop': 3.0, 'natural_frequency': [10.0],
                  'friction_scale': 0.0}
    with NodeProcess(CONTROLLER, parameters) as process:
        process.wait_for_output(ACTIVE)
        robot.wait_for_output(RELEASED)
        yield process
        process.stop()
        assert 'Traceback' not in process.output, process.output


@pytest.fixture(scope='module')
def arm(probe, controller):
    return Arm(probe)


@pytest.fixture(scope='module')
def client(arm, controller):
    made = Client(arm, controller)
    yield made
    made.close()


@pytest.fixture
def home(probe, arm, client):
    """Bring the arm home."""
    assert probe.call(Trigger, f'{NODE}/stop').success
    arm.rest()
    assert client.end(client.start(path(arm.q, HOME, 1.5))[1])[1] == Result.SUCCESSFUL
    arm.rest()


@pytest.mark.parametrize('in_motion', [False, True])
def test_a_long_trajectory_is_checked_beside_the_cycle(probe, arm, client, home, in_motion):
    if in_motion:
        client.start(path(arm.q, FAR, 3.0))
        arm.moving()
    arm.catch_up()
    torques, states = len(arm.commands), len(arm.states)
    message = path(HOME, AWAY, 2.5, count=2000, shift=1.5)
    _, result = client.start(message)
    arm.catch_up()
    torques, states = len(arm.commands) - torques, len(arm.states) - states
    assert torques > 0.5 * states > 20, 'states without torques while it was checked'
    status, _, text = client.end(result)
    assert status == GoalStatus.STATUS_SUCCEEDED, text
    arm.rest()
    np.testing.assert_allclose(arm.q, AWAY, atol=0.06)


def test_a_long_trajectory_is_rejected_for_a_point_at_its_end(
        probe, arm, client, controller, home):
    message, since, place = path(arm.q, AWAY, 8.0, count=1000), len(controller.lines), arm.q
    message.points[-1].positions[3] = 9.0
    assert not client.send_goal(message).accepted
    reason = "point 999, joint 'joint4': position 9 is above"
    probe.until(lambda: logged(controller, reason, since), 'the reason')
    np.testing.assert_allclose(arm.q, place, atol=2e-3)


def test_a_waiting_client_gets_its_result_when_the_controller_ends(probe, arm, client, controller,
                                                                   home):
    # friction makes the arm stay under a torque that only balances its weight
    assert probe.set_parameter('robot_simulator', 'friction_scale', 1.0)[0]
    _, result = client.start(path(arm.q, FAR, 3.0))
    arm.moving()
    code, _ = controller.stop()
    assert code == 0
    assert client.end(result) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                                  'the controller is deactivated')
    arm.rest()
    place = arm.q
    probe.spin_for(1.0)
    arm.catch_up()
    assert np.abs(arm.q - place).max() < 5e-3
