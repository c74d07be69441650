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

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError, near_matches
from robodyn_ros.identification.statistics import correlated_samples

SHAPES = ('sign', 'smooth', 'stribeck')
# candidates of the velocity v, relative to the largest speed of the joint
_CANDIDATES = np.geomspace(0.004, 0.4, 15)
_SUPPORT = 12.0    # gain of log likelihood that a further parameter must bring
_SINGULAR = 1e-7   # relative singular value below which columns depend on each other
_ZOOMS = 2         # rounds of candidates between the best one and its neighbours
_BETWEEN = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / 3.0
# moments of a sample interval at which friction is evaluated: its sign changes in between
_MOMENTS = (np.arange(9) - 4.0) / 9.0


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


def mean_columns(shape: str, velocity: float, qd: NDArray, change: NDArray,
                 torque: NDArray | None) -> NDArray:
    """
    Return `shape_columns` as means over the intervals between samples, (n, 3).

    change: (n,) array of the changes of the velocity in an interval.
    """
    return np.mean([shape_columns(shape, velocity, qd + part * change, torque)
                    for part in _MOMENTS], axis=0)


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
        profile = _Profile(rest, effort[j], segment[j])

        def fit(shape: str, v: float, load: bool) -> _Fit:
            return profile.fit(candidate(j, shape, v, load), v, load)

        fits = []
        for load in (False, True)[:1 + asked.load]:
            fits.append(fit('sign', np.nan, load))
            if asked.shape != 'sign':
                fits.append(_best_velocity(lambda v: fit(asked.shape, v, load), fastest[j]))
        best = profile.supported(fits)
        velocity[j], loaded[j] = best.velocity, best.load
    return DryFriction(asked.shape, asked.load, velocity, loaded)


class _Fit(NamedTuple):
    """Fit of a joint: sum of squares, residuals, velocity of the shape, whether with load."""

    squares: float
    errors: NDArray
    velocity: float
    load: bool

    @property
    def more(self) -> int:
        """Return the number of parameters beyond Coulomb friction."""
        return int(np.isfinite(self.velocity)) + self.load


def _best_velocity(fit: Callable[[float], _Fit], fastest: float) -> _Fit:
    """Return the fit with the best velocity of a shape: of the candidates, then between them."""
    tried = _CANDIDATES * fastest
    for _ in range(1 + _ZOOMS):
        best = min((fit(v) for v in tried), key=lambda each: each.squares)
        tried = best.velocity * (tried[1] / tried[0]) ** _BETWEEN
    return best


class _Profile:
    """Least squares of one joint, with its other columns eliminated."""

    def __init__(self, others: NDArray, effort: NDArray, segment: NDArray):
        size = np.linalg.norm(others, axis=0)
        U, s, _ = np.linalg.svd(others[:, size > 0.0] / size[size > 0.0], full_matrices=False)
        self._basis = U[:, s > _SINGULAR * s[0]]
        self._effort, self._segment = self._rest(effort), segment

    def _rest(self, columns: NDArray) -> NDArray:
        return columns - self._basis @ (self._basis.T @ columns)

    def fit(self, columns: NDArray, velocity: float = np.nan, load: bool = False) -> _Fit:
        """Return the fit of columns; negative friction is not used."""
        rest = self._rest(columns[:, np.abs(columns).max(axis=0) > 0.0])
        found = np.linalg.lstsq(rest, self._effort, rcond=_SINGULAR)[0]
        errors = self._effort - rest @ found
        possible = not (found[1:] < 0.0).any()
        return _Fit(float(errors @ errors) if possible else np.inf, errors, velocity, load)

    def supported(self, fits: list[_Fit]) -> _Fit:
        """Return the likeliest of the fits, the first of which is the simplest."""
        errors = min(fits, key=lambda each: each.squares).errors
        count = len(errors) / correlated_samples(errors, self._segment)

        def gain(fit: _Fit) -> float:
            if not 0.0 < fit.squares < np.inf:
                return -np.inf
            return 0.5 * count * np.log(fits[0].squares / fit.squares) - _SUPPORT * fit.more

        return max(fits, key=gain)
