"""Estimation of the payload in closed loop: its result, and when it is not updated."""

from closed_loop import BENT, Loop, MODEL
from design import change_settings, settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Term, with_slots
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.settings import AdaptiveSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import Payload

SLOTTED = with_slots(MODEL)
ADAPTIVE = settings_of(mode='adaptive')
PRECISE = settings_of(mode='adaptive', adaptive__dead_zone=0.0)
COM = (0.02, -0.03, 0.1)
NOTHING = np.zeros((3, 3))
START = 0.75  # s until feedback is there and a transition is over


def carrying(mass):
    return MODEL.with_payload('tool0', mass, COM)


def loop_with(mass=1.0, settings=ADAPTIVE, **options):
    """Return a loop around an arm with an unknown payload."""
    options.setdefault('q', BENT)
    options.setdefault('plant', carrying(mass))
    return Loop(SLOTTED, settings, **options)


def learned(mass=1.0, settings=ADAPTIVE, seconds=3.0):
    """Return a loop whose payload was estimated while the arm was held."""
    loop = loop_with(mass, settings)
    loop.run(START + seconds)
    return loop


def excite(loop, seconds=6.0):
    """Move all joints, each at a pace of its own, through rest at both ends."""
    names, control = loop.plant.model.joint_names, loop.control
    rng = np.random.default_rng(4)
    for _ in range(round(seconds / 1.5)):
        loop.follow(BENT + rng.uniform(-0.5, 0.5, 7), 1.4, names)
        loop.run(1.5)
    assert not control.fault


def set_payload_at_activation(loop, payload):
    """Set a payload of the controller from its activation on."""
    loop.control.activation.deactivate()
    loop.control.load_changes.set_payload(payload)
    loop.control.activate(loop.now, loop.plant.q, loop.plant.qd)


def eigenvalues(adaptation):
    """Return those of the estimate with lengths in parts of its size."""
    size = AdaptiveSettings().size
    lengths = np.array([size, size, size, 1.0])
    return np.linalg.eigvalsh(adaptation.pseudo_inertia / np.outer(lengths, lengths))


# --- what it learns -------------------------------------------------------------------------

@pytest.mark.parametrize('mass', [1.0, 3.0])
def test_an_unknown_payload_causes_no_offset(mass):
    loop = learned(mass)
    # computed torque alone keeps the error that its springs need to hold it
    other = loop_with(mass, settings_of())
    other.run(START + 3.0)
    assert np.abs(other.error[-1]).max() > 0.4
    assert np.abs(loop.error[-1]).max() < 0.01
    # of 15 N m per kg at the second joint
    expected_gravity = Dynamics(carrying(mass)).gravity(loop.plant.q)
    np.testing.assert_allclose(loop.control.gravity_torque(), expected_gravity, atol=0.3)


def test_without_a_dead_zone_the_gravity_torque_is_identified():
    loop = learned(2.0, PRECISE, 6.0)
    expected_gravity = Dynamics(carrying(2.0)).gravity(loop.plant.q)
    np.testing.assert_allclose(loop.control.gravity_torque(), expected_gravity, atol=0.02)
    assert np.abs(loop.error[-1]).max() < 5e-4


@pytest.mark.parametrize('mass', [1.0, 3.0])
def test_motion_identifies_the_mass_and_the_gravity_torque_in_other_poses(mass):
    loop = loop_with(mass)
    loop.run(START)
    excite(loop)
    assert loop.control.adaptation.payload.mass == pytest.approx(mass, rel=0.05)
    poses = BENT + np.random.default_rng(8).uniform(-0.5, 0.5, (50, 7))
    true = Dynamics(carrying(mass)).gravity(poses)
    unknown = true - Dynamics(MODEL).gravity(poses)
    left = true - loop.dynamics.gravity(poses)
    # where the mass is comes slower than how much it is
    assert np.linalg.norm(left) < 0.15 * np.linalg.norm(unknown)


def test_tracking_gets_better_by_what_was_learned():
    loop = loop_with(3.0)
    loop.run(START)
    excite(loop, 1.5)
    first = np.abs(loop.error[-1400:]).max()
    excite(loop, 4.5)
    begin = len(loop.log)
    excite(loop, 1.5)
    assert np.abs(loop.error[begin:]).max() < 0.7 * first


# --- what keeps it within bounds ------------------------------------------------------------

@pytest.mark.parametrize('payload', [-2.0, 2.0], ids=['lighter', 'heavier'])
def test_it_stays_physical_under_noise_and_wrong_signs(payload):
    # noise far beyond any sensor, and an arm that is lighter than its model
    plant = carrying(payload) if payload > 0.0 else MODEL
    settings = settings_of(mode='adaptive', adaptive__rate=20.0)
    loop = loop_with(settings=settings, plant=plant)
    if payload < 0.0:
        known = {'tool0': Payload('tool0', -payload, COM, NOTHING)}
        set_payload_at_activation(loop, known['tool0'])
    adaptation, rng = loop.control.adaptation, np.random.default_rng(7)
    changed = 0
    for _ in range(2000):
        q = loop.plant.q + rng.normal(0.0, 2e-3, 7)
        qd = loop.plant.qd + rng.normal(0.0, 0.05, 7)
        before = adaptation.pseudo_inertia.copy()
        loop.send(loop.control.update(loop.now, q, qd))
        values = eigenvalues(adaptation)
        assert -1e-9 < values[0] and values[-1] < settings.adaptive.largest_mass + 1e-9
        changed += np.any(adaptation.pseudo_inertia != before)
    assert changed > 100
    assert np.all(np.abs(loop.torques) <= MODEL.effort_limit)


def test_persistent_contact_leads_to_the_bound_and_back():
    settings = settings_of(mode='adaptive', adaptive__largest_mass=2.0)
    loop = loop_with(0.5, settings)
    loop.run(START)
    loop.plant.push('tool0', (0.0, 0.0, -60.0, 0.0, 0.0, 0.0))
    loop.run(5.0)
    adaptation = loop.control.adaptation
    values = eigenvalues(adaptation)
    assert values[-1] == pytest.approx(2.0, rel=1e-6)
    assert adaptation.payload.mass <= 2.0
    assert np.all(np.abs(loop.torques) <= MODEL.effort_limit)
    loop.plant.push('tool0', None)
    loop.run(5.0)
    expected_gravity = Dynamics(carrying(0.5)).gravity(loop.plant.q)
    np.testing.assert_allclose(loop.control.gravity_torque(), expected_gravity, atol=0.5)


def test_smaller_bounds_count_at_once_and_step_no_torque():
    loop = learned(3.0)
    begin = len(loop.log) - 1
    change_settings(loop.control, adaptive__largest_mass=1.0)
    assert eigenvalues(loop.control.adaptation)[-1] == pytest.approx(1.0)
    loop.run(0.2)
    steps = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert steps.max() < 0.012


# --- when it does not learn -----------------------------------------------------------------

def saturate(loop):
    change_settings(loop.control, torque_rate_limit=0.01, transition_time=0.0)


def stiffen(loop):
    change_settings(loop.control, natural_frequency=30.0, friction_scale=0.0)


def lose_gravity(loop):
    change_settings(loop.control, gravity_scale=0.9, friction_scale=0.0)
    loop.run(0.3)


def apply_known_wrench(loop):
    loop.control.inputs.apply_wrench(loop.now, 'tool0', (0.0, 0.0, -5.0, 0.0, 0.0, 0.0))


DISTRACTIONS = {
    'saturation': saturate,
    'a transition': stiffen,
    'gravity that is not all commanded': lose_gravity,
    'a known wrench': apply_known_wrench,
    'another law': lambda loop: loop.control.changes.enter('computed_torque'),
    'floating': lambda loop: loop.control.requests.compensate_gravity(),
    'a fault': lambda loop: loop.control.requests.fail('broken'),
}


@pytest.mark.parametrize('name', DISTRACTIONS)
def test_it_does_not_learn_from(name):
    loop = loop_with(3.0)
    loop.run(START)
    adaptation = loop.control.adaptation
    assert adaptation.learning
    DISTRACTIONS[name](loop)
    loop.cycle()
    before = adaptation.pseudo_inertia.copy()
    for _ in range(50):
        loop.cycle()
        assert not adaptation.learning
    np.testing.assert_array_equal(adaptation.pseudo_inertia, before)


def test_it_does_not_learn_at_its_activation_nor_in_silence():
    loop = loop_with(3.0)
    loop.run(0.45)
    assert not loop.control.adaptation.pseudo_inertia.any()
    loop.run(0.5)
    before = loop.control.adaptation.pseudo_inertia.copy()
    assert before.any()
    loop.coast(0.05)
    np.testing.assert_array_equal(loop.control.adaptation.pseudo_inertia, before)
    # and the known payload is compensated meanwhile
    payload = np.abs(loop.control.terms[Term.PAYLOAD])
    assert payload.max() > 5.0


def test_small_errors_teach_nothing():
    settings = settings_of(mode='adaptive', adaptive__dead_zone=5.0)
    loop = loop_with(0.02, settings)
    loop.run(START + 0.5)
    assert loop.control.adaptation.learning
    assert not loop.control.adaptation.pseudo_inertia.any()


# --- in and out of the mode -----------------------------------------------------------------

@pytest.fixture(scope='module')
def moving():
    """
    Return a loop that is still estimating the payload of its arm.

    Its motors have rotors, which are modelled: the estimate of an inertia may be a hundred
    times that of a wrist without one, which feedback in discrete time does not bear.
    """
    rotors = MODEL.effort_limit / 500.0
    return loop_with(2.0, gains={'armature': rotors}, armature=rotors)


@pytest.mark.parametrize('mode', (*TRACKING, 'gravity_compensation'))
def test_no_switch_steps_the_torque(moving, mode):
    loop, control = moving, moving.control
    control.load_changes.set_payload(Payload('tool0', 0.0, (0.0, 0.0, 0.0), NOTHING))
    loop.start(BENT)
    control.changes.enter('adaptive')
    loop.run(START)
    loop.follow(BENT + 0.3, 1.0)
    loop.run(0.3)
    begin = len(loop.log) - 1
    control.changes.enter(mode)
    loop.run(0.08)
    control.changes.enter('adaptive')
    loop.run(0.3)
    steps = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert steps.max() < 0.012


# --- what becomes of it ---------------------------------------------------------------------

def test_it_stays_when_the_mode_is_left():
    loop = learned(2.0, PRECISE, 6.0)
    loop.control.changes.enter('gravity_compensation')
    at = loop.plant.q.copy()
    loop.run(2.0)
    assert np.abs(loop.plant.q - at).max() < 0.1
    loop.control.changes.enter('computed_torque')
    loop.run(2.0)
    assert np.abs(loop.error[-1]).max() < 0.02
    loop.control.activation.deactivate()
    expected_gravity = Dynamics(carrying(2.0)).gravity(loop.plant.q)
    np.testing.assert_allclose(loop.control.gravity_torque(), expected_gravity, atol=0.5)


def test_sent_back_it_becomes_a_known_payload_and_changes_nothing():
    loop = learned(2.0)
    control = loop.control
    # no more is learned, and the arm comes to rest
    change_settings(control, adaptive__rate=0.0)
    loop.run(2.0)
    estimated, before = control.adaptation.payload, control.gravity_torque()
    begin = len(loop.log) - 1
    control.load_changes.set_payload(estimated)
    loop.run(1.5)
    assert np.abs(np.diff(loop.torques[begin:], axis=0)).max() < 1e-3
    np.testing.assert_allclose(control.gravity_torque(), before, atol=1e-3)
    assert control.loads.payloads['tool0'].mass == pytest.approx(estimated.mass)
    # what would be learned now comes on top again
    assert control.adaptation.payload.mass == pytest.approx(estimated.mass)
    assert not control.adaptation.pseudo_inertia.any()


def test_no_payload_on_its_link_forgets_it_and_another_link_does_not():
    loop = learned(2.0)
    control = loop.control
    control.changes.enter('gravity_compensation')
    before = control.gravity_torque()
    control.load_changes.set_payload(Payload('link4', 0.3, (0.0, 0.0, 0.0), NOTHING))
    control.load_changes.set_payload(Payload('link4', 0.0, (0.0, 0.0, 0.0), NOTHING))
    control.activation.deactivate()
    np.testing.assert_allclose(control.gravity_torque(), before, atol=1e-9)
    control.load_changes.set_payload(Payload('tool0', 0.0, (0.0, 0.0, 0.0), NOTHING))
    # where it was seen a cycle ago
    np.testing.assert_allclose(control.gravity_torque(), Dynamics(MODEL).gravity(loop.plant.q),
                               atol=1e-3)
    assert control.adaptation.payload.mass == 0.0


def test_a_payload_that_is_refused_changes_nothing():
    loop = learned(2.0)
    before, estimate = loop.control.gravity_torque(), loop.control.adaptation.payload.mass
    with pytest.raises(ModelError, match='its motor may give'):
        loop.control.load_changes.set_payload(Payload('tool0', 500.0, (0.0, 0.0, 0.0), NOTHING))
    np.testing.assert_array_equal(loop.control.gravity_torque(), before)
    assert loop.control.adaptation.payload.mass == estimate


def test_it_comes_on_top_of_what_is_known():
    loop = Loop(SLOTTED, ADAPTIVE, q=BENT, plant=carrying(2.0))
    set_payload_at_activation(loop, Payload('tool0', 1.5, COM, NOTHING))
    loop.run(START)
    excite(loop, 3.0)
    assert loop.control.adaptation.pseudo_inertia[3, 3] == pytest.approx(0.5, abs=0.15)
    assert loop.control.adaptation.payload.mass == pytest.approx(2.0, abs=0.15)


def test_without_room_for_a_payload_there_is_no_adaptive_law():
    dynamics = Dynamics(MODEL)
    with pytest.raises(ModelError, match=r'with_slots\(model\)'):
        ArmController(dynamics, ADAPTIVE)
    control = ArmController(dynamics)
    with pytest.raises(ModelError, match=r'with_slots\(model\)'):
        control.changes.enter('adaptive')
    assert control.settings.mode == 'computed_torque'
