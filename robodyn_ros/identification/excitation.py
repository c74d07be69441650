"""
Motions that tell much about an arm: finite Fourier series, faded in and out.

    q_j(t) = c_j + w(t) sum_k (a_jk sin(2 pi k f t) - b_jk cos(2 pi k f t)) / (2 pi k f)

with w a quintic from 0 to 1 and back, so that the arm begins and ends at rest. Coefficients are
sought that make the condition number of the base regressor small, within the limits.

Source: Swevers, Ganseman, Tukel, de Schutter, van Brussel, Optimal robot excitation and
identification, 1997.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import time

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, TrajectoryError
from robodyn_ros.identification.condition import condition_number

_SAMPLES = 120         # states that the condition number is computed from
_CHECKS = 2000         # and of the limits, at the end
_SHRINK, _ATTEMPTS = 0.9, 40
_FREE = np.pi / 2.0    # rad or m: range to either side of 0 where there is no limit
_UNLIMITED = 100.0     # N m or N: taken for the effort limit where there is none
_PENALTY = 10.0        # of the logarithm of the condition number, for each limit exceeded once
_FITTED = 10           # motions, of those drawn, that are fitted into the limits and compared


@dataclass(frozen=True)
class Bounds:
    """
    What a motion must keep to, each (nv,), in rad or m and N m or N.

    `lower` and `upper` are finite; `effort` is what the model may ask for.
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
        Return parts of the limits of the model; `acceleration` is in rad/s^2 or m/s^2.

        Raises
        ------
        ArgumentError
            A joint without torque, or none that can move.

        """
        model = dynamics.model
        if not ((model.velocity_limit > 0.0) & (model.upper > model.lower)).any():
            raise ArgumentError('no joint can move: every velocity limit or position range is '
                                'zero; correct <limit> in the URDF')
        for name, limit in zip(model.joint_names, model.effort_limit):
            if limit == 0.0:
                raise ArgumentError(f'joint {name!r} has effort limit 0: correct <limit> in the '
                                    'URDF, or lock the joint', joint=name)
        lower = np.where(np.isfinite(model.lower), model.lower,
                         np.where(np.isfinite(model.upper), model.upper - 2.0 * _FREE, -_FREE))
        upper = np.where(np.isfinite(model.upper), model.upper, lower + 2.0 * _FREE)
        middle, half = 0.5 * (lower + upper), 0.5 * position * (upper - lower)
        return cls(middle - half, middle + half, velocity * model.velocity_limit,
                   np.full(model.nv, float(acceleration)), effort * model.effort_limit)


@dataclass(frozen=True)
class Fourier:
    """
    A motion.

    Attributes
    ----------
    duration, fade : float
        Seconds: of all, and of the fading at either end.
    frequency : float
        Of the first harmonic (Hz).
    centre : (nv,) array
        Where it begins and ends.
    sine, cosine : (nv, K) array
        Coefficients of the velocity.

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
    """Return the fading and its derivatives: a quintic with none of them at its ends."""
    toward_end = t > 0.5 * duration
    u = np.clip(np.where(toward_end, duration - t, t) / fade, 0.0, 1.0)
    sign = np.where(toward_end, -1.0, 1.0)
    return (u ** 3 * (10.0 - 15.0 * u + 6.0 * u ** 2),
            sign * 30.0 * u ** 2 * (1.0 - u) ** 2 / fade,
            60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / fade ** 2)


@dataclass(frozen=True)
class Excitation:
    """
    A motion that was sought.

    Attributes
    ----------
    motion : Fourier
    before, after : float
        Condition number of the base regressor: of the best motion drawn at random, fitted into
        the limits, and of this one, which is never larger.
    share : (nv,) array
        Largest part of each joint's effort bound that the model asks for.

    """

    motion: Fourier
    before: float
    after: float
    share: NDArray


class Search:
    """
    Looks for a motion.

    Parameters
    ----------
    dynamics : Dynamics
        The arm; its friction counts against the effort.
    bounds : Bounds
        What the motion must keep to.
    duration, fade, frequency : float
        As in `Fourier`, in s, s and Hz.
    harmonics : int
        How many, of each joint.

    Raises
    ------
    ArgumentError
        The motion is too short to be faded in and out.

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
        # errors of a torque are about in proportion to what its motor can give
        self._weight = 1.0 / np.minimum(bounds.effort, _UNLIMITED)[:, None]

    def motion(self, x: NDArray, samples: int = _SAMPLES) -> Fourier:
        """
        Return the motion of (nv (1 + 2 harmonics),) free numbers, each about -1 to 1.

        The first nv are places of the joints in their ranges, the others the coefficients. It is
        as large as positions, velocities and accelerations allow at a number of samples.
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
        # a joint that cannot move leaves some without any effect
        return condition_number(columns[:, np.abs(columns).max(axis=0) > 1e-9])

    def share(self, motion: Fourier, samples: int = _SAMPLES) -> NDArray:
        """Return the largest part of each effort bound that a motion asks for, (nv,)."""
        q, qd, qdd = map(np.ascontiguousarray,
                         motion.sample(np.linspace(0.0, self.duration, samples)))
        model = self.dynamics.model
        torque = (self.dynamics.inverse_dynamics(q, qd, qdd) + model.damping * qd
                  + model.friction * np.sign(qd))
        return np.abs(torque).max(axis=0) / self.bounds.effort

    def cost(self, x: NDArray) -> float:
        """Return what is made small: log of the condition number, and a penalty."""
        motion = self.motion(x)
        excess = np.maximum(self.share(motion) - 1.0, 0.0)
        return float(np.log(self.condition(motion)) + _PENALTY * np.sum(excess))

    def best(self, seed: int = 0, seconds: float = 30.0, starts: int = 200,
             tick: Callable[[float], None] = lambda condition: None) -> Excitation:
        """
        Return the best motion found in a time.

        Random numbers are drawn first, then the best of them is improved (L-BFGS with
        differences) until the time is over; with enough time the result depends on the seed
        alone.

        Parameters
        ----------
        seed : int
            Of the random numbers.
        seconds : float
            After which the best until then is taken.
        starts : int
            How many are drawn.
        tick : callable
            Called with the condition number reached, now and then.

        Raises
        ------
        TrajectoryError
            The motors cannot drive any; the message names the joint.

        """
        end = time.monotonic() + seconds
        rng = np.random.default_rng(seed)
        nv = self.dynamics.nv
        drawn = rng.normal(size=(starts, nv * (1 + 2 * self.harmonics)))
        ranked = drawn[np.argsort([self.cost(x) for x in drawn], kind='stable')]
        # what the limits leave of a motion may be worth less than what was drawn
        before, _, first = self._best_fitted(ranked[:_FITTED])
        after, motion, _ = self._best_fitted([self._improved(first, end, tick), first])
        return Excitation(motion, before, after, self.share(motion, _CHECKS))

    def _best_fitted(self, numbers: Sequence[NDArray]) -> tuple[float, Fourier, NDArray]:
        """Return condition number, motion and numbers of the best that the motors can drive."""
        found, error = [], None
        for x in numbers:
            try:
                motion = self._within_effort(self.motion(x, _CHECKS))
                found.append((self.condition(motion), motion, x))
            except TrajectoryError as failed:
                error = error or failed
        if not found:
            raise error
        return min(found, key=lambda each: each[0])

    def _improved(self, x: NDArray, end: float, tick: Callable[[float], None]) -> NDArray:
        best = [self.cost(x), x]

        def watched(x: NDArray) -> float:
            cost = self.cost(x)
            if cost < best[0]:
                best[:] = cost, x.copy()
                tick(np.exp(cost))
            if time.monotonic() > end:
                raise TimeoutError
            return cost

        try:
            minimize(watched, x, method='L-BFGS-B', options={'maxiter': 200, 'maxfun': 10 ** 7})
        except TimeoutError:
            pass
        return best[1]

    def _within_effort(self, motion: Fourier) -> Fourier:
        """Return a motion made smaller until the motors can drive it."""
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
