"""A law of the user: it works as the built-in ones do, and its failure ends in rest."""

from pathlib import Path
import re

from closed_loop import arm, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import load_own_law, make_gains, Mode, Term
from robodyn_ros.control.examples import scalar_law
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.flags import when
from robodyn_ros.dynamics.jit.trace import absolute
from robodyn_ros.exceptions import ParameterError, StateError

OWN = settings_of(mode='own_law', activation_time=0.1)
PAGE = Path(__file__).resolve().parents[1] / 'docs' / 'own_law.md'
THIS = 'test_control_own_law'
NOT_FINITE = 'own law: its torque is not a finite number below 1e+09 N m'
ROUNDING = 1e-9
FAST = 0.3  # rad/s of the reference, from which on `failing` fails


def textbook(arm, x):
    desired = [400.0 * (r - q) + 40.0 * (v - qd)
               for r, q, v, qd in zip(x.q_ref, x.q, x.qd_ref, x.qd)]
    return {**arm.motion(x.q, x.qd, x.qdd_ref), Term.FEEDBACK: arm.inertial(x.q, desired),
            Term.EXTERNAL: x.external}


def failing(arm, x):
    terms = textbook(arm, x)
    fast = absolute(x.qd_ref[1]) > FAST
    return {**terms, Term.EFFORT: [when(fast, float('nan'), 0.0) for _ in x.q]}


def strong(arm, x):
    gravity = arm.motion(x.q, x.qd, x.qdd_ref)[Term.GRAVITY]
    pushes = x.q_ref[0] > 0.35
    return {'gravity': gravity, 'feedback': [
        when(pushes, 3.0 * most, 0.0) for most in MODEL.effort_limit.tolist()]}


def twice(arm, x):
    return {'gravity': arm.motion(x.q, x.qd, x.qdd_ref)[Term.GRAVITY], 'feedback': [
        0.5 * (r - q) - 0.1 * v for r, q, v in zip(x.q_ref, x.q, x.qd)]}


def breaking(arm, x):
    return {Term.FEEDBACK: [x.kp[7]]}


def misspelt(arm, x):
    return {'gravty': x.q}


def short(arm, x):
    return {'gravity': x.q[:3]}


def nothing(arm, x):
    return {}


def three(arm, x, more):
    return {}


class Law:
    pass


@pytest.fixture
def loop():
    return arm(own_law=textbook, settings=OWN)


# --- at work ------------------------------------------------------------------------------------


def test_it_follows_as_the_built_in_law_with_the_same_equation_does(loop):
    other = arm(settings=settings_of(activation_time=0.1), gains={'natural_frequency': 20.0})
    for each in (loop, other):
        each.run(0.5)
        each.follow(each.swing(1.5, 0.4), 1.5)
        each.run(1.7)
    assert loop.control.status.law_at_work == 'own_law'
    assert other.control.status.law_at_work == 'computed_torque'
    assert np.abs(loop.q - other.q).max() < 1e-9
    assert loop.control.mode is Mode.HOLD and np.abs(loop.error[-1]).max() < 1e-3


def test_its_terms_are_reported_and_their_sum_is_sent(loop):
    loop.run(0.6)
    terms = loop.control.terms
    np.testing.assert_allclose(terms[Term.GRAVITY], loop.dynamics.gravity(loop.plant.q), atol=1e-2)
    np.testing.assert_allclose(terms[Term.TOTAL], terms[:Term.TOTAL].sum(axis=0), atol=ROUNDING)
    np.testing.assert_array_equal(terms[Term.TOTAL], loop.torque)


def test_it_gets_gains_and_reference():
    loop = arm(own_law=scalar_law.stiffening, settings=OWN)
    loop.run(0.2)
    loop.follow(loop.swing(1.0, 0.4), 1.0)
    loop.run(0.5)
    q, qd = loop.plant.q, loop.plant.qd
    loop.control.update(loop.now, q, qd)
    reference, terms = loop.control.reference, loop.control.terms
    dynamics, gains = loop.dynamics, make_gains(loop.dynamics)
    error = reference.q - q
    feedback = gains.kp * (1.0 + np.abs(error)) * error + gains.kd * (reference.qd - qd)
    np.testing.assert_allclose(terms[Term.FEEDBACK], dynamics.mass_matrix(q) @ feedback, atol=1e-9)
    np.testing.assert_allclose(terms[Term.TOTAL], dynamics.inverse_dynamics(
        q, qd, reference.qdd) + dynamics.mass_matrix(q) @ feedback, atol=1e-8)


def test_names_of_terms_do_as_well():
    loop = arm(own_law=twice, settings=OWN)
    loop.run(0.5)
    assert loop.control.status.law_at_work == 'own_law'
    np.testing.assert_allclose(loop.control.terms[Term.GRAVITY],
                               loop.dynamics.gravity(loop.plant.q), atol=1e-3)


def test_it_gets_an_arm_that_is_in_hand_and_again_after_silence(loop):
    loop.run(0.09)
    assert loop.control.status.law_at_work != 'own_law'
    loop.run(0.1)
    assert loop.control.status.law_at_work == 'own_law'
    loop.coast(0.1)
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.run(0.05)
    assert loop.control.status.law_at_work == 'computed_torque'
    loop.run(0.2)
    assert loop.control.status.law_at_work == 'own_law'


def test_feedback_is_kept_within_the_motors():
    loop = arm(own_law=strong, settings=OWN, q=np.where(np.arange(7) == 0, 0.4, 0.0))
    loop.run(0.3)
    terms, limit = loop.control.terms, loop.control.status.effort_limit
    assert np.all(np.abs(loop.torque) <= limit * (1 + ROUNDING)) and not loop.control.fault
    # by one factor
    shares = 1.0 + terms[Term.LIMIT] / terms[Term.FEEDBACK]
    np.testing.assert_array_equal(terms[Term.FEEDBACK], 3.0 * MODEL.effort_limit)
    assert np.ptp(shares) < 0.05 and shares.max() < 0.5  # the rest is the limit of the rate
    assert (np.abs(loop.torque) / limit).max() == pytest.approx(1.0, abs=0.02)


# --- faults -------------------------------------------------------------------------------------


def failed():
    """Return a loop whose law has just failed in a motion."""
    loop = arm(own_law=failing, settings=OWN)
    loop.run(0.3)
    loop.follow(loop.swing(1.0, 0.4), 1.0)
    while not loop.control.fault:
        loop.cycle()
    return loop


def test_the_built_in_law_brings_the_arm_to_rest():
    loop = failed()
    assert np.abs(loop.plant.qd).max() > 0.9 * FAST
    begin, q = len(loop.log) - 2, loop.plant.q.copy()
    loop.run(0.6)
    assert loop.control.fault == NOT_FINITE
    assert loop.control.mode is Mode.HOLD and loop.control.status.law_at_work == 'computed_torque'
    assert np.abs(loop.plant.qd).max() < 1e-2 and np.abs(loop.plant.q - q).max() < 0.3
    assert np.isfinite(loop.torques).all()
    changes = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert changes.max() < 0.012, 'the torque steps'


def test_after_a_fault_the_built_in_law_holds_until_the_mode_is_chosen_again():
    loop = failed()
    loop.run(0.5)
    with pytest.raises(StateError, match='a fault is latched: own law'):
        loop.control.changes.enter('own_law')
    loop.control.reset_fault()
    loop.run(0.3)
    assert loop.control.status.law_at_work == 'computed_torque' and not loop.control.fault
    loop.follow(loop.swing(1.0, 0.3), 1.0)  # motions are possible
    loop.run(1.2)
    loop.control.changes.enter('own_law')
    loop.run(0.1)
    assert loop.control.status.law_at_work == 'own_law'


def test_stop_is_the_built_in_law_and_hold_is_not(loop):
    loop.run(0.3)
    loop.control.requests.hold()
    loop.run(0.3)
    assert loop.control.status.law_at_work == 'own_law'
    loop.control.requests.stop('stop was requested')
    loop.run(0.3)
    assert loop.control.status.law_at_work == 'computed_torque'
    assert loop.control.message == 'stop was requested'


def test_a_fault_from_outside_disables_the_own_law(loop):
    loop.run(0.3)
    loop.control.requests.fail('the guard is gone')
    loop.run(0.1)
    assert loop.control.status.law_at_work == 'computed_torque'
    assert loop.control.fault == 'the guard is gone'


# --- at configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize('name, message', [
    (f'{THIS}:breaking', r'IndexError: .* \(test_control_own_law.py, line \d+, in breaking'),
    (f'{THIS}:misspelt', fr"no term 'gravty'.*gravity.*\({THIS}.py, line \d+, in misspelt"),
    (f'{THIS}:short', fr"'gravity' has 3 numbers; give one per joint, 7 \({THIS}.py, line \d+"),
    (f'{THIS}:nothing', 'the arm would fall'),
    (f'{THIS}:three', 'write def law'),
    (f'{THIS}:Law', 'it is no function: write def law'),
    (f'{THIS}:twise', "has no 'twise'.*twice"),
    ('nowhere:law', "own_law 'nowhere:law': there is no module 'nowhere': install its package for "
     'this Python, or add its folder to PYTHONPATH')])
def test_mistakes_are_named_before_there_is_an_arm(name, message):
    dynamics = Dynamics(MODEL)
    with pytest.raises(ParameterError, match=message):
        load_own_law(name, dynamics).function(arm().control.host.compiled.dimensions)


@pytest.mark.parametrize('text, message', [
    ('def law(', 'its module cannot be imported: SyntaxError'),
    ('import no_such_package', "there is no module 'no_such_package': install")])
def test_a_module_that_cannot_be_imported(tmp_path, monkeypatch, text, message):
    name = f'law_of_test_{len(text)}'
    (tmp_path / f'{name}.py').write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ParameterError, match=message):
        load_own_law(f'{name}:law', Dynamics(MODEL))


def test_a_registered_law_is_found_by_its_name(tmp_path, monkeypatch):
    dynamics, folder = Dynamics(MODEL), tmp_path / 'theirs-1.0.dist-info'
    folder.mkdir()
    (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n')
    (folder / 'entry_points.txt').write_text(
        '[robodyn_ros.control_laws]\nstiff = robodyn_ros.control.examples.scalar_law:stiffening\n'
        'broken = robodyn_ros.control.examples.scalar_law:nothing\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert load_own_law('stiff', dynamics).name == 'stiff'
    with pytest.raises(ParameterError, match='cannot be loaded'):
        load_own_law('broken', dynamics)
    with pytest.raises(ParameterError, match="no law of that name is registered .*'stiff'"):
        load_own_law('stif', dynamics)


def test_the_mode_needs_a_law():
    other = arm()
    with pytest.raises(ParameterError, match='mode own_law needs the parameter own_law'):
        other.control.changes.enter('own_law')
    with pytest.raises(ParameterError, match='mode own_law needs the parameter own_law'):
        arm(settings=OWN)


def test_the_page_shows_the_example_of_twenty_lines():
    shown = re.findall(r'```python\n(.*?)```', PAGE.read_text(encoding='utf-8'), re.DOTALL)[0]
    assert shown == Path(scalar_law.__file__).read_text(encoding='utf-8')
    assert len(shown.splitlines()) <= 20
