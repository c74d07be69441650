"""
Loop over many rows in which a function of one row is called between the two parts of a step.

The two parts are computed for four rows at once, see `loops`, and the function row by row: it is
the machine code that other callers of it use, with its branches. It has a memory per row, which it
replaces at each call; two arrays of memories alternate.

Signature (as in `loops`): `coupled(count, steps, workspace, runtime, state, constants, inputs, of
row, of step, out, code, block, argument, result, and addresses of the addresses of memory, program
and next memory, memories, others, programs, tables)`. In each step

- `first` computes an argument of the function, and what is kept, from state, constants and inputs;
- `code(block)` calls the function, see `bound`, with the array `argument`, for each row with its
  memory and program, whose addresses are written to the arguments of the call; its results are
  the array `result` and the next memory;
- `then` computes the next state from what was kept, constants and the result, which the
  observed values of the next memory follow.

The leading values of each state are written to `out`. At the end `state` is the last state, and
the last memories are in `memories` after an even number of steps, else in `others`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robodyn_ros.dynamics.jit.llvm import module_ir, vector_function
from robodyn_ros.dynamics.jit.loops import (
    buffers, end_of_rows, head_of_rows, LANES, move, starts_of, table_list)
from robodyn_ros.dynamics.jit.machine import Ir
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sines import WIDTH

_PARAMETERS = (
    'count', 'steps', 'workspace', 'a0', 'astate', 'aconstants', 'ainputs', 'ofrow', 'ofstep',
    'aout', 'code', 'block', 'argument', 'result', 'memoryaddress', 'programaddress',
    'nextaddress',
    'memories', 'others', 'programs')


def coupled_ir(first: Program, then: Program, recorded: int, memory: int, program: int,
               observed: Sequence[int]) -> Ir:
    """
    Return the IR of `coupled`.

    Parameters
    ----------
    first : Program
        Argument of the function, and what is kept, of runtime, state, constants and inputs.
    then : Program
        Next state of runtime, what is kept, constants and result.
    recorded : int
        Number of leading state values that are written to `out`.
    memory, program : int
        Lengths of memory and program of the function.
    observed : sequence of int
        Indices of the values of the next memory that follow the result.

    """
    arguments: Any = first.arguments
    _, size, constants, inputs = arguments[:4]
    argument, kept = first.results
    result: Any = then.arguments[3]
    sizes = {'state': size, 'constants': constants, 'inputs': inputs, 'argument': argument,
             'kept': kept, 'result': result}
    names = ', '.join(f'i64 %{name}' for name in _PARAMETERS)
    lines = [f'define void @coupled({names}{table_list(first)}) {{', 'entry:', *buffers(sizes),
             f'  %length = mul i64 %steps, {recorded}', *head_of_rows()]
    state, fixed = (starts_of(lines, *each) for each in (
        ('state', size), ('constants', constants)))
    lines += move('gather', '%astate', state, size, 'state')
    lines += move('gather', '%aconstants', fixed, constants, 'constants')
    for lane in LANES:
        lines += [f'  %input{lane} = mul i64 %row{lane}, %ofrow',
                  f'  %record{lane} = mul i64 %row{lane}, %length',
                  f'  %ofmemory{lane} = mul i64 %row{lane}, {8 * memory}',
                  f'  %ofprogram{lane} = mul i64 %row{lane}, {8 * program}',
                  f'  %program{lane} = add i64 %programs, %ofprogram{lane}']
    lines += ['  br label %step', 'step:', '  %k = phi i64 [ 0, %head ], [ %k1, %step ]',
              '  %written = phi i64 [ 0, %head ], [ %written1, %step ]',
              '  %now = phi i64 [ %memories, %head ], [ %after, %step ]',
              '  %after = phi i64 [ %others, %head ], [ %now, %step ]',
              '  %ahead = mul i64 %k, %ofstep']
    lines += [f'  %now{lane} = add i64 %input{lane}, %ahead' for lane in LANES]
    lines += move('gather', '%ainputs', [f'%now{lane}' for lane in LANES], inputs, 'inputs')
    lines.append('  call void @first(i64 %a0, i64 %bstate, i64 %bconstants, i64 %binputs'
                 f'{table_list(first)}, i64 %bargument, i64 %bkept)')
    for lane in LANES:
        lines += _call(lane, argument, result - len(observed), observed)
    lines += ['  call void @then(i64 %a0, i64 %bkept, i64 %bconstants, i64 %bresult'
              f'{table_list(then)}, i64 %bstate)',
              *(f'  %to{lane} = add i64 %record{lane}, %written' for lane in LANES)]
    lines += move('scatter', '%aout', [f'%to{lane}' for lane in LANES], recorded, 'state')
    lines += [f'  %written1 = add i64 %written, {recorded}', '  %k1 = add i64 %k, 1',
              '  %again = icmp slt i64 %k1, %steps',
              '  br i1 %again, label %step, label %ended', 'ended:']
    lines += move('scatter', '%astate', state, size, 'state')
    lines += ['  br label %tail', *end_of_rows(), '  ret void', '}']
    return module_ir([first, then], [
        *lines, *vector_function('first', first), *vector_function('then', then)])


def _call(lane: int, argument: int, result: int, observed: Sequence[int]) -> list[str]:
    """Return the call of the function for a lane."""
    lines = [f'  call void @take_lane(i64 %bargument, i64 {lane}, i64 {argument}, i64 %argument)',
             f'  %memory{lane} = add i64 %now, %ofmemory{lane}',
             f'  %next{lane} = add i64 %after, %ofmemory{lane}']
    for name in ('memory', 'program', 'next'):
        lines += [f'  %{name}p{lane} = inttoptr i64 %{name}address to ptr',
                  f'  store i64 %{name}{lane}, ptr %{name}p{lane}']
    lines += [f'  %code{lane} = inttoptr i64 %code to ptr',
              f'  call void %code{lane}(i64 %block)',
              f'  call void @put_lane(i64 %bresult, i64 {lane}, i64 {result}, i64 %result)']
    for k, place in enumerate(observed):
        name, to = f'{lane}.{k}', 8 * (WIDTH * (result + k) + lane)
        lines += [f'  %from{name} = add i64 %next{lane}, {8 * place}',
                  f'  %fromp{name} = inttoptr i64 %from{name} to ptr',
                  f'  %observed{name} = load double, ptr %fromp{name}',
                  f'  %into{name} = add i64 %bresult, {to}',
                  f'  %intop{name} = inttoptr i64 %into{name} to ptr',
                  f'  store double %observed{name}, ptr %intop{name}']
    return lines
