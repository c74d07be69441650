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
from robodyn_ros.nodes.simulator.adversary import Adversary
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

    """

    def __init__(self, node: Node, model: RobotModel, clock: bool):
        self._states = node.create_publisher(JointState, 'joint_states', qos.reliable(5))
        self._truth = node.create_publisher(JointState, '~/ground_truth', qos.reliable(_DEPTH))
        self._clock = node.create_publisher(Clock, '/clock', qos.reliable()) if clock else None
        self._clock_message = Clock()
        self._writer = JointStateWriter(model.body_joints)
        self._true = JointStateWriter(model.body_joints)
        self._names = tuple(model.body_joints)
        self._last = b''
        self._coordinate, self._multiplier = model.coordinate, model.multiplier
        self._offset = model.offset
        self._leads = np.array([joint == model.joint_names[c] for joint, c in
                                zip(model.body_joints, model.coordinate)], dtype=float)
        self._listened = self._told = False

    def look(self) -> None:
        """Find out who listens; to be called now and then."""
        self._listened = self._truth.get_subscription_count() > 0
        self._told = self._clock is not None and self._clock.get_subscription_count() > 0

    def publish(self, plant: Plant, adversary: Adversary, stamp: int) -> bool:
        """
        Publish the state of a plant.

        Parameters
        ----------
        plant : Plant
            Its state.
        adversary : Adversary
            What stands between it and the topic.
        stamp : int
            Time of the state (ns).

        Returns
        -------
        bool
            Whether anything went out on `joint_states`.

        """
        self.tell_time(stamp)
        if self._listened:
            self._fill(self._true, plant.q, plant.qd, plant.applied)
            self._truth.publish(self._true.write(stamp))
        if not adversary.measure(plant):
            return False
        sensors, writer = adversary.sensors, self._writer
        self._fill(writer, sensors.position, sensors.velocity, sensors.effort)
        if adversary.honest:
            self._last = writer.write(stamp)
            self._states.publish(self._last)
            return True
        reports = adversary.spoil(plant.time, StateReport(
            self._names, writer.position.copy(), writer.velocity.copy(), writer.effort.copy(),
            stamp))
        for report in reports:
            self._last = _message(report)
            self._states.publish(self._last)
        return bool(reports)

    def repeat(self) -> None:
        """Publish the last state once more, for those who were not there yet."""
        if self._last:
            self._states.publish(self._last)

    def tell_time(self, stamp: int) -> None:
        """Publish simulated time, if that is what stamps are and somebody wants to know."""
        if self._told:
            set_stamp(self._clock_message.clock, stamp)
            self._clock.publish(self._clock_message)

    def _fill(self, writer: JointStateWriter, q: NDArray, qd: NDArray, effort: NDArray) -> None:
        coordinate = self._coordinate
        np.multiply(self._multiplier, q[coordinate], out=writer.position)
        writer.position += self._offset
        np.multiply(self._multiplier, qd[coordinate], out=writer.velocity)
        np.multiply(self._leads, effort[coordinate], out=writer.effort)


def _message(report: StateReport) -> bytes:
    writer = JointStateWriter(report.names)
    writer.position[:], writer.velocity[:] = report.position, report.velocity
    writer.effort[:] = report.effort
    return writer.write(report.stamp)
