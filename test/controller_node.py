"""What the tests of the controller node share: the arm on the wire, and messages for it."""

from pathlib import Path
import time

from builtin_interfaces.msg import Duration
import numpy as np
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from ros_process import NodeProcess
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

CONTROLLER, SIMULATOR = 'robodyn_ros.nodes.controller.node', 'robodyn_ros.nodes.simulator.node'
NODE = 'computed_torque_controller'
COMMANDS = 'effort_controller/commands'
ACTIVE = 'active: the arm'
RELEASED = 'brakes released'  # by the simulator; before, no torque has reached it
ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
MODEL = RobotModel.from_urdf(ARM)
# Short of processor time any process may pause; where that is not what is tested. What is sent in
# the first seconds is that of the law alone.
PATIENT = {'driver_compensates_gravity': False, 'measure_loop': False, 'stale.hold': 0.6,
           'stale.stop': 1.0, 'stale.max_skew': 5.0, 'description_timeout': 60.0,
           'loop_patience': 5.0}
HOME = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
RATE = 250.0  # Hz; fast enough for the arm, slow enough for a probe to receive all messages


def simulator(**parameters):
    """Return a running simulator of the arm at home, which publishes at RATE."""
    places = [f'{name}:{q}' for name, q in zip(MODEL.joint_names, HOME.tolist())]
    return NodeProcess(SIMULATOR, {'urdf_file': str(ARM), 'initial_positions': places,
                                   'publish_rate': RATE, **parameters})


def trajectory(names, *goals, seconds=1.0):
    """Return a message that reaches the goals one after the other, at rest at the last."""
    points = []
    for i, goal in enumerate(goals, start=1):
        nanoseconds = round(1e9 * seconds * i / len(goals))
        points.append(JointTrajectoryPoint(
            positions=[float(q) for q in goal], time_from_start=Duration(
                sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)))
    return JointTrajectory(joint_names=list(names), points=points)


logged = NodeProcess.logged


def send(probe, process, message, namespace='', words='accepted'):
    """
    Send a trajectory, and wait until the controller has answered with these words in its log.

    Discovery is not done on both sides at the same time: a message that comes before the
    controller has discovered its sender is lost, and sent again.

    Returns
    -------
    since : int
        Number of lines that the controller had written before.

    """
    since = len(process.lines)
    publisher = probe.publisher(JointTrajectory, f'{namespace}{NODE}/joint_trajectory')
    for _ in range(10):
        publisher.publish(message)
        end = time.monotonic() + 2.0
        while not logged(process, ' trajectory ', since) and time.monotonic() < end:
            probe.spin()
        if logged(process, ' trajectory ', since):
            break
    probe.node.destroy_publisher(publisher)
    answer = '\n'.join(process.lines[since:])
    assert words in answer, answer or 'no answer'
    return since


def set_in_motion(probe, process, arm, message, speed):
    """
    Send a trajectory, and wait until the arm is so fast; again if a gap ended it before.

    The first torques find no arm before it has discovered their sender: the brakes hold it, and a
    motion then ends by its tolerance. Return how many lines the process had written before.
    """
    probe.until(arm.released, 'the release of the brakes')

    def moving():
        return np.abs(arm.qd).max() > speed

    for _ in range(5):
        since = send(probe, process, message)
        probe.until(lambda: moving() or logged(process, 'given up after a gap', since)
                    or logged(process, 'silent', since) or not process.alive, 'motion')
        if moving():
            return since
    raise AssertionError(process.output)


def wait_for_goal(probe, process, since):
    """Wait until the controller logs that the goal of a trajectory is reached."""
    try:
        probe.until(lambda: logged(process, 'the goal is reached', since), 'the goal')
    except AssertionError as error:
        raise AssertionError('\n'.join([str(error), *process.lines[since:]])) from None


class Arm:
    """
    States of an arm, as received.

    Attributes
    ----------
    states : list
        Received messages.

    """

    def __init__(self, probe, plant):
        self.probe, self.plant, self._braked = probe, plant, 0
        self.states = probe.subscribe(JointState, 'joint_states', qos.reliable(1000))
        probe.until(lambda: self.states, 'a state')

    def catch_up(self):
        """Receive all messages sent until now; on a busy machine they may wait in queues."""
        now = time.time()
        self.probe.until(lambda: self.states[-1].header.stamp.sec
                         + 1e-9 * self.states[-1].header.stamp.nanosec > now, 'the present')
        self.probe.spin_for(0.05)

    @property
    def q(self):
        """Newest positions."""
        return np.array(self.states[-1].position)

    @property
    def qd(self):
        """Newest velocities."""
        return np.array(self.states[-1].velocity)

    def reset(self):
        """Put the arm home, held by brakes."""
        self._braked = len(self.plant.lines)
        assert self.probe.call(Trigger, 'robot_simulator/reset').success
        self.until(lambda: np.abs(self.q - HOME).max() < 1e-6, 'the arm at home')
        self.catch_up()

    def released(self):
        """Return whether a command has reached the arm since it was put home."""
        return self.plant.logged(RELEASED, self._braked)

    def until(self, condition, what):
        """Wait until a condition holds."""
        self.probe.until(condition, what)

    def rest(self):
        """Wait until nothing moves."""
        self.until(lambda: np.abs(self.qd).max() < 5e-3, 'rest')

    def moving(self):
        """Wait until it moves."""
        self.until(lambda: np.abs(self.qd).max() > 0.3, 'motion')

    def moved(self, seconds):
        """Return the largest motion of a joint in the newest states, in rad."""
        newest = np.array([state.position for state in self.states[-round(seconds * RATE):]])
        return np.ptp(newest, axis=0).max()


class Wire(Arm):
    """
    Messages between an arm and its controller.

    Attributes
    ----------
    commands : list
        Received messages.

    """

    def __init__(self, probe, plant=None):
        self.commands = probe.subscribe(Float64MultiArray, COMMANDS, qos.reliable(1000))
        super().__init__(probe, plant)

    @property
    def torques(self):
        """Received efforts, one row each."""
        return np.array([command.data for command in self.commands])
