"""
Sensor model: resolution, noise, bias, delay and dropouts.

Deterministic: time is an argument, and the same seed and calls give the same numbers. Every effect
has its own stream of random numbers, so that changing one does not change the others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError, shown

_PER_JOINT = ('resolution', 'position_bias', 'effort_bias', 'position_noise', 'velocity_noise',
              'effort_noise')
_SIGNED = ('position_bias', 'effort_bias')


@dataclass(frozen=True)
class SensorSettings:
    """
    Errors of the sensors, validated; ideal sensors by default.

    Parameters
    ----------
    resolution : float or (nv,) array_like
        Resolution of the encoders (rad or m); 0 for ideal ones.
    position_bias, effort_bias : float or (nv,) array_like
        Constant errors, such as the offset of an encoder (rad or m; N m or N).
    position_noise, velocity_noise, effort_noise : float or (nv,) array_like
        Standard deviation of white noise. That of the position is added before rounding to
        the resolution.
    delay : float
        Delay of the measurements (s).
    dropout : float
        Fraction of the measurements that fail, 0 to 1.
    differentiate : bool
        Whether velocity is the difference of measured positions, as with encoders only.
    velocity_cutoff : float
        Cutoff frequency of a first-order low pass of that difference (Hz); infinite for none.

    Raises
    ------
    ArgumentError
        A number is out of range; the message names it.

    """

    resolution: Any = 0.0
    position_bias: Any = 0.0
    effort_bias: Any = 0.0
    position_noise: Any = 0.0
    velocity_noise: Any = 0.0
    effort_noise: Any = 0.0
    delay: float = 0.0
    dropout: float = 0.0
    differentiate: bool = False
    velocity_cutoff: float = math.inf

    def __post_init__(self) -> None:
        for name in _PER_JOINT:
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if not 0.0 <= self.delay < math.inf:
            raise ArgumentError(f'the delay of the sensors is {self.delay!r}: it must be a number '
                                'of seconds, 0 for none')
        if not 0.0 <= self.dropout <= 1.0:
            raise ArgumentError(f'dropout is {self.dropout!r}: it must be a part, from 0 to 1')
        if not self.velocity_cutoff > 0.0:
            raise ArgumentError(f'velocity_cutoff is {self.velocity_cutoff!r}: it must be above '
                                '0 Hz; infinite for no filter')

    @property
    def ideal(self) -> bool:
        """Whether measurements equal the true values."""
        return not (self.delay or self.dropout or self.differentiate
                    or any(np.any(getattr(self, name)) for name in _PER_JOINT))

    def differences(self) -> list[str]:
        """Return the names of the settings that differ from ideal sensors."""
        return [field.name for field in fields(self)
                if np.any(np.asarray(getattr(self, field.name)) != field.default)]


class Sensors:
    """
    Sensors of all joints; arrays in model order.

    Parameters
    ----------
    nv : int
        Number of joints.
    settings : SensorSettings
        Errors of the sensors.
    seed : int
        Seed of the random numbers.

    Attributes
    ----------
    position, velocity, effort : (nv,) array
        Last measurement; overwritten by the next.
    dropped : int
        Number of failed measurements.

    """

    def __init__(self, nv: int, settings: SensorSettings | None = None, seed: int = 0):
        self._nv, self._seed = nv, seed
        self._measured = np.zeros((3, nv))
        self.position, self.velocity, self.effort = self._measured
        self.dropped = 0
        self.change(settings or SensorSettings())
        self.reset()

    def change(self, settings: SensorSettings) -> None:
        """
        Change the settings; past measurements are kept.

        Raises
        ------
        ArgumentError
            An array does not have one number per joint.

        """
        for name in _PER_JOINT:
            if getattr(settings, name).shape not in ((), (self._nv,)):
                raise ArgumentError(f'{name} of the sensors has {getattr(settings, name).size} '
                                    f'numbers: give one, or one for each of {self._nv} joints')
        self.settings = settings
        self.ideal = settings.ideal
        coarse = settings.resolution > 0.0
        self._coarse = coarse if np.any(coarse) else None
        self._unit = np.where(coarse, settings.resolution, 1.0)

    def reset(self) -> None:
        """Delete all measurements, and restart the random numbers."""
        self._random = [np.random.default_rng(seed)
                        for seed in np.random.SeedSequence(self._seed).spawn(4)]
        self._last: tuple[float, NDArray] | None = None
        self._slope = np.zeros(self._nv)
        self._queue: deque[tuple[float, NDArray]] = deque()

    def measure(self, time: float, q: NDArray, qd: NDArray, effort: NDArray) -> bool:
        """
        Measure the state.

        Parameters
        ----------
        time : float
            Time in seconds; it does not decrease.
        q, qd, effort : (nv,) array
            True values.

        Returns
        -------
        bool
            Whether there is a new measurement; otherwise the last one is kept.

        """
        if self.ideal:
            self._measured[0], self._measured[1], self._measured[2] = q, qd, effort
            return True
        now = self._sample(time, q, qd, effort)
        dropout = self.settings.dropout
        if dropout and self._random[3].random() < dropout:
            self.dropped += 1
            return False
        self._measured[:] = self._delayed(time, now)
        return True

    def _sample(self, time: float, q, qd, effort) -> NDArray:
        """Return the measurement at this time, without delay, (3, nv)."""
        settings, nv = self.settings, self._nv
        position = q + settings.position_bias
        if settings.position_noise.any():
            position += settings.position_noise * self._random[0].standard_normal(nv)
        if self._coarse is not None:
            counts = np.round(position / self._unit) * self._unit
            position = np.where(self._coarse, counts, position)
        velocity = self._difference(time, position) if settings.differentiate else qd
        if settings.velocity_noise.any():
            velocity = velocity + settings.velocity_noise * self._random[1].standard_normal(nv)
        effort = effort + settings.effort_bias
        if settings.effort_noise.any():
            effort += settings.effort_noise * self._random[2].standard_normal(nv)
        return np.array([position, velocity, effort])

    def _difference(self, time: float, position: NDArray) -> NDArray:
        """Return the filtered slope since the last sample; 0 at the first."""
        last, self._last = self._last, (time, position)
        if last is None or not time > last[0]:
            return self._slope.copy()
        step = time - last[0]
        new = (position - last[1]) / step
        cutoff = self.settings.velocity_cutoff
        share = 1.0 if cutoff == math.inf else -math.expm1(-2.0 * math.pi * cutoff * step)
        self._slope = self._slope + share * (new - self._slope)
        return self._slope.copy()

    def _delayed(self, time: float, now: NDArray) -> NDArray:
        """Return the newest sample that is old enough; the first one if none is."""
        if not self.settings.delay:
            self._queue.clear()
            return now
        queue = self._queue
        queue.append((time, now))
        # tolerance, so that rounding of times does not delay by another sample
        due = time - self.settings.delay + 1e-9
        while len(queue) > 1 and queue[1][0] <= due:
            queue.popleft()
        return queue[0][1]


def _numbers(name: str, value: object) -> NDArray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(math.nan)
    if not np.isfinite(array).all() or (name not in _SIGNED and (array < 0.0).any()):
        kind = 'finite' if name in _SIGNED else 'finite and not negative'
        raise ArgumentError(f'{name} of the sensors is {shown(value)}: it must be {kind}',
                            name=name, value=value)
    array.flags.writeable = False
    return array
