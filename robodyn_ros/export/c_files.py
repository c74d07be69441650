"""The files of an exported robot, as texts by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robodyn_ros.control.steps import external_law, laws, modes
from robodyn_ros.dynamics.jit.blocks import size
from robodyn_ros.export.c_function import CFunction, Printer
from robodyn_ros.export.control_cycle import EXPORTED, ExportedCycle
from robodyn_ros.export.dynamics_functions import Documented, LOADS
from robodyn_ros.export.layout import array_lines, initialiser, struct_lines
from robodyn_ros.export.syntax import literal, macro
from robodyn_ros.export.templates import helpers, INCLUDES
from robodyn_ros.model.per_joint import COMMAND
from robodyn_ros.safety.acceptance import (
    BETWEEN, DUE, FROM_STATE, RECEIVED, REQUESTS, SILENT, WAITING)

_CONSTANTS = {
    'kinds of a call, for state.kind': {
        'KIND_FROM_STATE': FROM_STATE, 'KIND_BETWEEN': BETWEEN, 'KIND_SILENT': SILENT,
        'KIND_REQUESTS': REQUESTS, 'KIND_RECEIVED': RECEIVED, 'KIND_WAITING': WAITING,
        'KIND_DUE': DUE},
    'requests, for program.motion.kind': {
        'TO_REST': modes.TO_REST, 'TO_FLOAT': modes.TO_FLOAT, 'TO_FOLLOW': modes.TO_FOLLOW,
        'TO_TAKE_OVER': modes.TO_TAKE_OVER, 'TO_DEACTIVATE': modes.TO_DEACTIVATE,
        'TO_RESUME': modes.TO_RESUME, 'TO_REACH': modes.TO_REACH},
    'modes, in memory.motion.mode': {
        'INACTIVE': modes.INACTIVE, 'HOLD': modes.HOLD, 'FLOAT': modes.FLOAT,
        'TRACK': modes.TRACK, 'STOP': modes.STOP, 'REACH': modes.REACH,
        'LINEAR': modes.LINEAR, 'CARRY': modes.CARRY,
        'PASSIVE': modes.PASSIVE},
    'external laws, for program.external_law.choice': {
        'NO_EXTERNAL_LAW': external_law.NONE, 'LINEAR_FEEDBACK': external_law.LINEAR},
}
_GUARD = """\
#if DBL_MANT_DIG != 53
#error "double must be the 64-bit type of IEEE 754"
#endif
#if (FLT_EVAL_METHOD < 0) || (FLT_EVAL_METHOD == 2)
#error "double arithmetic must be rounded to double: on 32-bit x86 use -msse2 -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "-ffast-math changes what happens to numbers that are not finite: leave it out"
#endif"""


def source(prefix: str, about: str, functions: Sequence[CFunction]) -> str:
    """Return a file with the definitions of functions."""
    needed: set[str] = set()
    bodies: list[str] = []
    for function in functions:
        printer = Printer(function)
        bodies += [*printer.definition(), '']
        needed |= printer.helpers
    return text([f'/* {about} */', f'#include "{prefix}_internal.h"', '',
                 *helpers(needed), *bodies])


def internal_header(prefix: str, functions: Iterable[CFunction]) -> str:
    """Return the header that the files of the robot share, with functions of no other use."""
    guard = macro(prefix, 'INTERNAL_H')
    return text([
        '/* Not for others: see the header without `internal`. */', f'#ifndef {guard}',
        f'#define {guard}', '', '#include <float.h>',
        *(f'#include <{each}>' for each in INCLUDES), '', f'#include "{prefix}.h"', '',
        *_GUARD.splitlines(), '', *(line for each in functions for line in each.head(';')),
        '', '#endif'])


def header(prefix: str, about: Sequence[str], joints: Sequence[str], loads: int,
           functions: Sequence[Documented], cycle: ExportedCycle | None) -> str:
    """
    Return the header.

    Parameters
    ----------
    prefix : str
        Begins all names.
    about : sequence of str
        Lines of its comment.
    joints : sequence of str
        Names of the joints, in order.
    loads : int
        Length of gravity and payload parameters.
    functions : sequence of Documented
        Of the dynamics.
    cycle : ExportedCycle or None
        See there.

    """
    guard = macro(prefix, 'H')
    lines = [*_comment(about), f'#ifndef {guard}', f'#define {guard}', '', '#include <stdint.h>',
             '', '#ifdef __cplusplus', 'extern "C" {', '#endif', '',
             f'#define {macro(prefix, "JOINTS")} {len(joints)}',
             f'#define {macro(prefix, "LOADS")} {loads}', '',
             '/* Joints, in the order of all arrays:',
             *(f' *   {k} {name}' for k, name in enumerate(joints)), ' */', '',
             *_comment(['Gravity (3 numbers, m/s^2, base frame), then for each link that moves '
                        'what it', 'carries: mass, mass times centre (3), inertia about the '
                        "origin of the joint's frame", '(xx, yy, zz, xy, xz, yz), in its axes; '
                        'kg, m. These are those of the model.']),
             f'extern const double {prefix}_{LOADS}[{macro(prefix, "LOADS")}];', '']
    for each in functions:
        lines += [*_comment(each.comment), *each.function.head(';'), '']
    if cycle is not None:
        lines += _cycle_lines(prefix, cycle)
    return text([*lines, '#ifdef __cplusplus', '}', '#endif', '', '#endif'])


def _cycle_lines(prefix: str, cycle: ExportedCycle) -> list[str]:
    lines = []
    for meaning, constants in _CONSTANTS.items():
        lines += [f'/* {meaning[0].upper()}{meaning[1:]}. */', *(
            f'#define {macro(prefix, name)} {literal(value)}'
            for name, value in constants.items()), '']
    exported = {each.name.removeprefix(f'{prefix}_law_') for each in cycle.laws}
    lines += ['/* Laws, for program.law. */', *(
        f'#define {macro(prefix, f"LAW_{name}")} {literal(row)}'
        for name, row in laws.ROWS.items() if name in exported), '',
        f'#define {macro(prefix, "SEGMENT")} {cycle.segment}', '']
    dimensions = cycle.compiled.dimensions
    for name, cls in EXPORTED.items():
        lines += [*struct_lines(f'{prefix}_{name}', cls, dimensions), '']
    return [
        *lines, *_comment([
            'Memory and program of an arm that was never under control, with the gains, limits '
            'and', 'settings of the export; drives without gains, whose effort is the torque '
            '(scale 1).']),
        *(f'extern const struct {prefix}_{name} {prefix}_initial_{name};'
          for name in cycle.initial), '',
        *_comment([
            'One control cycle: from a state, or its absence, to the torque (N m or N), and the',
            'memory of the next cycle. No two arguments may overlap.',
            'path: segments of the trajectories, path_rows rows of '
            f'{macro(prefix, "SEGMENT")} numbers, as', 'in program.motion; may have no rows.']),
        *cycle.cycle.head(';'), '', *_comment([
            'One turn of a loop: its begin decides the kind of the cycle, and whether that is',
            'permitted and attended; its end, after the cycle, when a torque is due without a',
            'state. Where there is no guard, guard_state stays 0.']),
        *(line for each in cycle.turns for line in each.head(';')), '', *_comment([
            'The command of a torque of the cycle, after it, for drives that may have a stiffness',
            'and a damping of their own: ' + ', '.join(COMMAND) + ', each for all joints.',
            f'drives: a copy of {prefix}_initial_drives with their gains.']),
        *cycle.command.head(';'), '']


def data(prefix: str, loads: Sequence[float], cycle: ExportedCycle | None) -> str:
    """Return the file with the constants."""
    lines = ['/* Numbers of the robot and of its controller. */',
             f'#include "{prefix}_internal.h"', '', *array_lines(
                 f'const double {prefix}_{LOADS}[{macro(prefix, "LOADS")}]', list(loads)), '']
    if cycle is None:
        return text(lines)
    dimensions = cycle.compiled.dimensions
    for name, values in cycle.initial.items():
        assert size(EXPORTED[name], dimensions) == len(values)
        first, *rest = initialiser(EXPORTED[name], values, dimensions)
        lines += [f'const struct {prefix}_{name} {prefix}_initial_{name} = {first}', *rest[:-1],
                  f'{rest[-1]};', '']
    return text(lines)


def _comment(lines: Sequence[str]) -> list[str]:
    first, *rest = lines
    return [f'/* {first} */'] if not rest else [f'/* {first}', *(f' * {each}' for each in rest),
                                                ' */']


def text(lines: Iterable[str]) -> str:
    """Return lines as the text of a file."""
    return '\n'.join(lines).rstrip('\n') + '\n'
