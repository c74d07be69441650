"""The control cycle as controller of a `simulation.ClosedLoop`: the machine code of an arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.arm.controller import ArmController
from robodyn_ros.control.arm.design import Design
from robodyn_ros.control.arm.messages import Messages
from robodyn_ros.control.arm.program_writer import request, write_gain_change, write_settings
from robodyn_ros.control.arm.trajectory_table import write_path
from robodyn_ros.control.blocks import Memory
from robodyn_ros.control.compiled import BLOCKS
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.steps import modes, path
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.arguments import as_argument
from robodyn_ros.dynamics.jit.flags import equal, first_of, flag, no
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.rollout import StatefulFunction
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.safety import plausibility
from robodyn_ros.safety.acceptance import FROM_STATE, RECEIVED, REQUESTS, WAITING
from robodyn_ros.trajectory import Reference, Trajectory

# causes of the end of a motion
ENDINGS = {
    modes.SILENT: 'no joint states', modes.OFF_PATH: 'path tolerance violated',
    modes.OFF_PATH_SPEED: 'path velocity tolerance violated',
    modes.OFF_GOAL: 'goal tolerance violated',
    modes.OFF_GOAL_SPEED: 'goal velocity tolerance violated',
    modes.UNUSABLE: 'joint state not usable', modes.LAW_NOT_FINITE: 'law not finite',
    modes.TORQUE_NOT_FINITE: 'torque not finite', modes.COLLIDED: 'collision',
    plausibility.OVERSPEED: 'too fast', modes.OSCILLATES: 'oscillates',
    modes.WANDERS: 'not held after an oscillation',
    modes.DRIVEN: 'driven by its own feedback', modes.PULLED: 'pulled away',
    modes.CARRIED_TWICE: 'as if carried twice',
    modes.NOT_CARRIED: 'as if nobody carried it'}


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
    sending, following : tuple of int
        See `closed_loop.Controller`.

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
        self._tolerances, self._compiled = control.design.tolerances, control.host.compiled
        self.key = self._compiled.function.key
        self.memory, self.program = (control.host.values[name].copy()
                                     for name in ('memory', 'program'))
        self._control, self._messages = control, Messages(control.model, control.model.tip)
        self._compiled.prepare(*laws)
        self._edited = self.program.copy()
        self._p = self._views('program', self._edited)
        self._views('program', self.program).motion.floats[()] = mode == Mode.FLOAT.value
        self._functions = {**self._compiled.functions, 'laws': self._compiled.rows}
        self._columns = path.columns(control.model.nv)
        self._fields = {entry.name: slice(entry.begin, entry.begin + entry.size)
                        for entry in blocks.entries(Memory, self._compiled.dimensions)}
        self.sending = self._indices('acceptance.kind', 'motion.fault.code')
        self.following = self._indices('motion.mode', 'motion.reference.q', 'verdict.saturated',
                                       'verdict.rate_limited')

    def _indices(self, *names: str) -> tuple[int, ...]:
        everything = range(len(self.memory))
        return tuple(k for name in names for k in everything[self._fields[name]])

    def _views(self, name: str, values: NDArray) -> SimpleNamespace:
        return blocks.views(BLOCKS[name], values, self._compiled.dimensions)

    # --- called in a loop as machine code -----------------------------------------------------

    @cached_property
    def function(self) -> StatefulFunction:
        """Return the cycle as a function of a state, with a memory."""
        compiled, function = self._compiled, self._compiled.function
        state, torque = (np.zeros(compiled.sizes['state']),
                         np.zeros(compiled.dimensions['joints']))
        memory, program = self.memory, self.program
        self._path = np.zeros((1, self._columns))
        call = function.bound(*self._functions.values(), self._path, state, memory, program,
                              torque, memory.copy())
        place = function.place('state')
        return StatefulFunction(
            call, state, torque, len(memory), len(program), (place + 1, place + 2, place + 4),
            self.sending)

    def use_path(self, rows: list[NDArray]) -> None:
        """Use tables of trajectories, one after the other; the list is joined into one."""
        if len(rows) > 1:
            rows[:] = [np.concatenate(rows)]
        function, arguments = self._compiled.function, self.function.call.arguments
        self._path = as_argument('path', function.arguments['path'], rows[0] if rows else ())
        place = function.place('path')
        arguments[place:place + 2] = self._path.ctypes.data, len(self._path)

    def argument(self, given) -> list:
        """
        Return the state of a cycle, for a state or its absence.

        given: see `closed_loop.Controller`. The call that begins control is that of an activation,
        with the state that was received last.
        """
        kind = first_of((given.begins, FROM_STATE), (given.received, RECEIVED),
                        (given.waits, WAITING), otherwise=(REQUESTS,))[0]
        empty = blocks.unpack(BLOCKS['state'], [0.0] * self._compiled.sizes['state'],
                              self._compiled.dimensions)
        return flatten(replace(
            empty, kind=kind, now=given.arrival, arrival=given.arrival, stamp=given.stamp,
            clock=given.clock, permitted=1.0, q=given.q, qd=given.qd, effort=given.effort))

    def sends(self, observed):
        """Return the flag that the torque of a state, or of a state that is missing, is sent."""
        return no(equal(observed[0], REQUESTS))

    def faulted(self, observed):
        """Return the code of the fault that is latched, 0 for none."""
        return observed[1]

    def on_floats(self, rows: Sequence[NDArray], argument: list, memory: list, program: list
                  ) -> tuple[list, list]:
        """Return torque and next memory, computed in Python; rows: tables of trajectories."""
        functions = [[each.body for each in self._compiled.functions[name]]
                     for name in self._compiled.tables]
        torque, after = self._compiled.function.body(
            *functions, [row for table in rows for row in table.tolist()], argument, memory,
            program)
        return flatten(torque), flatten(after)

    def tracking(self, observed):
        """Return reference, flag that a trajectory is followed, and flags of limited torques."""
        n = self._control.model.nv
        reference, saturated, limited = (observed[1 + k * n:1 + (k + 1) * n] for k in range(3))
        return (reference, equal(observed[0], modes.TRACK),
                [flag(a) | flag(b) for a, b in zip(saturated, limited)])

    def _field(self, memory: NDArray, name: str) -> NDArray:
        """Return the numbers of a field, of one memory or of many."""
        return memory[..., self._fields[name]]

    # --- requests, and their outcome  --------------------------------------------------

    def taken_over(self) -> NDArray:
        """Return the program that takes over the arm in its present state."""
        program = self.program.copy()
        request(self._views('program', program), modes.TO_TAKE_OVER)
        return program

    # --- requests to one arm: programs, changed in place ---------------------------------------

    def edit(self, program: NDArray, change: Callable[[SimpleNamespace], None]) -> None:
        """Change a program; `change` gets its fields by name."""
        self._edited[:] = program
        change(self._p)
        program[:] = self._edited

    def follow(self, program: NDArray, memory: NDArray, plan: Callable[[Reference], Trajectory],
               rows: list[NDArray]) -> None:
        """
        Request to follow a trajectory at once, unless there is a fault.

        Parameters
        ----------
        program, memory : (k,) array
            Program, which is changed, and memory of the arm.
        plan : callable
            Returns the `Trajectory` from a `Reference`.
        rows : list
            Tables of trajectories, to which its own is added, if it is another one.

        """
        if self.fault_code(memory):
            return
        trajectory = plan(self.reference(memory))
        known = [each is trajectory.table for each in rows]
        if not any(known):
            rows.append(trajectory.table)
        row = sum(map(len, rows[:known.index(True) if any(known) else -1]))

        def change(p: SimpleNamespace) -> None:
            write_path(p.motion.upcoming, 1 + int(p.motion.upcoming.number), trajectory,
                       self._field(memory, 'last_time')[0], self._tolerances, row)
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
