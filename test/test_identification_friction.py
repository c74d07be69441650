"""Dry friction of other shapes is found where the data shows it, and nowhere else."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from identification_data import arm, waves
from robodyn_ros.control.friction import friction
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.dry_friction import DryFriction, mean_columns
from robodyn_ros.identification.equations import excerpt
from robodyn_ros.identification.estimate import estimate
from robodyn_ros.identification.identified import identify, mean_residual
from robodyn_ros.identification.recording import Recording
from robodyn_ros.identification.results import parameters

COULOMB = np.array([4.0, 3.0, 2.0, 1.0, 0.8, 0.5])
VISCOUS = np.array([1.0, 1.0, 0.8, 0.4, 0.3, 0.2])
WIDTH, STRIBECK, EXCESS, GROWTH = 0.1, 0.15, 0.8, 0.08


@lru_cache
def recording(kind, noise=0.01, resolution=0.0):
    """Return a recording of an ideally tracked motion with dry friction of some kind."""
    model, rate = arm().model, 500.0
    motion = waves(model, 3)
    times = np.arange(int(motion.duration * rate)) / rate
    q, qd, qdd = motion.sample(times)
    torque = arm().inverse_dynamics(q, qd, qdd)
    direction = np.tanh(qd / WIDTH) if kind == 'smooth' else np.sign(qd)
    level = COULOMB * np.ones_like(qd)
    if kind == 'stribeck':
        level = level * (1.0 + EXCESS * STRIBECK ** 2 / (STRIBECK ** 2 + qd ** 2))
    if kind == 'load':
        level = level + GROWTH * np.abs(torque)
    effort = torque + VISCOUS * qd + level * direction
    effort += noise * np.random.default_rng(0).normal(size=effort.shape)
    if resolution:
        q = resolution * np.round(q / resolution)
    return Recording(model.joint_names, times, q, times, effort)


@lru_cache
def found(kind, shape='sign', load=False):
    data = excerpt(arm(), recording(kind), dry=DryFriction(shape, load))
    return data.dry, estimate(arm(), data, ['friction'])


def test_the_width_of_smooth_friction_is_found():
    dry, result = found('smooth', 'smooth')
    np.testing.assert_allclose(dry.velocity, WIDTH, rtol=0.1)
    np.testing.assert_allclose(result.arm.terms[1], COULOMB, rtol=0.05)
    _, plain = found('smooth')
    assert (result.held_back < plain.held_back).all()


def test_the_controller_compensates_the_smooth_friction_that_was_found():
    dry, result = found('smooth', 'smooth')
    values = parameters(result, dry)
    coulomb, width = (np.array(values[f'friction.{name}']) for name in ('coulomb', 'width'))
    for speed in (0.01, 0.05, 0.1, 0.3):
        compensated = friction([speed] * 6, [0.0] * 6, coulomb, coulomb, [1.0] * 6, width)
        # 0.05 by the other function, the rest by the coarse candidates of the width
        np.testing.assert_allclose(compensated / COULOMB, np.tanh(speed / WIDTH), atol=0.12)
    assert 'friction.width' not in parameters(found('smooth')[1], found('smooth')[0])


def test_stribeck_friction_is_found_and_becomes_parameters_of_the_controller():
    dry, result = found('stribeck', 'stribeck')
    np.testing.assert_allclose(dry.velocity, STRIBECK, rtol=0.3)
    np.testing.assert_allclose(result.arm.terms[1], COULOMB, rtol=0.1)
    values = parameters(result, dry)
    np.testing.assert_allclose(values['friction.stiction'], (1.0 + EXCESS) * COULOMB, rtol=0.15)
    assert values['friction.stribeck_velocity'] == dry.velocity.tolist()
    names = list(values)
    assert names.index('friction.viscous') < names.index('friction.stribeck_velocity')


def test_friction_that_grows_with_the_load_is_found():
    dry, result = found('load', load=True)
    heavy = arm().model.effort_limit > 50.0
    assert heavy.any() and dry.loaded[heavy].all()
    growth = np.array([each.value for each in result.joints['load']])
    np.testing.assert_allclose(growth[heavy], GROWTH, rtol=0.1)
    _, plain = found('load')
    assert mean_residual(result) < 0.7 * mean_residual(plain)


def test_the_controller_compensates_the_friction_of_the_mean_load():
    dry, result = found('load', load=True)
    _, plain = found('load')
    coulomb = np.array(parameters(result, dry)['friction.coulomb'])
    heavy = dry.loaded
    # without growth as an unknown, Coulomb friction takes its mean
    np.testing.assert_allclose(coulomb[heavy], plain.arm.terms[1][heavy], rtol=0.05)
    assert (coulomb[heavy] > result.arm.terms[1][heavy]).all()
    assert (coulomb[~heavy] == result.arm.terms[1][~heavy]).all()


@pytest.mark.parametrize('shape', ['smooth', 'stribeck'])
def test_nothing_is_found_where_nothing_is(shape):
    dry, result = found('sign', shape, load=True)
    # narrow, if at all
    assert np.mean(np.nan_to_num(dry.velocity) < 0.03) > 0.8 and not dry.loaded.any()
    np.testing.assert_allclose(result.arm.terms[1], COULOMB, rtol=0.1)


def test_load_and_width_are_distinguished():
    dry, result = found('load', 'smooth', load=True)
    heavy = arm().model.effort_limit > 50.0
    assert dry.loaded[heavy].all() and not (dry.velocity[heavy] > 0.03).any()
    np.testing.assert_allclose(result.arm.terms[5][heavy], GROWTH, rtol=0.1)


def test_a_shape_that_explains_much_more_is_named():
    assert '--friction smooth' in identify(arm(), recording('smooth'), ['friction']).remark
    assert '--friction stribeck' in identify(arm(), recording('stribeck'), ['friction']).remark
    assert not identify(arm(), recording('sign'), ['friction']).remark


def test_rotors_that_explain_much_more_are_named():
    plain, model = recording('sign'), arm().model
    acceleration = waves(model, 3).sample(plain.position_time)[2]
    remark = identify(arm(), replace(plain, effort=plain.effort + 0.5 * acceleration),
                      ['friction']).remark
    assert '--estimate friction,armature' in remark


def test_another_model_without_a_valid_estimate_is_not_named(monkeypatch):
    def only_signs(dynamics, data, groups, **options):
        if data.dry.shape != 'sign' or 'armature' in groups:
            raise ArgumentError('the torque scale is negative')
        return estimate(dynamics, data, groups, **options)

    monkeypatch.setattr('robodyn_ros.identification.identified.estimate', only_signs)
    result = identify(arm(), recording('smooth'), ['friction'])
    assert not result.remark
    np.testing.assert_array_equal(result.found.arm.terms, found('smooth')[1].arm.terms)


def test_the_sign_between_samples_is_their_mean():
    qd = np.array([0.1, 0.01, -0.01, -0.1])
    made = mean_columns('sign', np.nan, qd, np.full(4, -0.06), None)[:, 0]
    # linear in the velocity where it crosses 0 within the interval, to 1 of 9 moments
    np.testing.assert_allclose(made, np.clip(qd / 0.03, -1.0, 1.0), atol=1.0 / 9.0)
    assert made[0] == 1.0 and made[-1] == -1.0


def test_an_unknown_shape_is_refused():
    with pytest.raises(ArgumentError, match="did you mean 'smooth'"):
        DryFriction('smoth')


def test_coarse_positions_lower_the_cutoff_or_it_is_named():
    coarse = recording('sign', 0.01, 1e-3)
    automatic = identify(arm(), coarse, ['friction'])
    assert automatic.data.filters.position < 10.0
    given = identify(arm(), coarse, ['friction'], cutoff=80.0)
    assert given.data.filters.position == 80.0 and '--cutoff' in given.remark
    assert mean_residual(automatic.found) < 0.3 * mean_residual(given.found)
    np.testing.assert_allclose(automatic.found.arm.terms[1], COULOMB, rtol=0.1)


def test_the_automatic_cutoff_is_as_good_as_the_best_one():
    """Sampled at 1 kHz, with stamps that are late by up to some ms, and positions to 1e-4 rad."""
    rng, motion = np.random.default_rng(1), waves(arm().model, 3)
    times = np.arange(0.0, motion.duration, 1e-3)
    late = np.where(rng.random(len(times)) < 0.03, rng.exponential(3e-3, len(times)), 0.0)
    stamps = np.maximum.accumulate(times + late) + 1e-7 * np.arange(len(times))
    q, qd, qdd = motion.sample(times)
    effort = arm().inverse_dynamics(q, qd, qdd) + VISCOUS * qd + COULOMB * np.sign(qd)
    effort += 0.05 * rng.normal(size=effort.shape)
    made = Recording(arm().model.joint_names, stamps, np.round(q, 4), stamps, effort)
    automatic = identify(arm(), made, ['friction'])
    given = [mean_residual(identify(arm(), made, ['friction'], cutoff=cutoff).found)
             for cutoff in (3.0, 6.0, 100.0)]
    assert mean_residual(automatic.found) < 1.3 * min(given) and given[-1] > 10.0 * min(given)
    np.testing.assert_allclose(automatic.found.arm.terms[1], COULOMB, rtol=0.05)
