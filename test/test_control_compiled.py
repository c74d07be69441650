"""The compiled cycle: what it is found by in the cache, laws that come later, arrays of an arm."""

import ctypes
from dataclasses import replace
import json
import logging
import os
from pathlib import Path
import select
import shutil
import subprocess
import sys
from threading import Event
from time import monotonic

import numpy as np
import pytest
from robodyn_ros.control import with_slots
from robodyn_ros.control.blocks import Memory, Program
from robodyn_ros.control.compilation import Compilation
from robodyn_ros.control.compiled import CompiledCycle, REQUIRED
from robodyn_ros.control.host import BoundCycle
from robodyn_ros.control.steps import laws, modes, path
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks, builtin, machine, program
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.exceptions import ArgumentError, KernelError
from robodyn_ros.model import RobotModel
from robodyn_ros.safety.acceptance import FROM_STATE, REQUESTS, State

ROOT = Path(__file__).resolve().parents[1]
URDF = ROOT / 'urdf' / 'reference' / 'two_link_payload.urdf'
BENCHMARK = ROOT / 'benchmark' / 'cycle.py'
MODEL = with_slots(RobotModel.from_urdf(URDF))
OTHERS = [name for name in laws.NAMES if name not in REQUIRED]


def made(cache, model=MODEL, link=MODEL.tip, slot=3, pause=0.25):
    return CompiledCycle(Dynamics(model, cache=cache), link, slot, pause)


@pytest.fixture(scope='module')
def least(tmp_path_factory):
    """Return a folder with the code of the cycle, and of the laws that it needs."""
    folder = tmp_path_factory.mktemp('least')
    made(folder).prepare()
    return folder


@pytest.fixture(scope='module')
def cache(least, tmp_path_factory):
    """Return a folder with the code of all laws besides."""
    folder = shutil.copytree(least, tmp_path_factory.mktemp('caches') / 'all')
    made(folder).prepare(*laws.NAMES)
    return folder


@pytest.fixture
def uncached(least, tmp_path):
    """Return a cycle that has to compile the other laws."""
    return made(shutil.copytree(least, tmp_path / 'cache'))


@pytest.fixture
def records(caplog):
    caplog.set_level(logging.INFO, machine.LOGGER.name)
    return caplog


@pytest.fixture
def in_thread(monkeypatch):
    """Compile in a thread, as where no other process can."""
    monkeypatch.setattr(sys, 'executable', shutil.which('false'))


def refuse(*_):
    raise AssertionError('traced again')


# --- the cache ----------------------------------------------------------------------------------

def test_nothing_is_traced_again(cache, monkeypatch, records):
    before = sorted(cache.iterdir())
    monkeypatch.setattr(Function, 'program', refuse)
    again = made(cache)
    again.prepare(*laws.NAMES)
    assert all(again.rows[:-1]) and not again.rows[-1]
    assert sorted(cache.iterdir()) == before
    assert not records.records


def keys(cycle):
    """Return the keys of all functions by name."""
    found = {f'{name}[{k}]': each.key for name, several in cycle.functions.items()
             for k, each in enumerate(several)}
    return {**found, 'cycle': cycle.function.key}


def other_link(model):
    return next(name for name in model.links if model.links[name] != model.links[MODEL.tip])


CHANGES = {
    'slot': {'slot': None}, 'pause': {'pause': 0.2},
    'lower': {'model': replace(MODEL, lower=MODEL.lower + 0.1)},
    'upper': {'model': replace(MODEL, upper=MODEL.upper + 0.1)},
    'speed': {'model': replace(MODEL, velocity_limit=MODEL.velocity_limit + 1.0)}}
OF_LINKS = {
    'link': ({'link': other_link(MODEL)}, {'reach[0]', 'learning[0]', 'cycle', *(
        f'laws[{laws.NAMES.index(name)}]' for name in laws.CARTESIAN)})}


@pytest.mark.parametrize('change', CHANGES)
def test_what_the_cycle_is_made_of_is_in_its_key(change):
    before, after = keys(made(None)), keys(made(None, **CHANGES[change]))
    assert {name for name in before if before[name] != after[name]} == {'cycle'}


@pytest.mark.parametrize('change', OF_LINKS)
def test_links_are_in_the_keys_of_what_holds_them(change):
    given, concerned = OF_LINKS[change]
    before, after = keys(made(None)), keys(made(None, **given))
    assert concerned <= {name for name in before if before[name] != after[name]}


def test_structure_and_slots_are_in_all_keys():
    heavier = replace(MODEL, mass=MODEL.mass + 1.0)
    unloaded = RobotModel.from_urdf(URDF)
    before = keys(made(None))
    for other in (heavier, unloaded):
        after = keys(made(None, model=other))
        assert not set(before.values()) & set(after.values())


def test_names_are_unique():
    assert len(set(keys(made(None)).values())) == len(keys(made(None)))


@pytest.mark.parametrize('part', ['dynamics', 'control', 'safety', 'trajectory'])
def test_sources_are_in_all_keys(tmp_path, monkeypatch, part):
    """Change a file deep in a copy of the package; code of it is other code."""
    package = Path(machine.__file__).parents[2]
    copy = tmp_path / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns('__pycache__'))

    def moved(folders, own=machine._folders_digest):
        return own(tuple(copy / each.resolve().relative_to(package) for each in folders))

    monkeypatch.setattr(machine, '_folders_digest', moved)
    before = keys(made(None))
    assert keys(made(None)) == before
    machine_digest = machine._folders_digest
    file = sorted((copy / part).rglob('*.py'))[-1]
    file.write_text(file.read_text(encoding='utf-8') + '\n# changed\n', encoding='utf-8')
    moved.__defaults__[0].cache_clear()
    after = keys(made(None))
    moved.__defaults__[0].cache_clear()
    assert machine_digest is moved
    assert not set(before.values()) & set(after.values())


# --- laws that come later -----------------------------------------------------------------------

def test_what_is_not_compiled_is_no_row(cache):
    cycle = made(cache)
    assert not cycle.rows.any() and cycle.rows.dtype == np.int64
    cycle.prepare('joint_impedance')
    known = {*REQUIRED, 'joint_impedance'}
    assert {name for name in laws.NAMES if cycle.ready(name)} == known
    assert [bool(each) for each in cycle.rows] == [name in known for name in laws.NAMES] + [False]


def test_what_is_cached_is_there_at_once(cache, monkeypatch, records):
    cycle, done = made(cache), []
    monkeypatch.setattr(Function, 'program', refuse)
    cycle.prepare_others(lambda: done.append(cycle.rows[:-1].all()))
    assert done == [True]
    assert cycle.wait(0.0) and not records.records


def test_others_are_compiled_by_another_process(uncached, monkeypatch):
    done = Event()
    uncached.prepare()
    monkeypatch.setattr(Function, 'program', refuse)
    assert uncached.prepare_others(done.set) == OTHERS
    assert done.wait(60.0) and uncached.wait(60.0)
    assert all(map(uncached.ready, laws.NAMES))


def test_another_process_that_compiles_is_ended(uncached, monkeypatch):
    uncached.prepare()
    monkeypatch.setattr(Function, 'program', refuse)
    uncached.prepare_others(refuse)
    begin = monotonic()
    uncached.stop()
    assert monotonic() - begin < 10.0
    assert not uncached.compiling and not all(map(uncached.ready, laws.NAMES))


def test_another_process_is_not_interrupted_from_the_terminal(tmp_path):
    compilation = Compilation(made(tmp_path)._arguments, OTHERS)
    try:
        # a terminal interrupts all processes of its session that are in the foreground
        assert os.getsid(compilation._process.pid) != os.getsid(0)
    finally:
        compilation.stop()
        assert not set(compilation) - set(OTHERS)


def test_another_process_that_cannot_begin_compiles_nothing(tmp_path, in_thread):
    assert not list(Compilation(made(tmp_path)._arguments, OTHERS))


PARENT = """
import os, sys, time
sys.path[:] = filter(None, sys.path)
from test_control_compiled import made, Path
cycle = made(Path(sys.argv[1]))
cycle.prepare()
cycle.prepare_others()
while cycle._compilation is None:
    time.sleep(1e-3)
print(cycle._compilation._process.pid, flush=True)
sys.stdin.read()
os._exit(0)
"""


def test_another_process_ends_with_this_one_and_imports_nothing_from_here(uncached, tmp_path):
    (tmp_path / 'pickle.py').write_text('open("imported", "w")')
    paths = [str(ROOT), str(ROOT / 'test'), *filter(None, sys.path)]
    with subprocess.Popen(
            [sys.executable, '-c', PARENT, str(tmp_path / 'cache')], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, cwd=tmp_path,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)}) as parent:
        child = int(parent.stdout.readline())
        pidfd = os.pidfd_open(child)
        parent.kill()
        parent.wait()
    ended, _, _ = select.select([pidfd], [], [], 10.0)
    os.close(pidfd)
    assert ended and not (tmp_path / 'imported').exists()


def test_others_are_compiled_meanwhile(uncached, monkeypatch, records, in_thread):
    go, done, cycle = Event(), Event(), uncached
    own = Function.program

    def program(function):
        assert go.wait(60.0)
        return own(function)

    copy = cycle.copy_of_rows()
    cycle.prepare()
    monkeypatch.setattr(Function, 'program', program)
    records.clear()
    cycle.prepare_others(done.set)
    also = Event()
    cycle.prepare_others(also.set)
    assert not cycle.wait(0.0) and not any(map(cycle.ready, OTHERS)) and not done.is_set()
    go.set()
    assert done.wait(60.0) and also.wait(60.0) and cycle.wait(60.0)
    assert all(map(cycle.ready, laws.NAMES))
    np.testing.assert_array_equal(copy, cycle.rows)
    lines = [each.getMessage() for each in records.records
             if not each.getMessage().startswith('compiling ')]
    assert lines == [f'still compiling laws of {MODEL.name}: {", ".join(OTHERS)}',
                     f'compiled all laws of {MODEL.name}']


def test_compilation_stops_after_the_law_that_it_is_at(uncached, monkeypatch, in_thread):
    begun, go, cycle = Event(), Event(), uncached
    own = Function.program

    def program(function):
        begun.set()
        assert go.wait(60.0)
        return own(function)

    cycle.prepare()
    monkeypatch.setattr(Function, 'program', program)
    cycle.prepare_others(refuse)
    assert begun.wait(60.0)
    cycle._stopped.set()
    go.set()
    cycle.stop()
    assert [name for name in OTHERS if cycle.ready(name)] == OTHERS[:1]
    done = Event()
    cycle.prepare_others(done.set)
    assert done.wait(60.0) and all(map(cycle.ready, laws.NAMES))


def test_a_law_that_cannot_be_compiled_is_reported(uncached, monkeypatch, records, in_thread):
    def program(function):
        raise KernelError('no such code')

    uncached.prepare()
    monkeypatch.setattr(Function, 'program', program)
    uncached.prepare_others(refuse)
    assert uncached.wait(60.0)
    errors = [each.getMessage() for each in records.records if each.levelno == logging.ERROR]
    # one law does not keep the others from being compiled
    assert len(errors) > 1 and 'law operational_space: no such code' in errors
    assert not uncached.ready('operational_space') and not uncached.compiling


def test_what_is_too_long_to_be_compiled_well_is_logged_once(tmp_path, monkeypatch, records):
    monkeypatch.setattr(program, 'LONG', 100)
    cycle = made(tmp_path)
    for _ in range(2):
        cycle.prepare('joint_impedance')
    lines = [each.getMessage() for each in records.records if each.levelno == logging.WARNING]
    assert len(lines) == 1 and 'two_link_payload has 2 joints' in lines[0]
    found = made(tmp_path)
    records.clear()
    found.prepare('joint_impedance')
    assert not records.records


# --- arrays of an arm ---------------------------------------------------------------------------

class Arm:
    """An arm that hangs still under the cycle."""

    def __init__(self, cycle, own=None):
        self.bound = bound = BoundCycle(cycle, own)
        d = cycle.dimensions
        self.s, self.m, self.p = (blocks.views(cls, array, d) for cls, array in (
            (State, bound.state), (Memory, bound.memory), (Program, bound.program)))
        p, n = self.p, d['joints']
        self.m.loads.known[:] = self.m.loads.start[:] = p.loads.target[:] = cycle.runtime
        self.m.loads.elapsed[()] = self.m.loads.duration[()] = -1.0
        for name in vars(p.gains):
            getattr(p.gains, name)[:] = np.linspace(1.0, 2.0, n)
        p.limits.effort[:], p.limits.rate[:] = 100.0, 1e4
        p.law[()] = laws.ROWS['computed_torque']
        p.law_damping[()] = p.law_stiffness[()] = 1.0
        p.motion.deceleration[:] = 5.0
        for each in (p.external, p.target):
            each.end[:] = -np.inf
        p.external_law.until[()] = p.reflection.end[()] = -np.inf
        self.m.observer.begins[()] = 1.0
        self.s.effort[:] = np.nan
        self.s.q[:] = 0.3
        p.motion.request += 1.0
        p.motion.kind[()] = modes.TO_TAKE_OVER
        self.go(REQUESTS)

    def go(self, kind=FROM_STATE):
        self.s.kind[()] = kind
        self.s.now += 0.01
        self.bound.run()
        return self.bound.torque.copy()


@pytest.fixture(scope='module')
def cycle(cache):
    dynamics = Dynamics(MODEL, cache=cache)
    cycle = CompiledCycle(dynamics, MODEL.tip, 3, 0.25)
    cycle.prepare(*laws.NAMES)
    cycle.runtime = dynamics.runtime
    return cycle


def test_a_cycle_goes_on_from_what_it_kept(cycle):
    arm = Arm(cycle)
    for _ in range(5):
        arm.go()
    last = arm.bound.memory.copy()
    torque = arm.go()
    np.testing.assert_array_equal(arm.bound.previous_memory, last)
    expected, kept = cycle.function(
        *cycle.functions.values(), arm.bound.segments, arm.bound.state, last, arm.bound.program)
    np.testing.assert_array_equal(torque, expected)
    np.testing.assert_array_equal(arm.bound.memory, kept)
    assert arm.m.motion.mode in (modes.STOP, modes.HOLD) and np.any(torque)


def test_a_call_without_a_built_in_function(cycle, monkeypatch):
    expected = [Arm(cycle).go() for _ in range(3)]
    monkeypatch.setattr(builtin, 'supported', lambda: False)
    arm = Arm(cycle)
    assert 'built-in' not in repr(arm.bound.run)
    np.testing.assert_array_equal([arm.go(), *expected[1:]], expected)


def test_segments_are_replaced(cycle):
    arm = Arm(cycle)
    arm.go()
    n, p = MODEL.nv, arm.p.motion
    rows = np.zeros((2, path.columns(n)))
    rows[1, 0] = 0.05
    rows[1, 1:1 + n] = [0.31, 0.32]  # of the position, the constant coefficient
    arm.bound.segments = rows
    upcoming = p.upcoming
    upcoming.number[()], upcoming.moment[()] = 1.0, arm.s.now
    upcoming.rows[()], upcoming.last[()] = 2.0, 9.0
    for each in (upcoming.path_q, upcoming.path_qd, upcoming.goal_q, upcoming.goal_qd):
        each[:] = np.inf
    for _ in range(12):
        arm.go()
    assert arm.m.motion.mode == modes.TRACK
    np.testing.assert_array_equal(arm.m.motion.reference.q, [0.31, 0.32])
    rows = rows.copy()
    rows[1, 1:1 + n] = [0.33, 0.34]
    arm.bound.segments = rows.tolist()
    arm.go()
    np.testing.assert_array_equal(arm.m.motion.reference.q, [0.33, 0.34])
    with pytest.raises(ArgumentError, match='segments must have shape'):
        arm.bound.segments = np.zeros((2, 3))


def test_a_law_of_the_user_is_of_one_arm(cycle):
    n, pointer = MODEL.nv, ctypes.POINTER(ctypes.c_double)
    size = laws.output_size(cycle.dimensions)

    @ctypes.CFUNCTYPE(None, *[pointer] * 7)
    def law(*given):
        np.ctypeslib.as_array(given[-1], (size,))[:] = [7.0] * n + [0.0] * (size - n)

    arms = [Arm(cycle, law), Arm(cycle)]
    for arm in arms:
        arm.p.external_law.request += 1.0
        arm.p.external_law.choice[()] = 1.0
        for _ in range(30):
            arm.go()
    assert [float(arm.m.external_law.active) for arm in arms] == [1.0, 0.0]
    assert not cycle.rows[-1]


# --- figures ------------------------------------------------------------------------------------

def test_the_benchmark_has_all_figures():
    run = subprocess.run(
        [sys.executable, BENCHMARK, '--joints', '1', '--quick', '--json'], check=True,
        capture_output=True, text=True, timeout=100)
    figures = json.loads(run.stdout)
    assert 0.0 < figures['cycle_us'] == figures['laws_us']['computed_torque']['median'] < 1e4
    assert 0.0 < figures['cached_ms'] < 1e3 * figures['first_compile_s']
    assert figures['first_compile_s'] < figures['first_compile_all_s']
    for quartiles in (figures['empty_us'], *figures['laws_us'].values()):
        assert 0.0 < quartiles['lower'] <= quartiles['median'] <= quartiles['upper']
