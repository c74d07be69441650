"""
Weighted least squares over all joints, with the URDF as prior.

The cost is, with joint j's residual e_j of standard deviation s_j,

    sum_j |e_j|^2 / s_j^2 + sum_k (z_k - z_k^URDF)^2 / spread_k^2,

minimised by Gauss-Newton steps: the mode of the posterior of z. The s_j come from the residuals of
a first solution (weighted inverse-dynamic identification: Gautier, Dynamic identification of
robots with power model, 1997; Khalil and Dombre, Modeling, Identification and Control of Robots,
ch. 12). For the inertias the second sum is the entropic distance from the URDF, see
`log_cholesky`.
"""

from __future__ import annotations

from typing import cast, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.identification.equations import Equations, JOINT_TERMS
from robodyn_ros.identification.statistics import correlated_samples
from robodyn_ros.identification.unknowns import Physical, Unknowns

_ROUNDS = 3              # number of reweightings
_SMALLEST_ERROR = 1e-6   # least deviation of a joint, relative to its torque, for noise-free data
_TERMS = len(JOINT_TERMS)
# Levenberg-Marquardt: most steps, first and largest damping, least decrease of the cost
_STEPS, _DAMPING, _MAX_DAMPING, _PRECISION = 200, 1.0, 1e12, 1e-4


class Fit(NamedTuple):
    """
    Solution of the least squares.

    Attributes
    ----------
    unknowns : Unknowns
        Unknown parameters.
    z : (p,) array
        Values of the unknowns.
    covariance : (p, p) array
        Posterior covariance of z.
    spread : (p,) array
        Prior standard deviations of z.
    data : (rows, p) array
        Derivative of the weighted residuals of the data.
    deviation, weighted : (nv,) array
        Standard deviation of the joints' residuals, and the one by which they are divided, which
        their correlation enlarges.

    """

    unknowns: Unknowns
    z: NDArray
    covariance: NDArray
    spread: NDArray
    data: NDArray
    deviation: NDArray
    weighted: NDArray

    @property
    def physical(self) -> Physical:
        """Return the physical parameters of the solution."""
        return self.unknowns.physical(self.z)


def solve(unknowns: Unknowns, joints: list[Equations], near: NDArray | None = None,
          deviation: NDArray | None = None) -> Fit:
    """
    Return the solution of the equations of all joints.

    Parameters
    ----------
    unknowns : Unknowns
        Parameters to estimate.
    joints : list of Equations
        Equations of each joint, in model order.
    near, deviation : (p,), (nv,) array, optional
        Initial solution, and standard deviations of the residuals.

    """
    compressed = [_compressed(joint) for joint in joints]
    usual = usual_terms(joints)
    torque = np.array([_rms(joint.effort) for joint in joints])
    # initially a torque error of a tenth is assumed for each joint
    rounds = _ROUNDS if deviation is None else 1
    deviation = 0.1 * torque if deviation is None else deviation
    z, freedom = unknowns.start if near is None else near, unknowns.size / len(joints)
    for _ in range(rounds):
        problem = _Problem(unknowns, compressed, deviation, unknowns.spreads(usual))
        z = problem.solution(z)
        predicted = unknowns.physical(z)
        errors = [residual(joint, j, predicted, unknowns.payload_body)
                  for j, joint in enumerate(joints)]
        deviation = np.array([
            max(np.sqrt(np.sum(e ** 2) / max(len(e) - freedom, 1.0)), _SMALLEST_ERROR * size,
                1e-12) for e, size in zip(errors, torque)])
    inflation = np.array([np.sqrt(correlated_samples(e, joint.segment))
                          for e, joint in zip(errors, joints)])
    weighted = deviation * inflation
    problem = _Problem(unknowns, compressed, weighted, problem.spread)
    z = problem.solution(z)
    data = problem.data_derivative(z)
    information = data.T @ data + np.diag(problem.spread ** -2.0)
    return Fit(unknowns, z, np.linalg.inv(information), problem.spread, data, deviation, weighted)


def linearized(fit: Fit, joints: list[Equations]) -> tuple[NDArray, NDArray]:
    """Return the weighted residuals of all equations, (n,), and their derivative, (n, p)."""
    problem = _Problem(fit.unknowns, [_rows(joint) for joint in joints], fit.weighted, fit.spread)
    return problem.residuals(fit.z), problem.data_derivative(fit.z)


def usual_terms(joints: list[Equations]) -> NDArray:
    """Return values of `JOINT_TERMS`, (6, nv), each of which alone would explain the torque."""
    usual = np.ones((_TERMS, len(joints)))
    for j, joint in enumerate(joints):
        for k in range(_TERMS):
            size = _rms(joint.columns[:, k - _TERMS])
            if size > 0.0:
                usual[k, j] = _rms(joint.effort) / size
    return np.maximum(usual, 1e-9)


def residual(joint: Equations, j: int, arm: Physical, payload_body: int) -> NDArray:
    """Return the predicted effort of a joint minus the recorded one."""
    return (arm.scale[j] * (joint.columns @ coefficients(arm, j, payload_body))
            - joint.effort - arm.delay * joint.slope)


def coefficients(arm: Physical, j: int, payload_body: int) -> NDArray:
    """Return the coefficients of the columns of joint j."""
    phi = arm.phi.copy()
    if payload_body >= 0:
        phi.reshape(-1, 10)[payload_body] += arm.payload
    return np.concatenate([phi, arm.terms[:, j]])


class _Problem:
    """Least squares with given weights."""

    def __init__(self, unknowns: Unknowns, rows: list[NDArray], deviation: NDArray,
                 spread: NDArray):
        self.unknowns, self.spread = unknowns, spread
        self._weighted = [R / s for R, s in zip(rows, deviation)]

    def solution(self, z: NDArray) -> NDArray:
        """Return the minimum reached from z (Levenberg-Marquardt, scaled by the spreads)."""
        z = np.maximum(z, self.unknowns.lower)
        cost, damping = self._cost(z), _DAMPING
        for _ in range(_STEPS):
            new = np.maximum(z + self._step(z, damping), self.unknowns.lower)
            reached = self._cost(new)
            if reached < cost:
                done = cost - reached < _PRECISION
                z, cost, damping = new, reached, 0.1 * damping
                if done:
                    break
            elif damping > _MAX_DAMPING:
                break
            else:
                damping *= 10.0
        return z

    def _step(self, z: NDArray, damping: float) -> NDArray:
        data = self.data_derivative(z) * self.spread
        offset = (z - self.unknowns.start) / self.spread
        gradient = data.T @ self.residuals(z) + offset
        # unknowns at their bound, with a step beyond it, are fixed
        free = (z > self.unknowns.lower) | (gradient < 0.0)
        data = data[:, free]
        step = np.zeros_like(z)
        step[free] = -np.linalg.solve(
            data.T @ data + (1.0 + damping) * np.eye(data.shape[1]), gradient[free])
        return step * self.spread

    def _cost(self, z: NDArray) -> float:
        offset = (z - self.unknowns.start) / self.spread
        return 0.5 * float(np.sum(self.residuals(z) ** 2) + np.sum(offset ** 2))

    def residuals(self, z: NDArray) -> NDArray:
        """Return the weighted residuals of the data, (rows,)."""
        arm, body = self.unknowns.physical(z), self.unknowns.payload_body
        return np.concatenate([
            R @ np.append(arm.scale[j] * coefficients(arm, j, body), (-1.0, -arm.delay))
            for j, R in enumerate(self._weighted)])

    def data_derivative(self, z: NDArray) -> NDArray:
        """Return the derivative of the data's residuals, (rows, p)."""
        unknowns = self.unknowns
        arm, body = unknowns.physical(z), unknowns.payload_body
        phi, payload = unknowns.inertia_derivative(z)
        if body >= 0:
            phi[10 * body:10 * (body + 1)] += payload
        blocks = []
        for j, R in enumerate(self._weighted):
            block = arm.scale[j] * (R[:, :-2 - _TERMS] @ phi)
            for k, kind in enumerate(JOINT_TERMS):
                if (at := unknowns.number(kind, j)) is not None:
                    block[:, at] = arm.scale[j] * R[:, k - 2 - _TERMS]
            if (at := unknowns.number('scale', j)) is not None:
                block[:, at] = R[:, :-2] @ coefficients(arm, j, body)
            if unknowns.delayed:
                block[:, -1] = -R[:, -1]
            blocks.append(block)
        return np.vstack(blocks)


def _compressed(joint: Equations) -> NDArray:
    """Return the triangular factor of the equations, in place of their rows."""
    return cast(NDArray, np.linalg.qr(_rows(joint), mode='r'))


def _rows(joint: Equations) -> NDArray:
    """Return the equations; effort and slope are the last columns."""
    return np.column_stack([joint.columns, joint.effort, joint.slope])


def _rms(values: NDArray) -> float:
    return float(np.sqrt(np.mean(values ** 2))) if len(values) else 0.0
