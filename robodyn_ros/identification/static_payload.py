"""
A payload from the torques at slow passes through a few poses, each in both directions.

Dry and viscous friction change their sign with the direction, gravity does not: the mean of both
passes is the gravity torque of arm and payload, linear in the payload's mass and first moment,

    mean_j(pose) = g_j(q) + Y_j(q) [m, m c] + offset_j.

Source: Khalil, Gautier, Lemoine, Identification of the payload inertial parameters of industrial
manipulators, 2007 (the method with static torques, before and after loading).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.estimate import QUANTILE
from robodyn_ros.identification.payload import moving_link
from robodyn_ros.model.per_joint import usable_range

_DRAWN = 500        # random poses to choose from
_SPAN = 0.6         # part of the position range for the poses
_FREE = 1.5         # rad or m to either side of 0 of a joint without a limit
_USABLE = 0.6       # part of the effort limits that gravity may take
_SIGNIFICANT = 2.5  # half intervals at which a payload counts as present
_LEAST = 0.02       # kg, least mass of a payload
_RIDGE = 1e-3       # makes the first determinants of the choice positive


class StaticPayload(NamedTuple):
    """
    Estimated payload, with half of the 95 % intervals.

    Attributes
    ----------
    mass, mass_margin : float
        In kg.
    com, com_margin : (3,) array
        Centre of mass in the frame of the link, in m.
    residual : (nv,) array
        RMS torque of each joint that is not explained, N m or N.

    """

    mass: float
    mass_margin: float
    com: NDArray
    com_margin: NDArray
    residual: NDArray

    @property
    def significant(self) -> bool:
        """Return whether there is a payload."""
        return self.mass > max(_SIGNIFICANT * self.mass_margin, _LEAST)


class Pass(NamedTuple):
    """
    Means over the passes through a pose in both directions.

    Attributes
    ----------
    position, effort : (nv,) array
        Rad or m, and N m or N; the effort is NaN of a joint that did not move, whose friction is
        unknown.

    """

    position: NDArray
    effort: NDArray


def moment_columns(dynamics: Dynamics, link: str, q: NDArray) -> NDArray:
    """
    Return the gravity torques per mass and first moment in a link's frame, (n, nv, 4).

    Raises as `moving_link`.
    """
    frame = moving_link(dynamics, link)
    zero = np.zeros_like(q)
    columns = dynamics.regressor(q, zero, zero)[..., 10 * frame.body:10 * frame.body + 4]
    # in the body, m c is R (m c of the link) + m t
    mass = columns[..., :1] + columns[..., 1:] @ frame.translation[:, None]
    return np.concatenate([mass, columns[..., 1:] @ frame.rotation], axis=-1)


def choose_poses(dynamics: Dynamics, link: str, count: int, margin: float,
                 seed: int = 0) -> NDArray:
    """
    Return poses at which the torques depend most on a payload, (count, nv), in a short order.

    Of random poses those are taken one by one that enlarge the determinant of the information
    most.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm without the payload.
    link : str
        Link that holds the payload.
    count : int
        Number of poses.
    margin : float
        Distance from the position limits, in rad or m.
    seed : int
        Seed of the random poses.

    Raises
    ------
    ArgumentError
        The motors cannot hold the arm in so many poses, or as `moment_columns`.

    """
    model = dynamics.model
    lower, upper = usable_range(model, _FREE)
    half = np.minimum.reduce([0.5 * _SPAN * (upper - lower), np.full(model.nv, _FREE),
                              0.5 * (upper - lower) - margin])
    half = np.maximum(half, 0.0)
    rng = np.random.default_rng(seed)
    poses = 0.5 * (lower + upper) + rng.uniform(-1.0, 1.0, (_DRAWN, model.nv)) * half
    poses = poses[(np.abs(dynamics.gravity(poses)) < _USABLE * model.effort_limit).all(axis=1)]
    if len(poses) < count:
        raise ArgumentError(f'gravity leaves the motors too little in all but {len(poses)} of '
                            f'{_DRAWN} random poses; {count} are needed')
    columns = _with_offsets(moment_columns(dynamics, link, poses))
    size = np.where(np.isfinite(model.effort_limit), model.effort_limit, 1.0)
    columns = columns / size[:, None]
    information = _RIDGE * np.eye(columns.shape[-1])
    gains = np.einsum('njk,njl->nkl', columns, columns)
    left, chosen = list(range(len(poses))), []
    for _ in range(count):
        best = max(left, key=lambda k: np.linalg.slogdet(information + gains[k])[1])
        information = information + gains[best]
        chosen.append(best)
        left.remove(best)
    return _in_short_order(poses[chosen])


def _in_short_order(poses: NDArray) -> NDArray:
    """Return the poses so that each is followed by the nearest of the others."""
    order, left = [0], set(range(1, len(poses)))
    while left:
        order.append(min(left, key=lambda k: np.abs(poses[k] - poses[order[-1]]).max()))
        left.remove(order[-1])
    return poses[order]


def estimate_payload(dynamics: Dynamics, link: str, passes: Sequence[Pass],
                     without: Sequence[Pass] = ()) -> StaticPayload:
    """
    Return the payload that the passes show.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm without the payload.
    link : str
        Link that holds it.
    passes : sequence of Pass
        Passes with the payload.
    without : sequence of Pass, optional
        Passes through the same poses without it, in the same order: errors of the URDF's masses
        then cancel.

    Raises
    ------
    ArgumentError
        Too few or different passes, or as `moment_columns`.

    """
    q, effort = (np.array([getattr(each, name) for each in passes]) for name in Pass._fields)
    _check_passes(len(q), without)
    arm = dynamics.gravity(q)
    if without:
        q0, effort0 = (np.array([getattr(each, name) for each in without])
                       for name in Pass._fields)
        # poses differ a little; the model is good enough for that
        arm = effort0 + arm - dynamics.gravity(q0)
    rest = effort - arm
    columns = _with_offsets(moment_columns(dynamics, link, q))
    known = np.isfinite(rest)
    # of a joint that was never in motion nothing is known, not even its offset
    used = np.concatenate([np.ones(4, dtype=bool), known.any(axis=0)])
    rest, columns = np.where(known, rest, 0.0), (columns * known[..., None])[..., used]
    if np.count_nonzero(known) < 2 * np.count_nonzero(used):
        raise ArgumentError('too few joints moved in the passes: friction holds them; identify '
                            'the friction first')
    count = np.maximum(known.sum(axis=0) - 4.0 / dynamics.nv - 1.0, 1.0)
    weight = np.ones(dynamics.nv)
    for _ in range(3):  # joints by their residuals
        A = (columns / weight[:, None]).reshape(-1, columns.shape[-1])
        inverse = np.linalg.pinv(A.T @ A, rcond=1e-12, hermitian=True)
        found = inverse @ A.T @ (rest / weight).ravel()
        errors = rest - columns @ found
        weight = np.maximum(np.sqrt(np.sum(errors ** 2, axis=0) / count), 1e-3)
    mass, moment = found[0], found[1:4]
    com = moment / mass if mass else np.full(3, np.nan)
    slope = np.hstack([-com[:, None], np.eye(3)]) / mass  # of the centre, by mass and moment
    deviation = np.sqrt(np.diag(slope @ inverse[:4, :4] @ slope.T))
    return StaticPayload(float(mass), float(QUANTILE * np.sqrt(inverse[0, 0])), com,
                         QUANTILE * deviation,
                         np.sqrt(np.sum(errors ** 2, axis=0) / np.maximum(known.sum(axis=0), 1)))


def _check_passes(count: int, without: Sequence[Pass]) -> None:
    if count < 4:
        raise ArgumentError(f'{count} poses were recorded: at least 4 are needed', count=count)
    if without and len(without) != count:
        raise ArgumentError(f'{count} poses were recorded with the payload, and {len(without)} '
                            'without it: record both with the same options')


def _with_offsets(columns: NDArray) -> NDArray:
    """Return columns with those of a constant offset of each joint."""
    n, nv, _ = columns.shape
    return np.concatenate([columns, np.broadcast_to(np.eye(nv), (n, nv, nv))], axis=-1)
