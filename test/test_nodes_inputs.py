"""The controller node before and beside the motion: handshake, payload, gravity, wrench."""

from contextlib import ExitStack
from itertools import zip_longest
import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import ACTIVE, logged, NODE, PATIENT  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from fake_arm import fake_controller, FakeArm, GRAVITY, MODEL, START  # noqa: E402
from geometry_msgs.msg import (  # noqa: E402
    Inertia, InertiaStamped, Vector3, Vector3Stamped, Wrench, WrenchStamped)
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.conversions import seconds  # noqa: E402
from ros_process import Probe, wait_until  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import (  # noqa: E402
    Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout)
from std_srvs.srv import Trigger  # noqa: E402

FLIPPED = np.array([1.0, -1.0])


@pytest.fixture(scope='module')
def probe():
    with Probe('controller_inputs_probe') as made:
        yield made


def reporting(arm, effort):
    """Let the arm report an effort: a function of its position."""
    def report(message):
        message.effort = [float(torque) for torque in effort(np.array(message.position))]
        return [message]
    arm.report = report


# --- handshake ----------------------------------------------------------------------------------


def test_an_arm_that_contradicts_the_model_is_not_taken_over(probe):
    with FakeArm(probe, 'flipped/') as arm:
        reporting(arm, lambda q: FLIPPED * GRAVITY(q))
        with fake_controller('flipped', handshake_tolerance=[0.5]) as process:
            probe.until(lambda: logged(process, "likely the sign of 'elbow' is flipped"), 'why')
            assert logged(process, 'waiting: joint ') and ACTIVE not in process.output
            probe.spin_for(0.3)
            assert not arm.commands
            reporting(arm, GRAVITY)  # the mistake is mended
            probe.until(lambda: ACTIVE in process.output, 'activity')
            assert not logged(process, 'was not compared')


def test_with_the_switch_or_without_the_handshake_it_is_taken_over(probe):
    with ExitStack() as stack:
        for name, parameters in (('driver', {'driver_compensates_gravity': True}),
                                 ('trusted', {'handshake': False})):
            arm = stack.enter_context(FakeArm(probe, f'{name}/'))
            reporting(arm, lambda q: 0.0 * q)
            process = stack.enter_context(fake_controller(name, **parameters))
            probe.until(lambda: ACTIVE in process.output, 'activity')
            probe.until(lambda: len(arm.commands) > 5, 'torques')
            if name == 'driver':
                assert np.abs(arm.commands[0]).max() < 1e-9
            else:
                np.testing.assert_allclose(arm.commands[0], GRAVITY(START), rtol=1e-6)


# --- inputs of the controller -------------------------------------------------------------------


@pytest.fixture(scope='module')
def held(probe):
    """Return an arm and its controller; the arm reports no effort."""
    with FakeArm(probe, 'inputs/') as arm, fake_controller(
            'inputs', **{'external_wrench.timeout': 0.3}, **PATIENT) as process:
        probe.until(lambda: ACTIVE in process.output, 'activity')
        assert logged(process, 'was not compared with the gravity torque: the joint states '
                      'contain no effort')
        yield arm, process
        assert 'Traceback' not in process.output


@pytest.fixture(scope='module')
def topics(probe, held):
    """Return the newest messages that matter here, by name."""
    place = f'inputs/{NODE}/torque_terms'
    received = {term: probe.subscribe(JointState, f'{place}/{term}', qos.newest())
                for term in ('payload', 'gravity', 'external', 'total')}
    received['diagnostics'] = probe.subscribe(DiagnosticArray, '/diagnostics')
    probe.until(lambda: all(received.values()), 'all topics')
    return received


def newest(topics, term):
    return np.array(topics[term][-1].effort)


def diagnostics(topics):
    found = [status for message in topics['diagnostics'] for status in message.status
             if status.name.startswith('/inputs/')]
    return {pair.key: pair.value for pair in found[-1].values} if found else {}


def payload(link='fore', mass=0.5, com=(0.3, 0.0, 0.0), moments=(0.001, 0.001, 0.001)):
    return InertiaStamped(header=Header(frame_id=link), inertia=Inertia(
        m=mass, com=Vector3(x=com[0], y=com[1], z=com[2]), ixx=moments[0], iyy=moments[1],
        izz=moments[2]))


@pytest.fixture(scope='module')
def send(probe, held):
    """Return what publishes a message on an input."""
    publishers = {kind: probe.publisher(kind, f'inputs/{NODE}/{topic}') for kind, topic in (
        (InertiaStamped, 'payload'), (Vector3Stamped, 'gravity'),
        (WrenchStamped, 'external_wrench'), (JointState, 'reflected_torque'),
        (Float64MultiArray, 'linear_feedback'))}
    return lambda message: publishers[type(message)].publish(message)


@pytest.fixture
def load(probe, topics, send):
    """Return a function that sends a payload; at the end the arm has none."""
    def unloaded():
        return not newest(topics, 'payload').any() and diagnostics(topics).get('payload') == 'none'

    probe.until(unloaded, 'no payload at first')
    yield send
    send(payload(mass=0.0, moments=(0.0, 0.0, 0.0)))
    probe.until(unloaded, 'no payload')


def test_a_payload_is_added_without_a_step_and_removed_again(probe, held, topics, load):
    arm, process = held
    since = len(topics['payload']) - 2
    loaded = MODEL.with_payload('fore', 0.5, (0.3, 0.0, 0.0), np.eye(3) * 1e-3)
    extra = Dynamics(loaded).gravity(arm.q) - GRAVITY(arm.q)
    load(payload())
    probe.until(lambda: np.abs(newest(topics, 'payload') - extra).max() < 0.05, 'the payload')
    assert logged(process, "payload on link 'fore': 0.5 kg") == 1
    probe.until(lambda: diagnostics(topics).get('payload') == '0.5 kg on fore', 'diagnostics')
    received = topics['payload'][since:]
    steps = np.abs(np.diff([each.effort for each in received], axis=0)).max(axis=1)
    # the whole of it goes over in 0.3 s, at most twice as fast as on average; the time of the law
    # is that of the state, less its delay, which may change by an interval
    stamps = np.array([seconds(each.header.stamp) for each in received])
    part = (stamps[2:] - stamps[:-2]) * 2.0 / 0.3
    assert np.all(steps[1:] < part * np.abs(extra).max() + 1e-3)


def test_the_payload_of_the_tip_is_published_in_the_form_of_an_input(probe, held, topics, load):
    received = probe.subscribe(InertiaStamped, f'inputs/{NODE}/payload_estimate')
    probe.until(lambda: received and not received[-1].inertia.m, 'an empty hand')
    sent = payload()
    load(sent)
    probe.until(lambda: received[-1].inertia.m == sent.inertia.m, 'the payload')
    got, expected = received[-1], sent.inertia
    assert got.header.frame_id == 'fore' and got.header.stamp.sec > 0
    for name in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'):
        assert getattr(got.inertia, name) == pytest.approx(getattr(expected, name), abs=1e-12)
    assert got.inertia.com.x == pytest.approx(0.3) and not got.inertia.com.y
    assert diagnostics(topics)['payload learned'] == 'none'
    load(payload(mass=0.0, moments=(0.0, 0.0, 0.0)))
    probe.until(lambda: not received[-1].inertia.m, 'no payload')


MISTAKES = [
    (payload(link='hand'), "refused on ~/payload: .*no link 'hand'"),
    (payload(link=''), 'refused on ~/payload: header.frame_id is empty'),
    (payload(link='base'), "link 'base': the link belongs to the immovable base"),
    (payload(mass=-1.0), "link 'fore': mass -1 kg is negative; give 0 or more"),
    (payload(mass=math.nan), "link 'fore': mass nan must be a finite number"),
    (payload(com=(math.inf, 0.0, 0.0)), "link 'fore': centre of mass .* must be finite"),
    (payload(moments=(1.0, 0.1, 0.1)), "link 'fore': principal moments .* 1 kg m"),
    (payload(mass=50.0), "payload of 50 kg on link 'fore': joint '.*' would need"),
    (Vector3Stamped(header=Header(frame_id='fore'), vector=Vector3(z=-9.81)),
     "refused on ~/gravity: gravity in the frame 'fore'; give it in that of the base, 'base'"),
    (Vector3Stamped(vector=Vector3(z=math.nan)), 'refused on ~/gravity: .*must be three finite'),
    (Vector3Stamped(vector=Vector3(z=-981.0)), 'refused on ~/gravity: .*at most 30'),
    (WrenchStamped(header=Header(frame_id='hand')), "refused on ~/external_wrench: .*'hand'"),
    (WrenchStamped(header=Header(frame_id='fore'),
                   wrench=Wrench(force=Vector3(x=math.nan))),
     "refused on ~/external_wrench: wrench on link 'fore' is .*6 finite numbers"),
    # refused by size: to make objects of a message takes a microsecond per name or dimension
    (JointState(name=['elbow'] * 1001), 'refused on ~/reflected_torque: 1001 joints in a message'),
    (Float64MultiArray(layout=MultiArrayLayout(dim=[MultiArrayDimension()] * 100)),
     'refused on ~/linear_feedback: a message of 16.. bytes, more than 641; for 2 joints give '
     '2 x 7 numbers')]
KINDS = {InertiaStamped: 'payload', Vector3Stamped: 'gravity', WrenchStamped: 'external wrench',
         JointState: 'reflected torque', Float64MultiArray: 'linear feedback'}


def test_what_makes_no_sense_is_refused_and_counted(probe, held, topics, send):
    _, process = held

    def counts():
        return [int(diagnostics(topics).get(f'{kind} messages refused', 0))
                for kind in KINDS.values()]

    given = [[each for each in MISTAKES if type(each[0]) is kind] for kind in KINDS]
    expected = [before + len(each) for before, each in zip(counts(), given)]
    # one of each kind at a time: of a kind, the log has the last of half a second
    for together in zip_longest(*given):
        since = len(process.lines)
        for message, _ in filter(None, together):
            send(message)
        for _, words in filter(None, together):
            probe.until(lambda: re.search(words, '\n'.join(process.lines[since:])), words)
        assert not newest(topics, 'payload').any() and not newest(topics, 'external').any()
    probe.until(lambda: counts() == expected, f'{expected} messages refused')
    assert diagnostics(topics)['payload'] == 'none'
    assert diagnostics(topics)['external wrench'] == 'none'
    assert diagnostics(topics)['gravity (m/s^2)'] == '0, 0, -9.81'


def test_gravity_of_another_mounting_is_taken_over(probe, held, topics, send):
    arm, _ = held
    # the arm itself stays as it is mounted: feedback holds it
    tilted = (2.0, 0.0, -9.6)
    send(Vector3Stamped(header=Header(frame_id='base'),
                        vector=Vector3(x=tilted[0], z=tilted[2])))
    expected = Dynamics(MODEL.with_gravity(tilted))
    probe.until(lambda: np.abs(newest(topics, 'gravity') - expected.gravity(arm.q)).max() < 0.02,
                'the new gravity')
    send(Vector3Stamped(vector=Vector3(z=-9.81)))
    probe.until(lambda: np.abs(newest(topics, 'gravity') - GRAVITY(arm.q)).max() < 0.02,
                'the old gravity')


def test_a_wrench_counts_until_it_times_out(probe, held, topics, send):
    arm, _ = held
    message = WrenchStamped(header=Header(frame_id='fore'),
                            wrench=Wrench(force=Vector3(z=-4.0)))

    def carried():
        send(message)
        # 4 N across the forearm, at its joint: all on the shoulder, 0.4 m away
        elbow = arm.q[1]
        return abs(abs(newest(topics, 'external')[0]) - 1.6 * math.cos(elbow)) < 0.02

    probe.until(carried, 'the wrench')
    assert abs(newest(topics, 'external')[1]) < 0.01
    probe.until(lambda: not newest(topics, 'external').any(), 'its end')
    assert probe.call(Trigger, f'inputs/{NODE}/float').success


def test_a_floating_arm_reflects_the_external_torque_of_another_one(probe):
    # 0.1 N m: friction of 0.05 N m and 0.1 N m s/rad allow 0.5 rad/s, however long the wait is
    external = JointState(name=['elbow', 'other', 'shoulder'], effort=[0.2, 9.0, 0.0])
    with FakeArm(probe, 'leader/') as arm, fake_controller(
            'leader', mode='gravity_compensation', handshake=False,
            **{'reflection.gain': [0.5], **PATIENT}) as process:
        probe.until(lambda: 'active: the arm floats' in process.output, 'activity')
        effort = probe.subscribe(JointState, f'leader/{NODE}/torque_terms/effort', qos.newest())
        publisher = probe.publisher(JointState, f'leader/{NODE}/reflected_torque')
        before = arm.q[1]
        wait_until(lambda: effort and abs(effort[-1].effort[1] - 0.1) < 0.001, 'half of it',
                   work=lambda: (publisher.publish(external), probe.spin_for(0.02)))
        probe.until(lambda: abs(effort[-1].effort[1]) < 0.001, 'silence: nothing of it')
        assert arm.q[1] > before
        publisher.publish(JointState(name=['elbow'], effort=[1.0]))
        probe.until(lambda: logged(process, 'refused on ~/reflected_torque: joints not named: '
                                   'shoulder'), 'the reason')
