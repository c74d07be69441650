"""
Dry friction as a function of velocity and load, and the choice of its velocity by the data.

    sign       sign(qd)
    smooth     tanh(qd / v), which is also the logistic 2 / (1 + exp(-2 qd / v)) - 1
    stribeck   sign(qd) (1 + s v^2 / (v^2 + qd^2)), the shape of the controller's `friction.*`

With load, a part of it grows with the absolute torque of the model without friction.

Sources: Hess and Soom, Friction at a lubricated line contact, 1990; Gaz, Cognetti, Oliva, Robuffo
Giordano, De Luca, Dynamic identification of the Franka Emika Panda robot, 2019 (logistic);
Hamon, Gautier, Garrec, Dynamic identification of robots with a dry friction model depending on
load and velocity, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError, near_matches
from robodyn_ros.identification.correlation import correlated_samples

SHAPES = ('sign', 'smooth', 'stribeck')
# candidates of the velocity v, relative to the largest speed of the joint
_CANDIDATES = np.geomspace(0.004, 0.4, 15)
_SUPPORT = 12.0    # gain of log likelihood that a further parameter must bring
_SINGULAR = 1e-7   # relative singular value below which columns depend on each other


@dataclass(frozen=True)
class DryFriction:
    """
    Model of dry friction.

    Attributes
    ----------
    shape : str
        One of `SHAPES`.
    load : bool
        Whether a part of it may grow with the load.
    velocity : (nv,) array
        Velocity v of each joint (rad/s or m/s); NaN: the data does not support another shape than
        the sign, or none was asked for. Found by `chosen`.
    loaded : (nv,) array of bool
        Whether the data supports friction that grows with the load.

    Raises
    ------
    ArgumentError
        Unknown shape.

    """

    shape: str = 'sign'
    load: bool = False
    velocity: NDArray = field(default_factory=lambda: np.empty(0))
    loaded: NDArray = field(default_factory=lambda: np.empty(0, dtype=bool))

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise ArgumentError(f'{self.shape!r} is no shape of friction; '
                                + near_matches(self.shape, SHAPES), shape=self.shape)

    def columns(self, j: int, qd: NDArray, torque: NDArray) -> NDArray:
        """Return the columns of Coulomb friction, Stribeck effect and load of a joint, (n, 3)."""
        return shape_columns(self.shape, self.velocity[j], qd, torque if self.loaded[j] else None)

    def kinds(self, j: int) -> tuple[str, ...]:
        """Return the kinds of numbers of a joint beside those that every joint has."""
        stribeck = self.shape == 'stribeck' and bool(np.isfinite(self.velocity[j]))
        return ('stribeck',) * stribeck + ('load',) * bool(self.loaded[j])


def shape_columns(shape: str, velocity: float, qd: NDArray, torque: NDArray | None) -> NDArray:
    """
    Return the columns of Coulomb friction, Stribeck effect and load, (n, 3).

    Parameters
    ----------
    shape : str
        One of `SHAPES`.
    velocity : float
        Its velocity; NaN: the sign alone.
    qd : (n,) array
        Velocity of the joint.
    torque : (n,) array, optional
        Torque of the model without friction; None: no friction grows with it.

    """
    made = np.zeros((len(qd), 3))
    made[:, 0] = np.tanh(qd / velocity) if shape == 'smooth' and velocity > 0 else np.sign(qd)
    if shape == 'stribeck' and velocity > 0:
        made[:, 1] = made[:, 0] * velocity ** 2 / (velocity ** 2 + qd ** 2)
    if torque is not None:
        made[:, 2] = made[:, 0] * np.abs(torque)
    return made


def chosen(asked: DryFriction, others: list[NDArray], effort: list[NDArray],
           segment: list[NDArray], fastest: NDArray, candidate) -> DryFriction:
    """
    Return the model of friction that the data of each joint supports.

    A velocity, and friction that grows with load, are taken only if they raise the likelihood of
    the joint's torque beyond what a meaningless number would.

    Parameters
    ----------
    asked : DryFriction
        Shape and load to try.
    others : list of (n, k) array
        All other columns of each joint.
    effort, segment : list of (n,) array
        Effort of each joint, and number of the segment of each equation.
    fastest : (nv,) array
        Largest speed of each joint.
    candidate : callable
        Columns, (n, 3), for a joint, a shape, a velocity, and whether with load.

    """
    velocity, loaded = np.full(len(others), np.nan), np.zeros(len(others), dtype=bool)
    for j, rest in enumerate(others):
        if len(rest) < 3 * rest.shape[1] // 2 or not fastest[j] > 0.0:
            continue
        fit = _Profile(rest, effort[j], segment[j])
        best = fit.squares(candidate(j, 'sign', np.nan, False))
        if asked.shape != 'sign':
            tried = [fit.squares(candidate(j, asked.shape, each, False))
                     for each in _CANDIDATES * fastest[j]]
            least = int(np.argmin(tried))
            if fit.supports(tried[least], best):
                velocity[j], best = _CANDIDATES[least] * fastest[j], tried[least]
        if asked.load:
            shape = asked.shape if np.isfinite(velocity[j]) else 'sign'
            loaded[j] = fit.supports(fit.squares(candidate(j, shape, velocity[j], True)), best)
    return DryFriction(asked.shape, asked.load, velocity, loaded)


class _Profile:
    """Least squares of one joint, with its other columns eliminated."""

    def __init__(self, others: NDArray, effort: NDArray, segment: NDArray):
        size = np.linalg.norm(others, axis=0)
        U, s, _ = np.linalg.svd(others[:, size > 0.0] / size[size > 0.0], full_matrices=False)
        self._basis = U[:, s > _SINGULAR * s[0]]
        self._effort, self._segment = self._rest(effort), segment

    def _rest(self, columns: NDArray) -> NDArray:
        return columns - self._basis @ (self._basis.T @ columns)

    def squares(self, columns: NDArray) -> float:
        """Return the sum of squares that these columns leave; negative friction is not used."""
        rest = self._rest(columns[:, np.abs(columns).max(axis=0) > 0.0])
        found = np.linalg.lstsq(rest, self._effort, rcond=_SINGULAR)[0]
        if (found[1:] < 0.0).any():
            return np.inf
        self._errors = self._effort - rest @ found
        return float(self._errors @ self._errors)

    def supports(self, squares: float, before: float) -> bool:
        """Return whether one more parameter is worth this decrease of the sum of squares."""
        if not squares < before:
            return False
        count = len(self._errors) / correlated_samples(self._errors, self._segment)
        return 0.5 * count * np.log(before / squares) > _SUPPORT
