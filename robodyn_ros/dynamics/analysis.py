"""Further results: Coriolis matrix, derivatives, regressor, effective mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.algorithms.regressor import BODY_PARAMETERS
from robodyn_ros.dynamics.base_parameters import base_parameters, BaseParameters
from robodyn_ros.dynamics.compiled import as_builtin, LARGEST_FUSED
from robodyn_ros.dynamics.effective_mass import effective_mass, EffectiveMass, row_numbers
from robodyn_ros.dynamics.jit.kernel import as_doubles
from robodyn_ros.dynamics.singular import raise_if_singular
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel


class VelocityForces(NamedTuple):
    """Centrifugal and Coriolis part of C(q, qd) qd; (nv,) or (N, nv) each."""

    centrifugal: NDArray
    coriolis: NDArray


class Ellipsoid(NamedTuple):
    """Half-lengths, ascending, and directions as columns; (n,) and (n, n), or (N, ...)."""

    sizes: NDArray
    axes: NDArray


class Analysis:
    """
    Part of `Dynamics`: results that build on its algorithms, and derivatives.

    Arrays and batches are as in `Dynamics`.
    """

    # of `Dynamics`
    model: RobotModel
    nv: int
    _call: Any
    jacobian: Any
    mass_matrix: Any

    # --- velocity forces --------------------------------------------------------------------

    @as_builtin
    def coriolis_matrix(self, q, qd, out=None):
        """
        Return C(q, qd); (nv, nv) or (N, nv, nv).

        It is the one of the Christoffel symbols, C_ij = sum_k Gamma_ijk qd_k: `C qd` are the
        velocity forces, and `dM/dt - 2 C` is skew-symmetric.
        """
        return self._call('coriolis_matrix', q, qd, out=out)

    def christoffel(self, q):
        """
        Return the Christoffel symbols Gamma_ijk of M(q); (nv, nv, nv) or (N, nv, nv, nv).

        Gamma_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i), symmetric in j and k.
        """
        # C is linear in qd: the symbols are C at unit velocities
        q, units = as_doubles(q, 'q', self.nv), np.eye(self.nv)
        rows = np.repeat(np.atleast_2d(q), self.nv, axis=0)
        C = self.coriolis_matrix(rows, np.tile(units, (len(rows) // self.nv, 1)))
        symbols = C.reshape(*q.shape[:-1], self.nv, self.nv, self.nv)
        return np.ascontiguousarray(np.moveaxis(symbols, -3, -1))

    def velocity_forces(self, q, qd) -> VelocityForces:
        """
        Return the centrifugal and the Coriolis part of the velocity forces C(q, qd) qd.

        The centrifugal part has the terms in qd_j^2, the Coriolis part those in qd_j qd_k of two
        different coordinates; (nv,) or (N, nv) each.
        """
        forces = self._call('velocity_forces', q, qd)
        return VelocityForces(forces[..., 0, :], forces[..., 1, :])

    # --- derivatives ------------------------------------------------------------------------

    @as_builtin
    def inverse_dynamics_derivatives(self, q, qd, qdd):
        """
        Return dtau/dq, dtau/dqd and dtau/dqdd = M of the inverse dynamics without wrenches.

        Parameters
        ----------
        q, qd, qdd : (nv,) or (N, nv)
            Position, velocity, acceleration.

        Returns
        -------
        by_q, by_qd, M : (nv, nv) or (N, nv, nv)
            Row i is joint force i; one array, (3, nv, nv) or (3, N, nv, nv).

        """
        return _parts_first(self._call('inverse_dynamics_derivatives', q, qd, qdd))

    @as_builtin
    def forward_dynamics_derivatives(self, q, qd, tau):
        """
        Return dqdd/dq, dqdd/dqd and dqdd/dtau = M^-1 of the forward dynamics without wrenches.

        Parameters
        ----------
        q, qd, tau : (nv,) or (N, nv)
            Position, velocity, joint forces.

        Returns
        -------
        by_q, by_qd, inverse : (nv, nv) or (N, nv, nv)
            Row i is acceleration i; one array, (3, nv, nv) or (3, N, nv, nv).

        Raises
        ------
        ArgumentError
            M is singular, naming the joints that move no mass.

        """
        if self.model.nb <= LARGEST_FUSED:
            return _parts_first(self._call('forward_dynamics_derivatives', q, qd, tau))
        # the matrices by LAPACK: as unrolled code they would take long to compile
        qdd = self.forward_dynamics(q, qd, tau)
        by_q, by_qd, M = self.inverse_dynamics_derivatives(q, qd, qdd)
        if M.ndim == 2:
            from scipy.linalg.lapack import dposv  # slow to import
            n = self.nv
            _, x, singular = dposv(M, np.hstack([-by_q, -by_qd, np.eye(n)]), lower=True)
            if singular:
                raise_if_singular(M, self.model.joint_names)
                x[:] = np.nan
            return np.moveaxis(x.reshape(n, 3, n), 1, 0)
        try:
            inverse = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            raise_if_singular(M, self.model.joint_names)
            inverse = np.full_like(M, np.nan)
        return np.stack([-inverse @ by_q, -inverse @ by_qd, inverse])

    # --- inertial parameters ----------------------------------------------------------------

    @property
    def parameters(self) -> NDArray:
        """
        Return the inertial parameters phi of the moving bodies, payloads included; (10 nb,).

        Per body m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz in body axes: mass, mass times
        centre of mass, elements of the inertia tensor about the body's origin.
        """
        model = self.model
        J = model.inertia
        phi = np.column_stack([
            model.mass, model.first_moment, J[:, 0, 0], J[:, 1, 1], J[:, 2, 2],
            J[:, 0, 1], J[:, 0, 2], J[:, 1, 2]])
        for body, payload in zip(model.payload_bodies, model.payload_parameters):
            if body >= 0:
                phi[body] += payload
        return phi.ravel()

    @as_builtin
    def regressor(self, q, qd, qdd, out=None):
        """
        Return Y with `tau = Y @ phi` for any inertial parameters phi, see `parameters`.

        Parameters
        ----------
        q, qd, qdd : (nv,) or (N, nv)
            Position, velocity, acceleration.
        out : (nv, 10 nb) or (N, nv, 10 nb), optional
            Buffer for the result.

        Returns
        -------
        Y : (nv, 10 nb) or (N, nv, 10 nb)
            Regressor; it depends on gravity, not on masses or payloads.

        """
        return self._call('regressor', q, qd, qdd, out=out)

    def base_parameters(self, seed: int = 0, tolerance: float = 1e-9) -> BaseParameters:
        """
        Return a minimal set of parameters that determines the joint forces.

        `Y @ phi = Y[:, columns] @ (projection @ phi)` in every state. It is computed from the
        rank of the regressor in random states with the current gravity.

        Parameters
        ----------
        seed : int
            Seed of the random states.
        tolerance : float
            Relative effect below which a parameter counts as dependent. For angles rounded in
            the URDF (1.5708) a larger tolerance finds the parameters of the intended arm.

        """
        # without position limits: the rank is the same in the neighbourhood of any state
        rng = np.random.default_rng(seed)
        count = 20 + 4 * BODY_PARAMETERS * self.model.nb // self.nv
        q = rng.uniform(-np.pi, np.pi, (count, self.nv))
        qd, qdd = rng.normal(size=(2, count, self.nv))
        # accelerations of the size of gravity, for columns of similar size
        return base_parameters(np.concatenate(self.regressor(q, 3.0 * qd, 10.0 * qdd)), tolerance)

    # --- at a link --------------------------------------------------------------------------

    def effective_mass(self, q, link: str, rows: str | Sequence[int] = 'linear',
                       immovable: float = 1e12) -> EffectiveMass:
        """
        Return the effective mass at a link's origin, and its ellipsoid.

        Parameters
        ----------
        q : (nv,) or (N, nv)
            Position.
        link : str
            Name of the link.
        rows : {'linear', 'angular', 'all'} or sequence of int
            Directions, as rows of the Jacobian: 'linear' gives a matrix in kg whose axes
            are directions in space; 'all' the 6 x 6 operational-space inertia, whose principal
            axes mix kg and kg m^2.
        immovable : float
            Near a singularity the mass is unbounded. A direction with more than this multiple
            of the smallest mass counts as one that the joints cannot move.

        Returns
        -------
        matrix, masses, axes : (k, k), (k,), (k, k), or with a leading N
            Lambda = (J M^-1 J^T)^-1; principal masses, ascending, and principal directions
            as columns. Directions that the joints cannot move have an infinite mass, and are
            zero in Lambda (a pseudo-inverse).

        Raises
        ------
        ArgumentError
            Wrong arguments, or a joint that moves no mass, so that M is singular.

        """
        J = self.jacobian(q, link)[..., row_numbers(rows), :]
        return effective_mass(self.mass_matrix(q), J, immovable, self.model.joint_names)

    def torque_ellipsoid(self, q) -> Ellipsoid:
        """
        Return the ellipsoid of joint forces of accelerations of size 1, at rest without gravity.

        They are `M a` for a in the unit ball, with the principal axes of M (Lynch and Park
        8.1.3). Conversely, forces of size 1 give accelerations in the ellipsoid of the same axes
        with the reciprocal half-lengths. Raises `ArgumentError` if q is not finite.
        """
        M = self.mass_matrix(q)
        if not np.isfinite(M).all():
            raise ArgumentError('there is no torque ellipsoid: q is not finite')
        return Ellipsoid(*np.linalg.eigh(M))


def _parts_first(matrices: NDArray) -> NDArray:
    """Return the matrices of one state or of a batch with the part as the first axis."""
    return matrices if matrices.ndim == 3 else np.moveaxis(matrices, 1, 0)
