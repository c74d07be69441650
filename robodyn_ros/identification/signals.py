"""
Filters without delay: what motion a recording shows, and how fast it is.

Positions are low-passed forward and backward and differentiated as splines; the torque and every
column of the regressor then go through one more low pass, the same for all, and are thinned out to
what it lets through. That leaves the equations true, and takes the noise out of them.

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
# of the motion's bandwidth: where positions are cut off, and the equations
_POSITION, _EQUATION = 10.0, 5.0
_SLOWEST = 0.3           # Hz, of a motion
_MOST = 0.2              # of the rate: highest cutoff
_WORK = 20.0             # samples per period of the position's cutoff: enough for the regressor
_KEPT = 2.5              # equations per period of their cutoff: nearly independent of each other
_EDGE = 2.0              # periods of the equations' cutoff lost at either end of a segment
_BRIEF = 1.0             # s: no shorter segment shows how fast a motion is
_POWER = 0.995           # of the velocity that lies within the motion's bandwidth
_CLEAR = 4.0             # times the noise that is motion


@dataclass(frozen=True)
class Filters:
    """
    How a recording is filtered.

    Attributes
    ----------
    rate : float
        Samples per second.
    position, equation : float
        Cutoff of the positions, and of torque and regressor (Hz).

    """

    rate: float
    position: float
    equation: float

    @classmethod
    def for_motion(cls, rate: float, bandwidth: float) -> Filters:
        """Return filters that leave a motion of some bandwidth (Hz) as it is."""
        position = min(_POSITION * bandwidth, _MOST * rate)
        return cls(rate, position, position * _EQUATION / _POSITION)

    @property
    def thinning(self) -> int:
        """How many samples apart the regressor is computed."""
        return max(1, int(self.rate / (_WORK * self.position)))

    @property
    def keeping(self) -> int:
        """How many of those are between two equations."""
        return max(1, int(self.rate / self.thinning / (_KEPT * self.equation)))

    @property
    def edge(self) -> float:
        """Seconds at either end of a segment that the filters spoil."""
        return _EDGE / self.equation

    @property
    def shortest(self) -> float:
        """Seconds that a segment must last to be of use."""
        return max(_BRIEF, 3.0 * self.edge)


@dataclass(frozen=True)
class Motion:
    """
    Motion of a segment: times (n,), then (n, nv) each, and the step between samples (s).

    `moving` tells where a joint surely moves: at rest its friction may be anything.
    """

    times: NDArray
    q: NDArray
    qd: NDArray
    qdd: NDArray
    effort: NDArray
    moving: NDArray
    step: float


def lowpass(values: NDArray, cutoff: float, rate: float) -> NDArray:
    """Return columns without what is above a cutoff (Hz), and without delay."""
    sections = butter(_ORDER, cutoff, fs=rate, output='sos')
    return sosfiltfilt(sections, values, axis=0, padlen=min(len(values) - 1,
                                                            int(3.0 * rate / cutoff)))


def bandwidth(segments: list[NDArray], rate: float) -> float:
    """
    Return the frequency (Hz) below which almost all of the velocity's power lies.

    That of the joint in the middle of all that move: one that chatters does not count.

    Parameters
    ----------
    segments : list of (n, nv) array
        Positions at equal steps. White noise in them does not count.
    rate : float
        Samples per second.

    """
    longest = max(segments, key=len)
    frequency, power = welch(longest, rate, nperseg=min(len(longest), int(8.0 * rate)),
                             detrend='linear', axis=0)
    noise = np.median(power[frequency > 0.25 * rate], axis=0)
    velocity = np.where(power > _CLEAR * noise, power - noise, 0.0) * frequency[:, None] ** 2
    total = velocity.sum(axis=0)
    # a joint that hardly moves shows noise, not motion
    share = np.cumsum(velocity, axis=0)[:, total > 1e-4 * total.max()]
    if not share.size or not total.max() > 0.0:
        return _SLOWEST
    edges = [frequency[np.searchsorted(column, _POWER * column[-1])] for column in share.T]
    return max(_SLOWEST, float(np.median(edges)))


def position_noise(segments: list[NDArray], filters: Filters) -> NDArray:
    """Return the standard deviation of what the position's filter takes away, (nv,)."""
    rest = [values - lowpass(values, filters.position, filters.rate) for values in segments]
    return np.sqrt(np.mean(np.concatenate(rest) ** 2, axis=0))


def slowest_motion(noise: NDArray, filters: Filters) -> NDArray:
    """
    Return the speed above which the direction of a joint is sure, (nv,).

    White noise of standard deviation s in positions leaves, behind a low pass at f and a
    derivative, sqrt(8 pi^2 f^3 / (3 rate)) s in the velocity.
    """
    return _CLEAR * noise * np.sqrt(8.0 * np.pi ** 2 * filters.position ** 3
                                    / (3.0 * filters.rate))


def motion(times: NDArray, position: NDArray, effort: NDArray, filters: Filters,
           slowest: NDArray) -> Motion:
    """
    Return the motion in a segment, thinned out.

    Parameters
    ----------
    times, position, effort : (n,), (n, nv), (n, nv) array
        At equal steps.
    filters : Filters
        Those of the recording.
    slowest : (nv,) array
        Speed below which a joint counts as resting.

    """
    keep = slice(None, None, filters.thinning)
    spline = make_interp_spline(times - times[0], lowpass(position, filters.position,
                                                          filters.rate), k=5)
    if filters.thinning > 1:
        # far above what the equations let through: only against aliasing
        effort = lowpass(effort, 0.4 * filters.rate / filters.thinning, filters.rate)
    q, qd, qdd = (np.ascontiguousarray(spline((times - times[0])[keep], nu)) for nu in range(3))
    return Motion(times[keep], q, qd, qdd, effort[keep], np.abs(qd) > slowest,
                  filters.thinning / filters.rate)


def check_length(segments: list[tuple[NDArray, NDArray, NDArray]], filters: Filters) -> None:
    """Raise ArgumentError if no segment is long enough to be of use."""
    longest = max(times[-1] - times[0] for times, _, _ in segments)
    if longest < filters.shortest:
        raise ArgumentError(
            f'the longest piece without a gap lasts {longest:.3g} s, and the filters need '
            f'{filters.shortest:.3g} s at this pace (cutoff {filters.position:.3g} Hz): record '
            'longer, look for lost messages, or give a higher cutoff', longest=longest,
            needed=filters.shortest)
