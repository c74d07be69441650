"""
LLVM IR of a traced program.

Every node of a program becomes one or more instructions on the type `double`. The same nodes on
the type `<4 x double>` compute four states at once, for the loops of `loops` (`codegen_body`).
Branches and loops are in `codegen_flow`, calls and tables in `codegen_tables`. Lists of numbers of
a single state are vectors (`codegen_packs`).

Signatures (addresses are 64-bit integers, arrays are C-contiguous doubles):

- `kernel(argument 0, ..., out 0, ...)`: one state. A table takes two parameters: its address, and
  its number of rows;
- a vector function has the same parameters, but each element of arguments and results is a vector
  of four states; argument 0, the runtime parameters, and tables are common to all.

If results may overlap arguments, all loads come before all stores.
Multiplications and additions may be fused (`contract`); other floating-point transformations are
not permitted. A long program is cut into blocks, within which the compiler keeps values in
registers; it is compiled with little optimisation, see `machine.compile_ir`.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

from robodyn_ros.dynamics.jit import codegen_tables
from robodyn_ros.dynamics.jit.codegen_body import Body, vector_pointer_type
from robodyn_ros.dynamics.jit.codegen_packs import PackedBody
from robodyn_ros.dynamics.jit.instructions import SCALAR, vector_kind
from robodyn_ros.dynamics.jit.machine import Ir
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sines import sincos_ir, WIDTH


def kernel_ir(program: Program, pointer: str) -> Ir:
    """
    Return the IR of `kernel`: one state.

    Parameters
    ----------
    program : Program
        Program to compute.
    pointer : str
        Type of a pointer to double: `double*`, or `ptr` from LLVM 16 on.

    """
    return module_ir([program], function_ir('kernel', program, pointer), pointer)


def module_ir(programs: Sequence[Program], lines: list[str], pointer: str) -> Ir:
    """Return a module of these functions, with the functions that they call."""
    text = '\n'.join(lines)
    if '@sincos(' in text:
        lines = [*lines, *sincos_ir()]
    text = '\n'.join([*lines, *codegen_tables.support_ir(text, pointer)])
    return Ir('\n'.join([text, *_declarations(text)]), any(program.long for program in programs))


def function_ir(name: str, program: Program, pointer: str) -> list[str]:
    """Return the IR lines of a function for one state (`pointer` as above)."""
    body = PackedBody(program, pointer) if program.packed else Body(program, SCALAR, pointer)
    return _function(name, body, pointer)


def vector_function(name: str, program: Program, pointer: str) -> list[str]:
    """Return the IR lines of a function for four states (`pointer` as above)."""
    return _function(name, Body(program, vector_kind(WIDTH), pointer),
                     vector_pointer_type(pointer))


def _function(name: str, body: Body, pointer: str) -> list[str]:
    given, pointers = [], []
    for each, size in body.program.parameters().items():
        # shared arguments are plain doubles
        kind = body.pointer if each in body.program.shared else pointer
        if size is None or body.program.in_place or name != 'kernel':
            given.append(f'i64 %{each}')
            pointers += [] if size is None else [f'  %p{each} = inttoptr i64 %{each} to {kind}']
        else:
            # no overlap: loads need not wait for stores, and LLVM is twice as fast
            given.append(f'{kind} noalias %p{each}')
            pointers.append(f'  %{each} = ptrtoint {kind} %p{each} to i64')
    body.compute()
    return [f'define {"" if name == "kernel" else "internal "}void @{name}({", ".join(given)}) {{',
            'start:', *pointers, *body.reserved, *body.lines, '  ret void', '}']


def _declarations(text: str) -> list[str]:
    """Return the declarations of the functions of the C library and of LLVM that a text calls."""
    lines = []
    for name, width in dict.fromkeys(
            re.findall(r'@(sin|cos|llvm\.[a-z]+\.(?:v(\d+))?f64)\(', text)):
        kind = vector_kind(int(width)).value if width else SCALAR.value
        lines.append(f'declare {kind} @{name}({kind})')
    return lines
