"""Two arms, each with a controller of its own in a namespace of its own, at the same time."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, COMMANDS, CONTROLLER, logged, NODE, PATIENT, RATE, send, SIMULATOR, trajectory,
    wait_for_goal)
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess, PATIENCE  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

URDF = Path(__file__).resolve().parents[1] / 'urdf'
ARRIVED = 5e-3   # rad


class Arm:
    """A simulated arm and its controller, in a namespace."""

    def __init__(self, name, robot, home, places):
        self.name, self.urdf, self.home = name, URDF / f'{robot}.urdf', np.array(home)
        self.model = RobotModel.from_urdf(self.urdf)
        self.goal = self.home + places
        space = ['-r', f'__ns:=/{name}']
        at = [f'{joint}:{q}' for joint, q in zip(self.model.joint_names, home)]
        self.simulator = NodeProcess(SIMULATOR, {
            'urdf_file': str(self.urdf), 'publish_rate': RATE, 'initial_positions': at}, space)
        self.controller = NodeProcess(CONTROLLER, {'urdf_file': str(self.urdf), **PATIENT}, space)

    def kill(self):
        for process in (self.controller, self.simulator):
            process.__exit__()

    def subscribe(self, probe):
        self.states = probe.subscribe(JointState, f'{self.name}/joint_states', qos.reliable(1000))
        self.commands = probe.subscribe(Float64MultiArray, f'{self.name}/{COMMANDS}',
                                        qos.reliable(1000))
        probe.until(lambda: self.states and self.commands, f'the arm {self.name} under control')

    def send(self, probe, *goals, seconds):
        return send(probe, self.controller, trajectory(
            self.model.joint_names, *goals, seconds=seconds), f'/{self.name}/')

    def error(self, q):
        return np.abs(np.array(self.states[-1].position) - q).max()

    def elsewhere(self):
        """Return home or goal, whichever is farther."""
        return max(self.home, self.goal, key=self.error)

    def speed(self):
        return np.abs(self.states[-1].velocity).max()


@pytest.fixture(scope='module')
def arms(probe):
    made = []
    try:
        # both begin with joint1, and are of different length
        made.append(Arm('left', 'robodyn7', [0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0], 0.3))
        made.append(Arm('right', 'robodyn6', [0.2, -0.4, 0.6, 0.0, 0.5, 0.0], -0.25))
        for each in made:
            each.controller.wait_for_output(ACTIVE, timeout=2.0 * PATIENCE)
            each.subscribe(probe)
        yield made
    finally:
        for each in made:
            each.kill()


def test_each_follows_its_own_trajectory_at_the_same_time(probe, arms):
    left, right = arms
    since = [each.send(probe, each.goal, seconds=4.0) for each in arms]
    probe.until(lambda: left.speed() > 0.02 and right.speed() > 0.02, 'both to move at once')
    for each, begin in zip(arms, since):
        wait_for_goal(probe, each.controller, begin)
    probe.until(lambda: all(each.error(each.goal) < ARRIVED for each in arms), 'both to arrive')


def test_neither_receives_messages_of_the_other(probe, arms):
    for each in arms:
        names = each.model.joint_names
        assert {tuple(state.name) for state in each.states} == {names}
        assert {len(command.data) for command in each.commands} == {len(names)}
        publishers = probe.node.get_publishers_info_by_topic(f'/{each.name}/{COMMANDS}')
        assert [(info.node_namespace, info.node_name) for info in publishers] == [
            (f'/{each.name}', NODE)]
        for process in (each.controller, each.simulator):
            assert not logged(process, 'refused') and not logged(process, 'dropped')
    # nothing but what all nodes of a system share is outside of the namespaces
    graph, spaces = probe.node, ('/left', '/right')
    ours = {name for name, _ in graph.get_topic_names_and_types() for info in (
        *graph.get_publishers_info_by_topic(name), *graph.get_subscriptions_info_by_topic(name))
        if info.node_namespace in spaces}
    assert f'/left/{COMMANDS}' in ours
    assert {name for name in ours if not name.startswith(('/left/', '/right/'))} <= {
        '/diagnostics', '/parameter_events', '/rosout', '/clock', '/robot_description'}


def test_a_request_to_one_does_not_affect_the_other(probe, arms):
    left, right = arms
    since = right.send(probe, right.home, right.goal, seconds=2.0)
    probe.until(lambda: right.speed() > 0.02, 'motion')
    answer = probe.call(Trigger, f'/left/{NODE}/float')
    assert (answer.success, answer.message) == (True, 'gravity_compensation')
    wait_for_goal(probe, right.controller, since)
    probe.until(lambda: right.error(right.goal) < ARRIVED, 'the goal')


def test_the_fault_of_one_does_not_affect_the_other(probe, arms):
    left, right = arms
    since = right.send(probe, right.elsewhere(), seconds=2.0)
    probe.until(lambda: right.speed() > 0.02, 'motion')
    left.simulator.process.kill()
    left.controller.wait_for_output('fault: joint states')
    wait_for_goal(probe, right.controller, since)
    assert not logged(right.controller, 'fault')
    assert not probe.call(Trigger, f'/left/{NODE}/hold').success
    assert probe.call(Trigger, f'/right/{NODE}/hold').success
    for each in arms:
        assert each.controller.stop()[0] == 0
