"""`robodyn teach` and `robodyn replay` through running nodes; a push stands in for a person."""

import json
import os
import signal
from threading import Event, Thread
from types import SimpleNamespace

from bag_of_joints import contents
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='a controller needs ROS 2')
pytest.importorskip('rosbags', reason='bags need the extra `record`')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, MODEL, NODE, PATIENT, RELEASED, simulator)
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from robodyn_ros.cli.main import INTERRUPTED, main, USER_MISTAKE  # noqa: E402
from robodyn_ros.client.demonstrations import Gripper  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.domain import free_domain  # noqa: E402
from robodyn_ros.teaching import Demonstration, TimedPath  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

PUSH, GENTLE = 6.0, 0.3  # N, at the tip, below a speed in rad/s
AGREED = ('--yes', '--at-the-stop')


class Person(Thread):
    """Pushes the tip of the floating arm there and back, then does something once it has moved."""

    def __init__(self, probe, then=lambda: None):
        super().__init__(daemon=True)
        self._probe, self._then, self._end = probe, then, Event()
        self._states = probe.subscribe(JointState, 'joint_states', qos.newest())
        self._references = probe.subscribe(JointState, f'{NODE}/reference', qos.newest())
        self._diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')
        self._gripper = probe.node.create_publisher(JointState, 'gripper', 10)
        self._wrench = probe.publisher(WrenchStamped, 'robot_simulator/wrench')
        probe.until(lambda: self._states and self._references, 'states')
        self.start()

    def run(self):
        self._probe.until(self._floats, 'a floating arm')
        begin = np.array(self._states[-1].position)
        message = WrenchStamped()
        message.header.frame_id, message.wrench.force.y = MODEL.tip, PUSH
        while not self._end.is_set():
            if np.abs(self._states[-1].velocity).max() < GENTLE:
                self._wrench.publish(message)
            self._gripper.publish(JointState(name=['finger'], position=[0.02]))
            self._probe.spin_for(0.02)
            if np.abs(np.array(self._states[-1].position) - begin).max() > 0.15:
                break
        self._then()

    def _floats(self):
        self._gripper.publish(JointState(name=['finger'], position=[0.02]))
        return self._end.is_set() or any(
            pair.value == 'gravity_compensation' for message in self._diagnostics[-2:]
            for status in message.status for pair in status.values if pair.key == 'mode')

    def stop(self):
        self._end.set()
        self.join()


def test_taught_by_pushing_and_replayed(tmp_path, capsys, monkeypatch):
    folder = tmp_path / 'pick'
    with simulator(**{'wrench_timeout': 0.05}) as plant, Probe() as probe, NodeProcess(
            CONTROLLER, {'urdf_file': str(ARM), **PATIENT}) as controller:
        controller.wait_for_output(ACTIVE)
        plant.wait_for_output(RELEASED)
        # Ctrl-C ends the recording: the arm holds, and what was recorded is kept
        person = Person(probe, lambda: os.kill(os.getpid(), signal.SIGINT))
        code = main(['teach', str(folder), '--duration', '60', '--gripper', 'gripper', *AGREED])
        said = ''.join(capsys.readouterr())
        person.stop()
        assert code == INTERRUPTED and f'written: {folder}' in said, said
        assert controller.logged('hold'), controller.output
        taught = Demonstration.read(folder)
        assert np.ptp(taught.positions, axis=0).max() > 0.15
        assert taught.gripper_names == ('finger',) and np.all(taught.gripper == 0.02)
        assert contents(folder / 'bag')[0]['/joint_states']
        # the arm is where it was left: the way to the start is an approach
        code = main(['replay', str(folder), str(ARM), '--fastest', *AGREED, '--bag',
                     str(tmp_path / 'run')])
        said = ''.join(capsys.readouterr())
        assert code == 0 and 'move to the start' in said, said
        messages = contents(tmp_path / 'run')[0][f'/{NODE}/reference']
        reference = np.array([message.position for _, message in messages])
        np.testing.assert_allclose(reference[-1], taught.positions[-1], atol=2e-3)
        # along the taught path, without time
        away = [np.abs(taught.positions - each).max(axis=1).min() for each in reference]
        assert max(away) < 0.02
        # another name is needed, and a hold by another client ends a recording
        assert main(['teach', str(folder)]) == USER_MISTAKE
        assert 'is a demonstration already' in ''.join(capsys.readouterr())
        person = Person(probe, lambda: probe.call(Trigger, f'{NODE}/hold'))
        code = main(['teach', str(folder), '--replace', '--duration', '60', *AGREED])
        said = ''.join(capsys.readouterr())
        person.stop()
        assert code == USER_MISTAKE and 'no longer floats, its mode is' in said, said
        assert json.loads((folder / 'demonstration.json').read_text())['waypoints'] == []
        monkeypatch.setattr('builtins.input', lambda _: 'n')
        assert main(['replay', str(folder), str(ARM)]) == 1


def test_the_gripper_is_where_it_was_at_the_same_place_of_the_path():
    """It follows the path time, not the stamps: in a pause it waits."""
    times = np.linspace(0.0, 2.0, 21)
    rows = np.zeros((21, 1))
    taught = Demonstration(('a',), times, rows, np.zeros(0), ('finger',), 0.1 * times[:, None])
    fast = TimedPath(0.25 * times, rows, rows, rows, times)
    gripper = Gripper('gripper', taught, fast, 0.1)
    published, path = [], {'number': 3.0, 'time': 1.2}

    class PathTimes:
        messages: list = []

        def newest(self, _):
            return SimpleNamespace(position=np.full((1, 1), path['time']),
                                   effort=np.full((1, 1), path['number']))

        def __len__(self):
            return 1

    gripper.connect(SimpleNamespace(
        record_path_time=PathTimes, wait=lambda until, _: until(),
        publish_joints=lambda *each: published.append(each)))
    gripper.update()
    gripper.begin()
    gripper.update()
    assert not published, 'before the motion, at the end of the approach'
    path['number'] = 4.0
    for elapsed, position in ((0.0, 0.0), (0.1, 0.0), (0.35, 0.1), (0.35, 0.1), (0.6, 0.2),
                              (9.0, 0.2)):
        path['time'] = elapsed
        gripper.update()
        topic, names, (value,) = published[-1]
        assert (topic, names) == ('gripper', ('finger',)) and value == pytest.approx(position)


def test_without_a_controller_it_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('robodyn_ros.client.demonstrations._DISCOVERY', 0.2)
    monkeypatch.setenv('ROS_DOMAIN_ID', str(free_domain()))
    assert main(['teach', str(tmp_path / 'pick')]) == USER_MISTAKE
    assert 'no joint states received within 0.2 s' in ''.join(capsys.readouterr())
