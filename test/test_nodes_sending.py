"""A message that the middleware does not take does not end the loop that sends it."""

from types import SimpleNamespace
from unittest.mock import MagicMock

from closed_loop import arm
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from rclpy.impl.implementation_singleton import rclpy_implementation  # noqa: E402
from rclpy.logging import get_logger  # noqa: E402
from robodyn_ros.control import drive  # noqa: E402
from robodyn_ros.nodes.command_message import CommandSettings, DriveSettings  # noqa: E402
from robodyn_ros.nodes.command_writer import CommandWriter  # noqa: E402
from robodyn_ros.nodes.controller import guard_link  # noqa: E402
from robodyn_ros.nodes.controller.components import Components  # noqa: E402
from robodyn_ros.nodes.controller.guard_link import Heartbeat  # noqa: E402
from robodyn_ros.nodes.controller.output import TorqueOutput  # noqa: E402
from robodyn_ros.nodes.controller.report import ControllerReport  # noqa: E402
from robodyn_ros.nodes.guard.report import GuardReport  # noqa: E402
from robodyn_ros.nodes.simulator.report import SimulatorReport  # noqa: E402
from robodyn_ros.nodes.statistics import Diagnostics  # noqa: E402
from robodyn_ros.safety import Phase  # noqa: E402


class Full:
    """A publisher whose queue is full for its first message, with one subscriber."""

    def __init__(self, _kind, topic, *_, **__):
        self.topic_name, self.calls = topic, 0

    def get_subscription_count(self):
        return 1

    def publish(self, _message):
        self.calls += 1
        if self.calls == 1:
            raise rclpy_implementation.RCLError('Failed to publish')


@pytest.fixture
def node():
    made = []

    def create_publisher(*args, **kwargs):
        made.append(Full(*args, **kwargs))
        return made[-1]
    return SimpleNamespace(create_publisher=create_publisher, made=made, get_clock=MagicMock(),
                           get_fully_qualified_name=lambda: '/node')


def test_torques_and_telemetry_go_on(node, capfd):
    control = arm().control
    clock = SimpleNamespace(lockstep=False)
    writer = CommandWriter(control.model.joint_names, CommandSettings(), DriveSettings(),
                           drive.function(control.host.compiled.dimensions))
    output = TorqueOutput(node, control, writer, '/torques', True, clock)
    output.telemetry.commands = None
    output.send(np.zeros(control.model.nv), 1)
    output.send(np.zeros(control.model.nv), 2)
    assert output.publisher.calls == 2
    assert 'a message on /torques is lost' in capfd.readouterr().err


@pytest.mark.parametrize('kind, act', [
    (ControllerReport, 'publish'), (GuardReport, '_report'), (SimulatorReport, 'update')])
def test_diagnostics_go_on(kind, act, node, monkeypatch):
    report = kind.__new__(kind)
    report.__dict__.update({name: MagicMock() for name in (
        '_node', '_states', '_controller', '_guard', '_torque', '_commands', '_commanders',
        '_arm')}, _diagnostics=Diagnostics(node, 'part', 'arm'), _reported=0.0, _started=0.0,
        _description=1)
    monkeypatch.setattr('robodyn_ros.nodes.statistics.diagnostic_array', MagicMock())
    for name in ('_verdict', '_figures', '_log_waiting'):
        monkeypatch.setattr(kind, name, lambda *_: (b'', ''), raising=False)
    report._guard.silence = report._states.age().age = 0.0
    for now in ([10.0, 20.0] if act == 'update' else [None, None]):
        getattr(report, act)(*[now] * (act == 'update'))
    assert node.made[0].calls == 2


def test_a_configuration_that_was_not_sent_is_sent_again(node, monkeypatch):
    monkeypatch.setattr(guard_link, 'shared_parameters', lambda *_: {})
    table = SimpleNamespace(values=SimpleNamespace(command=None, drives=None))
    publisher = guard_link.ConfigurationPublisher(node, arm().control, table, '')
    publisher.publish()
    publisher.publish()
    assert node.made[0].calls == 2


def test_heartbeats_go_on(node):
    heartbeat = Heartbeat(node)
    heartbeat.update_subscribers()
    heartbeat.send(1, Phase.STANDBY)
    heartbeat.send(2, Phase.ACTIVE)
    assert heartbeat.publisher.calls == 2


def test_a_task_that_fails_ends_neither_the_others_nor_the_node():
    made, logged = [], []
    part = MagicMock()
    part.report.log_changes = lambda: made[9]
    part.report.publish = lambda: made.append(1)
    node = SimpleNamespace(get_logger=lambda: SimpleNamespace(
        error=lambda text, **_: logged.append(text)))
    tasks = Components._periodic(part, node)
    tasks.run()
    assert made == [1]
    assert len(logged) == 1 and logged[0].startswith('a task of the node failed: Traceback')
    assert 'IndexError' in logged[0]


def test_a_loop_that_answers_after_it_did_not_is_logged(capfd):
    # rclpy refuses another severity from the same line, which ended the node
    loops = [SimpleNamespace(answers=answers) for answers in (False, True)]
    status = SimpleNamespace(loop_summary='', measured_loops={})
    controller = SimpleNamespace(design=SimpleNamespace(loop=None), status=status)
    report = object.__new__(ControllerReport)
    report._controller, report._loop = controller, None
    logger = get_logger('answers_late')
    report._node = SimpleNamespace(get_logger=lambda: logger)
    for loop, summary in zip(loops, ('no joint moves', '2 ms')):
        controller.design.loop, status.loop_summary = loop, summary
        status.loop_problem = '' if loop.answers else summary
        report._log_loop()
    printed = capfd.readouterr().err
    assert 'WARN' in printed and 'loop measured: no joint moves' in printed
    assert 'INFO' in printed and 'loop measured: 2 ms' in printed
