"""`robodyn view` and the marker node beside an arm, as processes."""
from queue import SimpleQueue
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the view needs ROS 2')

from controller_node import ARM, CONTROLLER, HOME, MODEL, NODE, PATIENT, simulator  # noqa: E402
from geometry_msgs.msg import InertiaStamped, WrenchStamped  # noqa: E402
from robodyn_ros.cli import view  # noqa: E402
from robodyn_ros.cli.main import main, USER_MISTAKE  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ArgumentError  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.process import StopRequest  # noqa: E402
from ros_process import NodeProcess, Probe, wait_until  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from view_process import ViewProcess  # noqa: E402

DYNAMICS = Dynamics(MODEL)
VIEW = 'robodyn_view'


@pytest.fixture
def probe():
    with Probe() as node:
        yield node


@pytest.fixture
def here(monkeypatch):
    """Let the command run in this process, whose priority and signals are those of all tests."""
    monkeypatch.setattr(view, 'set_priority', lambda _: None)
    monkeypatch.setattr(StopRequest, 'install', lambda _: None)


# --- any arm that publishes joint states --------------------------------------------------------

def other_arm(probe, names=None):
    """Return a function that publishes positions as a driver of little words does."""
    publisher = probe.node.create_publisher(JointState, 'joint_states', 10)

    def publish(q):
        message = JointState(name=list(names or MODEL.joint_names), position=list(map(float, q)))
        message.header.stamp = probe.node.get_clock().now().to_msg()
        publisher.publish(message)
        probe.spin()
    return publish


def wait_for_pose(client, publish, q, link='link5'):
    """Wait until a client receives the right pose of a link."""
    place = DYNAMICS.forward_kinematics(q, link)[:3, 3]
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        publish(q)
        client.read()
        positions = [each['position'] for each in client.of_type('SetPositionMessage')
                     if each['name'] == f'/arm/{link}']
        if positions and np.allclose(positions[-1], place, atol=1e-9):
            return
    raise AssertionError(f'{link} is not shown at {place}')


def test_an_arm_without_controller_is_shown_and_never_commanded(probe):
    pytest.importorskip('viser', reason='the page needs the extra `view`')
    from page_client import PageClient
    description = probe.node.create_publisher(String, 'robot_description', qos.latched())
    with ViewProcess('--port', '0', '--timeout', '20') as view:
        description.publish(String(data=ARM.read_text()))
        with PageClient(view.url) as client:
            wait_for_pose(client, other_arm(probe), HOME)
        assert 'this machine only' in view.output
        assert 'the page sends no commands' in view.output
        published = dict(probe.node.get_publisher_names_and_types_by_node(VIEW, '/'))
        assert set(published) <= {'/rosout', '/parameter_events'}, published
        assert not probe.node.get_client_names_and_types_by_node(VIEW, '/')
        assert view.stop()[0] == 0, view.output
    assert 'Traceback' not in view.output


def test_a_dead_browser_holds_up_no_client(probe):
    pytest.importorskip('viser', reason='the page needs the extra `view`')
    from page_client import PageClient
    publish = other_arm(probe)
    with ViewProcess(str(ARM), '--port', '0') as view, PageClient(view.url), \
            PageClient(view.url) as crashing, PageClient(view.url) as client:
        wait_for_pose(client, publish, HOME)
        crashing.crash()
        # the first one never reads: what is sent to it stays in its socket
        for k in range(200):
            publish(HOME + 0.002 * k)
        wait_for_pose(client, publish, -HOME)
        assert view.alive


def test_joints_that_are_not_reported_stay(probe):
    pytest.importorskip('viser', reason='the page needs the extra `view`')
    from page_client import PageClient
    q = np.zeros(MODEL.nv)
    q[:2] = 0.3, 0.7
    with ViewProcess(str(ARM), '--port', '0') as view, PageClient(view.url) as client:
        publish = other_arm(probe, [*MODEL.joint_names[:2], 'gripper'])
        wait_for_pose(client, lambda q: publish([*q[:2], 0.01]), q)


@pytest.mark.parametrize('arguments, words', [
    (('/there/is/none.urdf',), 'none.urdf'), (('--timeout', '0.2'), 'robodyn view arm.urdf'),
    ((str(ARM), '--host', '203.0.113.1'), '--host'), ((str(ARM), '--pose', 'home:1,2'), '--pose'),
    ((str(ARM), '--namespace', 'a b'), '--namespace'),
    (('--port', '99999999'), 'port 99999999: ')])
def test_a_mistake_is_one_message(arguments, words, here, capsys):
    assert main(['view', *arguments]) == USER_MISTAKE
    said = ''.join(capsys.readouterr())
    assert words in said and 'Traceback' not in said


def test_a_mistake_ends_the_process():
    with ViewProcess('/there/is/none.urdf') as view:
        assert view.wait() == USER_MISTAKE, view.output
    assert 'none.urdf' in view.output and 'Traceback' not in view.output


# --- control -----------------------------------------------------------------------------------

def test_orders_reach_controller_and_simulator(probe):
    from robodyn_ros.nodes.view.commands import Commands
    from robodyn_ros.nodes.view.feed import Feed
    from robodyn_ros.nodes.view.feed import Names
    from robodyn_ros.view import snapshot as page_commands
    notes = []
    urdf = {'urdf_file': str(ARM)}
    with simulator(), NodeProcess(CONTROLLER, {**urdf, **PATIENT}) as controller:
        controller.wait_for_output('active')
        feed = Feed(probe.node, MODEL, Names())
        commands = Commands(probe.node, Names(), lambda *words: notes.append(words))

        def seen(condition, what):
            return probe.until(lambda: condition(feed.poll()), what)

        shown = seen(lambda now: now.simulated and now.mode == 'hold'
                     and now.reference is not None, 'a held arm')
        assert shown is True
        now = feed.poll()
        np.testing.assert_allclose(now.q, HOME, atol=1e-3)
        assert np.abs(now.error).max() < 1e-3
        np.testing.assert_allclose(now.torque, DYNAMICS.gravity(HOME), atol=0.5)
        assert now.controlled == MODEL.joint_names

        feed.explain(True)
        seen(lambda now: {'gravity', 'total'} <= set(now.terms), 'terms')
        np.testing.assert_allclose(feed.poll().terms['gravity'], DYNAMICS.gravity(HOME), atol=0.5)
        feed.explain(False)
        assert not feed.poll().terms

        commands.execute(page_commands.CallService('float'))
        seen(lambda now: now.mode == 'gravity_compensation', 'float')
        probe.until(lambda: commands.execute(page_commands.Wrench(
            'link4', np.array([30.0, 0.0, 0.0]), np.zeros(3))) or np.abs(
                feed.poll().q - HOME).max() > 0.05, 'a push that moves the arm')
        assert feed.poll().pushes[0].link == 'link4'

        commands.execute(page_commands.CallService('stop'))
        seen(lambda now: now.mode == 'hold' and np.abs(now.qd).max() < 1e-3, 'rest')
        for _ in range(5):  # one that is sent before both sides have discovered each other is lost
            commands.execute(page_commands.Move(MODEL.joint_names, tuple(HOME.tolist()), 1.0))
            end = time.monotonic() + 2.5
            while np.abs(feed.poll().reference - HOME).max() > 1e-6 and time.monotonic() < end:
                probe.spin()
            if time.monotonic() < end:
                break
        np.testing.assert_allclose(feed.poll().reference, HOME, atol=1e-6)
        # friction keeps some of it, with the gains of a first launch
        seen(lambda now: np.abs(now.q - HOME).max() < 0.03, 'the arm at home')

        commands.execute(page_commands.Pause(True))
        seen(lambda now: now.paused, 'a pause')
        commands.execute(page_commands.Step())
        probe.until(lambda: notes[-1][0] == 'step', 'an answer')
        commands.execute(page_commands.Pause(False))
        seen(lambda now: not now.paused, 'time that goes on')
        probe.until(lambda: len(notes) >= 6, 'answers')
        assert all(good for _, _, good in notes), notes

        seen(lambda _: feed.refusal, 'diagnostics')
        commands.note_refusal(feed.refusal)
        commands.execute(page_commands.Move(MODEL.joint_names, tuple((HOME + 9.0).tolist()), 1.5))
        seen(lambda _: commands.note_refusal(feed.refusal) or not notes[-1][2], 'the refusal')
        assert notes[-2][1].startswith('sent') and notes[-1][0] == 'move'
        assert 'refused by the controller' in notes[-1][1] and 'upper limit' in notes[-1][1]


def test_a_payload_is_simulated_and_reported(probe):
    from robodyn_ros.nodes.view.commands import Commands
    from robodyn_ros.nodes.view.feed import Names
    from robodyn_ros.view import snapshot as page_commands
    notes = []
    payloads = probe.subscribe(InertiaStamped, f'{NODE}/payload')
    with simulator():
        commands = Commands(probe.node, Names(), lambda *words: notes.append(words))
        set_parameters = commands._clients['robot_simulator/set_parameters']
        probe.until(set_parameters.service_is_ready, 'the simulator')
        probe.until(lambda: commands._payload.get_subscription_count(), 'a subscriber')
        for known in (True, False):
            payloads.clear()
            commands.execute(page_commands.SetPayload('tool0', 2.0, known))
            probe.until(lambda: payloads, 'a message for the controller')
            assert payloads[-1].inertia.m == (2.0 if known else 0.0)
        # the first answer may be lost: the simulator has not discovered the client
        wait_until(lambda: notes, 'an answer of the simulator', work=lambda: (
            commands.execute(page_commands.SetPayload('tool0', 2.0, False)), probe.spin_for(1.0)))
        assert notes[0] == ('payload', 'done', True)


def test_a_missing_answer_is_reported(probe):
    from robodyn_ros.nodes.view.commands import Commands
    from robodyn_ros.nodes.view.feed import Names
    from robodyn_ros.view import snapshot as page_commands
    notes = []
    commands = Commands(probe.node, Names(), lambda *words: notes.append(words))
    for command in (page_commands.CallService('hold'), page_commands.Pause(True),
                    page_commands.Step(), page_commands.Reset(),
                    page_commands.Move(MODEL.joint_names, tuple(HOME.tolist()), 1.0),
                    page_commands.SetPayload('tool0', 1.0, True)):
        notes.clear()
        commands.execute(command)
        assert len(notes) == 1 and not notes[0][2] and notes[0][1].startswith('no s'), notes


def test_the_controller_of_a_real_arm_receives_no_payload(probe):
    from robodyn_ros.nodes.view.commands import Commands
    from robodyn_ros.nodes.view.feed import Names
    from robodyn_ros.view import snapshot as page_commands
    commands = Commands(probe.node, Names(), lambda *words: None)
    payloads = probe.subscribe(InertiaStamped, f'{NODE}/payload')
    probe.until(commands._payload.get_subscription_count, 'a subscriber')
    commands.execute(page_commands.SetPayload('tool0', 1.0, True))
    probe.spin_for(0.2)
    assert not payloads


def test_a_service_that_never_answers_is_given_up(probe, monkeypatch):
    from robodyn_ros.nodes.view import commands as module
    from robodyn_ros.nodes.view.feed import Names
    from robodyn_ros.view import snapshot as page_commands
    notes = []
    commands = module.Commands(probe.node, Names(), lambda *words: notes.append(words))
    with Probe('deaf') as mute:
        mute.node.create_service(Trigger, f'{NODE}/hold', lambda request, response: response)
        client = commands._clients[f'{NODE}/hold']
        probe.until(client.service_is_ready, 'the service')
        commands.execute(page_commands.CallService('hold'))
        commands.update()
        assert not notes
        now = time.monotonic() + 4.0
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: now))
        commands.update()
        commands.update()
        assert notes == [('hold', f'no answer on {NODE}/hold within 3 s', False)]
        mute.spin_for(0.1)  # it comes too late
        probe.spin_for(0.1)
    assert len(notes) == 1


def test_one_command_that_fails_is_reported_and_the_others_are_executed():
    from robodyn_ros.nodes.view.live import LiveView
    from robodyn_ros.view import snapshot as page_commands

    class Taker:
        taken = []
        update = staticmethod(lambda: None)

        def execute(self, command):
            self.taken.append(command)
            if command == page_commands.CallService('stop'):
                raise ArgumentError('it is odd')

    live, notes = LiveView.__new__(LiveView), []
    live.page_commands = SimpleQueue()
    push = page_commands.Wrench('link4', np.ones(3), np.zeros(3))
    given = [page_commands.SetPayload('tool0', 1.0, True), page_commands.CallService('stop'), push,
             page_commands.SetPayload('tool0', 1.0, True),
             page_commands.SetPayload('tool0', 2.0, True),
             page_commands.CallService('hold')]
    for command in given:
        live.page_commands.put(command)
    live._execute(None, Taker(), lambda *words: notes.append(words))
    assert notes == [('command', 'it is odd', False)]
    assert [id(command) for command in Taker.taken] == [id(given[k]) for k in (1, 2, 4, 5)]


# --- markers -----------------------------------------------------------------------------------

def test_markers_show_masses_and_forces_where_they_are(probe):
    markers = pytest.importorskip('visualization_msgs.msg', reason='there are no markers')
    publish, publish_gripper = other_arm(probe), other_arm(probe, ['gripper'])
    wrench = WrenchStamped()
    wrench.header.frame_id = 'link4'
    wrench.wrench.force.z = 20.0
    pushes = probe.node.create_publisher(WrenchStamped, 'robot_simulator/wrench', 10)
    with NodeProcess('robodyn_ros.nodes.view.markers', {
            'urdf_file': str(ARM), 'link': 'link7'}) as node:
        arrays = probe.subscribe(markers.MarkerArray, 'robodyn_markers/markers')

        def found():
            publish(HOME)
            publish_gripper([0.01])
            pushes.publish(wrench)
            names = {each.ns: each for each in arrays[-1].markers} if arrays else {}
            return names if 'robodyn: push' in names else None

        by_name = probe.until(found, 'markers')
        ball = by_name['robodyn: centre of mass'].pose.position
        np.testing.assert_allclose([ball.x, ball.y, ball.z], DYNAMICS.center_of_mass(HOME))
        assert by_name['robodyn: mass ellipsoid'].header.frame_id == MODEL.base_link
        arrow = by_name['robodyn: push'].points
        way = np.array([[p.x, p.y, p.z] for p in arrow])
        np.testing.assert_allclose(way[0], DYNAMICS.forward_kinematics(HOME, 'link4')[:3, 3])
        np.testing.assert_allclose(np.diff(way, axis=0)[0] / np.linalg.norm(np.diff(way, axis=0)),
                                   DYNAMICS.forward_kinematics(HOME, 'link4')[:3, 2], atol=1e-9)
        code, _ = node.stop(signal.SIGINT)
    assert code == 0, node.output


def test_without_visualization_msgs_the_marker_node_names_the_remedy(tmp_path, monkeypatch):
    (tmp_path / 'sitecustomize.py').write_text(
        'import importlib.util as util\nfind = util.find_spec\n'
        'util.find_spec = lambda name, *rest: None if name == "visualization_msgs" '
        'else find(name, *rest)\n')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=':')
    with NodeProcess('robodyn_ros.nodes.view.markers', {'urdf_file': str(ARM)},
                     fresh=True) as node:
        assert node.wait() == 2, node.output
    assert 'visualization-msgs' in node.output
    assert 'Traceback' not in node.output


@pytest.mark.parametrize('options, text', [
    ([], 'wait for the robot '), (['no.urdf'], 'read the URDF ')])
def test_what_takes_long_is_said(options, text, here, capsys):
    assert main(['view', '--port', '0', '--timeout', '0.1', *options]) == USER_MISTAKE
    assert text in capsys.readouterr().out
