"""Exported C: the numbers of `Dynamics` and of the cycle on floats."""

import ctypes
from functools import lru_cache
import os
from pathlib import Path
import shutil
import subprocess
import sys

from exported import build, CROSS, driver, NATIVE, run, STRICT, write
import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros import Dynamics
from robodyn_ros.cli.main import main, USER_MISTAKE
from robodyn_ros.control.steps import laws
from robodyn_ros.dynamics.jit.flow import inverse
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.export import DEFAULT_FUNCTIONS, Export
from robodyn_ros.export.c_function import CFunction, Printer
from robodyn_ros.export.places import Array
from robodyn_ros.export.syntax import identifier
from robodyn_ros.export.templates import helpers
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import COMMAND
from test_control_cycle import assert_same, LARGEST, RandomWalk

URDF = Path(__file__).resolve().parents[1] / 'urdf'
SMALL = URDF / 'reference' / 'two_link_payload.urdf'
SEVEN = URDF / 'robodyn7.urdf'
# prismatic and mimic joints on a tree of several branches
MIXED = random_tree(3, 6, Mixture(prismatic=0.4, mimic=0.35, empty=0.0))
DYNAMICS = [each for each in DEFAULT_FUNCTIONS if each != 'cycle']
ALL_DYNAMICS = [*DYNAMICS, 'bias', 'center_of_mass', 'coriolis_matrix', 'jacobian',
                'jacobian_dot_qd', 'regressor', 'inverse_dynamics_derivatives',
                'forward_dynamics_derivatives', 'kinetic_energy', 'potential_energy',
                'velocity_forces']
OFF_ELSEWHERE = ('-std=c99', '-O1', '-ffp-contract=off')
PLAIN = (*STRICT, '-O0', '-ffp-contract=off')
CONTRACTED = (*STRICT, '-O1', '-ffp-contract=fast', '-march=native')
# without optimisation, which compiles in half of the time and removes no access that is checked
SANITIZED = ('-O0', '-ffp-contract=off', '-fsanitize=address,undefined',
             '-fno-sanitize-recover=all')
STATES = int(os.environ.get('ROBODYN_EXPORT_STATES', '2000'))
WALK = SMALL, 400  # robot and steps of `random_cycles` for most tests
needs_compiler = pytest.mark.skipif(bool(NATIVE.missing()), reason='there is no C compiler')


def random_states(n, count, seed=0):
    """Return (count, 3, n) positions, velocities, and accelerations or torques."""
    return np.random.default_rng(seed).normal(0.0, 1.0, (count, 3, n)) * [[1.5], [1.0], [5.0]]


def expected_dynamics(model, names, states):
    """Return the results of `Dynamics`, (count, k) for each function."""
    dynamics, (q, qd, x) = Dynamics(model), states.transpose(1, 0, 2)
    found = []
    for name in names:
        kernel = dynamics.kernel_of(name, model.tip if 'kinematics' in name or 'jacobian' in name
                                    else None)
        found.append(kernel(*(q, qd, x)[:len(kernel.names)]).reshape(len(q), -1))
    return found


def check_dynamics(results, model, names, states, bound=1e-12):
    expected = expected_dynamics(model, names, states)
    rows = results.reshape(len(states), -1)
    begin = 0
    for name, values in zip(names, expected):
        own = rows[:, begin:begin + values.shape[1]]
        begin += values.shape[1]
        size = np.abs(values).max(axis=1, keepdims=True)
        # M^-1 loses digits with its condition
        loss = condition(model, states) if name.startswith('forward_dynamics') else 1.0
        worst = (np.abs(own - values) / (size * loss + 1e-300)).max()
        assert worst < bound, f'{name}: {worst:.3g}'
    assert begin == rows.shape[1]


def condition(model, states):
    M = Dynamics(model).mass_matrix(states[:, 0])
    return np.maximum(np.linalg.cond(M) / 100.0, 1.0)[:, None]


def load(robot):
    return RobotModel.from_urdf(robot)


def dynamics_input(states):
    return [[len(states), 0], states]


@lru_cache(maxsize=None)
def random_cycles(robot, steps, seed=0):
    """Return an export of a random walk's controller, and its cycles: inputs and results."""
    walk = RandomWalk(robot, seed)
    bound, cycles = walk.host.bound, []
    for _ in range(steps):
        floats, compiled = walk.step()
        cycles.append((np.array(bound.segments), bound.state.copy(), bound.previous_memory.copy(),
                       bound.program.copy(), floats, compiled))
    export = Export(walk.model, ('cycle', *DYNAMICS), laws.NAMES, 'arm', walk.control)
    return export, cycles


def cycles_input(cycles):
    return [[0, len(cycles)], *(part for segments, state, memory, program, *_ in cycles
                                for part in ([len(segments)], segments, state, memory, program))]


def check_cycles(results, export, cycles):
    n = export.model.nv
    rows = results.reshape(len(cycles), -1)
    for row, (*_, floats, compiled) in zip(rows, cycles):
        for expected in (floats, compiled):
            assert_same(expected, (row[:n], row[n:]), LARGEST, export.cycle.compiled.dimensions)


def project(export, folder):
    """Write a project with a driver; return its C sources."""
    files = {**export.c_files(), 'driver.c': driver(export)}
    write(files, folder)
    return [each for each in files if each.endswith('.c') and each != 'main.c']


@pytest.fixture(scope='module')
def program_of(tmp_path_factory):
    """Return a function that builds the C of `WALK` for a machine, each program once."""
    @lru_cache(maxsize=None)
    def built(machine, flags):
        folder = tmp_path_factory.mktemp(machine.name)
        return build(folder, machine, flags, project(random_cycles(*WALK)[0], folder))
    return built


# --- C of this machine --------------------------------------------------------------------------

@needs_compiler
@pytest.mark.parametrize('robot, flags', [
    (SEVEN, PLAIN), (MIXED, PLAIN), (URDF / 'reference' / 'rp_craig.urdf', CONTRACTED),
    (MIXED, CONTRACTED)], ids=['robodyn7', 'mixed', 'rp contracted', 'mixed contracted'])
def test_dynamics_in_c_are_those_of_python(robot, flags, tmp_path):
    export = Export(load(robot), ALL_DYNAMICS)
    sources = project(export, tmp_path)
    states = random_states(export.model.nv, STATES)
    results = run(NATIVE, build(tmp_path, NATIVE, flags, sources), dynamics_input(states))
    check_dynamics(results, export.model, ALL_DYNAMICS, states)


@needs_compiler
def test_the_cycle_in_c_is_that_on_floats_and_in_machine_code(program_of):
    export, cycles = random_cycles(*WALK)
    results = run(NATIVE, program_of(NATIVE, CONTRACTED), cycles_input(cycles))
    check_cycles(results, export, cycles)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize('robot', [SEVEN, MIXED], ids=['robodyn7', 'mixed'])
def test_the_cycle_in_c_on_more_joints(robot, tmp_path):
    export, cycles = random_cycles(robot, 600)
    sources = project(export, tmp_path)
    program = build(tmp_path, NATIVE, (*CONTRACTED, '-O2'), sources)
    check_cycles(run(NATIVE, program, cycles_input(cycles)), export, cycles)


@needs_compiler
def test_without_contraction_numbers_are_the_same_and_sanitizers_find_nothing(program_of):
    export, cycles = random_cycles(*WALK)
    try:
        program = program_of(NATIVE, SANITIZED)
    except AssertionError as error:
        if 'cannot find' not in str(error):  # a compiler without libraries of sanitizers
            raise
        program = program_of(NATIVE, PLAIN)
    check_cycles(run(NATIVE, program, cycles_input(cycles)), export, cycles)
    states = random_states(export.model.nv, 200)
    states[::7, :, 0] = [np.nan, np.inf, 1e300]
    states[1::7] *= 1e7
    run(NATIVE, program, dynamics_input(states))


@needs_compiler
def test_the_example_holds_and_follows(tmp_path):
    export = Export(load(SMALL))
    sources = project(export, tmp_path)
    program = build(tmp_path, NATIVE, PLAIN, [
        'main.c', *(each for each in sources if each != 'driver.c')])
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    for what in ('hold', 'follow'):
        line = next(each for each in printed.splitlines() if each.startswith(what))
        assert 'mode 1, fault 0' in line and float(line.split()[-1]) < 1e-3, line
    assert f'{export.name}_cycle: ' in printed


@needs_compiler
def test_the_command_of_initial_drives_is_the_torque(tmp_path):
    export, _ = random_cycles(*WALK)
    sources, n = project(export, tmp_path), export.model.nv
    library = ctypes.CDLL(build(tmp_path, NATIVE, (*PLAIN, '-shared', '-fPIC'), [
        each for each in sources if each != 'driver.c'], 'arm.so'))
    torque, command = np.linspace(-3.0, 4.0, n), np.full((len(COMMAND), n), np.nan)
    library.arm_command(*(ctypes.c_void_p(each.ctypes.data) for each in (
        torque, export.cycle.initial['memory'])), ctypes.byref(ctypes.c_double.in_dll(
            library, 'arm_initial_drives')), ctypes.c_void_p(command.ctypes.data))
    np.testing.assert_array_equal(command[0], torque)
    assert not command[2:].any()


@needs_compiler
def test_the_cmake_file_builds_a_library_and_the_example(tmp_path):
    if shutil.which('cmake') is None:
        pytest.skip('there is no cmake')
    export = Export(load(SMALL), ('inverse_dynamics',))
    write(export.c_files(), tmp_path)
    for command in (['cmake', '-S', '.', '-B', 'build'], ['cmake', '--build', 'build']):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([tmp_path / 'build' / f'{export.name}_example']).returncode == 0


@needs_compiler
def test_the_header_is_one_of_cpp(tmp_path):
    compiler = shutil.which('c++')
    if compiler is None:
        pytest.skip('there is no C++ compiler')
    export, _ = random_cycles(*WALK)
    write(export.header_files(), tmp_path)
    (tmp_path / 'use.cpp').write_text(f'#include "{export.name}.h"\n')
    subprocess.run([compiler, '-Wall', '-Wextra', '-pedantic', '-Werror', '-c', 'use.cpp'],
                   cwd=tmp_path, check=True)


@needs_compiler
def test_an_inverse_in_c_is_that_of_machine_code(tmp_path):
    n = 13
    made = Function(lambda x: inverse([x[i * n:i * n + n] for i in range(n)]), {'x': n * n},
                    {'y': n * n})
    printer = Printer(CFunction('inverted', made.program(), (Array('x', n * n),),
                                (Array('y', n * n),)))
    lines = printer.definition()
    (tmp_path / 'inverted.c').write_text('\n'.join([
        '#include <stdint.h>', *printer.function.head(';'), *helpers(printer.helpers), *lines]))
    library = build(tmp_path, NATIVE, (*PLAIN, '-shared', '-fPIC'), ['inverted.c'], 'inverted.so')
    A, found = np.random.default_rng(0).normal(size=(n, n)), np.empty(n * n)
    M = A @ A.T + np.eye(n)
    ctypes.CDLL(library).inverted(*(ctypes.c_void_p(each.ctypes.data) for each in (M, found)))
    np.testing.assert_allclose(found, made(M.ravel()), rtol=0.0, atol=1e-13 * np.abs(found).max())


# --- other machines -----------------------------------------------------------------------------

def skip_without(machine):
    missing = machine.missing()
    if missing:
        pytest.skip(f'{missing} is not installed')


@needs_compiler
@pytest.mark.parametrize('machine', CROSS, ids=lambda each: each.name)
def test_other_machines_compute_the_same_bits(machine, program_of):
    skip_without(machine)
    export, cycles = random_cycles(*WALK)
    states = random_states(export.model.nv, 200)
    for given in (dynamics_input(states), cycles_input(cycles[:200])):
        own, other = (run(each, program_of(each, flags), given) for each, flags in (
            (NATIVE, PLAIN), (machine, OFF_ELSEWHERE)))
        np.testing.assert_array_equal(own, other)


# --- files --------------------------------------------------------------------------------------

_PRINT = """
import hashlib, sys
from robodyn_ros.export import Export
from robodyn_ros.model import RobotModel
export = Export(RobotModel.from_urdf(sys.argv[1]))
digest = hashlib.sha256(repr(sorted(export.c_files().items())).encode())
print(digest.hexdigest())
"""


def test_the_same_input_gives_the_same_bytes():
    found = {subprocess.run(
        [sys.executable, '-c', _PRINT, SMALL], capture_output=True, text=True, check=True,
        env={**os.environ, 'PYTHONHASHSEED': seed}).stdout for seed in ('1', '2')}
    assert len(found) == 1


def test_fields_of_the_header_are_those_of_the_blocks():
    export, _ = random_cycles(*WALK)
    text = export.c_files()['arm.h']
    size = export.cycle.compiled.sizes['memory']
    assert f'/* {int(size)} doubles; ' in text
    assert 'double switch_;' in text  # a keyword
    assert '/* 0: Kind of cycle: 0 state, 1 between states' in text


def test_c_takes_nothing_but_what_is_stated():
    export, _ = random_cycles(*WALK)
    files = export.c_files()
    text = '\n'.join(content for name, content in files.items() if name != 'main.c')
    assert 'malloc' not in text and 'goto' not in text
    assert max(map(len, files)) < 60
    included = {line.split()[1] for line in text.splitlines() if line.startswith('#include <')}
    assert included == {'<float.h>', '<math.h>', '<stdbool.h>', '<stdint.h>'}


@pytest.mark.parametrize('name, expected', [
    ('7-axis arm', 'robot_7_axis_arm'), ('switch', 'switch_'), ('', 'robot'), ('ur5e', 'ur5e')])
def test_names_are_identifiers(name, expected):
    assert identifier(name) == expected


@pytest.mark.parametrize('functions, laws_, message', [
    (('inverse_dynamic',), (), 'inverse_dynamics'), (('gravity:tool0',), (), 'leave'),
    (('jacobian:nowhere',), (), 'no link'), (('cycle',), ('computed',), 'computed_torque')])
def test_unknown_names_are_refused(functions, laws_, message):
    export = Export(load(SMALL), functions, laws_)
    with pytest.raises(ParameterError, match=message):
        export.c_files()


# --- command ------------------------------------------------------------------------------------

def test_the_command_writes_and_reports(tmp_path, capsys):
    folder = tmp_path / 'arm'
    assert main(['export', str(SMALL), str(folder), '--functions', 'gravity,jacobian',
                 '--prefix', 'My Arm']) == 0
    printed = capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {
        'my_arm.h', 'my_arm_internal.h', 'my_arm_data.c', 'my_arm_dynamics.c', 'main.c',
        'CMakeLists.txt'}
    assert 'my_arm_gravity' in printed


def test_nothing_is_written_before_a_mistake_is_found(tmp_path, capsys):
    mistake = ['--functions', 'gravit']
    assert main(['export', str(SMALL), str(tmp_path / 'new' / 'arm'), *mistake]) == USER_MISTAKE
    assert mistake[-1] in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_command_names_a_mistake(tmp_path, capsys):
    assert main(['export', str(SMALL), str(tmp_path), '--functions', 'gravit']) == USER_MISTAKE
    assert "'gravit'" in capsys.readouterr().err
