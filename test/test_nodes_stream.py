"""The controller node with the simulator: streams of targets, and pauses on the path."""

import time
from types import SimpleNamespace

from builtin_interfaces.msg import Duration
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, logged, MODEL, NODE, PATIENT, RELEASED, send, simulator,
    trajectory)
from robodyn_ros.control import Settings  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.trajectories.stream_input import StreamInput  # noqa: E402
from ros_process import NodeProcess, PATIENCE, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64, Header  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

PERIOD = 0.03  # s, of MoveIt Servo
TOPIC = f'{NODE}/joint_trajectory'


@pytest.fixture(scope='module')
def probe():
    with Probe('stream_probe') as made:
        yield made


@pytest.fixture(scope='module')
def process(probe):
    with simulator() as plant, NodeProcess(CONTROLLER, {
            'urdf_file': str(ARM), 'stream.timeout': 1.0, **PATIENT}) as made:
        made.wait_for_output(ACTIVE)
        plant.wait_for_output(RELEASED)
        yield made
        assert 'Traceback' not in made.output


@pytest.fixture(scope='module')
def references(probe, process):
    received = probe.subscribe(JointState, f'{NODE}/reference', qos.reliable(1000))
    probe.until(lambda: received, 'a reference')
    return received


def servo(probe, t, shift=0.0):
    """Return what MoveIt Servo publishes: a point with positions and velocities, stamped."""
    message = JointTrajectory(joint_names=list(MODEL.joint_names), points=[JointTrajectoryPoint(
        positions=(HOME + shift + 0.1 * (1.0 - np.cos(2.0 * t))).tolist(),
        velocities=np.full(7, 0.2 * np.sin(2.0 * t)).tolist(),
        time_from_start=Duration(nanosec=round(1e9 * PERIOD)))])
    message.header.stamp = probe.node.get_clock().now().to_msg()
    return message


def stream(probe, publish, seconds):
    """Publish at the rate of Servo, by the clock; late if this process is."""
    begin = time.monotonic()
    while (t := time.monotonic() - begin) < seconds:
        publish(t)
        end = time.monotonic() + PERIOD
        while time.monotonic() < end:
            probe.spin(0.002)


def test_a_stream_of_servo_is_followed_and_another_publisher_is_named(probe, process, references):
    publisher = probe.publisher(JointTrajectory, TOPIC)
    other = probe.node.create_publisher(JointTrajectory, TOPIC, 10)
    probe.until(lambda: publisher.get_subscription_count() and other.get_subscription_count(),
                'the controller')
    del references[:]
    since = len(process.lines)
    stream(probe, lambda t: publisher.publish(servo(probe, t)), 1.2)
    probe.until(lambda: logged(process, 'stream of targets from', since), 'the log line')
    assert not logged(process, 'refused', since)
    q = np.array([each.position for each in references])
    qd = np.array([each.velocity for each in references])
    assert q[:, 0].max() > HOME[0] + 0.1, 'the arm has moved'
    # steps of the reference from one of 250 states a second to the next
    assert np.abs(np.diff(qd, axis=0)).max() < 0.1

    def both(t):
        publisher.publish(servo(probe, 1.2 + t))
        other.publish(servo(probe, 0.0, shift=0.3))

    stream(probe, both, 0.5)
    probe.until(lambda: logged(process, 'two nodes publish targets', since), 'a warning')
    probe.until(lambda: logged(process, 'has ended', since), 'the end')
    probe.node.destroy_publisher(other)


def test_a_motion_pauses_slows_down_and_goes_on(probe, process, references):
    times = probe.subscribe(JointState, f'{NODE}/path_time', qos.reliable(1000))
    probe.until(lambda: times, 'path times')
    before = times[-1].effort[0]
    since = send(probe, process, trajectory(MODEL.joint_names, HOME + 0.6, seconds=2.0))
    probe.until(lambda: np.abs(references[-1].velocity).max() > 0.1, 'motion')
    answer = probe.call(Trigger, f'{NODE}/pause')
    assert answer.success, answer.message
    probe.until(lambda: np.abs(references[-1].velocity).max() == 0.0, 'a pause')
    paused = np.array(references[-1].position)
    probe.until(lambda: times[-1].velocity[0] == 0.0, 'a path time at rest')
    elapsed = times[-1].position[0]
    assert list(times[-1].name) == ['path'] and 0.0 < elapsed < 1.9
    del times[:]
    assert np.abs(paused - HOME - 0.6).max() > 0.05
    scaling = probe.publisher(Float64, f'{NODE}/speed_scaling', qos.latched())
    since = len(process.lines)
    scaling.publish(Float64(data=1.5))
    probe.until(lambda: logged(process, 'send a factor from 0 to 1', since), 'a refusal')
    scaling.publish(Float64(data=0.5))
    probe.until(lambda: logged(process, 'speed scaling 0.5', since), 'the log line')
    np.testing.assert_array_equal(references[-1].position, paused)
    assert times and {each.position[0] for each in times} == {elapsed}
    assert probe.call(Trigger, f'{NODE}/resume').success
    probe.until(lambda: logged(process, 'the goal is reached', since), 'the goal')
    probe.until(lambda: np.abs(references[-1].position - HOME - 0.6).max() < 1e-6,
                'the reference at the goal')
    probe.until(lambda: times[-1].position[0] >= 2.0, 'the end of the path')
    assert 0.4 < max(each.velocity[0] for each in times) < 0.6
    assert {each.effort[0] for each in times}.isdisjoint({before})


def test_a_stream_replaces_a_trajectory_that_is_under_way(probe, process, references):
    since = send(probe, process, trajectory(MODEL.joint_names, HOME, seconds=1.5))
    probe.until(lambda: logged(process, 'the goal is reached', since), 'home')
    send(probe, process, trajectory(MODEL.joint_names, HOME + 0.6, seconds=8.0))
    probe.until(lambda: np.abs(references[-1].velocity).max() > 0.01, 'motion')
    place = np.array(references[-1].position)
    message = trajectory(MODEL.joint_names, place, seconds=PERIOD)
    publisher = probe.publisher(JointTrajectory, TOPIC)

    end = time.monotonic() + PATIENCE
    while (np.abs(references[-1].velocity).max() > 1e-4
           or np.abs(references[-1].position - place).max() > 1e-3):
        assert time.monotonic() < end, 'it is not at the target of the stream'
        stream(probe, lambda _: publisher.publish(message), 0.3)


@pytest.fixture
def belongs():
    """Return a function: whether a point that arrives so much later is a target."""
    controller = SimpleNamespace(settings=Settings(), stream=SimpleNamespace(active=False))
    clock = [0.0]
    stream_input = StreamInput(None, controller, lambda: clock[0], lambda: clock[0], TOPIC)

    def target(after, duration, velocities, frame='', active=False):
        clock[0] += after
        controller.stream.active = active
        return stream_input.belongs(JointTrajectory(header=Header(frame_id=frame), points=[
            JointTrajectoryPoint(positions=HOME.tolist(), velocities=velocities,
                                 time_from_start=Duration(nanosec=round(1e9 * duration)))]))

    return target


def test_a_point_at_rest_while_another_is_under_way_is_a_trajectory_of_its_own(belongs):
    assert not belongs(0.0, 0.4, [])
    assert not belongs(0.04, 0.4, [0.0] * 7)
    assert belongs(0.2, 0.2, [])
    assert belongs(0.2, 0.2, [0.1] * 7)
    assert belongs(10.0, 0.03, [0.0] * 7)


@pytest.mark.parametrize('duration', [0.0, 0.03, 0.3])
def test_the_frame_id_decides(belongs, duration):
    assert belongs(10.0, duration, [0.0] * 7, 'stream')
    assert not belongs(0.0, duration, [], 'trajectory', active=True)
    assert belongs(10.0, duration, [], 'base') == (duration < 0.1)


def test_points_of_a_policy_without_times_are_targets(belongs):
    assert all(belongs(0.1, 0.0, []) for _ in range(5))


def test_points_of_rqt_joint_trajectory_controller_are_goals(belongs):
    assert not any(belongs(0.1, 0.5, []) for _ in range(5))
