"""The control cycle as controller of a `simulation.ClosedLoop`: the code that drives an arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control import blocks
from robodyn_ros.control.controller import ArmController
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.control.paths import write_path
from robodyn_ros.control.pose.task_gains import TaskGains
from robodyn_ros.control.programming import request
from robodyn_ros.control.settings import CycleSettings
from robodyn_ros.control.steps import laws, motion, path
from robodyn_ros.control.steps.cycle import cycle
from robodyn_ros.control.steps.memory import Memory
from robodyn_ros.control.steps.program import Program
from robodyn_ros.control.steps.state import FROM_STATE, State
from robodyn_ros.dynamics import Dynamics, machine
from robodyn_ros.dynamics.flags import either, equal
from robodyn_ros.dynamics.flow import Table
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.safety import ABSURD
from robodyn_ros.trajectory import Reference, Tolerances, Trajectory

# what may end a motion
ENDINGS = {
    motion.SILENT: 'no joint states', motion.OFF_PATH: 'path tolerance violated',
    motion.OFF_PATH_SPEED: 'path velocity tolerance violated',
    motion.OFF_GOAL: 'goal tolerance violated',
    motion.OFF_GOAL_SPEED: 'goal velocity tolerance violated',
    motion.UNUSABLE: 'joint state not usable', motion.LAW_NOT_FINITE: 'law not finite',
    motion.TORQUE_NOT_FINITE: 'torque not finite', motion.COLLIDED: 'collision'}


class Ending(NamedTuple):
    """
    How motions ended, one row per run.

    Attributes
    ----------
    code : (N,) array
        0 where the goal was reached, else a code of `ENDINGS`; NaN where the motion has not
        ended.
    joint : (N,) array of int
        The joint that shows it.
    value, bound : (N,) array
        What exceeds which bound, in the unit of the code.

    """

    code: NDArray
    joint: NDArray
    value: NDArray
    bound: NDArray


class RolloutCycle:
    """
    The control cycle of a robot for a loop with a plant.

    Parameters
    ----------
    dynamics : Dynamics
        The robot as the laws model it.
    gains : Gains
        Of the laws.
    settings : CycleSettings
        Of the cycle; a law from outside has no place in a loop.
    task_gains : TaskGains, optional
        Of the Cartesian laws.

    Attributes
    ----------
    compiled : CompiledCycle
        The cycle itself.
    key : str
        Names all that `answer` compiles to.
    memory, program : (k,) array
        Of an arm that was never under control, and of a cycle that nothing is asked of.
    tables : dict of str to Table or FunctionTable
        What `answer` looks up.

    Raises
    ------
    ParameterError
        A setting is out of range, naming the joint; or a law from outside is chosen.
    ModelError
        The law learns a payload, and the dynamics have no slot for it.

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, settings: CycleSettings | None = None,
                 task_gains: TaskGains | None = None):
        self.settings = settings = settings or CycleSettings()
        host = ArmController(dynamics, gains, settings, task_gains=task_gains).host
        self.compiled = compiled = host.made
        law = TRACKING[settings.tracking]
        if settings.guest:
            raise ParameterError(f'{settings.guest} is a law from outside, which no loop without '
                                 'an outside can run: choose a built-in law', value=settings.guest)
        self.program, self.memory = host.values['program'], host.values['memory']
        self.tables = {**compiled.tables, 'path': Table(path.columns(dynamics.nv))}
        robot = {name: value for name, value in vars(compiled.robot).items() if name != 'tree'}
        self.key = '|'.join((dynamics.model.structure_key, machine.source_digest(cycle),
                             repr(robot), repr(ABSURD)))
        # the floating law, the one that coasts, and the one that follows
        named = {laws.NAMES[0], 'computed_torque', settings.tracking}
        rows = [each if name in named else None for name, each in zip(laws.NAMES, compiled.laws)]
        self._functions = {**compiled.functions, 'laws': [*rows, None],
                           **({} if law.adapts else {'learning': [None]})}
        self._fields = {entry.name: slice(entry.begin, entry.begin + entry.size)
                        for entry in blocks.entries(Memory, compiled.dimensions)}

    # --- what a loop calls, over scalars ----------------------------------------------------

    def answer(self, tables, now, q, qd, effort, memory, program):
        """Return torque and next memory for a measured state."""
        compiled, functions = self.compiled, SimpleNamespace(**tables)
        state = State(kind=FROM_STATE, now=now, arrival=now, stamp=0.0, clock=0.0, permitted=1.0,
                      cause=0.0, q=q, qd=qd, effort=effort)
        m, p = (blocks.unpack(cls, values, compiled.dimensions)
                for cls, values in ((Memory, memory), (Program, program)))
        return cycle(compiled.robot, functions, functions.path, state, m, p)

    def tracked(self, memory: Memory):
        """Return the reference, a flag that a trajectory is followed, and flags of cut torques."""
        cut = [either(*each) for each in zip(memory.verdict.saturated,
                                             memory.verdict.rate_limited)]
        return memory.motion.reference.q, equal(memory.motion.mode, motion.TRACK), cut

    def warm(self) -> None:
        """Compile what `answer` calls, or load it from the cache, now."""
        for functions in self._functions.values():
            for each in functions:
                if each is not None:
                    each.warm()

    def _field(self, memory: NDArray, name: str) -> NDArray:
        """Return the numbers of a field, of one memory or of many."""
        return memory[..., self._fields[name]]

    # --- requests, and what became of them --------------------------------------------------

    def table_values(self, rows: NDArray | Sequence = ()) -> list:
        """Return what goes into the tables; rows: segments of trajectories, none by default."""
        return [*self._functions.values(), rows]

    def taken_over(self) -> NDArray:
        """Return the program that takes over the arm where it is found."""
        program = self.program.copy()
        request(blocks.views(Program, program, self.compiled.dimensions), motion.TO_TAKE_OVER)
        return program

    def following(self, program: NDArray, memory: NDArray,
                  plan: Callable[[Reference], Trajectory]) -> tuple[NDArray, NDArray]:
        """
        Return programs that follow trajectories from where the references are, and their table.

        Parameters
        ----------
        program : (k,) array
            The present one.
        memory : (N, m) array
            Of all arms; one with a fault is not asked for anything.
        plan : callable
            Returns the `Trajectory` from a `Reference`.

        """
        nv = self.compiled.dimensions['joints']
        tolerances = self.settings.tolerances or Tolerances.none(nv)
        programs, rows = np.tile(program, (len(memory), 1)), []
        changed = program.copy()
        p, known = blocks.views(Program, changed, self.compiled.dimensions), {}
        for row, values in enumerate(memory):
            if self._field(values, 'motion.fault.code')[0]:
                continue
            start = Reference(*(self._field(values, f'motion.reference.{name}').copy()
                                for name in ('q', 'qd', 'qdd', 'effort')))
            place = np.concatenate(start.arrays).tobytes()
            if place not in known:
                trajectory = plan(start)
                changed[:] = program
                write_path(p.motion.upcoming, 1 + int(p.motion.upcoming.number), trajectory,
                           self._field(values, 'before')[0], tolerances, sum(map(len, rows)))
                request(p, motion.TO_FOLLOW)
                rows.append(trajectory.table)
                known[place] = changed.copy()
            programs[row] = known[place]
        return programs, np.concatenate([np.zeros((0, self.tables['path'].columns)), *rows])

    def endings(self, memory: NDArray) -> Ending:
        """Return how the motions ended, for the memories of all runs, (N, m)."""
        fault, message = (np.column_stack([self._field(memory, f'motion.{event}.{name}')
                                           for name in ('code', 'joint', 'value', 'bound')])
                          for event in ('fault', 'message'))
        code, joint, value, bound = np.where(fault[:, :1] > 0.0, fault, message).T
        code = np.where(code == motion.AT_GOAL, 0.0, np.where(code == 0.0, np.nan, code))
        return Ending(code, joint.astype(int), value, bound)
