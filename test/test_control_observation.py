"""What the cycle makes of external torque, state by state, without a loop around it."""

from dataclasses import replace

from closed_loop import BENT, MODEL
import numpy as np
import pytest
from robodyn_ros.control import ArmController, ControlLaw, make_gains, Mode, Term, with_slots
from robodyn_ros.control.steps import observer
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import Payload
from robodyn_ros.model.inertia import parallel_axis, pseudo_inertia
from design import change_settings, settings_of
from steps import array, body_of, doubles

LIMIT = np.array(MODEL.effort_limit)
SLOTTED = with_slots(MODEL)
LOAD = Payload('tool0', 2.0, (0.0, 0.0, 0.1), 2e-3 * np.eye(3))
DT, STILL = 1e-3, np.zeros(7)
PUSH = 0.1 * LIMIT * np.array([1, -1, 1, -1, 1, -1, 1])


class Watched:
    """An arm that is held still, or is taken to move steadily, and its controller."""

    def __init__(self, law='computed_torque', gains=None, collision=None, floating=False,
                 **watched):
        dynamics = Dynamics(SLOTTED)
        self.control = control = ArmController(dynamics, settings_of(
            mode='gravity_compensation' if floating else law, activation_time=0.0,
            transition_time=0.0, external_wrench__timeout=9.0, adaptive__rate=0.0,
            **{'friction_scale': 0.0, **(gains or {})}, **{
                f'collision__{name}': value for name, value in (collision or {}).items()},
            **watched))
        self.gains = control.design.gains
        self.seen, self.memory, self.now = control.observation, control.host.memory, 0.0
        self.inertial = STILL
        self.begin()

    def begin(self):
        """Take over the arm."""
        self.control.activate(self.now, BENT, STILL)

    def state(self, push=0.0, dt=DT, effort=None, q=BENT, qd=STILL):
        """Take a state of an arm whose motors held it against a push since the last one."""
        self.memory.sent[:] = self.control.dynamics.gravity(q) - push
        self.control.terms[Term.INERTIA] = self.inertial
        self.now += dt
        self.control.update(self.now, q, qd, effort)

    def states(self, count, push=0.0, **options):
        for _ in range(count):
            self.state(push, **options)

    @property
    def disturbance(self):
        """Torque that the law puts against disturbances."""
        return self.control.terms[Term.INTEGRAL]


# --- reactions, pauses, and where torque comes from ---------------------------------------------


@pytest.mark.parametrize('reaction, mode', [
    ('report', Mode.HOLD), ('stop', Mode.HOLD), ('float', Mode.FLOAT)])
@pytest.mark.parametrize('floating', [False, True])
def test_a_collision_is_answered_once_and_only_where_no_hand_leads_the_arm(
        reaction, mode, floating):
    """Protects a hand that guides a floating arm, and a collision that is only to be reported."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT, 'reaction': reaction}, floating=floating)
    before = arm.control.status.interruptions
    arm.states(400, PUSH)
    assert arm.seen.collision and arm.seen.collisions == 1
    answered = not floating and reaction != 'report'
    assert arm.control.status.interruptions == before + answered
    assert arm.control.fault.startswith('collision: ') == answered
    assert arm.control.mode is (Mode.FLOAT if floating else mode)


@pytest.mark.parametrize('dt', [0.0, -0.1, 0.26, np.nan])
def test_time_that_does_not_pass_or_leaps_begins_observation_anew(dt):
    """Protects from the integral of an error over a pause, or over a negative time."""
    arm = Watched()
    arm.states(300, PUSH)
    np.testing.assert_allclose(arm.seen.torque, PUSH, rtol=1e-3)
    before = arm.now
    arm.state(PUSH, dt=dt)
    assert not arm.seen.torque.any() and not arm.seen.unknown.any()
    arm.now = before + (0.0 if np.isnan(dt) else dt)
    arm.states(300, PUSH)
    np.testing.assert_allclose(arm.seen.torque, PUSH, rtol=1e-3)
    arm.state(PUSH, dt=0.24)
    assert arm.seen.torque.any(), 'a pause that is not too long'


@pytest.mark.parametrize('source', ['command', 'measured'])
def test_measured_effort_counts_where_it_is_chosen_and_where_there_is_some(source):
    """Protects joints that report no effort: what was sent to them counts."""
    arm = Watched(observer__torque_source=source)
    effort = arm.control.dynamics.gravity(BENT) - PUSH
    effort[[1, 4]] = np.nan
    arm.states(300, 0.0, effort=effort)  # of all this the command shows nothing
    expected = np.where(np.isnan(effort), 0.0, PUSH) if source == 'measured' else STILL
    np.testing.assert_allclose(arm.seen.torque, expected, rtol=1e-3, atol=1e-9)
    arm.states(600)
    np.testing.assert_allclose(arm.seen.torque, 0.0, atol=1e-6)


def test_a_wrench_that_is_known_is_external_and_no_collision():
    """Protects a tool whose force a sensor measures from being taken for a collision."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT})
    wrench = np.array([0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
    arm.control.inputs.apply_wrench(0.0, 'tool0', wrench)
    dynamics = Dynamics(MODEL)
    R = dynamics.forward_kinematics(BENT, 'tool0')[:3, :3]
    push = dynamics.jacobian(BENT, 'tool0')[:3].T @ R @ wrench[:3]
    assert (np.abs(push) > 0.06 * LIMIT).any()
    arm.states(300, push)
    np.testing.assert_allclose(arm.seen.torque, push, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(arm.seen.unknown, 0.0, atol=1e-6)
    assert not arm.seen.collision_text and not arm.control.fault
    arm.states(300, 2.0 * push)  # as much again is not known
    j = int(np.argmax(np.abs(push) / LIMIT))
    assert f"'joint{j + 1}' is {push[j]:.3g} N m" in arm.seen.collision_text
    assert arm.control.fault.startswith('collision: ')


def test_what_a_wrong_model_may_cause_widens_the_threshold():
    """Protects a fast motion of an arm that differs from its model from an alarm."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT, 'model_error': 0.1})
    arm.inertial = 0.8 * LIMIT  # a tenth of it is more than the excess of 0.05
    arm.states(300, PUSH)
    assert not arm.seen.collisions
    arm.inertial = 0.4 * LIMIT
    arm.states(300, PUSH)
    assert arm.seen.collisions == 1


# --- beginnings ---------------------------------------------------------------------------------


def test_a_beginning_forgets_collision_and_torque_and_silence_the_torque_alone():
    """Protects a new activation from an old collision, and a latched one from a short silence."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT})
    for forget, present in ((lambda: arm.control.cycle.coast(arm.now), True), (arm.begin, False)):
        arm.states(200, PUSH)
        assert arm.seen.collision
        forget()
        assert arm.seen.collision == present
        assert not arm.seen.torque.any()
        arm.state(PUSH)
        assert not arm.seen.torque.any(), 'the way to the first state shows nothing'


@pytest.mark.parametrize('law, change', [
    ('computed_torque', 'at once'), ('computed_torque', 'blended'), ('adaptive', 'learned')])
def test_a_change_of_the_loads_is_no_momentum(law, change):
    """
    Protects from an external torque that is nothing but another model of a moving arm.

    A load of 2 kg has momentum: taken for one that came from outside within a cycle, it would be
    a push of thousands of N m.
    """
    arm, heavy = Watched(law), Dynamics(MODEL.with_payload('tool0', LOAD.mass, LOAD.com,
                                                           LOAD.inertia))
    control, unloaded = arm.control, Dynamics(MODEL)
    qd = np.full(7, 0.5)
    jump = np.abs((heavy.mass_matrix(BENT) - unloaded.mass_matrix(BENT)) @ qd).max()
    before = None
    for cycle in range(60):
        if cycle == 40 and change == 'learned':
            control.adaptation.pseudo_inertia[:] = pseudo_inertia(
                LOAD.mass, LOAD.mass * LOAD.com,
                parallel_axis(LOAD.inertia, LOAD.mass, LOAD.com))
            control.adaptation.change(control.settings.adaptive)
            control.host.apply()
        elif cycle == 40:
            change_settings(control, load_time=0.0 if change == 'at once' else 2 * DT)
            control.load_changes.set_payload(LOAD)
        arm.state(qd=qd)
        if before is not None:
            step = np.abs(arm.seen.torque - before).max()
            # what the arm weighs more may be seen, at the pace of the filter
            assert step < 0.2 * 30.0 * jump, cycle
        before = arm.seen.torque.copy()
    np.testing.assert_allclose(control.dynamics.mass_matrix(BENT), heavy.mass_matrix(BENT),
                               rtol=1e-9, atol=1e-12)


# --- what is made of it -------------------------------------------------------------------------


@pytest.mark.parametrize('reaction', ['report', 'stop'])
def test_disturbances_are_compensated_within_bounds_and_collisions_are_not_fought(reaction):
    """Protects who is caught by the arm: in a collision that ends motion nothing pushes back."""
    arm = Watched(collision={'threshold': 0.05 * LIMIT, 'reaction': reaction},
                  gains={'armature': 0.02, 'disturbance_observer': True},
                  disturbance_limit=0.07)
    side = np.sign(PUSH)
    arm.states(1000, 0.4 * PUSH, q=BENT + 0.05 * side)
    np.testing.assert_allclose(arm.disturbance[:2], -0.07 * LIMIT[:2] * side[:2])
    assert (np.abs(arm.disturbance) <= 0.07 * LIMIT).all()
    arm.states(200, PUSH, q=BENT + 0.05 * side)
    assert arm.seen.collision
    before = arm.disturbance.copy()
    assert before.any() != (reaction == 'stop')
    arm.states(200, PUSH, q=BENT + 0.05 * side)
    np.testing.assert_array_equal(arm.disturbance, before)


def test_laws_that_shape_inertia_get_the_stable_part_of_all_external_torque():
    """Protects the arguments of the feedback: present pose, whole torque, present stiffness."""
    inertia = make_gains(Dynamics(MODEL)).inertia
    arm = Watched('shaped_impedance', {
        'impedance__inertia': 0.8 * inertia, 'impedance__stiffness': 500.0})
    arm.control.inputs.apply_wrench(0.0, 'tool0', [0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    q = BENT + 0.4
    arm.memory.springs.value[:] = 7.0
    arm.states(300, PUSH, q=q)
    dynamics, softer = Dynamics(MODEL), replace(arm.gains, stiffness=np.full(7, 7.0))
    part = array(observer.stable_external(body_of(dynamics, arm.gains),
                                          *doubles([q, PUSH, softer.stiffness])))
    assert np.abs(part).max() < 0.9 * np.abs(PUSH).max(), 'all of it is stable'
    law = ControlLaw(dynamics, softer, 'shaped_impedance')
    expected = law.follow(q, STILL, arm.control.reference, contact=part)[Term.INTEGRAL]
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(arm.control.terms[Term.INTEGRAL], expected, rtol=2e-3, atol=1e-3)


def test_other_impedances_get_none():
    arm = Watched('joint_impedance')
    arm.states(300, PUSH)
    assert not arm.control.terms[Term.INTEGRAL].any()


def test_the_joint_is_reported_whose_torque_is_largest_for_its_motor():
    """Protects the diagnostics: 2 N m at a wrist is more than 10 N m at a shoulder."""
    arm = Watched()
    push = STILL.copy()
    push[[0, 6]] = 10.0, 2.0
    arm.states(500, push)
    assert arm.seen.summary()['largest external torque'] == '2 N m at joint joint7'


def test_one_threshold_of_zero_is_refused_by_name():
    with pytest.raises(ParameterError, match="collision.threshold', number 3 of 7, is 0.0"):
        settings_of(collision__threshold=[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
