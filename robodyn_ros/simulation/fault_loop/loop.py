"""
Control cycle, faults and plant in one compiled loop: many runs, each with its own arm and fault.

As `ClosedLoop`, with a host that answers late and a link that loses, delays and changes states and
commands. The controller is the machine code that drives an arm, called for each run; host, link,
faults and plant are computed for four runs at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.simulation.fault_loop import records
from robodyn_ros.simulation.fault_loop.controller import Controller
from robodyn_ros.simulation.fault_loop.link import free_place, new_link
from robodyn_ros.simulation.fault_loop.records import CHUNK, Record
from robodyn_ros.simulation.fault_loop.step import BEGIN, MEASURE, NORMAL, Step
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.step import Constants, State, state_size


# last numbers of the constants: kind of the step, number of the run, lockstep, first time
_SPECIAL = 4
_GAP = State._fields.index('gap')


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


class FaultLoop:
    """
    Runs of one controller with faults.

    Parameters
    ----------
    plant, controller, tip, capacity
        As for `Step`.
    chunks : int
        Largest number of chunks of a run.

    """

    def __init__(self, plant: Plant, controller: Controller, tip: str, capacity: int,
                 chunks: int):
        self.plant, self.controller, self._capacity = plant, controller, capacity
        self._step = step = Step(plant, controller, tip, capacity)
        self.recorded = records.size(plant.nv)
        self._all = np.empty((chunks, capacity, CHUNK, self.recorded))
        # rounded as the stamps of messages, so that no threshold is met in another step
        self._stamps = np.array([_in_seconds(round(1e9 * k * plant.step_size))
                                 for k in range(CHUNK * chunks + 2)])[:, None]
        state, constants, kept = (
            sum(each) for each in (step.state_sizes, step.constant_sizes, step.kept_sizes))
        self._run = plant.dynamics.coupled_rollout(
            step.first, step.then, (state, constants, 2 * plant.nv, kept), controller.function,
            self.recorded, f'fault_loop|{plant.options}|{tip}|{capacity}|{CHUNK}|{controller.key}',
            step.tables)

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
            `Dynamics.parameters`; and its fault, see `fault_numbers.numbers`.
        lockstep : bool
            Whether the time of the controller is that of the stamps, and it is not called
            without a state.
        epoch : float
            Time at the first state, s; 0 is no stamp.

        """
        count, nv = len(q), self.plant.nv
        arm = np.zeros((count, state_size(nv)))
        arm[:, :nv], arm[:, -1] = q, 1.0
        if self.plant.options['elastic']:
            arm[:, _GAP * nv:(_GAP + 1) * nv] = self._loaded(q, joints, inertias)
        state = np.concatenate([
            np.zeros((count, nv + records.MARKS)), arm, np.tile(new_link(nv), (count, 1)),
            np.zeros((count, 1))], axis=1)
        special = np.zeros((count, _SPECIAL))
        special[:, 1], special[:, 2], special[:, 3] = range(count), lockstep, epoch
        constants = np.concatenate([joints, inertias, faults, special], axis=1)
        memories, programs = (np.tile(each, (count, 1)) for each in (
            self.controller.memory, self.controller.program))
        return Runs(state, memories, programs, constants, [])

    def _loaded(self, q: NDArray, joints: NDArray, inertias: NDArray) -> NDArray:
        """Return the gaps of springs that carry the weight of the arms, (N, nv)."""
        nv, still = self.plant.nv, np.zeros(self.plant.nv)
        place = Constants._fields.index('stiffness')
        stiffness = joints[:, place * nv:(place + 1) * nv]
        weight = np.array([self.plant.dynamics.regressor(each, still, still) @ own
                           for each, own in zip(q, inertias)])
        return np.divide(weight, stiffness, out=np.zeros_like(weight), where=stiffness > 0.0)

    def good(self, runs: Runs) -> NDArray:
        """Return which runs did not diverge, (N,)."""
        return runs.state[:, sum(self._step.state_sizes[:2]) - 1] != 0.0

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
        runs, _ = self._simulated(runs, noise, tables)
        runs.constants[:, -4] = NORMAL
        return runs

    def _simulated(self, runs, noise, tables, out=None) -> tuple[Runs, NDArray]:
        """Return the runs after some steps, and the records of these steps."""
        delays, rows = tables
        self.controller.use_path(rows)
        state, memories, out = self._run(
            runs.state, runs.memories, runs.programs, runs.constants, noise,
            [delays, self._stamps, self._all.reshape(-1, self.recorded)], out)
        return runs._replace(state=state, memories=memories), out

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
        own = [np.asarray(delays).tolist(), self._stamps.tolist(),
               records.OneRun(past, self._capacity)]
        argument, kept = self._run.first(runtime, state, constants, given_noise, *own)
        torque, after = self.controller.on_floats(rows, argument, memory, program)
        result = [*torque, *(after[k] for k in self.controller.function.observed)]
        return np.array(self._run.then(runtime, kept, constants, result, *own), dtype=float)

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
        runs, chunk = self._simulated(runs, noise, tables,
                                      self._all[len(runs.records), :len(runs.state)])
        return runs._replace(records=[*runs.records, chunk])

    def single_step(self, runs: Runs, noise: NDArray, tables: Sequence, step: int) -> Runs:
        """
        Return the runs after one step, without its record.

        step: number of the steps before; noise: (N, 1, 2 nv); otherwise as `run`.
        """
        runs, found = self._simulated(runs, np.ascontiguousarray(noise), tables)
        chunk, k = divmod(step, CHUNK)
        self._all[chunk, :len(found), k] = found[:, 0]
        return runs

    def again(self, runs: Runs, step: int) -> Runs:
        """Return runs after so many single steps, whole chunks, as if the last were the first."""
        chunk = step // CHUNK - 1
        state, constants = runs.state.copy(), runs.constants.copy()
        passed = chunk * CHUNK * self.plant.step_size
        state[:, -1] -= chunk * CHUNK
        state[:, sum(self._step.state_sizes[:2]) + free_place(self.plant.nv)] -= passed
        constants[:, -1] += passed
        return runs._replace(state=state, constants=constants,
                             records=[self._all[chunk, :len(state)].copy()])

    def resume(self, runs: Runs, joints: NDArray, faults: NDArray) -> Runs:
        """Return a copy of runs that `again` has returned; joints and faults as for `start`."""
        self._all[0, :len(runs.state)] = runs.records[0]
        constants = runs.constants.copy()
        constants[:, :joints.shape[1]] = joints
        constants[:, -_SPECIAL - faults.shape[1]:-_SPECIAL] = faults
        return runs._replace(state=runs.state.copy(), memories=runs.memories.copy(),
                             programs=runs.programs.copy(), constants=constants)

    def single_record(self, row: int, steps: int) -> Record:
        """Return the record of so many single steps of a run, whole chunks."""
        return self.record_of(self._all[:steps // CHUNK, row].reshape(-1, self.recorded))

    def rows(self, runs: Runs, chosen: NDArray) -> Runs:
        """Return some of the runs, in which states may be late by a chunk at most."""
        state, memories, programs, constants = (each[chosen] for each in runs[:4])
        kept = [each[chosen] for each in runs.records]
        self._all[len(kept) - 1, :len(state)] = kept[-1]
        constants[:, -3] = range(len(state))
        return Runs(state, memories, programs, constants, kept)

    def velocities(self, runs: Runs) -> NDArray:
        """Return the velocities of joints and motors in the last chunk, (2, N, CHUNK, nv)."""
        return records.velocities(runs.records[-1], self.plant.nv)

    def record(self, runs: Runs, row: int) -> Record:
        """Return the record of a run."""
        return self.record_of(np.concatenate([each[row] for each in runs.records]))

    def record_of(self, rows: NDArray) -> Record:
        """Return records, (T, r), by name."""
        return records.by_name(rows, self.plant.nv)


def _in_seconds(nanoseconds: int) -> float:
    """Return a stamp in s, rounded as the nodes do."""
    whole, rest = divmod(nanoseconds, 10**9)
    return whole + 1e-9 * rest
