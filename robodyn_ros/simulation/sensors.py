"""
What the sensors of an arm say of its state: coarse, noisy, off, late, and not every time.

Pure and seeded: time is an argument, and the same calls give the same numbers. Every effect has a
stream of random numbers of its own, so that switching one leaves the others as they were.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ArgumentError, shown

_PER_JOINT = ('resolution', 'position_bias', 'effort_bias', 'position_noise', 'velocity_noise',
              'effort_noise')
_SIGNED = ('position_bias', 'effort_bias')


@dataclass(frozen=True)
class SensorSettings:
    """
    What is wrong with the sensors; nothing by default. Checks itself.

    Parameters
    ----------
    resolution : float or (nv,) array_like
        Of the encoders (rad or m); 0 for perfect ones.
    position_bias, effort_bias : float or (nv,) array_like
        Constant errors, such as an encoder that was mounted askew.
    position_noise, velocity_noise, effort_noise : float or (nv,) array_like
        Standard deviation of white noise. That of the position is there before it is rounded to
        the resolution.
    delay : float
        Age of what is measured (s).
    dropout : float
        Part of the measurements that fail, 0 to 1.
    differentiate : bool
        Whether velocity is the difference of measured positions, as where only encoders are.
    velocity_cutoff : float
        Of a low pass of first order behind that (Hz); infinite for none.

    Raises
    ------
    ArgumentError
        A number is out of range; the message names it.

    """

    resolution: ArrayLike = 0.0
    position_bias: ArrayLike = 0.0
    effort_bias: ArrayLike = 0.0
    position_noise: ArrayLike = 0.0
    velocity_noise: ArrayLike = 0.0
    effort_noise: ArrayLike = 0.0
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
        """Whether the sensors tell the truth."""
        return not (self.delay or self.dropout or self.differentiate
                    or any(np.any(getattr(self, name)) for name in _PER_JOINT))

    def differences(self) -> list[str]:
        """Return the names of what is not as in ideal sensors."""
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
        What is wrong with them.
    seed : int
        Of the random numbers.

    Attributes
    ----------
    position, velocity, effort : (nv,) array
        The newest measurement; overwritten by the next.
    dropped : int
        Measurements that failed since it was made.

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
        Take other settings; what was measured stays.

        Raises
        ------
        ArgumentError
            An array has another length than there are joints.

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
        """Forget all measurements, and begin with the first random numbers again."""
        self._random = [np.random.default_rng(seed)
                        for seed in np.random.SeedSequence(self._seed).spawn(4)]
        self._before: tuple[float, NDArray] | None = None
        self._slope = np.zeros(self._nv)
        self._line: deque[tuple[float, NDArray]] = deque()

    def measure(self, time: float, q: NDArray, qd: NDArray, effort: NDArray) -> bool:
        """
        Measure.

        Parameters
        ----------
        time : float
            In seconds; not before the time of the last call.
        q, qd, effort : (nv,) array
            The truth.

        Returns
        -------
        bool
            Whether there is a new measurement; else the last one stays.

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
        """Return what is measured now, (3, nv)."""
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
        """Return the slope since the last sample, filtered; 0 at the first."""
        before, self._before = self._before, (time, position)
        if before is None or not time > before[0]:
            return self._slope.copy()
        step = time - before[0]
        new = (position - before[1]) / step
        cutoff = self.settings.velocity_cutoff
        share = 1.0 if cutoff == math.inf else -math.expm1(-2.0 * math.pi * cutoff * step)
        self._slope = self._slope + share * (new - self._slope)
        return self._slope.copy()

    def _delayed(self, time: float, now: NDArray) -> NDArray:
        """Return the newest sample that is old enough; the first while none is."""
        if not self.settings.delay:
            self._line.clear()
            return now
        line = self._line
        line.append((time, now))
        # rounding of times must not cost a sample
        due = time - self.settings.delay + 1e-9
        while len(line) > 1 and line[1][0] <= due:
            line.popleft()
        return line[0][1]


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
