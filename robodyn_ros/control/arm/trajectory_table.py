"""Trajectories of one arm: the present one, and the one about to begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.host import Host
from robodyn_ros.control.steps import modes, path, stop_profile
from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.exceptions import StateError
from robodyn_ros.trajectory import Reference, Tolerances, Trajectory


class JunctionPoint(NamedTuple):
    """Point where a trajectory continues another: its number, and the time along it in s."""

    number: int
    time: float


class Paths:
    """
    Writes trajectories into the table and the program of a cycle.

    Parameters
    ----------
    host : Host
        Host of the cycle.

    """

    def __init__(self, host: Host):
        self._host = host
        self._memory, self._program = host.memory.motion, host.program.motion
        self._trajectories: dict[int, Trajectory | None] = {}

    @property
    def pending(self) -> bool:
        """Whether a trajectory is about to begin."""
        return bool(modes.pending(self._memory, self._program))

    @property
    def following(self) -> bool:
        """Whether a trajectory is under way, or about to begin."""
        return bool(self._memory.mode == modes.TRACK) or self.pending

    @property
    def current(self) -> tuple[Trajectory | None, float]:
        """Return the present or last trajectory, and its time in s."""
        m = self._memory.path
        return self._trajectories.get(int(m.number)), float(m.elapsed)

    def junction(self, ahead: float) -> JunctionPoint | None:
        """Return where another trajectory may continue the present one; None: none is followed."""
        m = self._memory
        if m.mode != modes.TRACK:
            return None
        # the path time needs at least `ahead` seconds to get there
        fastest = min(1.0, float(m.time.rate + max(m.time.change, 0.0) * ahead
                                 + 0.5 * self._program.time.jerk * ahead ** 2))
        return JunctionPoint(int(m.path.number), float(m.path.elapsed) + fastest * ahead)

    def on_time(self, junction: JunctionPoint) -> bool:
        """Return whether a trajectory can still continue the present one there."""
        m = self._memory
        return bool(m.mode == modes.TRACK and m.path.number == junction.number
                    and m.path.elapsed <= junction.time)

    def expected(self, ahead: float) -> Reference:
        """
        Return the expected reference in `ahead` seconds.

        On a trajectory, velocity and acceleration are those along it: at full speed.
        """
        m = self._memory
        now = m.reference
        expected = Reference(now.q.copy(), now.qd.copy(), now.qdd.copy(), now.effort.copy())
        junction = self.junction(ahead)
        if junction is not None:
            if ahead > 0.0 or m.time.rate != 1.0 or m.time.change != 0.0:
                trajectory, _ = self.current
                assert trajectory is not None
                trajectory.sample(junction.time, expected)
        elif ahead > 0.0 and m.mode == modes.STOP:
            values = {name: np.vectorize(Ieee, otypes=[object])(numbers).tolist()
                      for name, numbers in vars(m.stop).items()}
            values['elapsed'] += ahead
            rows = stop_profile.sample(stop_profile.Memory(**values))
            expected = Reference(*np.array(rows, dtype=float))
        return expected

    def put(self, trajectory: Trajectory, moment: float, tolerances: Tolerances | None,
            junction: JunctionPoint | None = None) -> None:
        """
        Write a trajectory that begins at a moment; the request to follow it comes after.

        If that is followed then, it begins at the `junction` with the present one instead.

        Kept are the path that is followed and the one about to begin: a native loop may begin it
        before it reads what is written here. Raises StateError if there is no room for them.
        """
        program, table = self._program, [trajectory.table]
        kept = [(self._running(), program.current)]
        if self.pending:
            kept.append((program.upcoming, program.replaced))
        else:
            program.replaced.number[()] = 0.0
        total = sum(int(source.rows) for source, _ in kept if source is not None) + len(table[0])
        if total > self._host.most_segments:
            raise StateError(f'the trajectories have {total} segments, but there is room for '
                             f'{self._host.most_segments:g}; send one with fewer points, or when '
                             'the arm is at rest')
        for source, place in kept:
            if source is None:
                continue
            first, row = int(source.row), sum(map(len, table[:-1]))
            table.insert(-1, self._host.bound.segments[first:first + int(source.rows)])
            for name, values in vars(source).items():
                getattr(place, name)[...] = values
            place.row[()] = row
        number = 1 + int(program.upcoming.number)
        self._trajectories[number] = trajectory
        self._trajectories = {each: self._trajectories[each] for each in (
            *(int(place.number) for place in (program.current, program.replaced)), number)
            if each in self._trajectories}
        write_path(program.upcoming, number, trajectory, moment, tolerances,
                   sum(map(len, table[:-1])), junction)
        self._host.bound.segments = np.concatenate(table) if len(table) > 1 else table[0]

    def _running(self):
        """Return the path that is followed, which may be the one written last."""
        m, program = self._memory, self._program
        if m.mode != modes.TRACK:
            return None
        return next((each for each in (program.upcoming, program.replaced)
                     if m.path.number == each.number), program.current)

    def unmet_goal(self, q: np.ndarray, qd: np.ndarray) -> modes.Event | None:
        """Return the event of a goal tolerance that is not met after the last point, or None."""
        m, running = self._memory, self._running()
        if running is None or m.path.elapsed < running.last:
            return None
        outcome = path.check_tolerances(m.path, running, m.reference, q, qd)
        return None if outcome.kind == path.REACHED else modes.off_goal(outcome)


def write_path(path: SimpleNamespace, number: int, trajectory: Trajectory, moment: float,
               tolerances: Tolerances | None, row: int, junction: JunctionPoint | None = None
               ) -> None:
    """
    Write a trajectory into a program.

    Parameters
    ----------
    path : namespace
        Fields of `steps.path.Path`.
    number : int
        Number of the trajectory, greater than all before.
    trajectory : Trajectory
        Trajectory from the reference at its moment on.
    moment : float
        Time of the law at which it begins.
    tolerances : Tolerances or None
        Tolerances of the trajectory.
    row : int
        First row of its `table` in that of the cycle.
    junction : JunctionPoint, optional
        Where it continues another one.

    """
    limits, begin, end = (tolerances or Tolerances.none(trajectory.nv), trajectory.begin,
                          trajectory.end)
    path.number[()], path.moment[()] = number, moment
    path.after[()], path.joint_time[()] = junction or (0.0, 0.0)
    path.row[()], path.rows[()] = row, len(trajectory.table)
    path.first[()], path.last[()] = trajectory.times[0], trajectory.times[-1]
    path.first_q[:], path.first_effort[:] = begin.q, begin.effort
    path.last_q[:], path.last_effort[:] = end.q, end.effort
    path.path_q[:], path.path_qd[:] = limits.path, limits.path_velocity
    path.goal_q[:], path.goal_qd[:] = limits.goal, limits.goal_velocity
    path.goal_time[()] = limits.goal_time
