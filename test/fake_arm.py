"""An arm of two joints within the test: a plant whose joint states the test can falsify."""

import time

from controller_node import CONTROLLER
import numpy as np
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.simulation import Plant
from ros_process import NodeProcess
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

# Upper arm and forearm in a vertical plane, at zero stretched out horizontally.
URDF = """<robot name="fake">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.002" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 -1 0"/><limit lower="-2" upper="2" effort="40" velocity="2"/>
    <dynamics damping="0.2" friction="0.1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 -1 0"/>
    <limit lower="-2.5" upper="2.5" effort="20" velocity="3"/>
    <dynamics damping="0.1" friction="0.05"/></joint>
</robot>"""
MODEL = RobotModel.from_urdf(URDF)
GRAVITY = Dynamics(MODEL).gravity
START = np.array([0.3, -0.5])


class FakeArm:
    """
    Two joints that report 200 times per second, while the probe spins.

    Parameters
    ----------
    probe : Probe
    namespace : str
        Of its topics, with a slash at its end, or empty.
    order : sequence of int
        In which its joints are commanded.

    Attributes
    ----------
    commands : list of (2,) arrays
        Torques received, in model order.
    sent : list of float
        When each of them was sent, in s.
    report : callable or None
        Called with each JointState message before it is published; returns the messages to
        publish instead. None: nothing is published.
    plant : Plant

    """

    def __init__(self, probe, namespace='', order=(0, 1)):
        self.plant = Plant(MODEL, 1e-3)
        self.plant.reset(START, brakes=True)
        self.commands, self.sent, self._order = [], [], list(order)
        self.report = lambda message: [message]
        self._node = probe.node
        self._publisher = self._node.create_publisher(
            JointState, f'{namespace}joint_states', qos.reliable(5))
        self._subscription = self._node.create_subscription(
            Float64MultiArray, f'{namespace}effort_controller/commands', self._command,
            qos.reliable(1000))
        self._timer = self._node.create_timer(0.005, self._advance)
        self._time = time.monotonic()

    def close(self):
        """Take its topics away."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)
        self._node.destroy_subscription(self._subscription)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def q(self):
        """Where it is."""
        return self.plant.q.copy()

    @property
    def torques(self):
        """All torques received, one row each."""
        return np.array(self.commands)

    def _command(self, message, info):
        self.sent.append(1e-9 * info['source_timestamp'])
        torque = np.zeros(2)
        torque[self._order] = message.data
        self.commands.append(torque)
        self.plant.release()

    def _advance(self):
        now = time.monotonic()
        torque = self.commands[-1] if self.commands else np.zeros(2)
        for _ in range(min(round(1e3 * (now - self._time)), 100)):
            self.plant.step(torque)
        self._time = now
        if self.report is None:
            return
        message = JointState(name=['shoulder', 'elbow'], position=self.plant.q.tolist(),
                             velocity=self.plant.qd.tolist())
        set_stamp(message.header.stamp, time.time_ns())
        for each in self.report(message):
            self._publisher.publish(each)


def fake_controller(namespace, **parameters):
    """Return a controller for such an arm."""
    return NodeProcess(CONTROLLER, {'robot_description': URDF,
                                    'driver_compensates_gravity': False, **parameters},
                       ['-r', f'__ns:=/{namespace}'])
