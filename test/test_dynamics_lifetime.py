"""Objects around machine code: copies, pickles, collections, and kernels of one's own."""

import copy
import os
import pickle
import subprocess
import sys
import threading

from dynamics_calls import MODEL
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.trace import sincos
from robodyn_ros.exceptions import ArgumentError

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
