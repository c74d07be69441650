"""Commands in messages of any type: what the middleware reads is what was meant."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from closed_loop import arm, MODEL  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from robodyn_ros.control import drive  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ArgumentError, ParameterError  # noqa: E402
from robodyn_ros.model.per_joint import COMMAND  # noqa: E402
from robodyn_ros.nodes.command_message import (  # noqa: E402
    CommandMessage, CommandSettings, DriveSettings)
from robodyn_ros.nodes.command_writer import CommandWriter  # noqa: E402
from robodyn_ros.nodes.commands import CommandReader  # noqa: E402
from robodyn_ros.safety import drive as safety_drive  # noqa: E402
from robodyn_ros.safety.drive import without_reference  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

NAMES = ('a', 'b', 'c')
NINE = tuple('abcdefghi')
FIVE = ('joint_names:names', 'header.stamp:stamp', 'points.0.positions:position',
        'points.0.velocities:velocity', 'points.1.positions:kp', 'points.1.velocities:kd',
        'points.0.effort:effort')
# type, fields, joints; as of drivers: efforts with names, five numbers, position with torque in
# arrays of fixed length, a message per motor, float32
FORMS = [
    ('std_msgs/msg/Float64MultiArray', ('data:effort',), NAMES),
    ('sensor_msgs/msg/JointState', ('name:names', 'header.stamp:stamp', 'effort:effort'), NAMES),
    ('trajectory_msgs/msg/JointTrajectory', FIVE, NAMES),
    ('sensor_msgs/msg/Imu', ('orientation_covariance:position', 'orientation.w:1.5',
                             'linear_acceleration_covariance:effort'), NINE),
    ('geometry_msgs/msg/PoseArray', ('poses.*.position.x:effort', 'poses.*.position.y:kp',
                                     'poses.*.orientation.z:kd'), NAMES),
    ('sensor_msgs/msg/LaserScan', ('ranges:effort', 'intensities:position'), NAMES)]


def message_of(kind, fields, joints):
    return CommandMessage(joints, joints[::-1], DriveSettings(kind, fields))


def value_of(message, path):
    for part in path.split('.'):
        message = message[int(part)] if part.isdigit() else getattr(message, part)
    return message


@pytest.mark.parametrize('kind, fields, joints', FORMS)
def test_the_middleware_reads_what_was_written(kind, fields, joints):
    made = message_of(kind, fields, joints)
    random, stamp = np.random.default_rng(3), 1_700_000_000_123_456_789
    for _ in range(3):
        command = random.normal(size=(len(COMMAND), len(joints))).astype('f4').astype(float)
        read = deserialize_message(made.write(command.ravel(), stamp), made.type)
        for path, what in (each.rsplit(':', 1) for each in fields):
            if what in COMMAND:
                paths = [path.replace('*', str(k)) for k in range(len(joints))]
                got = ([value_of(read, each) for each in paths] if '*' in path
                       else list(value_of(read, path)))
                assert got == command[COMMAND.index(what), ::-1].tolist()
            elif what == 'names':
                assert list(value_of(read, path)) == list(joints[::-1])
            elif what == 'stamp':
                time = value_of(read, path)
                assert 1_000_000_000 * time.sec + time.nanosec == stamp
            else:
                assert value_of(read, path) == float(what)
        rows = [COMMAND.index(each) for each in made.roles & {*COMMAND}]
        np.testing.assert_array_equal(made.read(read)[rows], command[rows])


@pytest.mark.parametrize('kind, fields, words', [
    ('no_msgs/msg/Command', ('data:effort',), "No module named 'no_msgs'.*source the workspace"),
    ('Command', ('data:effort',), 'PACKAGE/msg/NAME'),
    (FORMS[0][0], ('dat:effort',), "no field 'dat'; did you mean 'data'"),
    (FORMS[0][0], ('data:torque',), 'write it as FIELD:WHAT'),
    (FORMS[0][0], ('layout.data_offset:0',), 'has no effort'),
    (FORMS[0][0], ('layout.data_offset:effort',), 'layout.data_offset:effort'),
    (FORMS[1][0], ('effort:effort', 'effort:position'), 'named twice'),
    ('sensor_msgs/msg/Imu', ('orientation_covariance:effort',), 'orientation_covariance:effort'),
    (FORMS[2][0], ('points.0.efort:effort',), "no field 'efort'; did you mean 'effort'")])
def test_what_cannot_hold_the_numbers_is_refused(kind, fields, words):
    with pytest.raises(ParameterError, match=words) as error:
        message_of(kind, fields, NAMES)
    assert str(error.value).startswith('command_')


@pytest.mark.parametrize('others, words', [
    ({'effort_scale': (1.0, 0.0, 1.0)}, "joint 'b' is 0"),
    ({'drive_kp': (5.0,)}, 'no kp'),
    ({'effort_scale': (1.0, 2.0)}, 'effort_scale has 2 values')])
def test_numbers_of_drives_are_checked(others, words):
    with pytest.raises(ParameterError, match=words):
        writer_of(others)


def writer_of(others, names=NAMES, function=None):
    scale = {key: others.pop(key) for key in ('effort_scale',) if key in others}
    return CommandWriter(names, CommandSettings(**scale), DriveSettings(**others),
                         function or without_reference(len(names)))


def test_gains_need_their_references():
    with pytest.raises(ParameterError, match='needs position, velocity, kp and kd'):
        writer_of(dict(zip(('command_type', 'command_fields'), FORMS[4])))


def test_wrong_commands_are_not_read():
    made = message_of(*FORMS[1])
    read = deserialize_message(made.write(np.zeros(15)), made.type)
    for change, words in (({'effort': [1.0]}, '1 entries'), ({'name': ['x', 'b', 'a']}, "'x'"),
                          ({'effort': [1.0, float('nan'), 0.0]}, "joint 'b' is not finite")):
        wrong = made.type(name=read.name, effort=read.effort)
        for name, value in change.items():
            setattr(wrong, name, value)
        with pytest.raises(ArgumentError, match=words):
            made.read(wrong)


@pytest.mark.parametrize('fields, kp, kd', [
    (FIVE, (30.0, 20.0), (2.0, 1.0)),             # commanded gains
    (FIVE[:4] + FIVE[-1:], (), (2.0, 1.0)),       # position and effort, a damping of the drive
    (FIVE[-1:], (), (2.0, 1.0))])                 # efforts alone
def test_the_drive_makes_the_torque_of_the_cycle(fields, kp, kd):
    """
    Whatever the gains, at the state that is answered; and at rest in the last command.

    Commanded is the reference half an interval later.
    """
    loop = arm()
    control = loop.control
    names = control.model.joint_names
    gains = {name: tuple(np.resize(value, len(names)))
             for name, value in (('drive_kp', kp), ('drive_kd', kd)) if value}
    scale = np.linspace(-4.0, 5.0, len(names))
    writer = writer_of({'command_type': FORMS[2][0], 'command_fields': fields,
                        'effort_scale': tuple(scale), **gains}, names,
                       drive.function(control.host.compiled.dimensions))
    writer.follow(control.host.bound.memory)
    loop.moving()
    memory, d = control.host.memory, np.array(gains['drive_kd'])
    torque = np.array(control.status.sent)
    command = writer.message.read(deserialize_message(writer.write(torque), writer.message.type))
    effort, position, velocity, k, commanded = command
    commands = 'points.1.positions:kp' in fields
    to, ahead = memory.motion.reference, 0.5 * float(memory.feedback.usual)
    share = (k * (to.q - memory.q) + commanded * (to.qd - memory.qd) if commands
             else d * (0.0 - memory.qd))
    np.testing.assert_allclose(effort / scale + share, torque, rtol=1e-12, atol=1e-12)
    if commands:
        np.testing.assert_array_equal(k, gains['drive_kp'])
        assert 2e-4 < ahead < 5e-2
        np.testing.assert_allclose([position, velocity], [
            to.q + ahead * to.qd, to.qd + ahead * to.qdd], rtol=1e-12)
    elif 'points.0.positions:position' in fields:
        np.testing.assert_array_equal(position, memory.q)
    assert np.abs(memory.qd).max() > 0.0
    last = writer.message.read(deserialize_message(
        writer.write(torque, last=True), writer.message.type))
    if commands:
        np.testing.assert_array_equal(last[1:], [memory.q, 0.0 * torque, *(
            np.array(gains[name]) for name in ('drive_kp', 'drive_kd'))])
    np.testing.assert_allclose(last[0] / scale, torque, rtol=1e-12)
    assert not last[2].any()


def test_the_last_command_of_an_activation_is_none_of_the_next():
    loop = arm()
    control, n = loop.control, loop.nv
    writer = writer_of({'command_type': FORMS[2][0], 'command_fields': FIVE, 'drive_kp': (20.0,),
                        'drive_kd': (1.0,)}, control.model.joint_names,
                       drive.function(control.host.compiled.dimensions))
    writer.follow(control.host.bound.memory)
    native, (torque, command) = writer.bound(control.host.bound.memory)  # as the native loop
    loop.run(0.1)
    held = writer.message.read(deserialize_message(
        writer.write(control.status.sent, last=True), writer.message.type))
    np.testing.assert_array_equal(held[3:], [[20.0] * n, [1.0] * n])
    control.activation.deactivate()
    loop.start()
    control.requests.compensate_gravity()
    loop.run(0.1)
    torque[:] = control.status.sent
    native.call()
    effort, _, _, *gains = command.reshape(-1, n)
    np.testing.assert_array_equal(effort, torque)
    assert not np.any(gains)


@pytest.mark.parametrize('last', [0.0, 1.0])
def test_without_gains_the_effort_depends_on_no_state(last):
    torque, nan = [1.5, -2.0], [float('nan')] * 2
    state = safety_drive.State(nan, nan)
    p = safety_drive.Program([0.0] * 2, [0.0] * 2, 0.0, last, [2.0, -1.0], [0.0, 0.5])
    effort, *_ = safety_drive.command(torque, state, state, state, 1.0, p)
    assert effort == [3.0, 2.0]


def test_a_driver_rounds_nothing_of_what_it_gets():
    writer = writer_of({'effort_quantum': (0.0, 0.25, 0.063)})
    torque = np.array([0.1234, -0.4, 0.1])
    writer.follow(np.zeros(6))
    read = deserialize_message(writer.write(torque), writer.message.type)
    np.testing.assert_allclose(read.data, [0.1234, -0.5, 2 * 0.063], rtol=1e-15)


@pytest.mark.parametrize('gains, compensates, silence, words', [
    ((500.0, 0.5, *[500.0] * 5), False, 'repeat', "drive_kp 0.5 of joint 'joint2' does not hold"),
    ((500.0, 1.0, *[5.0] * 5), False, 'repeat', "drive_kp 1 of joint 'joint2' does not hold"),
    ((500.0,), False, 'repeat', ''), ((0.0,), False, 'repeat', 'drive_kp 0 of joint'),
    ((0.0,), True, 'repeat', ''), (None, False, 'repeat', ''), ((500.0,), False, 'damp', 'sinks'),
    (None, True, 'damp', ''), ((500.0,), True, 'disable', 'falls')])
def test_an_arm_that_falls_in_silence_is_known(gains, compensates, silence, words):
    writer = writer_of({} if gains is None else {
        'command_type': FORMS[2][0], 'command_fields': FIVE, 'drive_kp': gains}, MODEL.joint_names)
    why = writer.falls_in_silence(Dynamics(MODEL), compensates, silence)
    assert words in why and bool(words) == bool(why)
    if 'does not hold' in why:  # what is asked for is enough, and no more than that
        needed = float(why.split()[-4])
        for kp, falls in ((needed, False), (needed - 1.0, True)):
            raised = writer_of({'command_type': FORMS[2][0], 'command_fields': FIVE,
                                'drive_kp': tuple(np.maximum(gains, kp))}, MODEL.joint_names)
            assert bool(raised.falls_in_silence(Dynamics(MODEL), compensates, silence)) == falls


def test_efforts_by_name_have_no_gains_of_the_message_before():
    form = message_of('trajectory_msgs/msg/JointTrajectory', FIVE, NAMES)
    five = np.arange(15.0).reshape(5, 3)
    reader = CommandReader(NAMES, NAMES[::-1])
    assert reader.read(deserialize_message(form.write(five.ravel()), form.type), form)
    np.testing.assert_array_equal(reader.command, five)
    assert reader.read_named(JointState(name=['b'], effort=[7.0]))
    five[0, 1], five[1:, 1] = 7.0, np.nan
    np.testing.assert_array_equal(reader.command, five)
    reader.clear()
    np.testing.assert_array_equal(reader.torque, np.zeros(3))
    assert np.isnan(reader.command[1:]).all()
