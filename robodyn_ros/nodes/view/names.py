"""Which nodes and topics a view is about."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.nodes.controller.node import NAME as CONTROLLER
from robodyn_ros.nodes.simulator.node import NAME as SIMULATOR


class Names(NamedTuple):
    """
    Names of what is looked at, each relative to the namespace.

    Attributes
    ----------
    joint_states : str
        Topic.
    controller, simulator : str
        Nodes.

    """

    joint_states: str = 'joint_states'
    controller: str = CONTROLLER
    simulator: str = SIMULATOR
