"""
Machine code for other processors than this one.

A processor without AVX and FMA is simulated by giving LLVM the oldest x86-64: the same checks
must hold. For 64-bit ARM, where nothing runs it here, the code is made and looked at.
"""

import os
import re
import subprocess
import sys

from dynamics_calls import MODEL
import llvmlite.binding as llvm
import pytest
from random_programs import RandomListProgram
from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.dynamics.jit import bound, fastcall
from robodyn_ros.dynamics.jit.llvm import kernel_ir
from robodyn_ros.dynamics.jit.flow import (
    call, choose, FunctionTable, iterate, lookup, search_sorted, Table)
from robodyn_ros.dynamics.jit.loops import batch_ir, rollout_ir
from robodyn_ros.dynamics.jit.program import trace
from robodyn_ros.dynamics.jit.trace import floor, nearest

BASELINE = """
import llvmlite.binding as llvm
import numpy as np
llvm.get_host_cpu_name = lambda: 'x86-64'
def unknown():
    raise RuntimeError('LLVM has no answer')
llvm.get_host_cpu_features = unknown
from dynamics_calls import arrays, CALLS, MODEL, PARTS
from random_programs import RandomListProgram
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.trace import floor, nearest
from robodyn_ros.simulation import Plant
from tolerance import assert_close
compiled, python = Dynamics(MODEL, cache=False), Dynamics(MODEL, backend='python')
for name, count, rest in CALLS + PARTS:
    for rows in ((), (1,), (3,), (4,), (9,)):
        given = arrays(count, *rows)
        expected = getattr(python, name)(*given, *rest)
        actual = getattr(compiled, name)(*given, *rest)
        for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (actual, expected))):
            # what is solved for has lost digits to the condition of M
            assert_close(a, b, 1e-9 if 'forward' in name or 'effective' in name else 1e-12,
                         what=name)
plants = Plant(MODEL, dynamics=compiled), Plant(MODEL, dynamics=python)
for plant in plants:
    for _ in range(20):
        assert plant.step(np.ones(MODEL.nv))
assert_close(plants[0].q, plants[1].q, 1e-9)
flow = Dynamics(MODEL, cache=False).kernel(
    lambda tree, runtime, x: choose(x[0], [lambda: [nearest(x[1])], lambda: [floor(x[1])]]),
    {'x': 2}, (1,))
rows = [[0.0, 2.5], [1.0, 2.5], [0.0, -0.7], [1.0, -0.7], [0.0, 1e300]]
for found in flow(rows), np.array([flow(row) for row in rows]):
    assert list(found[:, 0]) == [2.0, 2.0, -1.0, -1.0, 1e300]
for length in (2, 7, 8, 13):
    part = RandomListProgram(length, length)
    made = Function(part, part.arguments, part.results)
    x = np.linspace(-2.0, 3.0, int(part.arguments['x']))
    given = x, np.ones((2, 1 + 2 * length)), part.functions
    for a, b in zip(made(*given), made.interpret(*given)):
        np.testing.assert_allclose(a, b, 1e-12, 1e-12)
print('all right')
"""
# each array ends where the memory ends that may be read and written
EDGES = """
import ctypes, mmap
import numpy as np
from random_programs import RandomListProgram
from robodyn_ros.dynamics.jit.function import Function
protect = ctypes.CDLL(None).mprotect
kept = []
def at_the_edge(values):
    values = np.ascontiguousarray(values, dtype=float)
    kept.append(mmap.mmap(-1, 3 * mmap.PAGESIZE))
    start = ctypes.addressof(ctypes.c_char.from_buffer(kept[-1]))
    edge = start + 2 * mmap.PAGESIZE
    assert protect(ctypes.c_void_p(edge), mmap.PAGESIZE, 0) == 0
    array = np.frombuffer(kept[-1], float, values.size, edge - start - values.nbytes)
    array = array.reshape(values.shape)
    array[...] = values
    return array
for length in (2, 3, 5, 7, 8, 9, 13):
    for seed in range(6):
        part = RandomListProgram(seed, length)
        made = Function(part, part.arguments, part.results)
        given = np.linspace(-2.0, 3.0, int(part.arguments['x'])), np.ones((1, 1 + 2 * length))
        outs = [at_the_edge(np.zeros(int(size))) for size in part.results.values()]
        made.bind(*map(at_the_edge, given), part.functions, *outs)()
        for out, expected in zip(outs, made(*given, part.functions)):
            np.testing.assert_array_equal(out, expected)
print('all right')
"""
NO_ARITHMETIC = 'entry', 'bound'
X86 = pytest.mark.skipif(
    not llvm.get_process_triple().startswith('x86_64'), reason='another processor already')


def texts():
    """Yield name and IR of one kernel, of its batch, and of the door from Python."""
    sizes = (3 + 10 * len(MODEL.payloads), *[MODEL.nv] * 3)
    tree = Dynamics(MODEL).tree
    program = trace(lambda *given: algorithms.forward_dynamics(tree, *given), sizes)
    yield 'kernel', kernel_ir(program).text
    yield 'batch', batch_ir(program, finite=True).text
    program = trace(forks, (8, Table(2), FunctionTable((1,), 1)), in_place=False, shared=())
    yield 'forks', kernel_ir(program).text
    program = trace(lambda runtime, state, *given: forks(*given, [lambda x: x]),
                    (3, 1, 8, 0, Table(2)), in_place=False)
    yield 'rollout of forks', rollout_ir(program, 1).text
    parts = [RandomListProgram(seed, 7) for seed in range(6)]
    program = trace(lambda x, *given: [
        [a * b + x[0] for a, b in zip(x[3:10], x[10:17])], [part(x, *given) for part in parts]],
        tuple(parts[0].arguments.values()), in_place=False, shared=())
    assert len(program.packs.of) > 300
    yield 'packs', kernel_ir(program).text
    yield 'bound', bound.bound_ir(3)
    yield 'entry', fastcall.entry_ir(sizes[1:], (MODEL.nv,), finite=True, reviewed=True)


def forks(x, *given):
    """Return numbers by all that is more than arithmetic; given: table, and functions."""
    *_, table, functions = given
    at = search_sorted(table, x[0])
    case = choose(x[1], [lambda: lookup(table, at, (1,)), lambda: [nearest(x[2])],
                         lambda: call(functions, x[3], [floor(x[4])], outputs=1)])
    return iterate(x[5], lambda s: [s[0] * x[6] + x[7]], case, 9)


def assembly(triple, processor, text):
    """Return what LLVM makes of IR for a processor, or skip where it was built without that."""
    try:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(triple)
    except (AttributeError, RuntimeError) as error:
        pytest.skip(f'this LLVM makes no code for {triple}: {error}')
    module = llvm.parse_assembly(text)
    module.verify()
    return target.create_target_machine(cpu=processor, opt=1).emit_assembly(module)


@X86
def test_checks_on_a_processor_without_avx_and_fma():
    run = subprocess.run(
        [sys.executable, '-X', 'faulthandler', '-c', BASELINE], capture_output=True, text=True,
        timeout=100, env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert (run.returncode, run.stdout) == (0, 'all right\n'), run.stderr


@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='pages are protected otherwise')
def test_vectors_end_where_arrays_end():
    run = subprocess.run(
        [sys.executable, '-X', 'faulthandler', '-c', EDGES], capture_output=True, text=True,
        timeout=100, env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert (run.returncode, run.stdout) == (0, 'all right\n'), run.stderr


@X86
def test_oldest_processor_gets_no_newer_instructions():
    for name, text in texts():
        code = assembly('x86_64-unknown-linux-gnu', 'x86-64', text)
        found = re.findall(r'\bv\w+pd\b|\bv\w+sd\b|%[yz]mm\d+|\bvf\w+', code)
        assert not found, f'{name}: {sorted(set(found))}'
        fitting = assembly('x86_64-unknown-linux-gnu', 'x86-64-v3', text)
        if name not in NO_ARITHMETIC:
            assert '%ymm' in fitting or 'vfm' in fitting, f'{name}: the check finds nothing'


@pytest.mark.parametrize('triple', ['aarch64-unknown-linux-gnu', 'arm64-apple-macosx13.0'])
def test_arm_code_is_made(triple):
    for name, text in texts():
        assert not re.findall(r'x86|sse|avx', text), f'{name} names a processor'
        code = assembly(triple, '', text)
        if name in NO_ARITHMETIC:
            continue
        # two doubles in a register, multiplication and addition in one instruction
        assert re.search(r'\bfm(add|sub|la)\b|\bfmla\.2d\b|\bfnmsub\b', code), name
        there = {'sin', 'cos', 'memcpy', *re.findall(r'\bdefine .*@(\w+)\(', text)}
        called = {call.lstrip('_') for call in re.findall(r'\bbl\s+(\S+)', code)}
        assert called <= there, f'{name} calls what is not there: {called - there}'
