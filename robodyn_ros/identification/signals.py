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
    def for_motion(cls, rate: float, bandwidth: float) -> Filters:
        """Return filters that pass a motion of this bandwidth (Hz)."""
        position = min(_POSITION * bandwidth, _MAX_CUTOFF * rate)
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


def bandwidth(segments: list[NDArray], rate: float) -> float:
    """
    Return the frequency (Hz) below which almost all of the velocity's power lies.

    It is the median over the moving joints, so that a single noisy joint has no influence.

    Parameters
    ----------
    segments : list of (n, nv) array
        Positions at equal time steps. White noise is subtracted.
    rate : float
        Samples per second.

    """
    longest = max(segments, key=len)
    frequency, power = welch(longest, rate, nperseg=min(len(longest), int(8.0 * rate)),
                             detrend='linear', axis=0)
    noise = np.median(power[frequency > 0.25 * rate], axis=0)
    velocity = np.where(power > _CLEAR * noise, power - noise, 0.0) * frequency[:, None] ** 2
    total = velocity.sum(axis=0)
    # the spectrum of a joint that hardly moves is noise
    share = np.cumsum(velocity, axis=0)[:, total > 1e-4 * total.max()]
    if not share.size or not total.max() > 0.0:
        return _SLOWEST
    edges = [frequency[np.searchsorted(column, _POWER * column[-1])] for column in share.T]
    return max(_SLOWEST, float(np.median(edges)))


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
