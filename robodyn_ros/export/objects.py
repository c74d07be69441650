"""
Object files of exported functions, for any machine that LLVM knows.

The functions are those of the LLVM backend (`dynamics.jit`), under the names and with the
signatures of the header. What the cycle calls is inside of the object.
"""

from __future__ import annotations

from collections.abc import Iterable
import re
import subprocess
import sys

import llvmlite.binding as llvm

from robodyn_ros.dynamics.jit.codegen import function_ir, module_ir
from robodyn_ros.dynamics.jit.flow import FunctionTable
from robodyn_ros.dynamics.jit.machine import Ir, pointer_type
from robodyn_ros.exceptions import KernelError, ParameterError
from robodyn_ros.export.c_function import CFunction
from robodyn_ros.export.places import Functions, Rows

# processor and features by the first part of a triple; an empty ABI is the usual one
_MACHINES = {'x86_64': ('x86-64', '', ''), 'aarch64': ('generic', '', ''),
             'thumbv7em': ('cortex-m7', '', ''),
             'riscv64': ('generic-rv64', '+m,+a,+f,+d,+c', 'lp64d')}
_BODY = 'body'
# compiles nothing for a machine and a processor, in a process of its own
_PROBE = """import sys
from llvmlite import binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
machine = llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2])
machine.emit_object(llvm.parse_assembly('define void @f() { ret void }'))
"""
_HEADS = re.compile(r'^(define .*) \{$', re.MULTILINE)


def object_file(functions: Iterable[CFunction], public: Iterable[str], triple: str,
                cpu: str = '') -> bytes:
    """
    Return an object file with functions.

    Parameters
    ----------
    functions : iterable of CFunction
        All of them, those that others call included.
    public : iterable of str
        Names of those that can be called from outside.
    triple : str
        The machine, such as aarch64-linux-gnu or thumbv7em-none-eabihf.
    cpu : str
        Processor, as LLVM names it; '': one that all such machines have.

    Raises
    ------
    ParameterError
        LLVM does not know the machine, or the processor.

    """
    target = known_target(triple, cpu)
    usual, features, abi = _MACHINES.get(triple.partition('-')[0], ('', '', ''))
    # an object without an operating system is linked to fixed places
    fixed = '-none' in triple
    machine = target.create_target_machine(
        cpu=cpu or usual, features=features, opt=2, reloc='static' if fixed else 'pic',
        codemodel='medium' if triple.startswith('riscv') else 'default', abiname=abi)
    ir = module(functions, set(public))
    try:
        parsed = llvm.parse_assembly(ir.text)
        parsed.triple, parsed.data_layout = triple, str(machine.target_data)
        parsed.verify()
    except RuntimeError as error:
        raise KernelError(f'LLVM refused a generated module: {error}') from error
    return machine.emit_object(parsed)


def known_machines() -> list[str]:
    """Return the first parts of triples that this LLVM can be asked for, of those documented."""
    found = []
    for name in _MACHINES:
        try:
            _target(f'{name}-unknown-unknown')
            found.append(name)
        except RuntimeError:
            pass
    return found


def _target(triple: str):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(triple)


def known_target(triple: str, cpu: str = ''):
    """Return the target of LLVM for a machine; raise `ParameterError` if there is none."""
    try:
        target = _target(triple)
    except RuntimeError as error:
        raise ParameterError(
            f'--object {triple}: this LLVM has no such target; begin the triple with one of '
            f'{", ".join(known_machines())}', value=triple) from error
    # of a processor that it does not know, LLVM prints a line, and may end the process
    if cpu and subprocess.run([sys.executable, '-c', _PROBE, triple, cpu], text=True,
                              capture_output=True, check=False).stderr:
        raise ParameterError(f'--cpu {cpu}: LLVM knows no such processor of {triple}', value=cpu)
    return target


def module(functions: Iterable[CFunction], public: set[str]) -> Ir:
    """Return the IR of a module with functions; public: names of those that others may call."""
    pointer, lines, programs = pointer_type(), [], []
    for function in functions:
        programs.append(function.program)
        tables = any(isinstance(each, (Functions, Rows)) for each in function.inputs)
        name = f'{function.name}.{_BODY}' if tables else function.name
        first, *rest = function_ir('kernel', function.program, pointer)
        internal = '' if function.name in public and not tables else 'internal '
        lines += [first.replace('define void @kernel(', f'define {internal}void @{name}('), *rest]
        if tables:
            lines += _entry(function, pointer)
        elif function.name not in public:
            lines += _by_address(function, pointer)
    made = module_ir(programs, lines, pointer)
    # no exception passes them: a machine without an operating system may have no tables for that
    return made._replace(text=_HEADS.sub(r'\1 nounwind {', made.text))


def _by_address(function: CFunction, pointer: str) -> list[str]:
    """Return a function that calls another one with addresses that are 64-bit integers."""
    count = len(function.inputs) + len(function.outputs)
    given = ', '.join(f'i64 %a{k}' for k in range(count))
    passed = ', '.join(f'{pointer} %p{k}' for k in range(count))
    return [f'define internal void @{function.name}.at({given}) {{',
            *(f'  %p{k} = inttoptr i64 %a{k} to {pointer}' for k in range(count)),
            f'  call void @{function.name}({passed})', '  ret void', '}']


def _entry(function: CFunction, pointer: str) -> list[str]:
    """Return the function of the header that fills tables and calls the one that takes them."""
    lines, taken, passed = [], [], []
    opaque = pointer == 'ptr'
    integers = 'ptr' if opaque else 'i64*'
    for number, (place, kind) in enumerate(zip(function.inputs, function.program.arguments)):
        if isinstance(place, Functions):
            table = f'%t{number}'
            lines.append(f'  {table} = alloca i64, i64 {len(place.names)}')
            for row, name in enumerate(place.names):
                assert isinstance(kind, FunctionTable)
                signature = 'ptr' if opaque else (
                    f'void ({", ".join(["i64"] * (len(kind.inputs) + 1))})*')
                value = f'ptrtoint ({signature} @{name}.at to i64)' if name else '0'
                lines += [f'  {table}.{row} = getelementptr i64, {integers} {table}, i64 {row}',
                          f'  store i64 {value}, {integers} {table}.{row}']
            lines.append(f'  {table}.a = ptrtoint {integers} {table} to i64')
            passed += [f'i64 {table}.a', f'i64 {len(place.names)}']
        elif isinstance(place, Rows):
            taken += [f'{pointer} %a{number}', f'i32 %n{number}']
            lines += [f'  %i{number} = ptrtoint {pointer} %a{number} to i64',
                      f'  %r{number} = sext i32 %n{number} to i64']
            passed += [f'i64 %i{number}', f'i64 %r{number}']
        else:
            taken.append(f'{pointer} %a{number}')
            passed.append(f'{pointer} %a{number}')
    for number in range(len(function.outputs)):
        taken.append(f'{pointer} %o{number}')
        passed.append(f'{pointer} %o{number}')
    return [f'define void @{function.name}({", ".join(taken)}) {{', *lines,
            f'  call void @{function.name}.{_BODY}({", ".join(passed)})', '  ret void', '}']
