"""Inputs of the law at run time: payloads, gravity, wrenches, rotors."""

from closed_loop import BENT, Loop, MODEL, ROUNDING
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Mode, Term, with_slots
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError, ParameterError
from robodyn_ros.model import Payload

SLOTTED = with_slots(MODEL)
# A motor's housing of 1.2 kg, 8 cm beyond the flange; its moments are those of a cylinder.
CYLINDER = np.diag((2.5e-3, 2.5e-3, 1.5e-3))
LOAD = Payload('tool0', 1.2, (0.0, 0.02, 0.08), CYLINDER)
LOADED = MODEL.with_payload('tool0', 1.2, (0.0, 0.02, 0.08), CYLINDER)


def loop_with(**options):
    options.setdefault('q', BENT)
    return Loop(SLOTTED, **options)


def test_every_link_that_moves_has_room_for_a_payload():
    assert set(SLOTTED.payload_bodies) == set(range(MODEL.nb)) and SLOTTED.total_mass == (
        MODEL.total_mass)
    assert with_slots(SLOTTED).payloads == SLOTTED.payloads


def test_a_payload_is_blended_in_and_held():
    # the arm has it from the start, the controller is informed after a while
    loop = loop_with(plant=LOADED)
    loop.run(1.5)
    assert np.abs(loop.error[-1]).max() > 1e-3
    loop.control.load_changes.set_payload(LOAD)
    begin = len(loop.log) - 1
    loop.run(1.5)
    assert np.abs(loop.error[-1]).max() < 1e-5
    expected_gravity = Dynamics(LOADED).gravity(loop.q[-1])
    np.testing.assert_allclose(loop.torque, expected_gravity, atol=1e-3)
    np.testing.assert_allclose(loop.control.gravity_torque(), expected_gravity, **ROUNDING)
    steps = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert steps.max() < 1e-3


def test_the_payload_has_a_term_of_its_own_and_terms_sum_to_what_is_sent():
    loop = loop_with(plant=LOADED, settings=settings_of(load_time=0.1))
    loop.control.load_changes.set_payload(LOAD)
    loop.moving()
    terms, (_, q, qd, *_) = loop.control.terms, loop.log[-1]
    qdd = loop.control.reference.qdd
    expected = (Dynamics(LOADED).inverse_dynamics(q, qd, qdd)
                - Dynamics(MODEL).inverse_dynamics(q, qd, qdd))
    np.testing.assert_allclose(terms[Term.PAYLOAD], expected, rtol=1e-9, atol=1e-9)
    assert np.abs(terms[Term.PAYLOAD]).max() > 1.0
    np.testing.assert_allclose(terms[:Term.TOTAL].sum(axis=0), terms[Term.TOTAL], **ROUNDING)
    np.testing.assert_array_equal(terms[Term.TOTAL], loop.torque)


def test_what_is_cut_is_the_limit_term():
    loop = loop_with(settings=settings_of(torque_rate_limit=5.0))
    loop.run(0.2)
    loop.plant.qd[1] = 0.5
    loop.cycle()
    terms = loop.control.terms
    assert np.abs(terms[Term.LIMIT]).max() > 0.1
    np.testing.assert_allclose(terms[:Term.TOTAL].sum(axis=0), loop.torque, **ROUNDING)


def test_payloads_on_links_of_one_body_add_up_and_go():
    control = loop_with().control
    control.activation.deactivate()
    control.load_changes.set_payload(LOAD)
    control.load_changes.set_payload(Payload('link7', 0.5, (0.1, 0.0, 0.0), np.zeros((3, 3))))
    both = LOADED.with_payload('link7', 0.5, (0.1, 0.0, 0.0))
    np.testing.assert_allclose(control.gravity_torque(), Dynamics(both).gravity(BENT), **ROUNDING)
    control.load_changes.set_payload(Payload('tool0', 0.0, (0, 0, 0), np.zeros((3, 3))))
    control.load_changes.set_payload(Payload('link7', 0.0, (0, 0, 0), np.zeros((3, 3))))
    np.testing.assert_allclose(control.gravity_torque(), Dynamics(MODEL).gravity(BENT), **ROUNDING)
    assert not control.loads.payloads


def test_gravity_turns_smoothly_with_the_base():
    turned = MODEL.with_gravity((4.905, 0.0, -8.4957))  # 30 degrees
    loop = loop_with(plant=turned)
    loop.run(1.0)
    loop.control.load_changes.set_gravity(turned.gravity)
    begin = len(loop.log) - 1
    loop.run(1.5)
    np.testing.assert_allclose(loop.torque, Dynamics(turned).gravity(loop.plant.q), atol=1e-3)
    steps = np.abs(np.diff(loop.torques[begin:], axis=0)) / MODEL.effort_limit
    assert steps.max() < 2e-3


@pytest.mark.parametrize('payload, words', [
    (('elbow', 1.0), "no link 'elbow'"),
    (('base_link', 1.0), "'base_link': the link belongs to the immovable base"),
    (('tool0', 40.0), r"payload of 40 kg on link 'tool0': joint 'joint\d' would need -?\d+"),
    (('tool0', 1.0, (0, 0, 0), np.diag((1.0, 0.1, 0.1))), 'none is larger than the other two'),
    (('tool0', 0.0, (0, 0, 0), np.diag((0.1, 0.1, 0.1))), 'but no mass')])
def test_a_payload_that_cannot_be_is_refused_and_changes_nothing(payload, words):
    loop = loop_with()
    loop.run(0.2)
    before = loop.dynamics.runtime.copy()
    link, mass, com, inertia = (*payload, (0.0, 0.0, 0.0), np.zeros((3, 3)))[:4] if len(
        payload) == 2 else payload
    with pytest.raises(ModelError, match=words):
        loop.control.load_changes.set_payload(Payload(link, mass, com, inertia))
    loop.run(0.05)
    np.testing.assert_array_equal(loop.dynamics.runtime, before)


@pytest.mark.parametrize('gravity, words', [
    ((0, 0, np.nan), 'three finite numbers'), ((0, 0, -981.0), 'at most 30'),
    ((np.inf, 0, 0), 'three finite numbers'), ((0, -9.81), 'three finite numbers'),
    ((0, 0, 0), 'is 0 long, and that of the parameter gravity 9.81: it may differ by 2'),
    ((0, 0, -7.8), 'may differ by 2'), ((0, 0, -12.0), 'may differ by 2'),
    ((0, 0, 9.81), '3.14 rad from the present one: .*deactivate'),
    ((9.81, 0, 0), '1.57 rad from the present one')])
def test_a_gravity_that_cannot_be_is_refused(gravity, words):
    loop = loop_with()
    loop.run(0.1)
    with pytest.raises(ModelError, match=f'gravity .*{words}'):
        loop.control.load_changes.set_gravity(gravity)
    np.testing.assert_array_equal(loop.control.loads.gravity, MODEL.gravity)


def test_gravity_turns_no_faster_than_it_is_blended_in_and_any_way_while_inactive():
    loop = loop_with()
    loop.run(0.1)
    set_gravity, turned = loop.control.load_changes.set_gravity, (4.905, 0.0, -8.4957)
    set_gravity(turned)
    with pytest.raises(ModelError, match='1.05 rad from the present one'):
        set_gravity((8.4957, 0.0, -4.905))  # from where the first one has not yet come
    loop.run(1.1)
    set_gravity((8.4957, 0.0, -4.905))
    loop.control.activation.deactivate()
    set_gravity((0.0, 9.81, 0.0))
    np.testing.assert_array_equal(loop.control.loads.gravity, (0.0, 9.81, 0.0))


@pytest.mark.parametrize('gravity', [(0, 0, 0), (5, 0, 0), (9.81, 0, 0), (0, 0, 9.81)])
def test_a_floating_arm_is_not_let_fall_by_a_false_gravity(gravity):
    loop = loop_with()
    loop.control.requests.compensate_gravity()
    loop.run(0.5)
    with pytest.raises(ModelError, match='gravity'):
        loop.control.load_changes.set_gravity(gravity)
    begin = len(loop.log)
    loop.run(2.0)
    speeds = np.array([row[2] for row in loop.log[begin:]])
    assert (np.abs(speeds) / MODEL.velocity_limit).max() < 0.02


def test_dynamics_without_slots_name_the_remedy():
    dyn = Dynamics(MODEL)
    with pytest.raises(ModelError, match=r'with_slots\(model\)'):
        ArmController(dyn).load_changes.set_payload(LOAD)


# --- wrenches -----------------------------------------------------------------------------------


def turned(rotation, wrench):
    """Return a wrench in other axes."""
    return np.concatenate([rotation @ wrench[:3], rotation @ wrench[3:]])


def axes(loop, link):
    """Return the axes of a link in those of the base."""
    return loop.dynamics.forward_kinematics(loop.plant.q, link)[:3, :3]


@pytest.mark.parametrize('link', ['tool0', 'link4'])
def test_a_known_wrench_is_carried_by_the_motors_not_by_an_error(link):
    loop = loop_with(settings=settings_of(external_wrench__timeout=0.05))
    loop.run(0.7)
    wrench = np.array([10.0, -5.0, 8.0, 0.5, -1.0, 0.3])
    loop.plant.push(link, wrench)
    for _ in range(1000):
        # what a sensor in the link would measure
        loop.control.inputs.apply_wrench(loop.now, link, turned(axes(loop, link).T, wrench))
        loop.cycle()
    assert np.abs(loop.error[-1]).max() < 1e-3
    J = loop.dynamics.jacobian(loop.plant.q, link)
    np.testing.assert_allclose(loop.control.terms[Term.EXTERNAL],
                               -J.T @ wrench, atol=1e-2)
    # once it is not reported any more, it does not count any more, and the arm yields
    loop.run(0.5)
    assert not loop.control.terms[Term.EXTERNAL].any() and not loop.control.inputs.wrenches.links
    assert np.abs(loop.error[-1]).max() > 1e-2
    assert loop.largest_change < 0.3


def test_wrenches_on_several_links_add_up():
    loop = loop_with()
    loop.run(0.3)
    wrenches = {'tool0': np.arange(6.0), 'link7': np.ones(6), 'link3': -np.arange(6.0)}
    for link, wrench in wrenches.items():
        loop.control.inputs.apply_wrench(loop.now, link, wrench)
    q = loop.plant.q.copy()
    loop.control.update(loop.now + 0.02, q, 0.0 * q)  # the time constant of the filter
    expected = -sum(loop.dynamics.jacobian(q, link).T @ turned(axes(loop, link), wrench)
                    for link, wrench in wrenches.items())
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(loop.control.terms[Term.EXTERNAL], expected, **ROUNDING)


def test_a_floating_arm_yields_to_a_known_wrench():
    loop = loop_with(settings=settings_of(mode='gravity_compensation'))
    loop.control.inputs.apply_wrench(loop.now, 'tool0', np.full(6, 5.0))
    loop.cycle()
    assert not loop.control.terms[Term.EXTERNAL].any()


@pytest.mark.parametrize('link, wrench, error, words', [
    ('elbow', np.ones(6), ModelError, "no link 'elbow'"),
    ('base_link', np.ones(6), ModelError, 'immovable base'),
    ('tool0', np.full(6, np.nan), ArgumentError, "wrench on link 'tool0' is .*6 finite"),
    ('tool0', np.full(6, 1e300), ArgumentError, '6 finite numbers below'),
    ('tool0', np.ones(5), ArgumentError, '6 finite')])
def test_a_wrench_that_makes_no_sense_is_refused(link, wrench, error, words):
    control = loop_with().control
    with pytest.raises(error, match=words):
        control.inputs.apply_wrench(0.0, link, wrench)
    assert not control.inputs.wrenches.links


# --- rotors, and the part of gravity that is commanded ------------------------------------------


def test_a_light_wrist_with_a_heavy_rotor_has_the_requested_stiffness():
    # rotors of three times the wrist's own inertia
    rotors = np.array([0.3, 0.3, 0.1, 0.1, 0.05, 0.02, 0.01])
    errors = {}
    for known in (True, False):
        loop = loop_with(gains={'armature': rotors if known else 0.0}, armature=rotors)
        loop.run(0.7)
        loop.follow(loop.swing(1.0, 0.5), 1.0)
        loop.run(1.2)
        errors[known] = np.abs(loop.error).max(axis=0)
    assert errors[True].max() < 5e-4
    assert np.all(errors[False] > 10 * errors[True])


def test_part_of_gravity_while_it_follows_all_of_it_when_it_matters():
    loop = loop_with(gains={'gravity_scale': 0.4})
    expected_gravity = loop.dynamics.gravity(BENT)
    loop.run(1.0)
    np.testing.assert_allclose(loop.control.terms[Term.GRAVITY],
                               0.4 * loop.dynamics.gravity(loop.q[-1]), **ROUNDING)
    np.testing.assert_allclose(loop.torques[0], expected_gravity, **ROUNDING)
    loop.coast(1.0)
    np.testing.assert_allclose(loop.torque, loop.dynamics.gravity(loop.control.reference.q),
                               rtol=1e-5, atol=1e-5)
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    np.testing.assert_allclose(loop.control.gravity_torque(), loop.dynamics.gravity(loop.plant.q),
                               **ROUNDING)


def test_a_mode_is_entered_at_rest_in_motion_and_for_the_next_activation():
    loop = loop_with()
    loop.run(0.3)
    loop.control.changes.enter('gravity_compensation')
    assert loop.control.mode is Mode.FLOAT
    loop.control.changes.enter('feedforward_pd')
    assert loop.control.mode is Mode.STOP and loop.control.law == 'feedforward_pd'
    loop.settle()
    loop.follow(loop.swing(1.0, 0.4), 1.0)
    loop.run(0.3)
    loop.control.changes.enter('computed_torque')
    loop.run(1.0)
    assert loop.control.message == 'the goal is reached'
    assert np.abs(loop.error).max() < 2e-3
    loop.control.activation.deactivate()
    loop.control.changes.enter('gravity_compensation')
    assert loop.control.mode is Mode.INACTIVE
    loop.start(BENT)
    assert loop.control.mode is Mode.FLOAT
    with pytest.raises(ParameterError, match="'pid'"):
        loop.control.changes.enter('pid')


def test_a_wrench_that_the_motors_cannot_bear_is_refused():
    loop = loop_with()
    loop.run(0.05)
    with pytest.raises(ModelError, match="'joint.*sensor and its unit"):
        loop.control.inputs.apply_wrench(loop.now, 'tool0', [0.0, 0.0, 1e5, 0.0, 0.0, 0.0])
    assert not loop.control.inputs.wrenches.links
    loop.control.inputs.apply_wrench(loop.now, 'tool0', [0.0, 0.0, 10.0, 0.0, 0.0, 0.0])
    assert loop.control.inputs.wrenches.links == ('tool0',)


def test_a_payload_that_is_being_blended_in_counts_after_leaving():
    loop = loop_with()
    loop.run(0.05)
    loop.control.load_changes.set_payload(
        Payload('tool0', 2.0, [0.0, 0.0, 0.05], np.zeros((3, 3))))
    loop.run(0.01)
    loop.control.activation.deactivate()
    heavy = Dynamics(MODEL.with_payload('tool0', 2.0, (0.0, 0.0, 0.05)))
    np.testing.assert_allclose(loop.dynamics.gravity(BENT), heavy.gravity(BENT), rtol=1e-9)


def test_controllers_that_share_dynamics_have_loads_of_their_own():
    dynamics = Dynamics(SLOTTED)

    def activated():
        control = ArmController(dynamics)
        control.activate(0.0, BENT, np.zeros(7))
        return control

    first, second = activated(), activated()
    expected_gravity = first.gravity_torque().copy()
    first.load_changes.set_payload(LOAD)
    for k in range(11):
        first.update(0.1 * k, BENT, np.zeros(7))
    assert np.abs(first.gravity_torque() - expected_gravity).max() > 1.0
    for each in (second, activated()):
        assert not each.loads.payloads
        np.testing.assert_array_equal(each.gravity_torque(), expected_gravity)
