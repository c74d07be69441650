"""A flood of trajectories and of states: the work between two cycles stays bounded."""

import time

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

import rclpy  # noqa: E402
from rclpy.action import ActionClient, ActionServer  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.polling import PolledGroup, PolledSubscription  # noqa: E402
from robodyn_ros.nodes.trajectories.background_subscription import (  # noqa: E402
    BackgroundSubscription)
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

PATIENCE = 20.0  # s


@pytest.fixture
def node():
    context = rclpy.Context()
    rclpy.init(context=context)
    made = rclpy.create_node('inbox', context=context)
    yield made
    made.destroy_node()
    context.try_shutdown()


def until(condition, act=lambda: time.sleep(0.001)):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, 'nothing came of it'
        act()


def test_of_a_flood_of_trajectories_the_newest_are_kept_and_the_rest_is_counted(node, capfd):
    inbox = BackgroundSubscription(node, JointTrajectory, 'flood', qos.reliable(2))
    publisher = node.create_publisher(JointTrajectory, 'flood', qos.reliable(100))
    until(publisher.get_subscription_count)
    sent = 0

    def send():
        nonlocal sent
        sent += 1
        publisher.publish(JointTrajectory(joint_names=[str(sent)]))
        time.sleep(0.001)

    until(lambda: inbox.dropped >= 50, send)
    got = []
    for calls in range(1, 4):  # one at each call
        inbox.deliver(lambda message: got.append(int(message.joint_names[0])))
        assert len(got) == calls
    until(lambda: got[-1] == sent, lambda: inbox.deliver(
        lambda message: got.append(int(message.joint_names[0]))))
    assert len(got) < 10 and got == sorted(got)
    assert f'{inbox.dropped} messages on {inbox.topic} dropped so far' in capfd.readouterr().err
    inbox.destroy()


def test_of_a_flood_of_goals_few_are_in_work_and_none_is_lost(node):
    action = pytest.importorskip('control_msgs.action', reason='the action needs control_msgs')
    kind = action.FollowJointTrajectory
    seen = []

    async def decide(goal):
        seen.append(goal)
        await verdict

    verdict = rclpy.task.Future()
    server = ActionServer(
        node, kind, 'follow', lambda handle: None, goal_callback=decide,
        callback_group=PolledGroup())
    inbox = BackgroundSubscription(node, JointTrajectory, 'unused', qos.reliable(2), server)
    client = ActionClient(node, kind, 'follow')
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    until(client.server_is_ready)
    for _ in range(9):  # of ten that the queue of the service holds
        client.send_goal_async(kind.Goal())
        time.sleep(0.01)
    until(lambda: inbox._full())
    for turn in range(1, 5):
        inbox.deliver(None)
        assert len(inbox._tasks) == turn
        executor.spin_once(timeout_sec=0.1)

    def work():
        inbox.deliver(None)
        assert len(inbox._tasks) + len(inbox._requests) <= 8
        executor.spin_once(timeout_sec=0.01)

    until(lambda: len(seen) == 8, work)
    verdict.set_result(None)
    until(lambda: len(seen) == 9, work)
    inbox.destroy()
    server.destroy()


def test_a_look_takes_no_more_than_the_queue_holds(node):
    states = PolledSubscription(node, JointState, 'states', qos.newest(4))
    publisher = node.create_publisher(JointState, 'states', qos.reliable(4))
    until(publisher.get_subscription_count)

    def look():
        """Take what waits while each message is followed by others at once."""
        count = 0
        for count, _ in enumerate(states.waiting(), start=1):
            publisher.publish(JointState())
            publisher.publish(JointState())
            time.sleep(0.01)
            assert count <= 4
        return count

    publisher.publish(JointState())
    until(lambda: look() == 4)
