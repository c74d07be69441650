"""
Effects of faults that live in states, commands, motors, loads or time, as numbers of a draw.

`numbers(draw, model, dt, random)` of each returns them by name, see `fault_numbers.FIELDS`,
without the times of the fault, for the nominal arm and the period of its states in s; `random` is
the generator of what the draw does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
import zlib

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.simulation.faults import KINDS, Numbers

MOMENTS = (0.5, 1.3)   # s into the motion
_POINT = np.zeros((3, 3))
_EVERY = 15   # reports between two of a second publisher: one in 0.03 s


@dataclass(frozen=True)
class Draw:
    """
    Random values of a run.

    Attributes
    ----------
    moment : float
        Begin of the fault, in s from the begin of the motion.
    joints : tuple of int
        All joints in random order; the first ones have the fault.
    duration : float
        Length of the fault in s.
    amount : float
        Size of the fault, in its unit.
    sign : float
        1 or -1.

    """

    moment: float
    joints: tuple[int, ...]
    duration: float
    amount: float
    sign: float

    @classmethod
    def of(cls, name: str, seed: int, nv: int, duration: tuple[float, float],
           amount: tuple[float, float]) -> Draw:
        """Return the draw of a fault: the same for the same name and seed."""
        random = np.random.default_rng([seed, zlib.crc32(name.encode())])
        moment = random.uniform(*MOMENTS)
        joints = tuple(int(j) for j in random.permutation(nv))
        low, high = duration
        lasts = math.exp(random.uniform(math.log(low), math.log(high))) if low else 0.0
        return cls(moment, joints, lasts, float(random.uniform(*amount)),
                   float(random.choice([-1.0, 1.0])))


def _chosen(model: RobotModel, draw: Draw, count: int) -> NDArray:
    """Return 1 for the joints that have the fault; all if the count is 0."""
    flags = np.zeros(model.nv)
    flags[list(draw.joints[:count or model.nv])] = 1.0
    return flags


@dataclass(frozen=True)
class Faulty:
    """
    A fault of the simulator.

    Parameters
    ----------
    kind : str
        A key of `simulation.faults.KINDS`.
    joints : int
        Number of joints that have the fault; 0: all, or none.
    amount : str
        'positive', 'signed', or empty for a fault without an amount.
    timeout : float
        Command timeout of the driver meanwhile, s; 0: none.

    """

    kind: str
    joints: int = 0
    amount: str = ''
    timeout: float = 0.0

    def size(self, draw: Draw) -> float:
        """Return the amount of a draw, with its sign."""
        return draw.amount * (draw.sign if self.amount == 'signed' else 1.0)

    def numbers(self, draw: Draw, model: RobotModel, dt: float, random) -> Numbers:
        """Return the numbers."""
        found = dict(KINDS[self.kind].numbers(_chosen(model, draw, self.joints),
                                              self.size(draw) if self.amount else 0.0))
        if 'delay' in found:  # in steps
            found['delay'] = max(1.0, math.ceil((self.size(draw) - 1e-9) / dt))
        return {**found, 'timeout': self.timeout}


@dataclass(frozen=True)
class Loaded:
    """A payload that is attached and removed, reported to the controller or not."""

    reported: bool

    def payload(self, draw: Draw, model: RobotModel) -> Payload:
        """Return the payload of a draw: a mass point at the last link."""
        return Payload(model.body_names[-1], draw.amount * float(model.mass.sum()),
                       np.array([0.0, 0.0, 0.05]), _POINT)

    def numbers(self, draw: Draw, model: RobotModel, dt: float, random) -> Numbers:
        """Return the numbers."""
        payload = self.payload(draw, model)
        return {'load': payload.parameters_in_body(model.link(payload.link))}


@dataclass(frozen=True)
class Tilted:
    """A base that tilts and back, reported to the controller or not."""

    reported: bool

    def gravity(self, draw: Draw, model: RobotModel) -> NDArray:
        """Return gravity in the frame of a base that rolls by the angle of a draw."""
        angle = draw.sign * draw.amount
        cos, sin = math.cos(angle), math.sin(angle)
        return np.array([[1.0, 0.0, 0.0], [0.0, cos, sin], [0.0, -sin, cos]]) @ model.gravity

    def numbers(self, draw: Draw, model: RobotModel, dt: float, random) -> Numbers:
        """Return the numbers."""
        return {'gravity': self.gravity(draw, model) - model.gravity}


@dataclass(frozen=True)
class Offset:
    """An encoder whose position jumps, and jumps back."""

    def numbers(self, draw: Draw, model: RobotModel, dt: float, random) -> Numbers:
        """Return the numbers."""
        return {'position': draw.sign * draw.amount * _chosen(model, draw, 1)}


@dataclass(frozen=True)
class SecondPublisher:
    """Another node that publishes joint states of another position, at rest."""

    def numbers(self, draw: Draw, model: RobotModel, dt: float, random) -> Numbers:
        """Return the numbers."""
        return {'every': _EVERY, 'phase': 1.0, 'velocity_gain': 0.0, 'effort': math.nan,
                'position': draw.sign * draw.amount * _chosen(model, draw, 1)}


@dataclass(frozen=True)
class InLoop:
    """A fault of the compiled loop only: of time and sensors, or a request."""

    kind: str

    def numbers(self, draw: Draw, model: RobotModel, dt: float, random) -> Numbers:
        """Return the numbers; requests have none."""
        direction = random.standard_normal(3)
        weight = float(model.mass.sum() * np.linalg.norm(model.gravity))
        force = draw.amount * weight * direction / np.linalg.norm(direction)
        found: dict[str, Numbers] = {
            'noise': {'position_noise': draw.amount, 'velocity_noise': 50.0 * draw.amount},
            'resolution': {'resolution': draw.amount}, 'delays': {'delays': draw.amount},
            'pause': {'pause': draw.duration},
            'push': {'wrench': np.append(force, np.zeros(3))}}
        return found.get(self.kind, {})
