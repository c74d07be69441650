"""Wrenches that push links of a plant for a while."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
import numpy as np

from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.nodes.commands import Refusals
from robodyn_ros.simulation import Plant


class AppliedWrenches:
    """
    What pushes the links, until it times out.

    Parameters
    ----------
    plant : Plant
        Whose links are pushed.
    refusals : Refusals
        Where messages are counted that make no sense.

    """

    def __init__(self, plant: Plant, refusals: Refusals):
        self._plant = plant
        self._refusals = refusals
        self._ends: dict[str, float] = {}
        self._wrenches: dict[str, np.ndarray] = {}

    def take(self, message: WrenchStamped, timeout: float) -> None:
        """
        Push the link that a message names, for `timeout` simulated seconds from now.

        The wrench is in the axes of that link, as it stands now, and acts at its origin.
        """
        link, wrench = message.header.frame_id, message.wrench
        plant = self._plant
        try:
            if not link:
                raise ParameterError('its frame_id is empty: name the link that is pushed')
            plant.model.link(link)
            R = plant.dynamics.forward_kinematics(plant.q, link)[:3, :3]
            force = R @ (wrench.force.x, wrench.force.y, wrench.force.z)
            moment = R @ (wrench.torque.x, wrench.torque.y, wrench.torque.z)
            self._wrenches[link] = np.concatenate([force, moment])
            plant.push(link, self._wrenches[link])
        except RobodynError as error:
            self._refusals.add('wrench', f'dropped a wrench: {error}')
            return
        # a push lasts at least one step
        self._ends[link] = plant.steps + max(1.0, timeout / plant.step_size)

    @property
    def idle(self) -> bool:
        """Whether nothing pushes."""
        return not self._ends

    def end(self) -> None:
        """End the pushes whose time is over; to be called before every step."""
        if not self._ends:
            return
        for link in [link for link, end in self._ends.items() if self._plant.steps >= end]:
            del self._ends[link]
            self._plant.push(link, None)

    def move(self, plant: Plant) -> None:
        """Go on with another plant in place of the one before."""
        self._plant = plant
        for link in self._ends:
            plant.push(link, self._wrenches[link])

    def clear(self) -> None:
        """Forget all pushes; the plant was reset."""
        self._ends.clear()
