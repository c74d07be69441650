"""
One algorithm in all its forms: machine code or Python, one state or a batch, any finite number.

The forms differ by the order of a few sums, some 1e-15 of the size of the result. A processor
without AVX and FMA is simulated by giving LLVM the oldest x86-64: the same checks must hold. For
64-bit ARM, where nothing runs it here, the code is made and looked at.
"""

import gc
import os
from pathlib import Path
import re
import subprocess
import sys
from threading import Thread

from dynamics_calls import ALL, arrays, CALLS, JOINTS, LINK, MODEL, parts, SOLVED
import llvmlite.binding as llvm
import numpy as np
import pytest
from random_programs import RandomListProgram
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.dynamics.jit import bound, fastcall
from robodyn_ros.dynamics.jit.flow import (
    call, choose, FunctionTable, iterate, lookup, search_sorted, Table)
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.llvm import kernel_ir
from robodyn_ros.dynamics.jit.loops import batch_ir, rollout_ir
from robodyn_ros.dynamics.jit.program import trace
from robodyn_ros.dynamics.jit.trace import floor, maximum, minimum, nearest, select
from robodyn_ros.dynamics.rollout import Coupling, StatefulFunction
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from tolerance import assert_close

EXACT = 1e-12
WHOLE = [name for name, *_ in CALLS]  # not in parts


@pytest.fixture(scope='module', params=['compiled', 'python'])
def dyn(request):
    return Dynamics(MODEL, backend=request.param)


@pytest.fixture
def q():
    return arrays(1)[0]


@pytest.mark.parametrize('mimic, joints', [(0.0, 1), (0.0, 5), (0.4, 6), (0.0, 17)])
def test_backends_agree(mimic, joints):
    text = random_tree(54, joints, Mixture(prismatic=0.3, mimic=mimic, branching=0.7))
    model = RobotModel.from_urdf(text).with_payload('link1', 0.7, (0.1, 0.0, 0.2))
    link = list(model.links)[-1]
    python, compiled = Dynamics(model, backend='python'), Dynamics(model, backend='compiled')
    rng = np.random.default_rng(55)
    for name, count, rest in ALL:
        for _ in range(10):
            given = [*rng.uniform(-2, 2, (count, model.nv)), *(link for _ in rest)]
            expected = getattr(python, name)(*given)
            # a solve amplifies the round-off of two orders of summation
            allowed = 1e-9 if name in SOLVED else EXACT
            for one, other in zip(parts(name, getattr(compiled, name)(*given)),
                                  parts(name, expected)):
                # some of the parts may be next to nothing
                assert_close(one, other, allowed, 0.0 if name in WHOLE else 1.0, what=name)


@pytest.mark.parametrize('name, count, rest', ALL)
@pytest.mark.parametrize('rows', [1, 3, 4, 8, 13])
def test_batch_equals_single_calls(dyn, name, count, rest, rows):
    call, batch = getattr(dyn, name), arrays(count, rows)
    singles = [parts(name, call(*(each[row] for each in batch), *rest)) for row in range(rows)]
    for result, expected in zip(parts(name, call(*batch, *rest)), zip(*singles)):
        assert_close(result, np.array(expected), EXACT if name not in SOLVED else 1e-10)


@pytest.mark.parametrize('name, count, rest', ALL)
def test_batch_of_no_states(dyn, name, count, rest):
    call = getattr(dyn, name)
    for none, one in zip(parts(name, call(*arrays(count, 0), *rest)),
                         parts(name, call(*arrays(count), *rest))):
        assert none.shape == (0, *np.shape(one))


def test_single_state_stands_for_every_row(dyn):
    q, qd, qdd = arrays(3, 6)
    expected = dyn.inverse_dynamics(q, np.tile(qd[0], (6, 1)), qdd)
    assert_close(dyn.inverse_dynamics(q, qd[0], qdd), expected, EXACT)


def test_batch_with_wrenches(dyn):
    q, qd, qdd = arrays(3, 4)
    wrench = np.arange(1.0, 7.0)
    result = dyn.inverse_dynamics(q, qd, qdd, {LINK: wrench})
    for row in range(4):
        single = dyn.inverse_dynamics(q[row], qd[row], qdd[row], {LINK: wrench})
        assert_close(result[row], single, EXACT)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0])
@pytest.mark.parametrize('name, count, rest', CALLS)
def test_any_double_is_computed_with(dyn, value, name, count, rest):
    with np.errstate(all='ignore'):
        given = [np.full(JOINTS, value) for _ in range(count)]
        single = getattr(dyn, name)(*given, *rest)
        batch = getattr(dyn, name)(*(np.tile(each, (5, 1)) for each in given), *rest)
    assert np.shape(batch) == (5, *np.shape(single))


@pytest.mark.parametrize('a, b', [
    (1.0, 2.0), (2.0, 1.0), (np.nan, 1.0), (1.0, np.nan), (-np.inf, np.nan), (0.0, -0.0)])
def test_choices_are_the_same_in_all_forms(a, b):
    def choices(tree, runtime, x):
        return [minimum(x[0], x[1]), maximum(x[0], x[1]), select(x[0], x[1], 3.0)]

    found = [Dynamics(MODEL, backend=backend).kernel(choices, {'x': 2}, (3,))([a, b])
             for backend in ('compiled', 'python')]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize('size', [1e-300, 1e-8, 1.0, 1e3, 1e5, 1e9, 1e15, 1e22, 1e100, 1e300])
def test_sines_of_any_angle_are_accurate(size):
    text = ('<robot name="one"><link name="root"/><link name="body"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            '<joint name="j" type="continuous"><parent link="root"/><child link="body"/>'
            '<axis xyz="0 0 1"/></joint></robot>')
    one = Dynamics(RobotModel.from_urdf(text))
    angles = size * np.random.default_rng(57).uniform(-1, 1, 400)
    batch = one.forward_kinematics(angles[:, None], 'body')
    single = np.array([one.forward_kinematics([angle], 'body') for angle in angles])
    for poses in (batch, single):
        np.testing.assert_allclose(poses[:, 1, 0], np.sin(angles), rtol=1e-15, atol=1e-16)
        np.testing.assert_allclose(poses[:, 0, 0], np.cos(angles), rtol=1e-15, atol=1e-16)


def test_no_reference_is_lost_or_kept(dyn, q):
    out = np.zeros(JOINTS)
    dyn.gravity(q, out=out)
    gc.collect()  # what earlier tests have left, which refers to None and to types
    counted = q, out, np.ndarray, np.dtype(np.float64), None
    before = np.array([sys.getrefcount(each) for each in counted])
    for _ in range(1000):
        dyn.gravity(q)
        dyn.gravity(q, out=out)
        with pytest.raises(ArgumentError):
            dyn.gravity(q, out=q[:-1])
        with pytest.raises(ArgumentError):
            dyn.gravity(q[:-1])
    change = np.array([sys.getrefcount(each) for each in counted]) - before
    # a few come and go with the caches of the interpreter; np.empty itself keeps its dtype
    assert np.all(change > -100), change
    assert np.all(change[:2] < 100), change


def test_instances_come_and_go(tmp_path, q):
    expected = Dynamics(MODEL, cache=False).gravity(q)
    for cache in (False, tmp_path):
        kept = []
        for turn in range(15):
            dyn = Dynamics(MODEL, cache=cache)
            np.testing.assert_array_equal(dyn.gravity(q), expected)
            if turn % 5 == 0:
                kept.append(dyn.gravity)
            del dyn
            gc.collect()
        for gravity in kept:
            np.testing.assert_array_equal(gravity(q), expected)


def test_calls_from_many_threads(q):
    dyn = Dynamics(MODEL)
    expected, results = Dynamics(MODEL, backend='python').gravity(q), []

    def work():
        for _ in range(200):
            results.append(dyn.gravity(q))

    threads = [Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 1200
    for result in results:
        assert_close(result, expected, EXACT)


def test_robot_without_mass_is_no_crash():
    text = ('<robot name="idle"><link name="root"/><link name="body"/><joint name="j" '
            'type="continuous"><parent link="root"/><child link="body"/></joint></robot>')
    for backend in ('compiled', 'python'):
        idle = Dynamics(RobotModel.from_urdf(text), backend=backend)
        assert idle.mass_matrix([0.3]) == idle.gravity([0.3]) == 0.0
        for result in (lambda: idle.forward_dynamics([0.3], [0.0], [1.0]),
                       lambda: idle.center_of_mass([0.3])):
            with pytest.raises(ArgumentError, match='<inertial>'):
                result()


# --- machine code for other processors -----------------------------------------------------------


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


# --- loops over steps in which a function with a memory is called --------------------------------

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn6.urdf'
DYNAMICS = Dynamics(RobotModel.from_urdf(ARM))


def controller(given, memory, program):
    """Return the command of a PI controller, and its memory with the number of calls."""
    error, = given
    total = memory[0] + error
    return [program[0] * error + program[1] * total], [total, memory[1] + 1.0]


def first(tree, runtime, state, constants, inputs, shifts):
    position, calls = state
    shift, = lookup(shifts, calls, [0])
    return [inputs[0] + shift - position], [2.0 * inputs[0]]


def then(tree, runtime, state, constants, given, shifts):
    kept, command, calls = given
    return [state[0] + constants[0] * command + kept, calls]


def rollout():
    arrays = [np.zeros(size) for size in (1, 2, 2, 1, 2)]
    function = Function(controller, {'given': 1, 'memory': 2, 'program': 2},
                        {'answer': 1, 'next': 2})
    given, _, _, answer, _ = arrays
    stateful = StatefulFunction(function.bound(*arrays), given, answer, 2, 2, (1, 2, 4), (1,))
    return DYNAMICS.rollout(then, (2, 1, 1), 1, tables={'shifts': Table(1)},
                            coupling=Coupling(first, 1, stateful))


def in_python(states, memories, programs, constants, inputs, shifts):
    records = []
    for k in range(inputs.shape[-2]):
        for row, state in enumerate(states):
            now = inputs[k] if inputs.ndim == 2 else inputs[row, k]
            shift = shifts[min(int(state[1]), len(shifts) - 1)]
            answer, memories[row] = controller([now[0] + shift[0] - state[0]], memories[row],
                                               programs[row])
            position = state[0] + constants[row, 0] * answer[0] + 2.0 * now[0]
            states[row] = position, memories[row, 1]
        records.append(states[:, :1].copy())
    return states, np.array(records).transpose(1, 0, 2), memories


@pytest.mark.parametrize('rows', [1, 2, 4, 7])
@pytest.mark.parametrize('steps', [1, 2, 5])
def test_each_state_has_a_memory_and_a_program(rows, steps):
    random, run = np.random.default_rng(rows), rollout()
    states = np.column_stack([random.uniform(size=rows), np.zeros(rows)])
    memories = np.column_stack([random.uniform(size=rows), np.zeros(rows)])
    programs, constants = random.uniform(size=(rows, 2)), random.uniform(size=(rows, 1))
    shifts = random.uniform(size=(3, 1))
    for inputs in (random.uniform(size=(steps, 1)), random.uniform(size=(rows, steps, 1))):
        given = [states.copy(), memories.copy(), programs, constants, inputs]
        found = run(states, constants, inputs, tables=[shifts], memories=given[1],
                    programs=programs)
        np.testing.assert_array_equal(given[1], memories)  # not changed in place
        for one, other in zip(found, in_python(*[each.copy() for each in given], shifts)):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_mistakes_are_named():
    run, zeros, tables = rollout(), np.zeros((3, 2)), [np.zeros((1, 1))]
    inputs, own = np.zeros((4, 1)), {'memories': zeros, 'programs': zeros}
    with pytest.raises(ArgumentError, match=r'memories must .* of shape \(3, 2\)'):
        run(zeros, zeros[:, :1], inputs, tables=tables, **{**own, 'memories': zeros[:2]})
    with pytest.raises(ArgumentError, match='programs must'):
        run(zeros, zeros[:, :1], inputs, tables=tables, memories=zeros)
    with pytest.raises(ArgumentError, match='constants must'):
        run(zeros, zeros, inputs, tables=tables, **own)
    none = np.zeros((0, 2))
    state, records, _ = run(none, none[:, :1], inputs, tables=tables, memories=none, programs=none)
    assert len(state) == 0 and records.shape == (0, 4, 1)
