"""The policy for SROS 2: it allows what the nodes do, no more, and a middleware enforces it."""

from fnmatch import fnmatchcase
from importlib.util import find_spec
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import ACTIVE, ARM, CONTROLLER, NODE, PATIENT, SIMULATOR  # noqa: E402
from ros_process import NodeProcess, PATIENCE, Probe  # noqa: E402
from rclpy.node import NodeNameNonExistentError  # noqa: E402
from security_keystore import Keystore, nodes, openssl, rights, rules  # noqa: E402

GUARD = 'robodyn_ros.nodes.guard.node'
OPERATORS = 'robodyn_client', 'robodyn_recorder', 'robodyn_view'
MARKERS = 'robodyn_ros.nodes.view.markers'
VISITOR = Path(__file__).with_name('security_visitor.py')
FIRST = 'first command: brakes released'
SIMULATED = {'urdf_file': str(ARM), 'real_time_factor': 2.0}
WITH_CLOCK = {'use_sim_time': True, 'publish_joint_commands': True,
              'description_timeout': 60.0}
# what a node does for a moment, or only where something else is installed
PASSING = {('subscribe', '/robot_description'), ('subscribe', '/effort_controller/commands'),
           ('request', '/controller_manager/switch_controller'),
           ('subscribe', f'/{NODE}/estimated_wrench')}
UNTIL_RELEASED = {'robot_simulator': {('subscribe', '/joint_states')}}
# open while the controller is configured
TRANSIENT = {(attribute, f'/{NODE}/loop_probe') for attribute in ('publish', 'subscribe')}
WITH_CONTROL_MSGS = {('execute', f'/{NODE}/follow_joint_trajectory'),
                     ('publish', f'/{NODE}/controller_state')}
openssl_here = pytest.mark.skipif(shutil.which('openssl') is None, reason='openssl is missing')


# --- the policy and the nodes -------------------------------------------------------------------


def does(probe, name):
    """Return (attribute of a policy, name) of all that a node has open."""
    node = probe.node
    if name not in node.get_node_names():
        return set()
    looks = {'publish': node.get_publisher_names_and_types_by_node,
             'subscribe': node.get_subscriber_names_and_types_by_node,
             'reply': node.get_service_names_and_types_by_node,
             'request': node.get_client_names_and_types_by_node}
    try:
        found = {(attribute, topic) for attribute, look in looks.items()
                 for topic, _ in look(name, '/')}
    except NodeNameNonExistentError:  # its name comes before its topics
        return set()
    return {('execute', topic.partition('/_action/')[0]) if '/_action/' in topic
            else (attribute, topic) for attribute, topic in found}


def difference(probe, name):
    """Return what a node does and may not, and what it may and does not."""
    done, allowed = does(probe, name), set(rules(name))
    optional = PASSING | TRANSIENT | UNTIL_RELEASED.get(name, set()) | (
        set() if find_spec('control_msgs') else WITH_CONTROL_MSGS)

    def fits(act, rule):
        return act[0] == rule[0] and fnmatchcase(act[1], rule[1])

    return ({act for act in done if not any(fits(act, rule) for rule in allowed)},
            {rule for rule in allowed - optional if not any(fits(act, rule) for act in done)})


def look(names, seconds=15.0):
    """Return the differences by name once there are none, or after a while."""
    with Probe('policy_probe') as probe:
        end = time.monotonic() + seconds
        while True:
            found = {name: difference(probe, name) for name in names}
            if not any(map(any, found.values())) or time.monotonic() > end:
                return found
            probe.spin_for(0.2)


def settled_differences(*names):
    """Return the same; each attempt is a process of its own, to which all of the graph is new."""
    for _ in range(4):
        seen = subprocess.run([sys.executable, __file__, os.environ['ROS_DOMAIN_ID'], *names],
                              env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
                              capture_output=True, text=True, timeout=60)
        assert seen.returncode == 0, seen.stderr
        found = json.loads(seen.stdout)
        if not any(map(any, found.values())):
            break
    return found


def test_the_policy_is_what_the_nodes_do():
    with NodeProcess(SIMULATOR, SIMULATED) as simulator, \
            NodeProcess(CONTROLLER, {**WITH_CLOCK, **PATIENT}) as controller, \
            NodeProcess(GUARD, WITH_CLOCK) as guard, \
            NodeProcess(MARKERS, {'use_sim_time': True}) as markers:
        processes = {'robot_simulator': simulator, NODE: controller, 'guard': guard,
                     'robodyn_markers': markers}
        for name, (more, less) in settled_differences(*processes).items():
            process = processes[name]
            assert not more, f'{name} is not allowed to {more}'
            assert not less, f'{name} does not, but may {less}\n{process.output}'


def test_the_policy_lets_an_operator_do_what_the_tools_do():
    from robodyn_ros.client import Arm
    from robodyn_ros.client.recorder import Recorder
    from robodyn_ros.model import Payload
    from robodyn_ros.nodes.view.live import LiveView
    from robodyn_ros.nodes.view.feed import Names
    with NodeProcess(SIMULATOR, {'urdf_file': str(ARM)}), \
            NodeProcess(CONTROLLER, {**PATIENT, 'urdf_file': str(ARM)}) as controller, \
            NodeProcess(GUARD, {'urdf_file': str(ARM)}):
        controller.wait_for_output(ACTIVE)
        with Arm() as arm, LiveView(Names()), Probe('policy_probe') as probe:
            arm.speed(0.5)
            recorder = Recorder(everything=True)
            recorder.call('hold')
            recorder.publish_payload(Payload('link7', 0.1, np.zeros(3), np.zeros((3, 3))))
            allowed = [rule for rule in rules('operator') if rule[0] != 'reply']
            for name in OPERATORS:
                done = probe.until(lambda name=name: does(probe, name), name)
                probe.spin_for(1.0)
                done = {act for act in does(probe, name) if act[0] != 'reply'}
                assert done
                more = {act for act in done if not any(
                    act[0] == rule[0] and fnmatchcase(act[1], rule[1]) for rule in allowed)}
                assert not more, f'an operator is not allowed to {more} of {name}'
            recorder.close()


def test_only_controller_guard_and_driver_move_the_arm():
    commanding = {'computed_torque_controller', 'guard'}
    for topic, speakers in {'rt/effort_controller/commands': commanding,
                            'rt/joint_commands': commanding,
                            'rt/joint_states': {'robot_simulator'}}.items():
        assert {node for node in nodes()
                if any(fnmatchcase(topic, right) for right in rights(node)[0])} == speakers


def test_names_of_the_middleware():
    publish, subscribe = rights(NODE)
    action = f'/{NODE}/follow_joint_trajectory/_action'
    assert f'rt/{NODE}/heartbeat' in publish and f'rt/{NODE}/heartbeat' not in subscribe
    assert f'rr/{NODE}/*Reply' in publish and f'rq/{NODE}/*Request' in subscribe
    for name in (f'rr{action}/send_goalReply', f'rt{action}/feedback', f'rt{action}/status'):
        assert name in publish and name not in subscribe
    assert f'rq{action}/cancel_goalRequest' in subscribe
    assert f'rq{action}/cancel_goalRequest' in rights('operator')[0]
    assert 'ros_discovery_info' in publish and 'ros_discovery_info' in subscribe


# --- enforced -----------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def keystore(tmp_path_factory):
    domain = int(os.environ['ROS_DOMAIN_ID'])
    return Keystore(tmp_path_factory.mktemp('security') / 'keystore', domain)


@openssl_here
def test_the_keystore_is_in_order(keystore, tmp_path):
    authority = keystore.folder / 'public' / 'ca.cert.pem'
    for node in nodes():
        enclave = keystore.folder / 'enclaves' / node
        openssl('verify', '-CAfile', authority, enclave / 'cert.pem')
        for what in ('governance', 'permissions'):
            signed = enclave / f'{what}.p7s'
            openssl('smime', '-verify', '-text', '-in', signed, '-CAfile', authority, '-out',
                    tmp_path / 'text')
        # what Fast DDS before 3.3 takes in its handshake, certificate and all, is 8 KiB
        assert signed.stat().st_size < 5000, node


def visit(*arguments, environment=None, wanted='', seconds=6.0):
    """Run a node that tries what the arm permits; return the results."""
    run = subprocess.run(
        [sys.executable, VISITOR, str(PATIENCE if wanted else seconds), wanted, '--ros-args',
         *arguments], text=True, env={**os.environ, **(environment or {})}, capture_output=True,
        timeout=2.0 * PATIENCE)
    for line in run.stdout.splitlines():
        if line.startswith('{'):
            return json.loads(line)
    return {'error': run.stderr}


@pytest.fixture
def secured(keystore):
    environment = keystore.environment()
    answer = visit('--enclave', '/operator', environment=environment, seconds=0.0)
    if 'security libraries' in answer.get('error', ''):
        pytest.skip('the middleware was built without DDS Security')
    assert 'error' not in answer, answer['error']
    return environment


def started(monkeypatch, environment, module, node, parameters):
    """Return a node in its enclave."""
    with monkeypatch.context() as context:
        for name, value in environment.items():
            context.setenv(name, value)
        return NodeProcess(module, parameters, ['--enclave', f'/{node}'])


@openssl_here
def test_nodes_without_keys_can_neither_command_nor_receive(secured, monkeypatch):
    with started(monkeypatch, secured, SIMULATOR, 'robot_simulator',
                 {'urdf_file': str(ARM)}) as simulator:
        simulator.wait_for_output('held by brakes')
        visitor_without_keys = visit()
        assert visitor_without_keys['published'] > 50, 'it did try'
        assert visitor_without_keys['states'] == 0 and visitor_without_keys['nodes'] == ['visitor']
        operator = visit('--enclave', '/operator', environment=secured, wanted='states')
        assert operator['refused'] and operator['states'] > 0
        assert FIRST not in simulator.output
        with started(monkeypatch, secured, CONTROLLER, NODE,
                     {**PATIENT, 'stale.hold': 1.0, 'stale.stop': 3.0}) as controller:
            controller.wait_for_output(ACTIVE, timeout=60.0)
            simulator.wait_for_output(FIRST)
            held = visit('--enclave', '/operator', environment=secured, wanted='hold')
            assert held['hold'] is True and held['states'] > 0
            assert visit()['states'] == 0
            assert controller.alive


@openssl_here
def test_without_a_certificate_no_node_takes_part(secured, keystore, tmp_path):
    fake = Keystore(tmp_path / 'fake', int(os.environ['ROS_DOMAIN_ID']))
    mixed = tmp_path / 'mixed'
    shutil.copytree(keystore.folder, mixed)
    for name in ('cert.pem', 'key.pem'):  # of another authority
        shutil.copy(fake.folder / 'enclaves' / 'operator' / name,
                    mixed / 'enclaves' / 'operator' / name)
    for folder in (mixed, tmp_path / 'none'):
        answer = visit('--enclave', '/operator', seconds=0.0,
                       environment={**secured, 'ROS_SECURITY_KEYSTORE': str(folder)})
        assert 'error' in answer


def test_without_security_the_same_node_commands_and_receives():
    """Show that the visits above can fail."""
    with NodeProcess(SIMULATOR, {'urdf_file': str(ARM)}) as simulator:
        simulator.wait_for_output('held by brakes')
        visitor = visit(wanted='states')
        assert visitor['states'] > 0 and 'robot_simulator' in visitor['nodes']
        simulator.wait_for_output(FIRST)


if __name__ == '__main__':
    os.environ['ROS_DOMAIN_ID'], *NAMES = sys.argv[1:]
    print(json.dumps({name: [*map(sorted, acts)] for name, acts in look(NAMES).items()}))
