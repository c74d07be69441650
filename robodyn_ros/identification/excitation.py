"""
Exciting motions for identification: finite Fourier series, faded in and out.

    q_j(t) = c_j + w(t) sum_k (a_jk sin(2 pi k f t) - b_jk cos(2 pi k f t)) / (2 pi k f)

with w a quintic from 0 to 1 and back, so that the arm begins and ends at rest. The coefficients
minimise the condition number of the base regressor within the limits.

Source: Swevers, Ganseman, Tukel, de Schutter, van Brussel, Optimal robot excitation and
identification, 1997.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, TrajectoryError
from robodyn_ros.identification.statistics import condition_number
from robodyn_ros.model.per_joint import usable_range
from robodyn_ros.trajectory import check_feasibility, check_path, Reference, Trajectory

_SAMPLES = 120         # states for the condition number
_CHECKS = 2000         # states for the final check of the limits
_SHRINK, _ATTEMPTS = 0.9, 40
_FREE = np.pi / 2.0    # rad or m, range to either side of 0 of a joint without limit
_UNLIMITED = 100.0     # N m or N, assumed effort limit of a joint without one
_PENALTY = 10.0        # added to the log of the condition number per relative excess of a limit
_POINTS = 20.0         # points of a message per period of the highest harmonic
_FITTED = 10           # drawn motions that are scaled to the limits and compared


@dataclass(frozen=True)
class Bounds:
    """
    Limits of a motion, each (nv,), in rad or m and N m or N.

    `lower` and `upper` are finite; `effort` limits the torque computed by the model.
    """

    lower: NDArray
    upper: NDArray
    velocity: NDArray
    acceleration: NDArray
    effort: NDArray

    @classmethod
    def of(cls, dynamics: Dynamics, position: float = 0.9, velocity: float = 0.7,
           effort: float = 0.7, acceleration: float = np.inf) -> Bounds:
        """
        Return fractions of the model's limits; `acceleration` is in rad/s^2 or m/s^2.

        Raises
        ------
        ArgumentError
            A joint has effort limit 0, or no joint can move.

        """
        model = dynamics.model
        if not ((model.velocity_limit > 0.0) & (model.upper > model.lower)).any():
            raise ArgumentError('no joint can move: every velocity limit or position range is '
                                'zero; correct <limit> in the URDF')
        for name, limit in zip(model.joint_names, model.effort_limit):
            if limit == 0.0:
                raise ArgumentError(f'joint {name!r} has effort limit 0: correct <limit> in the '
                                    'URDF, or lock the joint', joint=name)
        lower, upper = usable_range(model, _FREE)
        middle, half = 0.5 * (lower + upper), 0.5 * position * (upper - lower)
        return cls(middle - half, middle + half, velocity * model.velocity_limit,
                   np.full(model.nv, float(acceleration)), effort * model.effort_limit)


@dataclass(frozen=True)
class Fourier:
    """
    Fourier series of the joint positions.

    Attributes
    ----------
    duration, fade : float
        Duration of the motion, and of the fading at either end, in s.
    frequency : float
        Frequency of the first harmonic (Hz).
    centre : (nv,) array
        Position at the beginning and the end.
    sine, cosine : (nv, K) array
        Fourier coefficients of the velocity.

    """

    duration: float
    fade: float
    frequency: float
    centre: NDArray
    sine: NDArray
    cosine: NDArray

    def sample(self, t: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return positions, velocities and accelerations at times, (n, nv) each."""
        t = np.asarray(t, dtype=float)
        omega = 2.0 * np.pi * self.frequency * np.arange(1, self.sine.shape[1] + 1)
        s, c = np.sin(np.outer(t, omega)), np.cos(np.outer(t, omega))
        a, b = self.sine.T, self.cosine.T
        q = (s / omega) @ a - (c / omega) @ b
        qd = c @ a + s @ b
        qdd = (c * omega) @ b - (s * omega) @ a
        w, wd, wdd = (row[:, None] for row in _window(t, self.duration, self.fade))
        return (self.centre + w * q, w * qd + wd * q, w * qdd + 2.0 * wd * qd + wdd * q)


def _window(t: NDArray, duration: float, fade: float) -> tuple[NDArray, NDArray, NDArray]:
    """Return the fade window, a quintic, and its first two derivatives."""
    toward_end = t > 0.5 * duration
    u = np.clip(np.where(toward_end, duration - t, t) / fade, 0.0, 1.0)
    sign = np.where(toward_end, -1.0, 1.0)
    return (u ** 3 * (10.0 - 15.0 * u + 6.0 * u ** 2),
            sign * 30.0 * u ** 2 * (1.0 - u) ** 2 / fade,
            60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / fade ** 2)


@dataclass(frozen=True)
class Excitation:
    """
    Result of a search for a motion.

    Attributes
    ----------
    motion : Fourier
        Best motion.
    before, after : float
        Condition number of the base regressor: of the best random motion, scaled to the limits,
        and of the result, which is never larger.
    share : (nv,) array
        Largest ratio of torque and effort bound of each joint.

    """

    motion: Fourier
    before: float
    after: float
    share: NDArray


class Search:
    """
    Search for an exciting motion.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm; its friction is included in the torque.
    bounds : Bounds
        Limits of the motion.
    duration, fade, frequency : float
        As in `Fourier`, in s, s and Hz.
    harmonics : int
        Number of harmonics of each joint.

    Raises
    ------
    ArgumentError
        The motion is shorter than its fading.

    """

    def __init__(self, dynamics: Dynamics, bounds: Bounds, duration: float = 20.0,
                 frequency: float = 0.1, harmonics: int = 5, fade: float = 1.0):
        if 2.0 * fade > duration:
            raise ArgumentError(f'a motion of {duration:g} s cannot fade for {fade:g} s at either '
                                'end: make it longer')
        self.dynamics, self.bounds = dynamics, bounds
        self.duration, self.frequency, self.harmonics = duration, frequency, harmonics
        self.fade = fade
        self._columns = dynamics.base_parameters(tolerance=1e-6).columns
        self._times = np.linspace(0.0, duration, _SAMPLES)
        # torque errors are roughly proportional to the effort limit
        self._weight = 1.0 / np.minimum(bounds.effort, _UNLIMITED)[:, None]

    def motion(self, x: NDArray, samples: int = _SAMPLES) -> Fourier:
        """
        Return the motion of (nv (1 + 2 harmonics),) free numbers, each about -1 to 1.

        The first nv are centre positions within the ranges, the others the coefficients. The
        motion is scaled up to the limits of position, velocity and acceleration at the samples.
        """
        nv, bounds = self.dynamics.nv, self.bounds
        place, waves = np.tanh(x[:nv]), x[nv:].reshape(nv, 2, self.harmonics)
        middle, half = 0.5 * (bounds.lower + bounds.upper), 0.5 * (bounds.upper - bounds.lower)
        centre = middle + 0.7 * half * place
        shape = Fourier(self.duration, self.fade, self.frequency, np.zeros(nv), waves[:, 0],
                        waves[:, 1])
        q, qd, qdd = shape.sample(np.linspace(0.0, self.duration, samples))
        with np.errstate(divide='ignore', invalid='ignore'):
            room = np.minimum((bounds.upper - centre) / np.maximum(q.max(axis=0), 1e-12),
                              (centre - bounds.lower) / np.maximum(-q.min(axis=0), 1e-12))
            size = np.minimum.reduce([
                room, bounds.velocity / np.abs(qd).max(axis=0),
                bounds.acceleration / np.abs(qdd).max(axis=0)])
        size = np.where(np.isfinite(size), size, 0.0)[:, None]
        return Fourier(self.duration, self.fade, self.frequency, centre, size * waves[:, 0],
                       size * waves[:, 1])

    def condition(self, motion: Fourier) -> float:
        """Return the condition number of the base regressor along a motion."""
        Y = self.dynamics.regressor(*map(np.ascontiguousarray, motion.sample(self._times)))
        Y *= self._weight
        columns = Y.reshape(-1, Y.shape[-1])[:, self._columns]
        # a joint that cannot move leaves columns of zeros
        return condition_number(columns[:, np.abs(columns).max(axis=0) > 1e-9])

    def share(self, motion: Fourier, samples: int = _SAMPLES) -> NDArray:
        """Return the largest ratio of torque and effort bound of each joint, (nv,)."""
        q, qd, qdd = map(np.ascontiguousarray,
                         motion.sample(np.linspace(0.0, self.duration, samples)))
        model = self.dynamics.model
        torque = self.dynamics.inverse_dynamics(q, qd, qdd) + model.friction_torque(qd)
        return np.abs(torque).max(axis=0) / self.bounds.effort

    def cost(self, x: NDArray) -> float:
        """Return the cost: log of the condition number, plus penalties."""
        motion = self.motion(x)
        excess = np.maximum(self.share(motion) - 1.0, 0.0)
        return float(np.log(self.condition(motion)) + _PENALTY * np.sum(excess))

    def best(self, seed: int = 0, seconds: float = 30.0, starts: int = 200,
             tick: Callable[[float], None] = lambda condition: None) -> Excitation:
        """
        Return the best motion found in a given time.

        Random motions are drawn first, then the best of them is improved (L-BFGS with finite
        differences) until the time is over; with enough time the result depends on the seed
        alone.

        Parameters
        ----------
        seed : int
            Seed of the random numbers.
        seconds : float
            Time limit, in s.
        starts : int
            Number of random motions.
        tick : callable
            Progress callback; its argument is the condition number reached.

        Raises
        ------
        TrajectoryError
            No motion is within the effort bounds; the message names the joint.

        """
        end = time.monotonic() + seconds
        rng = np.random.default_rng(seed)
        nv = self.dynamics.nv
        drawn = rng.normal(size=(starts, nv * (1 + 2 * self.harmonics)))
        ranked = drawn[np.argsort([self.cost(x) for x in drawn], kind='stable')]
        # scaling to the limits may make the improved motion worse than the drawn one
        before, _, first = self._best_fitted(ranked[:_FITTED])
        after, motion, _ = self._best_fitted([self._improved(first, end, tick), first])
        return Excitation(motion, before, after, self.share(motion, _CHECKS))

    def _best_fitted(self, numbers: Iterable[NDArray]) -> tuple[float, Fourier, NDArray]:
        """Return condition number, motion and numbers of the best one within the bounds."""
        found, error = [], None
        for x in numbers:
            try:
                motion = self._within_effort(self.motion(x, _CHECKS))
                found.append((self.condition(motion), motion, x))
            except TrajectoryError as failed:
                error = error or failed
        if error is not None and not found:
            raise error
        return min(found, key=lambda each: each[0])

    def _improved(self, x: NDArray, end: float, tick: Callable[[float], None]) -> NDArray:
        best: list[Any] = [self.cost(x), x]

        def evaluate(x: NDArray) -> float:
            cost = self.cost(x)
            if cost < best[0]:
                best[:] = cost, x.copy()
                tick(np.exp(cost))
            if time.monotonic() > end:
                raise TimeoutError
            return cost

        try:
            minimize(evaluate, x, method='L-BFGS-B', options={'maxiter': 200, 'maxfun': 10 ** 7})
        except TimeoutError:
            pass
        return best[1]

    def _within_effort(self, motion: Fourier) -> Fourier:
        """Return the motion scaled down until its torques are within the bounds."""
        for _ in range(_ATTEMPTS):
            share = self.share(motion, _CHECKS)
            if share.max() <= 1.0:
                return motion
            motion = Fourier(motion.duration, motion.fade, motion.frequency, motion.centre,
                             _SHRINK * motion.sine, _SHRINK * motion.cosine)
        j = int(np.argmax(share))
        name = self.dynamics.model.joint_names[j]
        raise TrajectoryError(
            f'no motion was found that the motors can drive: joint {name!r} would need '
            f'{share[j] * self.bounds.effort[j]:.4g} of the {self.bounds.effort[j]:.4g} N m or N '
            'that may be used; allow more, or try another seed', joint=name)


def sampled(motion: Fourier, approach: float) -> tuple[np.ndarray, ...]:
    """Return times, positions, velocities and accelerations of points; the first at `approach`."""
    highest = motion.frequency * motion.sine.shape[1]
    count = int(np.ceil(_POINTS * highest * motion.duration)) + 1
    times = np.linspace(0.0, motion.duration, count)
    rows = motion.sample(times)
    for derivative in rows[1:]:
        derivative[[0, -1]] = 0.0  # exactly, without rounding errors
    return approach + times, *rows


def check(dynamics: Dynamics, points: tuple[np.ndarray, ...]) -> None:
    """Raise TrajectoryError if the points violate a limit of the controller."""
    model, start = dynamics.model, Reference.at_rest(points[1][0])
    times, positions, velocities, accelerations = points
    trajectory = Trajectory.from_points(
        times, positions, velocities, accelerations, start=start)
    check_path(model, trajectory, start, velocity_slack=0.0)
    check_feasibility(trajectory, dynamics.inverse_dynamics, model.effort_limit,
                      model.joint_names)
