"""Reflection of the external torque of another arm to a floating one."""

from closed_loop import BENT, Loop, MODEL
import numpy as np
import pytest
from robodyn_ros.control import Term
from robodyn_ros.control.settings import ReflectionSettings
from robodyn_ros.control.steps import reflection
from robodyn_ros.exceptions import ArgumentError, ParameterError, StateError
from design import settings_of
from steps import array, doubles, filled

EXTERNAL = np.zeros(7)
EXTERNAL[1] = 4.0


def floating(**reflection):
    """Return a loop with a floating arm."""
    loop = Loop(MODEL, settings_of(
        mode='gravity_compensation', activation_time=0.05, external_wrench__timeout=0.05,
        reflection=ReflectionSettings(**reflection)), q=BENT)
    loop.run(0.1)
    return loop


def shown(loop):
    return loop.control.terms[Term.EFFORT]


def send_torque(loop, torque, seconds):
    """Send a torque at 50 Hz."""
    for _ in range(round(seconds / 0.02)):
        loop.control.inputs.reflect(loop.now, torque)
        loop.run(0.02)


def test_it_is_reflected_in_part_and_moves_the_arm_that_way():
    loop = floating(gain=0.5)
    send_torque(loop, EXTERNAL, 0.2)
    np.testing.assert_allclose(shown(loop), 0.5 * EXTERNAL, atol=1e-3)
    assert loop.plant.q[1] - BENT[1] > 1e-3


def test_it_comes_and_goes_without_a_step():
    loop = floating(gain=1.0)
    begin = len(loop.torques)
    send_torque(loop, EXTERNAL, 0.2)
    loop.run(0.3)
    steps = np.abs(np.diff(np.array(loop.torques)[begin:, 1]))
    assert steps.max() < 0.1 * EXTERNAL[1]
    assert np.abs(shown(loop)).max() < 1e-3, 'it timed out'


def test_no_more_than_the_limit():
    loop = floating(gain=2.0, limit=0.02)
    send_torque(loop, 1e3 * EXTERNAL, 0.2)
    assert shown(loop)[1] == pytest.approx(0.02 * MODEL.effort_limit[1], rel=1e-3)
    assert not loop.control.fault


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_no_more_than_the_limit_in_either_direction(side):
    """Protects the lower bound of the reflected torque as well as the upper one."""
    limit = 0.1 * np.array(MODEL.effort_limit)
    p = filled(reflection.Program, number=1.0, torque=side * 1e4 * limit, end=1.0, gain=1.0,
               limit=limit)
    m = filled(reflection.Memory)
    for k in range(500):
        m = reflection.update(m, p, *doubles([1e-3 * k, 1e-3]))
        assert (np.abs(array(m.torque)) <= limit).all()
    np.testing.assert_allclose(array(m.torque), side * limit, rtol=1e-9)


def test_only_while_it_floats():
    loop = floating(gain=1.0)
    loop.control.requests.hold()
    send_torque(loop, EXTERNAL, 0.4)
    assert not shown(loop).any()


def test_a_torque_from_before_a_hold_is_not_reflected_after_it():
    loop = floating(gain=1.0)
    send_torque(loop, EXTERNAL, 0.2)
    loop.control.requests.hold()
    loop.run(1.0)
    loop.control.requests.compensate_gravity()
    loop.run(0.002)
    assert not shown(loop).any()


def test_none_by_default_and_what_makes_no_sense_is_refused():
    loop = floating()
    with pytest.raises(StateError, match='reflection.gain is 0'):
        loop.control.inputs.reflect(loop.now, EXTERNAL)
    loop = floating(gain=1.0)
    with pytest.raises(ArgumentError, match=f"'{MODEL.joint_names[1]}' is nan"):
        loop.control.inputs.reflect(loop.now, np.where(EXTERNAL > 0.0, np.nan, EXTERNAL))
    for torque in (EXTERNAL[:3], 4.0):
        with pytest.raises(ArgumentError, match='one for each of the 7 joints'):
            loop.control.inputs.reflect(loop.now, torque)
    loop.run(0.01)
    with pytest.raises(ParameterError, match='reflection.gain'):
        floating(gain=[0.1, 0.2])
