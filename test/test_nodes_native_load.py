"""The control loop in machine code while Python is busy: no jump, nothing lost."""

from pathlib import Path
import random
import time

from expected_loop import LOOP
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, logged, MODEL, NODE, PATIENT, simulator, trajectory)
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from guarded_arm import Scene  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

if LOOP != 'native':
    pytest.skip('there is no loop in machine code here', allow_module_level=True)

RATE = 100.0     # Hz of the states; the probe receives all, and sends requests besides
GOALS, CHANGES = 50.0, 100.0  # Hz
LASTS = 2.0      # s
POINTS = 20_000  # as many as are accepted
WAITING = 5      # requests at a time; a service of ROS keeps no more than ten
STICKING = 0.06  # rad at which friction can hold the lightest joint
GROWTH = 12e6    # bytes; what is garbage, or fragmented, differs by a few million


class Load:
    """Requests changes of the gains, and new goals, all the time."""

    def __init__(self, probe):
        self._probe, self._random = probe, random.Random(1)
        self.goals = probe.publisher(JointTrajectory, f'{NODE}/joint_trajectory')
        self._client = probe.node.create_client(SetParameters, f'{NODE}/set_parameters')
        probe.until(self._client.service_is_ready, 'the parameter service')
        self._answers = []

    def set_goal(self):
        offset = self._random.uniform(-0.1, 0.1)
        self.goals.publish(trajectory(MODEL.joint_names, HOME + offset, seconds=0.4))

    def change(self):
        if sum(not each.done() for each in self._answers) < WAITING:
            value = Parameter('natural_frequency', value=[self._random.uniform(15.0, 25.0)])
            self._answers.append(self._client.call_async(
                SetParameters.Request(parameters=[value.to_parameter_msg()])))

    def go_on(self, until, *works):
        """Do each of (act, Hz) that often until a condition holds; return how many changes."""
        due = {act: time.monotonic() for act, _ in works}
        periods = {act: 1.0 / rate for act, rate in works}
        while not until():
            act = min(due, key=due.get)
            self._probe.spin(max(due[act] - time.monotonic(), 0.0))
            if time.monotonic() >= due[act]:
                due[act] = max(due[act] + periods[act], time.monotonic() - periods[act])
                act()
        self._probe.until(lambda: all(each.done() for each in self._answers), 'all answers')
        answers, self._answers = self._answers, []
        assert all(each.result().results[0].successful for each in answers)
        return len(answers)


@pytest.fixture(scope='module')
def scene():
    with Probe('load_probe') as probe, simulator(publish_rate=RATE) as plant:
        yield Scene(probe, plant)


def memory(process):
    """Return the bytes of memory that a process has."""
    fields = Path(f'/proc/{process.process.pid}/status').read_text().split()
    return 1024 * int(fields[fields.index('VmRSS:') + 1])


def wave():
    """Return a serialized trajectory of as many points as are accepted."""
    t = 0.005 * np.arange(1, POINTS + 1)
    way = 0.05 * np.sin(0.6 * t) * (1.0 - np.cos(2.0 * np.pi * t / t[-1]))
    return serialize_message(trajectory(
        MODEL.joint_names, *(HOME + way[:, None]), seconds=float(t[-1])))


@pytest.mark.realtime
def test_long_trajectories_goals_and_gains_change_all_the_time(scene):
    probe, long = scene.probe, wave()
    diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')
    with NodeProcess(CONTROLLER, {'urdf_file': str(ARM), **PATIENT}) as process:
        scene.begin(None)
        process.wait_for_output('loop: native')
        process.wait_for_output(ACTIVE)
        load, begin = Load(probe), time.monotonic()
        changes = load.change, CHANGES
        # a check that takes seconds of Python
        load.goals.publish(long)
        load.go_on(lambda: logged(process, f'trajectory of {POINTS} points accepted')
                   or time.monotonic() > begin + 30.0, changes)
        assert logged(process, f'trajectory of {POINTS} points accepted') == 1, process.output
        references = probe.subscribe(JointState, f'{NODE}/reference', qos.reliable(1000))
        probe.until(lambda: references, 'references')
        sizes = []
        for _ in range(2):
            end = time.monotonic() + LASTS
            # how many are answered in this time depends on the machine
            assert load.go_on(lambda: time.monotonic() > end, changes,
                              (load.set_goal, GOALS)) >= WAITING
            sizes.append(memory(process))
        # the newest counts, whatever became of the others
        load.goals.publish(trajectory(MODEL.joint_names, HOME + 0.3, seconds=1.5))
        probe.until(lambda: np.abs(scene.q - HOME - 0.3).max() < STICKING
                    or logged(process, 'refused') or logged(process, 'fault'), 'the last goal')
        assert not logged(process, 'refused') and not logged(process, 'fault'), process.output
        scene.catch_up()
        assert sizes[1] - sizes[0] < GROWTH
        # every torque has its reference, in the same order
        sent = np.array([torque for _, torque in scene.sent])
        efforts = np.array([each.effort for each in references])
        assert len(efforts) > LASTS * RATE
        assert any(np.array_equal(efforts[:len(sent) - first], sent[first:first + len(efforts)])
                   for first in np.flatnonzero((sent == efforts[0]).all(axis=1)))
        # the check of the long trajectory keeps Python busy for longer
        assert scene.gap < 0.25 and scene.steps.max() < 1.0
        count = len(diagnostics)
        probe.until(lambda: len(diagnostics) > count, 'diagnostics')
        values = {pair.key: pair.value for each in diagnostics[-2:] for status in each.status
                  if 'controller' in status.name for pair in status.values}
        assert values['loop'] == 'native' and values['trajectories refused'] == '0'
        for wrong in 'torques withheld', 'errors of the middleware', 'cycles not reported':
            assert values[wrong] == '0', wrong
        assert process.stop()[0] == 0
