"""What an activation forgets: whatever belongs to the time before it moves no joint after it."""

from closed_loop import arm, BENT, HEAVY, MODEL, ROUNDING
from design import change_settings, settings_of
import numpy as np
import pytest
from robodyn_ros.control import Mode, Term
from robodyn_ros.control.settings import CollisionSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import StateError

SOON = {'activation_time': 0.02, 'external_wrench__timeout': 60.0}


def again(loop):
    """Deactivate and activate where the arm is; return the terms of the first torque."""
    loop.control.activation.deactivate()
    loop.control.activate(loop.now, loop.plant.q, loop.plant.qd)
    loop.cycle()
    return loop.control.terms


@pytest.mark.parametrize('bad', [np.zeros(3), 0.0, None, ['a'] * 7, np.zeros((7, 1))])
def test_a_state_of_another_size_is_refused_with_the_joints(bad):
    loop, good = arm(), np.zeros(7)
    words = r' = .*; give a number for each of joint1, .*, joint7'
    for q, qd, name in ((bad, good, 'position'), (good, bad, 'velocity')):
        with pytest.raises(StateError, match=name + words):
            loop.control.activate(0.0, q, qd)
    if np.ndim(bad) == 1:
        with pytest.raises(StateError, match='velocity' + words):
            loop.control.update(0.0, good, bad)


def test_it_forgets_the_integral_of_the_law():
    """Protects an arm, perhaps with another load by now, from the integral torque of before."""
    loop = arm(settings=settings_of(**SOON), plant=HEAVY,
               gains={'kp': 1200.0, 'kd': 60.0, 'ki': 8000.0})
    loop.run(0.5)
    assert np.abs(loop.control.terms[Term.INTEGRAL]).max() > 1.0
    assert not again(loop)[Term.INTEGRAL].any()
    np.testing.assert_allclose(loop.torque, Dynamics(MODEL).gravity(loop.q[-1]), **ROUNDING)


def test_it_takes_the_requested_stiffness_and_a_full_tank():
    """Protects from the stiffness, half-way to another one, and the energy of an earlier hold."""
    loop = arm(settings=settings_of(
        mode='joint_impedance', impedance__energy_tank=0.01, transition_time=1.0, **SOON),
               gains={'impedance__stiffness': 50.0}, plant=HEAVY)
    loop.run(1.0)
    change_settings(loop.control, impedance__stiffness=500.0)
    loop.run(0.3)
    stiffness = loop.control.host.memory.springs
    assert stiffness.energy < 0.005 and stiffness.value.max() < 250.0
    again(loop)
    np.testing.assert_array_equal(stiffness.value, 500.0)
    assert stiffness.energy == 0.01


def test_it_forgets_external_wrenches():
    """Protects from torque against a wrench that was measured before the activation."""
    loop = arm(settings=settings_of(**SOON))
    loop.run(0.1)
    loop.control.inputs.apply_wrench(loop.now, 'tool0', [0.0, 0.0, 10.0, 0.0, 0.0, 0.0])
    loop.run(0.1)
    assert np.abs(loop.control.terms[Term.EXTERNAL]).max() > 1.0
    assert not again(loop)[Term.EXTERNAL].any() and not loop.control.inputs.wrenches.links


def test_it_forgets_target_wrenches():
    """Protects from a link that presses again although nothing requested it since."""
    loop = arm(settings=settings_of(mode='cartesian_impedance', **SOON))
    loop.run(0.1)
    loop.control.inputs.press(loop.now, 'tool0', [0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    loop.run(0.1)
    assert np.abs(loop.control.terms[Term.EXTERNAL]).max() > 1.0
    assert not again(loop)[Term.EXTERNAL].any() and not loop.control.inputs.target.links


def test_it_forgets_the_torque_of_another_arm():
    """Protects a floating arm from the reflected torque of before the activation."""
    loop = arm(settings=settings_of(mode='gravity_compensation', reflection__gain=1.0, **SOON))
    loop.run(0.1)
    loop.control.inputs.reflect(loop.now, [0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    loop.run(0.1)
    assert np.abs(loop.control.terms[Term.EFFORT]).max() > 1.0
    assert not again(loop)[Term.EFFORT].any()
    assert loop.control.mode is Mode.FLOAT


@pytest.mark.parametrize('reaction', ['stop', 'float'])
def test_it_forgets_a_collision_and_what_the_observer_has_seen(reaction):
    """Protects a new start from the fault, and from the external torque of before."""
    collision = CollisionSettings(0.05 * MODEL.effort_limit, reaction=reaction)
    loop = arm(settings=settings_of(collision=collision, **SOON))
    loop.run(0.1)
    loop.plant.push('tool0', [0.0, 0.0, 150.0, 0.0, 0.0, 0.0])
    loop.run(0.1)
    control = loop.control
    assert control.fault and control.observation.collision
    loop.plant.reset(BENT)
    again(loop)
    assert not control.fault and not control.observation.collision
    assert not control.observation.torque.any()
    loop.run(0.1)
    assert not control.fault and control.mode is Mode.HOLD
