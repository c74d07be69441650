"""
The recorded torque as a linear map of what is to be found, joint by joint.

    effort_j = scale_j (Y_j(q, qd, qdd) phi + viscous_j qd_j + Coulomb_j sign(qd_j) + offset_j
                        + armature_j qdd_j)

An effort that is recorded later than the positions it belongs to, by a delay d, is the torque of
time t - d: it stands for effort + d (d effort/dt) now. A delay that is left out looks like viscous
friction wherever gravity changes with position: a millisecond on 40 N m/rad is 0.04 N m s/rad.

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
    bandwidth, check_length, Filters, lowpass, Motion, motion, position_noise, slowest_motion)

# columns beside the regressor, in their order
JOINT_TERMS = ('viscous', 'coulomb', 'offset', 'armature')
_SLOW = 0.01      # part of a joint's largest speed that counts as rest
_RESTING = 0.3    # part of the filter's window in which a joint may rest
_SMALLEST = 1e-3  # rad or m of motion that is one


@dataclass(frozen=True)
class Equations:
    """
    Linear equations of one joint.

    Attributes
    ----------
    times : (n,) array
    columns : (n, 10 nb + 4) array
        The joint's row of the regressor, then `JOINT_TERMS`.
    effort, slope : (n,) array
        And its derivative by time.
    segment : (n,) array of int
        Equations of one segment follow each other at equal steps.

    """

    times: NDArray
    columns: NDArray
    effort: NDArray
    slope: NDArray
    segment: NDArray

    def part(self, begin: float, end: float) -> Equations:
        """Return the equations of a time."""
        where = (self.times >= begin) & (self.times < end)
        return Equations(*(getattr(self, field.name)[where] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class Excerpt:
    """
    What a recording says about an arm.

    Attributes
    ----------
    joints : list of Equations
        In model order.
    moves : (nv,) array of bool
        Which joints moved.
    filters : Filters
    recorded, used : float
        Seconds.
    segments : int
        How many pieces the gaps left.

    """

    joints: list[Equations]
    moves: NDArray
    filters: Filters
    recorded: float
    used: float
    segments: int

    @property
    def span(self) -> tuple[float, float]:
        """First and last time of all equations."""
        times = np.concatenate([joint.times for joint in self.joints])
        return float(times.min()), float(times.max())


def excerpt(dynamics: Dynamics, recording: Recording, cutoff: float | None = None) -> Excerpt:
    """
    Return the equations of a recording.

    Parameters
    ----------
    dynamics : Dynamics
        The arm; of it the regressor counts, so all but its inertias.
    recording : Recording
        In the order of its joints.
    cutoff : float, optional
        Of the positions (Hz); by default ten times the motion's bandwidth.

    Raises
    ------
    ArgumentError
        Too short, or no joint moves; the message says how much, and what to do.

    """
    rate, segments = uniform(recording)
    positions = _unwrapped([q for _, q, _ in segments], dynamics.model.continuous)
    filters = (Filters.for_motion(rate, bandwidth(positions, rate)) if cutoff is None
               else _given(rate, cutoff))
    check_length(segments, filters)
    whole = [(t, q, u) for (t, _, u), q in zip(segments, positions)
             if t[-1] - t[0] >= filters.shortest]
    sure = slowest_motion(position_noise([q for _, q, _ in whole], filters), filters)
    fastest = np.max([np.abs(motion(*each, filters, sure).qd).max(axis=0) for each in whole],
                     axis=0)
    moves = (np.ptp(np.concatenate([q for _, q, _ in whole]), axis=0) > _SMALLEST) & (
        fastest > 2.0 * sure)
    if not moves.any():
        raise ArgumentError(
            'no joint moves: the largest motion is '
            f'{max(np.ptp(q, axis=0).max() for _, q, _ in whole):.2g} rad or m in the '
            f'{len(whole)} of {len(segments)} pieces without a gap that are long enough; record a '
            'motion of all joints, such as `robodyn excite` makes')
    rest = np.maximum(sure, _SLOW * fastest)
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


def _of_segment(dynamics: Dynamics, made: Motion, filters: Filters,
                number: int) -> list[Equations]:
    """Return the equations of each joint in a segment."""
    regressor = dynamics.regressor(made.q, made.qd, made.qdd)
    rate = 1.0 / made.step
    edge = int(np.ceil(filters.edge * rate))
    keep = slice(edge, len(made.times) - edge, filters.keeping)
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
