"""
Filters without delay: motion and bandwidth of a recording.

Positions are low-passed forward and backward and differentiated as splines; the torque and every
column of the regressor then pass one more low pass, the same for all, and are decimated to its
bandwidth. The equations stay valid, with less noise.

Source: Gautier, Dynamic identification of robots with power model, 1997; Gautier, Janot,
Vandanjon, A new closed-loop output error method, 2013 (parallel decimation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt, welch

from robodyn_ros.exceptions import ArgumentError

_ORDER = 4
# cutoff frequencies of positions and of equations, relative to the motion's bandwidth
_POSITION, _EQUATION = 10.0, 5.0
_SLOWEST = 0.3           # Hz, least bandwidth of a motion
_MAX_CUTOFF = 0.2        # highest cutoff, relative to the sample rate
_WORK = 20.0             # samples of the regressor per period of the position cutoff
_KEPT = 2.5              # equations per period of their cutoff: nearly independent of each other
_EDGE = 2.0              # periods of the equation cutoff dropped at either end of a segment
_MIN_DURATION = 1.0      # s, least duration of a segment
_POWER = 0.995           # part of the velocity's power within the motion's bandwidth
_CLEAR = 4.0             # ratio to the noise above which a signal is motion
_BANDS = 4               # bands per octave of a smoothed spectrum
_RISE = 10.0             # by which an acceleration spectrum must rise again, to be that of noise
_MOVED = 0.99            # part of the position's power below which noise is not looked for


@dataclass(frozen=True)
class Filters:
    """
    Filters of a recording.

    Attributes
    ----------
    rate : float
        Samples per second.
    position, equation : float
        Cutoff frequencies of the positions, and of torque and regressor (Hz).

    """

    rate: float
    position: float
    equation: float

    @classmethod
    def for_motion(cls, rate: float, bandwidth: float, noise: float = np.inf) -> Filters:
        """Return filters that pass a motion of this bandwidth, and no noise above `noise` (Hz)."""
        equation = max(min(_EQUATION * bandwidth, noise), _EQUATION * _SLOWEST, bandwidth)
        position = min(equation * _POSITION / _EQUATION, _MAX_CUTOFF * rate)
        return cls(rate, position, position * _EQUATION / _POSITION)

    @property
    def decimation(self) -> int:
        """Return the number of samples per evaluation of the regressor."""
        return max(1, int(self.rate / (_WORK * self.position)))

    @property
    def equation_decimation(self) -> int:
        """Return the number of regressor evaluations per equation."""
        return max(1, int(self.rate / self.decimation / (_KEPT * self.equation)))

    @property
    def edge(self) -> float:
        """Seconds of the filters' transients at either end of a segment."""
        return _EDGE / self.equation

    @property
    def shortest(self) -> float:
        """Seconds that a segment must last at least."""
        return max(_MIN_DURATION, 3.0 * self.edge)


@dataclass(frozen=True)
class SegmentMotion:
    """
    Motion of a segment: times (n,), then (n, nv) each, and the step between samples (s).

    `moving` is False where a joint may be at rest, so that its friction is undetermined.
    """

    times: NDArray
    q: NDArray
    qd: NDArray
    qdd: NDArray
    effort: NDArray
    moving: NDArray
    step: float


def lowpass(values: NDArray, cutoff: float, rate: float) -> NDArray:
    """Return low-passed columns (cutoff in Hz), without delay."""
    sections = butter(_ORDER, cutoff, fs=rate, output='sos')
    return sosfiltfilt(sections, values, axis=0, padlen=min(len(values) - 1,
                                                            int(3.0 * rate / cutoff)))


def bandwidth(segments: list[NDArray], rate: float) -> tuple[float, float]:
    """
    Return the bandwidth of a motion, and the frequency from which on there is only noise (Hz).

    Almost all of the velocity's power lies below the bandwidth. The spectrum of a motion's
    acceleration falls at high frequencies; that of noise, as of quantisation or uneven stamps,
    rises with the fourth power: noise begins where it is least. Both are medians over the moving
    joints, so that a single noisy joint has no influence.

    Parameters
    ----------
    segments : list of (n, nv) array
        Positions at equal time steps.
    rate : float
        Samples per second.

    Returns
    -------
    bandwidth, noise : float
        Both in Hz; noise is infinite if there is none.

    """
    longest = max(segments, key=len)
    frequency, power = welch(longest, rate, nperseg=min(len(longest), int(8.0 * rate)),
                             detrend='linear', axis=0)
    size = power.sum(axis=0)
    # the spectrum of a joint that hardly moves is noise
    power = power[:, size > 1e-5 * size.max()]
    if not power.size or not size.max() > 0.0:
        return _SLOWEST, np.inf
    onset = np.array([_noise_onset(frequency, column) for column in power.T])
    level = np.median(power[frequency > 0.25 * rate], axis=0)
    motion = (power > _CLEAR * level) & (frequency[:, None] < onset)
    share = np.cumsum(np.where(motion, power - level, 0.0) * frequency[:, None] ** 2, axis=0)
    share = share[:, share[-1] > 1e-4 * share[-1].max()]
    if not share.size:
        return _SLOWEST, float(np.median(onset))
    edges = [frequency[np.searchsorted(column, _POWER * column[-1])] for column in share.T]
    return max(_SLOWEST, float(np.median(edges))), float(np.median(onset))


def _noise_onset(frequency: NDArray, power: NDArray) -> float:
    """Return the frequency (Hz) at which the noise of a joint begins; infinite if none does."""
    begin = frequency[np.searchsorted(np.cumsum(power), _MOVED * power.sum())]
    bands = np.unique(np.searchsorted(frequency, max(begin, frequency[1]) * 2.0 ** np.arange(
        0.0, np.log2(max(0.5 * frequency[-1] / max(begin, frequency[1]), 1.0)), 1.0 / _BANDS)))
    if len(bands) < 2:
        return np.inf
    centre = [frequency[a:b].mean() for a, b in zip(bands, bands[1:])]
    level = np.array([power[a:b].mean() for a, b in zip(bands, bands[1:])]) * np.power(centre, 4)
    rises = np.flatnonzero(level > _RISE * np.minimum.accumulate(level))
    return float(centre[np.argmin(level[:rises[0]])]) if len(rises) else np.inf


def position_noise(segments: list[NDArray], filters: Filters) -> NDArray:
    """Return the standard deviation of the part that the position filter removes, (nv,)."""
    rest = [values - lowpass(values, filters.position, filters.rate) for values in segments]
    return np.sqrt(np.mean(np.concatenate(rest) ** 2, axis=0))


def slowest_motion(noise: NDArray, filters: Filters) -> NDArray:
    """
    Return the speed above which a joint's direction of motion is certain, (nv,).

    White noise of standard deviation s in positions leaves, behind a low pass at f and a
    derivative, sqrt(8 pi^2 f^3 / (3 rate)) s in the velocity.
    """
    return _CLEAR * noise * np.sqrt(8.0 * np.pi ** 2 * filters.position ** 3
                                    / (3.0 * filters.rate))


def motion(times: NDArray, position: NDArray, effort: NDArray, filters: Filters,
           slowest: NDArray) -> SegmentMotion:
    """
    Return the motion of a segment, decimated.

    Parameters
    ----------
    times, position, effort : (n,), (n, nv), (n, nv) array
        Samples at equal time steps.
    filters : Filters
        Filters of the recording.
    slowest : (nv,) array
        Speed below which a joint counts as at rest.

    """
    keep = slice(None, None, filters.decimation)
    spline = make_interp_spline(times - times[0], lowpass(position, filters.position,
                                                          filters.rate), k=5)
    if filters.decimation > 1:
        # anti-aliasing filter, far above the cutoff of the equations
        effort = lowpass(effort, 0.4 * filters.rate / filters.decimation, filters.rate)
    q, qd, qdd = (np.ascontiguousarray(spline((times - times[0])[keep], nu)) for nu in range(3))
    return SegmentMotion(times[keep], q, qd, qdd, effort[keep], np.abs(qd) > slowest,
                         filters.decimation / filters.rate)


def check_length(segments: list[tuple[NDArray, NDArray, NDArray]], filters: Filters) -> None:
    """Raise ArgumentError if no segment is long enough for the filters."""
    longest = max(times[-1] - times[0] for times, _, _ in segments)
    if longest < filters.shortest:
        raise ArgumentError(
            f'the longest piece without a gap lasts {longest:.3g} s, and the filters need '
            f'{filters.shortest:.3g} s at this pace (cutoff {filters.position:.3g} Hz): record '
            'longer, look for lost messages, or give a higher cutoff', longest=longest,
            needed=filters.shortest)
