"""The control cycle as controller of a `simulation.ClosedLoop`: the same code as on an arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control import blocks
from robodyn_ros.control.compiled import BLOCKS
from robodyn_ros.control.controller import ArmController
from robodyn_ros.control.cycle import cycle
from robodyn_ros.control.memory import Memory
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode
from robodyn_ros.control.program_writer import request
from robodyn_ros.control.state import FROM_STATE
from robodyn_ros.control.steps import modes, path
from robodyn_ros.control.trajectory_table import write_path
from robodyn_ros.dynamics.jit.flags import either, equal
from robodyn_ros.dynamics.jit.flow import Table
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.trajectory import Reference, Trajectory

# causes of the end of a motion
ENDINGS = {
    modes.SILENT: 'no joint states', modes.OFF_PATH: 'path tolerance violated',
    modes.OFF_PATH_SPEED: 'path velocity tolerance violated',
    modes.OFF_GOAL: 'goal tolerance violated',
    modes.OFF_GOAL_SPEED: 'goal velocity tolerance violated',
    modes.UNUSABLE: 'joint state not usable', modes.LAW_NOT_FINITE: 'law not finite',
    modes.TORQUE_NOT_FINITE: 'torque not finite', modes.COLLIDED: 'collision'}


class Ending(NamedTuple):
    """
    Outcome of motions, one row per run.

    Attributes
    ----------
    code : (N,) array
        0 where the goal was reached, else a code of `ENDINGS`; NaN where the motion has not
        ended.
    joint : (N,) array of int
        Joint of the evidence.
    value, bound : (N,) array
        Value and the bound it exceeds, in the unit of the code.

    """

    code: NDArray
    joint: NDArray
    value: NDArray
    bound: NDArray


class RolloutCycle:
    """
    The control cycle of an arm for a loop with a plant.

    Parameters
    ----------
    control : ArmController
        Controller whose cycle, program and memory are used; not activated yet.

    Attributes
    ----------
    key : str
        Key of the code that `answer` compiles to.
    memory, program : (k,) array
        Memory of an arm that was never under control, and program without requests.
    tables : dict of str to Table or FunctionTable
        Tables used by `answer`.

    Raises
    ------
    ParameterError
        An external law is chosen.

    """

    def __init__(self, control: ArmController):
        mode = control.settings.mode
        if mode in EXTERNAL_LAWS:
            raise ParameterError(f'{mode} is a law from outside, and in a compiled loop there is '
                                 'none: choose a built-in law', value=mode)
        self._tolerances, self._made = control.design.tolerances, control.host.made
        self.key = self._made.function.key
        self.memory, self.program = (control.host.values[name].copy()
                                     for name in ('memory', 'program'))
        self._views('program', self.program).motion.floats[()] = mode == Mode.FLOAT.value
        self.tables: dict[str, Any] = {
            **self._made.tables, 'path': Table(path.columns(control.model.nv))}
        self._functions = {**self._made.functions, 'laws': self._made.rows}
        self._fields = {entry.name: slice(entry.begin, entry.begin + entry.size)
                        for entry in blocks.entries(Memory, self._made.dimensions)}

    def _views(self, name: str, values: NDArray) -> SimpleNamespace:
        return blocks.views(BLOCKS[name], values, self._made.dimensions)

    # --- called by the loop, over scalars ----------------------------------------------------

    def compute_torque(self, tables, now, q, qd, effort, memory, program):
        """Return torque and next memory for a measured state."""
        made, functions = self._made, SimpleNamespace(**tables)
        state = [0.0] * made.sizes['state']
        state, m, p = (blocks.unpack(cls, values, made.dimensions) for cls, values in zip(
            BLOCKS.values(), (state, memory, program)))
        state = replace(state, kind=FROM_STATE, now=now, q=q, qd=qd, effort=effort)
        return cycle(made.robot, functions, functions.path, state, m, p)

    def tracking(self, memory: Memory):
        """Return reference, flag that a trajectory is followed, and flags of limited torques."""
        cut = [either(*each) for each in zip(memory.verdict.saturated,
                                             memory.verdict.rate_limited)]
        return memory.motion.reference.q, equal(memory.motion.mode, modes.TRACK), cut

    def _field(self, memory: NDArray, name: str) -> NDArray:
        """Return the numbers of a field, of one memory or of many."""
        return memory[..., self._fields[name]]

    # --- requests, and their outcome  --------------------------------------------------

    def table_values(self, rows: NDArray | Sequence = ()) -> list:
        """Return the values of the tables; rows: segments of trajectories, none by default."""
        return [*self._functions.values(), rows]

    def taken_over(self) -> NDArray:
        """Return the program that takes over the arm in its present state."""
        program = self.program.copy()
        request(self._views('program', program), modes.TO_TAKE_OVER)
        return program

    def following(self, program: NDArray, memory: NDArray,
                  plan: Callable[[Reference], Trajectory]) -> tuple[NDArray, NDArray]:
        """
        Return programs that follow trajectories from where the references are, and their table.

        Parameters
        ----------
        program : (k,) array
            Present program.
        memory : (N, m) array
            Memories of all arms; an arm with a fault gets no request.
        plan : callable
            Returns the `Trajectory` from a `Reference`.

        """
        programs = np.tile(program, (len(memory), 1))
        rows: list[NDArray] = []
        changed = program.copy()
        p, known = self._views('program', changed), {}
        for own, values in zip(programs, memory):
            if self._field(values, 'motion.fault.code')[0]:
                continue
            start = Reference(*(self._field(values, f'motion.reference.{name}').copy()
                                for name in ('q', 'qd', 'qdd', 'effort')))
            place = np.concatenate(start.arrays).tobytes()
            if place not in known:
                trajectory = plan(start)
                changed[:] = program
                write_path(p.motion.upcoming, 1 + int(p.motion.upcoming.number), trajectory,
                           self._field(values, 'before')[0], self._tolerances,
                           sum(map(len, rows)))
                request(p, modes.TO_FOLLOW)
                rows.append(trajectory.table)
                known[place] = changed.copy()
            own[:] = known[place]
        return programs, np.concatenate([np.zeros((0, self.tables['path'].columns)), *rows])

    def endings(self, memory: NDArray) -> Ending:
        """Return the outcome of the motions, for the memories of all runs, (N, m)."""
        fault, message = (np.column_stack([self._field(memory, f'motion.{event}.{name}')
                                           for name in ('code', 'joint', 'value', 'bound')])
                          for event in ('fault', 'message'))
        code, joint, value, bound = np.where(fault[:, :1] > 0.0, fault, message).T
        code = np.where(code == modes.AT_GOAL, 0.0, np.where(code == 0.0, np.nan, code))
        return Ending(code, joint.astype(int), value, bound)
