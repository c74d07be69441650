"""Methods of an instance as built-in functions: references, from when on, and which not."""

from copy import copy
import inspect
import sys
from types import BuiltinFunctionType, MethodType

from dynamics_calls import arrays, JOINTS, LINK, MODEL
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics

METHODS = {
    'inverse_dynamics': 3, 'gravity': 1, 'bias': 2, 'mass_matrix': 1, 'forward_dynamics': 3,
    'center_of_mass': 1, 'coriolis_matrix': 2, 'regressor': 3, 'inverse_dynamics_derivatives': 3,
    'forward_dynamics_derivatives': 3, 'forward_kinematics': 1, 'jacobian': 1,
    'jacobian_dot_qd': 2}
OF_LINK = ('forward_kinematics', 'jacobian', 'jacobian_dot_qd')


def python_calls(call):
    """Return the names of the Python functions that a call goes through."""
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name)
                   if event == 'call' else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen[1:]  # the first is `call`


@pytest.mark.parametrize('name', METHODS)
def test_a_method_taken_before_the_first_call_is_fast_from_the_second_on(name):
    dyn = Dynamics(MODEL)
    kept = getattr(dyn, name)
    given = [*arrays(METHODS[name]), *([LINK] if name in OF_LINK else [])]
    expected = getattr(Dynamics(MODEL, backend='python'), name)(*given)
    np.testing.assert_allclose(kept(*given), expected, rtol=1e-9, atol=1e-9)
    assert isinstance(kept, BuiltinFunctionType) and kept is getattr(dyn, name)
    assert python_calls(lambda: kept(*given)) == []
    # what it does not take goes to the method, as before
    np.testing.assert_allclose(kept(list(given[0]), *given[1:]), expected, rtol=1e-9, atol=1e-9)


def test_a_method_taken_after_its_code_was_made():
    dyn = Dynamics(MODEL)
    dyn.prepare('gravity')
    q = arrays(1)[0]
    kept = dyn.gravity
    assert python_calls(lambda: kept(q)) == []


def test_the_class_has_functions_with_their_signature():
    assert inspect.isfunction(Dynamics.gravity)
    assert list(inspect.signature(Dynamics.gravity).parameters) == ['self', 'q', 'out']
    assert Dynamics.gravity.__doc__ == Dynamics(MODEL).gravity.__doc__


def test_python_runs_methods():
    dyn = Dynamics(MODEL, backend='python')
    assert isinstance(dyn.gravity, MethodType) and 'gravity' not in vars(dyn)


class Counting(Dynamics):
    """Counts the calls of a method that it overrides."""

    calls = 0

    def gravity(self, q, out=None):
        """Return gravity, counted."""
        self.calls += 1
        return super().gravity(q, out=out)


def test_a_method_that_is_overridden_stays():
    q = arrays(1)[0]
    dyn = Counting(MODEL)
    for _ in range(5):
        np.testing.assert_array_equal(dyn.gravity(q), Dynamics(MODEL).gravity(q))
    assert dyn.calls == 5
    dyn.bias(q, q)
    assert isinstance(dyn.bias, BuiltinFunctionType)


def test_a_copy_has_functions_of_its_own():
    dyn = Dynamics(MODEL)
    q = np.full(JOINTS, 0.3)
    kept, before = dyn.gravity, dyn.gravity(q)
    other = copy(dyn)
    other.update(MODEL.with_gravity((0.0, 0.0, 0.0)))
    assert not other.gravity(q).any() and other.gravity is not kept
    np.testing.assert_array_equal(kept(q), before)
