"""
Controller and plant in one compiled loop: many runs, each with its own arm.

The controller is the machine code that drives an arm, called for each run; the plant is computed
for four runs at once, in SIMD lanes. It has the structure of the model, with inertias as
arguments, so that no arm needs a compilation of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple, Protocol, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.flags import all_of, flag, when
from robodyn_ros.dynamics.jit.flow import Table
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import absolute, maximum
from robodyn_ros.dynamics.rollout import Coupling, StatefulFunction
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.step import Constants, constants_size, plant_step, State, state_size

if TYPE_CHECKING:
    from robodyn_ros.simulation.fault_loop.step import FaultStep

# rows of the figures, one number per joint; the last number is the count of steps
_SQUARES, _PEAK_ERROR, _PEAK_TORQUE, _CUT = range(4)
_ROWS = 4


class Controller(Protocol):
    """
    Interface of a controller: a function in machine code, called for states and their absence.

    Attributes
    ----------
    key : str or None
        Key of its code.
    memory, program : array
        Memory of a controller that has not begun, and its program.
    sending, following : tuple of int
        Indices of the values of the memory from which `sends` and `faulted`, or `tracking`, tell.

    """

    key: str | None
    memory: NDArray
    program: NDArray
    sending: tuple[int, ...]
    following: tuple[int, ...]

    @property
    def function(self) -> StatefulFunction:
        """Return the function."""

    def argument(self, given) -> list:
        """
        Return the argument of the function, as scalars.

        given: namespace of `begins`, `received` and `waits` (flags of the kind of call),
        `arrival`, `stamp` and `clock` (s), `q`, `qd`, `effort`.
        """

    def sends(self, observed):
        """
        Return the flag that the torque of a state, or of a state that is missing, is sent.

        observed: values of the next memory at `sending`.
        """

    def faulted(self, observed):
        """Return the code of the fault that is latched, 0 for none; observed: as for `sends`."""

    def tracking(self, observed):
        """
        Return reference, flag that it is followed, and flags of joints with limited torque.

        observed: values of the next memory at `following`.
        """

    def use_path(self, rows: list) -> None:
        """Use tables of trajectories, one after the other; the list is joined into one."""

    def on_floats(self, rows: Sequence, argument: list, memory: list, program: list) -> tuple:
        """Return torque and next memory, computed in Python."""


class TrackingStep:
    """
    A step without faults, that counts how well the reference is followed.

    Parameters
    ----------
    plant, controller
        As for `ClosedLoop`.

    Attributes
    ----------
    key : str
        Key of its code.
    state_sizes : tuple of int
        Lengths of figures, arm, and number of steps.
    constant_sizes : tuple of int
        Lengths of joints, inertias, and whether the step counts.
    kept_size : int
        Length of what the second part needs of the first.
    recorded : int
        Number of leading values of the state that are recorded.
    observed : tuple of int
        Indices of the values of the memory of the controller that the second part needs.
    tables : dict of str to Table
        Tables of both parts.

    """

    state_sizes: tuple[int, ...]
    constant_sizes: tuple[int, ...]
    kept_size = recorded = 0
    tables: dict[str, Table] = {}

    def __init__(self, plant: Plant, controller: Controller):
        nv = plant.nv
        self._controller, self._options = controller, plant.options
        self.key, self.observed = f'tracking|{plant.options}', controller.following
        self.state_sizes = _ROWS * nv + 1, state_size(nv), 1
        self.constant_sizes = constants_size(nv), 10 * plant.model.nb, 1

    def first(self, tree, runtime, state, constants, noise):
        """Return the argument of the controller; nothing else is kept."""
        n = tree.nv
        _, arm, (k,) = parts(state, self.state_sizes)
        now = k * parts(constants, self.constant_sizes)[0][-1]
        rows = State(*parts(arm, [n] * len(State._fields)))
        q, qd = ([x + e for x, e in zip(row, noise[i * n:])]
                 for i, row in enumerate((rows.position, rows.velocity)))
        return self._controller.argument(SimpleNamespace(
            begins=1.0, received=0.0, waits=0.0, arrival=now, stamp=now, clock=now,
            q=q, qd=qd, effort=rows.applied)), []

    def then(self, tree, runtime, state, constants, result):
        """Return the next state."""
        n, torque = tree.nv, result[:tree.nv]
        figures, arm, (k,) = parts(state, self.state_sizes)
        joints, inertias, (counted,) = parts(constants, self.constant_sizes)
        # payloads are part of the inertias
        own = tree.with_parameters(inertias).without_payloads()
        after = plant_step(own, runtime, arm, torque, [0.0] * n, joints, **self._options)
        reference, follows, cut = self._controller.tracking(result[n:])
        counts = all_of([flag(counted), flag(after[-1]), follows])
        figures = when(counts, _accumulated(figures, arm[:n], reference, torque, cut), figures)
        return flatten([figures, after, k + 1.0])


class Runs(NamedTuple):
    """
    Runs in progress, one row per run.

    Attributes
    ----------
    state : (N, s) array
        What the step keeps: figures or records of the last step, arm, number of steps.
    memories, programs : (N, ...) array
        Memories and programs of the controllers; changed in place to request something.
    constants : (N, c) array
        Constants of the arms, and of the step.
    records : list of (N, T, r) array
        Records of the steps so far, in parts; none without faults.

    """

    state: NDArray
    memories: NDArray
    programs: NDArray
    constants: NDArray
    records: list[NDArray]


class Tracking(NamedTuple):
    """
    Figures of runs, over the counted steps in which the reference was followed.

    Attributes
    ----------
    rms, peak : (N, nv) array
        Position error against the reference; NaN and 0 where no step counted.
    torque : (N, nv) array
        Largest torque of the controller.
    cut : (N, nv) array
        Fraction of the steps in which a limit reduced the torque.
    steps : (N,) array
        Number of counted steps.

    """

    rms: NDArray
    peak: NDArray
    torque: NDArray
    cut: NDArray
    steps: NDArray


class ClosedLoop:
    """
    Runs of one controller on many arms.

    Parameters
    ----------
    plant : Plant
        Nominal arm; the controller is called in each of its steps.
    controller : Controller
        Controller of all runs.
    step : TrackingStep or FaultStep, optional
        What happens in a step; default no faults.

    """

    def __init__(self, plant: Plant, controller: Controller,
                 step: TrackingStep | FaultStep | None = None):
        self.plant, self.controller = plant, controller
        self.step = step = step or TrackingStep(plant, controller)
        self._run = plant.dynamics.rollout(
            step.then, (sum(step.state_sizes), sum(step.constant_sizes), 2 * plant.nv),
            step.recorded, f'{step.key}|{controller.key}', step.tables,
            Coupling(step.first, step.kept_size,
                     replace(controller.function, observed=step.observed)))

    def prepare_code(self) -> None:
        """Compile the loop, or load it from the cache."""
        self._run.prepare()

    def start(self, q: NDArray, joints: NDArray, inertias: NDArray, *others: NDArray) -> Runs:
        """
        Return runs of arms at rest, before the first step.

        Parameters
        ----------
        q, joints, inertias : (N, ...) array
            Position, constants and inertial parameters of each arm, see `step.Constants` and
            `Dynamics.parameters`.
        *others : (N, ...) array
            Further constants of the step.

        """
        sizes, nv = self.step.constant_sizes, self.plant.nv
        for name, array, size in (('q', q, nv), ('joints', joints, sizes[0]),
                                  ('inertias', inertias, sizes[1])):
            if np.shape(array) != (len(q), size) or not len(q):
                raise ArgumentError(f'{name} must have shape (N, {size}), with one run at least; '
                                    f'got {np.shape(array)}', name=name)
        count = len(q)
        constants = np.zeros((count, sum(sizes)))
        given = np.concatenate([joints, inertias, *others], axis=1)
        constants[:, :given.shape[1]] = given
        state = np.zeros((count, sum(self.step.state_sizes)))
        arm = self.arms(state)
        arm[:, :nv], arm[:, -1] = q, 1.0
        if self.plant.options['elastic']:
            gap = State._fields.index('gap') * nv
            arm[:, gap:gap + nv] = self._loaded(q, joints, inertias)
        memories, programs = (np.tile(each, (count, 1)) for each in (
            self.controller.memory, self.controller.program))
        return Runs(state, memories, programs, constants, [])

    def _loaded(self, q: NDArray, joints: NDArray, inertias: NDArray) -> NDArray:
        """Return the gaps of springs that carry the weight of the arms, (N, nv)."""
        nv, still = self.plant.nv, np.zeros(self.plant.nv)
        place = Constants._fields.index('stiffness')
        stiffness = joints[:, place * nv:(place + 1) * nv]
        weight = np.array([self.plant.dynamics.regressor(each, still, still) @ own
                           for each, own in zip(q, inertias)])
        return np.divide(weight, stiffness, out=np.zeros_like(weight), where=stiffness > 0.0)

    def arms(self, state: NDArray) -> NDArray:
        """Return the states of the arms, (N, p), see `step.State`: a view."""
        begin, size = self.step.state_sizes[:2]
        return state[:, begin:begin + size]

    def good(self, runs: Runs) -> NDArray:
        """Return which runs did not diverge, (N,); the others stay in their last finite state."""
        return self.arms(runs.state)[:, -1] != 0.0

    def run(self, runs: Runs, noise: NDArray, rows: list, counted: bool = False) -> Runs:
        """
        Return the runs after some steps.

        Parameters
        ----------
        runs : Runs
            As returned by `start`.
        noise : (T, 2 nv) or (N, T, 2 nv) array
            Errors of positions, then of velocities.
        rows : list
            Tables of trajectories.
        counted : bool
            Whether the steps count in the figures, while the reference is followed.

        """
        runs.constants[:, -1] = counted
        return self._advanced(runs, noise, rows)[0]

    def _advanced(self, runs: Runs, noise: NDArray, rows: list, tables: Sequence = (),
                  out: NDArray | None = None) -> tuple[Runs, NDArray]:
        """Return the runs after some steps, and the records of these steps."""
        self.controller.use_path(rows)
        state, out, memories = self._run(
            runs.state, runs.constants, noise, tables=tables, records=out,
            memories=runs.memories, programs=runs.programs)
        return runs._replace(state=state, memories=memories), out

    def tracking(self, runs: Runs) -> Tracking:
        """Return the figures of runs without faults."""
        figures = runs.state[:, :self.step.state_sizes[0]]
        kept, steps = figures[:, :-1].reshape(-1, _ROWS, self.plant.nv), figures[:, -1]
        with np.errstate(invalid='ignore'):
            squares, cut = (kept[:, row] / steps[:, None] for row in (_SQUARES, _CUT))
        return Tracking(np.sqrt(squares), kept[:, _PEAK_ERROR], kept[:, _PEAK_TORQUE], cut, steps)


def _accumulated(figures, q, reference, torque, cut):
    """Return the figures after one more step."""
    squares, peak_error, peak_torque, cuts = parts(figures, [len(q)] * _ROWS)
    error = [a - b for a, b in zip(q, reference)]
    return [*(s + e * e for s, e in zip(squares, error)),
            *(maximum(p, absolute(e)) for p, e in zip(peak_error, error)),
            *(maximum(p, absolute(t)) for p, t in zip(peak_torque, torque)),
            *(c + each for c, each in zip(cuts, cut)), figures[-1] + 1.0]


def parts(values, sizes):
    """Return consecutive parts of a list, of these sizes."""
    return [values[end - size:end] for end, size in zip(np.cumsum(sizes), sizes)]
