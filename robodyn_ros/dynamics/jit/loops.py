"""
Loops around traced programs: over many states and many steps, four states at a time.

Rows of the arrays are converted to vectors in a workspace (`gather`), the program computes on
vectors, and its results are converted back to rows (`scatter`). Lanes beyond the last row
repeat it: the same result, stored twice.

Signatures (addresses and counts are 64-bit integers, arrays are C-contiguous doubles):

- `batch(count, workspace, argument 0, ..., out 0, ...)`: `count` rows in every argument that is
  not shared, and in every result. Returns 1 if the arguments are tested and contain a number that
  is not finite, else 0.
- `rollout(count, steps, every, workspace, runtime, state, constants, inputs, of row, of step,
  out)`: `count` rows of `state` and `constants`. In each step a program computes the next state
  from state, constants and inputs; the inputs of a row and step are at the offset
  `row * of row + step * of step` in `inputs`. After every `every` steps the leading values of the
  state are written to `out`. At the end `state` is the last state.
- `rollout(..., out, code, block, argument, result, and addresses of the addresses of memory,
  program and next memory, memories, others, programs)`: the same, and in each step a function of
  one row is called. `first` computes its argument, and what is kept, from state, constants and
  inputs; `code(block)` calls it row by row, see `bound`: the machine code that other callers of it
  use, with its branches. It has a memory per row, which it replaces at each call; two arrays of
  memories alternate, and the last are in `memories` after an even number of steps, else in
  `others`. The step has, in place of inputs, what was kept, the result, and observed values of
  the next memory.

A rollout has two more parameters per table at the end: its address and number of rows.

The workspace, aligned to a vector, holds a vector for every element of arguments and result; in
a rollout, of state, constants, inputs and next state. Two buffers alternate as state and next
state, so that a long state need not be loaded completely before the next one is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, NamedTuple, TypeVar

import numpy as np

from robodyn_ros.dynamics.jit.finite import finite_ir
from robodyn_ros.dynamics.jit.llvm import module_ir, vector_function
from robodyn_ros.dynamics.jit.machine import Ir
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sines import WIDTH

T = TypeVar('T')
LANES = range(WIDTH)
_BYTES = 8 * WIDTH
_ROLLOUT = ('count', 'steps', 'every', 'workspace', 'a0', 'astate', 'aconstants', 'ainputs',
            'ofrow', 'ofstep', 'aout')
_COUPLED = ('code', 'block', 'argument', 'result', 'memoryaddress', 'programaddress',
            'nextaddress', 'memories', 'others', 'programs')


class Coupled(NamedTuple):
    """
    A function with a memory that is called in each step of a rollout.

    Attributes
    ----------
    first : Program
        Argument of the function, and what is kept, of runtime, state, constants and inputs.
    memory, program : int
        Lengths of memory and program of the function.
    observed : sequence of int
        Indices of the values of the next memory that follow the result.

    """

    first: Program
    memory: int
    program: int
    observed: Sequence[int]


def batch_ir(program: Program, finite: bool = False) -> Ir:
    """
    Return the IR of `batch`.

    Parameters
    ----------
    program : Program
        Program for each row.
    finite : bool
        Whether the arguments are tested for numbers that are not finite.

    """
    parameters = program.parameters()
    rows = {name: size for name, size in parameters.items()
            if size is not None and name not in program.shared}
    names = ', '.join(f'i64 %{name}' for name in parameters)
    mark = '  store double {}, ptr %notfinite'
    lines = [f'define i64 @batch(i64 %count, i64 %workspace, {names}) {{', 'entry:',
             '  %notfinite = alloca double', mark.format(0.0), *buffers(rows),
             *head_of_rows()]
    results = [f'out{k}' for k in range(len(program.results))]
    for name, size in rows.items():
        if name not in results:
            lines += move('gather', f'%{name}', starts_of(lines, name, size), size, name)
    numbers = [(f'%b{name}', WIDTH * size) for name, size in rows.items()
               if finite and name not in results]
    lines += [*finite_ir('given', numbers, 'tested', 'mark'), 'mark:', mark.format(1.0),
              '  br label %tested',
              'tested:']
    given = ', '.join(f'i64 %b{name}' if name in rows else f'i64 %{name}' for name in parameters)
    lines.append(f'  call void @body({given})')
    for name in results:
        lines += move('scatter', f'%{name}', starts_of(lines, name, rows[name]), rows[name], name)
    lines += ['  br label %tail', *end_of_rows(),
              '  %marked = load double, ptr %notfinite',
              '  %answer = fptosi double %marked to i64', '  ret i64 %answer', '}']
    return module_ir([program], [*lines, *vector_function('body', program)])


def rollout_ir(step: Program, recorded: int, coupled: Coupled | None = None) -> Ir:
    """
    Return the IR of `rollout`.

    Parameters
    ----------
    step : Program
        Next state of runtime, state, constants, and inputs or, with a function, its answer.
    recorded : int
        Number of leading state values that are written to `out`.
    coupled : Coupled, optional
        Function that is called in each step.

    """
    _, size, constants, given = _lengths(step)
    sizes = {'state': size, 'next': size, 'constants': constants}
    begin: list[str] = []
    calls: list[str] = []
    programs = [step]
    if coupled is None:
        inputs, sizes['inputs'], answer = given, given, 'inputs'
    else:
        inputs, (argument, kept) = _lengths(coupled.first)[3], coupled.first.results
        sizes |= {'inputs': inputs, 'argument': argument, 'kept': kept, 'result': given - kept}
        begin, calls = _calls(coupled, argument, given - kept)
        programs, answer = [step, coupled.first], 'kept'  # the result is next to it
    names = ', '.join(f'i64 %{name}' for name in (
        *_ROLLOUT, *(_COUPLED if coupled else ())))
    tables = table_list(step)
    lines = [f'define void @rollout({names}{tables}) {{', 'entry:', *buffers(sizes),
             '  %records = sdiv i64 %steps, %every',
             f'  %length = mul i64 %records, {recorded}', *head_of_rows()]
    state, fixed = starts_of(lines, 'state', size), starts_of(lines, 'constants', constants)
    lines += move('gather', '%astate', state, size, 'state')
    lines += move('gather', '%aconstants', fixed, constants, 'constants')
    for lane in LANES:
        lines += [f'  %input{lane} = mul i64 %row{lane}, %ofrow',
                  f'  %record{lane} = mul i64 %row{lane}, %length']
    lines += [*begin, '  br label %step', 'step:',
              *_variable('k', '0', '%k1'), *_variable('written', '0', '%written1'),
              *_variable('left', '%every', '%left1'),
              *_variable('bnow', '%bstate', '%bafter'),
              *_variable('bafter', '%bnext', '%bnow')]
    if coupled:
        lines += [*_variable('now', '%memories', '%after'),
                  *_variable('after', '%others', '%now')]
    lines.append('  %ahead = mul i64 %k, %ofstep')
    lines += [f'  %now{lane} = add i64 %input{lane}, %ahead' for lane in LANES]
    lines += move('gather', '%ainputs', [f'%now{lane}' for lane in LANES], inputs, 'inputs')
    lines += [*calls, f'  call void @step(i64 %a0, i64 %bnow, i64 %bconstants, i64 %b{answer}'
              f'{tables}, i64 %bafter)',
              '  %k1 = add i64 %k, 1', '  %left0 = sub i64 %left, 1',
              '  %due = icmp eq i64 %left0, 0', '  br i1 %due, label %write, label %stepped',
              'write:', *(f'  %to{lane} = add i64 %record{lane}, %written' for lane in LANES)]
    lines += move('scatter', '%aout', [f'%to{lane}' for lane in LANES], recorded, 'after')
    lines += ['  br label %stepped', 'stepped:',
              f'  %size = select i1 %due, i64 {recorded}, i64 0',
              '  %written1 = add i64 %written, %size',
              '  %left1 = select i1 %due, i64 %every, i64 %left0',
              '  %again = icmp slt i64 %k1, %steps',
              '  br i1 %again, label %step, label %ended', 'ended:']
    lines += move('scatter', '%astate', state, size, 'after')
    lines += ['  br label %tail', *end_of_rows(), '  ret void', '}',
              *vector_function('step', step)]
    return module_ir(programs, [
        *lines, *(vector_function('first', coupled.first) if coupled else ())])


def _lengths(program: Program) -> Any:
    return program.arguments[:4]


def _variable(name: str, first: str, later: str) -> list[str]:
    """Return a variable of the loop over steps."""
    return [f'  %{name} = phi i64 [ {first}, %head ], [ {later}, %stepped ]']


def _calls(coupled: Coupled, argument: int, result: int) -> tuple[list[str], list[str]]:
    """Return what precedes the loop over steps, and the calls of a step."""
    begin, calls = [], ['  call void @first(i64 %a0, i64 %bnow, i64 %bconstants, i64 %binputs'
                        f'{table_list(coupled.first)}, i64 %bargument, i64 %bkept)']
    own = result - len(coupled.observed)
    for lane in LANES:
        begin += [f'  %ofmemory{lane} = mul i64 %row{lane}, {8 * coupled.memory}',
                  f'  %ofprogram{lane} = mul i64 %row{lane}, {8 * coupled.program}',
                  f'  %program{lane} = add i64 %programs, %ofprogram{lane}']
        calls += [f'  call void @take_lane(i64 %bargument, i64 {lane}, i64 %argument, '
                  f'i64 {argument})',
                  f'  %memory{lane} = add i64 %now, %ofmemory{lane}',
                  f'  %next{lane} = add i64 %after, %ofmemory{lane}']
        for name in ('memory', 'program', 'next'):
            calls += [f'  %{name}p{lane} = inttoptr i64 %{name}address to ptr',
                      f'  store i64 %{name}{lane}, ptr %{name}p{lane}']
        calls += [f'  %code{lane} = inttoptr i64 %code to ptr',
                  f'  call void %code{lane}(i64 %block)',
                  f'  call void @put_lane(i64 %bresult, i64 {lane}, i64 %result, i64 {own})']
        for k, place in enumerate(coupled.observed):
            name, to = f'{lane}.{k}', 8 * (WIDTH * (own + k) + lane)
            calls += [f'  %from{name} = add i64 %next{lane}, {8 * place}',
                      f'  %fromp{name} = inttoptr i64 %from{name} to ptr',
                      f'  %observed{name} = load double, ptr %fromp{name}',
                      f'  %into{name} = add i64 %bresult, {to}',
                      f'  %intop{name} = inttoptr i64 %into{name} to ptr',
                      f'  store double %observed{name}, ptr %intop{name}']
    return begin, calls


def table_list(program: Program) -> str:
    """Return the parameters of tables, to be appended to others."""
    return ''.join(f', i64 %{name}' for name, size in program.parameters().items()
                   if size is None)


def buffers(sizes: dict[str, int]) -> list[str]:
    """Return the addresses of the buffers in the workspace: a vector per number."""
    lines, offset = [], 0
    for name, size in sizes.items():
        lines.append(f'  %b{name} = add i64 %workspace, {offset}')
        offset += _BYTES * size
    return lines


def workspace_size(*sizes: int) -> int:
    """Return the number of doubles in a workspace, with space for its alignment."""
    return WIDTH * (sum(sizes) + 1)


def aligned(workspace: np.ndarray) -> int:
    """Return the first address in a workspace that is aligned to a vector."""
    return -(-workspace.ctypes.data // _BYTES) * _BYTES


def in_threads(run: Callable[[slice], T], count: int, threads: int) -> list[T]:
    """Return the results of `run` for slices of `count` rows, in threads; lanes stay together."""
    size = -(-count // (threads * WIDTH)) * WIDTH
    slices = [slice(begin, begin + size) for begin in range(0, count, size)]
    if len(slices) == 1:
        return [run(slices[0])]
    with ThreadPoolExecutor(len(slices)) as pool:
        return list(pool.map(run, slices))


def head_of_rows() -> list[str]:
    """Return the head of the loop over rows: the four rows of the lanes."""
    lines = ['  %final = sub i64 %count, 1', '  br label %head', 'head:',
             '  %row = phi i64 [ 0, %entry ], [ %nextrow, %tail ]']
    for lane in LANES:
        lines += [f'  %u{lane} = add i64 %row, {lane}',
                  f'  %c{lane} = icmp slt i64 %u{lane}, %final',
                  f'  %row{lane} = select i1 %c{lane}, i64 %u{lane}, i64 %final']
    return lines


def end_of_rows() -> list[str]:
    return ['tail:', f'  %nextrow = add i64 %row, {WIDTH}',
            '  %more = icmp slt i64 %nextrow, %count',
            '  br i1 %more, label %head, label %done', 'done:']


def starts_of(lines: list[str], name: str, size: int) -> list[str]:
    """Add the computation of the first elements of the rows; return their names."""
    lines += [f'  %s{name}{lane} = mul i64 %row{lane}, {size}' for lane in LANES]
    return [f'%s{name}{lane}' for lane in LANES]


def move(function: str, array: str, starts: list[str], size: int, buffer: str) -> list[str]:
    if not size:
        return []
    where = ', '.join(f'i64 {start}' for start in starts)
    return [f'  call void @{function}(i64 {array}, {where}, i64 %b{buffer}, i64 {size})']
