"""
The recorded torque as a linear function of the unknown parameters, joint by joint.

    effort_j = scale_j (Y_j(q, qd, qdd) phi + viscous_j qd_j + Coulomb_j sign(qd_j) + offset_j
                        + armature_j qdd_j)

with other shapes of dry friction in place of the sign, see `dry_friction`.

With a delay d of the recorded effort against the positions, the effort at time t is the torque of
time t - d, so effort + d (d effort/dt) is the torque at t. A neglected delay looks like viscous
friction wherever gravity changes with position: 1 ms at 40 N m/rad is 0.04 N m s/rad.

Source: Khalil and Dombre, Modeling, Identification and Control of Robots, ch. 12.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.dry_friction import (
    chosen, DryFriction, mean_columns)
from robodyn_ros.identification.recording import Recording, uniform
from robodyn_ros.identification.signals import (
    bandwidth, check_length, Filters, lowpass, motion, position_noise, SegmentMotion,
    slowest_motion)

# columns after those of the regressor, in this order
JOINT_TERMS = ('viscous', 'coulomb', 'offset', 'armature', 'stribeck', 'load')
_SLOW = 0.05      # speed that counts as rest, as a part of the joint's largest speed
# largest parts of the filter's window in which a joint may rest or stick: the first that leaves
# enough equations, also compared with the third
_RESTING = (0.005, 0.02, 0.05, 0.3)
_LEFT, _ENOUGH = 0.65, 150
_SMALLEST = 1e-3  # rad or m, smallest range that counts as motion


@dataclass(frozen=True)
class Equations:
    """
    Linear equations of one joint.

    Attributes
    ----------
    times : (n,) array
        Time of each equation, in s.
    columns : (n, 10 nb + 6) array
        Row of the regressor of the joint, then `JOINT_TERMS`.
    effort, slope : (n,) array
        Recorded effort, in N m or N, and its time derivative.
    segment : (n,) array of int
        Number of the segment; equations of one segment are equally spaced in time.

    """

    times: NDArray
    columns: NDArray
    effort: NDArray
    slope: NDArray
    segment: NDArray

    def between(self, begin: float, end: float) -> Equations:
        """Return the equations of a time interval, in s."""
        return self.where((self.times >= begin) & (self.times < end))

    def where(self, where: NDArray) -> Equations:
        """Return the equations that an array of bool selects."""
        return Equations(*(getattr(self, field.name)[where] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class RegressionData:
    """
    Equations of a recording.

    Attributes
    ----------
    joints : list of Equations
        Equations of each joint, in model order.
    moves : (nv,) array of bool
        Whether the joint moves.
    filters : Filters
        Filters of the recording.
    recorded, used : float
        Recorded and used time, in s.
    segments : int
        Number of segments without gaps.
    dry : DryFriction
        Dry friction in the columns.

    """

    joints: list[Equations]
    moves: NDArray
    filters: Filters
    recorded: float
    used: float
    segments: int
    dry: DryFriction

    @property
    def span(self) -> tuple[float, float]:
        """Return first and last time of all equations, in s."""
        times = np.concatenate([joint.times for joint in self.joints])
        return float(times.min()), float(times.max())


def excerpt(dynamics: Dynamics, recording: Recording, cutoff: float | None = None,
            period: float | None = None, dry: DryFriction | None = None) -> RegressionData:
    """
    Return the equations of a recording.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm; of its inertias only the torque is used with which friction may grow.
    recording : Recording
        Recording with the joints in model order.
    cutoff : float, optional
        Cutoff frequency of the positions (Hz); default ten times the motion's bandwidth, or less
        where noise begins below.
    period : float, optional
        Period at which the driver samples (s), see `uniform`.
    dry : DryFriction, optional
        Dry friction to look for; default the sign of the velocity.

    Raises
    ------
    ArgumentError
        The recording is too short, or no joint moves; the message gives the remedy.

    """
    rate, segments = uniform(recording, period)
    positions = _unwrapped([q for _, q, _ in segments], dynamics.model.continuous)
    filters = (Filters.for_motion(rate, *bandwidth(positions, rate)) if cutoff is None
               else _given(rate, cutoff))
    check_length(segments, filters)
    whole = [(t, q, u) for (t, _, u), q in zip(segments, positions)
             if t[-1] - t[0] >= filters.shortest]
    threshold = slowest_motion(position_noise([q for _, q, _ in whole], filters), filters)
    fastest = np.max([np.abs(motion(*each, filters, threshold).qd).max(axis=0) for each in whole],
                     axis=0)
    moves = (np.ptp(np.concatenate([q for _, q, _ in whole]), axis=0) > _SMALLEST) & (
        fastest > 2.0 * threshold)
    if not moves.any():
        raise ArgumentError(
            'no joint moves: the largest motion is '
            f'{max(np.ptp(q, axis=0).max() for _, q, _ in whole):.2g} rad or m in the '
            f'{len(whole)} of {len(segments)} pieces without a gap that are long enough; record a '
            'motion of all joints, such as `robodyn excite` makes')
    rest = np.maximum(threshold, _SLOW * fastest)
    parts = [_Segment(dynamics, motion(*each, filters, rest), filters, k)
             for k, each in enumerate(whole)]
    most = _resting_parts(np.concatenate([part.resting for part in parts]))
    for part in parts:
        part.leave_out(most)
    dry = _supported(dry or DryFriction(), parts, fastest)
    joints = [_joined([part.equations(j, dry) for part in parts]) for j in range(dynamics.nv)]
    if not any(map(len, joints)):
        raise ArgumentError(f'nothing moves in the {len(whole)} of {len(segments)} pieces without '
                            'a gap that are long enough: look for lost messages, or record a '
                            'longer motion', segments=len(segments))
    return RegressionData(joints, moves, filters, sum(t[-1] - t[0] for t, _, _ in segments),
                          sum(t[-1] - t[0] - 2.0 * filters.edge for t, _, _ in whole),
                          len(segments), dry)


def _given(rate: float, cutoff: float) -> Filters:
    if not 0.0 < cutoff < 0.5 * rate:
        raise ArgumentError(f'the cutoff is {cutoff:g} Hz: it must be above 0, and below half of '
                            f'the {rate:.4g} positions per second', cutoff=cutoff)
    return Filters(rate, cutoff, 0.5 * cutoff)


def _unwrapped(positions: list[NDArray], continuous: NDArray) -> list[NDArray]:
    return [np.where(continuous, np.unwrap(q, axis=0), q) for q in positions]


class _Segment:
    """Motion and filtered columns of a segment, of which its equations are made."""

    def __init__(self, dynamics: Dynamics, made: SegmentMotion, filters: Filters, number: int):
        self._made, self._filters, self._number = made, filters, number
        self._rate = 1.0 / made.step
        edge = int(np.ceil(filters.edge * self._rate))
        self._keep = slice(edge, len(made.times) - edge, filters.equation_decimation)
        regressor = dynamics.regressor(made.q, made.qd, made.qdd)
        self._torque = regressor @ dynamics.parameters
        self.resting = np.abs(self._low(~made.moving))
        self._clear = self.resting < _RESTING[-1]
        slope = np.gradient(made.effort, made.step, axis=0)
        one = np.ones(len(made.times))
        self._common = [self._low(np.column_stack([
            regressor[:, j], made.qd[:, j], one, made.qdd[:, j], made.effort[:, j], slope[:, j]]))
            for j in range(dynamics.nv)]

    def _low(self, columns: NDArray) -> NDArray:
        """Return columns through the low pass of the equations, decimated."""
        return lowpass(columns.astype(float), self._filters.equation, self._rate)[self._keep]

    def leave_out(self, most: NDArray) -> None:
        """Leave out equations of joints that rest for more than a part of the window, (nv,)."""
        self._clear = self.resting < most

    def others(self, j: int) -> tuple[NDArray, NDArray, NDArray]:
        """Return all columns of a joint but those of dry friction, its effort, and numbers."""
        rows = self._common[j][self._clear[:, j]]
        return rows[:, :-2], rows[:, -2], np.full(len(rows), self._number)

    def dry(self, j: int, shape: str, velocity: float, load: bool) -> NDArray:
        """Return the columns of dry friction of a joint."""
        made = self._made
        return self._low(mean_columns(
            shape, velocity, made.qd[:, j], made.qdd[:, j] * made.step,
            self._torque[:, j] if load else None))[self._clear[:, j]]

    def equations(self, j: int, dry: DryFriction) -> Equations:
        """Return the equations of a joint."""
        clear = self._clear[:, j]
        rows = self._common[j][clear]
        coulomb, stribeck, load = self.dry(j, dry.shape, dry.velocity[j], dry.loaded[j]).T
        viscous, offset, armature, effort, slope = rows[:, -5:].T
        return Equations(
            self._made.times[self._keep][clear], np.column_stack([
                rows[:, :-5], viscous, coulomb, offset, armature, stribeck, load]), effort, slope,
            np.full(len(rows), self._number))


def _resting_parts(resting: NDArray) -> NDArray:
    """Return the part of the window in which each joint may rest, (nv,)."""
    counts = np.array([np.count_nonzero(resting < most, axis=0) for most in _RESTING])
    good = counts >= np.maximum(_LEFT * counts[2], _ENOUGH)
    good[-1] = True
    return np.array(_RESTING)[np.argmax(good, axis=0)]


def _supported(asked: DryFriction, parts: list[_Segment], fastest: NDArray) -> DryFriction:
    """Return the dry friction that the data supports."""
    if asked.shape == 'sign' and not asked.load:
        return replace(asked, velocity=np.full(len(fastest), np.nan),
                       loaded=np.zeros(len(fastest), dtype=bool))
    others, effort, segment = zip(*(map(np.concatenate, zip(*(part.others(j) for part in parts)))
                                    for j in range(len(fastest))))
    return chosen(asked, others, effort, segment, fastest, lambda j, *given: np.concatenate(
        [part.dry(j, *given) for part in parts]))


def _joined(parts: list[Equations]) -> Equations:
    return Equations(*(np.concatenate([getattr(part, name) for part in parts])
                       for name in (field.name for field in fields(Equations))))
