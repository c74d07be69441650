"""What the controller makes of external torque, cycle by cycle, without a loop around it."""

from closed_loop import BENT, MODEL
import numpy as np
import pytest
from robodyn_ros.control import (
    CollisionSettings, ControlLaw, CycleSettings, Loads, make_gains, ObserverSettings, Term,
    with_slots)
from robodyn_ros.control.contact.collision import checked_threshold, CollisionMonitor
from robodyn_ros.control.contact.feedback import ContactFeedback
from robodyn_ros.control.contact.observation import Observation
from robodyn_ros.control.external import ExternalWrenches
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import Payload

LIMIT = np.array(MODEL.effort_limit)
SLOTTED = with_slots(MODEL)
LOAD = Payload('tool0', 2.0, (0.0, 0.0, 0.1), 2e-3 * np.eye(3))
DT, STILL = 1e-3, np.zeros(7)
PUSH = 0.1 * LIMIT * np.array([1, -1, 1, -1, 1, -1, 1])


class Watched:
    """An arm that rests, or is taken to move at a constant velocity, and what is seen of it."""

    dyn = Dynamics(SLOTTED)
    unloaded = dyn.runtime.copy()

    def __init__(self, law='computed_torque', gains=None, collision=None, **observer):
        self.dyn.runtime[:] = self.unloaded
        self.gains = make_gains(self.dyn, **{'friction_scale': 0.0, **(gains or {})})
        self.law = ControlLaw(self.dyn, self.gains, law)
        self.law.terms[:] = 0.0
        self.loads, self.wrenches = Loads(self.dyn), ExternalWrenches(self.dyn)
        self.seen = Observation(
            self.dyn, self.law, self.loads, self.wrenches, CycleSettings(observer=ObserverSettings(
                collision=CollisionSettings(**(collision or {})), **observer)), LIMIT)
        self.seen.begin()

    def state(self, push=0.0, dt=DT, effort=None, free=False, q=BENT, qd=STILL):
        """Take in a state of an arm that is held against a push; return the reaction."""
        torque = self.dyn.gravity(q) - push
        return self.seen.advance(dt, q, qd, torque, effort, free)

    def states(self, count, push=0.0, **options):
        return [self.state(push, **options) for _ in range(count)]


# --- reactions, pauses, and where torque comes from ---------------------------------------------


@pytest.mark.parametrize('reaction', ['report', 'stop', 'float'])
@pytest.mark.parametrize('free', [False, True])
def test_a_collision_is_answered_once_and_only_where_no_hand_leads_the_arm(reaction, free):
    """Protects a hand that leads a floating arm, and a collision that is only to be reported."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT, 'reaction': reaction})
    answers = arm.states(200, PUSH, free=free)
    assert arm.seen.collision.present and arm.seen.collision.count == 1
    assert [each for each in answers if each] == (
        [] if free or reaction == 'report' else [reaction])


@pytest.mark.parametrize('dt', [0.0, -0.1, 0.26, np.nan])
def test_time_that_does_not_pass_or_leaps_begins_observation_anew(dt):
    """Protects from the integral of an error over a pause, or over a negative time."""
    arm = Watched()
    arm.states(300, PUSH)
    np.testing.assert_allclose(arm.seen.torque, PUSH, rtol=1e-3)
    arm.state(PUSH, dt=dt)
    assert not arm.seen.torque.any() and not arm.seen.unknown.any()
    arm.states(300, PUSH)
    np.testing.assert_allclose(arm.seen.torque, PUSH, rtol=1e-3)
    arm.state(PUSH, dt=0.24)
    assert arm.seen.torque.any(), 'a pause that is not too long'


@pytest.mark.parametrize('source', ['command', 'measured'])
def test_measured_effort_counts_where_it_is_chosen_and_where_there_is_some(source):
    """Protects joints that report no effort: what was sent to them counts."""
    arm = Watched(torque_source=source)
    effort = arm.dyn.gravity(BENT) - PUSH
    effort[[1, 4]] = np.nan
    arm.states(300, 0.0, effort=effort)  # of all this the command says nothing
    expected = np.where(np.isnan(effort), 0.0, PUSH) if source == 'measured' else STILL
    np.testing.assert_allclose(arm.seen.torque, expected, rtol=1e-3, atol=1e-9)
    arm.states(600)
    np.testing.assert_allclose(arm.seen.torque, 0.0, atol=1e-6)


def test_a_wrench_that_is_known_is_external_and_no_collision():
    """Protects a tool that a sensor knows of from being taken for a collision."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT})
    wrench = np.array([0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
    arm.wrenches.apply(0.0, 'tool0', wrench, 9.0)
    push = arm.wrenches.told(BENT).copy()
    assert (np.abs(push) > 0.06 * LIMIT).any()
    assert not any(arm.states(300, push))
    np.testing.assert_allclose(arm.seen.torque, push, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(arm.seen.unknown, 0.0, atol=1e-6)
    assert not arm.seen.told
    assert 'stop' in arm.states(300, 2.0 * push), 'as much again is not known'
    j = int(np.argmax(np.abs(push) / LIMIT))
    assert f"'joint{j + 1}' feels {push[j]:.3g} N m" in arm.seen.told


def test_what_a_wrong_model_may_cause_widens_the_threshold():
    """Protects a fast motion of an arm that differs from its model from an alarm."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT, 'model_error': 0.1})
    arm.law.terms[Term.INERTIA] = 0.8 * LIMIT  # a tenth of it is more than the excess of 0.05
    assert not any(arm.states(300, PUSH))
    arm.law.terms[Term.INERTIA] = 0.4 * LIMIT
    assert 'stop' in arm.states(300, PUSH)


# --- beginnings ---------------------------------------------------------------------------------


def test_a_beginning_forgets_collision_and_torque_and_a_restart_the_torque_alone():
    """Protects a new activation from an old collision, and a latched one from a short silence."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT})
    for forget, present in ((arm.seen.restart, True), (arm.seen.begin, False)):
        arm.states(200, PUSH)
        assert arm.seen.collision.present
        forget()
        assert arm.seen.collision.present == present
        assert not arm.seen.torque.any()
        arm.state(PUSH)
        assert not arm.seen.torque.any(), 'the way to the first state says nothing'


@pytest.mark.parametrize('law, change', [
    ('computed_torque', 'at once'), ('computed_torque', 'blended'), ('adaptive', 'learned')])
def test_a_change_of_the_loads_is_no_momentum(law, change):
    """
    Protects from an external torque that is nothing but another model of a moving arm.

    A load of 2 kg has momentum: taken for one that came from outside within a cycle, it would be
    a push of thousands of N m.
    """
    arm = Watched(law)
    payloads = arm.loads.with_payload(LOAD)
    heavy = Dynamics(MODEL.with_payload('tool0', LOAD.mass, LOAD.com, LOAD.inertia))
    qd = np.full(7, 0.5)
    jump = np.abs((heavy.mass_matrix(BENT) - arm.dyn.mass_matrix(BENT)) @ qd).max()
    before = None
    for cycle in range(60):
        if cycle == 40 and change == 'learned':
            arm.dyn.runtime[:] = arm.loads.planned(payloads, arm.loads.gravity)
        elif cycle == 40:
            arm.loads.change(payloads, arm.loads.gravity, 0.0 if change == 'at once' else 2 * DT)
        arm.loads.advance(DT)
        if change == 'learned' and cycle >= 40:
            arm.dyn.runtime[:] = arm.loads.planned(payloads, arm.loads.gravity)
        arm.state(qd=qd)
        if before is not None:
            step = np.abs(arm.seen.torque - before).max()
            # what the arm weighs more may be seen, at the pace of the filter
            assert step < 0.2 * 30.0 * jump, cycle
        before = arm.seen.torque.copy()


# --- what is made of it -------------------------------------------------------------------------


@pytest.mark.parametrize('reaction', ['report', 'stop'])
def test_disturbances_are_compensated_within_bounds_and_collisions_are_not_fought(reaction):
    """Protects who is caught by the arm: in a collision that ends motion nothing pushes back."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT, 'reaction': reaction},
                  gains={'disturbance_observer': True}, disturbance_limit=0.07)
    arm.states(300, 0.4 * PUSH)
    np.testing.assert_allclose(arm.seen.disturbance, -0.4 * PUSH, rtol=1e-3)
    arm.states(300, PUSH)
    assert arm.seen.collision.present
    np.testing.assert_allclose(arm.seen.disturbance,
                               0.0 if reaction == 'stop' else -0.7 * PUSH, rtol=1e-9)


def test_laws_that_shape_inertia_get_the_stable_part_of_all_external_torque():
    """Protects the arguments of the feedback: present pose, whole torque, present stiffness."""
    inertia = make_gains(Watched.dyn).inertia
    arm = Watched('shaped_impedance', {'apparent_inertia': 0.8 * inertia, 'stiffness': 500.0})
    arm.wrenches.apply(0.0, 'tool0', [0.0, 0.0, 20.0, 0.0, 0.0, 0.0], 9.0)
    q = BENT + 0.4
    arm.states(300, PUSH, q=q)
    arm.law.stiffness.value[:] = 7.0
    expected = ContactFeedback(arm.dyn).fed_back(q, PUSH, arm.gains, np.full(7, 7.0))
    assert np.abs(expected).max() < 0.9 * np.abs(PUSH).max(), 'all of it is stable'
    np.testing.assert_allclose(arm.seen.contact, expected, rtol=1e-3)
    assert Watched('joint_impedance').seen.contact is None


def test_the_joint_is_reported_whose_torque_is_largest_for_its_motor():
    """Protects the diagnostics: 2 N m at a wrist is more than 10 N m at a shoulder."""
    arm = Watched()
    push = STILL.copy()
    push[[0, 6]] = 10.0, 2.0
    arm.states(500, push)
    assert arm.seen.summary()['largest external torque'] == '2 N m at joint joint7'


# --- the monitor of collisions ------------------------------------------------------------------


def monitor(**settings):
    found = CollisionMonitor(MODEL)
    found.change(CollisionSettings(**{'threshold': 0.1 * LIMIT, 'duration': 0.0, **settings}))
    return found


def test_the_joint_is_named_that_takes_part_and_exceeds_its_threshold_most():
    """Protects the message from joints that do not take part, however large their torque is."""
    one = monitor()
    torque = np.zeros(7)
    torque[[0, 1, 6]] = 0.09 * LIMIT[0], 0.12 * LIMIT[1], -0.3 * LIMIT[6]
    assert one.advance(DT, np.abs(torque), torque)
    assert one.told(torque).startswith("joint 'joint7' feels -3.6 N m"), '3 times, not 1.2 times'
    torque[0] = 9.0 * LIMIT[0]
    assert one.told(torque).startswith("joint 'joint7' feels"), 'the first one does not take part'


def test_time_counts_for_each_joint_alone():
    """Protects from a collision made of short peaks of several joints."""
    one = monitor(duration=0.0015)
    for k in range(12):
        excess = np.zeros(7)
        excess[k % 3], excess[(k + 1) % 3] = LIMIT[k % 3], 0.06 * LIMIT[(k + 1) % 3]
        begun = one.advance(DT, excess, excess)
        assert not begun and not one.present, k


def test_switched_off_it_forgets_and_sees_nothing():
    """Protects from a collision that stays for ever because its detection was switched off."""
    one, torque = monitor(), LIMIT.copy()
    assert one.advance(DT, torque, torque) and one.present
    one.change(CollisionSettings())
    assert not one.present and not one.joints.any() and one.told(torque) == ''
    assert not one.advance(DT, torque, torque) and not one.present
    one.change(CollisionSettings(0.1 * LIMIT, duration=0.0))
    assert not one.present
    assert one.advance(DT, torque, torque) and one.count == 2


def test_reset_it_needs_all_of_its_duration_again():
    """Protects a new activation from time that was counted before it."""
    one, torque = monitor(duration=0.003), LIMIT.copy()
    assert [one.advance(DT, torque, torque) for _ in range(2)] == [False] * 2
    one.reset()
    assert [one.advance(DT, torque, torque) for _ in range(3)] == [False, False, True]
    one.reset()
    assert not one.present


def test_one_threshold_of_zero_is_refused_by_name():
    """Protects from a joint for which any noise is a collision."""
    with pytest.raises(ParameterError, match="'joint3' is 0: any noise"):
        checked_threshold(MODEL, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
