"""Hostile messages: taken where they make sense, refused without a trace where they do not."""

from array import array

from hypothesis import given, HealthCheck, Phase, settings, strategies
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

import fuzz_messages  # noqa: E402
from robodyn_ros.exceptions import TrajectoryError  # noqa: E402
from robodyn_ros.nodes.commands import CommandReader  # noqa: E402
from robodyn_ros.nodes.conversions import trajectory_points  # noqa: E402
from robodyn_ros.trajectory import arrange_points, check_trajectory, Reference  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

JOINTS = fuzz_messages.JOINTS
FORGED = "x'\n[INFO] [computed_torque_controller]: all is well\x1b[2J" + 'x' * 5000


def drawn(target, examples):
    """Return a test that lets Hypothesis choose."""
    @settings(max_examples=examples, deadline=None, derandomize=True, database=None,
              phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(strategies.data())
    def test(data):
        target(lambda options: data.draw(strategies.sampled_from(options)))

    return test


test_trajectories = drawn(fuzz_messages.trajectory, 80)
test_states = drawn(fuzz_messages.states, 150)
test_commands = drawn(fuzz_messages.commands, 150)
test_contracts = drawn(fuzz_messages.contract, 250)


def test_names_cannot_forge_lines_of_the_log():
    with pytest.raises(TrajectoryError) as caught:
        arrange_points([FORGED], [], JOINTS)
    fuzz_messages.check_words(str(caught.value))
    reader = CommandReader(JOINTS)
    assert not reader.read_named(JointState(name=[FORGED], effort=[1.0]))
    fuzz_messages.check_words(*reader.refusals.new_lines())


def test_more_points_than_any_motion_has():
    point = JointTrajectoryPoint(positions=array('d', [0.0, 0.0]))
    message = JointTrajectory(joint_names=JOINTS, points=[point] * 20_001)
    with pytest.raises(TrajectoryError, match='20001 points, more than 20000'):
        check_trajectory(fuzz_messages.MODELS[0], JOINTS, trajectory_points(message),
                         Reference.zeros(2))
