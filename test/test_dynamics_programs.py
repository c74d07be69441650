"""
Random programs of all nodes, hostile calls, and robots of any length.

Floats, compiled for one state, and for four at once, to the bit; numbers are what breaks things:
not a number, infinities, zeros of both signs, denormals, huge. Multiplications do not fuse here,
as Python's do not. The sign of a zero is not compared. Hostile calls are in a process of their
own: a crash is a return code, not the end of the tests. Of robots that are too long to be compiled
the judge is MuJoCo: Pinocchio's data for second derivatives grow with the cube of the joints.
"""

import os
from pathlib import Path
import random
import subprocess
import sys
import warnings

from lanes import in_lanes
import numpy as np
import pytest
from random_programs import (
    ARGUMENTS, COLUMNS, INPUTS, LISTS, RandomListProgram, RandomProgram, SINGLES, SPECIAL)
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import llvm, lower, program
from robodyn_ros.dynamics.jit.flow import FunctionTable, Table
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.trace import absolute, reciprocal, sincos
from robodyn_ros.model import RobotModel
from tolerance import assert_close

SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 60))]
PROGRAMS, ROWS = 8, 40  # of each seed


@pytest.fixture
def nothing_fuses(monkeypatch):
    for operation, texts in llvm.INSTRUCTIONS.items():
        monkeypatch.setitem(llvm.INSTRUCTIONS, operation, [
            text.replace(' contract', '') for text in texts])


FUNCTIONS = [Function(body, {'a': 1, 'b': 3}, {'c': 2}) for body in (
    lambda a, b: [a[0] + b[0], b[1] * b[2]],
    lambda a, b: [b[0] * reciprocal(absolute(a[0])), a[0]])]


@pytest.mark.parametrize('seed', SEEDS)
def test_all_forms_agree(seed, nothing_fuses, monkeypatch):
    if seed % 2:  # as programs that are compiled quickly instead of well
        monkeypatch.setattr(program, 'LONG', 20)
        monkeypatch.setattr(lower, 'BLOCK', 5)
    draw = random.Random(seed)
    parts = [RandomProgram(1000 * seed + k) for k in range(PROGRAMS)]
    made = Function(lambda *given: [part(*given) for part in parts], ARGUMENTS,
                    {'y': sum(part.size for part in parts)})
    rows = np.array([[draw.choice(SPECIAL) if draw.random() < 0.7 else draw.gauss(0.0, 3.0)
                      for _ in range(INPUTS)] for _ in range(ROWS)])
    table = np.cumsum(np.ones((draw.choice([0, 1, 2, 9]), COLUMNS)), axis=0)
    functions = draw.choice([[], [FUNCTIONS[0]], [*FUNCTIONS, None]])
    compiled = np.array([made(row, table, functions) for row in rows])
    for row, expected in zip(rows, compiled):
        found = made.interpret(row, table, functions)
        np.testing.assert_array_equal(found, expected, err_msg=f'{row}')
    # programs for several states call no functions: these are part of them, and fold with them
    bodies = [each and each.body for each in functions]
    others = [RandomProgram(1000 * seed + k) for k in range(PROGRAMS)]
    whole = Function(lambda *given: [part(*given, bodies) for part in others],
                     {name: ARGUMENTS[name] for name in ('x', 'table')}, made.outputs)
    np.testing.assert_array_equal(in_lanes(whole, rows, table),
                                  [whole(row, table) for row in rows])


def without_lists(kind):
    """Return the kind of an argument of which nothing is known but its length."""
    if isinstance(kind, Table):
        return Table(int(kind.columns))
    if isinstance(kind, FunctionTable):
        return FunctionTable(tuple(map(int, kind.inputs)), int(kind.outputs))
    return int(kind)


@pytest.mark.parametrize('length', [2, 3, 4, 7, 8, 9, 12])
@pytest.mark.parametrize('seed', SEEDS)
def test_lists_as_vectors_or_number_by_number(seed, length, nothing_fuses, monkeypatch):
    if seed % 4 == 1:
        monkeypatch.setattr(program, 'LONG', 20)
        monkeypatch.setattr(lower, 'BLOCK', 5)
    draw, packed = random.Random(f'{seed} {length}'), 0
    for k in range(PROGRAMS // 2):
        part = RandomListProgram(1000 * seed + k, length)
        made = Function(part, part.arguments, part.results)
        plain = Function(part, *({name: without_lists(kind) for name, kind in each.items()}
                                 for each in (part.arguments, part.results)))
        packed += len(made.program().packs.of)
        assert not plain.program().packs.of
        table = np.cumsum(np.ones((draw.choice([0, 1, 2, 9]), 1 + 2 * length)), axis=0)
        functions = draw.choice([[], part.functions, [None, *part.functions]])
        for _ in range(ROWS // 2):
            row = [draw.choice(SPECIAL) if draw.random() < 0.5 else draw.gauss(0.0, 3.0)
                   for _ in range(SINGLES + LISTS * length)]
            for found, expected in zip(made(row, table, functions), plain(row, table, functions)):
                np.testing.assert_array_equal(found, expected, err_msg=f'{row}')
    assert packed > 2 * length


# --- sine and cosine -----------------------------------------------------------------------------

ANGLES, TURNS = 64, 100
DRAWN = {
    'within an eighth of a turn': (lambda rng, n: rng.uniform(-np.pi / 4, np.pi / 4, n), 1.5),
    'some turns': (lambda rng, n: rng.uniform(-20.0, 20.0, n), 2.0),
    'next to quarters of a turn': (lambda rng, n: rng.integers(-600_000, 600_000, n) * (
        np.pi / 2) + rng.choice([0.0, 1e-9, -1e-5, 1e-3], n), 2.0),
    'many turns': (lambda rng, n: rng.uniform(-1e6, 1e6, n), 3.0),
    'more turns': (lambda rng, n: rng.uniform(1e6, 2e6, n), 1.0),
    'up to the largest': (lambda rng, n: 10.0 ** rng.uniform(6.0, 300.0, n), 1.0),
    'tiny': (lambda rng, n: 10.0 ** rng.uniform(-300.0, -3.0, n), 1.0)}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason='there is nothing more exact')
@pytest.mark.parametrize('name', DRAWN)
def test_sines_and_cosines_are_exact_to_some_last_bits(name):
    """Against the C library with longer numbers; the bounds are in units in the last place."""
    draw, bound = DRAWN[name]
    made = Function(lambda x: [each for angle in x for each in sincos(angle)], {'x': ANGLES},
                    {'y': 2 * ANGLES})
    for x in draw(np.random.default_rng(0), ANGLES * TURNS).reshape(TURNS, ANGLES):
        exact = x.astype(np.longdouble)
        for actual, expected in zip(made(x).reshape(-1, 2).T, (np.sin(exact), np.cos(exact))):
            size = np.spacing(np.abs(expected.astype(float)))
            assert (np.abs(actual - expected) / size).max() < bound


# --- hostile calls: `fuzz_dynamics` --------------------------------------------------------------

SCRIPT = Path(__file__).with_name('fuzz_dynamics.py')
CASES = [('calls', 100), ('kernel', 80), ('plant', 60), ('threads', 80), ('first', 5)]
MANY = [pytest.param(what, 15 * number, marks=pytest.mark.slow) for what, number in CASES]


@pytest.mark.parametrize('what, examples', CASES + MANY)
def test_nothing_crashes_and_all_results_are_right(what, examples):
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    # freed memory is overwritten at once, so that its use shows
    environment.update(PYTHONMALLOC='malloc', MALLOC_PERTURB_='255')
    run = subprocess.run(
        [sys.executable, '-X', 'faulthandler', str(SCRIPT), what, str(examples)],
        env=environment, capture_output=True, text=True, timeout=900)
    assert (run.returncode, run.stdout) == (0, 'all right\n'), (
        f'return code {run.returncode}\n{run.stdout[-2000:]}\n{run.stderr[-6000:]}')


# --- robots of any length ------------------------------------------------------------------------

CHAIN = Mixture(branching=0.0, prismatic=0.2, fixed=0.0, empty=0.0)
GRAVITY = (0.8, -2.0, -9.0)
# a thousand roundings in a row, each 1e-16 of what has piled up
EXACT = 1e-12


def chain(joints):
    return random_tree(91, joints, CHAIN)


def state(joints):
    return np.random.default_rng(92).uniform(-1.0, 1.0, (3, joints))


@pytest.fixture(scope='module')
def thousand():
    with pytest.warns(RuntimeWarning, match='1000 moving bodies, more than 150: all algorithms '
                                            'run in Python'):
        return Dynamics(RobotModel.from_urdf(chain(1000), gravity=GRAVITY))


def test_a_thousand_joints_are_not_compiled(thousand):
    assert not thousand.compiled


def test_what_is_too_large_to_be_compiled_is_named():
    model = RobotModel.from_urdf(chain(81))
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # requested by name, or within what is compiled
        for dyn in (Dynamics(model, backend='python'), Dynamics(model)):
            assert dyn.compiled == (dyn.backend == 'auto')
    q, qd, _ = state(81)
    with pytest.warns(RuntimeWarning, match='81 moving bodies, more than 80: coriolis_matrix run'):
        C = dyn.coriolis_matrix(q, qd)
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # once is enough
        assert_close(dyn.coriolis_matrix(q, qd), C, EXACT)


def test_a_thousand_joints(thousand):
    """Check recursions by identities that need no other library."""
    q, qd, qdd = state(1000)
    tau = thousand.inverse_dynamics(q, qd, qdd)
    assert_close(thousand.forward_dynamics(q, qd, tau), qdd, 1e-6)
    link = thousand.model.body_names[-1]
    step = 1e-6 * qd
    change = (thousand.forward_kinematics(q + step, link)
              - thousand.forward_kinematics(q - step, link))[:3, 3] / 2e-6
    assert_close(thousand.jacobian(q, link)[:3] @ qd, change, 1e-6)
    power = (thousand.potential_energy(q + step) - thousand.potential_energy(q - step)) / 2e-6
    assert_close(thousand.gravity(q) @ qd, power, 1e-5)
    assert_close(thousand.inverse_dynamics(q, 0 * q, 0 * q), thousand.gravity(q), EXACT)
    batch = thousand.bias(np.stack([q, 2 * q]), qd)
    assert_close(batch[0], thousand.bias(q, qd), EXACT)


@pytest.mark.slow
def test_a_thousand_joints_against_mujoco(thousand):
    pytest.importorskip('pinocchio')  # beside whose robots the oracle is written
    pytest.importorskip('mujoco')
    from mujoco_oracle import MujocoOracle
    oracle = MujocoOracle(chain(1000), thousand.model.joint_names, GRAVITY)
    q, qd, qdd = state(1000)
    link = thousand.model.body_names[-1]
    for actual, expected in (
            (thousand.inverse_dynamics(q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd)),
            (thousand.gravity(q), oracle.bias(q, 0 * q)),
            (thousand.mass_matrix(q), oracle.mass_matrix(q)),
            (thousand.forward_kinematics(q, link), oracle.forward_kinematics(q, link)),
            (thousand.jacobian(q, link), oracle.jacobian(q, link))):
        assert_close(actual, expected, EXACT)
    # M has a condition of 1e8: so many digits are lost on either side
    assert_close(thousand.forward_dynamics(q, qd, qdd),
                 oracle.forward_dynamics(q, qd, qdd, {}), 1e-6)


@pytest.mark.slow
def test_matrices_of_a_thousand_joints(thousand):
    q, qd, qdd = state(1000)
    by_q, by_qd, M = thousand.inverse_dynamics_derivatives(q, qd, qdd)
    assert_close(M, thousand.mass_matrix(q), EXACT)
    C = thousand.coriolis_matrix(q, qd)
    size = np.max(np.abs(by_qd))
    assert_close(2 * C, by_qd, EXACT, size)
    assert_close(C @ qd, thousand.bias(q, qd) - thousand.gravity(q), EXACT, 10 * size)
    step = 1e-6 * np.ones(1000)
    change = (thousand.inverse_dynamics(q + step, qd, qdd)
              - thousand.inverse_dynamics(q - step, qd, qdd)) / 2e-6
    assert_close(by_q @ np.ones(1000), change, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize('joints', [30, 60])
def test_backends_agree_on_long_chains(joints, tmp_path):
    model = RobotModel.from_urdf(chain(joints), gravity=GRAVITY)
    python = Dynamics(model, backend='python')
    q, qd, qdd = state(joints)
    for again in range(2):  # compiled, then loaded
        compiled = Dynamics(model, cache=tmp_path)
        assert compiled.compiled
        for name, given in (('inverse_dynamics', (q, qd, qdd)), ('gravity', (q,)),
                            ('mass_matrix', (q,)), ('center_of_mass', (q,))):
            assert_close(getattr(compiled, name)(*given), getattr(python, name)(*given), EXACT)
        tau = compiled.inverse_dynamics(q, qd, qdd)
        assert_close(compiled.forward_dynamics(q, qd, tau), qdd, 1e-7)
        if again:
            continue
        entries = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == entries
