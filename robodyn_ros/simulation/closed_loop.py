"""
Controller and plant in one compiled loop: many runs, each with its own arm.

The controller is a pure function of the measured state and its memory; it returns the torque and
the next memory. The plant has the structure of the model, with inertias as arguments, so that no
arm needs a compilation of its own. Four arms are simulated at once, in SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.dynamics.jit.flags import all_of, flag, when
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.program import Argument
from robodyn_ros.dynamics.jit.trace import absolute, maximum
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.spread import draw, Sample, Spread
from robodyn_ros.simulation.step import Constants, constants_size, plant_step, State, state_size

_APPLIED = State._fields.index('applied')
# rows of the figures, one number per joint; the last number is the count of steps
_SQUARES, _PEAK_ERROR, _PEAK_TORQUE, _CUT = range(4)
_ROWS = 4


class Controller(Protocol):
    """
    Interface of a controller.

    Attributes
    ----------
    key : str or None
        Identifier of all code that `compute_torque` and `tracking` compile to.
    memory, program : (k,) array
        Initial values; the loop uses their lengths.

    """

    key: str | None
    memory: NDArray
    program: NDArray

    @property
    def tables(self) -> Mapping[str, Argument]:
        """Return the lookup tables of `compute_torque`."""

    def compute_torque(self, tables, now, q, qd, effort, memory, program):
        """Return the torque and the next memory, as scalars; `tables` by name."""

    def tracking(self, memory):
        """Return reference, flag that it is followed, and flags of joints with limited torque."""


@dataclass(eq=False)
class Runs:
    """
    Runs in progress; one row per run.

    Attributes
    ----------
    plant : (N, p) array
        States of the arms, see `step.State`.
    memory : (N, m) array
        Memory of the controller.
    figures : (N, 4 nv + 1) array
        Statistics so far.
    steps : int
        Number of steps so far.
    constants : (N, c) array
        Constants of the arms.
    samples : list of Sample
        Parameters of the arms.
    noise : (2,) array
        Standard deviations of measured position and velocity.

    """

    plant: NDArray
    memory: NDArray
    figures: NDArray
    steps: int
    constants: NDArray
    samples: list[Sample]
    noise: NDArray


class Outcome(NamedTuple):
    """
    Result of the runs, over the counted steps.

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
    q : (N, nv) array
        Final position.
    good : (N,) array of bool
        False where a run diverged; it stays in its last finite state.

    """

    rms: NDArray
    peak: NDArray
    torque: NDArray
    cut: NDArray
    steps: NDArray
    q: NDArray
    good: NDArray


class ClosedLoop:
    """
    Runs of one controller on arms that differ from its model.

    Parameters
    ----------
    plant : Plant
        Nominal arm; the controller is evaluated in each of its steps.
    controller : Controller
        Controller of all runs.

    """

    def __init__(self, plant: Plant, controller: Controller):
        self.plant, self.controller = plant, controller
        nv, options = plant.nv, plant.options
        self._sizes = (state_size(nv), len(controller.memory), _ROWS * nv + 1, 1)
        self._given = (len(controller.program), constants_size(nv), 10 * plant.model.nb, 1)

        def step(tree, runtime, state, constants, inputs, *tables):
            return self._step(tree, runtime, state, constants, inputs, tables, options)

        self._run = plant.dynamics.rollout(
            step, sum(self._sizes), sum(self._given), 2 * nv, 1,
            f'closed_loop|{options}|{controller.key}', controller.tables)

    def _step(self, tree, runtime, state, constants, inputs, tables, options):
        n, controller = tree.nv, self.controller
        arm, memory, figures, (k,) = _parts(state, self._sizes)
        program, joints, inertias, (counted,) = _parts(constants, self._given)
        effort = arm[_APPLIED * n:(_APPLIED + 1) * n]
        q, qd = ([x + noise for x, noise in zip(arm[i * n:(i + 1) * n], inputs[i * n:])]
                 for i in range(2))
        torque, memory = controller.compute_torque(
            dict(zip(controller.tables, tables)), k * joints[-1], q, qd, effort, memory, program)
        # payloads are part of the inertias
        own = tree.with_parameters(inertias).without_payloads()
        after = plant_step(own, runtime, arm, torque, [0.0] * n, joints, **options)
        reference, follows, cut = controller.tracking(memory)
        counts = all_of([flag(counted), flag(after[-1]), follows])
        figures = when(counts, _accumulated(figures, arm[:n], reference, torque, cut), figures)
        return flatten([after, memory, figures, k + 1.0])

    def warm(self) -> None:
        """Compile the loop, or load it from the cache."""
        self._run.warm()

    def start(self, q: ArrayLike, spread: Spread, seed: int, numbers: Sequence[int]) -> Runs:
        """
        Return runs of arms at rest, before the first step.

        Parameters
        ----------
        q : (nv,) array_like
            Nominal initial position.
        spread : Spread
            Spread of the arms.
        seed : int
            Seed; seed and number of a run determine its arm.
        numbers : sequence of int
            Numbers of the runs.

        """
        plant, nv = self.plant, self.plant.nv
        q = np.asarray(q, dtype=float)
        if q.shape != (nv,):
            raise ArgumentError(f'q must have shape ({nv},), got {q.shape}')
        if not len(numbers):
            raise ArgumentError('there must be at least one run')
        samples = [draw(plant, spread, seed, number) for number in numbers]
        arms = np.zeros((len(samples), state_size(nv)))
        arms[:, :nv], arms[:, -1] = q + [each.start for each in samples], 1.0
        return Runs(
            arms, np.tile(self.controller.memory, (len(samples), 1)),
            np.zeros((len(samples), _ROWS * nv + 1)), 0,
            np.array([np.concatenate([self._joints(each.friction), each.parameters.ravel()])
                      for each in samples]),
            samples, np.array([spread.position_noise, spread.velocity_noise]))

    def run(self, runs: Runs, program: ArrayLike, tables: Sequence, steps: int,
            counted: bool = False, threads: int = 1) -> None:
        """
        Simulate some steps, in place.

        Parameters
        ----------
        runs : Runs
            As returned by `start`.
        program : (k,) or (N, k) array_like
            Program of the controller; one for all runs, or one per run.
        tables : sequence
            Contents of the controller's tables.
        steps : int
            Number of steps.
        counted : bool
            Whether they count in the figures, while the reference is followed.
        threads : int
            Number of threads.

        """
        count = len(runs.plant)
        size = len(self.controller.program)
        program = np.asarray(program, dtype=float)
        if program.shape not in ((size,), (count, size)):
            raise ArgumentError(f'program must have shape ({size},) or ({count}, {size}), got '
                                f'{program.shape}')
        state = np.column_stack([runs.plant, runs.memory, runs.figures,
                                 np.full(count, float(runs.steps))])
        constants = np.column_stack([np.broadcast_to(program, (count, size)), runs.constants,
                                     np.full(count, float(counted))])
        inputs = self._noise(runs, steps)
        if count == 1:  # a single run would be other code, with other rounding
            state, constants = (np.repeat(each, 2, axis=0) for each in (state, constants))
            inputs = inputs if inputs.ndim == 2 else np.repeat(inputs, 2, axis=0)
        state, _ = self._run(state, constants, inputs, every=max(steps, 1), threads=threads,
                             tables=tables)
        runs.plant, runs.memory, runs.figures, _ = np.split(
            state[:count], np.cumsum(self._sizes)[:-1], axis=1)
        runs.steps += steps

    def _noise(self, runs: Runs, steps: int) -> NDArray:
        """Return the measurement noise, (steps, 2 nv), per run if there is any."""
        if not runs.noise.any():
            return np.zeros((steps, 2 * self.plant.nv))
        drawn = [each.noise.standard_normal((steps, 2, self.plant.nv)) for each in runs.samples]
        return (np.array(drawn) * runs.noise[:, None]).reshape(len(drawn), steps, -1)

    def outcome(self, runs: Runs) -> Outcome:
        """Return the result of the runs so far."""
        nv = self.plant.nv
        kept, steps = runs.figures[:, :-1].reshape(-1, _ROWS, nv), runs.figures[:, -1]
        with np.errstate(invalid='ignore'):
            squares, cut = (kept[:, row] / steps[:, None] for row in (_SQUARES, _CUT))
        return Outcome(np.sqrt(squares), kept[:, _PEAK_ERROR], kept[:, _PEAK_TORQUE], cut, steps,
                       runs.plant[:, :nv], runs.plant[:, -1] != 0.0)

    def _joints(self, friction: NDArray) -> NDArray:
        """Return the constants of the plant with other friction."""
        rows = self.plant.constants[:-1].reshape(-1, self.plant.nv).copy()
        for k, name in enumerate(Constants._fields):
            if name in ('damping', 'friction', 'stiction', 'bristle_stiffness'):
                rows[k] *= friction
        return np.append(rows, self.plant.constants[-1])


def _accumulated(figures, q, reference, torque, cut):
    """Return the figures after one more step."""
    n = len(q)
    squares, peak_error, peak_torque, cuts = (figures[k * n:(k + 1) * n] for k in range(_ROWS))
    error = [a - b for a, b in zip(q, reference)]
    return [*(s + e * e for s, e in zip(squares, error)),
            *(maximum(p, absolute(e)) for p, e in zip(peak_error, error)),
            *(maximum(p, absolute(t)) for p, t in zip(peak_torque, torque)),
            *(c + each for c, each in zip(cuts, cut)), figures[-1] + 1.0]


def _parts(values, sizes):
    """Return consecutive parts of a list, of these sizes."""
    return [values[end - size:end] for end, size in zip(np.cumsum(sizes), sizes)]
