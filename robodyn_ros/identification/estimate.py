"""From a recording to numbers with intervals, and how well they do on data that was held back."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.identification.condition import condition_number
from robodyn_ros.identification.equations import Equations, Excerpt, JOINT_TERMS
from robodyn_ros.identification.fit import Fit, residual, solve
from robodyn_ros.identification.payload import (
    guessed_payload, mass_deviation, payload_derivative, payload_numbers)
from robodyn_ros.identification.unknowns import NOT_NEGATIVE, Physical, Unknowns

QUANTILE = 1.96      # of the normal distribution: intervals of 95 %
_NOT_TOLD = 0.3      # part of its spread that is left of an unknown that the data tells nothing of
_LEAST = 30          # equations of a joint
_SURELY = 5.0        # standard deviations of the mass of a payload that is one


class Value(NamedTuple):
    """A number and half of its 95 % interval; 0 where it was not estimated."""

    value: float
    margin: float = 0.0


class BaseValue(NamedTuple):
    """A base parameter: its name, what the URDF says, and what was found."""

    name: str
    urdf: float
    value: float
    margin: float
    told: bool


class Estimate(NamedTuple):
    """
    What was found.

    Attributes
    ----------
    arm : Physical
        All numbers, estimated or not.
    joints : dict of str to list of Value
        By kind ('viscous', 'coulomb', 'offset', 'armature', 'scale'), in model order; kinds that
        were asked for.
    payload : list of Value
        Mass, centre of mass (3), inertia xx, yy, zz, xy, xz, yz about it, in the link's frame;
        empty if it was not asked for.
    carries : bool
        Whether a payload was found that surely weighs something.
    delay : Value
        Of the efforts against the positions (s).
    base : list of BaseValue
        Empty if inertia was not asked for.
    unexcited : list of (str, int)
        Kind and joint of numbers that the data does not tell, and that are as in the URDF.
    condition : float
        Of the weighted equations with columns of length 1.
    fitted, held_back, urdf : (nv,) array
        Size of the residual as a part of that of the torque: on the data of the fit, on the data
        held back, and there with the URDF's numbers.
    times, measured, predicted : list of (n,) array
        By joint, for pictures: all equations.
    split : float
        Time from which data was held back.

    """

    arm: Physical
    joints: dict[str, list[Value]]
    payload: list[Value]
    carries: bool
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


def estimate(dynamics: Dynamics, data: Excerpt, groups: Collection[str],
             payload_link: str | None = None, inertia_spread: float = 0.5,
             hold_back: float = 0.25, delay: float | None = None) -> Estimate:
    """
    Return what a recording says about an arm.

    Parameters
    ----------
    dynamics : Dynamics
        The arm as in the URDF: the prior.
    data : Excerpt
        Of a recording of this arm.
    groups : collection of str
        What is to be found, see `unknowns.GROUPS`.
    payload_link : str, optional
        Link that holds a payload to be found.
    inertia_spread : float
        About the part by which the URDF's masses may be wrong.
    hold_back : float
        Part of the time, at the end, that only judges the result.
    delay : float, optional
        Of the efforts against the positions (s); by default it is found, too.

    Raises
    ------
    ArgumentError
        Too few data, wrong groups, or efforts of the wrong sign; the message names the joint.
    ModelError
        Unknown link.

    """
    begin, end = data.span
    split = end - hold_back * (end - begin)
    train = [joint.part(-np.inf, split) for joint in data.joints]
    _check_amount(dynamics, data, train)
    payload = None
    if payload_link is not None:
        payload = guessed_payload(dynamics, train, payload_link)
    unknowns = Unknowns(dynamics, groups, inertia_spread, payload, delay)
    fit, unexcited = _told(unknowns, train, data.moves)
    _check_signs(dynamics, fit.physical)
    test = [joint.part(split, np.inf) for joint in data.joints]
    body = fit.unknowns.payload_body
    return Estimate(
        fit.physical, _joint_values(fit, dynamics.nv),
        _payload_values(dynamics, fit, payload_link),
        payload is not None and _carries(fit, train), _delay(fit),
        _base_values(dynamics, fit) if 'inertia' in groups else [], unexcited,
        _condition(dynamics, fit, train, 'inertia' in groups),
        _shares(train, fit.physical, body), _shares(test, fit.physical, body),
        _shares(test, unknowns.nominal._replace(delay=fit.physical.delay), -1),
        [joint.times for joint in data.joints], [joint.effort for joint in data.joints],
        [joint.effort + residual(joint, j, fit.physical, body)
         for j, joint in enumerate(data.joints)], split)


def _check_amount(dynamics: Dynamics, data: Excerpt, train: list[Equations]) -> None:
    for name, moves, joint in zip(dynamics.model.joint_names, data.moves, train):
        if moves and len(joint) < _LEAST:
            raise ArgumentError(
                f'joint {name!r}: only {len(joint)} independent equations are left of '
                f'{data.used:.1f} s of usable data, at least {_LEAST} are needed: record longer, '
                'or let the joint move more of the time', joint=name, count=len(joint))


def _told(unknowns: Unknowns, joints: list[Equations],
          moves: NDArray) -> tuple[Fit, list[tuple[str, int]]]:
    """Return the solution without the numbers of joints that the data does not tell."""
    dropped = [each for each in unknowns.numbers if not moves[each[1]]]
    near, deviation = None, None
    while True:
        fit = solve(unknowns.without(dropped), joints, near, deviation)
        numbers = fit.unknowns.numbers
        if not numbers:
            return fit, dropped
        first = 10 * len(fit.unknowns.bodies)
        left = (np.sqrt(np.diag(fit.covariance)) / fit.spread)[first:first + len(numbers)]
        # where two cannot be told apart, an offset is the first to be given up
        offset = np.array([kind == 'offset' for kind, _ in numbers])
        worst = int(np.argmax(left + 1e-3 * offset))
        if left[worst] < _NOT_TOLD:
            return fit, dropped
        dropped = [*dropped, numbers[worst]]
        near, deviation = np.delete(fit.z, first + worst), fit.deviation


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
        number = 0.0  # the bound, but for the distance that the solver keeps
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


def _carries(fit: Fit, joints: list[Equations]) -> bool:
    # not by its own interval: that of a mass that cannot be negative shrinks with it
    least = _SURELY * mass_deviation(joints, fit.unknowns.payload_body, fit.deviation)
    return bool(fit.physical.payload[0] > least)


def _with_margins(numbers: NDArray, covariance: NDArray) -> list[Value]:
    margins = QUANTILE * np.sqrt(np.diag(covariance))
    return [Value(float(number), float(margin)) for number, margin in zip(numbers, margins)]


def _base_values(dynamics: Dynamics, fit: Fit) -> list[BaseValue]:
    """Return the base parameters (Gautier 1991), each named after the first of its parts."""
    columns, B = dynamics.base_parameters(tolerance=1e-6)
    before = B @ fit.unknowns.inertia_derivative(fit.unknowns.start)[0]
    after = B @ fit.unknowns.inertia_derivative(fit.z)[0]
    prior = np.sqrt(np.sum((before * fit.spread) ** 2, axis=1))
    posterior = np.sqrt(np.einsum('ij,jk,ik->i', after, fit.covariance, after))
    names = [parameter_name(dynamics, column) + ('' if np.count_nonzero(row) == 1 else ' +')
             for column, row in zip(columns, B)]
    rows = zip(names, B @ fit.unknowns.nominal.phi, B @ fit.physical.phi, QUANTILE * posterior,
               posterior < _NOT_TOLD * prior)
    return [BaseValue(name, *map(float, numbers), bool(told)) for name, *numbers, told in rows]


def parameter_name(dynamics: Dynamics, column: int) -> str:
    """Return the name of an inertial parameter, such as 'link3 hx'."""
    kinds = ('m', 'hx', 'hy', 'hz', 'Jxx', 'Jyy', 'Jzz', 'Jxy', 'Jxz', 'Jyz')
    return f'{dynamics.model.body_names[column // 10]} {kinds[column % 10]}'


def _condition(dynamics: Dynamics, fit: Fit, joints: list[Equations], inertia: bool) -> float:
    """Return the condition number of what the data says of the unknowns."""
    if not inertia:
        return condition_number(fit.data)
    # ten numbers for each body are more than joint torques depend on: base parameters are not
    base, numbers = dynamics.base_parameters(tolerance=1e-6).columns, fit.unknowns.numbers
    blocks = []
    for j, joint in enumerate(joints):
        own = np.zeros((len(joint), len(numbers)))
        for k, (kind, i) in enumerate(numbers):
            if i == j:
                own[:, k] = joint.columns[:, JOINT_TERMS.index(kind) - len(JOINT_TERMS)]
        blocks.append(np.hstack([joint.columns[:, base], own]) / fit.deviation[j])
    return condition_number(np.vstack(blocks))


def _shares(joints: list[Equations], arm: Physical, payload_body: int) -> NDArray:
    """Return the size of each joint's residual as a part of its torque's; NaN without data."""
    return np.array([
        np.linalg.norm(residual(joint, j, arm, payload_body)) / np.linalg.norm(joint.effort)
        if len(joint) else np.nan for j, joint in enumerate(joints)])
