"""
A long run without faults: random motions in all modes, and the growth of the processes.

Memory, threads and open files of the processes are sampled every few seconds; states and torques
are counted. At the end the arm returns to its start, where its torque must be the same as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import os
from pathlib import Path
import time
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes.children import Child
from robodyn_ros.text import Criterion, number

if TYPE_CHECKING:  # the testbed needs ROS
    from tools.campaign.testbed import Testbed

MODES = (*TRACKING, 'gravity_compensation')
# Part of the states that may remain without a torque, and additional states for each step that the
# simulator began more than a period late: it has the same priority and less to do, so that such
# steps show the load of the machine.
MISSED, EACH_LATE = 0.03, 3.0
GROWTH = 1.0       # MB of memory that a process may gain per minute
DRIFT = 0.01       # part of the effort limits, between torques at the same position
WARM = 0.25        # part of the run after which memory must not grow
_SAMPLE = 5.0      # s between two samples of the processes
_CHANGE = 0.3      # s for a change of mode
_REST = 1.0        # s over which the torque at rest is averaged
_MOTIONS = 4       # motions in each mode
_MARGIN = 0.2      # rad or m kept free at position limits
_REACH = 0.8       # rad or m; largest motion of a joint
_SLOW = 4.0        # ratio of duration to that at the velocity limit
_HOME = 'computed_torque'


@dataclass
class SoakStatistics:
    """
    Statistics of a run.

    Attributes
    ----------
    states, torques : int
        Numbers of states and torques.
    late : list of int
        Counts of late steps that the simulator reported, in order.
    gap : float
        Longest time between two torques, s.
    motions, refused : int
        Numbers of motions made and of trajectories refused.
    modes : list of str
        Modes that were entered, in order.
    resources : dict of str to list of (float, float, int, int)
        Samples of each process: time (s), resident memory (MB), threads, open files.
    rest : list of (nv,) array
        Torque at rest at the start position, before and after.
    faults : list of str
        Errors that were logged.

    """

    states: int = 0
    torques: int = 0
    late: list[int] = field(default_factory=list)
    gap: float = 0.0
    motions: int = 0
    refused: int = 0
    modes: list[str] = field(default_factory=list)
    resources: dict[str, list[tuple[float, float, int, int]]] = field(default_factory=dict)
    rest: list[np.ndarray] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def slope(self, process: str) -> float:
        """Return the growth of the memory of a process after its warm-up, in MB per minute."""
        rows = np.array(self.resources[process], dtype=float)
        rows = rows[rows[:, 0] >= WARM * rows[-1, 0]]
        if len(rows) < 3:
            return 0.0
        return 60.0 * float(np.polyfit(rows[:, 0], rows[:, 1], 1)[0])

    def criteria(self, effort_limit: np.ndarray) -> list[Criterion]:
        """Return the criteria of the run, with their results."""
        missed = max(self.states - self.torques, 0) / max(self.states, 1)
        late = (self.late[-1] - self.late[0]) / max(self.states, 1) if self.late else 0.0
        bound = MISSED + EACH_LATE * late
        drift = float((np.abs(self.rest[-1] - self.rest[0]) / effort_limit).max())
        criteria = [
            Criterion(f'below {number(100 * bound)} % of the states without a torque',
                      f'{number(100 * missed)} % of {self.states}; {number(100 * late)} % of the '
                      'steps late', missed < bound),
            Criterion('no fault', ': '.join([str(len(self.faults)), *self.faults[:1]]),
                      not self.faults),
            Criterion(f'torque at rest within {100 * DRIFT:g} % of the limits',
                      f'{number(100 * drift)} %', drift < DRIFT),
            Criterion('every mode was entered', f'{len(set(self.modes))} of {len(MODES)}',
                      set(self.modes) == set(MODES))]
        for process, rows in self.resources.items():
            warm = [row for row in rows if row[0] >= WARM * rows[-1][0]]
            criteria += [
                Criterion(f'{process}: memory grows by less than {GROWTH:g} MB per minute',
                          f'{number(self.slope(process))} MB, now {rows[-1][1]:.0f} MB',
                          self.slope(process) < GROWTH),
                Criterion(f'{process}: no more threads', f'{warm[0][2]} to {warm[-1][2]}',
                          warm[-1][2] <= warm[0][2]),
                Criterion(f'{process}: no more open files', f'{warm[0][3]} to {warm[-1][3]}',
                          warm[-1][3] <= warm[0][3])]
        return criteria


def soak(testbed: Testbed, minutes: float, seed: int,
         tick: Callable[[str], None]) -> SoakStatistics:
    """
    Move the arm at random for a time, and return the statistics.

    Parameters
    ----------
    testbed : Testbed
        Testbed with an armed guard.
    minutes : float
        Duration.
    seed : int
        Seed of motions and modes.
    tick : callable
        Called with the progress.

    """
    statistics, random = SoakStatistics(), np.random.default_rng(seed)
    begin = time.monotonic()
    end = begin + 60.0 * minutes
    statistics.rest.append(_torque_at_rest(testbed, statistics))
    sampled = -_SAMPLE
    modes: list[str] = []
    while time.monotonic() < end:
        modes = modes or [MODES[k] for k in random.permutation(len(MODES))]
        _enter(testbed, statistics, modes.pop())
        for _ in range(_MOTIONS):
            _move(testbed, statistics, random)
            _count(testbed, statistics)
            now = time.monotonic() - begin
            if now - sampled >= _SAMPLE:
                sampled = now
                _sample(testbed.nodes, statistics, now)
            tick(f'{now / 60.0:.1f} min, {statistics.motions} motions')
    _enter(testbed, statistics, _HOME)
    statistics.rest.append(_torque_at_rest(testbed, statistics))
    _sample(testbed.nodes, statistics, time.monotonic() - begin)
    statistics.faults = [text for _, level, text in testbed.logged()
                         if level in ('ERROR', 'FATAL')
                         and not text.startswith('trajectory refused')]
    return statistics


def _enter(testbed: Testbed, statistics: SoakStatistics, mode: str) -> None:
    """Change the mode; recover from a fault, which the log holds, and continue."""
    try:
        testbed.recorder.set_parameter(testbed.name_of('controller'), 'mode', mode)
        statistics.modes.append(mode)
    except StateError:
        testbed.recover_all()
    testbed.wait(_CHANGE)


def _move(testbed: Testbed, statistics: SoakStatistics, random: np.random.Generator) -> None:
    """Move to a random position, unless the trajectory is refused as beyond the motors."""
    model, (q, _) = testbed.model, testbed.true_state()
    low = np.maximum(np.where(np.isfinite(model.lower), model.lower + _MARGIN, q - _REACH),
                     testbed.motion.start - _REACH)
    high = np.minimum(np.where(np.isfinite(model.upper), model.upper - _MARGIN, q + _REACH),
                      testbed.motion.start + _REACH)
    goal = random.uniform(low, np.maximum(low, high))
    _move_to(testbed, statistics, goal)


def _move_to(testbed: Testbed, statistics: SoakStatistics, goal: np.ndarray) -> None:
    shortest = np.abs(goal - testbed.true_state()[0]) / testbed.model.velocity_limit
    duration = max(0.5, _SLOW * float(np.nanmax(shortest)))
    _, answer = testbed.answered([duration], [goal], [0.0 * goal], [0.0 * goal])
    if 'accepted' in answer:
        statistics.motions += 1
        testbed.wait(duration + 0.2)
    else:
        statistics.refused += 1


def _torque_at_rest(testbed: Testbed, statistics: SoakStatistics) -> np.ndarray:
    """Return the mean torque at the start position."""
    for _ in range(2):  # dry friction leaves an error after the first motion
        _move_to(testbed, statistics, testbed.motion.start)
    _count(testbed, statistics)
    testbed.wait(_REST)
    commanded = testbed.recorder.commanded(testbed.model.nv)
    if not len(commanded.sent):
        raise StateError('no torques are commanded')
    _count(testbed, statistics)
    return commanded.torque.mean(axis=0)


def _count(testbed: Testbed, statistics: SoakStatistics) -> None:
    """Count what was recorded, and clear it."""
    sent = testbed.recorder.commanded(testbed.model.nv).sent
    states = len(testbed.recorder.truth)
    statistics.torques += max(len(sent) - 1, 0)  # the newest is counted next time
    statistics.states += max(states - 1, 0)
    statistics.gap = max(statistics.gap, 1e-9 * float(np.diff(sent).max(initial=0)))
    statistics.late += [int(values['late steps']) for name, values in testbed.recorder.diagnostics
                        if name.endswith('simulation')]
    testbed.recorder.clear()


def _sample(nodes: dict[str, Child], statistics: SoakStatistics, now: float) -> None:
    for name, child in nodes.items():
        statistics.resources.setdefault(name, []).append((now, *resources(child.pid)))


def resources(pid: int) -> tuple[float, int, int]:
    """Return resident memory (MB), threads and open files of a process; Linux only."""
    folder = Path(f'/proc/{pid}')
    pages = int((folder / 'statm').read_text().split()[1])
    return (pages * os.sysconf('SC_PAGE_SIZE') / 1e6, len(list((folder / 'task').iterdir())),
            len(list((folder / 'fd').iterdir())))


def notes(statistics: SoakStatistics) -> list[str]:
    """Return remarks about a run."""
    return [f'{statistics.motions} motions, {statistics.refused} refused as beyond the motors or '
            f'the modes, {len(statistics.modes)} changes of mode; longest time without a torque '
            f'{1e3 * statistics.gap:.0f} ms']
