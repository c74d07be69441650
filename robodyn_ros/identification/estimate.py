"""Estimation of parameters with confidence intervals, and validation on data that is held back."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.effort_ratio import effort_ratios
from robodyn_ros.identification.equations import Equations, JOINT_TERMS, RegressionData
from robodyn_ros.identification.fit import Fit, residual, solve
from robodyn_ros.identification.jackknife import block_covariance
from robodyn_ros.identification.payload import (
    initial_payload, mass_deviation, payload_derivative, payload_numbers)
from robodyn_ros.identification.statistics import condition_number, correlated_samples
from robodyn_ros.identification.unknowns import NOT_NEGATIVE, Physical, Unknowns

QUANTILE = 1.96       # quantile of the normal distribution for intervals of 95 %
_UNIDENTIFIED = 0.3   # ratio of posterior and prior deviation above which data is uninformative
_WORSE = 1.2          # ratio of residuals from which on a joint needs a number
_TRIMMED = 2          # rounds without outliers
_OUTLIER = 4.0        # standard deviations from which a residual is an outlier
_NORMAL = 1.4826      # standard deviation per median of the absolute values
_MIN_EQUATIONS = 30   # least number of equations of a joint
_DEPENDENT = 1e-6     # part of a column that others do not explain, below which it is left out
_SIGNIFICANT = 5.0    # standard deviations of its mass at which a payload counts as present


class Value(NamedTuple):
    """Value and half of its 95 % interval; the latter is 0 if the value was not estimated."""

    value: float
    margin: float = 0.0


class BaseValue(NamedTuple):
    """Base parameter: URDF value, estimate, half of its 95 % interval, whether identified."""

    name: str
    urdf: float
    value: float
    margin: float
    identified: bool


class Estimate(NamedTuple):
    """
    Result of an identification.

    Attributes
    ----------
    arm : Physical
        All parameters, estimated or not.
    joints : dict of str to list of Value
        Joint parameters by kind ('viscous', 'coulomb', 'offset', 'armature', 'scale', and those of
        further dry friction: 'stribeck', 'load'), in model order; only requested kinds.
    payload : list of Value
        Mass, centre of mass (3), inertia xx, yy, zz, xy, xz, yz about it, in the link's frame;
        empty if not requested.
    has_payload : bool
        Whether a payload with a significant mass was found.
    delay : Value
        Delay of the efforts against the positions (s).
    base : list of BaseValue
        Base parameters; empty if inertia was not requested.
    unexcited : list of (str, int)
        Kind and joint of parameters that the data does not identify; they are as in the URDF.
    condition : float
        Condition number of the weighted equations with columns of length 1, of which none depends
        on others.
    fitted, held_back, urdf : (nv,) array
        Norm of the residual relative to that of the torque: on the data of the fit, on the data
        held back, and on the latter with the URDF's parameters.
    times, measured, predicted : list of (n,) array
        Times, measured and predicted torque of all equations of a joint, for plots.
    split : float
        Time from which data was held back, in s.
    mean_load : (nv,) array
        Mean torque, in N m (N), with which dry friction grew; 0 where it does not.
    correlation : (nv,) array
        Number of successive residuals per independent one; below 2 where they are noise.
    effort_ratio : (nv,) array
        Recorded effort per torque of the URDF; NaN where the data does not determine it.

    """

    arm: Physical
    joints: dict[str, list[Value]]
    payload: list[Value]
    has_payload: bool
    delay: Value
    base: list[BaseValue]
    unexcited: list[tuple[str, int]]
    condition: float
    fitted: NDArray
    held_back: NDArray
    urdf: NDArray
    times: list[NDArray]
    measured: list[NDArray]
    predicted: list[NDArray]
    split: float
    mean_load: NDArray
    correlation: NDArray
    effort_ratio: NDArray


def estimate(dynamics: Dynamics, data: RegressionData, groups: Collection[str],
             payload_link: str | None = None, inertia_spread: float = 0.5,
             hold_back: float = 0.25, delay: float | None = None) -> Estimate:
    """
    Estimate the parameters of an arm from a recording.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm as in the URDF, which is the prior.
    data : RegressionData
        Equations of a recording of this arm.
    groups : collection of str
        Parameters to estimate, see `unknowns.GROUPS`.
    payload_link : str, optional
        Link with a payload to estimate.
    inertia_spread : float
        Approximate relative error of the URDF's masses.
    hold_back : float
        Fraction of the time, at the end, that is used for validation only.
    delay : float, optional
        Delay of the efforts against the positions (s); estimated by default.

    Raises
    ------
    ArgumentError
        Too few data, wrong groups, or efforts of the wrong sign; the message names the joint.
    ModelError
        Unknown link.

    """
    begin, end = data.span
    split = end - hold_back * (end - begin)
    train = [joint.between(-np.inf, split) for joint in data.joints]
    _check_amount(dynamics, data, train)
    payload = None
    if payload_link is not None:
        payload = initial_payload(dynamics, train, payload_link)
    unknowns = Unknowns(dynamics, groups, inertia_spread, payload, delay, data.dry)
    ratio = effort_ratios(train, dynamics.parameters)
    near = unknowns.near(np.where(np.isfinite(ratio) & ('scale' in groups), ratio, 1.0))
    fit, unexcited = _identifiable(near, train, data.moves)
    for _ in range(_TRIMMED):
        kept = _without_outliers(fit, train)
        fit = solve(fit.unknowns, kept, fit.z, fit.deviation)
    fit = fit._replace(covariance=block_covariance(fit, kept, data.filters.equation))
    _check_signs(dynamics, fit.physical)
    test = [joint.between(split, np.inf) for joint in data.joints]
    body = fit.unknowns.payload_body
    errors = [residual(joint, j, fit.physical, body) for j, joint in enumerate(data.joints)]
    return Estimate(
        fit.physical, _joint_values(fit, dynamics.nv),
        _payload_values(dynamics, fit, payload_link),
        payload is not None and _has_payload(fit, train), _delay(fit),
        _base_values(dynamics, fit) if 'inertia' in groups else [], unexcited,
        _condition(dynamics, fit, train, 'inertia' in groups),
        _relative_residuals(train, fit.physical, body),
        _relative_residuals(test, fit.physical, body),
        _relative_residuals(test, unknowns.nominal._replace(delay=fit.physical.delay), -1),
        [joint.times for joint in data.joints], [joint.effort for joint in data.joints],
        [joint.effort + error for joint, error in zip(data.joints, errors)], split,
        np.array([_mean_load(joint) for joint in train]),
        np.array([correlated_samples(error, joint.segment)
                  for joint, error in zip(data.joints, errors)]), ratio)


def _check_amount(dynamics: Dynamics, data: RegressionData, train: list[Equations]) -> None:
    for name, moves, joint in zip(dynamics.model.joint_names, data.moves, train):
        if moves and len(joint) < _MIN_EQUATIONS:
            raise ArgumentError(
                f'joint {name!r}: only {len(joint)} independent equations are left of '
                f'{data.used:.1f} s of usable data, at least {_MIN_EQUATIONS} are needed: record '
                'longer, or let the joint move more of the time', joint=name, count=len(joint))


def _identifiable(unknowns: Unknowns, joints: list[Equations],
                  moves: NDArray) -> tuple[Fit, list[tuple[str, int]]]:
    """Return the solution, and the joint parameters that the data does not identify."""
    dropped = [each for each in unknowns.numbers if not moves[each[1]]]
    needed: set[tuple[str, int]] = set()
    fit = solve(unknowns.without(dropped), joints)
    while True:
        doubtful = _most_doubtful(fit, needed)
        if doubtful is None:
            return fit, dropped
        fewer = unknowns.without([*dropped, doubtful])
        at = 10 * len(fewer.bodies) + fit.unknowns.numbers.index(doubtful)
        other = solve(fewer, joints, np.delete(fit.z, at), fit.deviation)
        # where the model errs, its errors alone make intervals wide
        if other.deviation[doubtful[1]] > _WORSE * fit.deviation[doubtful[1]]:
            needed.add(doubtful)
        else:
            fit, dropped = other, [*dropped, doubtful]


def _most_doubtful(fit: Fit, needed: Collection[tuple[str, int]]) -> tuple[str, int] | None:
    """Return the number of a joint that is least identified; None if all others are."""
    numbers, first = fit.unknowns.numbers, 10 * len(fit.unknowns.bodies)
    ratio = (np.sqrt(np.diag(fit.covariance)) / fit.spread)[first:first + len(numbers)]
    # of two parameters that are confounded, such as an offset and the scale of constant gravity,
    # the offset is dropped first
    doubts = [(part + 1e-3 * (each[0] == 'offset'), each) for part, each in zip(ratio, numbers)
              if part >= _UNIDENTIFIED and each not in needed]
    if not doubts:
        return None
    kind, j = max(doubts)[1]
    if kind == 'scale' and ('offset', j) in numbers and ('offset', j) not in needed:
        return 'offset', j
    return kind, j


def _without_outliers(fit: Fit, joints: list[Equations]) -> list[Equations]:
    """
    Return the equations whose residuals are plausible.

    Where a joint sticks and slips, friction is anything: few equations, with large residuals.
    """
    body, kept = fit.unknowns.payload_body, []
    for j, joint in enumerate(joints):
        size = np.abs(residual(joint, j, fit.physical, body))
        bound = _OUTLIER * _NORMAL * np.median(size) if len(joint) else 0.0
        kept.append(joint.where(size <= max(bound, fit.deviation[j])))
    return kept


def _mean_load(joint: Equations) -> float:
    coulomb, load = (joint.columns[:, JOINT_TERMS.index(kind) - len(JOINT_TERMS)]
                     for kind in ('coulomb', 'load'))
    return float(coulomb @ load / max(coulomb @ coulomb, 1e-300))


def _check_signs(dynamics: Dynamics, arm: Physical) -> None:
    for name, scale in zip(dynamics.model.joint_names, arm.scale):
        if scale <= 0.0:
            raise ArgumentError(
                f'joint {name!r}: the recorded effort is {scale:.2f} times what the model needs, '
                'so it points the other way: correct the axis in the URDF, or the sign in the '
                'driver', joint=name, scale=float(scale))


def _joint_values(fit: Fit, nv: int) -> dict[str, list[Value]]:
    deviation = np.sqrt(np.diag(fit.covariance))
    values: dict[str, list[Value]] = {}
    for kind, _ in fit.unknowns.numbers:
        if kind not in values:
            values[kind] = [_value(fit, kind, j, deviation) for j in range(nv)]
    return values


def _value(fit: Fit, kind: str, j: int, deviation: NDArray) -> Value:
    arm, at = fit.physical, fit.unknowns.number(kind, j)
    number = arm.scale[j] if kind == 'scale' else arm.terms[JOINT_TERMS.index(kind), j]
    if kind in NOT_NEGATIVE and at is not None and number < 1e-3 * deviation[at]:
        number = 0.0  # the solver stops just above the bound
    return Value(float(number), 0.0 if at is None else float(QUANTILE * deviation[at]))


def _delay(fit: Fit) -> Value:
    margin = QUANTILE * np.sqrt(fit.covariance[-1, -1]) if fit.unknowns.delayed else 0.0
    return Value(fit.physical.delay, float(margin))


def _payload_values(dynamics: Dynamics, fit: Fit, link: str | None) -> list[Value]:
    if link is None:
        return []
    frame, phi = dynamics.model.link(link), fit.physical.payload
    slope = payload_derivative(phi, frame) @ fit.unknowns.inertia_derivative(fit.z)[1]
    return _with_margins(payload_numbers(phi, frame), slope @ fit.covariance @ slope.T)


def _has_payload(fit: Fit, joints: list[Equations]) -> bool:
    # not by the mass's own interval: with the bound at 0 it shrinks with the mass
    least = _SIGNIFICANT * mass_deviation(joints, fit.unknowns.payload_body, fit.deviation)
    return bool(fit.physical.payload[0] > least)


def _with_margins(numbers: NDArray, covariance: NDArray) -> list[Value]:
    margins = QUANTILE * np.sqrt(np.diag(covariance))
    return [Value(float(number), float(margin)) for number, margin in zip(numbers, margins)]


def _base_values(dynamics: Dynamics, fit: Fit) -> list[BaseValue]:
    """Return the base parameters (Gautier 1991), each named after its first standard parameter."""
    columns, B = dynamics.base_parameters(tolerance=1e-6)
    before = B @ fit.unknowns.inertia_derivative(fit.unknowns.start)[0]
    after = B @ fit.unknowns.inertia_derivative(fit.z)[0]
    prior = np.sqrt(np.sum((before * fit.spread) ** 2, axis=1))
    posterior = np.sqrt(np.einsum('ij,jk,ik->i', after, fit.covariance, after))
    names = [parameter_name(dynamics, column) + ('' if np.count_nonzero(row) == 1 else ' +')
             for column, row in zip(columns, B)]
    rows = zip(names, B @ fit.unknowns.nominal.phi, B @ fit.physical.phi, QUANTILE * posterior,
               posterior < _UNIDENTIFIED * prior)
    return [BaseValue(name, float(nominal), float(physical), float(interval), bool(identified))
            for name, nominal, physical, interval, identified in rows]


def parameter_name(dynamics: Dynamics, column: int) -> str:
    """Return the name of an inertial parameter, such as 'link3 hx'."""
    kinds = ('m', 'hx', 'hy', 'hz', 'Jxx', 'Jyy', 'Jzz', 'Jxy', 'Jxz', 'Jyz')
    return f'{dynamics.model.body_names[column // 10]} {kinds[column % 10]}'


def _condition(dynamics: Dynamics, fit: Fit, joints: list[Equations], inertia: bool) -> float:
    """Return the condition number of the equations of the unknowns."""
    if not inertia:
        return condition_number(fit.data)
    # joint torques do not depend on all ten parameters of each body, only on base parameters
    base, numbers = dynamics.base_parameters(tolerance=1e-6).columns, fit.unknowns.numbers
    blocks = []
    for j, joint in enumerate(joints):
        own = np.zeros((len(joint), len(numbers)))
        for k, (kind, i) in enumerate(numbers):
            if i == j:
                own[:, k] = joint.columns[:, JOINT_TERMS.index(kind) - len(JOINT_TERMS)]
        blocks.append(np.hstack([joint.columns[:, base], own]) / fit.deviation[j])
    columns = np.vstack(blocks)
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    # without those that depend on others, such as the rotor of the first joint on its inertia
    R, order = qr(columns, mode='r', pivoting=True)
    return condition_number(columns[:, order[np.abs(np.diag(R)) > _DEPENDENT]])


def _relative_residuals(joints: list[Equations], arm: Physical, payload_body: int) -> NDArray:
    """Return the norm of each joint's residual relative to its torque's; NaN without data."""
    return np.array([
        np.linalg.norm(residual(joint, j, arm, payload_body)) / np.linalg.norm(joint.effort)
        if len(joint) else np.nan for j, joint in enumerate(joints)])
