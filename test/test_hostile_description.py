"""What comes on `robot_description` is refused with a reason, by a node that goes on answering."""

import time

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import CONTROLLER, logged, NODE  # noqa: E402
from fake_arm import URDF  # noqa: E402
from fuzz_attacks import ATTACKS  # noqa: E402
from lifecycle_msgs.msg import State, Transition  # noqa: E402
from lifecycle_msgs.srv import GetState  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess  # noqa: E402
from std_msgs.msg import String  # noqa: E402

SENT = ['billion laughs', 'network', 'deep and open', 'many elements', 'many mistakes',
        'never closed', 'many lines']
SOON = 10.0     # seconds for an answer of a node that is not busy, on a loaded machine


@pytest.fixture(scope='module')
def controller():
    with NodeProcess(CONTROLLER, {'autostart': False, 'description_timeout': 3.0}) as made:
        yield made


@pytest.fixture(scope='module')
def describe(probe):
    """Return a function that publishes a description, in place of the one before."""
    publisher = probe.node.create_publisher(String, 'robot_description', qos.latched())

    def publish(text):
        publisher.publish(String(data=text))

    return publish


def configure(probe):
    """Request the configuration of the node; return whether it succeeded."""
    return probe.change_state(NODE, Transition.TRANSITION_CONFIGURE)


def state(probe):
    return probe.call(GetState, f'{NODE}/get_state').current_state.id


@pytest.mark.parametrize('attack', SENT)
def test_an_attack_is_refused_and_the_node_answers(probe, controller, describe, attack):
    text, words = ATTACKS[attack]
    since = len(controller.lines)
    describe(text)
    assert not configure(probe)
    start = time.monotonic()
    assert state(probe) == State.PRIMARY_STATE_UNCONFIGURED
    assert time.monotonic() - start < SOON
    probe.until(lambda: logged(controller, words, since), words)
    assert controller.alive


def test_after_all_that_a_robot_is_taken(probe, controller, describe):
    describe(URDF)
    assert configure(probe)
    assert state(probe) == State.PRIMARY_STATE_INACTIVE
    controller.wait_for_output('fake: 2 joints (shoulder, elbow)')
