"""
Control cycle, faults and plant in one compiled loop: many runs, each with its own arm and fault.

As `ClosedLoop`, with a link between both that loses, delays and changes states and commands. The
controller is the machine code that drives an arm, called for each run; link, faults and plant are
computed for four runs at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.coupled_rollout import Respondent
from robodyn_ros.dynamics.jit.flags import (
    above, any_above, any_of, both, either, equal, flag, no, when)
from robodyn_ros.dynamics.jit.flow import choose, lookup, Table
from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import absolute, floor, select
from robodyn_ros.simulation import fault_step
from robodyn_ros.simulation.closed_loop import parts
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.step import constants_size, plant_step, State, state_size

CHUNK = 50  # steps between two changes of the programs
# steps of a chunk that are special: none; the first state is measured; control begins
NORMAL, MEASURE, BEGIN = 0.0, 1.0, 2.0
# rows of a record before those of `State`: torque sent, then flag that it was, time, flag of the
# brakes
_MARKS = 3
_STATES = ('position', 'velocity', 'acceleration', 'applied')
assert State._fields[:len(_STATES)] == _STATES  # they are recorded


class Controller(Protocol):
    """
    Interface of a controller: a function in machine code that answers states, and their absence.

    Attributes
    ----------
    key : str or None
        Key of its code.
    memory, program : array
        Memory of a controller that has not begun, and its program.

    """

    key: str | None
    memory: NDArray
    program: NDArray

    @property
    def respondent(self) -> Respondent:
        """Return the function."""

    def asked(self, given) -> list:
        """
        Return the argument of the function, as scalars.

        given: namespace of `begins`, `received` and `waits` (flags of the kind of call),
        `arrival`, `stamp` and `clock` (s), `q`, `qd`, `effort`.
        """

    def sends(self, picked):
        """Return the flag that the torque of a state, or of a state that is missing, is sent."""

    def use_path(self, rows: Sequence) -> None:
        """Use a table of trajectories."""

    def on_floats(self, rows: Sequence, given: list, memory: list, program: list) -> tuple:
        """Return torque and next memory, computed in Python."""


class Runs(NamedTuple):
    """
    Runs in progress, one row per run.

    Attributes
    ----------
    state : (N, s) array
        Records of the last step, arm, link, and number of steps.
    memories, programs : (N, ...) array
        Memories and programs of the controllers; changed in place to request something.
    constants : (N, c) array
        Constants of the arm, fault.
    records : list of (N, CHUNK, r) array
        Records of each chunk so far.

    """

    state: NDArray
    memories: NDArray
    programs: NDArray
    constants: NDArray
    records: list[NDArray]


class Record(NamedTuple):
    """
    Record of one run, one row per step.

    Attributes
    ----------
    torque : (T, nv) array
        Torque of the controller.
    sent : (T,) array of bool
        Whether it was sent in this step.
    time : (T,) array
        Time at which it was sent, s.
    braked : (T,) array of bool
        Whether the brakes held the arm during the step.
    q, qd, applied : (T, nv) array
        True state at the end of the step, and the torques of the motors.

    """

    torque: NDArray
    sent: NDArray
    time: NDArray
    braked: NDArray
    q: NDArray
    qd: NDArray
    applied: NDArray


class FaultLoop:
    """
    Runs of one controller with faults.

    Parameters
    ----------
    plant : Plant
        Nominal arm; the controller is evaluated in each of its steps.
    controller : Controller
        Controller of all runs.
    tip : str
        Link on which wrenches act.
    capacity : int
        Runs that are simulated together.
    chunks : int
        Largest number of chunks of a run.

    """

    def __init__(self, plant: Plant, controller: Controller, tip: str, capacity: int,
                 chunks: int):
        self.plant, self.controller, self.capacity = plant, controller, capacity
        self._frame = plant.dynamics.frame(tip)
        nv, options = plant.nv, plant.options
        self.recorded = (1 + len(_STATES)) * nv + _MARKS
        self._sizes = nv + _MARKS, state_size(nv), fault_step.link_size(nv), 1
        self._kept = state_size(nv), fault_step.link_size(nv), 3
        self._given = (constants_size(nv), 10 * plant.model.nb, fault_step.numbers_size(nv), 4)
        self._all = np.empty((chunks, capacity, CHUNK, self.recorded))
        # rounded as the stamps of messages, so that no threshold is met in another step
        self._stamps = np.array([_in_seconds(round(1e9 * k * plant.step_size))
                                 for k in range(CHUNK * chunks + 2)])[:, None]
        self.tables = {'delays': Table(1), 'stamps': Table(1), 'history': Table(self.recorded)}

        def then(tree, runtime, kept, constants, answer, *tables):
            return self._then(tree, runtime, kept, constants, answer, options)

        self._run = plant.dynamics.coupled_rollout(
            self._first, then, (sum(self._sizes), sum(self._given), 2 * nv, sum(self._kept)),
            controller.respondent, self.recorded,
            f'fault_loop|{options}|{tip}|{capacity}|{CHUNK}|{controller.key}', self.tables)

    # --- one step, over scalars ---------------------------------------------------------------

    def _first(self, tree, runtime, state, constants, noise, *tables):
        """Return the argument of the controller, and what `_then` needs: state and host."""
        n, tables = tree.nv, dict(zip(self.tables, tables))
        _, arm, link, (k,) = parts(state, self._sizes)
        joints, _, numbers, (kind, run, lockstep, epoch) = parts(constants, self._given)
        f, link = fault_step.fault_of(numbers, n), fault_step.link_of(link, n)
        dt = joints[-1]
        time, on, on_before = _active(f, k, dt)
        begins, measures = equal(kind, BEGIN), equal(kind, MEASURE)
        runs, delay, link = self._host(f, on, on_before, tables, k, time, dt, link)
        runs = any_of([runs, lockstep, begins, measures])
        delay = select(any_of([lockstep, begins, measures]), 0.0, delay)
        q, qd, effort = (arm[row * n:(row + 1) * n] for row in (0, 1, 3))
        report, link = fault_step.measured(
            f, on_before, q, qd, effort, noise, link,
            lambda steps: self._past(tables['history'], run, k - 1.0 - steps, n), k, dt)
        measured, = lookup(tables['stamps'], k, [0])
        stamp = epoch + measured - report.age + report.clock
        arrival = select(lockstep, stamp, epoch + measured + delay)
        received = both(runs, report.present)
        waits = both(runs, either(no(flag(lockstep)), report.unreadable))
        given = self.controller.asked(SimpleNamespace(
            begins=begins, received=received, waits=waits, arrival=arrival, stamp=stamp,
            clock=arrival, q=report.q, qd=report.qd, effort=report.effort))
        return given, [*arm, *flatten(link), k, delay, when(either(received, waits), 1.0, 0.0)]

    def _then(self, tree, runtime, kept, constants, answer, options):
        """Return the next state: driver and plant."""
        n = tree.nv
        arm, link, (k, delay, asked) = parts(kept, self._kept)
        joints, inertias, numbers, (kind, *_) = parts(constants, self._given)
        f, link = fault_step.fault_of(numbers, n), fault_step.link_of(link, n)
        dt, torque, q = joints[-1], answer[:n], arm[:n]
        time, on, on_before = _active(f, k, dt)
        sent = either(equal(kind, BEGIN), both(asked, self.controller.sends(answer[n:])))
        late = above(delay, 0.5 * dt)
        motors, braked, link = fault_step.driven(f, on, on_before, link, torque, sent, late, dt)
        gravity = [g + select(on, d, 0.0) for g, d in zip(runtime, f.gravity)]
        inertias = [*inertias[:-10], *(x + select(on, d, 0.0)
                                       for x, d in zip(inertias[-10:], f.load))]
        own = tree.with_parameters(inertias).without_payloads()
        after = choose(braked, [
            lambda: plant_step(own, gravity, arm, motors, self._pushed(own, gravity, q, f, on),
                               joints, **options),
            lambda: _held(own, gravity, arm, n)])
        stays = equal(kind, MEASURE)
        marks = [*torque, when(sent, 1.0, 0.0), time + delay, when(braked, 1.0, 0.0)]
        return flatten([marks, when(stays, arm, after), link, when(stays, k, k + 1.0)])

    def _host(self, f, on, on_before, tables, k, time, dt, link):
        """Return flag that the host runs, its delay, and the memory of the link."""
        return fault_step.host_delay(f, on, both(on, no(on_before)), tables['delays'], k, time,
                                     dt, link)

    def _past(self, history, run, step, n):
        """Return the true state at the end of a step of this run; records begin with step 1."""
        step = step - 1.0
        chunk = floor(step * (1.0 / CHUNK) + 0.5 / CHUNK)
        row = (chunk * self.capacity + run) * CHUNK + (step - chunk * CHUNK)
        begin = n + _MARKS
        found = lookup(history, row, range(begin, begin + len(_STATES) * n))
        return found[:n], found[n:2 * n], found[3 * n:4 * n]

    def _pushed(self, tree, runtime, q, f, on):
        """Return the joint torques of the wrench."""
        pushes = both(on, any_above([absolute(x) for x in f.wrench], 0.0))

        def torques():
            J = algorithms.jacobian(tree, runtime, q, self._frame)
            return [sum((J[row][j] * f.wrench[row] for row in range(6)), 0.0)
                    for j in range(tree.nv)]

        return choose(pushes, [lambda: [0.0] * tree.nv, torques])

    # --- runs -----------------------------------------------------------------------------------

    def warm(self) -> None:
        """Compile the loop, or load it from the cache."""
        self._run.warm()

    def start(self, q: NDArray, joints: NDArray, inertias: NDArray, faults: NDArray,
              lockstep: bool = False, epoch: float = 1000.0) -> Runs:
        """
        Return runs of arms at rest, held by brakes, before the first step.

        Parameters
        ----------
        q, joints, inertias, faults : (N, ...) array
            Position, constants and inertial parameters of each arm, see `step.Constants` and
            `Dynamics.parameters`; and its fault, see `fault_step.numbers`.
        lockstep : bool
            Whether the time of the controller is that of the stamps, and it is not called
            without a state.
        epoch : float
            Time at the first state, s; 0 is no stamp.

        """
        count, nv = len(q), self.plant.nv
        arm = np.zeros((count, state_size(nv)))
        arm[:, :nv], arm[:, -1] = q, 1.0
        state = np.concatenate([
            np.zeros((count, nv + _MARKS)), arm, np.tile(fault_step.new_link(nv), (count, 1)),
            np.zeros((count, 1))], axis=1)
        special = np.zeros((count, 4))
        special[:, 1], special[:, 2], special[:, 3] = range(count), lockstep, epoch
        constants = np.concatenate([joints, inertias, faults, special], axis=1)
        memories, programs = (np.tile(each, (count, 1)) for each in (
            self.controller.memory, self.controller.program))
        return Runs(state, memories, programs, constants, [])

    def good(self, runs: Runs) -> NDArray:
        """Return which runs did not diverge, (N,)."""
        return runs.state[:, sum(self._sizes[:2]) - 1] != 0.0

    def begin(self, runs: Runs, noise: NDArray, tables: Sequence, taken_over: NDArray) -> Runs:
        """
        Return runs in which the first state was measured, and control begun: a step.

        Parameters
        ----------
        runs, noise, tables
            As for `run`; the noise of one step.
        taken_over : array
            Program that takes over the arm.

        """
        runs = self._special(runs, MEASURE, noise, tables)
        runs.programs[:] = taken_over
        return self._special(runs, BEGIN, noise, tables)

    def _special(self, runs, kind, noise, tables) -> Runs:
        runs.constants[:, -4] = kind
        runs, _ = self._made(runs, noise, tables)
        runs.constants[:, -4] = NORMAL
        return runs

    def _made(self, runs, noise, tables, records=None) -> tuple[Runs, NDArray]:
        """Return the runs after some steps, and the records of these steps."""
        delays, rows = tables
        self.controller.use_path(rows)
        state, memories, records = self._run(
            runs.state, runs.memories, runs.programs, runs.constants, noise,
            [delays, self._stamps, self._all.reshape(-1, self.recorded)], records)
        return runs._replace(state=state, memories=memories), records

    def step_on_floats(self, runs: Runs, noise: NDArray, past: Sequence, tables: Sequence
                       ) -> NDArray:
        """
        Return the state of a run after one step, computed in Python.

        Parameters
        ----------
        runs : Runs
            The run.
        noise : (2 nv,) array
            Errors of positions, then of velocities.
        past : sequence
            Records of past steps, from step 1 on.
        tables : sequence
            As for `run`.

        """
        runtime, state, memory, program, constants, given_noise = (
            [Ieee(x) for x in np.asarray(row).tolist()] for row in (
                self.plant.dynamics.runtime, runs.state[0], runs.memories[0], runs.programs[0],
                runs.constants[0], noise))
        delays, rows = tables
        own = [np.asarray(delays).tolist(), self._stamps.tolist(), _Past(past, self.capacity)]
        given, kept = self._run.first(runtime, state, constants, given_noise, *own)
        torque, after = self.controller.on_floats(rows, given, memory, program)
        answer = [*torque, *(after[k] for k in self.controller.respondent.picked)]
        return np.array(self._run.then(runtime, kept, constants, answer, *own), dtype=float)

    def run(self, runs: Runs, noise: NDArray, tables: Sequence) -> Runs:
        """
        Return the runs after the next chunk.

        Parameters
        ----------
        runs : Runs
            Runs as returned by `start`.
        noise : (CHUNK, 2 nv) or (N, CHUNK, 2 nv) array
            Normally distributed numbers: errors of positions, then of velocities.
        tables : sequence
            Recorded delays of the host, (M, 1) in s, and the table of trajectories.

        """
        runs, records = self._made(runs, noise, tables,
                                   self._all[len(runs.records), :len(runs.state)])
        return runs._replace(records=[*runs.records, records])

    def single_step(self, runs: Runs, noise: NDArray, tables: Sequence, chunk: int, k: int
                    ) -> Runs:
        """Return one run after step k of a chunk; noise: (1, 1, 2 nv); otherwise as `run`."""
        runs, records = self._made(runs, np.ascontiguousarray(noise), tables)
        self._all[chunk, 0, k] = records[0, 0]
        return runs

    def rows(self, runs: Runs, chosen: NDArray) -> Runs:
        """Return some of the runs, in which no state may be delayed any more."""
        return Runs(runs.state[chosen], runs.memories[chosen], runs.programs[chosen],
                    runs.constants[chosen], [each[chosen] for each in runs.records])

    def velocities(self, runs: Runs) -> NDArray:
        """Return the true velocities in the last chunk, (N, CHUNK, nv)."""
        nv = self.plant.nv
        return runs.records[-1][:, :, 2 * nv + _MARKS:3 * nv + _MARKS]

    def record(self, runs: Runs, row: int) -> Record:
        """Return the record of a run."""
        return self.record_of(np.concatenate([each[row] for each in runs.records]))

    def record_of(self, records: NDArray) -> Record:
        """Return records, (T, r), by name."""
        n = self.plant.nv
        torque, marks, q, qd, _, applied = np.split(
            records, n * np.array([1, 1, 2, 3, 4]) + _MARKS * np.array([0, 1, 1, 1, 1]), axis=1)
        return Record(torque, marks[:, 0] > 0.0, marks[:, 1], marks[:, 2] > 0.0, q, qd, applied)


class _Past:
    """Records of one run as the table of all runs."""

    def __init__(self, past: Sequence, capacity: int):
        self._past, self._capacity = past, capacity

    def __len__(self) -> int:
        return len(self._past) * self._capacity

    def __getitem__(self, row: int) -> list:
        chunk = row // (self._capacity * CHUNK)
        return list(self._past[min(chunk * CHUNK + row % CHUNK, len(self._past) - 1)])


def _in_seconds(nanoseconds: int) -> float:
    """Return a stamp in s, rounded as the nodes do."""
    whole, rest = divmod(nanoseconds, 10**9)
    return whole + 1e-9 * rest


def _active(f, k, dt):
    """Return the time of a step, and flags that the fault is active then, and a step before."""
    time = k * dt
    return time, fault_step.active(f, time), fault_step.active(f, time - dt)


def _held(tree, gravity, arm, n):
    """Return the state of an arm that the brakes hold."""
    q = arm[:n]
    return [*q, *[0.0] * (2 * n), *algorithms.gravity(tree, gravity, q),
            *[0.0] * (len(arm) - 4 * n - 1), arm[-1]]
