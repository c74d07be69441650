"""A law of the user over scalars: compiled, and supervised as any other."""

from closed_loop import arm, BENT, MODEL
from design import settings_of, with_settings
import numpy as np
import pytest
from robodyn_ros.control import ArmController, load_own_law, make_gains, Mode, Term
from robodyn_ros.control.examples.scalar_law import stiffening
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError

OWN = settings_of(mode='own_law', activation_time=0.1)
NAME = 'robodyn_ros.control.examples.scalar_law:stiffening'
THIS = 'test_control_compiled_law'


def twice(arm, x):
    return {'gravity': arm.motion(x.q, x.qd, x.qdd_ref)[Term.GRAVITY], 'feedback': [
        0.5 * (r - q) - 0.1 * v for r, q, v in zip(x.q_ref, x.q, x.qd)]}


def unbounded(arm, x):
    return {Term.FEEDBACK: [(q + 10.0) * 1e300 * 1e300 for q in x.q]}


def breaking(arm, x):
    return {Term.FEEDBACK: [x.kp[7]]}


def misspelt(arm, x):
    return {'gravty': x.q}


def short(arm, x):
    return {'gravity': x.q[:3]}


def three(arm, x, more):
    return {}


def of(law, **options):
    loop = arm()
    dynamics = Dynamics(MODEL)
    loop.settings = with_settings(OWN, friction_scale=0.0, feedback_inertia=[0.0])
    loop.control = ArmController(dynamics, loop.settings, load_own_law(law, dynamics, 1e-3))
    loop.start(BENT)
    return loop


def test_it_follows_with_the_terms_that_it_returns():
    loop = of(NAME)
    loop.run(0.2)
    assert loop.control.law_at_work == 'own_law'
    loop.follow(loop.swing(1.0, 0.4), 1.0)
    loop.run(0.5)
    assert loop.control.mode is Mode.TRACK
    loop.run(1.0)
    assert np.abs(loop.error).max() < 1e-3 and not loop.control.fault
    terms = loop.control.terms
    q, qd = loop.plant.q, loop.plant.qd
    loop.control.update(loop.now, q, qd)
    reference = loop.control.reference
    dynamics, gains = loop.dynamics, make_gains(loop.dynamics)
    error = reference.q - q
    feedback = gains.kp * (1.0 + np.abs(error)) * error + gains.kd * (reference.qd - qd)
    np.testing.assert_allclose(terms[Term.FEEDBACK], dynamics.mass_matrix(q) @ feedback, atol=1e-9)
    np.testing.assert_allclose(terms[Term.TOTAL], dynamics.inverse_dynamics(
        q, qd, reference.qdd) + dynamics.mass_matrix(q) @ feedback, atol=1e-8)


def test_names_of_terms_do_as_well():
    loop = of(f'{THIS}:twice')
    loop.run(0.5)
    assert loop.control.law_at_work == 'own_law'
    np.testing.assert_allclose(loop.control.terms[Term.GRAVITY],
                               loop.dynamics.gravity(loop.plant.q), atol=1e-3)


def test_a_torque_that_is_not_finite_gives_the_arm_to_the_built_in_law():
    loop = of(f'{THIS}:unbounded')
    loop.run(0.3)
    assert loop.control.law_at_work == 'computed_torque'
    assert loop.control.fault == 'own law: its torque is not a finite number below 1e+09 N m'
    assert np.isfinite(loop.torques).all() and np.abs(loop.plant.q - BENT).max() < 1e-3


@pytest.mark.parametrize('name, message', [
    (f'{THIS}:breaking', r'IndexError: .* \(test_control_compiled_law.py, line \d+, in breaking'),
    (f'{THIS}:misspelt', "no term 'gravty'.*gravity"),
    (f'{THIS}:short', "'gravity' has 3 numbers; give one per joint, 7"),
    (f'{THIS}:three', 'write def law'),
    (f'{THIS}:twise', "has no 'twise'.*twice")])
def test_mistakes_are_named_before_there_is_an_arm(name, message):
    with pytest.raises(ParameterError, match=message):
        of(name)


def test_it_is_a_law_of_twenty_lines():
    source = open(stiffening.__code__.co_filename, encoding='utf-8').read()
    assert len(source.splitlines()) <= 20
