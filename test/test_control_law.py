"""The control laws, term by term, against the dynamics that they are written in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from design import gains_with
from random_trees import Mixture, random_tree
from robodyn_ros.control import ControlLaw, make_gains, Term
from robodyn_ros.control.friction import friction, GAINS
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import Reference
from tolerance import assert_close

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
# the terms are the dynamics' own sums in another order
EXACT = 1e-11
EXTERNAL = np.linspace(-2.0, 3.0, 20)
LAWS = ('computed_torque', 'feedforward_pd', 'adaptive')


def arm():
    return RobotModel.from_urdf(ARM)


def mixed():
    """Return a robot of turning and sliding joints, some following others, with a payload."""
    tree = RobotModel.from_urdf(random_tree(11, 6, Mixture(prismatic=0.4, mimic=0.4)))
    return tree.with_payload(list(tree.links)[-1], 1.3, (0.1, -0.2, 0.3)).with_gravity((1, -2, 5))


@pytest.fixture(scope='module', params=[arm, mixed], ids=['arm', 'mixed'])
def dyn(request):
    return Dynamics(request.param())


@pytest.fixture
def case(dyn):
    """Return a measured state, a reference, and gains that all differ."""
    rng = np.random.default_rng(dyn.nv)
    q, qd, q_ref, qd_ref, qdd_ref, effort = rng.uniform(-1.5, 1.5, (6, dyn.nv))
    kp, kd, damping, scale = rng.uniform(0.2, 2.0, (4, dyn.nv))
    gains = gains_with(
        dyn, kp=50 * kp, kd=8 * kd, float_damping=damping, gravity_scale=scale,
        friction_scale=0.7, armature=0.1 * kp)
    return q, qd, Reference(q_ref, qd_ref, qdd_ref, effort), gains


def smoothed_friction(dyn, gains, velocity):
    return np.array(friction(velocity, *(getattr(gains, name) for name in GAINS)))


def bare(dyn):
    """Return the robot without its payloads."""
    return Dynamics(replace(dyn.model, payloads=()))


def payload_term(dyn, gains, q, qd, qdd):
    """Return the torque of payloads in a motion, their gravity torque scaled."""
    empty, scale = bare(dyn), gains.gravity_scale
    moving = dyn.inverse_dynamics(q, qd, qdd) - empty.inverse_dynamics(q, qd, qdd)
    return moving - (1.0 - scale) * (dyn.gravity(q) - empty.gravity(q))


def omitted_gravity(dyn, gains, q):
    return (1.0 - gains.gravity_scale) * dyn.gravity(q)


def test_computed_torque_is_inverse_dynamics_of_the_corrected_acceleration(dyn, case):
    q, qd, reference, gains = case
    correction = gains.kp * (reference.q - q) + gains.kd * (reference.qd - qd)
    expected = (dyn.inverse_dynamics(q, qd, reference.qdd + correction) + reference.effort
                + gains.armature * (reference.qdd + correction) + EXTERNAL[:dyn.nv]
                + smoothed_friction(dyn, gains, reference.qd) - omitted_gravity(dyn, gains, q))
    terms = ControlLaw(dyn, gains).follow(q, qd, reference, external=EXTERNAL[:dyn.nv])
    assert_close(terms[Term.TOTAL], expected, EXACT)


def test_the_terms_of_computed_torque(dyn, case):
    q, qd, reference, gains = case
    empty, rotors = bare(dyn), np.diag(gains.armature)
    gravity_torque = empty.gravity(q)
    correction = gains.kp * (reference.q - q) + gains.kd * (reference.qd - qd)
    terms = ControlLaw(dyn, gains).follow(q, qd, reference, 0.4, EXTERNAL[:dyn.nv])
    for term, expected in {
            Term.INERTIA: (empty.mass_matrix(q) + rotors) @ reference.qdd,
            Term.CORIOLIS: empty.bias(q, qd) - gravity_torque,
            Term.GRAVITY: gains.gravity_scale * gravity_torque,
            Term.FRICTION: smoothed_friction(dyn, gains, reference.qd),
            Term.PAYLOAD: payload_term(dyn, gains, q, qd, reference.qdd),
            Term.FEEDBACK: 0.4 * (dyn.mass_matrix(q) + rotors) @ correction,
            Term.EXTERNAL: EXTERNAL[:dyn.nv], Term.LIMIT: np.zeros(dyn.nv),
            Term.EFFORT: reference.effort}.items():
        assert_close(terms[term], expected, EXACT, scale=1.0, what=term.name)


def test_the_terms_of_feedforward_pd_are_those_of_the_reference(dyn, case):
    q, qd, reference, gains = case
    empty, rotors = bare(dyn), np.diag(gains.armature)
    gravity_torque = empty.gravity(reference.q)
    terms = ControlLaw(dyn, gains, 'feedforward_pd').follow(q, qd, reference, 0.4)
    feedback = gains.pd_kp * (reference.q - q) + gains.pd_kd * (reference.qd - qd)
    for term, expected in {
            Term.INERTIA: (empty.mass_matrix(reference.q) + rotors) @ reference.qdd,
            Term.CORIOLIS: empty.bias(reference.q, reference.qd) - gravity_torque,
            Term.GRAVITY: gains.gravity_scale * gravity_torque,
            Term.FRICTION: smoothed_friction(dyn, gains, reference.qd),
            Term.PAYLOAD: payload_term(dyn, gains, reference.q, reference.qd, reference.qdd),
            Term.FEEDBACK: 0.4 * feedback,
            Term.EFFORT: reference.effort}.items():
        assert_close(terms[term], expected, EXACT, scale=1.0, what=term.name)


def test_floating_is_gravity_torque_and_damping(dyn, case):
    q, qd, _, gains = case
    terms = ControlLaw(dyn, gains).compensate(q, qd)
    expected = gains.gravity_scale * dyn.gravity(q) - gains.damping * qd
    assert_close(terms[Term.TOTAL], expected, EXACT)
    empty = bare(dyn).gravity(q)
    assert_close(terms[Term.GRAVITY], gains.gravity_scale * empty, EXACT, scale=1.0)
    assert_close(terms[Term.PAYLOAD], gains.gravity_scale * (dyn.gravity(q) - empty), EXACT,
                 scale=1.0)
    for term in (Term.INERTIA, Term.CORIOLIS, Term.FRICTION, Term.EXTERNAL, Term.EFFORT):
        assert not terms[term].any(), term.name


@pytest.mark.parametrize('law', LAWS)
def test_total_is_the_sum_of_the_others(dyn, case, law):
    q, qd, reference, gains = case
    control = ControlLaw(dyn, gains, law)
    for terms in (control.follow(q, qd, reference), control.compensate(q, qd)):
        assert_close(terms[Term.TOTAL], terms[:Term.TOTAL].sum(axis=0), EXACT)


@pytest.mark.parametrize('law', LAWS)
def test_without_feedback_the_measured_state_gives_no_feedback(dyn, case, law):
    q, qd, reference, gains = case
    terms = ControlLaw(dyn, gains, law).follow(q, qd, reference, 0.0)
    assert not terms[Term.FEEDBACK].any()


@pytest.mark.parametrize('law', LAWS)
def test_without_error_at_rest_the_torque_is_the_gravity_torque(dyn, law):
    q = np.full(dyn.nv, 0.3)
    law = ControlLaw(dyn, make_gains(dyn), law)
    terms = law.follow(q, np.zeros(dyn.nv), Reference.at_rest(q))
    assert_close(terms[Term.TOTAL], dyn.gravity(q), EXACT)


def test_the_error_of_a_perfect_model_has_linear_dynamics(dyn, case):
    # e'' = -Kp e - Kd e', whatever the pose: what the law is for
    q, qd, reference, gains = case
    gains = gains_with(dyn, kp=gains.kp, kd=gains.kd, friction_scale=0.0)
    reference.effort[:] = 0.0
    torque = ControlLaw(dyn, gains).follow(q, qd, reference)[Term.TOTAL]
    qdd = dyn.forward_dynamics(q, qd, torque)
    expected = gains.kp * (reference.q - q) + gains.kd * (reference.qd - qd)
    assert_close(qdd - reference.qdd, expected, 1e-9)


@pytest.mark.parametrize('law', LAWS)
def test_feedback_keeps_its_direction_within_the_limits(dyn, case, law):
    q, qd, reference, gains = case
    whole = ControlLaw(dyn, gains, law).follow(q, qd, reference)
    rest = whole[Term.TOTAL] - whole[Term.FEEDBACK]
    limit = np.abs(rest) + 0.5 * np.abs(whole[Term.FEEDBACK])
    terms = ControlLaw(dyn, gains, law, limit).follow(q, qd, reference)
    shares = (terms[Term.FEEDBACK] + terms[Term.LIMIT]) / whole[Term.FEEDBACK]
    assert 0.5 - 1e-9 <= shares.min() and shares.max() < 1.0 and np.ptp(shares) < 1e-9
    assert np.all(np.abs(terms[Term.TOTAL]) <= limit * (1 + 1e-9))
    assert_close(terms[:Term.LIMIT], whole[:Term.LIMIT], EXACT)
    assert_close(terms[Term.TOTAL], terms[:Term.TOTAL].sum(axis=0), EXACT)


def test_a_new_payload_counts_from_the_next_call_on(case):
    dyn = Dynamics(arm().with_payload('tool0', 0.0))
    law, q = ControlLaw(dyn, make_gains(dyn)), np.linspace(-0.6, 0.6, 7)
    rest = Reference.at_rest(q + 0.1)
    before = law.follow(q, np.zeros(7), rest).copy()
    stiff = ControlLaw(dyn, gains_with(dyn, natural_frequency=40.0))
    assert_close(stiff.follow(q, np.zeros(7), rest)[Term.FEEDBACK], 4 * before[Term.FEEDBACK],
                 EXACT)
    dyn.update(arm().with_payload('tool0', 2.0))
    loaded = law.follow(q, np.zeros(7), rest)
    assert_close(loaded[Term.GRAVITY] + loaded[Term.PAYLOAD],
                 Dynamics(arm().with_payload('tool0', 2.0)).gravity(q), EXACT)


def test_not_a_law_or_not_its_gains(dyn):
    with pytest.raises(ParameterError, match="'pid': .*computed_torque, feedforward_pd"):
        ControlLaw(dyn, make_gains(dyn), 'pid')
    one = Dynamics(RobotModel.from_urdf(random_tree(1, 1)))
    with pytest.raises(ArgumentError, match='gains must have shape'):
        ControlLaw(dyn, make_gains(one))
