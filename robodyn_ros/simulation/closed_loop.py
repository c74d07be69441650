"""
Controller and plant in one compiled loop: many runs, each with an arm of its own.

The controller is a pure function: from a measured state, and what it kept, to a torque and what it
keeps. The plant is the tree of the model with inertias that are arguments, so that no arm needs a
compilation of its own. Four arms are simulated at once, in the lanes of SIMD registers.
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
# rows of the figures, one number per joint; a last number is how many steps have counted
_SQUARES, _PEAK_ERROR, _PEAK_TORQUE, _CUT = range(4)
_ROWS = 4


class Controller(Protocol):
    """
    What a loop needs of a controller.

    Attributes
    ----------
    key : str
        Names all that `answer` and `tracked` compile to.
    memory, program : (k,) array
        At first; the loop takes their lengths.
    tables : mapping of str to Table or FunctionTable
        What `answer` looks up.

    """

    key: str
    memory: NDArray
    program: NDArray
    tables: Mapping[str, Argument]

    def answer(self, tables, now, q, qd, effort, memory, program):
        """Return torque and next memory, over scalars; `tables` by name."""

    def tracked(self, memory):
        """Return reference, flag that it is followed, flags of joints whose torque was cut."""


@dataclass(eq=False)
class Runs:
    """
    Arms under way; rows are runs.

    Attributes
    ----------
    plant : (N, p) array
        States of the arms, see `step.State`.
    memory : (N, m) array
        Of the controller.
    figures : (N, 4 nv + 1) array
        What has been counted.
    steps : int
        Made so far.
    constants : (N, c) array
        Of the arms.
    samples : list of Sample
        How the arms differ.
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
    What became of the runs, as far as it counted.

    Attributes
    ----------
    rms, peak : (N, nv) array
        Error of the position against the reference; NaN and 0 where nothing counted.
    torque : (N, nv) array
        Largest torque that the controller sent.
    cut : (N, nv) array
        Part of the steps in which a limit cut the torque.
    steps : (N,) array
        How many steps counted.
    q : (N, nv) array
        Where the arms ended.
    good : (N,) array of bool
        False where a run diverged; it stays in its last good state.

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
        The arm without any difference; the controller has a torque for each of its steps.
    controller : Controller
        See there.

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
        torque, memory = controller.answer(dict(zip(controller.tables, tables)), k * joints[-1],
                                           q, qd, effort, memory, program)
        # payloads are part of the inertias
        own = tree.with_parameters(inertias).without_payloads()
        after = plant_step(own, runtime, arm, torque, [0.0] * n, joints, **options)
        reference, follows, cut = controller.tracked(memory)
        counts = all_of([flag(counted), flag(after[-1]), follows])
        figures = when(counts, _counted(figures, arm[:n], reference, torque, cut), figures)
        return flatten([after, memory, figures, k + 1.0])

    def warm(self) -> None:
        """Compile, or load from the cache, now."""
        self._run.warm()

    def start(self, q: ArrayLike, spread: Spread, seed: int, numbers: Sequence[int]) -> Runs:
        """
        Return runs of arms at rest, before the first step.

        Parameters
        ----------
        q : (nv,) array_like
            Where the arms are, but for what `spread` adds.
        spread : Spread
            How the arms differ.
        seed : int
            Together with the number of a run it decides about its arm.
        numbers : sequence of int
            Of the runs.

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

    def advance(self, runs: Runs, program: ArrayLike, tables: Sequence, steps: int,
                counted: bool = False, threads: int = 1) -> None:
        """
        Go on by some steps, in place.

        Parameters
        ----------
        runs : Runs
            As returned by `start`.
        program : (k,) or (N, k) array_like
            Of the controller; the same for all runs, or for each its own.
        tables : sequence
            What goes into the tables of the controller.
        steps : int
            How many.
        counted : bool
            Whether they count in the figures, as long as the reference is followed.
        threads : int
            How many threads share the runs.

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
        if count == 1:  # one run alone would be compiled on its own, and rounded on its own
            state, constants = (np.repeat(each, 2, axis=0) for each in (state, constants))
            inputs = inputs if inputs.ndim == 2 else np.repeat(inputs, 2, axis=0)
        state, _ = self._run(state, constants, inputs, every=max(steps, 1), threads=threads,
                             tables=tables)
        runs.plant, runs.memory, runs.figures, _ = np.split(
            state[:count], np.cumsum(self._sizes)[:-1], axis=1)
        runs.steps += steps

    def _noise(self, runs: Runs, steps: int) -> NDArray:
        """Return what is added to the measured states, (steps, 2 nv), for each run if any."""
        if not runs.noise.any():
            return np.zeros((steps, 2 * self.plant.nv))
        drawn = [each.noise.standard_normal((steps, 2, self.plant.nv)) for each in runs.samples]
        return (np.array(drawn) * runs.noise[:, None]).reshape(len(drawn), steps, -1)

    def outcome(self, runs: Runs) -> Outcome:
        """Return what has become of the runs."""
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


def _counted(figures, q, reference, torque, cut):
    """Return the figures with one more step."""
    n = len(q)
    squares, peak_error, peak_torque, cuts = (figures[k * n:(k + 1) * n] for k in range(_ROWS))
    error = [a - b for a, b in zip(q, reference)]
    return [*(s + e * e for s, e in zip(squares, error)),
            *(maximum(p, absolute(e)) for p, e in zip(peak_error, error)),
            *(maximum(p, absolute(t)) for p, t in zip(peak_torque, torque)),
            *(c + each for c, each in zip(cuts, cut)), figures[-1] + 1.0]


def _parts(values, sizes):
    """Return the parts of a list that have these sizes."""
    return [values[end - size:end] for end, size in zip(np.cumsum(sizes), sizes)]
