"""
Where an arm can be, and what gravity asks of its motors there.

Poses are drawn at random inside the position limits, and the worst of them is followed uphill,
one joint after the other. Whether the arm hits itself on the way is not considered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.units import joint_slides
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel

_TURN = 2.0 * np.pi
_FURTHEST = 1e3           # rad or m from 0; limits like 1e308 stand for none
_GRID, _ROUNDS = 33, 16   # of the search: places along a joint, each round half as far apart
_CONDITIONED = 2000       # poses whose mass matrix is looked at
_SINGULAR = 1e-16         # smallest eigenvalue, as a share of the largest, that is not 0
_SAME = 1e-6              # share by which a tidier pose may be better than the worst one
_NONE = 1e-9              # N m or N per kg that is no lever at all


class Weight(NamedTuple):
    """
    What gravity asks of the joints; per joint in model order, N m or N.

    Attributes
    ----------
    torque : (nv,) array
        The largest in size, with its sign.
    poses : (nv, nv) array
        Row j is the pose in which joint j has it.
    over : (nv,) array
        Share of the poses in which it exceeds the effort limit; NaN without a limit.
    over_any : float
        Share of the poses in which any joint is overloaded.

    """

    torque: np.ndarray
    poses: np.ndarray
    over: np.ndarray
    over_any: float


class Payload(NamedTuple):
    """
    What a link can carry at its origin.

    Attributes
    ----------
    link : str
    mass : float
        kg that can be held in every pose; infinite if no joint bears it.
    joint : int
        Which joint limits it; -1 if none does.
    pose : (nv,) array
        Where.
    shares : dict of int to float
        kg that can be held in so many per cent of the poses.

    """

    link: str
    mass: float
    joint: int
    pose: np.ndarray
    shares: dict[int, float]


class Condition(NamedTuple):
    """Largest condition number of the mass matrix, where that is, and the joint that is light."""

    number: float
    pose: np.ndarray
    joint: int


def usable_limits(model: RobotModel) -> np.ndarray:
    """Return the effort limits, infinite where there is none or it is 0; (nv,)."""
    limit = np.array(model.effort_limit)
    limit[~(limit > 0.0)] = np.inf
    return limit


def reach(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions between which poses are drawn; for a turning joint one turn is all."""
    low, high = (np.clip(limit, -_FURTHEST, _FURTHEST) for limit in (model.lower, model.upper))
    turns = ~joint_slides(model) & (high - low > _TURN)
    start = np.clip(-np.pi, low, high - _TURN)
    return np.where(turns, start, low), np.where(turns, start + _TURN, high)


def sample(model: RobotModel, count: int, seed: int) -> np.ndarray:
    """Return poses drawn evenly from the position limits; (count, nv)."""
    low, high = reach(model)
    return low + (high - low) * np.random.default_rng(seed).random((count, model.nv))


def climb(model: RobotModel, score: Callable[[np.ndarray], np.ndarray],
          start: np.ndarray) -> np.ndarray:
    """
    Return a pose with a larger score than the one to start from, or that one.

    Joints that do not matter stand at 0, or as near as their limits allow.

    Parameters
    ----------
    model : RobotModel
        Has the position limits.
    score : callable
        Of poses (N, nv), returns (N,).
    start : (nv,)
        Where to begin.

    """
    low, high = reach(model)
    best, highest = np.array(start), float(score(start[None])[0])
    # all along each joint first, then closer and closer to the best place
    for width in (high - low) * 0.5 ** np.arange(_ROUNDS)[:, None]:
        for joint in range(model.nv):
            places = np.repeat(best[None], _GRID, axis=0)
            places[:, joint] = np.clip(
                best[joint] + width[joint] * np.linspace(-1.0, 1.0, _GRID), low[joint],
                high[joint])
            scores = score(places)
            k = int(np.argmax(scores))
            if scores[k] > highest:
                best, highest = places[k], float(scores[k])
    return _tidied(score, best, highest - _SAME * abs(highest), np.clip(0.0, low, high))


def _tidied(score: Callable[[np.ndarray], np.ndarray], pose: np.ndarray, enough: float,
            zero: np.ndarray) -> np.ndarray:
    for joint in range(pose.size):
        tidy = pose.copy()
        tidy[joint] = zero[joint]
        if score(tidy[None])[0] >= enough:
            pose = tidy
    return pose


def weigh(dynamics: Dynamics, poses: np.ndarray,
          look: Callable[[str], None] = lambda _: None) -> Weight:
    """Return the largest weight that each joint has to hold; `look` is told how far it is."""
    model = dynamics.model
    g = dynamics.gravity(poses)
    limit = usable_limits(model)
    over = np.abs(g) > limit
    worst = np.empty((model.nv, model.nv))
    for j, k in enumerate(np.abs(g).argmax(axis=0)):
        look(f'joint {j + 1} of {model.nv}')
        worst[j] = climb(model, lambda q, j=j: np.abs(dynamics.gravity(q)[:, j]), poses[k])
    share = np.where(np.isfinite(limit), over.mean(axis=0), np.nan)
    return Weight(np.diagonal(dynamics.gravity(worst)).copy(), worst, share,
                  float(over.any(axis=1).mean()))


def carry(dynamics: Dynamics, link: str, poses: np.ndarray) -> Payload:
    """Return the largest point mass that a link can carry at its origin."""
    model = dynamics.model

    def spare(q):
        return _spare(dynamics, link, q).min(axis=1)

    masses = spare(poses)
    pose = climb(model, lambda q: -spare(q), poses[int(masses.argmin())])
    rooms = _spare(dynamics, link, pose[None])[0]
    joint = int(rooms.argmin())
    mass = max(0.0, float(rooms[joint]))
    shares = {part: max(0.0, float(np.quantile(masses, 1.0 - part / 100.0, method='lower')))
              for part in (90, 50)}
    return Payload(link, mass, joint if np.isfinite(mass) else -1, pose, shares)


def _spare(dynamics: Dynamics, link: str, q: np.ndarray) -> np.ndarray:
    """Return the mass that each joint can bear; below 0 where gravity alone is too much."""
    limit = usable_limits(dynamics.model)
    g = dynamics.gravity(q)
    # what 1 kg adds
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
