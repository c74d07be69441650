"""Intervals of estimates with errors that are neither white nor equally large everywhere."""

from dataclasses import replace

import numpy as np

from identification_data import arm, waves
from robodyn_ros.identification.equations import Equations, JOINT_TERMS
from robodyn_ros.identification.estimate import QUANTILE
from robodyn_ros.identification.fit import solve
from robodyn_ros.identification.jackknife import block_covariance
from robodyn_ros.identification.unknowns import Unknowns, urdf_terms

RATE, DURATION, CUTOFF = 12.5, 15.0, 5.0  # equations per second, s, Hz
LASTING = 0.1  # s
SEEDS = 60


def exact_equations():
    """Return the equations of a motion, without noise, and the velocities."""
    dynamics = arm()
    times = np.arange(0.0, DURATION, 1.0 / RATE)
    q, qd, qdd = waves(dynamics.model, duration=DURATION).sample(times)
    regressor, zero = dynamics.regressor(q, qd, qdd), np.zeros(len(times))
    phi, terms = dynamics.parameters, urdf_terms(dynamics.model)
    joints = []
    for j in range(dynamics.nv):
        columns = np.column_stack([regressor[:, j], qd[:, j], np.sign(qd[:, j]), zero + 1.0,
                                   qdd[:, j], zero, zero])
        effort = columns @ np.concatenate([phi, terms[:, j]])
        joints.append(Equations(times, columns, effort, np.gradient(effort, times),
                                np.zeros(len(times), dtype=int)))
    return joints, qd


def errors(rng, qd):
    """Return errors that last, are alike in all joints, and grow with the speed of a joint."""
    count, joints = qd.shape
    white = rng.normal(size=(count, joints)) + rng.normal(size=(count, 1))
    keep, made = np.exp(-1.0 / (LASTING * RATE)), np.zeros((count, joints))
    for k in range(1, count):
        made[k] = keep * made[k - 1] + white[k]
    return 0.05 * made * (np.abs(qd) / np.abs(qd).max(axis=0)) ** 2


def intervals(make_errors):
    """Return errors of the estimates relative to their deviations, by blocks and as if white."""
    joints, qd = exact_equations()
    unknowns = Unknowns(arm(), ['friction'], delay=0.0)
    true = np.array([urdf_terms(arm().model)[JOINT_TERMS.index(kind), j]
                     for kind, j in unknowns.numbers])
    blocks, white = [], []
    for seed in range(SEEDS):
        noise = make_errors(np.random.default_rng(seed), qd)
        noisy = [replace(joint, effort=joint.effort + noise[:, j])
                 for j, joint in enumerate(joints)]
        fit = solve(unknowns, noisy)
        for found, covariance in ((blocks, block_covariance(fit, noisy, CUTOFF)),
                                  (white, fit.covariance)):
            found.append((fit.z - true) / np.sqrt(np.diag(covariance)))
    return np.array(blocks), np.array(white), np.array([kind for kind, _ in unknowns.numbers])


def test_intervals_hold_for_correlated_errors_that_grow_with_the_speed():
    blocks, white, kinds = intervals(errors)
    for kind in ('viscous', 'coulomb', 'offset'):
        assert 0.88 < np.mean(np.abs(blocks[:, kinds == kind]) < QUANTILE) < 0.985
    assert np.mean(np.abs(white[:, kinds == 'viscous']) < QUANTILE) < 0.7


def test_intervals_of_white_errors_are_hardly_wider():
    blocks, white, _ = intervals(lambda rng, qd: 0.05 * rng.normal(size=qd.shape))
    assert 0.93 < np.mean(np.abs(blocks) < QUANTILE) < 0.985
    assert 0.95 < np.median(white / blocks) < 1.15  # ratio of the deviations
