"""What the page learns of an arm, from messages in this process."""
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the view needs ROS 2')

from controller_node import HOME, MODEL, NODE  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rclpy.node import Node  # noqa: E402
from robodyn_ros.nodes.statistics import diagnostic_array  # noqa: E402
from ros_process import Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402


@pytest.fixture
def probe():
    with Probe() as node:
        yield node


@pytest.fixture
def feed(probe):
    from robodyn_ros.nodes.view.feed import Feed
    from robodyn_ros.nodes.view.feed import Names
    return Feed(probe.node, MODEL, Names(simulator='left/robot_simulator'))


def sender(probe, topic, kind=JointState):
    """Return a function that publishes to a subscriber."""
    publisher = probe.node.create_publisher(kind, topic, 10)
    probe.until(publisher.get_subscription_count, f'a subscriber of {topic}')
    return publisher.publish


def joint_state(names, **values):
    """Return a message without a stamp."""
    return JointState(name=list(names), **{
        key: list(map(float, value)) for key, value in values.items()})


def seen(probe, feed, condition):
    """Return what is known as soon as a condition holds."""
    return probe.until(lambda: (now := feed.poll()) and condition(now) and now, 'what was sent')


def test_messages_of_others_between_those_of_the_arm_do_not_hide_it(probe, feed):
    send = sender(probe, 'joint_states')
    for k in range(3):
        send(joint_state(MODEL.joint_names, position=HOME + 0.1 * k))
        send(joint_state(['gripper'], position=[0.0]))
    seen(probe, feed, lambda now: np.allclose(now.q, HOME + 0.2))


def test_joints_without_a_controller_are_commanded_to_stay(probe, feed):
    send, refer = (sender(probe, topic) for topic in ('joint_states', f'{NODE}/reference'))
    send(joint_state(MODEL.joint_names, position=HOME))
    seen(probe, feed, lambda now: now.age < 1.0)
    refer(joint_state(MODEL.joint_names[:2], position=[0.3, 0.4]))
    now = seen(probe, feed, lambda now: now.reference is not None)
    np.testing.assert_allclose(now.reference, [0.3, 0.4, *HOME[2:]])
    assert now.controlled == MODEL.joint_names[:2]


def test_terms_of_who_is_silent_are_forgotten(probe, feed):
    feed.explain(True)
    sender(probe, f'{NODE}/torque_terms/gravity')(joint_state(MODEL.joint_names, effort=HOME))
    now = seen(probe, feed, lambda now: now.terms)
    np.testing.assert_allclose(now.terms['gravity'], HOME)
    time.sleep(0.6)
    assert not feed.poll().terms


def test_only_the_simulator_makes_an_arm_a_simulated_one(probe, feed):
    topic = '/left/robot_simulator/wrench'
    with Probe('robot_simulator') as elsewhere:  # but in another namespace
        for node in (probe, elsewhere):
            node.subscribe(WrenchStamped, topic)
        probe.until(lambda: probe.node.count_subscribers(topic) == 3, 'all subscribers')
        assert not feed.poll().simulated
    node = Node('robot_simulator', namespace='left', context=probe.node.context)
    node.create_subscription(WrenchStamped, '~/wrench', print, 10)
    seen(probe, feed, lambda now: now.simulated)
    node.destroy_node()


def test_pause_and_fault_of_the_simulator_are_its_figures(probe, feed):
    send = sender(probe, '/diagnostics', DiagnosticArray)
    for figures, paused, fault in (({'paused': 'true', 'fault': ''}, True, ''),
                                   ({'paused': 'false', 'fault': 'diverged'}, False, 'diverged')):
        send(diagnostic_array(
            probe.node.get_clock().now().to_msg(), '/left/robot_simulator: simulation', 'arm',
            DiagnosticStatus.WARN, '3 messages dropped within a second', figures))
        seen(probe, feed, lambda now: (now.paused, now.fault) == (paused, fault))


def test_a_refused_trajectory_is_shown_once(probe, feed):
    from robodyn_ros.nodes.view.commands import Commands
    from robodyn_ros.nodes.view.feed import Names
    notes = []
    commands = Commands(probe.node, Names(), lambda *words: notes.append(words))
    send = sender(probe, '/diagnostics', DiagnosticArray)
    # the second arrives before the first poll, the last one is of a controller started anew
    for count, reason, shown in (('2', 'old', 0), ('2', 'old', 0), ('3', 'too far', 1),
                                 ('3', 'too far', 1), ('4', 'too far', 2), ('0', '', 2)):
        send(diagnostic_array(
            probe.node.get_clock().now().to_msg(), f'/{NODE}: controller', 'arm',
            DiagnosticStatus.OK, '', {'trajectories refused': count, 'last refusal': reason}))
        seen(probe, feed, lambda now: feed.refusal == (count, reason))
        commands.note_refusal(feed.refusal)
        assert notes == [('move', 'refused by the controller: too far', False)] * shown


def test_a_simulator_reports_pause_and_fault():
    from robodyn_ros.nodes.simulator.pacing import Pacer
    from robodyn_ros.nodes.simulator.report import SimulatorReport
    node, arm = MagicMock(), MagicMock(total_steps=0)
    arm.plant.configure_mock(fault='diverged', time=0.0, step_size=0.001, model=MODEL)
    report = SimulatorReport(node, SimpleNamespace(model=MODEL, from_topic=True), arm, MagicMock(),
                             MagicMock(), Pacer(0.001, paused=True), None, lambda: 'native')
    report.update(time.monotonic() + 1.0)
    [message], _ = node.create_publisher().publish.call_args
    figures = {pair.key: pair.value for pair in message.status[0].values}
    assert (figures['paused'], figures['fault']) == ('true', 'diverged')
