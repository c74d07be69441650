"""Random variation of the arms of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.step import Constants


@dataclass(frozen=True)
class Spread:
    """
    Standard deviations of the unknown parameters of an arm.

    Parameters
    ----------
    mass : float
        Relative error of each link's mass and inertia.
    com : float
        Error of each coordinate of a link's centre of mass (m).
    friction : float
        Logarithm of the factor of each joint's friction: 0.3 is about 30 %.
    position_noise, velocity_noise : float
        Measurement noise (rad or m, and per second).
    start : float
        Deviation of each joint's initial position (rad or m).

    Raises
    ------
    ArgumentError
        A negative number; the message names it.

    """

    mass: float = 0.05
    com: float = 0.002
    friction: float = 0.3
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    start: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0.0 <= value < np.inf:
                raise ArgumentError(f'the spread of {field.name} is {value!r}: it must be a '
                                    'number, and not negative', name=field.name)


class Sample(NamedTuple):
    """
    Parameters of one arm.

    Attributes
    ----------
    parameters : (nb, 10) array
        Inertial parameters of its bodies, see `Dynamics.parameters`.
    friction : (nv,) array
        Factors of the friction of its joints.
    start : (nv,) array
        Deviation of the initial position.
    noise : numpy.random.Generator
        Generator of the measurement noise.

    """

    parameters: NDArray
    friction: NDArray
    start: NDArray
    noise: np.random.Generator


def draw(plant: Plant, spread: Spread, seed: int, number: int) -> Sample:
    """Return arm `number` of a seed; it does not depend on other arms."""
    rng = np.random.default_rng((seed, number))
    phi = plant.dynamics.parameters.reshape(-1, 10).copy()
    # factors below a tenth are outside the scope of a parameter error
    phi *= np.maximum(1.0 + spread.mass * rng.standard_normal(len(phi)), 0.1)[:, None]
    shift = spread.com * rng.standard_normal((len(phi), 3))
    mass = phi[:, 0]
    with np.errstate(divide='ignore', invalid='ignore'):
        center = np.where(mass[:, None] > 0.0, phi[:, 1:4] / mass[:, None], 0.0)
    phi[:, 4:] += mass[:, None] * (_unit_inertia(center + shift) - _unit_inertia(center))
    phi[:, 1:4] += mass[:, None] * shift
    return Sample(phi, np.exp(spread.friction * rng.standard_normal(plant.nv)),
                  spread.start * rng.standard_normal(plant.nv), rng)


def arms_of(plant: Plant, samples: Sequence[Sample]) -> tuple[NDArray, NDArray]:
    """Return the constants of arms for a `ClosedLoop`: of the joints, and inertial parameters."""
    return (np.array([joint_constants(plant, each.friction) for each in samples]),
            np.array([each.parameters.ravel() for each in samples]))


def joint_constants(plant: Plant, friction: NDArray) -> NDArray:
    """
    Return the constants of a plant whose joints differ, see `step.Constants`.

    Parameters
    ----------
    plant : Plant
        Nominal arm.
    friction : (nv,) array
        Factors of the friction.

    """
    rows = plant.constants[:-1].reshape(-1, plant.nv).copy()
    for k, name in enumerate(Constants._fields):
        if name in ('damping', 'friction', 'stiction', 'bristle_stiffness'):
            rows[k] *= friction
    return np.append(rows, plant.constants[-1])


def _unit_inertia(c: NDArray) -> NDArray:
    """Return Jxx, Jyy, Jzz, Jxy, Jxz, Jyz of unit masses at points c, (n, 6)."""
    x, y, z = c.T
    return np.column_stack([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z])
