"""Laws from outside at the controller node: a regulator over DDS, and a law of the user."""

import math
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, logged, MODEL, NODE, PATIENT, RATE, send, simulator,
    trajectory, Wire)
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from fake_arm import fake_controller, FakeArm, START  # noqa: E402
from lqr import command, regulator  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ArgumentError  # noqa: E402
from robodyn_ros.nodes.controller.inputs import LinearFeedbackReader  # noqa: E402
from ros_process import NodeProcess, ROOT  # noqa: E402
from std_msgs.msg import (  # noqa: E402
    Float64MultiArray, MultiArrayDimension, MultiArrayLayout)
from std_srvs.srv import Trigger  # noqa: E402

DYNAMICS = Dynamics(MODEL)
NAMES = list(MODEL.joint_names)
GAIN = regulator(DYNAMICS, HOME)
TOPIC = f'{NODE}/linear_feedback'


def message(given, names=(), columns=17):
    """Return a message of a command whose rows are in an order of names; empty: the model's."""
    order = [NAMES.index(name) for name in names] or list(range(7))
    gain = given.gain[order][:, [*order, *(7 + i for i in order)]]
    rows = np.column_stack((given.feedforward[order], given.position[order], given.velocity[order],
                            gain))
    return Float64MultiArray(
        layout=MultiArrayLayout(dim=[MultiArrayDimension(label=','.join(names), size=7),
                                     MultiArrayDimension(label='', size=columns)]),
        data=rows.ravel().tolist())


HELD = command(DYNAMICS, HOME, GAIN)


# --- the reader ---------------------------------------------------------------------------------


@pytest.mark.parametrize('names', [[], NAMES, NAMES[::-1], [*NAMES[3:], *NAMES[:3]]])
def test_rows_and_columns_are_mapped_by_name(names):
    given = command(DYNAMICS, HOME, np.arange(98.0).reshape(7, 14), np.arange(7.0))
    found = LinearFeedbackReader(NAMES).decode(serialize_message(message(given, names)))
    for part in ('feedforward', 'position', 'velocity', 'gain'):
        np.testing.assert_array_equal(getattr(found, part), getattr(given, part))


def changed(change):
    bad = message(HELD, NAMES)
    change(bad)
    return bad


@pytest.mark.parametrize('bad, words', [
    (changed(lambda m: setattr(m.layout.dim[0], 'label', ','.join([*NAMES[:6], 'jont7']))),
     "joint 'jont7' is not in the model: did you mean 'joint7'"),
    (changed(lambda m: setattr(m.layout.dim[0], 'label', ','.join([*NAMES[:6], 'joint1']))),
     "joint 'joint1' is named twice"),
    (changed(lambda m: setattr(m.layout.dim[0], 'label', ','.join(NAMES[:6]))),
     'joints not named: joint7'),
    (changed(lambda m: setattr(m.layout.dim[1], 'size', 16)),
     r'layout has dimensions \(7, 16\) and offset 0; for 7 joints give \(7, 17\) and 0'),
    (changed(lambda m: m.layout.dim.pop()), r'layout has dimensions \(7,\)'),
    (changed(lambda m: setattr(m.layout, 'data_offset', 3)), 'and offset 3'),
    (changed(lambda m: m.data.pop()), '118 numbers; 7 x 17 are 119')])
def test_names_and_sizes_are_checked(bad, words):
    reader = LinearFeedbackReader(NAMES)
    with pytest.raises(ArgumentError, match=words):
        reader.read(bad)
    reader.read(message(HELD))


def test_a_message_that_is_too_large_is_refused_unread():
    reader = LinearFeedbackReader(NAMES)
    with pytest.raises(ArgumentError, match='a message of 10000 bytes, more than 1520; for 7 '
                       'joints give 7 x 17 numbers'):
        reader.decode(bytes(10000))
    with pytest.raises(ArgumentError, match='44 bytes that are no Float64MultiArray'):
        reader.decode(b'\0\1\0\0' + b'\xff' * 40)
    with_spaces = changed(lambda m: setattr(m.layout.dim[0], 'label', ' , '.join(NAMES)))
    np.testing.assert_array_equal(reader.decode(serialize_message(with_spaces)).gain, HELD.gain)


# --- over DDS -----------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def robot():
    with simulator() as process:
        yield process
        assert 'Traceback' not in process.output


class Sender:
    """Sends a message at 100 Hz while it lives, as a node of its own would."""

    def __init__(self, probe, what):
        self._probe, self.what, self.sent = probe, what, 0
        self._publisher = probe.publisher(Float64MultiArray, TOPIC)
        self._timer = probe.node.create_timer(0.01, self._send)

    def _send(self):
        self._publisher.publish(self.what())
        self.sent += 1

    def die(self):
        """Take it away at once."""
        self._probe.node.destroy_timer(self._timer)
        self._probe.node.destroy_publisher(self._publisher)


def figures(messages):
    """Return the newest figures of the controller."""
    found = [status for each in messages for status in each.status
             if status.name.endswith(f'{NODE}: controller')]
    return {pair.key: pair.value for pair in found[-1].values} if found else {}


@pytest.mark.realtime
def test_the_regulator_of_the_page_holds_the_arm_until_it_is_killed(probe, robot, tmp_path):
    page = (ROOT / 'docs' / 'own_law.md').read_text(encoding='utf-8')
    script = tmp_path / 'regulator.py'
    script.write_text(re.findall(r'```python\n(.*?)```', page, re.DOTALL)[-1])
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(
        [str(ROOT), os.environ.get('PYTHONPATH', '')])}
    # a second: short of processor time the regulator itself may pause
    with NodeProcess(CONTROLLER, {**PATIENT, 'mode': 'linear_feedback',
                                  'linear_feedback.timeout': 1.0}) as controller:
        controller.wait_for_output(ACTIVE)
        reports = probe.subscribe(DiagnosticArray, '/diagnostics')
        regulator = subprocess.Popen([sys.executable, script, str(ARM)], env=environment)
        try:
            probe.until(lambda: figures(reports).get('law') == 'linear_feedback', 'the regulator')
            probe.spin_for(1.0)
        finally:
            regulator.kill()
            regulator.wait(10.0)
        probe.until(lambda: logged(controller, 'no good message on ~/linear_feedback for 1'),
                    'silence')
        arm = Wire(probe)
        probe.until(lambda: figures(reports).get('mode') == 'hold', 'the hold')
        probe.until(lambda: len(arm.states) > RATE and arm.moved(seconds=0.5) < 2e-4, 'the rest')
        arm.catch_up()
        held = arm.q
        probe.spin_for(1.0)
        arm.catch_up()
        assert np.abs(arm.q - held).max() < 2e-3, 'it drifts'
        assert not figures(reports)['fault']


def test_a_regulator_holds_and_leads_the_arm_and_its_death_ends_in_rest(probe, robot):
    # a second: as above
    with NodeProcess(CONTROLLER, {**PATIENT, 'mode': 'linear_feedback',
                                  'linear_feedback.timeout': 1.0}) as controller:
        controller.wait_for_output(ACTIVE)
        arm, reports = Wire(probe), probe.subscribe(DiagnosticArray, '/diagnostics')
        probe.until(lambda: figures(reports).get('mode') == 'hold', 'the hold')
        begin = len(arm.commands)
        start = time.monotonic()

        def pose():
            return HOME + 0.15 * (1.0 - math.cos(min(time.monotonic() - start, 1.0) * math.pi))

        sender = Sender(probe, lambda: message(command(DYNAMICS, pose(), GAIN), NAMES[::-1]))
        probe.until(lambda: figures(reports).get('law') == 'linear_feedback', 'the regulator')
        probe.until(lambda: time.monotonic() > start + 2.0, 'the end of the motion')
        arm.catch_up()
        # friction may hold a joint against so soft a spring
        assert np.abs(arm.q - HOME - 0.3).max() < 0.15
        assert np.abs(arm.q - HOME)[:4].min() > 0.15, 'it was not led'
        assert sender.sent > 100
        sender.die()
        probe.until(lambda: logged(controller, 'no good message on ~/linear_feedback for 1'),
                    'silence')
        probe.until(lambda: figures(reports).get('law') == 'computed_torque', 'the hold')
        arm.catch_up()
        silent = arm.q
        # the torque of the regulator fades out, and friction creeps until then
        probe.until(lambda: arm.moved(seconds=0.5) < 2e-4, 'the rest')
        held = arm.q
        assert np.abs(held - silent).max() < 0.02
        probe.spin_for(1.0)
        arm.catch_up()
        assert np.abs(arm.q - held).max() < 1e-3, 'it drifts'
        assert figures(reports)['mode'] == 'hold' and not figures(reports)['fault']
        assert np.isfinite(arm.torques[begin:]).all()

        sender = Sender(probe, lambda: message(command(DYNAMICS, held, -20.0 * GAIN)))
        refusal = ('refused on ~/linear_feedback: with these gains the motion of the arm would '
                   'grow by')
        probe.until(lambda: logged(controller, refusal), 'a refusal')
        sender.what = lambda: message(command(DYNAMICS, held, GAIN))
        probe.until(lambda: figures(reports).get('law') == 'linear_feedback', 'the regulator')
        assert int(figures(reports)['linear feedback messages refused']) > 0
        assert probe.call(Trigger, f'{NODE}/hold').success
        probe.until(lambda: logged(controller, 'set the parameter mode to linear_feedback, again'),
                    'a refusal while it is held')
        sender.die()
        assert controller.stop()[0] == 0 and 'Traceback' not in controller.output


def test_a_law_of_the_user_fails_and_the_arm_is_held(probe, robot, tmp_path, monkeypatch):
    (tmp_path / 'law_that_fails.py').write_text("""
from robodyn_ros.control.examples import scalar_law
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.flags import when


def failing(arm, x):
    breaks = when(x.qd_ref[0] > 0.05, float('nan'), 0.0)
    return {**scalar_law.stiffening(arm, x), Term.EFFORT: [breaks for _ in x.q]}
""")
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    with NodeProcess(CONTROLLER, {**PATIENT, 'mode': 'own_law',
                                  'own_law': 'law_that_fails:failing'}) as controller:
        controller.wait_for_output(ACTIVE)
        reports = probe.subscribe(DiagnosticArray, '/diagnostics')
        probe.until(lambda: figures(reports).get('law') == 'own_law', 'the law of the user')
        send(probe, controller, trajectory(MODEL.joint_names, HOME + 0.4, seconds=2.0))
        controller.wait_for_output('fault: own law: its torque is not a finite number')
        probe.until(lambda: figures(reports).get('law') == 'computed_torque', 'the built-in law')
        arm = Wire(probe)
        probe.until(lambda: len(arm.states) > RATE and arm.moved(seconds=0.5) < 2e-4, 'the rest')
        arm.catch_up()
        held = arm.q
        assert probe.call(Trigger, f'{NODE}/reset_fault').success
        probe.spin_for(1.0)
        arm.catch_up()
        assert np.abs(arm.q - held).max() < 2e-3
        assert figures(reports)['law'] == 'computed_torque'
        good, why = probe.set_parameter(NODE, 'mode', 'own_law')
        assert good, why
        probe.until(lambda: figures(reports).get('law') == 'own_law', 'the law of the user')
        assert controller.stop()[0] == 0 and 'Traceback' not in controller.output


@pytest.mark.parametrize('parameters, words', [
    ({'mode': 'own_law'}, 'mode own_law needs the parameter own_law: module:function'),
    ({'own_law': 'nowhere:Law'}, "own_law 'nowhere:Law': there is no module 'nowhere'"),
    ({'fixed_rate': 500.0, 'lockstep': True},
     'fixed_rate is 500 Hz, in real time; with lockstep')])
def test_what_cannot_work_ends_the_start(robot, parameters, words):
    with NodeProcess(CONTROLLER, parameters) as controller:
        assert controller.wait() != 0
        assert re.search(words, controller.output), controller.output


@pytest.mark.realtime
def test_at_a_fixed_rate_torques_leave_between_the_states(probe):
    with FakeArm(probe, 'fixed/') as arm, fake_controller(
            'fixed', fixed_rate=500.0, **PATIENT) as process:
        states = []
        arm.report = lambda message: states.append(message) or [message]
        probe.until(lambda: ACTIVE in process.output, 'activity')
        probe.spin_for(0.5)
        states.clear()
        since = len(arm.commands)
        probe.until(lambda: len(states) >= 100, 'states')
        # 200 states per second, 500 torques; some are lost on a busy machine
        assert len(arm.commands) - since > 1.6 * len(states)
        np.testing.assert_allclose(arm.q, START, atol=0.01)
        arm.report = None  # silence is what it was: of states alone
        begin = time.monotonic()
        probe.until(lambda: logged(process, 'joint states: no good data'), 'the fault')
        assert time.monotonic() - begin < 3.0
