"""The control cycle of a robot, with all functions that it calls, as functions of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from robodyn_ros.control import ArmController, drive, turn
from robodyn_ros.control.compiled import BLOCKS, CompiledCycle, REQUIRED
from robodyn_ros.control.steps import laws
from robodyn_ros.control.turn_host import turn_function
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.flow import Table
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.export.c_function import CFunction
from robodyn_ros.export.places import Array, Functions, Place, Rows, Struct
from robodyn_ros.model.per_joint import COMMAND
from robodyn_ros.safety.drive import Program as Drives

_TURN = {'inputs': turn.Inputs, 'memory': turn.Memory, 'program': turn.Program}
EXPORTED = {**BLOCKS, **{f'turn_{name}': cls for name, cls in _TURN.items()},
            'drives': Drives}
_LAWS = 'laws'
_PATH = 'path'
_LOADS = 'loads'


@dataclass(frozen=True, eq=False)
class ExportedCycle:
    """
    The cycle of one robot in C.

    Attributes
    ----------
    compiled : CompiledCycle
        Where it comes from.
    cycle : CFunction
        The cycle.
    laws, parts : list of CFunction
        What it calls.
    turns : list of CFunction
        `begin` and `end` of `control.turn`, around it.
    command : CFunction
        `control.drive.command`, after the cycle.
    segment : int
        Length of a row of the table of segments.
    initial : dict of str to array
        Numbers of 'memory', 'program' and 'turn_memory' of an arm that was never under control,
        and 'drives' without gains.

    """

    compiled: CompiledCycle
    cycle: CFunction
    laws: list[CFunction]
    parts: list[CFunction]
    turns: list[CFunction]
    command: CFunction
    segment: int
    initial: dict[str, np.ndarray]

    @classmethod
    def of(cls, controller: ArmController, names: Sequence[str], prefix: str) -> ExportedCycle:
        """
        Return the cycle of a controller.

        Parameters
        ----------
        controller : ArmController
            Its gains and settings are those of the first program.
        names : sequence of str
            Laws to export, besides those without which there is no cycle.
        prefix : str
            Begins all names.

        Raises
        ------
        ParameterError
            No law has such a name.

        """
        compiled = controller.host.compiled
        for name in names:
            if name not in laws.NAMES:
                raise ParameterError(f'no law is called {name!r}; '
                                     f'{near_matches(name, laws.NAMES)}', value=name)
        wanted = {*REQUIRED, *names}
        of_laws = [_function(f'{prefix}_law_{name}', function, laws.INPUTS)
                   for name, function in zip(laws.NAMES, compiled.laws) if name in wanted]
        rows = tuple(f'{prefix}_law_{name}' if name in wanted else None for name in laws.NAMES)
        parts = [_function(f'{prefix}_part_{name}', several[0], _names(name, several[0]))
                 for name, several in compiled.functions.items() if name != _LAWS]
        tables = {name: Functions((*rows, None) if name == _LAWS else (f'{prefix}_part_{name}',))
                  for name in compiled.tables}
        arguments, n = compiled.function.arguments, compiled.dimensions['joints']
        path = arguments[_PATH]
        assert isinstance(path, Table)
        segment = int(path.columns)
        entries = {name: blocks.entries(of_block, compiled.dimensions)
                   for name, of_block in EXPORTED.items()}
        structs = {name: Struct(name, f'{prefix}_{name}', each) for name, each in entries.items()}
        after, after_turn = (Struct('next', f'{prefix}_{name}', entries[name])
                             for name in ('memory', 'turn_memory'))
        places: dict[str, Place] = {**tables, _PATH: Rows(_PATH, segment), **structs}
        cycle = CFunction(f'{prefix}_cycle', compiled.function.program(),
                          tuple(places[name] for name in arguments),
                          (Array('torque', n), after))
        turns = [CFunction(f'{prefix}_turn_{step.__name__}', turn_function(step).program(),
                           tuple(structs[f'turn_{name}'] for name in _TURN),
                           (after_turn, Array('result', 1))) for step in (turn.begin, turn.end)]
        command = CFunction(
            f'{prefix}_command', drive.function(compiled.dimensions).program(),
            (Array('torque', n), structs['memory'], structs['drives']),
            (Array('command', len(COMMAND) * n),))
        initial = {name: controller.host.values[name].copy() for name in ('memory', 'program')}
        initial['turn_memory'] = np.array(flatten(turn.initial()))
        initial['drives'] = np.zeros(blocks.size(Drives, compiled.dimensions))
        blocks.views(Drives, initial['drives'], compiled.dimensions).scale[:] = 1.0
        return cls(compiled, cycle, of_laws, parts, turns, command, segment, initial)


def default_controller(dynamics: Dynamics) -> ArmController:
    """Return the controller of an arm with usual gains and settings."""
    return ArmController(dynamics)


def _function(name: str, function: Function, names: Sequence[str]) -> CFunction:
    """Return a function of the cycle, with these names of its arguments."""
    return CFunction(name, function.program(), tuple(
        Array(_LOADS if each == 'runtime' else each, int(cast(int, size)))
        for each, size in zip(names, function.arguments.values(), strict=True)),
        tuple(Array(each, int(size)) for each, size in function.outputs.items()))


def _names(name: str, function: Function) -> list[str]:
    """Return names for the arguments of a part; those of most begin with gravity and payloads."""
    count = len(function.arguments)
    if name == 'accept':
        return ['state', 'memory', 'program', 'other']
    return [_LOADS, *(f'input{k}' for k in range(1, count))]
