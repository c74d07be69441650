"""Recordings of an arm: positions and efforts, each with their own times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError, RobodynError, shown

# a pause of more than this many median periods is a gap, unless it is so short (s) that linear
# interpolation is accurate
_GAP, _SHORT = 2.5, 0.03
_LARGEST = 1e8  # of positions and efforts, also where they are counts of an encoder or converter
_REPAIRS = 3  # rounds of counting the samples and fitting their period
_NONE_LOST = 1e-3  # part of the samples that may be missing where all seem to be there


@dataclass(frozen=True)
class Recording:
    """
    Positions and efforts of the joints, in model order.

    Attributes
    ----------
    joint_names : tuple of str
        Names of the joints.
    position_time, effort_time : (n,), (m,) array
        Times of one clock, in s.
    position, effort : (n, nv), (m, nv) array
        Samples in rad or m, and N m or N; NaN where one is missing.

    Raises
    ------
    ArgumentError
        A position or effort is larger than that of any arm, in any unit.

    """

    joint_names: tuple[str, ...]
    position_time: NDArray
    position: NDArray
    effort_time: NDArray
    effort: NDArray

    def __post_init__(self) -> None:
        for what, values in (('position', self.position), ('effort', self.effort)):
            size = np.abs(np.where(np.isfinite(values), values, 0.0))
            if size.size and size.max() > _LARGEST:
                row, j = np.unravel_index(size.argmax(), size.shape)
                raise ArgumentError(
                    f'joint {shown(self.joint_names[j])} has the {what} {values[row, j]:.3g} in '
                    f'sample {row + 1}, and no arm has more than {_LARGEST:.0e}: leave such '
                    'samples out', joint=self.joint_names[j])


def sorted_samples(times: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
    """
    Return samples sorted by time, without duplicates and without numbers that are not finite.

    Of several samples of one time the last is kept.
    """
    times, values = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    good = np.isfinite(times) & np.isfinite(values).all(axis=1)
    times, values = times[good], values[good]
    order = np.argsort(times, kind='stable')
    times, values = times[order], values[order]
    last = np.append(np.diff(times) > 0.0, True)[:len(times)]
    return times[last], values[last]


def intervals_without_gap(times: NDArray) -> list[tuple[float, float]]:
    """Return begin and end of the intervals between gaps."""
    if len(times) < 2:
        return []
    steps = np.diff(times)
    cuts = np.flatnonzero(steps > max(_GAP * np.median(steps), _SHORT))
    return list(zip(times[np.append(0, cuts + 1)], times[np.append(cuts, len(times) - 1)]))


def intersections(first: list[tuple[float, float]],
                  second: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the intersections of two lists of intervals."""
    both = [(max(a, c), min(b, d)) for a, b in first for c, d in second]
    return [(begin, end) for begin, end in both if begin < end]


def evenly_sampled(times: NDArray, period: float) -> NDArray:
    """
    Return the times at which samples were taken, from stamps that are late by varying amounts.

    The driver samples evenly, stamps are late or right, but never early, and samples may be
    missing: a sample has the latest place in the sequence that leaves one to each later sample.

    Parameters
    ----------
    times : (n,) array
        Increasing stamps, in s.
    period : float
        Period of the driver, in s; corrected to the clock of the stamps.

    Raises
    ------
    ArgumentError
        The period is not that of these stamps.

    """
    typical = (times[-1] - times[0]) / max(len(times) - 1, 1)
    if not 0.5 * period < np.median(np.diff(times)) < 1.5 * period or typical < 0.9 * period:
        raise ArgumentError(
            f'the stamps are {1e3 * typical:.4g} ms apart, and the period is {1e3 * period:.4g} '
            'ms: give the one at which the driver samples', period=period)
    order = np.arange(len(times))
    begin = times[0]
    if abs((times[-1] - begin) / period - order[-1]) < max(_NONE_LOST * len(times), 3.0):
        period, begin = _lower_line(order, times)  # the period that is given may be a little off
    for _ in range(_REPAIRS):
        places = np.round((times - begin) / period) - order
        places = order + np.minimum.accumulate(places[::-1])[::-1]
        period, begin = _lower_line(places, times)
    return begin + period * places


def _lower_line(x: NDArray, y: NDArray) -> tuple[float, float]:
    """Return slope and offset of a line through the lower half of points that err upwards."""
    line = np.polyfit(x, y, 1)
    for _ in range(_REPAIRS):
        rest = y - np.polyval(line, x)
        low = rest <= np.median(rest)
        line = np.polyfit(x[low], y[low], 1)
    return float(line[0]), float(line[1])


def uniform(recording: Recording, period: float | None = None
            ) -> tuple[float, list[tuple[NDArray, NDArray, NDArray]]]:
    """
    Return the recording at equal time steps, split at gaps.

    Parameters
    ----------
    recording : Recording
        Samples, in any order and with duplicates.
    period : float, optional
        Period at which the driver samples, in s: late stamps of positions, and of efforts in the
        same messages, are repaired.

    Returns
    -------
    rate : float
        Samples per second, as of the positions.
    segments : list of (times, position, effort)
        Arrays (n,), (n, nv) and (n, nv); there is no interpolation across a gap.

    Raises
    ------
    ArgumentError
        There are too few samples, the period is wrong, or positions and efforts do not overlap
        in time.

    """
    position_time, position = sorted_samples(recording.position_time, recording.position)
    effort_time, effort = sorted_samples(recording.effort_time, recording.effort)
    for what, times in (('positions', position_time), ('efforts', effort_time)):
        if len(times) < 10:
            raise ArgumentError(f'there are {len(times)} usable {what} of all joints: record '
                                'some tens of seconds of motion', count=len(times))
    if period is not None:
        together = np.array_equal(position_time, effort_time)
        position_time = evenly_sampled(position_time, period)
        effort_time = position_time if together else effort_time
    step = float(np.median(np.diff(position_time)))
    segments = []
    for begin, end in intersections(intervals_without_gap(position_time),
                                    intervals_without_gap(effort_time)):
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
    """Return values at other times, by linear interpolation."""
    return np.column_stack([np.interp(at, times, column) for column in values.T])


class Run(NamedTuple):
    """
    Recording of the arm under control, one row per state, in model order.

    Attributes
    ----------
    times : (n,) array
        Stamps of the states, in s.
    reference, position, velocity, effort : (n, nv) array
        Reference, and measured state; NaN where it is not reported.
    torque : (n, nv) array
        Torque that the controller sent for the state.
    latency : float
        Median time from the stamp of a state until its torque was sent, in s.
    shortfall : str
        Goal tolerance that was not met; '' if it was, or if there was no motion.

    """

    times: NDArray
    reference: NDArray
    position: NDArray
    velocity: NDArray
    effort: NDArray
    torque: NDArray
    latency: float
    shortfall: str

    @property
    def period(self) -> float:
        """Return the median time between two states, in s."""
        return float(np.median(np.diff(self.times)))

    @property
    def error(self) -> NDArray:
        """Return reference minus position, (n, nv)."""
        return self.reference - self.position

    def recording(self, joint_names: Sequence[str]) -> Recording:
        """Return positions and efforts for the identification."""
        return Recording(tuple(joint_names), self.times, self.position, self.times, self.effort)

    def after(self, begin: float) -> Run:
        """Return the part from a time after the first state on, in s."""
        return self._part(self.times - self.times[0] >= begin)

    def moving(self) -> Run:
        """Return the part from the first motion of the reference to its last one."""
        moves = (np.abs(np.diff(self.reference, axis=0)) > 0.0).any(axis=1)
        where = np.flatnonzero(moves)
        return self._part(slice(where[0], where[-1] + 2) if len(where) else slice(0, 0))

    def last(self, duration: float) -> Run:
        """Return the end of the motion of the reference, of a duration in s."""
        moving = self.moving()
        return moving._part(moving.times >= moving.times[-1:] - duration)

    def _part(self, rows: NDArray | slice) -> Run:
        return self._replace(
            times=self.times[rows], reference=self.reference[rows], position=self.position[rows],
            velocity=self.velocity[rows], effort=self.effort[rows], torque=self.torque[rows])


def save(run: Run, joint_names: Sequence[str], path: Path) -> None:
    """Write a run as a table that `robodyn identify` reads."""
    heads, columns = ['time'], [run.times[:, None]]
    for name in ('reference', 'position', 'velocity', 'effort', 'torque'):
        heads += [f'{joint}.{name}' for joint in joint_names]
        columns.append(getattr(run, name))
    np.savetxt(path, np.hstack(columns), '%.9g', ',', header=','.join(heads), comments='')


def load(path: Path, nv: int) -> Run:
    """Return a run that `save` has written, without its latency; `RobodynError` for others."""
    try:
        lines = path.read_text(encoding='utf-8').splitlines()[1:]
        table = np.array([line.split(',') for line in lines], dtype=float, ndmin=2)
    except (ValueError, OSError) as error:
        table = np.empty((0, 0))
        reason = str(error).partition('\n')[0]
    else:
        reason = f'{table.shape[0]} rows of {table.shape[1]} columns, not of {1 + 5 * nv} numbers'
    if table.shape[1] != 1 + 5 * nv or not len(table) or not np.isfinite(table).all():
        raise RobodynError(f'{path} is not the recording of a step ({reason}): measure it again '
                           'with --repeat', path=str(path))
    reference, position, velocity, effort, torque = (
        table[:, 1 + k * nv:1 + (k + 1) * nv] for k in range(5))
    return Run(table[:, 0], reference, position, velocity, effort, torque, 0.0, '')


def smoothed(values: NDArray, period: float, seconds: float = 0.02) -> NDArray:
    """Return moving averages of columns over a time in s."""
    size = max(1, round(seconds / period))
    kernel = np.ones(size) / size
    return np.column_stack([np.convolve(column, kernel, 'same') for column in values.T])
