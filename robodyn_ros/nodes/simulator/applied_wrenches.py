"""Wrenches applied to links of a plant for a limited time."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
import numpy as np

from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.nodes.commands import Refusals
from robodyn_ros.simulation import Plant


class AppliedWrenches:
    """
    Wrenches on the links of a plant, with their ends.

    Parameters
    ----------
    plant : Plant
        Simulated arm.
    refusals : Refusals
        Counts of refused messages.

    """

    def __init__(self, plant: Plant, refusals: Refusals):
        self._plant = plant
        self._refusals = refusals
        self._ends: dict[str, float] = {}
        self._wrenches: dict[str, np.ndarray] = {}

    def take(self, message: WrenchStamped, timeout: float) -> None:
        """
        Apply a wrench to the link that a message names, for `timeout` simulated seconds.

        The wrench acts at the origin of the link. It is given in the present axes of the link,
        and keeps that direction.
        """
        link, wrench = message.header.frame_id, message.wrench
        plant = self._plant
        try:
            if not link:
                raise ParameterError('its frame_id is empty: name the link')
            plant.model.link(link)
            R = plant.dynamics.forward_kinematics(plant.q, link)[:3, :3]
            force = R @ (wrench.force.x, wrench.force.y, wrench.force.z)
            moment = R @ (wrench.torque.x, wrench.torque.y, wrench.torque.z)
            self._wrenches[link] = np.concatenate([force, moment])
            plant.push(link, self._wrenches[link])
        except RobodynError as error:
            self._refusals.add('wrench', f'dropped a wrench: {error}')
            return
        # at least one step
        self._ends[link] = plant.steps + max(1.0, timeout / plant.step_size)

    @property
    def idle(self) -> bool:
        """Whether no wrench is applied."""
        return not self._ends

    def end(self) -> None:
        """Remove the wrenches whose time is over; to be called before every step."""
        if not self._ends:
            return
        for link in [link for link, end in self._ends.items() if self._plant.steps >= end]:
            del self._ends[link]
            self._plant.push(link, None)

    def move(self, plant: Plant) -> None:
        """Apply the wrenches to another plant from now on."""
        self._plant = plant
        for link in self._ends:
            plant.push(link, self._wrenches[link])

    def clear(self) -> None:
        """Discard all wrenches; the plant was reset."""
        self._ends.clear()
