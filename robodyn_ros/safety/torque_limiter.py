"""
Supervision of the torque of a guard: rate limit, clamp, finite check.

The torque sent is always finite, within the effort limits, and no further from the last torque
than the rate limit allows. The control cycle has its own limits, `control.steps.limits`: the guard
imports nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.exceptions import ArgumentError, ParameterError

_LONGEST = 0.05  # s, that the rate limit uses at most, so that a pause does not permit a jump


class TorqueLimiter:
    """
    Limits the torque in each cycle.

    Parameters
    ----------
    effort_limit : (nv,)
        Effort limits in N m or N, infinite where there is none.
    rate_limit : float or (nv,)
        Rate limits in N m/s or N/s, infinite where there is none.
    joint_names : sequence of str, optional
        Names for messages; joints are numbered if left out.
    margin : float
        Usable part of the effort limit, above 0 to 1.

    """

    def __init__(self, effort_limit, rate_limit, joint_names: Sequence[str] | None = None,
                 margin: float = 1.0):
        limit = np.array(effort_limit, dtype=float, ndmin=1)
        nv = limit.size
        self._names = tuple(joint_names or (str(j) for j in range(nv)))
        self._limit, self._rate = checked_bounds(self._names, limit, rate_limit, margin)
        self._bound, self._lowering = self._limit.copy(), False
        self._last = np.zeros(nv)
        self._step, self._out = np.zeros((2, nv))

    @property
    def last(self) -> np.ndarray:
        """(nv,) copy of the torque sent last."""
        return self._last.copy()

    def change(self, effort_limit, rate_limit, margin: float = 1.0) -> None:
        """
        Set new limits; a torque above a new one is lowered at the rate limit.

        Raises
        ------
        ParameterError
            A bad value, naming the joint; no limit is changed then.

        """
        self._limit, self._rate = checked_bounds(self._names, effort_limit, rate_limit, margin)
        self._lowering = True

    def reset(self, torque) -> None:
        """
        Start from `torque`, (nv,): the measured or the gravity torque at activation.

        It is clamped to the effort limit; joints whose value is not finite start
        from zero.
        """
        torque = np.array(torque, dtype=float, ndmin=1)
        if torque.shape != self._last.shape:
            raise ArgumentError(f'{torque.shape} torques to start from, for '
                                f'{self._last.size} joints')
        torque[~np.isfinite(torque)] = 0.0
        self._last[:] = np.clip(torque, -self._limit, self._limit)
        self._lowering = True

    def supervise(self, desired: np.ndarray, fallback: np.ndarray,
                  dt: float) -> tuple[np.ndarray, str]:
        """
        Return the torque to send, overwritten by the next call, and what was wrong with `desired`.

        Parameters
        ----------
        desired : (nv,)
            Torque of the control law.
        fallback : (nv,)
            Gravity torque plus damping, used if `desired` is not finite.
        dt : float
            Seconds since the last call; if not above 0, the last torque is kept.

        """
        torque, fault = self._usable(desired, fallback)
        step, last = self._step, self._last
        if dt > 0.0:
            np.multiply(self._rate, min(dt, _LONGEST), out=step)
        else:
            step.fill(0.0)
        if self._lowering:  # a bound above a new limit is lowered at the rate limit
            np.maximum(self._limit, np.abs(last) - step, out=self._bound)
            self._lowering = bool((self._bound > self._limit).any())
        slowed = np.minimum(np.maximum(torque, last - step), last + step)
        np.minimum(np.maximum(slowed, -self._bound), self._bound, out=self._out)
        if not self._is_finite(self._out):
            fault = 'the supervised torque is not finite; the last one is sent again'
            self._out[:] = last
        last[:] = self._out
        return self._out, fault

    def _usable(self, desired, fallback) -> tuple[np.ndarray, str]:
        if self._is_finite(desired):
            return desired, ''
        fault = f'desired torque: {self._describe(desired)}; '
        if self._is_finite(fallback):
            return fallback, fault + 'sent gravity + damping'
        return self._last, (f'{fault}gravity + damping: {self._describe(fallback)}; sent the last '
                            'torque again')

    def _is_finite(self, torque) -> bool:
        if torque.shape != self._last.shape:
            return False
        return bool(np.isfinite(torque).all())

    def _describe(self, torque) -> str:
        if torque.shape != self._last.shape:
            return f'{torque.shape} values for {self._last.size} joints'
        j = int(np.argmin(np.isfinite(torque)))
        return f"{torque[j]} for joint '{self._names[j]}'"


def checked_bounds(joint_names: Sequence[str], effort_limit, rate_limit,
                   margin: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the largest torque, (nv,), and its largest change per second.

    Raises
    ------
    ParameterError
        A margin that is not above 0 and at most 1, a limit below 0, or a rate that is not above 0,
        naming the joint.

    """
    if not 0.0 < margin <= 1.0:
        raise ParameterError(f'effort margin is {margin}; it must be above 0, at most 1',
                             value=margin)
    limit, rate = (np.array(np.broadcast_to(np.asarray(values, dtype=float), len(joint_names)))
                   for values in (effort_limit, rate_limit))
    _check('effort limit', joint_names, limit, limit >= 0.0, '0 or more')
    _check('rate limit', joint_names, rate, rate > 0.0, 'above 0')
    return limit * margin, rate


def _check(what: str, joint_names: Sequence[str], values, good, needed: str) -> None:
    for name, value, fine in zip(joint_names, values, good):
        if not fine:
            raise ParameterError(f"{what} of joint '{name}' is {value}; it must be {needed}",
                                 joint=name, value=float(value))
