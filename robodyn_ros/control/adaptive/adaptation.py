"""What is learned about a payload, cycle by cycle; how is told in `adaptation_step`."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from robodyn_ros.control.adaptive.adaptation_step import (
    compile_step, ESTIMATE, NUMBERS, PARAMETERS, STATE)
from robodyn_ros.control.gains import Gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import Payload
from robodyn_ros.model.inertia import parallel_axis, pseudo_inertia
from robodyn_ros.trajectory import Reference

_LONGEST = 0.02   # s that a step may count for: a pause is no evidence
_LIGHTEST = 1e-6  # kg: of less nobody knows where it is


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
        What the arm carries; the estimate becomes part of it.
    settings : AdaptationSettings
        See there.

    Attributes
    ----------
    link : str
        That holds the payload.
    pseudo_inertia : (4, 4) array
        The estimate, in the axes of the link about its origin.
    learning : bool
        Whether the last cycle could have changed it.

    Raises
    ------
    ModelError
        There is no such link, or it does not move.

    """

    def __init__(self, dynamics: Dynamics, loads: Loads, settings: AdaptationSettings):
        self.link = settings.link or dynamics.model.tip
        self._loads = loads
        self._possible = loads.takes(self.link)
        if settings.link:
            self.require()
        self.pseudo_inertia = np.zeros((4, 4))
        self._elements = self.pseudo_inertia.reshape(-1)
        self.learning = False
        self._nothing = np.zeros(dynamics.nv)
        self._numbers, self._answer = np.zeros(len(NUMBERS)), np.zeros(PARAMETERS.stop)
        self._step = compile_step(dynamics, self.link) if self._possible else None
        self.settings = settings

    def require(self) -> None:
        """Raise `ModelError` if nothing can be learned: the link does not move, or has no slot."""
        self._loads.carrier(self.link)

    @property
    def settings(self) -> AdaptationSettings:
        """How it learns from the next cycle on; the link stays."""
        return self._settings

    @settings.setter
    def settings(self, settings: AdaptationSettings) -> None:
        self._settings = settings
        self._numbers[1:] = settings.dead_zone, settings.largest_mass, settings.size
        self._go(0.0, *[self._nothing] * len(STATE))

    def advance(self, dt: float, q: np.ndarray, qd: np.ndarray, reference: Reference,
                gains: Gains) -> None:
        """Learn from a cycle, (nv,) each, that the law has answered undisturbed."""
        self._go(min(dt, _LONGEST), q, qd, reference.q, reference.qd, reference.qdd,
                 gains.sliding)

    def forget(self) -> None:
        """Begin anew; what was learned counts until `Loads.change` blends it out."""
        self.pseudo_inertia.fill(0.0)
        self._loads.absorb_estimate()

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

    def _go(self, dt: float, *state: np.ndarray) -> None:
        if not self._possible:
            return
        self._numbers[0] = self._settings.rate * dt
        answer = self._step(*state, self._elements, self._numbers, out=self._answer)
        if math.isfinite(answer.dot(answer)):
            self._elements[:] = answer[ESTIMATE]
            self._loads.estimate(self.link, answer[PARAMETERS])
