"""Arms whose drives take more than efforts: activation, and their guard."""

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import ACTIVE, Arm, COMMANDS, MODEL, set_in_motion, simulator  # noqa: E402
from guarded_arm import controller, FAR, guard  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.model.per_joint import COMMAND  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.command_message import CommandMessage, MessageSettings  # noqa: E402
from ros_process import Probe, wait_until  # noqa: E402
from std_msgs.msg import Header  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from test_nodes_command_message import FIVE  # noqa: E402

SOFT = 2.5  # s after which the guard holds an arm whose loop was not measured
KIND = 'trajectory_msgs/msg/JointTrajectory'
FORMS = {  # fields and gains; habits of the driver
    'five numbers': ({'command_fields': FIVE, 'drive_kp': [60.0], 'drive_kd': [2.0]},
                     {'driver.kp': [80.0], 'driver.spring': 'zero'}),
    'position with effort': ({'command_fields': (*FIVE[:4], FIVE[-1]), 'drive_kd': [2.0]},
                             {'driver.kp': [50.0], 'driver.kd': [2.0],
                              'driver.ignores': 'effort_alone'})}


@pytest.mark.parametrize('form', FORMS)
def test_drives_with_gains_are_guarded(form):
    """The arm comes to rest, and stays there, also with the last command when the guard ends."""
    given, habits = FORMS[form]
    message = {'command_type': KIND, 'command_fields': given['command_fields']}
    given = {**message, **given}
    made = CommandMessage(MODEL.joint_names, (), MessageSettings(*message.values()))
    with Probe('drives_probe') as probe, simulator(**message, **habits) as plant:
        sent = probe.subscribe(made.type, COMMANDS, qos.reliable(1000))
        states = probe.subscribe(Header, 'guard/state', qos.latched())
        arm = Arm(probe, plant)
        with guard(**given) as guarding:
            with controller(**given) as dying:
                dying.wait_for_output(ACTIVE)
                probe.until(lambda: states and states[-1].frame_id == 'armed', 'armed')
                set_in_motion(probe, dying, arm, FAR, 0.6)
                fastest = np.abs(arm.qd).max()
                dying.process.kill()
            probe.until(lambda: states[-1].frame_id == 'commanding', 'commanding')
            taken = len(arm.states)
            arm.rest()
            probe.spin_for(SOFT)
            arm.catch_up()
            speeds = [np.abs(each.velocity).max() for each in arm.states[taken:]]
            assert max(speeds) < 1.1 * max(fastest, speeds[0])
            assert arm.moved(1.0) < 2e-3
            effort, position, velocity, *gains = made.read(sent[-1])
            assert not np.any(gains) and not velocity.any()
            np.testing.assert_allclose(position, arm.q, atol=1e-3)
            np.testing.assert_allclose(effort, Dynamics(MODEL).gravity(arm.q), atol=0.5)
            with controller(**given, **{'guard.use': 'expected'}) as following:
                wait_until(lambda: probe.call(Trigger, 'guard/reset').success, 'the reset')
                following.wait_for_output(ACTIVE)
                probe.until(lambda: states[-1].frame_id == 'armed', 'armed again')
                probe.spin_for(1.0)
                assert arm.moved(1.0) < 2e-3
                following.process.kill()
            probe.until(lambda: states[-1].frame_id == 'commanding', 'commanding again')
            probe.spin_for(1.0)
            guarding.process.send_signal(signal.SIGINT)
            assert guarding.process.wait(20.0) == 0
        arm.catch_up()
        last = dict(zip(COMMAND, made.read(sent[-1])))
        np.testing.assert_allclose(last['effort'], Dynamics(MODEL).gravity(arm.q), atol=0.5)
        for name in ('kp', 'kd'):
            commanded = given[f'drive_{name}'] if 'points.1' in str(given) else [0.0]
            np.testing.assert_array_equal(last[name], np.resize(commanded, MODEL.nv))
        probe.spin_for(1.0)
        assert arm.moved(1.0) < 2e-3


@pytest.mark.parametrize('given, reason', [
    ({'command_type': KIND, 'command_fields': FIVE, 'drive_kp': [1.0]},
     "drive_kp 1 of joint 'joint2' does not hold the arm against gravity"),
    ({'silence.drives': 'disable'}, 'the drives disable the motors: the arm falls')])
def test_an_arm_that_falls_in_silence_is_not_taken_over_unless_it_may(given, reason):
    message = {name: given[name] for name in ('command_type', 'command_fields') if name in given}
    with simulator(**message):
        with controller(**given) as waits:
            waits.wait_for_output('waiting: when commands stop, the drives')
            assert reason in waits.output and 'silence.may_fall: true' in waits.output
            assert ACTIVE not in waits.output
        with controller(**given, **{'silence.may_fall': True}) as falls:
            falls.wait_for_output(ACTIVE)
            falls.wait_for_output(reason)
