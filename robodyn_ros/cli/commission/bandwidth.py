"""Natural frequency of the tracking error from measured delay and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.cli.commission.measures import Measures

# kd times the delay of the loop at a phase margin of 52 degrees, see docs/tuning.md: the model is
# known by now
_DELAY = 0.4
_LARGEST = 60.0   # rad/s, above which elastic gears and links are likely to be excited
_LEAST = 5.0      # rad/s
_NOISE = 0.01     # part of the effort limits that noise of the velocities may cause


def loop_delay(measured: Mapping[str, Any]) -> float:
    """Return the delay of the damping, in s: of the loop, and of the reported velocities."""
    return float(measured['delay'] + max(np.nan_to_num(measured['velocity_lag']), 0.0))


def natural_frequency(measures: Measures, inertia: NDArray, effort_limit: NDArray) -> NDArray:
    """
    Return the natural frequency of each joint, (nv,), in rad/s, for a damping ratio of 1.

    Parameters
    ----------
    measures : Measures
        Delay and noise.
    inertia : (nv,) array
        Typical inertia of each joint with its rotor, kg m^2 or kg.
    effort_limit : (nv,) array
        In N m or N; infinite where there is none.

    """
    delay = loop_delay(measures._asdict())
    by_delay = 0.5 * _DELAY / max(delay, 1e-4)
    noise = 2.0 * inertia * measures.velocity_noise
    with np.errstate(divide='ignore', invalid='ignore'):
        by_noise = np.where((noise > 0.0) & np.isfinite(effort_limit),
                            _NOISE * effort_limit / noise, np.inf)
    return np.maximum(np.minimum(by_noise, min(by_delay, _LARGEST)), _LEAST)
