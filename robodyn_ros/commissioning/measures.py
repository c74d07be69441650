"""What small steps of the joints and a pause show: delay, noise, velocities, stick-slip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid

from robodyn_ros.identification.recording import Run, smoothed
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import joint_slides

# kd times the delay of the loop at a phase margin of 52 degrees, see docs/tuning.md: the model is
# known by now
_DELAY = 0.4
_LARGEST = 60.0   # rad/s, above which elastic gears and links are likely to be excited
_LEAST = 5.0      # rad/s
_NOISE = 0.01     # part of the effort limits that noise of the velocities may cause

STEP = (0.05, 0.01)    # rad, m: size of a step
_STROKE, _REST = 0.5, 0.25  # s of a step there or back, and of the rest after it
_LAGS = np.arange(0.0, 0.03, 0.00025)  # s, tried for a delay
_FINEST = 1e-9         # rad or m, below which changes are those of numbers without steps
_WINDOW = 0.05         # s of motion in which velocities and positions are compared
_STUCK = 0.5           # part of its motion from which a stuck joint shows no delay
_SLOW = 0.1            # part of the reference velocity below which a joint sticks


class Measures(NamedTuple):
    """
    Measured properties of arm, sensors and loop.

    Attributes
    ----------
    delay : float
        From the stamp of a state until its torque acts, in s, with half a period.
    period : float
        Between two states, in s.
    longest : float
        Longest time between two states, in s.
    resolution : (nv,) array
        Smallest step of each position, rad or m; 0 without steps.
    velocity_noise : (nv,) array
        Standard deviation of the velocities at rest or in motion, the larger one, rad/s or m/s:
        a quantised position at rest has none.
    velocity_ratio : (nv,) array
        Reported velocity per derivative of the position; NaN where there is none.
    velocity_lag : float
        Delay of reported velocities against positions, in s.
    sticking : (nv,) array
        Part of its motion in which a joint does not move.

    """

    delay: float
    period: float
    longest: float
    resolution: NDArray
    velocity_noise: NDArray
    velocity_ratio: NDArray
    velocity_lag: float
    sticking: NDArray


def step_points(model: RobotModel, start: NDArray) -> tuple[NDArray, ...]:
    """
    Return points of a step of one joint after the other, there and back, from a position.

    The steps are shorter where a joint has less room within the limits of the model.
    """
    above, below = model.upper - start, start - model.lower
    up = above > below
    size = np.minimum(np.where(joint_slides(model), STEP[1], STEP[0]), np.maximum(above, below))
    positions = [start]
    for j in range(model.nv):
        there = start.copy()
        there[j] += size[j] if up[j] else -size[j]
        positions += [there, there, start, start]
    pauses = np.tile([_STROKE, _REST], 2 * model.nv)
    times = np.concatenate([[0.0], np.cumsum(pauses)])
    zero = np.zeros((len(times), model.nv))
    return 0.5 + times, np.array(positions), zero, zero


def measure(rest: Run, steps: Run) -> Measures:
    """Return what a run at rest and one of `step_points` show."""
    nv = rest.position.shape[1]
    period = steps.period
    changes = [np.abs(np.diff(column)) for column in np.vstack([rest.position, steps.position]).T]
    resolution = np.array([each[each > 0.0].min() if (each > 0.0).any() else 0.0
                           for each in changes])
    resolution[resolution < _FINEST] = 0.0
    derivative = np.gradient(steps.position, steps.times, axis=0)
    wanted = np.gradient(steps.reference, steps.times, axis=0)
    moving = np.abs(wanted) > 0.3 * np.abs(wanted).max(axis=0)
    smooth = smoothed(derivative, period)
    sticking = np.array([np.mean(np.abs(smooth[moving[:, j], j])
                                 < _SLOW * np.abs(wanted[moving[:, j], j]))
                         if moving[:, j].any() else 0.0 for j in range(nv)])
    reported = np.isfinite(steps.velocity).all(axis=0)
    velocity = np.where(reported, steps.velocity, 0.0)
    compared = reported & (sticking < _STUCK)
    # integrated, as quantisation and uneven stamps dominate the derivative of the position
    travelled = cumulative_trapezoid(velocity, steps.times, axis=0, initial=0.0)
    count = max(1, round(_WINDOW / period))
    moved, there = (each[count:] - each[:-count] for each in (travelled, steps.position))
    with np.errstate(divide='ignore', invalid='ignore'):
        ratio = np.sum(moved * there, axis=0) / np.sum(there ** 2, axis=0)
    acting = lag(steps.times, steps.torque, steps.effort)
    # a reported effort has acted for some part of a period already
    delay = max(steps.latency + 0.5 * period, np.nan_to_num(acting))
    velocity_lag = lag(steps.times, steps.position[:, compared], travelled[:, compared])
    return Measures(delay, period, float(np.diff(steps.times).max()), resolution,
                    np.maximum(*map(np.nan_to_num, (
                        _noise(rest.velocity), _noise_in_motion(steps.velocity, moving)))),
                    np.where(reported, ratio, np.nan),
                    velocity_lag, sticking)


def lag(times: NDArray, cause: NDArray, effect: NDArray) -> float:
    """
    Return the delay of signals, in s: of those tried, the likeliest for white noise.

    Parameters
    ----------
    times : (n,) array
        Increasing times.
    cause, effect : (n, m) array
        Signals; each effect is a multiple of its delayed cause, with an offset.

    Returns
    -------
    float
        NaN if no signal changes.

    """
    good = (np.isfinite(cause).all(axis=0) & np.isfinite(effect).all(axis=0)
            & (np.ptp(cause, axis=0) > 0.0) & (np.ptp(effect, axis=0) > 0.0))
    if not good.any():
        return float('nan')
    late = times >= times[0] + _LAGS[-1]
    total = np.zeros(len(_LAGS))
    for x, y in zip(cause.T[good], effect.T[good]):
        y = y[late] - y[late].mean()
        for k, each in enumerate(_LAGS):
            shifted = np.interp(times[late] - each, times, x)
            shifted = shifted - shifted.mean()
            share = (shifted @ y) ** 2 / ((shifted @ shifted) * (y @ y))
            total[k] += np.log(max(1.0 - share, 1e-9))
    return float(_LAGS[np.argmin(total)])


def _noise(velocity: NDArray) -> NDArray:
    """Return the standard deviation of white noise, from the differences of successive values."""
    return np.sqrt(0.5 * np.mean(np.diff(velocity, axis=0) ** 2, axis=0))


def _noise_in_motion(velocity: NDArray, moving: NDArray) -> NDArray:
    """Return the standard deviation of white noise, from second differences while joints move."""
    second = np.diff(velocity, 2, axis=0) ** 2
    where = moving[1:-1]
    return np.sqrt(np.where(where, second, 0.0).sum(axis=0) / (6.0 * np.maximum(
        where.sum(axis=0), 1)))


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
