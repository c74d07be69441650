"""Publishers of the state of a simulated arm: measured state, true state, clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateWriter
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.nodes.publishers import send
from robodyn_ros.nodes.simulator.simulated_arm import SensorsAndFaults
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.reports import StateReport

# of the true states, and of all where time is simulated, which waits for no recorder: one may poll
# only a few times a second
_DEPTH = 1000


class StatePublisher:
    """
    Publishes `joint_states`, and, while subscribed to, `~/ground_truth` and `/clock`.

    Mimic joints are published as well, as by a real driver, without effort.

    Parameters
    ----------
    node : Node
        Owner of the topics.
    model : RobotModel
        Model of the arm.
    clock : bool
        Whether stamps are simulated time, and `/clock` is published.

    Attributes
    ----------
    states, truth, clock : Publisher or None
        Publishers of measured states, true states and time.
    names : tuple of str
        Joints, in the order of the messages.
    coordinate, multiplier, offset, independent : (n,) array
        Model index of each joint, position as `multiplier q + offset`, and 1 for joints with an
        effort of their own, 0 for mimic joints.
    truth_subscribed, clock_subscribed : bool
        Whether `~/ground_truth` and `/clock` have subscribers.

    """

    def __init__(self, node: Node, model: RobotModel, clock: bool):
        self.states = node.create_publisher(
            JointState, 'joint_states', qos.reliable(_DEPTH if clock else 5))
        self.truth = node.create_publisher(JointState, '~/ground_truth', qos.reliable(_DEPTH))
        self.clock = node.create_publisher(Clock, '/clock', qos.reliable()) if clock else None
        self._clock_message = Clock()
        self._writer = JointStateWriter(model.body_joints)
        self._true = JointStateWriter(model.body_joints)
        self.names = tuple(model.body_joints)
        self._last = b''
        self.coordinate, self.multiplier = model.coordinate, model.multiplier
        self.offset = model.offset
        self.independent = np.array([joint == model.joint_names[c] for joint, c in
                                     zip(model.body_joints, model.coordinate)], dtype=float)
        self.truth_subscribed = self.clock_subscribed = False

    def update_subscribers(self) -> None:
        """Check which topics have subscribers; to be called periodically."""
        self.truth_subscribed = self.truth.get_subscription_count() > 0
        self.clock_subscribed = (self.clock is not None
                                 and self.clock.get_subscription_count() > 0)

    def publish(self, plant: Plant, measurement: SensorsAndFaults, stamp: int) -> bool:
        """
        Publish the state of a plant.

        Parameters
        ----------
        plant : Plant
            Simulated arm.
        measurement : SensorsAndFaults
            Its sensors and faults.
        stamp : int
            Time of the state, in ns.

        Returns
        -------
        bool
            Whether a message was published on `joint_states`.

        """
        self.publish_clock(stamp)
        if self.truth_subscribed:
            self._fill(self._true, plant.q, plant.qd, plant.applied)
            send(self.truth, self._true.write(stamp))
        if not measurement.measure(plant):
            return False
        sensors, writer = measurement.sensors, self._writer
        self._fill(writer, sensors.position, sensors.velocity, sensors.effort)
        if measurement.nominal:
            self._last = writer.write(stamp)
            send(self.states, self._last)
            return True
        reports = measurement.apply(plant.time, StateReport(
            self.names, writer.position.copy(), writer.velocity.copy(), writer.effort.copy(),
            stamp))
        for report in reports:
            self._last = _message(report)
            send(self.states, self._last)
        return bool(reports)

    def repeat(self) -> None:
        """Publish the last state once more, for new subscribers."""
        if self._last:
            send(self.states, self._last)

    def publish_clock(self, stamp: int) -> None:
        """Publish simulated time on `/clock`, if it has subscribers."""
        if self.clock is not None and self.clock_subscribed:
            set_stamp(self._clock_message.clock, stamp)
            send(self.clock, self._clock_message)

    def _fill(self, writer: JointStateWriter, q: NDArray, qd: NDArray, effort: NDArray) -> None:
        coordinate = self.coordinate
        np.multiply(self.multiplier, q[coordinate], out=writer.position)
        writer.position += self.offset
        np.multiply(self.multiplier, qd[coordinate], out=writer.velocity)
        np.multiply(self.independent, effort[coordinate], out=writer.effort)


def _message(report: StateReport) -> bytes:
    writer = JointStateWriter(report.names)
    writer.position[:], writer.velocity[:] = report.position, report.velocity
    writer.effort[:] = report.effort
    return writer.write(report.stamp)
