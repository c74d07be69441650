"""Nodes in this process, at work while they get what no client of theirs would send."""

from contextlib import contextmanager
import json
from pathlib import Path
import time
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from fuzz_messages import good_contract  # noqa: E402
from fake_arm import URDF  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterValue  # noqa: E402
from rcl_interfaces.srv import GetParameters, SetParameters  # noqa: E402
from geometry_msgs.msg import InertiaStamped  # noqa: E402
import rclpy  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.lifecycle import TransitionCallbackReturn  # noqa: E402
from rclpy.parameter import Parameter as RosParameter  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.nodes import description, qos  # noqa: E402
from robodyn_ros.nodes.containment import contained  # noqa: E402
from robodyn_ros.nodes.controller import node as controller, parameters  # noqa: E402
from robodyn_ros.nodes.guard.node import GuardNode  # noqa: E402
from robodyn_ros.nodes.simulator.node import SimulatorNode  # noqa: E402
from robodyn_ros.safety import GuardState  # noqa: E402
from std_msgs.msg import Header, String  # noqa: E402

PATIENCE = 20.0  # s
NO_TYPE = 77     # of a parameter
CONTROLLER = controller.NAME
NODES = {
    'guard': (GuardNode, GuardNode.work, {'timeout': 0.1}),
    'controller': (controller.ControllerNode, controller.work, {'autostart': False}),
    'simulator': (SimulatorNode, SimulatorNode.work, {})}


class Visit:
    """
    A client in the process of a node, and what ends the node's work: `visit` as a generator.

    The generator yields conditions; the node works until each of them holds.
    """

    owns_process = False

    def __init__(self, visit):
        self.client = rclpy.create_node('client')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.client)
        self._steps = visit(self.client)
        self._condition, self._end = next(self._steps), time.monotonic() + PATIENCE

    @property
    def requested(self):
        """Whether the node is to stop."""
        self._executor.spin_once(timeout_sec=0.0)
        assert time.monotonic() < self._end, 'nothing came of it'
        while self._condition():
            try:
                self._condition = next(self._steps)
            except StopIteration:
                return True
        return False


@contextmanager
def started(name, **more):
    """Give a node, and what makes it work for a visitor."""
    make, work, parameters = NODES[name]
    given = {'robot_description': URDF, **parameters, **more}
    rclpy.init(args=['--ros-args', '-r', f'__ns:=/hostile_{name}'] + [
        part for key, value in given.items() for part in ('-p', f'{key}:={json.dumps(value)}')])
    try:
        node = make()
        yield node, lambda visit: work(node, Visit(visit))
        node.destroy_node()
    finally:
        rclpy.shutdown()


@pytest.mark.parametrize('name', NODES)
def test_a_request_that_rclpy_chokes_on_ends_no_node(name):
    def visit(client):
        space = node.get_fully_qualified_name()
        setting = client.create_client(SetParameters, f'{space}/set_parameters')
        getting = client.create_client(GetParameters, f'{space}/get_parameters')
        yield lambda: setting.service_is_ready() and getting.service_is_ready()
        for text in ('urdf_file', '', '\n' * 5000):
            setting.call_async(SetParameters.Request(parameters=[
                Parameter(name=text, value=ParameterValue(type=NO_TYPE))]))
        for _ in range(5):  # an answer may overtake an earlier request
            answer = getting.call_async(GetParameters.Request(names=['urdf_file']))
            yield answer.done
        assert answer.result().values[0].string_value == ''

    with started(name) as (node, at_work):
        at_work(visit)


def changed(**changes):
    """Return the contract of a controller with other values."""
    return json.dumps({**good_contract(),
                       'command_topic': '/hostile_guard/effort_controller/commands', **changes})


def digits(count):
    """Return a contract with a gravity that has so many digits."""
    return changed(gravity=[0, 0, 7]).replace('7]', '7' * count + ']')


# which of them ended the guard
CONTRACTS = [
    (digits(400), 'gravity is [0, 0, 777'),
    (changed(model='\ud800'), r'here, \ud800 in the controller'),
    (changed(command_topic='/a\n[FATAL] [guard]: gone\x1b[2J'), r'\n[FATAL] [guard]: gone\x1b'),
    (changed(command_joints=['\ud800', 'x' * 9000]), r'command_joints differs'),
    (changed(effort={'shoulder': 10 ** 400}), 'effort_limit x effort_margin'),
    (changed(payloads=[{'link': 'fore', 'mass': 10 ** 400}]), 'mass 10000000000'),
    (changed(payloads=[{'link': '\ud800' * 3000, 'mass': 1.0}]), r"on link '\ud800\ud800"),
    (changed(payloads=[{'link': {}}]), 'without the name of a link'),
    (changed(payloads=[{'link': 'fore'}] * 700), 'not a list of at most 100'),
    (changed(armature=[-1.0, 0.0]), 'armature of joint')]
UNREADABLE = digits(5000), '[' * 60_000, ''


def test_no_contract_ends_the_guard():
    """Send each while the controller requests a guard; the topic is latched."""
    def visit(client):
        space = node.get_namespace()
        contracts = client.create_publisher(String, f'{space}/{CONTROLLER}/guard_contract',
                                            qos.latched())
        beats = client.create_publisher(Header, f'{space}/{CONTROLLER}/heartbeat', qos.reliable())
        client.create_timer(0.02, lambda: beats.publish(Header(frame_id='active')))
        for text in UNREADABLE:
            contracts.publish(String(data=text))
            yield lambda: 'not the configuration of a controller' in node.guard.refusal
        for text, words in CONTRACTS:
            contracts.publish(String(data=text))
            yield lambda words=words: words in node.guard.refusal
            refusal = node.guard.refusal
            assert refusal.isprintable() and len(refusal) < 2000, refusal
            yield lambda: node.guard.state is GuardState.REFUSING
        contracts.publish(String(data=changed()))
        yield lambda: not node.guard.refusal
        # once there is one, others are waited past
        for text in UNREADABLE:
            contracts.publish(String(data=text))
        contracts.publish(String(data=changed(gravity=[0, 0, -1.62])))
        yield lambda: node.torque.loads.gravity[2] == -1.62
        assert not node.guard.refusal

    with started('guard') as (node, at_work):
        at_work(visit)
        load, = node.torque.loads.payloads.values()
        assert (load.link, load.mass) == ('fore', 0.5)


def test_a_flood_of_bad_loads_does_not_fill_the_log_of_a_guard(capfd):
    """Each line takes time, in which the guard does not look at its controller."""
    def visit(client):
        loads = client.create_publisher(
            InertiaStamped, f'{node.get_namespace()}/{CONTROLLER}/payload', qos.reliable(10))
        yield loads.get_subscription_count
        for _ in range(10):
            loads.publish(InertiaStamped())
        end = time.monotonic() + 0.7
        yield lambda: time.monotonic() > end

    with started('guard') as (node, at_work):
        at_work(visit)
    assert capfd.readouterr().err.count('payload: header.frame_id is empty') == 1


@pytest.mark.parametrize('text', ['{path}', ' {path}', 'file://{path}', '{path}\n<robot/>'])
def test_a_description_from_the_network_is_never_a_path(text, tmp_path):
    secret = tmp_path / 'secret'
    secret.write_text('<secret>of this machine</secret>')
    with started('controller', robot_description='', description_timeout=0.5) as (node, _):
        publisher = node.create_publisher(
            String, f'{node.get_namespace()}/robot_description', qos.latched())
        publisher.publish(String(data=text.format(path=secret)))
        end = time.monotonic() + PATIENCE
        arrived = False
        while not arrived and time.monotonic() < end:
            assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
            arrived = 'no useful robot description' in str(node.failure)
        assert 'no useful robot description within' in str(node.failure)
        assert 'robot_description is not XML, it begins with' in str(node.failure)
        assert '<secret>' not in str(node.failure)


def test_who_publishes_a_description_that_does_not_arrive_is_named():
    with started('controller', robot_description='', description_timeout=0.2) as (node, _):
        assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
        assert '(no publisher found so far)' in str(node.failure)
        # the default of a publisher; that of robot_state_publisher is latched
        node.create_publisher(String, f'{node.get_namespace()}/robot_description', 1)
        assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
        assert (f'(from {node.get_fully_qualified_name()}, which has no durability '
                'transient_local') in str(node.failure)


@pytest.mark.parametrize('texts', [
    (Path('/etc/passwd').read_text(), URDF), (URDF, Path('/etc/passwd').read_text())])
def test_a_description_that_is_no_use_is_waited_past(texts, monkeypatch):
    """Whichever comes first; and both are there before the node looks."""
    monkeypatch.setattr(description, '_POLL', 1.0)
    with started('controller', robot_description='', description_timeout=PATIENCE) as (node, _):
        topic = f'{node.get_namespace()}/robot_description'
        first, second = (node.create_publisher(String, topic, qos.latched()) for _ in range(2))
        for publisher, text in zip((first, second), texts):
            publisher.publish(String(data=text))
        assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
        assert node.components.controller.model.name == 'fake'


def test_no_line_of_a_stack_trace_can_be_taken_for_one_of_the_log():
    logged = []

    def act():
        raise ValueError('a\n[FATAL] [1.0] [guard]: gone\x1b[2J')

    contained(SimpleNamespace(error=lambda text, **_: logged.append(text)), act)
    first, *others = logged[0].split('\n')
    assert first.startswith('a message was dropped') and any('[FATAL]' in each for each in others)
    assert all(each.startswith('  ') and each.isprintable() for each in others)


# --- limits of the torque while a node runs -----------------------------------------------------


def put(node, **given):
    """Set parameters together; return why they are refused, '' if they are not."""
    result = node.set_parameters_atomically([
        RosParameter(name, value=value) for name, value in given.items()])
    assert result.successful == (not result.reason)
    return result.reason


@pytest.mark.parametrize('name', ['controller', 'guard'])
def test_a_limit_is_lowered_while_a_node_runs_and_raised_no_further_than_it_was(name):
    def usable():
        return (node.torque.usable if name == 'guard'
                else node.components.controller.bounds.usable).tolist()

    with started(name, effort_margin=0.5, torque_rate_limit=[900.0]) as (node, _):
        if name == 'controller':
            assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
        assert usable() == [20.0, 10.0]
        for given, words in (
                ({'effort_margin': 0.6}, "effort_limit x effort_margin of joint 'shoulder' would "
                 'be 24, above the 20 with which the node was configured'),
                ({'effort_limit': [40.0, 20.1]}, "effort_limit of joint 'elbow' is 20.1, above "
                 'the 20 in the model'),
                ({'effort_limit': [1e12]}, "'effort_limit' is 1000000000000.0: the most allowed"),
                ({'effort_limit': [30.0], 'effort_margin': 0.6}, "joint 'elbow' is 30, above the"),
                ({'torque_rate_limit': [900.0, 901.0]}, "torque_rate_limit of joint 'elbow' would "
                 'be 901, above the 900'),
                ({'torque_rate_limit': []}, 'would be 4000, above the 900'),
                ({'torque_rate_limit': [float('inf')]}, 'torque_rate_limit')):
            assert words in put(node, **given)
            assert usable() == [20.0, 10.0]
        assert not put(node, effort_limit=[20.0, 10.0], effort_margin=1.0)  # the same product
        if name == 'controller':
            assert "joint 'shoulder' would be 9: its torque would take more than 1 s" in put(
                node, torque_rate_limit=[9.0])
        assert not put(node, effort_limit=[30.0, 15.0], effort_margin=0.5,
                       torque_rate_limit=[20.0])
        assert usable() == [15.0, 7.5]
        assert not put(node, effort_limit=[], torque_rate_limit=[900.0])
        assert usable() == [20.0, 10.0]


@pytest.mark.parametrize('parameter', [
    'kp', 'kd', 'ki', 'natural_frequency', 'damping_ratio', 'gravity_scale', 'armature',
    'impedance.stiffness', 'impedance.damping', 'impedance.inertia', 'cartesian.stiffness',
    'cartesian.damping', 'friction.viscous', 'friction.coulomb', 'float_damping'])
def test_gains_have_a_largest_value(parameter):
    row = next(each for each in parameters.PARAMETERS if each.name == parameter)
    assert row.checked([row.maximum]) == (row.maximum,)
    for value in (1.001 * row.maximum, 1e12, float('inf'), float('nan')):
        with pytest.raises(ParameterError, match=parameter):
            row.checked([value])
