"""The controller node with the simulator: a link goes to poses, and presses."""

import re
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, logged, MODEL, NODE, PATIENT, RELEASED, SIMULATOR, Wire)
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import (  # noqa: E402
    Point, Pose, PoseStamped, Quaternion, Vector3, Wrench, WrenchStamped)
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.controller.output import pose_message  # noqa: E402
from ros_process import NodeProcess, PATIENCE  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Header  # noqa: E402

TOOL = 'tool0'
DYNAMICS = Dynamics(MODEL)


@pytest.fixture(scope='module')
def arm(probe):
    """Return the wire to an arm that is held by its joints at first."""
    places = [f'{name}:{q}' for name, q in zip(MODEL.joint_names, HOME.tolist())]
    # springs leave an arm where friction holds it: here it is to be little; and rotors, so that
    # pauses of a loaded machine do not shake the light wrist
    with NodeProcess(SIMULATOR, {'urdf_file': str(ARM), 'initial_positions': places,
                                 'friction_scale': 0.1, 'armature': [0.05]}
                     ) as robot, NodeProcess(CONTROLLER, {
            'natural_frequency': 30.0, 'friction_scale': 0.1, 'armature': [0.05],
            'cartesian.stiffness': [1500.0] * 3 + [30.0] * 3,
            'cartesian.natural_frequency': 20.0, 'external_wrench.timeout': 1.0,
            **PATIENT}) as process:
        process.wait_for_output(ACTIVE)
        robot.wait_for_output(RELEASED)
        wire = Wire(probe)
        wire.process = process
        yield wire
        assert 'Traceback' not in process.output + robot.output


@pytest.fixture(scope='module')
def send(probe, arm):
    """Return what publishes on a topic of the controller."""
    publishers = {kind: probe.publisher(kind, f'{NODE}/{topic}') for kind, topic in (
        (PoseStamped, 'target_pose'), (WrenchStamped, 'target_wrench'))}
    return lambda message: publishers[type(message)].publish(message)


@pytest.fixture(scope='module')
def topics(probe, arm):
    """Return the newest messages that matter here, by name."""
    received = {topic: probe.subscribe(PoseStamped, f'{NODE}/{topic}', qos.newest())
                for topic in ('tool_pose', 'tool_pose_reference')}
    received['external'] = probe.subscribe(
        JointState, f'{NODE}/torque_terms/external', qos.newest())
    received['diagnostics'] = probe.subscribe(DiagnosticArray, '/diagnostics')
    probe.until(lambda: all(received.values()), 'all topics')
    return received


def set_mode(probe, mode):
    """Set a mode, as soon as its law is compiled: beside others that have priority."""
    def answered():
        done, reason = probe.set_parameter(NODE, 'mode', mode)
        assert done or 'is still being compiled' in reason, reason
        return done

    probe.until(answered, mode, 3.0 * PATIENCE)


def shifted(q, shift):
    pose = DYNAMICS.forward_kinematics(np.array(q), TOOL)
    pose[:3, 3] += shift
    return pose


def diagnostics(topics):
    found = [status for message in topics['diagnostics'] for status in message.status
             if status.name.startswith(f'/{NODE}')]
    return {pair.key: pair.value for pair in found[-1].values} if found else {}


def matrix(message):
    place, turn = message.pose.position, message.pose.orientation
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
    pose[:3, 3] = place.x, place.y, place.z
    return pose


def near(messages, pose, tolerance):
    """Return whether the newest message has this pose."""
    return np.abs(matrix(messages[-1]) - pose).max() < tolerance


@pytest.mark.parametrize('mode, shift', [
    ('computed_torque', (0.06, -0.05, 0.04)), ('operational_space', (0.0, 0.08, -0.05)),
    ('cartesian_impedance', (-0.05, 0.0, 0.05))])
def test_a_pose_on_the_topic_moves_the_arm_there(probe, arm, topics, send, mode, shift):
    set_mode(probe, mode)
    target, since = shifted(HOME, shift), len(arm.process.lines)

    def there():
        reached = DYNAMICS.forward_kinematics(arm.q, TOOL)
        return (logged(arm.process, 'the target pose is reached', since)
                and near(topics['tool_pose_reference'], target, 1e-4)
                and near(topics['tool_pose'], target, 5e-3)
                and np.linalg.norm(reached[:3, 3] - target[:3, 3]) < 1e-3)

    for _ in range(8):  # a message may be lost at first, and a pause of the machine ends a motion
        send(pose_message(0, MODEL.base_link, target))
        end = time.monotonic() + 5.0
        while not there() and time.monotonic() < end:
            probe.spin()
        if there():
            break
    assert there(), arm.process.output
    if mode != 'computed_torque':
        probe.until(lambda: diagnostics(topics).get('link') == TOOL, 'diagnostics')
        assert float(diagnostics(topics)['manipulability']) > 0.0


def pose(frame='', position=(0.3, 0.0, 0.5), turn=(0.0, 0.0, 0.0, 1.0)):
    x, y, z, w = turn
    return PoseStamped(header=Header(frame_id=frame), pose=Pose(
        position=Point(**dict(zip('xyz', position))), orientation=Quaternion(x=x, y=y, z=z, w=w)))


@pytest.mark.parametrize('message, words', [
    (pose('camera'), "refused on ~/target_pose: a target pose in the frame 'camera'; give it in "
     "that of the base, 'base_link'"),
    (pose(position=(float('nan'), 0.0, 0.0)), 'refused on ~/target_pose: .*must be finite'),
    (pose(turn=(0.0, 0.0, 0.0, 0.0)), 'refused on ~/target_pose: the quaternion .* has norm 0'),
    (WrenchStamped(), 'refused on ~/target_wrench: header.frame_id is empty'),
    (WrenchStamped(header=Header(frame_id=TOOL), wrench=Wrench(force=Vector3(x=1e4))),
     "refused on ~/target_wrench: target wrench on link 'tool0': joint '.*' would need")])
def test_what_makes_no_sense_is_refused(probe, arm, topics, send, message, words):
    set_mode(probe, 'cartesian_impedance')
    words = words.replace('base_link', MODEL.base_link)
    since = len(arm.process.lines)

    def refused():
        send(message)
        probe.spin_for(0.2)
        return re.search(words, '\n'.join(arm.process.lines[since:]))

    probe.until(refused, words)
    kind = 'target pose' if isinstance(message, PoseStamped) else 'target wrench'
    probe.until(lambda: int(diagnostics(topics).get(f'{kind} messages refused', 0)) > 0, 'a count')


def test_a_target_wrench_counts_in_cartesian_modes_until_it_times_out(probe, arm, topics, send):
    set_mode(probe, 'cartesian_impedance')
    message = WrenchStamped(header=Header(frame_id=TOOL), wrench=Wrench(force=Vector3(z=3.0)))

    def pressed():
        send(message)
        turn = DYNAMICS.forward_kinematics(arm.q, TOOL)[:3, :3]
        expected = DYNAMICS.jacobian(arm.q, TOOL)[:3].T @ turn @ [0.0, 0.0, 3.0]
        return np.abs(np.array(topics['external'][-1].effort) - expected).max() < 0.05

    probe.until(pressed, 'the wrench')
    probe.until(lambda: not np.any(topics['external'][-1].effort), 'its end')
    set_mode(probe, 'computed_torque')
    since = len(arm.process.lines)
    send(message)
    probe.until(lambda: logged(arm.process, 'is used in the Cartesian modes only', since),
                'the refusal')
