"""What a simulated arm tells of its state: as its sensors have it, and as it is."""

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
from robodyn_ros.nodes.simulator.sensors_and_faults import SensorsAndFaults
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.fault_injection import StateReport

_DEPTH = 1000  # of the truth: a recorder may look a few times a second


class StatePublisher:
    """
    Publishes `joint_states`, `~/ground_truth` while somebody listens, and `/clock`.

    Joints that mimic another are published as well, as by a real driver, without effort.

    Parameters
    ----------
    node : Node
        Owns the topics.
    model : RobotModel
        Its joints.
    clock : bool
        Whether stamps are simulated time, and `/clock` is published.

    Attributes
    ----------
    states, truth, clock : Publisher or None
        Of the topics.
    names : tuple of str
        Joints, in the order of the messages.
    coordinate, multiplier, offset, leads : (n,) array
        Of each: its joint of the model, what it moves in proportion to it and from where, and
        whether its effort is that of the joint (1) or none (0).
    listened, told : bool
        Whether somebody wants to know the truth, and the time.

    """

    def __init__(self, node: Node, model: RobotModel, clock: bool):
        self.states = node.create_publisher(JointState, 'joint_states', qos.reliable(5))
        self.truth = node.create_publisher(JointState, '~/ground_truth', qos.reliable(_DEPTH))
        self.clock = node.create_publisher(Clock, '/clock', qos.reliable()) if clock else None
        self._clock_message = Clock()
        self._writer = JointStateWriter(model.body_joints)
        self._true = JointStateWriter(model.body_joints)
        self.names = tuple(model.body_joints)
        self._last = b''
        self.coordinate, self.multiplier = model.coordinate, model.multiplier
        self.offset = model.offset
        self.leads = np.array([joint == model.joint_names[c] for joint, c in
                               zip(model.body_joints, model.coordinate)], dtype=float)
        self.listened = self.told = False

    def look(self) -> None:
        """Find out who listens; to be called now and then."""
        self.listened = self.truth.get_subscription_count() > 0
        self.told = self.clock is not None and self.clock.get_subscription_count() > 0

    def publish(self, plant: Plant, measurement: SensorsAndFaults, stamp: int) -> bool:
        """
        Publish the state of a plant.

        Parameters
        ----------
        plant : Plant
            Its state.
        measurement : SensorsAndFaults
            What stands between it and the topic.
        stamp : int
            Time of the state (ns).

        Returns
        -------
        bool
            Whether anything went out on `joint_states`.

        """
        self.publish_clock(stamp)
        if self.listened:
            self._fill(self._true, plant.q, plant.qd, plant.applied)
            self.truth.publish(self._true.write(stamp))
        if not measurement.measure(plant):
            return False
        sensors, writer = measurement.sensors, self._writer
        self._fill(writer, sensors.position, sensors.velocity, sensors.effort)
        if measurement.nominal:
            self._last = writer.write(stamp)
            self.states.publish(self._last)
            return True
        reports = measurement.apply(plant.time, StateReport(
            self.names, writer.position.copy(), writer.velocity.copy(), writer.effort.copy(),
            stamp))
        for report in reports:
            self._last = _message(report)
            self.states.publish(self._last)
        return bool(reports)

    def repeat(self) -> None:
        """Publish the last state once more, for those who were not there yet."""
        if self._last:
            self.states.publish(self._last)

    def publish_clock(self, stamp: int) -> None:
        """Publish simulated time, if that is what stamps are and somebody wants to know."""
        if self.told:
            set_stamp(self._clock_message.clock, stamp)
            self.clock.publish(self._clock_message)

    def _fill(self, writer: JointStateWriter, q: NDArray, qd: NDArray, effort: NDArray) -> None:
        coordinate = self.coordinate
        np.multiply(self.multiplier, q[coordinate], out=writer.position)
        writer.position += self.offset
        np.multiply(self.multiplier, qd[coordinate], out=writer.velocity)
        np.multiply(self.leads, effort[coordinate], out=writer.effort)


def _message(report: StateReport) -> bytes:
    writer = JointStateWriter(report.names)
    writer.position[:], writer.velocity[:] = report.position, report.velocity
    writer.effort[:] = report.effort
    return writer.write(report.stamp)
