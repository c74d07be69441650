"""
Control cycle, faults and plant in one compiled loop: many runs, each with its own arm and fault.

As a `ClosedLoop`, with a host that answers late and a link that loses, delays and changes states
and commands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.simulation.closed_loop import ClosedLoop, Controller, Runs
from robodyn_ros.simulation.fault_loop import records
from robodyn_ros.simulation.fault_loop.link import link_entries, new_link
from robodyn_ros.simulation.fault_loop.records import CHUNK, Record
from robodyn_ros.simulation.fault_loop.step import BEGIN, FaultStep, MEASURE, NORMAL
from robodyn_ros.simulation.plant import Plant

# last numbers of the constants: kind of the step, number of the run, lockstep, first time
_SPECIAL = 4


class FaultLoop(ClosedLoop):
    """
    Runs of one controller with faults.

    Parameters
    ----------
    plant, controller, tip, capacity
        As for `FaultStep`.
    chunks : int
        Largest number of chunks of a run.
    delays : (M, 1) array
        Recorded delays of the host, s.

    """

    def __init__(self, plant: Plant, controller: Controller, tip: str, capacity: int,
                 chunks: int, delays: NDArray):
        super().__init__(plant, controller, FaultStep(plant, controller, tip, capacity))
        self._capacity, self.recorded = capacity, self.step.recorded
        self._all = np.empty((chunks, capacity, CHUNK, self.recorded))
        # rounded as the stamps of messages, so that no threshold is met in another step
        stamps = np.array([_in_seconds(round(1e9 * k * plant.step_size))
                           for k in range(CHUNK * chunks + 2)])[:, None]
        self._tables = [delays, stamps, self._all.reshape(-1, self.recorded)]

    def prepare(self, q: NDArray, joints: NDArray, inertias: NDArray, faults: NDArray,
                lockstep: bool = False, epoch: float = 1000.0) -> Runs:
        """
        Return runs of arms at rest, held by brakes, before the first step.

        Parameters
        ----------
        q, joints, inertias
            As for `start`.
        faults : (N, f) array
            Fault of each run, see `fault_numbers.numbers`.
        lockstep : bool
            Whether the time of the controller is that of the stamps, and it is not called
            without a state.
        epoch : float
            Time at the first state, s; 0 is no stamp.

        """
        special = np.zeros((len(q), _SPECIAL))
        special[:, 1], special[:, 2], special[:, 3] = range(len(q)), lockstep, epoch
        runs = self.start(q, joints, inertias, faults, special)
        begin = sum(self.step.state_sizes[:2])
        runs.state[:, begin:-1] = new_link(self.plant.nv)
        return runs

    def begin(self, runs: Runs, noise: NDArray, rows: list, taken_over: NDArray) -> Runs:
        """
        Return runs in which the first state was measured, and control begun: a step.

        Parameters
        ----------
        runs, noise, rows
            As for `run_chunk`; the noise of one step.
        taken_over : array
            Program that takes over the arm.

        """
        runs = self._special(runs, MEASURE, noise, rows)
        runs.programs[:] = taken_over
        return self._special(runs, BEGIN, noise, rows)

    def _special(self, runs, kind, noise, rows) -> Runs:
        runs.constants[:, -_SPECIAL] = kind
        runs, _ = self._advanced(runs, noise, rows, self._tables)
        runs.constants[:, -_SPECIAL] = NORMAL
        return runs

    def step_on_floats(self, runs: Runs, noise: NDArray, past: Sequence, rows: list) -> NDArray:
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
        rows : list
            Tables of trajectories.

        """
        runtime, state, memory, program, constants, given_noise = (
            [Ieee(x) for x in np.asarray(row).tolist()] for row in (
                self.plant.dynamics.runtime, runs.state[0], runs.memories[0], runs.programs[0],
                runs.constants[0], noise))
        own = [*(each.tolist() for each in self._tables[:2]),
               records.OneRun(past, self._capacity)]
        tree, step = self.plant.dynamics.tree, self.step
        argument, kept = step.first(tree, runtime, state, constants, given_noise, *own)
        torque, after = self.controller.on_floats(rows, flatten(argument), memory, program)
        answer = [*flatten(kept), *torque, *(after[k] for k in step.observed)]
        return np.array(step.then(tree, runtime, state, constants, answer, *own), dtype=float)

    def run_chunk(self, runs: Runs, noise: NDArray, rows: list) -> Runs:
        """
        Return the runs after the next chunk.

        Parameters
        ----------
        runs : Runs
            Runs as returned by `begin`.
        noise : (CHUNK, 2 nv) or (N, CHUNK, 2 nv) array
            Normally distributed numbers: errors of positions, then of velocities.
        rows : list
            Tables of trajectories.

        """
        runs, chunk = self._advanced(runs, noise, rows, self._tables,
                                     self._all[len(runs.records), :len(runs.state)])
        return runs._replace(records=[*runs.records, chunk])

    def single_step(self, runs: Runs, noise: NDArray, rows: list, step: int) -> Runs:
        """
        Return the runs after one step, without its record.

        step: number of the steps before; noise: (N, 1, 2 nv); otherwise as `run_chunk`.
        """
        runs, found = self._advanced(runs, np.ascontiguousarray(noise), rows, self._tables)
        chunk, k = divmod(step, CHUNK)
        self._all[chunk, :len(found), k] = found[:, 0]
        return runs

    def again(self, runs: Runs, step: int) -> Runs:
        """Return runs after so many single steps, whole chunks, as if the last were the first."""
        chunk = step // CHUNK - 1
        state, constants = runs.state.copy(), runs.constants.copy()
        passed = chunk * CHUNK * self.plant.step_size
        state[:, -1] -= chunk * CHUNK
        place, = (each.begin for each in link_entries(self.plant.nv)
                  if each.name == 'host_free_at')
        state[:, sum(self.step.state_sizes[:2]) + place] -= passed
        constants[:, -1] += passed
        return runs._replace(state=state, constants=constants,
                             records=[self._all[chunk, :len(state)].copy()])

    def resume(self, runs: Runs, joints: NDArray, faults: NDArray) -> Runs:
        """Return a copy of runs that `again` has returned; joints and faults as for `prepare`."""
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
        constants[:, 1 - _SPECIAL] = range(len(state))
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
