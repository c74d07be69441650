"""Rigid-body dynamics of one robot: the checked calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.dynamics import kernels, machine
from robodyn_ros.dynamics.analysis import Analysis
from robodyn_ros.dynamics.coriolis import coriolis_matrix
from robodyn_ros.dynamics.derivatives import (
    forward_dynamics_derivatives, inverse_dynamics_derivatives)
from robodyn_ros.dynamics.kernel import as_doubles, Kernel, LARGEST_COMPILED, source_digest
from robodyn_ros.dynamics.regressor import BODY_PARAMETERS, regressor
from robodyn_ros.dynamics.tree import as_tuple, Tree
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel

_BACKENDS = ('auto', 'compiled', 'python')

# of each method: the algorithm, its arguments, and the shape of its result
_OF_ARRAYS = {
    'inverse_dynamics': (kernels.inverse_dynamics, ('q', 'qd', 'qdd'), ('nv',)),
    'gravity': (kernels.gravity, ('q',), ('nv',)),
    'bias': (kernels.bias, ('q', 'qd'), ('nv',)),
    'mass_matrix': (kernels.mass_matrix, ('q',), ('nv', 'nv')),
    'forward_dynamics': (kernels.forward_dynamics, ('q', 'qd', 'tau'), ('nv',)),
    'center_of_mass': (kernels.center_of_mass, ('q',), (3,)),
    'coriolis_matrix': (coriolis_matrix, ('q', 'qd'), ('nv', 'nv')),
    'regressor': (regressor, ('q', 'qd', 'qdd'), ('nv', 'parameters')),
}
_OF_LINK = {
    'forward_kinematics': (kernels.forward_kinematics, ('q',), (4, 4)),
    'jacobian': (kernels.jacobian, ('q',), (6, 'nv')),
    'jacobian_dot_qd': (kernels.jacobian_dot_qd, ('q', 'qd'), (6,)),
}
# methods that hand on the result in another form
_UNPACKED = {
    'kinetic_energy': (kernels.kinetic_energy, ('q', 'qd'), (1,)),
    'potential_energy': (kernels.potential_energy, ('q',), (1,)),
    'inverse_dynamics_derivatives': (
        inverse_dynamics_derivatives, ('q', 'qd', 'qdd'), (3, 'nv', 'nv')),
    'forward_dynamics_derivatives': (
        forward_dynamics_derivatives, ('q', 'qd', 'tau'), (3, 'nv', 'nv')),
}
# their code grows with the pairs of joints on one path: beyond some size, minutes to compile
_OF_PAIRS = ('coriolis_matrix', 'regressor', 'inverse_dynamics_derivatives')
_LARGEST_OF_PAIRS = 45


class _Frame(NamedTuple):
    body: int
    rotation: tuple
    translation: tuple


class Dynamics(Analysis):
    """
    Dynamics of a robot: `M(q) qdd + C(q, qd) qd + g(q) = tau + J^T w`.

    Joint arrays are float64 of length `nv`, in the order of `model.joint_names`: rad and m,
    rad/s and m/s, N m and N. Every method also takes batches: (N, nv) arrays in, one more
    leading axis out. 6-vectors have their linear part first. `out=` avoids an allocation and
    may be one of the arguments.

    An algorithm is compiled for this robot at its first call, and kept in a cache on disk.
    Methods of arrays alone are then replaced on the instance by built-in functions of machine
    code; their signature and behaviour stay.

    Parameters
    ----------
    model : RobotModel
        The robot.
    backend : {'auto', 'compiled', 'python'}
        'python' runs the same algorithms on Python floats: slow, transparent, and what 'auto'
        takes for robots of more joints than straight-line code serves well.
    cache : path, optional
        Folder for compiled code; `$ROBODYN_CACHE_DIR` or the user's cache folder by default.
        False compiles in memory.

    Raises
    ------
    ArgumentError
        At a call: wrong shape or type, naming the argument; an unknown link.
    KernelError
        Compilation failed.

    """

    def __init__(self, model: RobotModel, backend: str = 'auto', cache: Path | bool | None = None):
        if backend not in _BACKENDS:
            raise ArgumentError(f'backend {backend!r} is none of {", ".join(_BACKENDS)}')
        self.model = model
        self.nv = model.nv
        self.tree = Tree.from_model(model)
        self.backend = backend
        self.compiled = self._compiles(LARGEST_COMPILED)
        self._cache = machine.default_cache() if cache is None else (
            Path(cache) if cache else None)
        self._runtime = np.concatenate([model.gravity, np.ravel(model.payload_parameters)])
        self._kernels: dict[Any, Callable] = {}

    def __reduce__(self):
        # compiled methods stay behind: a copy makes its own
        return type(self), (self.model, self.backend, self._cache or False)

    # --- dynamics ---------------------------------------------------------------------------

    def inverse_dynamics(self, q, qd, qdd, wrenches: Mapping[str, Any] | None = None, out=None):
        """
        Return the joint forces for a motion (recursive Newton-Euler).

        Parameters
        ----------
        q, qd, qdd : (nv,) or (N, nv)
            Position, velocity, acceleration.
        wrenches : mapping of str to (6,), optional
            Wrench that the environment applies to a link, at the link's origin, in base axes.
        out : (nv,) or (N, nv), optional
            Where the result goes.

        Returns
        -------
        tau : (nv,) or (N, nv)
            `M qdd + C qd + g - sum J^T w`.

        """
        loads = self._wrench_forces(q, wrenches)
        tau = self._call('inverse_dynamics', q, qd, qdd, out=out)
        return tau if loads is None else _added(tau, -loads, out=tau)

    def gravity(self, q, out=None):
        """Return g(q), the joint forces that hold the robot still; (nv,) or (N, nv)."""
        return self._call('gravity', q, out=out)

    def bias(self, q, qd, out=None):
        """Return C(q, qd) qd + g(q); (nv,) or (N, nv)."""
        return self._call('bias', q, qd, out=out)

    def mass_matrix(self, q, out=None):
        """Return M(q), symmetric positive definite; (nv, nv) or (N, nv, nv)."""
        return self._call('mass_matrix', q, out=out)

    def forward_dynamics(self, q, qd, tau, wrenches: Mapping[str, Any] | None = None, out=None):
        """
        Return the accelerations that joint forces cause.

        Parameters
        ----------
        q, qd, tau : (nv,) or (N, nv)
            Position, velocity, joint forces.
        wrenches : mapping of str to (6,), optional
            As for `inverse_dynamics`.
        out : (nv,) or (N, nv), optional
            Where the result goes.

        Returns
        -------
        qdd : (nv,) or (N, nv)
            `M^-1 (tau - C qd - g + sum J^T w)`.

        """
        loads = self._wrench_forces(q, wrenches)
        if loads is not None:
            tau = _added(as_doubles(tau, 'tau', self.nv), loads)
        return self._call('forward_dynamics', q, qd, tau, out=out)

    # --- kinematics -------------------------------------------------------------------------

    def forward_kinematics(self, q, link: str, out=None):
        """Return the pose of a link in the base frame; (4, 4) or (N, 4, 4), homogeneous."""
        return self._call('forward_kinematics', q, link=link, out=out)

    def jacobian(self, q, link: str, out=None):
        """
        Return the Jacobian of a link's origin, in base axes; (6, nv) or (N, 6, nv).

        Rows are linear first, then angular: `J qd` is the twist of the link, `J^T w` the joint
        forces that stand for a wrench on it.
        """
        return self._call('jacobian', q, link=link, out=out)

    def jacobian_dot_qd(self, q, qd, link: str, out=None):
        """Return dJ/dt qd of a link's origin, in base axes; (6,) or (N, 6)."""
        return self._call('jacobian_dot_qd', q, qd, link=link, out=out)

    def center_of_mass(self, q, out=None):
        """Return the centre of mass of all moving bodies, in the base frame; (3,) or (N, 3)."""
        return self._call('center_of_mass', q, out=out)

    # --- energies ---------------------------------------------------------------------------

    def kinetic_energy(self, q, qd):
        """Return 1/2 qd^T M qd in J; a float, or (N,)."""
        return _scalar(self._call('kinetic_energy', q, qd))

    def potential_energy(self, q):
        """Return - sum m g . p of the moving bodies in J, zero at the base; a float, or (N,)."""
        return _scalar(self._call('potential_energy', q))

    # --- what may change at run time --------------------------------------------------------

    def update(self, model: RobotModel) -> None:
        """
        Take gravity and payloads from a model that differs in nothing else; no compilation.

        Raises
        ------
        ArgumentError
            The model is another robot, or has payloads on other links: make a new `Dynamics`.

        """
        if model.structure_key != self.model.structure_key:
            raise ArgumentError('update() takes this robot with other gravity or payload numbers;'
                                ' make a new Dynamics for another robot or another payload link')
        self._runtime[:] = np.concatenate([model.gravity, np.ravel(model.payload_parameters)])
        self.model = model

    # --- kernels ----------------------------------------------------------------------------

    def _compiles(self, largest: int) -> bool:
        return self.backend == 'compiled' or (
            self.backend == 'auto' and len(self.tree.parent) <= largest)

    def kernel(self, function: Callable, arguments: Mapping[str, int], shape: tuple[int, ...],
               name: str | None = None) -> Kernel:
        """
        Compile a function of your own that builds on `kernels`.

        Parameters
        ----------
        function : callable
            `function(tree, runtime, *arguments)` over lists of scalars, see `kernels`.
        arguments : mapping of str to int
            Name and length of each array argument.
        shape : tuple of int
            Shape of the result.
        name : str, optional
            Identifies a function of a module, so that its compiled code is found again without
            a trace; leave it out for closures and for functions under work.

        """
        key = name and (f'{self.model.structure_key}|{source_digest(function)}|{name}'
                        f'|{function.__module__}.{function.__qualname__}'
                        f'|{tuple(arguments.items())}|{shape}')
        compiled = self._compiles(_LARGEST_OF_PAIRS) if name in _OF_PAIRS else self.compiled
        return Kernel(lambda runtime, *arrays: function(self.tree, runtime, *arrays), arguments,
                      shape, self._runtime, key, compiled, self._cache)

    def warm(self, *names: str) -> None:
        """Compile methods now (by name), so that no later call does."""
        for name in names:
            self._find(name)

    def _call(self, name: str, *arrays, link: str | None = None, out=None):
        try:
            function = self._kernels[name, link]
        except (KeyError, TypeError):  # not compiled yet, or no name of a link
            function = self._find(name, link)
        return function(*arrays) if out is None else function(*arrays, out=out)

    def _find(self, name: str, link: str | None = None) -> Callable:
        method = getattr(type(self), name)
        algorithm, arguments, shape = self._signature(name)
        if name in _OF_LINK:
            frame = self._frame(link)

            def of_link(tree, runtime, *arrays):
                return algorithm(tree, runtime, *arrays, frame)

            kernel = self.kernel(of_link, arguments, shape, f'{name}|{frame}')
        else:
            kernel = self.kernel(algorithm, arguments, shape, name)
        function = kernel.builtin(name, method.__doc__)
        self._kernels[name, link] = function
        if name in _OF_ARRAYS:
            # from now on the instance's attribute is machine code, and the method its fallback
            setattr(self, name, kernel.builtin(name, method.__doc__, method.__get__(self)))
        return function

    def _signature(self, name: str) -> tuple[Callable, dict[str, int], tuple[int, ...]]:
        algorithm, taken, shape = {**_OF_ARRAYS, **_OF_LINK, **_UNPACKED}[name]
        sizes = {'nv': self.nv, 'parameters': BODY_PARAMETERS * self.model.nb}
        return (algorithm, dict.fromkeys(taken, self.nv),
                tuple(sizes.get(size, size) for size in shape))

    def _frame(self, link: str) -> _Frame:
        frame = self.model.link(link)
        return _Frame(int(frame.body), as_tuple(frame.rotation), as_tuple(frame.translation))

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
