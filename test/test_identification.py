"""Identification finds what a simulated arm was made of, within the intervals that it states."""

from functools import lru_cache

import numpy as np
import pytest

from identification_data import arm, DELAY, NOISE, recorded, waves
from physical_body import is_physical
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError
from robodyn_ros.identification.equations import excerpt
from robodyn_ros.identification.estimate import estimate
from robodyn_ros.identification.fit import residual
from robodyn_ros.identification.recording import Recording
from robodyn_ros.identification.unknowns import urdf_terms
from robodyn_ros.simulation import mismatched, SensorSettings

SEEDS = range(3)
NONE = SensorSettings()


@lru_cache
def truth(seed):
    """Return (damping, friction, offset) of an arm that differs from its URDF."""
    rng, model = np.random.default_rng(100 + seed), arm().model
    return (model.damping * rng.uniform(0.5, 2.0, model.nv),
            model.friction * rng.uniform(0.5, 2.0, model.nv), 0.1 * rng.normal(size=model.nv))


@lru_cache
def heavy(seed):
    """Return a model whose masses and their centres differ from the URDF."""
    rng, model = np.random.default_rng(200 + seed), arm().model
    return mismatched(model, dict(zip(model.body_names, rng.uniform(0.8, 1.25, model.nb))),
                      {name: 0.01 * rng.normal(size=3) for name in model.body_names})


def record(seed, model=None, **more):
    damping, friction, offset = truth(seed)
    return recorded(model or arm().model, arm(), waves(arm().model, seed), seed, offset=offset,
                    damping=damping, friction=friction, **more)


def inside(values, true):
    """Return for each value whether the truth is in its interval."""
    return [abs(each.value - number) <= each.margin for each, number in zip(values, true)]


def friction_inside(found, seed):
    return [good for kind, numbers in zip(('viscous', 'coulomb', 'offset'), truth(seed))
            for good in inside(found.joints[kind], numbers)]


@lru_cache
def with_inertia(seed):
    return estimate(arm(), excerpt(arm(), record(seed, heavy(seed))), ['friction', 'inertia'])


def test_friction_is_in_its_intervals():
    hits = []
    for seed in SEEDS:
        found = estimate(arm(), excerpt(arm(), record(seed)), ['friction'])
        hits += friction_inside(found, seed)
        hits += inside([found.delay], [DELAY])
    assert np.mean(hits) >= 0.9


def test_friction_and_base_parameters_are_in_their_intervals():
    hits, projection = [], arm().base_parameters(tolerance=1e-6).projection
    for seed in SEEDS:
        found = with_inertia(seed)
        hits += friction_inside(found, seed)
        hits += inside(found.base, projection @ Dynamics(heavy(seed)).parameters)
        assert np.mean([each.identified for each in found.base]) > 0.4
    assert np.mean(hits) >= 0.9


def test_a_delay_that_is_ignored_looks_like_friction():
    data = excerpt(arm(), record(0))
    found, ignored = (estimate(arm(), data, ['friction'], delay=delay) for delay in (None, 0.0))
    assert found.delay.value == pytest.approx(DELAY, abs=2e-4)
    damping, gravity = truth(0)[0], 40.0  # N m/rad at the shoulder
    wrong = ignored.arm.terms[0, 1] - damping[1]
    assert 0.3 < wrong / (DELAY * gravity) < 2.0
    assert abs(found.arm.terms[0, 1] - damping[1]) < 0.3 * wrong


def test_intervals_are_not_just_wide():
    found = with_inertia(0)
    heavy_ones = [each for each in found.base if abs(each.urdf) > 0.4]
    assert heavy_ones
    assert all(each.margin < 0.03 * abs(each.value) for each in heavy_ones)
    assert all(each.margin < 0.1 * each.value for each in found.joints['coulomb'][:3])


def test_every_body_that_is_found_is_possible():
    for seed in SEEDS:
        for m, hx, hy, hz, xx, yy, zz, xy, xz, yz in with_inertia(seed).arm.phi.reshape(-1, 10):
            assert is_physical(m, (hx, hy, hz), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_the_torque_of_another_motion_is_predicted_better_than_by_the_urdf():
    found, model = with_inertia(0), arm().model
    damping, friction, _ = truth(0)
    other = recorded(heavy(0), arm(), waves(model, 77, reach=0.7), 5, damping=damping,
                     friction=friction)
    urdf = found.arm._replace(delay=DELAY, phi=arm().parameters, terms=urdf_terms(model))
    ours = found.arm._replace(terms=found.arm.terms * [[1.0], [1.0], *[[0.0]] * 4])
    for j, joint in enumerate(excerpt(arm(), other).joints):
        size = np.linalg.norm(joint.effort)
        rest = np.linalg.norm(residual(joint, j, ours, -1)) / size
        assert rest < 0.5 * np.linalg.norm(residual(joint, j, urdf, -1)) / size
    assert (found.held_back < found.urdf).all()


def test_a_payload_is_recovered():
    inertia = np.array([[0.010, 0.001, 0.0], [0.001, 0.020, 0.002], [0.0, 0.002, 0.015]])
    hits = []
    for seed, (mass, com) in enumerate([(1.5, (0.03, -0.02, 0.08)), (0.6, (-0.04, 0.0, 0.05))]):
        held = arm().model.with_payload('tool0', mass, com, inertia)
        found = estimate(arm(), excerpt(arm(), record(seed, held)), ['friction'], 'tool0')
        true = [mass, *com, *np.diag(inertia), 0.001, 0.0, 0.002]
        hits += inside(found.payload, true)
        assert found.has_payload
        np.testing.assert_allclose([each.value for each in found.payload[:4]], true[:4], rtol=0.03,
                                   atol=1e-3)
        np.testing.assert_allclose([each.value for each in found.payload[4:]], true[4:],
                                   atol=2e-3)
    assert np.mean(hits) >= 0.9


def test_no_payload_is_distinguished_from_a_light_one():
    found = estimate(arm(), excerpt(arm(), record(1)), ['friction'], 'tool0')
    assert not found.has_payload and found.payload[0].value < 0.01


def test_scale_and_armature_are_recovered():
    scale = np.array([1.1, 0.8, 1.2, 0.9, 1.0, 1.0])
    found = estimate(arm(), excerpt(arm(), record(0, scale=scale)), ['friction', 'scale'])
    with_scale = [j for j in range(6) if ('scale', j) not in found.unexcited]
    assert {0, 1, 2} <= set(with_scale)
    assert np.mean([inside(found.joints['scale'], scale)[j] for j in with_scale]) >= 0.75
    np.testing.assert_allclose(found.arm.scale[:3], scale[:3], rtol=0.01)

    armature = np.array([0.05, 0.04, 0.03, 0.02, 0.01, 0.01])
    found = estimate(arm(), excerpt(arm(), record(1, armature=armature)),
                     ['friction', 'armature'])
    assert np.mean(inside(found.joints['armature'], armature)) >= 0.8
    np.testing.assert_allclose(found.arm.terms[3], armature, atol=3e-3)


def test_without_noise_it_is_exact():
    damping, friction, _ = truth(0)
    found = estimate(arm(), excerpt(arm(), recorded(
        arm().model, arm(), waves(arm().model, 0), noise=NONE, damping=damping,
        friction=0.0 * friction)), ['friction'])
    # what is left are the filters
    np.testing.assert_allclose(found.arm.terms[0], damping, rtol=2e-2, atol=2e-4)
    np.testing.assert_allclose(found.arm.terms[1], 0.0, atol=1e-3)


@lru_cache
def plain():
    return record(2)


def changed(recording, position=None, effort=None, keep=slice(None)):
    """Return a recording with other values, or with some samples alone."""
    position = recording.position if position is None else position
    effort = recording.effort if effort is None else effort
    return Recording(recording.joint_names, recording.position_time[keep], position[keep],
                     recording.effort_time[keep], effort[keep])


def assert_about(found, other):
    """Check that two estimates agree within their intervals."""
    for kind in found.joints:
        for a, b in zip(found.joints[kind], other.joints[kind]):
            assert abs(a.value - b.value) <= a.margin + b.margin


def test_order_duplicates_gaps_and_holes_do_not_matter():
    whole, rng = plain(), np.random.default_rng(3)
    reference = estimate(arm(), excerpt(arm(), whole), ['friction'])
    count = len(whole.position_time)
    order = np.concatenate([rng.permutation(count), rng.integers(count, size=500)])
    shuffled = estimate(arm(), excerpt(arm(), changed(whole, keep=order)), ['friction'])
    np.testing.assert_array_equal(shuffled.arm.terms, reference.arm.terms)

    kept = (rng.random(count) > 0.05) & (np.abs(np.arange(count) - 4000) > 150)
    position = whole.position.copy()
    position[rng.integers(count, size=200), 1] = np.nan
    holed = excerpt(arm(), changed(whole, position, keep=kept))
    assert holed.segments == 2
    assert not any(((j.times > 7.7) & (j.times < 8.3)).any() for j in holed.joints)
    assert_about(estimate(arm(), holed, ['friction']), reference)


def test_a_joint_that_rests_is_named_and_left_as_it_is():
    model = arm().model
    rest = waves(model, 0)
    rest.sine[2], rest.cosine[2] = 0.0, 0.0
    found = estimate(arm(), excerpt(arm(), recorded(model, arm(), rest, noise=NOISE)),
                     ['friction', 'armature'])
    kinds = ('viscous', 'coulomb', 'offset', 'armature')
    assert set(found.unexcited) == {(kind, 2) for kind in kinds}
    assert found.joints['viscous'][2] == (model.damping[2], 0.0)


def test_a_joint_that_turns_one_way_identifies_no_offset():
    """Coulomb friction and an offset are then one number; the offset is given up."""
    model = arm().model
    times = np.arange(0.0, 12.0, 0.002)
    q = np.zeros((len(times), model.nv))
    q[:, 0] = 0.5 * times + 0.1 * np.sin(2.0 * times)
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    qd[:, 0], qdd[:, 0] = 0.5 + 0.2 * np.cos(2.0 * times), -0.4 * np.sin(2.0 * times)
    effort = arm().inverse_dynamics(q, qd, qdd) + 0.3 * qd + 0.5 * np.sign(qd)
    effort += 0.01 * np.random.default_rng(0).normal(size=effort.shape)
    found = estimate(arm(), excerpt(arm(), Recording(model.joint_names, times, q, times, effort)),
                     ['friction'])
    assert ('offset', 0) in found.unexcited and ('coulomb', 0) not in found.unexcited
    assert found.arm.terms[1, 0] == pytest.approx(0.5, abs=0.01)


def test_efforts_of_the_wrong_sign_are_named():
    with pytest.raises(ArgumentError, match="joint 'joint2': .* points the other way"):
        recording = plain()
        effort = recording.effort * [1.0, -1.0, 1.0, 1.0, 1.0, 1.0]
        estimate(arm(), excerpt(arm(), changed(recording, effort=effort)), ['friction', 'scale'])


@pytest.mark.parametrize('groups, payload, error, words', [
    (['inertia'], 'tool0', ArgumentError, 'without the payload first'),
    (['inertia', 'scale'], None, ArgumentError, 'look the same'),
    (['masses'], None, ArgumentError, "'masses' cannot be estimated"),
    ([], None, ArgumentError, 'nothing is to be estimated'),
    (['friction'], 'base_link', ArgumentError, 'immovable base'),
    (['friction'], 'tool', ModelError, "did you mean 'tool0'"),
])
def test_indistinguishable_parameters_are_refused(groups, payload, error, words):
    with pytest.raises(error, match=words):
        estimate(arm(), excerpt(arm(), plain()), groups, payload)


@pytest.mark.parametrize('keep, still, words', [
    (slice(0, 200), False, 'lasts 0.39. s, and the filters need 1 s'),
    (slice(0, 5), False, 'there are 5 usable positions'),
    (slice(0, 5000), True, 'no joint moves'),
])
def test_recordings_without_information_are_refused(keep, still, words):
    recording = plain()
    position = np.ones_like(recording.position) if still else recording.position
    with pytest.raises(ArgumentError, match=words):
        excerpt(arm(), changed(recording, position, keep=keep))
