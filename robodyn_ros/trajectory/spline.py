"""
Trajectories as polynomial segments, sampled once per control cycle.

The fields of the points decide the interpolation, as in
joint_trajectory_controller: positions alone give a cubic spline with
continuous acceleration, velocities give cubic and accelerations quintic
segments. Time is in seconds since the trajectory's start.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.trajectory.knots import begin_at, check_knots, interpolate
from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.result import ResultCode


class SampledPath(NamedTuple):
    """Samples of a trajectory: (N,) times and (N, nv) arrays."""

    times: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    effort: np.ndarray


class Trajectory:
    """
    An immutable trajectory of all joints, made by `from_points`.

    The reference rests at the first point before it, and at the last point after it.

    Attributes
    ----------
    begin, end : Reference
        First and last point, at rest.
    duration : float
        Seconds from time 0 to the last point.
    times : tuple of float
        The points' times.
    nv : int
        Number of joints.

    """

    __slots__ = ('_blocks', '_first', '_last', '_table', 'begin', 'duration', 'end', 'nv', 'times')

    def __init__(self, times, blocks, begin: Reference, end: Reference):
        self.times = tuple(float(t) for t in times)
        self._first, self._last = self.times[0], self.times[-1]
        self._blocks = blocks
        self._table: np.ndarray | None = None
        self.begin, self.end = begin, end
        self.duration = self._last
        self.nv = begin.q.size
        for array in (blocks, *begin.arrays, *end.arrays):
            array.flags.writeable = False

    @classmethod
    def from_points(cls, times, positions, velocities=None, accelerations=None, efforts=None,
                    start: Reference | None = None) -> Trajectory:
        """
        Interpolate points by polynomials.

        Parameters
        ----------
        times : (n,)
            Seconds, strictly increasing.
        positions : (n, nv)
            Positions of the points, in rad or m.
        velocities, accelerations, efforts : (n, nv), optional
            Accelerations need velocities. Efforts are zero by default and
            change linearly between points.
        start : Reference, optional
            Reference at time 0. It becomes the first knot, and points at or before time 0
            are dropped, so that the reference continues without a step.

        Raises
        ------
        ArgumentError
            Arrays of inconsistent shapes.
        TrajectoryError
            Times that do not increase, numbers that are not finite, or no
            point left after the start.

        """
        if accelerations is not None and velocities is None:
            raise TrajectoryError(
                'the points carry accelerations but no velocities; give both, or neither',
                code=ResultCode.INVALID_GOAL)
        times = np.array(times, dtype=float)
        rows = [positions, velocities, accelerations, efforts]
        knots = [None if row is None else np.array(row, dtype=float) for row in rows]
        check_knots(times, knots)
        if start is not None:
            times, knots = begin_at(times, knots, start)
        q, qd, qdd, effort = knots
        assert q is not None
        effort = np.zeros_like(q) if effort is None else effort
        start_state = np.zeros(q.shape[1]) if start is None else np.asarray(start.qd, dtype=float)
        blocks = interpolate(times, q, qd, qdd, effort, start_state)
        begin, end = Reference.at_rest(q[0]), Reference.at_rest(q[-1])
        begin.effort[:], end.effort[:] = effort[0], effort[-1]
        return cls(times, blocks, begin, end)

    @property
    def table(self) -> np.ndarray:
        """
        Return the segments as rows of a table, (count, 1 + 24 nv); computed once.

        A row has the start time of its segment, then for the powers 0 to 5 the coefficients of
        position, velocity, acceleration and effort of all joints. A single point has a row of
        zeros.
        """
        if self._table is None:
            count = max(len(self._blocks), 1)
            self._table = np.zeros((count, 1 + 24 * self.nv))
            self._table[:len(self._blocks), 0] = self.times[:len(self._blocks)]
            self._table[:len(self._blocks), 1:] = self._blocks.reshape(len(self._blocks), -1)
        return self._table

    @property
    def coefficients(self) -> np.ndarray:
        """(segments, 6, nv) coefficients of rising powers of time since the segment's start."""
        return self._blocks[:, :, :self.nv]

    def sample(self, t: float, out: Reference | None = None) -> Reference:
        """Return the reference at `t` seconds, written into `out` if given."""
        if out is None:
            out = Reference.zeros(self.nv)
        if t >= self._last:
            return out.assign(self.end)
        if not t >= self._first:
            return out.assign(self.begin)
        segment = bisect_right(self.times, t) - 1
        s = t - self.times[segment]
        s2 = s * s
        powers = np.array((1.0, s, s2, s2 * s, s2 * s2, s2 * s2 * s))
        state = np.dot(powers, self._blocks[segment])
        nv = self.nv
        out.q[:] = state[:nv]
        out.qd[:] = state[nv:2 * nv]
        out.qdd[:] = state[2 * nv:3 * nv]
        out.effort[:] = state[3 * nv:]
        return out

    def dense(self, step: float = 0.01, max_samples: int = 20000) -> SampledPath:
        """
        Return the path sampled about every `step` seconds, for checks.

        Every segment contributes both its ends, so that both sides of an
        acceleration step are included. Long paths are sampled more coarsely to
        stay near `max_samples`, with at least four samples per segment.
        """
        if len(self.times) == 1:
            rows = (row[None] for row in self.end.arrays)
            return SampledPath(np.array(self.times), *rows)
        lengths = np.diff(self.times)
        step = max(step, lengths.sum() / max_samples)
        counts = np.maximum(np.ceil(lengths / step).astype(int) + 1, 4)
        segment = np.repeat(np.arange(lengths.size), counts)
        number = np.arange(segment.size) - np.repeat(np.cumsum(counts) - counts, counts)
        s = (number / (counts[segment] - 1.0)) * lengths[segment]
        state = self._blocks[segment, 5]
        for power in range(4, -1, -1):
            state = state * s[:, None] + self._blocks[segment, power]
        return SampledPath(np.array(self.times)[segment] + s, *np.split(state, 4, axis=1))
