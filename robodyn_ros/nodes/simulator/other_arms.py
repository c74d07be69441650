"""Another arm on the topics of the simulated one: the torques there are those of its pose."""

from __future__ import annotations

from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.polling import Heard, PolledSubscription
from robodyn_ros.nodes.publishers import publisher_names
from robodyn_ros.nodes.simulator.simulated_arm import SimulatedArm

_LISTEN = 0.1   # s to hear another publisher, once all topics are open; more delays a motion
_DEPTH = 200    # states that can wait: the own ones do not displace those of a slow publisher


class OtherArms:
    """
    Keeps the brakes of a new arm on while another node reports the state of the same joints.

    A controller answers the states of the arm that it was activated with. Its torques reach all
    subscribers of their topic, and would throw an arm in another pose. The arm that was there
    first goes on: its brakes have been released before.

    Parameters
    ----------
    node : Node
        The simulator node.
    arm : SimulatedArm
        The simulated arm.

    Attributes
    ----------
    over : bool
        Whether nothing is looked for any more, because the brakes have been released.

    """

    def __init__(self, node: Node, arm: SimulatedArm):
        self._node, self._arm = node, arm
        self._joints = frozenset(arm.plant.model.joint_names)
        # among the first of the node: one that comes later may be discovered after seconds
        self._states = PolledSubscription(node, JointState, 'joint_states', qos.newest(_DEPTH),
                                          JointStateDecoder().decode)
        self._heard = Heard()
        self._sure = 0.0
        self._problem = ''
        self.over = False

    def start(self, now: float) -> str:
        """Begin to listen, at a time in s; return why the brakes stay on meanwhile."""
        self._sure = now + _LISTEN
        return 'other arms are looked for'

    def reason(self, now: float) -> str:
        """Listen until the first release; return why the brakes stay on; '' if they need not."""
        arm = self._arm
        if not arm.plant.brakes:
            self._states.destroy()
            self.over = True
            return ''
        if now < self._sure:
            return arm.held
        for sample in self._states.waiting():
            if self._joints.intersection(sample.name):
                self._heard.add(self._states.source, now)
        heard = list(self._heard.recent(now))
        if len(heard) < 2:
            self._problem = ''
        else:
            arm.asked = False
            if not self._problem:
                self._problem = self._conflict(heard)
                self._node.get_logger().error(self._problem)
        return self._problem

    def _conflict(self, sources: list[bytes]) -> str:
        names = publisher_names(self._node, self._states.topic, sources)
        return (f'{names}: several nodes report the same joints on {self._states.topic}, and '
                'torques are those for one of them: the brakes stay on. Stop the other one, or '
                'start this simulator in a namespace of its own (--ros-args -r __ns:=/second)')
