"""
The workspace of an arm: gravity torques, largest payload and condition of the mass matrix.

Random poses are drawn inside the position limits; a coordinate search starts from the worst one.
Self-collisions are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import joint_slides

_TURN = 2.0 * np.pi
_FURTHEST = 1e3           # rad or m from 0; limits like 1e308 mean none
_GRID, _ROUNDS = 33, 16   # search: positions of a joint, with half the distance in each round
_CONDITIONED = 2000       # poses at which the mass matrix is computed
_SINGULAR = 1e-16         # ratio of smallest to largest eigenvalue that counts as 0
_SAME = 1e-6              # relative difference of scores that counts as equal
_NONE = 1e-9              # N m or N per kg that counts as 0


class GravityLoad(NamedTuple):
    """
    Gravity torques over the workspace; per joint in model order, N m or N.

    Attributes
    ----------
    torque : (nv,) array
        Gravity torques of the largest size.
    poses : (nv, nv) array
        Row j: pose of the largest gravity torque of joint j.
    over : (nv,) array
        Share of the poses in which it exceeds the effort limit; NaN without a limit.
    over_any : float
        Share of the poses in which it exceeds the effort limit of any joint.

    """

    torque: np.ndarray
    poses: np.ndarray
    over: np.ndarray
    over_any: float


class Payload(NamedTuple):
    """
    Largest payload at the origin of a link.

    Attributes
    ----------
    link : str
    mass : float
        Largest mass that can be held in every pose, in kg; infinite if no joint limits it.
    joint : int
        Index of the joint that limits it; -1 if none does.
    pose : (nv,) array
        Pose in which it is limited.
    shares : dict of int to float
        Largest mass in kg for a percentage of the poses.

    """

    link: str
    mass: float
    joint: int
    pose: np.ndarray
    shares: dict[int, float]


class Condition(NamedTuple):
    """Largest condition number of the mass matrix, its pose, and the joint of least inertia."""

    number: float
    pose: np.ndarray
    joint: int


def usable_limits(model: RobotModel) -> np.ndarray:
    """Return the effort limits, infinite if missing or 0; (nv,)."""
    limit = np.array(model.effort_limit)
    limit[~(limit > 0.0)] = np.inf
    return limit


def reach(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of random poses, (nv,) each; one turn at most for revolute joints."""
    low, high = (np.clip(limit, -_FURTHEST, _FURTHEST) for limit in (model.lower, model.upper))
    turns = ~joint_slides(model) & (high - low > _TURN)
    start = np.clip(-np.pi, low, high - _TURN)
    return np.where(turns, start, low), np.where(turns, start + _TURN, high)


def sample(model: RobotModel, count: int, seed: int) -> np.ndarray:
    """Return random poses, uniform inside the position limits; (count, nv)."""
    low, high = reach(model)
    return low + (high - low) * np.random.default_rng(seed).random((count, model.nv))


def maximize(model: RobotModel, score: Callable[[np.ndarray], np.ndarray],
             start: np.ndarray) -> np.ndarray:
    """
    Return a pose with a locally maximal score, from a coordinate search.

    Joints that do not change the score are at 0, or at the nearest limit.

    Parameters
    ----------
    model : RobotModel
        Model with the position limits.
    score : callable
        Function of poses (N, nv) that returns scores (N,).
    start : (nv,)
        Initial pose.

    """
    low, high = reach(model)
    best, highest = np.array(start), float(score(start[None])[0])
    # the whole range of each joint first, then smaller ranges about the best position
    for width in (high - low) * 0.5 ** np.arange(_ROUNDS)[:, None]:
        for joint in range(model.nv):
            candidates = np.repeat(best[None], _GRID, axis=0)
            candidates[:, joint] = np.clip(
                best[joint] + width[joint] * np.linspace(-1.0, 1.0, _GRID), low[joint],
                high[joint])
            scores = score(candidates)
            k = int(np.argmax(scores))
            if scores[k] > highest:
                best, highest = candidates[k], float(scores[k])
    return _with_zeros(score, best, highest - _SAME * abs(highest), np.clip(0.0, low, high))


def _with_zeros(score: Callable[[np.ndarray], np.ndarray], pose: np.ndarray, least: float,
                zero: np.ndarray) -> np.ndarray:
    """Return the pose with joints at zero where the score does not fall below `least`."""
    for joint in range(pose.size):
        candidate = pose.copy()
        candidate[joint] = zero[joint]
        if score(candidate[None])[0] >= least:
            pose = candidate
    return pose


def _gravity_torque(dynamics: Dynamics, j: int, q: np.ndarray) -> np.ndarray:
    """Return the size of the gravity torque of a joint in many poses."""
    return np.abs(dynamics.gravity(q)[:, j])


def gravity_load(dynamics: Dynamics, poses: np.ndarray,
                 tick: Callable[[str], None] = lambda _: None) -> GravityLoad:
    """Return the largest gravity torque of each joint; `tick` is called with the progress."""
    model = dynamics.model
    g = dynamics.gravity(poses)
    limit = usable_limits(model)
    over = np.abs(g) > limit
    worst = np.empty((model.nv, model.nv))
    for j, k in enumerate(np.abs(g).argmax(axis=0)):
        tick(f'joint {j + 1} of {model.nv}')
        worst[j] = maximize(model, partial(_gravity_torque, dynamics, j), poses[k])
    share = np.where(np.isfinite(limit), over.mean(axis=0), np.nan)
    return GravityLoad(np.diagonal(dynamics.gravity(worst)).copy(), worst, share,
                       float(over.any(axis=1).mean()))


def largest_payload(dynamics: Dynamics, link: str, poses: np.ndarray) -> Payload:
    """Return the largest point mass that a link can carry at its origin."""
    model = dynamics.model

    def spare(q):
        return _spare(dynamics, link, q).min(axis=1)

    masses = spare(poses)
    pose = maximize(model, lambda q: -spare(q), poses[int(masses.argmin())])
    rooms = _spare(dynamics, link, pose[None])[0]
    joint = int(rooms.argmin())
    mass = max(0.0, float(rooms[joint]))
    shares = {part: max(0.0, float(np.quantile(masses, 1.0 - part / 100.0, method='lower')))
              for part in (90, 50)}
    return Payload(link, mass, joint if np.isfinite(mass) else -1, pose, shares)


def _spare(dynamics: Dynamics, link: str, q: np.ndarray) -> np.ndarray:
    """Return the mass that each joint can hold; below 0 where gravity alone is too large."""
    limit = usable_limits(dynamics.model)
    g = dynamics.gravity(q)
    # gravity torque of 1 kg
    load = -np.einsum('nij,i->nj', dynamics.jacobian(q, link)[:, :3], dynamics.model.gravity)
    lever = np.abs(load)
    with np.errstate(divide='ignore', invalid='ignore'):
        room = np.where(lever > _NONE, (limit - np.sign(load) * g) / lever, np.inf)
    return np.where(np.abs(g) > limit, 1.0 - np.abs(g) / limit, room)


def condition(dynamics: Dynamics, poses: np.ndarray) -> Condition:
    """Return the worst condition number of the mass matrix among the poses."""
    poses = poses[:_CONDITIONED]
    sizes, axes = np.linalg.eigh(dynamics.mass_matrix(poses))
    with np.errstate(divide='ignore', invalid='ignore'):
        numbers = np.where(sizes[:, 0] > _SINGULAR * sizes[:, -1],
                           sizes[:, -1] / sizes[:, 0], np.inf)
    k = int(numbers.argmax())
    return Condition(float(numbers[k]), poses[k], int(np.abs(axes[k, :, 0]).argmax()))
