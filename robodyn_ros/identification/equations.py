"""
The recorded torque as a linear function of the unknown parameters, joint by joint.

    effort_j = scale_j (Y_j(q, qd, qdd) phi + viscous_j qd_j + Coulomb_j sign(qd_j) + offset_j
                        + armature_j qdd_j)

With a delay d of the recorded effort against the positions, the effort at time t is the torque of
time t - d, so effort + d (d effort/dt) is the torque at t. A neglected delay looks like viscous
friction wherever gravity changes with position: 1 ms at 40 N m/rad is 0.04 N m s/rad.

Source: Khalil and Dombre, Modeling, Identification and Control of Robots, ch. 12.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.recording import Recording, uniform
from robodyn_ros.identification.signals import (
    bandwidth, check_length, Filters, lowpass, motion, position_noise, SegmentMotion,
    slowest_motion)

# columns after those of the regressor, in this order
JOINT_TERMS = ('viscous', 'coulomb', 'offset', 'armature')
_SLOW = 0.01      # speed that counts as rest, as a part of the joint's largest speed
_RESTING = 0.3    # largest part of the filter's window in which a joint may rest
_SMALLEST = 1e-3  # rad or m, smallest range that counts as motion


@dataclass(frozen=True)
class Equations:
    """
    Linear equations of one joint.

    Attributes
    ----------
    times : (n,) array
        Time of each equation, in s.
    columns : (n, 10 nb + 4) array
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
        where = (self.times >= begin) & (self.times < end)
        return Equations(*(getattr(self, field.name)[where] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class Excerpt:
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

    """

    joints: list[Equations]
    moves: NDArray
    filters: Filters
    recorded: float
    used: float
    segments: int

    @property
    def span(self) -> tuple[float, float]:
        """Return first and last time of all equations, in s."""
        times = np.concatenate([joint.times for joint in self.joints])
        return float(times.min()), float(times.max())


def excerpt(dynamics: Dynamics, recording: Recording, cutoff: float | None = None) -> Excerpt:
    """
    Return the equations of a recording.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm; only the regressor is used, so not its inertias.
    recording : Recording
        Recording with the joints in model order.
    cutoff : float, optional
        Cutoff frequency of the positions (Hz); default ten times the motion's bandwidth.

    Raises
    ------
    ArgumentError
        The recording is too short, or no joint moves; the message gives the remedy.

    """
    rate, segments = uniform(recording)
    positions = _unwrapped([q for _, q, _ in segments], dynamics.model.continuous)
    filters = (Filters.for_motion(rate, bandwidth(positions, rate)) if cutoff is None
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
    parts = [_of_segment(dynamics, motion(*each, filters, rest), filters, k)
             for k, each in enumerate(whole)]
    joints = [_joined([part[j] for part in parts]) for j in range(dynamics.nv)]
    if not any(map(len, joints)):
        raise ArgumentError(f'nothing moves in the {len(whole)} of {len(segments)} pieces without '
                            'a gap that are long enough: look for lost messages, or record a '
                            'longer motion', segments=len(segments))
    return Excerpt(joints, moves, filters, sum(t[-1] - t[0] for t, _, _ in segments),
                   sum(t[-1] - t[0] - 2.0 * filters.edge for t, _, _ in whole), len(segments))


def _given(rate: float, cutoff: float) -> Filters:
    if not 0.0 < cutoff < 0.5 * rate:
        raise ArgumentError(f'the cutoff is {cutoff:g} Hz: it must be above 0, and below half of '
                            f'the {rate:.4g} positions per second', cutoff=cutoff)
    return Filters(rate, cutoff, 0.5 * cutoff)


def _unwrapped(positions: list[NDArray], continuous: NDArray) -> list[NDArray]:
    return [np.where(continuous, np.unwrap(q, axis=0), q) for q in positions]


def _of_segment(dynamics: Dynamics, made: SegmentMotion, filters: Filters,
                number: int) -> list[Equations]:
    """Return the equations of each joint in a segment."""
    regressor = dynamics.regressor(made.q, made.qd, made.qdd)
    rate = 1.0 / made.step
    edge = int(np.ceil(filters.edge * rate))
    keep = slice(edge, len(made.times) - edge, filters.equation_decimation)
    sign, slope = np.sign(made.qd), np.gradient(made.effort, made.step, axis=0)
    resting = lowpass((~made.moving).astype(float), filters.equation, rate)
    rows = []
    for j in range(dynamics.nv):
        terms = np.column_stack([regressor[:, j], made.qd[:, j], sign[:, j],
                                 np.ones(len(sign)), made.qdd[:, j], made.effort[:, j],
                                 slope[:, j]])
        terms = lowpass(terms, filters.equation, rate)[keep]
        clear = resting[keep, j] < _RESTING
        rows.append(Equations(made.times[keep][clear], terms[clear, :-2], terms[clear, -2],
                              terms[clear, -1], np.full(np.count_nonzero(clear), number)))
    return rows


def _joined(parts: list[Equations]) -> Equations:
    return Equations(*(np.concatenate([getattr(part, name) for part in parts])
                       for name in (field.name for field in fields(Equations))))
