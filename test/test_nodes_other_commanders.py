"""Commanders of an arm, recognized by what nodes publish, not by their names."""

import time

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

import rclpy  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.controller.other_commanders import OtherCommanders  # noqa: E402
from robodyn_ros.nodes.publishers import Commanders  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, Header, String  # noqa: E402

PATIENCE = 20.0  # s
SPACE = '/commanders'
COMMANDS, STATES, GUARD = f'{SPACE}/commands', f'{SPACE}/joint_states', f'{SPACE}/guard'


class Scene:
    """Nodes in this process, each with the publishers that it is given."""

    def __init__(self):
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.nodes = {}
        self.controller = self.add('controller', commands=Float64MultiArray)

    def add(self, name, **topics):
        """Give a node publishers; return the node."""
        node = self.nodes.get(name) or rclpy.create_node(
            name, context=self._context, namespace=SPACE)
        self.nodes[name] = node
        for topic, kind in topics.items():
            node.create_publisher(kind, topic.replace('own_', '~/'), qos.reliable())
        return node

    def listen(self, name):
        """Let a node subscribe to the torques."""
        self.nodes[name].create_subscription(
            Float64MultiArray, 'commands', lambda _: None, qos.reliable())

    def close(self):
        for node in self.nodes.values():
            node.destroy_node()
        self._context.try_shutdown()


@pytest.fixture
def scene():
    made = Scene()
    yield made
    made.close()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, 'the condition did not become true'
        time.sleep(0.01)


def test_a_guard_is_recognized_by_its_state_not_by_its_name(scene):
    other_commanders = OtherCommanders(scene.controller, COMMANDS, STATES, GUARD)
    commanders = Commanders(scene.controller, [COMMANDS])
    until(lambda: not commanders.update() and commanders.names)
    assert not other_commanders.refusal()
    scene.add('guard', commands=Float64MultiArray)
    until(lambda: other_commanders.refusal().startswith(
        f'another node publishes on {COMMANDS}: an arm must have one commander '
        f'({SPACE}/controller, {GUARD})'))
    assert commanders.update() and commanders.competing == (f'{SPACE}/controller', GUARD)
    scene.add('guard', own_state=Header)
    until(lambda: not other_commanders.refusal())
    assert not commanders.update() and commanders.guards == (GUARD,)


def test_a_state_topic_of_another_type_is_not_that_of_a_guard(scene):
    commanders = Commanders(scene.controller, [COMMANDS])
    scene.add('guard', own_state=String, commands=Float64MultiArray)
    until(lambda: commanders.update() or commanders.conflict)
    until(lambda: scene.controller.count_publishers(f'{GUARD}/state'))
    commanders.update()
    assert not commanders.guards


def test_only_the_configured_guard_may_command_as_well(scene):
    other_commanders = OtherCommanders(scene.controller, COMMANDS, STATES, GUARD)
    commanders = Commanders(scene.controller, [COMMANDS])
    scene.add('other', own_state=Header, commands=Float64MultiArray)
    until(lambda: f'{SPACE}/other' in other_commanders.refusal())
    until(lambda: not commanders.update() and commanders.guards == (f'{SPACE}/other',))


def test_a_second_node_of_the_guards_name_is_no_guard(scene):
    other_commanders = OtherCommanders(scene.controller, COMMANDS, STATES, GUARD)
    scene.add('guard', own_state=Header, commands=Float64MultiArray)
    until(lambda: not other_commanders.refusal())
    scene.nodes['twin'] = twin = rclpy.create_node(
        'guard', context=scene.controller.context, namespace=SPACE)
    twin.create_publisher(Float64MultiArray, 'commands', qos.reliable())
    until(lambda: f'({SPACE}/controller, {GUARD})' in other_commanders.refusal())


def test_torques_that_no_driver_receives_are_named(scene):
    others = OtherCommanders(scene.controller, COMMANDS, STATES, GUARD)
    elsewhere = OtherCommanders(scene.controller, COMMANDS, STATES, GUARD, sends=False)
    # the guard listens to the controller, and the controller to the guard
    scene.nodes['controller'] = scene.controller
    scene.listen('controller')
    scene.add('guard', own_state=Header)
    scene.listen('guard')
    until(lambda: scene.controller.count_subscribers(COMMANDS) == 2)
    others.update(False)
    assert not others.problem, 'nothing is sent yet'
    others.update(True)
    assert others.problem.startswith(f'no driver subscribes to {COMMANDS}, so that no torque')
    assert not elsewhere.unheard()
    scene.add('arm', joint_states=JointState)
    scene.listen('arm')
    until(lambda: not others.unheard())


def test_a_publisher_that_appears_later_is_logged_once(scene, capfd):
    other_commanders = OtherCommanders(scene.controller, COMMANDS, STATES, GUARD)

    def has_problem(text, active=True):
        def check():
            other_commanders.update(active)
            return text in other_commanders.problem if text else not other_commanders.problem
        return check

    scene.add('arm', joint_states=JointState)
    scene.listen('arm')
    scene.add('gripper', joint_states=JointState)
    until(lambda: has_problem('', active=False)() and 'gripper' in other_commanders.summary()[
        'publishers of joint states'])
    until(has_problem(''))
    scene.add('late', joint_states=JointState)
    text = f'{SPACE}/late publishes joint states on {STATES} as well, only since activation'
    until(has_problem(text))
    scene.add('competitor', commands=Float64MultiArray)
    until(has_problem(f'2 nodes publish commands ({SPACE}/competitor, {SPACE}/controller)'))
    for _ in range(20):
        other_commanders.update(True)
    logged = capfd.readouterr().err
    assert logged.count(text) == 1 and logged.count('2 nodes publish commands') == 1
    scene.nodes.pop('competitor').destroy_node()
    until(has_problem(text))
    until(has_problem('', active=False))  # at a new activation they are known
