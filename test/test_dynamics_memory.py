"""
Results of compiled calls, used again only without references to them, and objects around code.

Copies, pickles, collections, threads, and kernels of one's own.
"""

import copy
import os
import pickle
import subprocess
import sys
import threading
import weakref

from dynamics_calls import JOINTS, LINK, MODEL
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.trace import sincos
from robodyn_ros.exceptions import ArgumentError

ALTERATIONS = {
    'locked': lambda array: array.setflags(write=False),
    'reshaped': lambda array: setattr(array, 'shape', (-1, 1)),
    'reinterpreted': lambda array: setattr(array, 'dtype', np.int64),
}


@pytest.fixture(scope='module')
def dyn():
    return Dynamics(MODEL)


def states(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, JOINTS))


def test_results_that_are_kept_never_change(dyn):
    q = states(300)
    kept = [dyn.gravity(each) for each in q]
    matrices = [dyn.mass_matrix(each) for each in q]
    for each, g, M in zip(q, kept, matrices):
        np.testing.assert_array_equal(g, dyn.gravity(each))
        np.testing.assert_array_equal(M, dyn.mass_matrix(each))
    assert len({each.ctypes.data for each in kept}) == len(kept)


@pytest.mark.parametrize('held', ['view', 'slice of a slice', 'element of a list', 'memoryview'])
def test_whatever_refers_to_a_result_keeps_it(dyn, held):
    q = states(50, 1)
    hold = {'view': lambda g: g[:], 'slice of a slice': lambda g: g[1:][::2],
            'element of a list': lambda g: [g], 'memoryview': memoryview}[held]
    first = dyn.gravity(q[0])
    before, reference = first.copy(), hold(first)
    del first
    for each in q:
        dyn.gravity(each)
    found = np.asarray(reference[0] if held == 'element of a list' else reference)
    expected = hold(before)[0] if held == 'element of a list' else np.asarray(hold(before))
    np.testing.assert_array_equal(found, expected)


def test_results_without_references_are_used_again(dyn):
    q = states(1)[0]
    addresses = set()
    for _ in range(50):
        result = dyn.gravity(q)
        addresses.add(result.ctypes.data)
    assert len(addresses) <= 4
    # also after a long list of results had taken all of them
    kept = [dyn.gravity(q) for _ in range(20)]
    addresses = set()
    for _ in range(50):
        result = dyn.gravity(q)
        addresses.add(result.ctypes.data)
    assert len(addresses) <= 4 and not addresses & {each.ctypes.data for each in kept}


@pytest.mark.parametrize('alter', ALTERATIONS.values(), ids=ALTERATIONS)
def test_a_result_that_was_altered_and_dropped_is_not_handed_out(dyn, alter):
    q = states(1)[0]
    expected = dyn.gravity(q).copy()
    for _ in range(20):
        alter(dyn.gravity(q))
        result = dyn.gravity(q)
        assert result.shape == (JOINTS,) and result.dtype == np.float64
        assert result.flags.writeable
        np.testing.assert_array_equal(result, expected)


def test_weak_references_do_not_hold(dyn):
    q = states(1)[0]
    watched = weakref.ref(dyn.gravity(q))
    for _ in range(10):
        dyn.gravity(q)
    assert watched() is None or isinstance(watched(), np.ndarray)


def test_out_is_not_a_kept_array(dyn):
    q, out = states(2), np.empty(JOINTS)
    for _ in range(10):
        assert dyn.gravity(q[0], out=out) is out
    before = out.copy()
    for _ in range(10):
        dyn.gravity(q[1])
    np.testing.assert_array_equal(out, before)


def test_links_by_equal_names_of_other_objects(dyn):
    q = states(1)[0]
    expected = dyn.jacobian(q, LINK).copy()
    for k in range(30):
        name = ''.join(list(LINK))  # another object each time
        np.testing.assert_array_equal(dyn.jacobian(q, name), expected)
        np.testing.assert_array_equal(dyn.jacobian(q, link=name), expected)


def test_more_links_than_are_remembered(dyn):
    q, links = states(1)[0], [*MODEL.links]
    expected = [Dynamics(MODEL).forward_kinematics(q, link) for link in links]
    for _ in range(3):
        for link, pose in zip(links, expected):
            np.testing.assert_array_equal(dyn.forward_kinematics(q, link), pose)


@pytest.mark.parametrize('link', [None, 3, b'link', ('a',), ['a'], np.array(['a']), 'unknown'])
def test_what_is_no_link(dyn, link):
    q = states(1)[0]
    dyn.jacobian(q, LINK)
    with pytest.raises((ArgumentError, TypeError, ValueError)):
        dyn.jacobian(q, link)


def test_threads_do_not_share_results(dyn):
    q = states(200, 3)
    expected = dyn.gravity(q)
    wrong = []

    def work():
        for _ in range(20):
            for each, right in zip(q, expected):
                if not np.allclose(dyn.gravity(each), right, rtol=1e-12, atol=1e-12):
                    wrong.append(each)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


@pytest.mark.parametrize('count', [1, 3, 4, 5, 8, 17, 100])
def test_threads_of_a_batch_give_what_one_gives(dyn, count):
    many = Dynamics(MODEL, threads=3)
    q, qd, qdd = states(3 * count).reshape(3, count, JOINTS)
    np.testing.assert_array_equal(many.inverse_dynamics(q, qd, qdd),
                                  dyn.inverse_dynamics(q, qd, qdd))
    np.testing.assert_array_equal(many.mass_matrix(q), dyn.mass_matrix(q))


@pytest.mark.parametrize('threads', [0, -1, 1.5, 'two'])
def test_a_number_of_threads_that_is_none(threads):
    with pytest.raises(ArgumentError, match='threads'):
        Dynamics(MODEL, threads=threads)


# --- objects around machine code -----------------------------------------------------------------

COLLECTED = """
import gc
import numpy as np
from robodyn_ros import Dynamics, RobotModel
model = RobotModel.from_urdf({urdf!r})
zero = np.zeros(model.nv)
for _ in range(5):
    dyn = Dynamics(model)
    dyn.gravity(zero), dyn.mass_matrix(zero)
    kept = dyn.gravity
    del dyn
    gc.collect()
    kept(zero), kept([0.0] * model.nv)
    del kept
    gc.collect()
"""


@pytest.fixture
def used():
    dyn = Dynamics(MODEL)
    dyn.gravity(np.zeros(dyn.nv))
    return dyn


def test_collected_functions_touch_no_freed_memory():
    urdf = os.path.join(os.path.dirname(__file__), '..', 'urdf', 'robodyn6.urdf')
    # freed memory is overwritten at once, so that reading it shows
    environment = {**os.environ, 'PYTHONMALLOC': 'malloc', 'MALLOC_PERTURB_': '255'}
    environment['PYTHONPATH'] = os.pathsep.join(sys.path)
    run = subprocess.run([sys.executable, '-c', COLLECTED.format(urdf=urdf)], env=environment,
                         capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr


def test_python_without_docstrings_runs_it():
    urdf = os.path.join(os.path.dirname(__file__), '..', 'urdf', 'robodyn6.urdf')
    run = subprocess.run([sys.executable, '-OO', '-c', COLLECTED.format(urdf=urdf)],
                         env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
                         capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize('duplicate', [
    copy.copy, copy.deepcopy, lambda dyn: pickle.loads(pickle.dumps(dyn))])
def test_copies_are_independent(used, duplicate):
    q = np.full(used.nv, 0.3)
    before = used.gravity(q)
    other = duplicate(used)
    other.update(MODEL.with_gravity((0.0, 0.0, 0.0)))
    assert not other.gravity(q).any()
    assert np.array_equal(used.gravity(q), before)


def test_shape_that_the_function_does_not_fill(used):
    for backend in ('compiled', 'python'):
        kernel = Dynamics(MODEL, backend=backend).kernel(
            lambda tree, runtime, q: q, {'q': used.nv}, (1,))
        with pytest.raises(ArgumentError, match='scalars'):
            kernel(np.zeros(used.nv))


def test_same_code_of_another_shape(used):
    q = np.arange(4.0)
    for shape in ((4,), (2, 2), (1, 4)):
        kernel = used.kernel(lambda tree, runtime, x: x, {'x': 4}, shape)
        assert kernel(q).shape == shape
        assert kernel(np.stack([q, q])).shape == (2, *shape)


def test_sine_of_a_sine(used):
    def nested(tree, runtime, x):
        s, c = sincos(x[0])
        return [*sincos(s + x[1]), sincos(sincos(c)[0] * x[1])[1]]

    kernel = used.kernel(nested, {'x': 2}, (3,))
    x = np.random.default_rng(0).normal(size=(9, 2))
    s, c = np.sin(x[:, 0]), np.cos(x[:, 0])
    expected = np.column_stack([np.sin(s + x[:, 1]), np.cos(s + x[:, 1]),
                                np.cos(np.sin(c) * x[:, 1])])
    np.testing.assert_allclose(kernel(x), expected, rtol=0.0, atol=1e-14)
    for row, right in zip(x, expected):
        np.testing.assert_allclose(kernel(row), right, rtol=0.0, atol=1e-14)


def test_batches_on_a_small_stack(used):
    rows, results = np.random.default_rng(3).uniform(-1, 1, (9, 200)), []
    kernel = used.kernel(lambda tree, runtime, x: [x] * 20, {'x': 200}, (20, 200))
    kernel(rows)
    before = threading.stack_size(64 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(kernel(rows)))
        thread.start()
        thread.join(30.0)
    finally:
        threading.stack_size(before)
    assert np.array_equal(results[0], np.repeat(rows[:, None], 20, axis=1))


def test_wrenches_that_fit_no_state(used):
    q, link = np.zeros(used.nv), list(MODEL.links)[-1]
    with pytest.raises(ArgumentError, match='wrenches'):
        used.inverse_dynamics(q, q, q, {link: np.zeros((3, 6))})
    with pytest.raises(ArgumentError, match='tau'):
        used.forward_dynamics(q, q, ['a'] * used.nv, {link: np.zeros(6)})
    with pytest.raises(ArgumentError, match='tau'):
        used.forward_dynamics(q, q, np.zeros(used.nv + 1), {link: np.zeros(6)})
