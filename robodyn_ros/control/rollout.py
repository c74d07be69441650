"""The control cycle as controller of a `simulation.ClosedLoop`: the same code as on an arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.compiled import BLOCKS
from robodyn_ros.control.controller import ArmController
from robodyn_ros.control.cycle import cycle
from robodyn_ros.control.design import Design
from robodyn_ros.control.memory import Memory
from robodyn_ros.control.messages import Messages
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode
from robodyn_ros.control.program_writer import request, write_gain_change, write_settings
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.state import FROM_STATE, RECEIVED, REQUESTS, WAITING
from robodyn_ros.control.steps import modes, path
from robodyn_ros.control.trajectory_table import write_path
from robodyn_ros.dynamics.coupled_rollout import StatefulFunction
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.arguments import as_argument
from robodyn_ros.dynamics.jit.flags import any_of, equal, first_of, flag, no
from robodyn_ros.dynamics.jit.flow import Table
from robodyn_ros.dynamics.jit.nested import flatten
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
    laws : sequence of str
        Laws that are compiled at once, besides the one of the settings.

    Attributes
    ----------
    key : str
        Key of the code of the cycle.
    memory, program : (k,) array
        Memory of an arm that was never under control, and program without requests.
    tables : dict of str to Table or FunctionTable
        Tables of the cycle.

    Raises
    ------
    ParameterError
        An external law is chosen.

    """

    def __init__(self, control: ArmController, laws: Sequence[str] = ()):
        mode = control.settings.mode
        if mode in EXTERNAL_LAWS:
            raise ParameterError(f'{mode} is a law from outside, and in a compiled loop there is '
                                 'none: choose a built-in law', value=mode)
        self._tolerances, self._made = control.design.tolerances, control.host.made
        self.key = self._made.function.key
        self.memory, self.program = (control.host.values[name].copy()
                                     for name in ('memory', 'program'))
        self._control, self._messages = control, Messages(control.model, control.model.tip)
        self._made.prepare(*laws)
        self._edited = self.program.copy()
        self._p = self._views('program', self._edited)
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
        return self._cycle(tables, memory, program, kind=FROM_STATE, now=now, q=q, qd=qd,
                           effort=effort)

    def _cycle(self, tables, memory, program, **given):
        """Return torque and next memory for a state with these fields."""
        made, functions = self._made, SimpleNamespace(**tables)
        m, p = (blocks.unpack(BLOCKS[name], values, made.dimensions) for name, values in (
            ('memory', memory), ('program', program)))
        return cycle(made.robot, functions, functions.path, self._state(**given), m, p)

    def _state(self, **given):
        """Return a state with these fields, and zeros."""
        zeros = [0.0] * self._made.sizes['state']
        return replace(blocks.unpack(BLOCKS['state'], zeros, self._made.dimensions), **given)

    # --- called in a loop as machine code -----------------------------------------------------

    @cached_property
    def function(self) -> StatefulFunction:
        """Return the cycle as the function of a coupled rollout."""
        made, function = self._made, self._made.function
        state, torque, memory, program = (
            np.zeros(made.sizes['state']), np.zeros(made.dimensions['joints']), self.memory,
            self.program)
        self._path = np.zeros((1, self.tables['path'].columns))
        call = function.bound(*self._functions.values(), self._path, state, memory, program,
                              torque, memory.copy())
        place = function.place('state')
        return StatefulFunction(
            call, state, torque, len(memory), len(program), (place + 1, place + 2, place + 4),
            tuple(self._fields[name].start for name in ('acceptance.kind', 'motion.fault.code')))

    def use_path(self, rows: NDArray | Sequence) -> None:
        """Use a table of trajectories in the function."""
        function, arguments = self._made.function, self.function.call.arguments
        self._path = as_argument('path', function.arguments['path'], rows)
        place = function.place('path')
        arguments[place:place + 2] = self._path.ctypes.data, len(self._path)

    def argument(self, given) -> list:
        """
        Return the state of a cycle, for a state or its absence.

        given: see `fault_loop.controller`. The call that begins control is that of an activation,
        with the state that was received last.
        """
        kind = first_of((given.begins, FROM_STATE), (given.received, RECEIVED),
                        (given.waits, WAITING), otherwise=(REQUESTS,))[0]
        return flatten(self._state(
            kind=kind, now=given.arrival, arrival=given.arrival, stamp=given.stamp,
            clock=given.clock, permitted=1.0, q=given.q, qd=given.qd, effort=given.effort))

    def sends(self, observed):
        """Return the flag that the torque of a state, or of a state that is missing, is sent."""
        return no(equal(observed[0], REQUESTS))

    def faulted(self, observed):
        """Return the code of the fault that is latched, 0 for none."""
        return observed[1]

    def on_floats(self, rows: NDArray | Sequence, argument: list, memory: list, program: list
                  ) -> tuple[list, list]:
        """Return torque and next memory, computed in Python; rows: table of trajectories."""
        functions = [[each.body for each in self._made.functions[name]] for name in self.tables
                     if name != 'path']
        torque, after = self._made.function.body(*functions, np.asarray(rows).tolist(),
                                                 argument, memory, program)
        return flatten(torque), flatten(after)

    def tracking(self, memory: Memory):
        """Return reference, flag that a trajectory is followed, and flags of limited torques."""
        cut = [any_of(list(map(flag, each))) for each in zip(memory.verdict.saturated,
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
        known: dict[bytes, NDArray] = {}
        for own, values in zip(programs, memory):
            if self.fault_code(values):
                continue
            start = self.reference(values)
            place = np.concatenate(start.arrays).tobytes()
            if place not in known:
                trajectory = plan(start)
                self.follow(own, values, trajectory, sum(map(len, rows)))
                rows.append(trajectory.table)
                known[place] = own.copy()
            own[:] = known[place]
        return programs, np.concatenate([np.zeros((0, self.tables['path'].columns)), *rows])

    # --- requests to one arm: programs, changed in place ---------------------------------------

    def edit(self, program: NDArray, change: Callable[[SimpleNamespace], None]) -> None:
        """Change a program; `change` gets its fields by name."""
        self._edited[:] = program
        change(self._p)
        program[:] = self._edited

    def follow(self, program: NDArray, memory: NDArray, trajectory: Trajectory, row: int) -> None:
        """Request to follow a trajectory at once; `row` is the first of its table."""
        def change(p: SimpleNamespace) -> None:
            write_path(p.motion.upcoming, 1 + int(p.motion.upcoming.number), trajectory,
                       self._field(memory, 'before')[0], self._tolerances, row)
            request(p, modes.TO_FOLLOW)

        self.edit(program, change)

    def stop(self, program: NDArray) -> None:
        """Request to come to rest."""
        self.edit(program, lambda p: request(p, modes.TO_REST))

    def change(self, program: NDArray, settings: Settings, before: Design) -> None:
        """Request other settings than those of the present design: law, gains, limits."""
        design = Design.make(self._control.dynamics, settings, before)

        def change(p: SimpleNamespace) -> None:
            write_gain_change(p, before, design, settings.mode)
            write_settings(p, design)
            p.switch += 1.0

        self.edit(program, change)

    def load(self, program: NDArray, runtime: NDArray) -> None:
        """Report gravity and payloads, in the order of the kernels."""
        def change(p: SimpleNamespace) -> None:
            p.loads.target[:], p.loads.duration[()] = runtime, self._control.settings.load_time
            p.loads.change += 1.0

        self.edit(program, change)

    def in_lockstep(self, program: NDArray) -> None:
        """Let the time of the cycle be that of the stamps."""
        def change(p: SimpleNamespace) -> None:
            p.acceptance.simulated[()] = 1.0

        self.edit(program, change)

    # --- outcome ----------------------------------------------------------------------------

    def fields(self, memory: NDArray) -> dict[str, NDArray]:
        """Return the fields of a memory by name, as views."""
        return {name: memory[place] for name, place in self._fields.items()}

    def reference(self, memory: NDArray) -> Reference:
        """Return the reference of an arm."""
        return Reference(*(self._field(memory, f'motion.reference.{name}').copy()
                           for name in ('q', 'qd', 'qdd', 'effort')))

    def fault_code(self, memory: NDArray) -> float:
        """Return the code of the fault that is latched; 0: none."""
        return float(self._field(memory, 'motion.fault.code')[0])

    def fault(self, memory: NDArray) -> str:
        """Return the text of the fault that is latched; '' if there is none."""
        if not self.fault_code(memory):
            return ''
        return self._messages.text(SimpleNamespace(**{
            name: self._field(memory, f'motion.fault.{name}')[0]
            for name in ('code', 'joint', 'value', 'bound', 'time')}))

    def endings(self, memory: NDArray) -> Ending:
        """Return the outcome of the motions, for the memories of all runs, (N, m)."""
        fault, message = (np.column_stack([self._field(memory, f'motion.{event}.{name}')
                                           for name in ('code', 'joint', 'value', 'bound')])
                          for event in ('fault', 'message'))
        code, joint, value, bound = np.where(fault[:, :1] > 0.0, fault, message).T
        code = np.where(code == modes.AT_GOAL, 0.0, np.where(code == 0.0, np.nan, code))
        return Ending(code, joint.astype(int), value, bound)
