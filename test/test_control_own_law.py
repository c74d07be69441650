"""A law of the user: it works as the built-in ones do, and whatever it does wrong ends in rest."""

from pathlib import Path
import re
import sys
import time

from closed_loop import arm, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import load_own_law, Mode, Term
from robodyn_ros.control.examples import scalar_law
from robodyn_ros.control.examples.own_law import Integrating
from robodyn_ros.control.external_laws.own_law import OwnLawRunner
from robodyn_ros.control.external_laws.stopwatch import Stopwatch
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.trajectory import Reference

OWN = settings_of(mode='own_law', activation_time=0.1)
DOCS = Path(__file__).resolve().parents[1] / 'docs' / 'own_law.md'
# in the tests any pause of the machine is pardoned; of what is right not even rounding differs
PATIENT, ROUNDING = 1.0, 1e-9


class Good:
    """The textbook's computed torque; `misbehaviour` is done instead when it is set."""

    misbehaviour = None

    def __init__(self, dynamics):
        self.dynamics, self.starts = dynamics, 0
        Good.made = self

    def start(self, state, reference):
        self.starts += 1

    def terms(self, state, reference):
        if self.misbehaviour is not None:
            return self.misbehaviour(state, reference)
        correction = 40.0 * (reference.qd - state.qd) + 400.0 * (reference.q - state.q)
        held = self.dynamics.gravity(state.q)
        motion = self.dynamics.inverse_dynamics(state.q, state.qd, reference.qdd)
        return {'inertia': motion - held, 'gravity': held, 'external': state.external,
                'feedback': self.dynamics.mass_matrix(state.q) @ correction}


@pytest.fixture
def loop():
    return arm(own_law=Good, settings=OWN)


@pytest.fixture(scope='module')
def dynamics():
    return Dynamics(MODEL)


# --- at work ------------------------------------------------------------------------------------


def test_it_follows_as_the_built_in_law_with_the_same_equation_does(loop):
    other = arm(settings=settings_of(activation_time=0.1), gains={'natural_frequency': 20.0})
    for each in (loop, other):
        each.run(0.5)
        each.follow(each.swing(1.5, 0.4), 1.5)
        each.run(1.7)
    assert loop.control.law_at_work == 'own_law' and other.control.law_at_work == 'computed_torque'
    assert np.abs(loop.q - other.q).max() < 1e-9
    assert loop.control.mode is Mode.HOLD and np.abs(loop.error[-1]).max() < 1e-3


def test_its_terms_are_reported_and_their_sum_is_sent(loop):
    loop.run(0.6)
    terms = loop.control.terms
    np.testing.assert_allclose(terms[Term.GRAVITY], loop.dynamics.gravity(loop.plant.q), atol=1e-2)
    np.testing.assert_allclose(terms[Term.TOTAL], terms[:Term.TOTAL].sum(axis=0), atol=ROUNDING)
    np.testing.assert_array_equal(terms[Term.TOTAL], loop.torque)


def test_it_gets_an_arm_that_is_in_hand_and_begins_anew_after_silence(loop):
    loop.run(0.09)
    assert not loop.control.law_at_work == 'own_law'
    loop.run(0.1)
    assert loop.control.law_at_work == 'own_law' and Good.made.starts == 2  # one was the trial
    loop.coast(0.1)
    loop.control.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.run(0.05)
    assert loop.control.law_at_work == 'computed_torque'
    loop.run(0.2)
    assert loop.control.law_at_work == 'own_law' and Good.made.starts == 3


def test_what_it_sees_it_cannot_change(loop):
    def vandal(state, reference):
        for array in (state.q, state.qd, state.external, *reference.arrays):
            with pytest.raises(ValueError, match='read-only'):
                array[0] = 1.0
        seen.append((state.q.copy(), state.time, state.dt))
        return {}

    seen = []
    loop.run(0.3)
    Good.made.misbehaviour = vandal
    q, now = loop.plant.q.copy(), loop.now
    loop.cycle()
    np.testing.assert_array_equal(seen[0][0], q)
    assert seen[0][1] == now and seen[0][2] == pytest.approx(1e-3)
    assert not loop.control.fault


def test_feedback_is_kept_within_the_motors(loop):
    def strong(state, reference):
        return {'gravity': held(state.q), 'feedback': 3.0 * MODEL.effort_limit}

    held = loop.dynamics.gravity
    loop.run(0.3)
    Good.made.misbehaviour = strong
    loop.run(0.15)
    terms, limit = loop.control.terms, loop.control.effort_limit
    assert np.all(np.abs(loop.torque) <= limit * (1 + ROUNDING)) and not loop.control.fault
    # by one factor
    shares = 1.0 + terms[Term.LIMIT] / terms[Term.FEEDBACK]
    np.testing.assert_array_equal(terms[Term.FEEDBACK], 3.0 * MODEL.effort_limit)
    assert np.ptp(shares) < 0.05 and shares.max() < 0.5  # the rest is the limit of the rate
    assert (np.abs(loop.torque) / limit).max() == pytest.approx(1.0, abs=0.02)


# --- faults -------------------------------------------------------------------------------------


def raises(state, reference):
    return {'gravity': 1 / len({})}


def exits(state, reference):
    sys.exit('enough')


def late(state, reference):
    time.sleep(1.05 * PATIENT)
    return {}


LINE = raises.__code__.co_firstlineno + 1
MISBEHAVIOURS = {
    'exception': (raises, 'own law Good: ZeroDivisionError: division by zero'),
    'exit': (exits, r'own law Good: SystemExit: enough \(test_control_own_law.py, line \d+, in'),
    'nan': (lambda state, _: {'gravity': state.q * np.nan},
            "own law Good: term 'gravity' is nan for joint 'joint1'"),
    'infinite': (lambda state, _: {'effort': np.where(np.arange(7) == 3, np.inf, 0.0)},
                 "term 'effort' is inf for joint 'joint4'"),
    'shape': (lambda state, _: {'gravity': state.q[:6]},
              r"term 'gravity' has shape \(6,\); give one number per joint, \(7,\)"),
    'scalar': (lambda state, _: {'gravity': 1.0}, r"term 'gravity' has shape \(\)"),
    'text': (lambda state, _: {'gravity': 'much'}, 'ValueError: could not convert'),
    'unknown': (lambda state, _: {'gravitiy': state.q},
                "there is no term 'gravitiy': did you mean 'gravity'?"),
    'total': (lambda state, _: {'total': state.q}, "there is no term 'total'"),
    'array': (lambda state, _: state.q, 'terms returned ndarray; it must return a mapping'),
    'nothing': (lambda state, _: None, 'terms returned NoneType'),
    'recursion': (lambda state, _: MISBEHAVIOURS['recursion'][0](state, _), 'RecursionError'),
    'late': (late, r'it took \S+ ms, own_law_deadline is 1e\+03 ms')}


@pytest.mark.parametrize('misbehaviour, words', MISBEHAVIOURS.values(), ids=MISBEHAVIOURS)
def test_its_error_is_reported(dynamics, misbehaviour, words):
    runner = OwnLawRunner('Good', Good(dynamics), dynamics, PATIENT)
    Good.made.misbehaviour = misbehaviour
    assert re.search(words, problem_of(runner))


def problem_of(runner):
    return runner.evaluate(0.0, 1e-3, np.zeros((3, 7)), Reference.at_rest(np.zeros(7)))


@pytest.mark.parametrize('kind', ['exception', 'nan', 'late'])
def test_the_built_in_law_brings_the_arm_to_rest(loop, kind):
    misbehaviour, words = MISBEHAVIOURS[kind]
    loop.run(0.3)
    loop.follow(loop.swing(1.0, 0.4), 1.0)
    loop.run(0.5)
    assert loop.control.mode is Mode.TRACK and np.abs(loop.plant.qd).max() > 0.3
    begin, q = len(loop.log) - 1, loop.plant.q.copy()
    Good.made.misbehaviour = misbehaviour
    loop.run(0.6)
    assert re.search(words, loop.control.fault), loop.control.fault
    assert loop.control.mode is Mode.HOLD and loop.control.law_at_work == 'computed_torque'
    assert np.abs(loop.plant.qd).max() < 1e-2 and np.abs(loop.plant.q - q).max() < 0.3
    changes = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert changes.max() < 0.012, 'the torque steps'


def test_the_line_of_the_exception_is_reported(loop):
    loop.run(0.3)
    Good.made.misbehaviour = raises
    loop.cycle()
    assert f'(test_control_own_law.py, line {LINE}, in raises)' in loop.control.fault


def test_after_a_fault_the_built_in_law_holds_until_the_mode_is_chosen_again(loop):
    loop.run(0.3)
    Good.made.misbehaviour = raises
    loop.run(0.5)
    with pytest.raises(StateError, match='a fault is latched: own law Good'):
        loop.control.enter('own_law')
    loop.control.reset_fault()
    Good.made.misbehaviour = None
    loop.run(0.3)
    assert loop.control.law_at_work == 'computed_torque' and not loop.control.fault
    loop.follow(loop.swing(1.0, 0.3), 1.0)  # motions are possible
    loop.run(1.2)
    loop.control.enter('own_law')
    loop.run(0.1)
    assert loop.control.law_at_work == 'own_law'


def test_stop_is_the_built_in_law_and_hold_is_not(loop):
    loop.run(0.3)
    loop.control.hold()
    loop.run(0.3)
    assert loop.control.law_at_work == 'own_law'
    loop.control.stop('stop was requested')
    loop.run(0.3)
    assert loop.control.law_at_work == 'computed_torque'
    assert loop.control.message == 'stop was requested'


def test_a_fault_from_outside_disables_the_own_law(loop):
    loop.run(0.3)
    loop.control.fail('the guard is gone')
    loop.run(0.1)
    assert loop.control.law_at_work == 'computed_torque'
    assert loop.control.fault == 'the guard is gone'


def test_start_is_judged_as_well(loop):
    def start(state, reference):
        raise RuntimeError('not today')

    loop.run(0.05)
    Good.made.start = start
    loop.run(0.2)
    assert 'own law Good: RuntimeError: not today' in loop.control.fault
    assert loop.control.mode is Mode.HOLD and np.abs(loop.error[-1]).max() < 1e-6


# --- at configuration ---------------------------------------------------------------------------


def write(folder, text):
    """Make a module that can be imported; return its name."""
    write.count = getattr(write, 'count', 0) + 1
    name = f'law_of_test_{write.count}'
    (folder / f'{name}.py').write_text(text)
    return name


LAW = ('class Law:\n    def __init__(self, dynamics):\n        {}\n'
       '    def terms(self, s, r):\n        {}')
BAD = {
    'no such class': ('class Laws:\n    pass', "has no 'Law': did you mean 'Laws'"),
    'no method': ('class Law:\n    pass', 'it has no method terms'),
    'no class': ('Law = 3', 'it has no method terms'),
    'syntax': ('class Law(:', 'its module cannot be imported: SyntaxError'),
    'import': ('import no_such_package', "there is no module 'no_such_package': install"),
    'arguments': ('class Law:\n    def terms(self, s, r): pass', 'the argument of its constructor '
                  r'is not the dynamics .*write def __init__\(self, dynamics\)'),
    'constructor': (LAW.format('dynamics.nu', 'pass'),
                    r"constructor failed: AttributeError: .*'nu'"
                    r'.*law_of_test_\d+.py, line 3'),
    'trial': (LAW.format('pass', 'return {"gravity": 1 / 0}'), r'ZeroDivisionError.*line 5.*this '
              'was a trial with the arm at rest'),
    'slow': ('import time\n' + LAW.format('pass', 'time.sleep(0.002); return {}'),
             'it took .* ms, own_law_deadline is 0.5 ms; this was a trial')}


@pytest.mark.parametrize('text, words', BAD.values(), ids=BAD)
def test_what_cannot_work_is_refused_before_there_is_an_arm(
        dynamics, tmp_path, monkeypatch, text, words):
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ParameterError, match=words):
        load_own_law(f'{write(tmp_path, text)}:Law', dynamics, 5e-4)


def test_a_module_that_is_not_there(dynamics):
    with pytest.raises(ParameterError, match=(
            "own_law 'nowhere:Law': there is no module 'nowhere': "
            'install its package for this Python, or add its folder to PYTHONPATH')):
        load_own_law('nowhere:Law', dynamics, PATIENT)


def test_a_registered_law_is_found_by_its_name(dynamics, tmp_path, monkeypatch):
    folder = tmp_path / 'theirs-1.0.dist-info'
    folder.mkdir()
    (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n')
    (folder / 'entry_points.txt').write_text(
        '[robodyn_ros.control_laws]\ngentle = robodyn_ros.control.examples.own_law:Integrating\n'
        'broken = robodyn_ros.control.examples.own_law:Nothing\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert load_own_law('gentle', dynamics, PATIENT).name == 'gentle'
    with pytest.raises(ParameterError, match='Integrating|Nothing.*cannot be loaded'):
        load_own_law('broken', dynamics, PATIENT)
    with pytest.raises(ParameterError, match="no law of that name is registered .*'gentle'"):
        load_own_law('gentel', dynamics, PATIENT)


def test_the_mode_needs_a_law(loop):
    other = arm()
    with pytest.raises(ParameterError, match='mode own_law needs the parameter own_law'):
        other.control.enter('own_law')
    with pytest.raises(ParameterError, match='mode own_law needs the parameter own_law'):
        arm(settings=OWN)


def test_work_and_waiting_count_and_the_time_of_others_does_not(monkeypatch):
    watch = Stopwatch()
    watch.start()
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    assert watch.seconds(0.01) >= 0.02
    watch.start()
    time.sleep(0.02)
    assert watch.seconds(0.01) >= 0.02
    watch.start()
    now = time.perf_counter() + 10.0  # as if the system had done something else so long
    monkeypatch.setattr(time, 'perf_counter', lambda: now)
    assert watch.seconds(5.0) < 5.0


# --- the tutorial -------------------------------------------------------------------------------


def test_the_page_shows_the_example_and_the_example_follows(tmp_path, monkeypatch):
    page = DOCS.read_text(encoding='utf-8')
    scalar, text, _ = re.findall(r'```python\n(.*?)```', page, re.DOTALL)
    assert scalar == Path(scalar_law.__file__).read_text(encoding='utf-8')
    assert len(text.splitlines()) <= 30
    name = write(tmp_path, text)
    monkeypatch.syspath_prepend(tmp_path)
    shown = getattr(__import__(name), 'Integrating')
    for kind in (shown, Integrating):
        loop = arm(own_law=kind, settings=OWN, plant=MODEL.with_payload('link6', 0.3))
        loop.run(0.5)
        loop.follow(loop.swing(1.0), 1.0)
        loop.run(3.0)
        assert loop.control.law_at_work == 'own_law' and not loop.control.fault
        # an unmodelled load causes no error
        assert np.abs(loop.plant.q - loop.control.reference.q).max() < 1e-4
    assert text == Path(sys.modules[Integrating.__module__].__file__).read_text(encoding='utf-8')


def test_a_law_without_gravity_torque_is_refused_for_an_arm_that_needs_one():
    class Nothing:
        def __init__(self, _dynamics):
            pass

        def terms(self, _state, _reference):
            return {}

    with pytest.raises(ParameterError, match='the arm would fall'):
        OwnLawRunner('nothing', Nothing(None), Dynamics(MODEL), deadline=1.0)
