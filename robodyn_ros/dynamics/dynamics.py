"""Rigid-body dynamics of one robot: the public methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robodyn_ros.dynamics.analysis import Analysis
from robodyn_ros.dynamics.compiled import as_builtin, CompiledMethods
from robodyn_ros.dynamics.jit.kernel import as_doubles
from robodyn_ros.exceptions import ArgumentError


class Dynamics(CompiledMethods, Analysis):
    """
    Dynamics of a robot: `M(q) qdd + C(q, qd) qd + g(q) = tau + J^T w`.

    Joint arrays are float64 of length `nv`, in the order of `model.joint_names`: rad and m,
    rad/s and m/s, N m and N. Every method also takes batches: (N, nv) arrays in, one more
    leading axis out. 6-vectors have their linear part first. `out=` avoids an allocation and
    may be one of the arguments. A state with a number that is not finite has NaN in all of
    its result; in a batch, in its row only.

    An algorithm is compiled for this robot at its first call, and cached on disk. Methods of
    arrays, and of arrays and a link, are replaced on the instance by built-in functions with the
    same signature and behaviour.

    Parameters
    ----------
    model : RobotModel
        The robot.
    backend : {'auto', 'compiled', 'python'}
        'python' runs the same algorithms on Python floats, which is slow and easy to debug.
        'auto' compiles, except for very large robots, where it issues a RuntimeWarning and runs
        Python.
    cache : path, optional
        Folder for compiled code, default `$ROBODYN_CACHE_DIR` or the user's cache folder.
        False compiles in memory.
    threads : int
        Number of threads for a batch.

    Raises
    ------
    ArgumentError
        At a call: wrong shape or type, naming the argument; an unknown link; accelerations of a
        joint that moves no mass, naming the joint.
    KernelError
        Compilation failed.

    """

    # --- dynamics ---------------------------------------------------------------------------

    @as_builtin
    def inverse_dynamics(self, q, qd, qdd, wrenches: Mapping[str, Any] | None = None, out=None):
        """
        Return the joint forces for a motion (recursive Newton-Euler).

        Parameters
        ----------
        q, qd, qdd : (nv,) or (N, nv)
            Position, velocity, acceleration.
        wrenches : mapping of str to (6,), optional
            Wrench of the environment on a link, at the link's origin, in base axes.
        out : (nv,) or (N, nv), optional
            Buffer for the result.

        Returns
        -------
        tau : (nv,) or (N, nv)
            `M qdd + C qd + g - sum J^T w`.

        """
        loads = self._wrench_forces(q, wrenches)
        tau = self._call('inverse_dynamics', q, qd, qdd, out=out)
        return tau if loads is None else _added(tau, -loads, out=tau)

    @as_builtin
    def gravity(self, q, out=None):
        """Return the gravity torque g(q); (nv,) or (N, nv)."""
        return self._call('gravity', q, out=out)

    @as_builtin
    def bias(self, q, qd, out=None):
        """Return C(q, qd) qd + g(q); (nv,) or (N, nv)."""
        return self._call('bias', q, qd, out=out)

    @as_builtin
    def mass_matrix(self, q, out=None):
        """Return M(q), symmetric positive definite; (nv, nv) or (N, nv, nv)."""
        return self._call('mass_matrix', q, out=out)

    @as_builtin
    def forward_dynamics(self, q, qd, tau, wrenches: Mapping[str, Any] | None = None, out=None):
        """
        Return the accelerations for joint forces.

        Parameters
        ----------
        q, qd, tau : (nv,) or (N, nv)
            Position, velocity, joint forces.
        wrenches : mapping of str to (6,), optional
            As for `inverse_dynamics`.
        out : (nv,) or (N, nv), optional
            Buffer for the result.

        Returns
        -------
        qdd : (nv,) or (N, nv)
            `M^-1 (tau - C qd - g + sum J^T w)`.

        Raises
        ------
        ArgumentError
            M is singular, naming the joints that move no mass.

        """
        loads = self._wrench_forces(q, wrenches)
        if loads is not None:
            tau = _added(as_doubles(tau, 'tau', self.nv), loads)
        return self._call('forward_dynamics', q, qd, tau, out=out)

    # --- kinematics -------------------------------------------------------------------------

    @as_builtin
    def forward_kinematics(self, q, link: str, out=None):
        """Return the pose of a link in the base frame; (4, 4) or (N, 4, 4), homogeneous."""
        return self._call('forward_kinematics', q, link=link, out=out)

    @as_builtin
    def jacobian(self, q, link: str, out=None):
        """
        Return the Jacobian of a link's origin, in base axes; (6, nv) or (N, 6, nv).

        Rows are linear first, then angular: `J qd` is the twist of the link, `J^T w` the joint
        forces equivalent to a wrench on it.
        """
        return self._call('jacobian', q, link=link, out=out)

    @as_builtin
    def jacobian_dot_qd(self, q, qd, link: str, out=None):
        """Return dJ/dt qd of a link's origin, in base axes; (6,) or (N, 6)."""
        return self._call('jacobian_dot_qd', q, qd, link=link, out=out)

    @as_builtin
    def center_of_mass(self, q, out=None):
        """
        Return the centre of mass of all moving bodies, in the base frame; (3,) or (N, 3).

        Raises `ArgumentError` if none of them has a mass.
        """
        return self._call('center_of_mass', q, out=out)

    # --- energies ---------------------------------------------------------------------------

    def kinetic_energy(self, q, qd):
        """Return 1/2 qd^T M qd in J; a float, or (N,)."""
        return _scalar(self._call('kinetic_energy', q, qd))

    def potential_energy(self, q):
        """Return - sum m g . p of the moving bodies in J, 0 for masses at the base's origin."""
        return _scalar(self._call('potential_energy', q))

    def _wrench_forces(self, q, wrenches):
        """Return sum J^T w, or None."""
        if wrenches is None:
            return None
        if not isinstance(wrenches, Mapping):
            raise ArgumentError('wrenches must map link names to wrenches (6,), got '
                                + type(wrenches).__name__)
        total = None
        for link, wrench in wrenches.items():
            w = as_doubles(wrench, f'wrench on {link}', 6)
            forces = np.einsum('...ij,...i->...j', self.jacobian(q, link), w)
            total = forces if total is None else total + forces
        return total


def _added(tau: np.ndarray, loads: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    try:
        return np.add(tau, loads, out=out)
    except ValueError as error:
        raise ArgumentError(
            f'wrenches in batches of shape {loads.shape[:-1]} do not go with joint arrays of '
            f'shape {tau.shape}: give one wrench per state, or one for all') from error


def _scalar(values: np.ndarray):
    return float(values[0]) if values.ndim == 1 else values[:, 0]
