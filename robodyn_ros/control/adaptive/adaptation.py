"""What is learned about a payload, cycle by cycle; how is told in `adaptation_step`."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from robodyn_ros.control.host import Host
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import Payload
from robodyn_ros.model.inertia import parallel_axis, pseudo_inertia

_LIGHTEST = 1e-6  # kg: of less no centre of mass can be found


@dataclass(frozen=True)
class AdaptationSettings:
    """
    How a payload is learned.

    Attributes
    ----------
    link : str
        That holds it; empty: the tip.
    rate : float
        Of the adaptation, in kg s/(N m rad): how fast the estimate follows power without a cause.
    largest_mass : float
        In kg. A payload of mass m at the distance r (root of the mean square, from the origin of
        the link) can be learned if m (1 + (r / size)^2) is less.
    size : float
        In m, about how far the payload reaches; the smaller, the more is put down to its mass.
    dead_zone : float
        In rad/s (m/s): a norm of s below this is noise and friction, and teaches nothing.

    """

    link: str = ''
    rate: float = 5.0
    largest_mass: float = 8.0
    size: float = 0.15
    dead_zone: float = 0.01

    def __post_init__(self):
        for name in ('rate', 'largest_mass', 'size', 'dead_zone'):
            value = getattr(self, name)
            if not (0.0 < value < math.inf or name in ('rate', 'dead_zone') and value == 0.0):
                raise ParameterError(f'adaptive.{name} is {value:g}; it must be finite and above '
                                     '0', parameter=f'adaptive.{name}', value=value)


class Adaptation:
    """
    The estimate of the payload on one link, on top of the payloads that are known.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    loads : Loads
        What the arm is known to carry.
    host : Host
        Of the cycle, which learns.
    settings : AdaptationSettings
        See there.

    Attributes
    ----------
    link : str
        That holds the payload.
    pseudo_inertia : (4, 4) array
        The estimate, in the axes of the link about its origin.

    Raises
    ------
    ModelError
        There is no such link, or it does not move.

    """

    def __init__(self, dynamics: Dynamics, loads: Loads, host: Host,
                 settings: AdaptationSettings):
        self.link = settings.link or dynamics.model.tip
        self._loads, self._host = loads, host
        if settings.link:
            self.require()
        self.pseudo_inertia = host.memory.learning.estimate.reshape(4, 4)
        self.change(settings)

    def require(self) -> None:
        """Raise `ModelError` if nothing can be learned: the link does not move, or has no slot."""
        self._loads.slot_body(self.link)

    def change(self, settings: AdaptationSettings) -> None:
        """Learn by other settings from the next cycle on; the link stays."""
        program = self._host.program.learning
        for name in ('rate', 'dead_zone', 'largest_mass', 'size'):
            getattr(program, name)[()] = getattr(settings, name)
        program.change += 1.0

    @property
    def learning(self) -> bool:
        """Whether the last cycle could have changed the estimate."""
        return bool(self._host.memory.learning.active)

    @property
    def payload(self) -> Payload:
        """Return all that the link is taken to carry, what was known before included."""
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
        spread = np.maximum(spread, 0.0)  # what rounding leaves of a point
        return Payload(self.link, mass, com, (axes * (spread.sum() - spread)) @ axes.T)

    @property
    def summary(self) -> str:
        """Return what was learned, in words."""
        mass = self.pseudo_inertia[3, 3]
        if mass < _LIGHTEST and not self.learning:
            return 'none'
        return (f'{mass:.3g} kg on {self.link}, '
                f'{"being learned" if self.learning else "kept"}')
