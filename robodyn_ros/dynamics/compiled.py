"""Methods of `Dynamics` as algorithms that are compiled for one robot at the first call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import getattr_static
from pathlib import Path
from types import MethodType
from typing import Any, cast, Literal, NamedTuple
import warnings

import numpy as np

from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.algorithms.coriolis import coriolis_matrix, velocity_forces
from robodyn_ros.dynamics.algorithms.derivatives import (
    forward_dynamics_derivatives, inverse_dynamics_derivatives)
from robodyn_ros.dynamics.algorithms.regressor import BODY_PARAMETERS, regressor
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.builtin import supported
from robodyn_ros.dynamics.jit.fastcall import FastCall
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.kernel import Kernel, LARGEST_COMPILED
from robodyn_ros.dynamics.jit.program import Argument, Table
from robodyn_ros.dynamics.rollout import Coupling, Rollout
from robodyn_ros.dynamics.singular import raise_if_singular
from robodyn_ros.dynamics.tree import as_tuple, Tree
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel

_BACKENDS = ('auto', 'compiled', 'python')

# per method: algorithm, arguments, and shape of the result
_OF_ARRAYS = {
    'inverse_dynamics': (algorithms.inverse_dynamics, ('q', 'qd', 'qdd'), ('nv',)),
    'gravity': (algorithms.gravity, ('q',), ('nv',)),
    'bias': (algorithms.bias, ('q', 'qd'), ('nv',)),
    'mass_matrix': (algorithms.mass_matrix, ('q',), ('nv', 'nv')),
    'forward_dynamics': (algorithms.forward_dynamics, ('q', 'qd', 'tau'), ('nv',)),
    'center_of_mass': (algorithms.center_of_mass, ('q',), (3,)),
    'coriolis_matrix': (coriolis_matrix, ('q', 'qd'), ('nv', 'nv')),
    'regressor': (regressor, ('q', 'qd', 'qdd'), ('nv', 'parameters')),
    'inverse_dynamics_derivatives': (
        inverse_dynamics_derivatives, ('q', 'qd', 'qdd'), (3, 'nv', 'nv')),
    'forward_dynamics_derivatives': (
        forward_dynamics_derivatives, ('q', 'qd', 'tau'), (3, 'nv', 'nv')),
}
_OF_LINK = {
    'forward_kinematics': (algorithms.forward_kinematics, ('q',), (4, 4)),
    'jacobian': (algorithms.jacobian, ('q',), (6, 'nv')),
    'jacobian_dot_qd': (algorithms.jacobian_dot_qd, ('q', 'qd'), (6,)),
}
# methods that convert the result of their kernel
_UNPACKED = {
    'kinetic_energy': (algorithms.kinetic_energy, ('q', 'qd'), (1,)),
    'potential_energy': (algorithms.potential_energy, ('q',), (1,)),
    'velocity_forces': (velocity_forces, ('q', 'qd'), (2, 'nv')),
}
_METHODS: dict[str, tuple[Any, Any, Any]] = {**_OF_ARRAYS, **_OF_LINK, **_UNPACKED}
METHODS, METHODS_OF_LINK = tuple(_METHODS), tuple(_OF_LINK)
# checks of results that are not finite
_REVIEWS = {'forward_dynamics': '_review_acceleration',
            'forward_dynamics_derivatives': '_review_acceleration',
            'center_of_mass': '_review_center_of_mass'}
# code size grows with the number of joint pairs on one path: minutes to compile for large robots
_OF_PAIRS = ('coriolis_matrix', 'velocity_forces', 'regressor', 'inverse_dynamics_derivatives')
_LARGEST_OF_PAIRS = 80
# up to this size forward dynamics and its derivatives are one kernel, with the inverse of M
LARGEST_FUSED = 12


class _Frame(NamedTuple):
    body: int
    rotation: tuple
    translation: tuple


class as_builtin:  # noqa: N801  (a decorator)
    """
    Decorator that replaces a method of arrays, or of arrays and a link, by a built-in function.

    The function is set on the instance at the first access, so that every reference to it is fast
    after the first call, which compiles. Its fallback is the method.
    """

    def __init__(self, method: Callable):
        self._method = method

    def __get__(self, dynamics: Any, owner: type | None = None) -> Callable:
        if dynamics is None:
            return self._method
        method, name = MethodType(self._method, dynamics), self._method.__name__
        # an override that calls the method by `super()` is not replaced
        return dynamics._builtin(method) if getattr_static(owner, name) is self else method


class CompiledMethods:
    """Part of `Dynamics` that compiles and finds the kernels of its methods."""

    def __init__(self, model: RobotModel, backend: str = 'auto',
                 cache: Path | Literal[False] | None = None, threads: int = 1):
        if backend not in _BACKENDS:
            raise ArgumentError(f'backend {backend!r} is none of {", ".join(_BACKENDS)}')
        if not isinstance(threads, int) or threads < 1:
            raise ArgumentError(f'threads is {threads!r}: it must be a whole number above 0')
        self.model = model
        self.nv = model.nv
        self.threads = threads
        self.tree = Tree.from_model(model)
        self._structure = model.structure_key  # not changed by `update`
        self.backend = backend
        self.compiled = self._compiles(LARGEST_COMPILED, 'all algorithms')
        self._cache = machine.default_cache() if cache is None else (
            Path(cache) if cache else None)
        self._runtime = np.concatenate([model.gravity, np.ravel(model.payload_parameters)])
        self._kernels: dict[tuple[str, str | None], Kernel] = {}
        self._calls: dict[tuple[str, str | None], Callable] = {}
        self._fastcalls: dict[str, FastCall] = {}

    def __reduce__(self):
        # without compiled methods: a copy compiles its own
        return type(self), (self.model, self.backend, self._cache or False, self.threads)

    def update(self, model: RobotModel) -> None:
        """
        Set gravity and payloads from a model that differs in nothing else; no compilation.

        Raises
        ------
        ArgumentError
            The model is another robot, or has payloads on other links.

        """
        if model.structure_key != self._structure:
            raise ArgumentError('update() takes this robot with other gravity or payload numbers;'
                                ' make a new Dynamics for another robot or another payload link')
        self._runtime[:] = np.concatenate([model.gravity, np.ravel(model.payload_parameters)])
        self.model = model

    @property
    def runtime(self) -> np.ndarray:
        """
        Gravity (3), then ten numbers per payload slot, as compiled functions read them.

        It may be written to at run time, to change payloads gradually; `model` is not updated.
        """
        return self._runtime

    def kernel(self, function: Callable, arguments: Mapping[str, int], shape: tuple[int, ...],
               name: str | None = None) -> Kernel:
        """
        Compile a user's function that builds on `algorithms`.

        Parameters
        ----------
        function : callable
            `function(tree, runtime, *arguments)` over lists of scalars, see `algorithms`.
        arguments : mapping of str to int
            Name and length of each array argument.
        shape : tuple of int
            Shape of the result.
        name : str, optional
            Identifier of a function of a module, under which its compiled code is cached without
            tracing; omit it for closures and for functions that still change.

        """
        return self._make_kernel(function, arguments, shape, name)

    def _make_kernel(self, function: Callable, arguments: Mapping[str, int],
                     shape: tuple[int, ...], name: str | None, **checks) -> Kernel:
        compiled = self.compiled and (name not in _OF_PAIRS or self._compiles(
            _LARGEST_OF_PAIRS, name))
        return Kernel(self._bound(function), arguments, shape, self._runtime,
                      self._key(function, name, tuple(arguments.items()), shape), compiled,
                      self._cache, self.threads, **checks)

    def function(self, body: Callable, arguments: Mapping[str, Argument],
                 outputs: Mapping[str, int], name: str | None = None,
                 builds_on: Sequence[str] = ()) -> Function:
        """
        Compile a user's function with a C signature, to be called by machine code.

        Parameters
        ----------
        body : callable
            `body(tree, *arguments)` over scalars, see `algorithms` and `jit.function`; gravity
            and payloads, if needed, must be among its arguments.
        arguments, outputs, name
            As for `Function`, and for `kernel`.
        builds_on : sequence of str
            Packages of robodyn_ros that it depends on, besides its own and `dynamics`.

        """
        key = self._key(body, name, tuple(arguments.items()), tuple(outputs.items()),
                        builds_on=builds_on)
        return Function(lambda *given: body(self.tree, *given), arguments, outputs, key,
                        self._cache)

    def rollout(self, step: Callable, sizes: tuple[int, int, int], recorded: int,
                name: str | None = None, tables: Mapping[str, Table] | None = None,
                coupling: Coupling | None = None) -> Rollout:
        """
        Compile a loop that applies a user's step many times, to many states.

        Parameters
        ----------
        step : callable
            `step(tree, runtime, state, constants, inputs, *tables)` over lists of scalars returns
            the next state.
        sizes : (int, int, int)
            Lengths of state, constants and inputs.
        recorded : int
            Number of leading state values that are recorded.
        name : str, optional
            Identifier, as for `kernel`.
        tables : mapping of str to Table, optional
            Name and kind of each table, see `flow`.
        coupling : Coupling, optional
            Function of one state that is called in each step, see `Rollout`; its first part has
            the tree as first argument, too.

        """
        tables = tables or {}
        own: tuple = ()
        if coupling:
            function = coupling.function
            own = (coupling.kept, len(function.argument), len(function.result), function.memory,
                   function.program, function.observed)
            coupling = coupling._replace(first=self._bound(coupling.first))
        return Rollout(self._bound(step), sizes, tables, recorded, self._runtime,
                       self._key(step, name, sizes, recorded, tables, *own), self.compiled,
                       self._cache, coupling)

    def _bound(self, function: Callable) -> Callable:
        return lambda runtime, *arrays: function(self.tree, runtime, *arrays)

    def _key(self, function: Callable, name: str | None, *rest,
             builds_on: Sequence[str] = ()) -> str | None:
        """Return the cache key of compiled code; None: the code itself is the key."""
        return name and '|'.join((
            self._structure, machine.source_digest(function, builds_on), name,
            function.__module__, function.__qualname__, str(rest)))

    def prepare(self, *names: str) -> None:
        """Compile methods (by name) in advance."""
        for name in names:
            self._find(name)

    def machine_code(self, name: str) -> machine.Code | None:
        """
        Return the machine code of a method of arrays, to be called by other machine code.

        Its `kernel(runtime, *arrays, out)` takes addresses, without checks and without a
        treatment of numbers that are not finite; `out` may be one of the arrays. None if the
        method runs in Python.
        """
        if (name, None) not in self._kernels:
            self._find(name)
        return self._kernels[name, None].code

    def _compiles(self, largest: int, what: str) -> bool:
        bodies = len(self.tree.parent)
        if self.backend != 'auto':
            return self.backend == 'compiled'
        if bodies > largest:
            warnings.warn(
                f'robot {self.model.name!r} has {bodies} moving bodies, more than {largest}: '
                f'{what} run in Python, some hundred times slower than compiled; lock joints or '
                "choose a tip, or compile all the same, for minutes, with backend='compiled'",
                RuntimeWarning, stacklevel=3)
        return bodies <= largest

    def _builtin(self, method: MethodType) -> Callable:
        """Return the built-in function of a method of this instance, or the method itself."""
        name = method.__name__
        fused = name != 'forward_dynamics_derivatives' or self.model.nb <= LARGEST_FUSED
        if not (self.compiled and fused and supported()):
            return method
        _, arguments, shape = self._form(name)
        call = self._fastcalls.setdefault(name, FastCall(
            name, method.__doc__, method, self._runtime, tuple(arguments.values()), shape,
            self._cache, name in _OF_LINK, True, self._review_of(name)))
        self._bind(name)
        setattr(self, name, call.builtin)
        return call.builtin

    def _bind(self, name: str) -> None:
        """Connect the built-in function of a method to its kernel, if both exist."""
        call, kernel = self._fastcalls.get(name), self._kernels.get((name, None))
        if call is not None and kernel is not None and kernel.code is not None:
            call.bind(kernel.code)

    def _call(self, name: str, *arrays, link: str | None = None, out=None):
        """Call the kernel of a method, with arguments of any form."""
        try:
            function = self._calls[name, link]
        except (KeyError, TypeError):  # not compiled yet, or not the name of a link
            function = self._find(name, link)
        if link is not None and name in self._fastcalls:
            # a string object that the built-in function does not have yet
            code = self._kernels[name, link].code
            assert code is not None
            self._fastcalls[name].bind_link(link, code)
        return function(*arrays) if out is None else function(*arrays, out=out)

    def _find(self, name: str, link: str | None = None) -> Callable:
        kernel = self.kernel_of(name, link)
        self._calls[name, link] = kernel.builtin(name, getattr(type(self), name).__doc__)
        self._kernels[name, link] = kernel
        self._bind(name)
        return self._calls[name, link]

    def _form(self, name: str) -> tuple[Callable, dict[str, int], tuple[int, ...]]:
        """Return the algorithm of a method, its arguments with lengths, and the result's shape."""
        algorithm, taken, shape = _METHODS[name]
        sizes = {'nv': self.nv, 'parameters': BODY_PARAMETERS * self.model.nb}
        return algorithm, dict.fromkeys(taken, self.nv), tuple(
            sizes.get(size, size) for size in shape)

    def kernel_of(self, name: str, link: str | None = None) -> Kernel:
        """Return a new kernel of a method, not compiled; link: of methods of a link."""
        algorithm, arguments, shape = self._form(name)
        checks = {'finite': True, 'review': self._review_of(name)}
        if name not in _OF_LINK:
            return self._make_kernel(algorithm, arguments, shape, name, **checks)
        frame = self.frame(cast(str, link))

        def of_link(tree, runtime, *arrays):
            return algorithm(tree, runtime, *arrays, frame)

        return self._make_kernel(of_link, arguments, shape, f'{name}|{frame}', **checks)

    # --- results that are not finite --------------------------------------------------------

    def _review_of(self, name: str) -> MethodType | None:
        return getattr(self, _REVIEWS[name]) if name in _REVIEWS else None

    def _review_acceleration(self, q, qd, tau, out=None) -> None:
        raise_if_singular(self._call('mass_matrix', q), self.model.joint_names)

    def _review_center_of_mass(self, q, out=None) -> None:
        if not self.model.mass.any() and not self._runtime[3::algorithms.PAYLOAD_SIZE].any():
            raise ArgumentError(f'robot {self.model.name!r} has no centre of mass: nothing that '
                                'moves has a mass; give its links an <inertial>')

    def frame(self, link: str) -> _Frame:
        """Return the pose of a link in its body, in the form that kernels take."""
        frame = self.model.link(link)
        return _Frame(int(frame.body), as_tuple(frame.rotation), as_tuple(frame.translation))
