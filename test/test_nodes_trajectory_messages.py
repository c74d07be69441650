"""Trajectory messages: a flood of them, long ones, and their order."""

import threading
import time
from types import SimpleNamespace

from closed_loop import arm, BENT, MODEL
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

import rclpy  # noqa: E402
from rclpy.lifecycle import LifecycleNode  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from robodyn_ros.exceptions import StateError  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.controller.parameters import ControllerSettings  # noqa: E402
from robodyn_ros.nodes.conversions import point  # noqa: E402
from robodyn_ros.nodes.polling import PolledSubscription  # noqa: E402
from robodyn_ros.nodes.trajectories import interfaces  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

PATIENCE = 20.0  # s
LONG, SHORT = 2000, 5  # points


@pytest.fixture
def node():
    context = rclpy.Context()
    rclpy.init(context=context)
    made = LifecycleNode('inbox', context=context)
    yield made
    made.destroy_node()
    context.try_shutdown()


@pytest.fixture
def inbox(node):
    """Return the interfaces of a node, and the numbers of points that were submitted."""
    loop = arm()
    states = SimpleNamespace(complete=False)
    made = interfaces.TrajectoryInterfaces(
        node, loop.control, states, ControllerSettings(), lambda: loop.now, time.time, lambda: '')
    made.submitted = []
    made.submit = lambda message, *_: made.submitted.append(len(message.points))
    yield made
    made.destroy()


def until(condition, act=lambda: time.sleep(0.001)):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, 'nothing came of it'
        act()


def data(count):
    """Return a serialized trajectory of so many points."""
    return serialize_message(JointTrajectory(
        joint_names=list(MODEL.joint_names), points=[
            point(BENT, np.zeros(7), time=1.0 + 0.01 * k) for k in range(count)]))


def test_a_long_one_does_not_hold_up_its_thread_and_keeps_its_place(inbox):
    inbox._on_data(data(SHORT), {})
    assert inbox.submitted == [SHORT]
    inbox._on_data(data(LONG), {})
    inbox._on_data(data(SHORT + 1), {})
    assert inbox.submitted == [SHORT], 'read at once'
    until(lambda: len(inbox.submitted) == 3, inbox.poll)
    assert inbox.submitted == [SHORT, LONG, SHORT + 1]


def test_of_a_flood_of_long_ones_the_newest_are_kept_and_the_rest_is_counted(
        inbox, capfd, monkeypatch):
    arrived, read = threading.Event(), interfaces.deserialize_message
    # the first one is being read until all have arrived
    monkeypatch.setattr(interfaces, 'deserialize_message',
                        lambda *message: arrived.wait(PATIENCE) and read(*message))
    flood = [data(LONG + k) for k in range(12)]
    for each in flood:
        inbox._on_data(each, {})
    arrived.set()
    until(lambda: inbox.submitted[-1:] == [LONG + 11], inbox.poll)
    assert inbox.submitted == [LONG, *range(LONG + 5, LONG + 12)]
    assert inbox._dropped == 4
    assert 'messages on /inbox/joint_trajectory dropped so far' in capfd.readouterr().err


def test_a_flood_of_bad_ones_does_not_fill_the_log(inbox, capfd):
    for k in range(500):
        inbox.refuse(StateError(f'number {k}'))
    until(lambda: inbox._answers == 0, inbox.poll)
    lines = capfd.readouterr().err.splitlines()
    assert [line.partition(': ')[2] for line in lines[:2]] == [
        'trajectory refused: number 0', 'trajectory refused: number 1']
    assert len(lines) <= 2 * (interfaces._LOGGED + 1) and inbox.refused == 500
    assert '500 refused so far, the last one: number 499' in lines[-1]


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
