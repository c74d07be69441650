"""What was recorded of an arm: positions and efforts, each with times of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError

# a pause of more than this many usual periods is a gap, unless it is so short (s) that a motion
# hardly bends in it
_GAP, _SHORT = 2.5, 0.03


@dataclass(frozen=True)
class Recording:
    """
    Positions and efforts of the joints, in model order.

    Attributes
    ----------
    joint_names : tuple of str
    position_time, effort_time : (n,), (m,) array
        Seconds of one clock.
    position, effort : (n, nv), (m, nv) array
        rad or m, N m or N.

    """

    joint_names: tuple[str, ...]
    position_time: NDArray
    position: NDArray
    effort_time: NDArray
    effort: NDArray


def tidied(times: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
    """
    Return samples in the order of their times: each time once, and only finite numbers.

    Of several samples of one time the last is kept.
    """
    times, values = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    good = np.isfinite(times) & np.isfinite(values).all(axis=1)
    times, values = times[good], values[good]
    order = np.argsort(times, kind='stable')
    times, values = times[order], values[order]
    last = np.append(np.diff(times) > 0.0, True)[:len(times)]
    return times[last], values[last]


def pieces(times: NDArray) -> list[tuple[float, float]]:
    """Return begin and end of what lies between gaps."""
    if len(times) < 2:
        return []
    steps = np.diff(times)
    cuts = np.flatnonzero(steps > max(_GAP * np.median(steps), _SHORT))
    return list(zip(times[np.append(0, cuts + 1)], times[np.append(cuts, len(times) - 1)]))


def common(first: list[tuple[float, float]],
           second: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the times that lie in a piece of both."""
    both = [(max(a, c), min(b, d)) for a, b in first for c, d in second]
    return [(begin, end) for begin, end in both if begin < end]


def uniform(recording: Recording) -> tuple[float, list[tuple[NDArray, NDArray, NDArray]]]:
    """
    Return the recording at equal steps of time, cut at gaps.

    Returns
    -------
    rate : float
        Samples per second: that of the positions.
    segments : list of (times, position, effort)
        Arrays (n,), (n, nv) and (n, nv); nothing is interpolated across a gap.

    Raises
    ------
    ArgumentError
        There are hardly any samples, or positions and efforts are never there together.

    """
    position_time, position = tidied(recording.position_time, recording.position)
    effort_time, effort = tidied(recording.effort_time, recording.effort)
    for what, times in (('positions', position_time), ('efforts', effort_time)):
        if len(times) < 10:
            raise ArgumentError(f'there are {len(times)} usable {what} of all joints: record '
                                'some tens of seconds of motion', count=len(times))
    step = float(np.median(np.diff(position_time)))
    segments = []
    for begin, end in common(pieces(position_time), pieces(effort_time)):
        times = begin + step * np.arange(int((end - begin) / step) + 1)
        segments.append((times, interpolated(times, position_time, position),
                         interpolated(times, effort_time, effort)))
    if not segments:
        raise ArgumentError(
            f'positions are from {position_time[0]:.3f} s to {position_time[-1]:.3f} s, efforts '
            f'from {effort_time[0]:.3f} s to {effort_time[-1]:.3f} s, and never together: record '
            'both at once')
    return 1.0 / step, segments


def interpolated(at: NDArray, times: NDArray, values: NDArray) -> NDArray:
    """Return values at other times, by straight lines."""
    return np.column_stack([np.interp(at, times, column) for column in values.T])
