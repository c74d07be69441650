"""Names of the nodes and topics of a view."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.nodes.controller.node import NAME as CONTROLLER
from robodyn_ros.nodes.simulator import NAME as SIMULATOR


class Names(NamedTuple):
    """
    Names of nodes and topics, each relative to the namespace.

    Attributes
    ----------
    joint_states : str
        Topic of the joint states.
    controller, simulator : str
        Names of the nodes.

    """

    joint_states: str = 'joint_states'
    controller: str = CONTROLLER
    simulator: str = SIMULATOR
