"""Estimate of a payload by the adaptive law; the update is in `adaptation_step`."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.settings import AdaptiveSettings
from robodyn_ros.model import Payload
from robodyn_ros.model.inertia import parallel_axis, pseudo_inertia

_LIGHTEST = 1e-6  # kg, below which no centre of mass is determined


class Adaptation:
    """
    Estimate of the payload on one link, in addition to the known payloads.

    Parameters
    ----------
    arm : ControlledArm
        The arm, whose cycle updates the estimate.

    Attributes
    ----------
    link : str
        Link that carries the payload.
    pseudo_inertia : (4, 4) array
        The estimate, in the axes of the link about its origin.

    Raises
    ------
    ModelError
        There is no such link, or it does not move.

    """

    def __init__(self, arm: ControlledArm):
        settings = arm.design.settings.adaptive
        self.link = settings.link or arm.model.tip
        self._loads, self._host = arm.loads, arm.host
        if settings.link:
            self.require()
        self.pseudo_inertia = arm.memory.learning.estimate.reshape(4, 4)
        self.change(settings)

    def require(self) -> None:
        """Raise `ModelError` if the link does not move, or has no payload slot."""
        self._loads.slot_body(self.link)

    def change(self, settings: AdaptiveSettings) -> None:
        """Apply other settings from the next cycle on; the link stays."""
        program = self._host.program.learning
        for name in ('rate', 'dead_zone', 'largest_mass', 'size'):
            getattr(program, name)[()] = getattr(settings, name)
        program.change += 1.0

    @property
    def learning(self) -> bool:
        """Whether the estimate was updated in the last cycle."""
        return bool(self._host.memory.learning.active)

    @property
    def payload(self) -> Payload:
        """Return the total payload of the link: known payload plus estimate."""
        known = self._loads.payloads.get(self.link)
        P = self.pseudo_inertia.copy()
        if known is not None:
            P += pseudo_inertia(known.mass, known.mass * known.com,
                                parallel_axis(known.inertia, known.mass, known.com))
        mass = P[3, 3]
        if mass < _LIGHTEST:
            return Payload(self.link, 0.0, np.zeros(3), np.zeros((3, 3)))
        com = P[:3, 3] / mass
        spread, axes = np.linalg.eigh(P[:3, :3] - mass * np.outer(com, com))
        spread = np.maximum(spread, 0.0)  # rounding errors of a point mass
        return Payload(self.link, mass, com, (axes * (spread.sum() - spread)) @ axes.T)

    @property
    def summary(self) -> str:
        """Return the estimate as text."""
        mass = self.pseudo_inertia[3, 3]
        if mass < _LIGHTEST and not self.learning:
            return 'none'
        return (f'{mass:.3g} kg on {self.link}, '
                f'{"being learned" if self.learning else "kept"}')
