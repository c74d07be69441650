"""What comes on `robot_description` is refused with a reason, by a node that goes on waiting."""

import time

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import CONTROLLER, logged, NODE  # noqa: E402
from fake_arm import URDF  # noqa: E402
from fuzz_attacks import ATTACKS  # noqa: E402
from lifecycle_msgs.msg import State, Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess, PATIENCE  # noqa: E402
from std_msgs.msg import String  # noqa: E402

SENT = ['billion laughs', 'network', 'deep and open', 'many elements', 'many mistakes',
        'never closed', 'many lines']
SOON = 10.0     # seconds for an answer of a node that is not busy, on a loaded machine


class Scene:
    """A node in a namespace of its own, which is asked to configure while descriptions come."""

    def __init__(self, probe, timeout):
        self._probe, self._space = probe, f'patient_for_{timeout:.0f}'
        self._publisher = probe.node.create_publisher(
            String, f'{self._space}/robot_description', qos.latched())
        self.node = NodeProcess(CONTROLLER, {'autostart': False, 'description_timeout': timeout},
                                ['-r', f'__ns:=/{self._space}'])

    def describe(self, text):
        self._publisher.publish(String(data=text))

    def configure(self):
        """Request the configuration; return the future response."""
        client = self._probe.node.create_client(ChangeState, f'{self._space}/{NODE}/change_state')
        self._probe.until(client.service_is_ready, 'the node')
        return client.call_async(ChangeState.Request(
            transition=Transition(id=Transition.TRANSITION_CONFIGURE)))

    def state(self):
        begin = time.monotonic()
        found = self._probe.call(GetState, f'{self._space}/{NODE}/get_state').current_state.id
        assert time.monotonic() - begin < SOON
        return found


def test_a_node_without_a_useful_description_answers(probe):
    scene, (text, words) = Scene(probe, 3.0), ATTACKS[SENT[0]]
    with scene.node as node:
        scene.describe(text)
        done = scene.configure()
        probe.until(done.done, 'the end of the wait')
        assert not done.result().success and logged(node, words)
        assert scene.state() == State.PRIMARY_STATE_UNCONFIGURED


def test_attacks_are_refused_until_a_robot_comes(probe):
    scene = Scene(probe, PATIENCE)
    with scene.node as node:
        done = scene.configure()
        for attack in SENT:
            text, words = ATTACKS[attack]
            since = len(node.lines)
            scene.describe(text)
            probe.until(lambda: logged(node, words, since), f'{attack}: {words}')
            assert node.alive and not done.done()
        scene.describe(URDF)
        probe.until(done.done, 'the robot')
        assert done.result().success and scene.state() == State.PRIMARY_STATE_INACTIVE
        node.wait_for_output('fake: 2 joints (shoulder, elbow)')
