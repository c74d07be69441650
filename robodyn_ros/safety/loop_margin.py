"""
Margins of the loop of a joint with a delay, and the natural frequency that has them.

With the delay T from torque to velocity the open loop of a joint under computed torque is

    L(s) = (kd s + kp) e^(-s T) / s^2,    kp = w^2, kd = 2 z w,

see Astrom and Murray, Feedback Systems, 10.3, for margins.
"""

from __future__ import annotations

import math

import numpy as np

PHASE_MARGIN = math.radians(45.0)
GAIN_MARGIN = 2.0  # 6 dB
_PART = 2.0 / 3.0  # of the phase margin without delay, that badly damped joints keep
_STEPS = 40


def phase_margin(frequency: float, damping_ratio: float, delay: float) -> float:
    """Return the phase margin in rad; natural frequency in rad/s, delay in s."""
    kp, kd = frequency ** 2, 2.0 * damping_ratio * frequency
    crossover = math.sqrt((kd ** 2 + math.sqrt(kd ** 4 + 4.0 * kp ** 2)) / 2.0)
    return math.atan2(crossover * kd, kp) - crossover * delay


def gain_margin(frequency: float, damping_ratio: float, delay: float) -> float:
    """Return the gain margin as a factor; infinite without delay."""
    if not delay:
        return math.inf
    kp, kd = frequency ** 2, 2.0 * damping_ratio * frequency
    # where the lead of the damping is lost to the delay
    low, high = 0.0, math.pi / 2.0 / delay
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = ((middle, high) if math.atan2(middle * kd, kp) > middle * delay
                     else (low, middle))
    return high ** 2 / math.hypot(kd * high, kp)


def largest_frequency(damping_ratio: float, delay: float) -> float:
    """
    Return the largest natural frequency in rad/s with 45 degrees and 6 dB of margin.

    A joint that has less than 67.5 degrees without delay keeps two thirds of what it has.
    """
    if delay <= 0.0 or damping_ratio <= 0.0:
        return math.inf
    wanted = min(PHASE_MARGIN, _PART * phase_margin(1.0, damping_ratio, 0.0))

    def has_margin(frequency: float) -> bool:
        return (phase_margin(frequency, damping_ratio, delay) >= wanted
                and gain_margin(frequency, damping_ratio, delay) >= GAIN_MARGIN)

    low, high = 0.0, math.pi / delay / max(damping_ratio, 0.1)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if has_margin(middle) else (low, middle)
    return low


def largest_frequencies(damping_ratios, delays) -> np.ndarray:
    """Return `largest_frequency` of each joint, (nv,)."""
    return np.array([largest_frequency(float(ratio), float(delay))
                     for ratio, delay in zip(damping_ratios, delays)])


def bandwidth_factors(kp: np.ndarray, kd: np.ndarray, delay: np.ndarray, excess: np.ndarray
                      ) -> np.ndarray:
    """
    Return the part of each natural frequency that has margins, (nv,), in (0, 1].

    Where only a part 1 / e of the inertia is there at high frequency, as above the resonance of an
    elastic joint, the feedback accelerates it e times as much.

    Parameters
    ----------
    kp, kd : (nv,) array
        Gains of the feedback, in 1/s^2 and 1/s.
    delay, excess : (nv,) array
        Delay in s, and e, of each joint.

    """
    frequency = np.maximum(np.sqrt(kp * excess), np.finfo(float).tiny)
    return np.minimum(largest_frequencies(0.5 * kd * excess / frequency, delay) / frequency, 1.0)
