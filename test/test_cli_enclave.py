"""Tools of the command line in an enclave of SROS 2."""

import time

import pytest

pytest.importorskip('rclpy', reason='enclaves need ROS 2')

import rclpy  # noqa: E402
from robodyn_ros.cli import view  # noqa: E402
from robodyn_ros.cli.main import main, make_parser, USER_MISTAKE  # noqa: E402
from robodyn_ros.client.live_check import observe  # noqa: E402
from robodyn_ros.client.recorder import Recorder  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.nodes.process import init_tool, StopRequest  # noqa: E402
from robodyn_ros.nodes.view.feed import Names  # noqa: E402
from robodyn_ros.nodes.view.live import LiveView  # noqa: E402
from ros_process import ROOT  # noqa: E402

ARM = str(ROOT / 'urdf' / 'robodyn6.urdf')
PATIENCE = 20.0  # s


@pytest.fixture
def graph():
    """Return a function that waits until a node is in an enclave."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('looks_on', context=context)

    def wait_for(name, enclave):
        end = time.monotonic() + PATIENCE
        while (name, '/', enclave) not in node.get_node_names_and_namespaces_with_enclaves():
            assert time.monotonic() < end, node.get_node_names_and_namespaces_with_enclaves()
            time.sleep(0.01)

    yield wait_for
    node.destroy_node()
    context.try_shutdown()


@pytest.mark.parametrize('enclave, seen', [('/operator', '/operator'), ('', '/')])
def test_each_tool_is_in_the_given_enclave(graph, enclave, seen):
    with LiveView(Names(), enclave=enclave):
        graph('robodyn_view', seen)
    recorder = Recorder(enclave=enclave)
    graph('robodyn_recorder', seen)
    recorder.close()
    observe('/nowhere/joint_states', '/nowhere/commands', 0.01, 0.0,
            on_poll=lambda: graph('robodyn_check', seen), enclave=enclave)


@pytest.mark.parametrize('command', ['check', 'view', 'excite'])
def test_the_option_is_there(command):
    given = [command, ARM, '--enclave', '/operator']
    assert make_parser(given).parse_args(given).enclave == '/operator'


@pytest.mark.parametrize('enclave', ['operator', '/a//b', '/a b', '/a\n', '--log-level'])
def test_what_is_no_enclave_is_a_mistake_of_the_user(monkeypatch, enclave, capsys):
    # priority and signals are those of all tests after this one
    monkeypatch.setattr(view, 'set_priority', lambda _: None)
    monkeypatch.setattr(StopRequest, 'install', lambda _: None)
    with pytest.raises(ParameterError, match='ROS cannot be started in the enclave'):
        init_tool(enclave, rclpy.Context())
    assert main(['view', ARM, f'--enclave={enclave}']) == USER_MISTAKE
    assert 'as in --enclave /operator' in capsys.readouterr().err


def test_missing_keys_where_they_are_enforced_are_reported(monkeypatch):
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.setenv('ROS_SECURITY_STRATEGY', 'Enforce')
    monkeypatch.delenv('ROS_SECURITY_KEYSTORE', raising=False)
    with pytest.raises(ParameterError, match='SROS 2 is enforced.* keystore'):
        init_tool('/operator', rclpy.Context())
