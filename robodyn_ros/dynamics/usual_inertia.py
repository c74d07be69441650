"""Inertia that the joints of an arm usually have, at least, and as rotors."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import usable_range

MIN_INERTIA = 1e-6   # kg m^2 or kg: of a joint that moves no mass
_POSES = 64            # configurations for the usual inertia
_MAX_ACCELERATION = 1000.0  # rad/s^2 or m/s^2, beyond a geared motor
_USUAL_ACCELERATION = 500.0  # rad/s^2 or m/s^2, of a fast geared motor
_RISE = 0.005  # s to its velocity limit


def joint_inertia(dynamics: Dynamics) -> np.ndarray:
    """
    Return the typical inertia of each joint alone, (nv,), in kg m^2 (kg).

    The geometric mean of M_ii over poses within the position limits: stretched and folded poses
    have equal influence.
    """
    poses = sampled_poses(dynamics.model, _POSES)
    diagonals = np.array([np.diag(dynamics.mass_matrix(q)) for q in poses])
    return np.exp(np.log(np.maximum(diagonals, np.finfo(float).tiny)).mean(axis=0))


def lightest_inertia(dynamics: Dynamics, armature: np.ndarray) -> np.ndarray:
    """
    Return the least inertia that the loop of each joint may see, (nv,), in kg m^2 (kg).

    That with all others free, 1 / (M^-1)_jj, in any pose, and not above the rotor it is built for:
    that alone is left above the resonance of an elastic joint.
    """
    added = np.diag(np.maximum(armature, MIN_INERTIA))
    lightest = np.min([1.0 / np.diag(np.linalg.inv(dynamics.mass_matrix(q) + added))
                       for q in sampled_poses(dynamics.model, _POSES)], axis=0)
    rotors = np.maximum(likely_rotors(dynamics.model), armature)
    return np.minimum(lightest, np.where(rotors > 0.0, rotors, np.inf))


def likely_rotors(model: RobotModel) -> np.ndarray:
    """
    Return the rotor inertia that each joint is built for, (nv,), in kg m^2 (kg).

    A geared motor accelerates its own rotor at its effort limit by about 500 rad/s^2 or m/s^2, or
    to its velocity limit in 5 ms. 0 without an effort limit.
    """
    fast = np.asarray(model.velocity_limit) / _RISE / _USUAL_ACCELERATION
    return slow_rotors(model) / np.maximum(1.0, fast)


def slow_rotors(model: RobotModel) -> np.ndarray:
    """
    Return the rotor inertia that each joint is built for if it is slow, (nv,), in kg m^2 (kg).

    As `likely_rotors`, whatever the velocity limit, which may be a placeholder.
    """
    return np.where(np.isfinite(model.effort_limit), model.effort_limit, 0.0) / _USUAL_ACCELERATION


def rotor_hints(model: RobotModel, inertia: np.ndarray) -> np.ndarray:
    """
    Return the likely rotors of joints whose inertia is implausibly small, (nv,), 0 of the others.

    `inertia` as of `joint_inertia`; all in kg m^2 (kg).
    """
    rotors = slow_rotors(model)
    lacks = rotors * _USUAL_ACCELERATION > _MAX_ACCELERATION * np.maximum(inertia, MIN_INERTIA)
    return np.where(lacks, rotors, 0.0)


def missing_rotors(model: RobotModel, inertia: np.ndarray, armature: np.ndarray) -> str:
    """
    Return the joints with so little inertia that their rotors must be missing; '' if none.

    Parameters
    ----------
    model : RobotModel
        Model of the arm, with effort limits that show what its joints are built for.
    inertia : (nv,)
        Typical inertia of each joint, without rotors, in kg m^2 (kg).
    armature : (nv,)
        Inertia of the rotors; joints with one are not checked.

    """
    effort, units = np.array(model.effort_limit), model.effort_units
    rotors = rotor_hints(model, inertia)
    named = [f"'{model.joint_names[j]}' ({effort[j]:g} {units[j]} on {inertia[j]:.2g}, armature "
             f'about {rotors[j]:.2g})' for j in np.flatnonzero((rotors > 0.0) & (armature == 0.0))]
    return named and (
        f'the inertia of {", ".join(named)} is implausibly small: the effort limit '
        f'would accelerate it by more than {_MAX_ACCELERATION:g} rad/s^2 or m/s^2. A geared rotor '
        'is likely missing, and such joints are soft or shake: set the parameter armature, rotor '
        'inertia times the square of the gear ratio, in kg m^2 or kg') or ''


def sampled_poses(model: RobotModel, count: int) -> np.ndarray:
    """Return joint positions drawn within the limits, (count, nv): the same at every call."""
    return np.random.default_rng(0).uniform(*usable_range(model), (count, model.nv))
