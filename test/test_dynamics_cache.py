"""
The cache of machine code on disk.

Whatever is in the folder, and whatever other process uses it at the time, results are right: an
entry that is not sound is built again, and a folder that cannot be used, or that others can write
to, is not touched.
"""

import ctypes
import gc
import os
from pathlib import Path
import subprocess
import sys
from weakref import WeakValueDictionary

from dynamics_calls import arrays, LINK, MODEL
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import machine, object_cache
from robodyn_ros.exceptions import KernelError
from tolerance import assert_close

ANSWER = 'define i64 @answer() {\n  ret i64 42\n}'
PROCESSES = 4
TOGETHER = """
from pathlib import Path
import sys, time
from dynamics_calls import arrays, LINK, MODEL
from robodyn_ros.dynamics import Dynamics
dyn = Dynamics(MODEL)
q, qd, qdd = arrays(3, 6)
print('ready', flush=True)
while not Path(sys.argv[1]).exists():
    time.sleep(0.001)
for result in (dyn.inverse_dynamics(q[0], qd[0], qdd[0]), dyn.inverse_dynamics(q, qd, qdd),
               dyn.mass_matrix(q), dyn.jacobian(q[0], LINK)):
    print(*(float(x).hex() for x in result.ravel()))
"""


def loaded(key, cache):
    """Return the code for a key, after a try that it answers, and how often it was made."""
    made = []
    code = machine.load(key, lambda: made.append(key) or machine.Ir(ANSWER), cache)
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(code.address('answer'))() == 42
    assert code.from_cache != bool(made)
    return code.from_cache


def entries(folder):
    return sorted(path for path in Path(folder).iterdir())


def test_equal_code_is_linked_once_and_unloaded_with_its_last_user(monkeypatch):
    monkeypatch.setattr(machine, '_all_linked', WeakValueDictionary())
    data = machine.compile_ir(machine.Ir(ANSWER))
    first, second = machine.Code(data, False), machine.Code(data, True)
    assert first.address('answer') == second.address('answer')
    assert (first.from_cache, second.from_cache) == (False, True)
    del first
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(second.address('answer'))() == 42
    assert len(machine._all_linked) == 1
    del second
    assert not machine._all_linked


def test_code_that_is_linked_while_equal_code_is_unloaded_stays(monkeypatch):
    monkeypatch.setattr(machine, '_all_linked', WeakValueDictionary())
    data = machine.compile_ir(machine.Ir(ANSWER))
    unload, others = machine.llvm.ExecutionEngine._dispose, []

    def dispose(engine):
        # as another thread would
        others.append(machine.Code(data, True))
        monkeypatch.undo()
        unload(engine)

    first = machine.Code(data, False)
    monkeypatch.setattr(machine.llvm.ExecutionEngine, '_dispose', dispose)
    del first
    other, = others
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(other.address('answer'))() == 42


@pytest.fixture
def cache(tmp_path):
    """Return a folder with one entry, of the key 'one'."""
    folder = tmp_path / 'deep' / 'cache'
    assert not loaded('one', folder)
    return folder


def test_an_entry_is_found_again(cache):
    assert loaded('one', cache)
    assert not loaded('other', cache)
    assert [path.suffix for path in entries(cache)] == ['.o', '.o']
    assert cache.stat().st_mode & 0o777 == 0o700


def test_collections_of_garbage_wait_while_ir_is_made():
    seen = []

    def make():
        seen.append(gc.isenabled())
        raise KernelError('no such code')

    with pytest.raises(KernelError, match='no such code'):
        machine.load('one', make, None)
    assert seen == [False] and gc.isenabled()


def flipped(data, place):
    place = place % len(data)
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1:]


DAMAGES = {
    'empty': lambda data: b'', 'one byte': lambda data: data[:1],
    'no content': lambda data: data[:49], 'half': lambda data: data[:len(data) // 2],
    'all but one': lambda data: data[:-1], 'longer': lambda data: data + b'\0',
    'flipped name': lambda data: flipped(data, 3),
    'flipped digest': lambda data: flipped(data, 20),
    'flipped code': lambda data: flipped(data, 200), 'flipped end': lambda data: flipped(data, -1),
    'other version': lambda data: data.replace(b'-1\n', b'-0\n', 1),
    'zeros': lambda data: bytes(len(data)), 'text': lambda data: b'not a program\n' * 99,
}


@pytest.mark.parametrize('damage', DAMAGES)
def test_a_damaged_entry_is_rebuilt(cache, damage):
    entry, = entries(cache)
    sound = entry.read_bytes()
    assert DAMAGES[damage](sound) != sound
    entry.write_bytes(DAMAGES[damage](sound))
    assert not loaded('one', cache)
    assert loaded('one', cache)
    assert entries(cache) == [entry]
    assert entry.read_bytes() == sound


def test_the_entry_of_another_key_is_not_used(cache):
    first, = entries(cache)
    loaded('other', cache)
    second, = set(entries(cache)) - {first}
    second.write_bytes(first.read_bytes())
    assert not loaded('other', cache)
    assert loaded('other', cache)


@pytest.mark.parametrize('change', ['processor', 'library'])
def test_code_for_another_machine_is_not_found(tmp_path, change):
    """A home on the network is read by computers with other processors, and other libraries."""
    turned = {'processor': 'llvm.get_host_cpu_name = lambda: "x86-64-v2"',
              'library': 'llvmlite.__version__ += ".post1"'}[change]
    load = ('from pathlib import Path\nfrom robodyn_ros.dynamics.jit import machine\n'
            f'machine.load("one", lambda: machine.Ir({ANSWER!r}), Path({str(tmp_path)!r}))')
    for first in ('', turned, turned):
        text = f'import llvmlite, llvmlite.binding as llvm\n{first}\n{load}'
        subprocess.run([sys.executable, '-c', text], check=True, timeout=100,
                       env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert len(entries(tmp_path)) == 2


def test_an_entry_that_cannot_be_replaced_costs_time_only(cache):
    entry, = entries(cache)
    entry.unlink()
    entry.mkdir()
    for _ in range(2):
        assert not loaded('one', cache)
    assert entries(cache) == [entry]


# --- folders --------------------------------------------------------------------------------

@pytest.fixture
def results():
    """Return what `gravity` gives on Python floats, and a check of the present environment."""
    q = arrays(1)[0]
    expected = Dynamics(MODEL, backend='python').gravity(q)

    def check(**options):
        assert_close(Dynamics(MODEL, **options).gravity(q), expected, 1e-12)

    return check


def a_file(path):
    path.write_text('kept')
    return path


def read_only(path):
    path.mkdir()
    path.chmod(0o500)
    return path


@pytest.mark.parametrize('make', [
    a_file, lambda path: a_file(path) / 'below', read_only, lambda path: read_only(path) / 'below',
    lambda path: Path('/proc/1/task/cache'), lambda path: path / ('long' * 99)],
    ids=['file', 'below file', 'read-only', 'below read-only', 'proc', 'long name'])
def test_a_folder_that_cannot_be_used(tmp_path, monkeypatch, results, make):
    place = make(tmp_path / 'place')
    for _ in range(2):
        loaded('one', place)
        results(cache=place)
        monkeypatch.setenv('ROBODYN_CACHE_DIR', str(place))
        results()
    if (tmp_path / 'place').is_file():
        assert (tmp_path / 'place').read_text() == 'kept'


@pytest.mark.parametrize('home', [None, '/proc/1/task', 'relative'])
def test_a_home_that_is_none(tmp_path, monkeypatch, results, home):
    monkeypatch.chdir(tmp_path)
    for name in ('ROBODYN_CACHE_DIR', 'XDG_CACHE_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv('HOME', home)
        results()
    else:
        # the real home of this user, which a test must leave alone
        assert machine.default_cache().is_absolute()


def test_variables_choose_the_folder(tmp_path, monkeypatch, results):
    for name in ('ROBODYN_CACHE_DIR', 'XDG_CACHE_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)
    chosen = tmp_path / 'chosen'
    for name, folder in (('HOME', tmp_path / '.cache' / 'robodyn_ros'),
                         ('XDG_CACHE_HOME', tmp_path / 'robodyn_ros'),
                         ('ROBODYN_CACHE_DIR', chosen)):
        monkeypatch.setenv(name, str(chosen if name == 'ROBODYN_CACHE_DIR' else tmp_path))
        assert machine.default_cache() == folder
        results()
        assert entries(folder)


@pytest.mark.skipif(not hasattr(os, 'geteuid'), reason='no owners and modes here')
@pytest.mark.parametrize('mode', [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(cache, mode):
    entry, = entries(cache)
    cache.chmod(mode)
    assert not loaded('one', cache)
    assert not loaded('other', cache)
    assert entries(cache) == [entry]
    cache.chmod(0o755)
    assert loaded('one', cache)


@pytest.mark.skipif(not hasattr(os, 'geteuid'), reason='no owners and modes here')
def test_a_folder_of_another_user_is_not_used(cache, monkeypatch):
    other = os.geteuid() + 1
    monkeypatch.setattr(os, 'geteuid', lambda: other)
    assert not loaded('one', cache)


@pytest.mark.skipif(not hasattr(os, 'geteuid'), reason='no owners and modes here')
@pytest.mark.parametrize('change', ['writable', 'link', 'hard link', 'pipe', 'other owner'])
def test_an_entry_that_is_not_plainly_ours_is_built_again(cache, tmp_path, monkeypatch, change):
    entry, = entries(cache)
    if change == 'writable':
        entry.chmod(0o602)
    elif change == 'link':
        entry.rename(tmp_path / 'elsewhere')
        entry.symlink_to(tmp_path / 'elsewhere')
    elif change == 'hard link':
        (tmp_path / 'elsewhere').hardlink_to(entry)
        (tmp_path / 'elsewhere').chmod(0o620)
    elif change == 'pipe':  # must not be waited for
        entry.unlink()
        os.mkfifo(entry)
    else:
        folder = os.geteuid()
        monkeypatch.setattr(os, 'geteuid', iter([folder, folder + 1, folder, folder]).__next__)
    assert not loaded('one', cache)
    assert loaded('one', cache)


def test_a_link_in_place_of_the_folder_is_not_followed(cache, tmp_path):
    moved = cache.rename(tmp_path / 'moved')
    cache.symlink_to(moved)
    assert not loaded('one', cache)
    assert len(entries(moved)) == 1 and loaded('one', moved)


def test_a_folder_that_is_swapped_after_it_was_checked_is_not_read(cache, tmp_path, monkeypatch):
    """What was opened counts, whatever its path refers to by now."""
    other = tmp_path / 'other'
    machine.load('one', lambda: machine.Ir(ANSWER.replace('42', '13')), other)

    def swapping(status, kind, own=object_cache._is_own):
        found = own(status, kind)
        if found and other.exists():
            cache.rename(tmp_path / 'aside')
            other.rename(cache)
        return found

    monkeypatch.setattr(object_cache, '_is_own', swapping)
    assert loaded('one', cache)


# --- processes ------------------------------------------------------------------------------

def test_processes_that_start_together(tmp_path):
    cache, go = tmp_path / 'cache', tmp_path / 'go'
    environment = {**os.environ, 'ROBODYN_CACHE_DIR': str(cache),
                   'PYTHONPATH': os.pathsep.join(sys.path)}
    runs = [subprocess.Popen([sys.executable, '-c', TOGETHER, str(go)], env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(PROCESSES)]
    try:
        for run in runs:
            assert run.stdout.readline() == 'ready\n', run.stderr.read()
        go.touch()
        printed = [run.communicate(timeout=100) for run in runs]
    finally:
        for run in runs:
            run.kill()
            run.wait()
    for run, (_, errors) in zip(runs, printed):
        assert run.returncode == 0, errors
    assert len({output for output, _ in printed}) == 1, 'processes differ'
    assert_results(printed[0][0])
    before = {path: path.read_bytes() for path in entries(cache)}
    assert before and all(path.suffix == '.o' for path in before)
    go_on = subprocess.run([sys.executable, '-c', TOGETHER, str(go)], env=environment,
                           capture_output=True, text=True, timeout=100)
    assert go_on.stdout == 'ready\n' + printed[0][0]
    assert {path: path.read_bytes() for path in entries(cache)} == before


def assert_results(text):
    dyn = Dynamics(MODEL, backend='python')
    q, qd, qdd = arrays(3, 6)
    expected = (dyn.inverse_dynamics(q[0], qd[0], qdd[0]), dyn.inverse_dynamics(q, qd, qdd),
                dyn.mass_matrix(q), dyn.jacobian(q[0], LINK))
    lines = text.splitlines()
    assert len(lines) == len(expected)
    for line, values in zip(lines, expected):
        assert_close([float.fromhex(x) for x in line.split()], values.ravel(), 1e-12)


def test_a_killed_writer_creates_no_entry_that_is_read(cache):
    """What remains is a temporary file, which is not taken for an entry."""
    entry, = entries(cache)
    half = entry.read_bytes()[:100]
    (cache / 'tmpkilled.part').write_bytes(half)
    entry.unlink()
    assert not loaded('one', cache)
    assert loaded('one', cache)
