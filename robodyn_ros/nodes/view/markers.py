"""
The marker node: centre of mass, mass ellipsoid and forces, for RViz.

It is a process of its own, so that it takes no time of controller and simulator. Only the
estimated wrench is published by the controller, while it has subscribers.
"""

from __future__ import annotations

from importlib.util import find_spec
import sys

from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import vector
from robodyn_ros.nodes.description import load_robot, RobotSettings
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import run_process
from robodyn_ros.nodes.view.feed import JointValues, Names, STATES
from robodyn_ros.settings import group, parameter, settings
from robodyn_ros.view.overlay import mass_ellipsoid

NAME = 'robodyn_markers'
_NAMES = Names()
_MIN_FORCE = 0.5   # N, of a force that is shown


@settings()
class MarkersSettings:
    """Parameters of the markers."""

    robot: RobotSettings = group(RobotSettings, '')
    link: str = parameter(
        '', 'Link whose mass ellipsoid is shown, and at which the estimated wrench acts: '
        'cartesian.link of the controller. Empty: the last one.', read_only=True)
    rate: float = parameter(15.0, 'Rate of the markers.', 'Hz', 0.1, 60.0, read_only=True)


class MarkersNode(Node):
    """Publishes a MarkerArray on ~/markers while it has subscribers."""

    def __init__(self):
        super().__init__(NAME)
        table = Parameters(self, MarkersSettings)
        table.refuse_unknown()
        if find_spec('visualization_msgs') is None:
            raise ParameterError('visualization_msgs is not installed, so there are no markers: '
                                 'sudo apt install ros-$ROS_DISTRO-visualization-msgs, or pip '
                                 'install ros-visualization-msgs')
        from visualization_msgs.msg import MarkerArray
        self._dynamics = Dynamics(load_robot(self, table.values.robot).model)
        model = self._dynamics.model
        self._link = table.values.link or model.tip
        model.link(self._link)
        self._state = JointValues(model.joint_names, np.zeros(model.nv))
        self._states = PolledSubscription(self, JointState, _NAMES.joint_states,
                                          qos.newest(STATES))
        self._estimated: PolledSubscription | None = None
        self._pushes = PolledSubscription(self, WrenchStamped, f'{_NAMES.simulator}/wrench',
                                          qos.newest())
        self._array = MarkerArray
        self._publisher = self.create_publisher(MarkerArray, '~/markers', qos.reliable(1))
        self.create_timer(1.0 / table.values.rate, self._update)

    def _update(self) -> None:
        new = False
        for message in self._states.waiting():
            new |= self._state.read(message)
        if not new:
            return
        subscribed = self._publisher.get_subscription_count() > 0
        self._subscribe_wrench(subscribed)
        if subscribed:
            self._publisher.publish(self._array(markers=self._markers()))

    def _subscribe_wrench(self, on: bool) -> None:
        """Subscribe to the estimated wrench, or unsubscribe, which ends its publication."""
        if on and self._estimated is None:
            self._estimated = PolledSubscription(
                self, WrenchStamped, f'{_NAMES.controller}/estimated_wrench', qos.newest())
        elif not on and self._estimated is not None:
            self._estimated.destroy()
            self._estimated = None

    def _markers(self) -> list:
        from robodyn_ros.nodes.view import marker_messages as make

        dynamics, q = self._dynamics, self._state.position
        markers = [make.center_of_mass(dynamics, q)]
        if (found := mass_ellipsoid(dynamics, q, self._link)) is not None:
            markers.append(make.ellipsoid(dynamics, found))
        if self._estimated is not None and (message := self._estimated.take()) is not None:
            tail = dynamics.forward_kinematics(q, self._link)[:3, 3]
            markers += self._arrow('estimated wrench', tail, vector(message.wrench.force),
                                   make.BLUE)
        if (message := self._pushes.take()) is not None and (
                message.header.frame_id in dynamics.model.links):
            pose = dynamics.forward_kinematics(q, message.header.frame_id)
            markers += self._arrow('push', pose[:3, 3],
                                   pose[:3, :3] @ vector(message.wrench.force), make.RED)
        return markers

    def _arrow(self, what: str, tail, force, color) -> list:
        from robodyn_ros.nodes.view.marker_messages import arrow

        if np.linalg.norm(force) < _MIN_FORCE:
            return []
        return [arrow(self._dynamics, what, tail, force, color)]


def main(args=None) -> int:
    """Publish markers."""
    return run_process(NAME, lambda stop: MarkersNode(), args=args)


if __name__ == '__main__':
    sys.exit(main())
