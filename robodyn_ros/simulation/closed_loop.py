"""
Control law and plant in one compiled loop: many runs, each with an arm of its own.

The law is traced with the model that the controller believes in; the plant is the same tree with
inertias that are arguments, so that no arm needs a compilation of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.dynamics.trace import absolute, maximum, select
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.spread import draw, Spread
from robodyn_ros.simulation.step import Constants, constants_size, plant_step, state_size

# rows of what is kept besides the state of the plant
_SQUARES, _PEAK_ERROR, _PEAK_TORQUE = range(3)


class Outcome(NamedTuple):
    """
    What became of the runs.

    Attributes
    ----------
    rms, peak : (N, nv) array
        Error of the position against the reference.
    torque : (N, nv) array
        Largest torque that the law asked for.
    q : (N, nv) array
        Where the arms ended.
    good : (N,) array of bool
        False where a run diverged; its peaks are those until then, its RMS means nothing.

    """

    rms: NDArray
    peak: NDArray
    torque: NDArray
    q: NDArray
    good: NDArray


class ClosedLoop:
    """
    Runs of one law on arms that differ from its model.

    Parameters
    ----------
    plant : Plant
        The arm without any difference: its model is the law's.
    law : callable
        `law(tree, runtime, q, qd, reference, gains)` returns the joint torques, as lists of
        scalars; `reference` is q, qd, qdd in one list, `gains` what `run` is given. It is traced
        as the algorithms of `dynamics.kernels` are, and may call them with `tree` and `runtime`:
        arithmetic, and the functions of `dynamics.trace`, but no NumPy.
    gains : int
        Length of `gains`.
    name : str, optional
        Identifies the law, so that its compiled code is found again; see `Dynamics.kernel`.

    """

    def __init__(self, plant: Plant, law: Callable, gains: int, name: str | None = None):
        self.plant, self._law, self._gains = plant, law, gains
        nv, nb, options = plant.nv, plant.model.nb, plant.options
        self._sizes = nv, state_size(nv) - 1, constants_size(nv), 10 * nb

        def step(tree, runtime, state, constants, inputs):
            return self._step(tree, runtime, state, constants, inputs, options)

        self._run = plant.dynamics.rollout(
            step, state_size(nv) + 3 * nv, constants_size(nv) + 10 * nb + gains, 5 * nv, nv,
            name and f'closed_loop|{options}|{gains}|{name}')

    def _step(self, tree, runtime, state, constants, inputs, options):
        n, size, joints_end, inertias = self._sizes
        phi = constants[joints_end:joints_end + inertias]
        reference, noise = inputs[:3 * n], inputs[3 * n:]
        # the law, on what is measured
        q = [state[i] + noise[i] for i in range(n)]
        qd = [state[n + i] + noise[n + i] for i in range(n)]
        torque = self._law(tree, runtime, q, qd, reference, constants[joints_end + inertias:])
        # the plant; payloads are part of its inertias
        own = tree.with_parameters(phi).without_payloads()
        after = plant_step(own, runtime, [*state[:size], state[-1]], torque, [0.0] * n,
                           constants[:joints_end], **options)
        good = after[-1]
        kept = [state[size + k * n:size + (k + 1) * n] for k in range(3)]
        error = [state[i] - reference[i] for i in range(n)]
        found = ([kept[_SQUARES][i] + error[i] * error[i] for i in range(n)],
                 [maximum(kept[_PEAK_ERROR][i], absolute(error[i])) for i in range(n)],
                 [maximum(kept[_PEAK_TORQUE][i], absolute(torque[i])) for i in range(n)])
        return [*after[:-1], *(select(good, new, old) for news, olds in zip(found, kept)
                               for new, old in zip(news, olds)), good]

    def run(self, reference: ArrayLike, gains: ArrayLike, spread: Spread, seed: int,
            numbers: range, threads: int = 1) -> Outcome:
        """
        Simulate some of the runs for a seed.

        Parameters
        ----------
        reference : (T, 3 nv) array_like
            Position, velocity and acceleration asked for at each step.
        gains : (k,) array_like
            What the law gets.
        spread : Spread
            How the arms differ.
        seed : int
            Together with the number of a run it decides about its arm.
        numbers : range
            Of the runs.
        threads : int
            How many threads share them.

        """
        n, size, joints_end, inertias = self._sizes
        reference, gains = np.asarray(reference, dtype=float), np.asarray(gains, dtype=float)
        for name, array, shape in (('reference', reference, (len(reference), 3 * n)),
                                   ('gains', gains, (self._gains,))):
            if array.shape != shape:
                raise ArgumentError(f'{name} must have shape {shape}, got {array.shape}')
        if not len(numbers):
            raise ArgumentError('there must be at least one run')
        samples = [draw(self.plant, spread, seed, number) for number in numbers]
        state = np.zeros((len(samples), size + 3 * n + 1))
        state[:, :n] = reference[0, :n] + [each.start for each in samples]
        state[:, n:2 * n], state[:, -1] = reference[0, n:2 * n], 1.0
        constants = np.array([np.concatenate([
            self._joints(each.friction), each.parameters.ravel(), gains]) for each in samples])
        noisy = spread.position_noise or spread.velocity_noise
        inputs = np.zeros((len(samples) if noisy else 1, len(reference), 5 * n))
        inputs[..., :3 * n] = reference
        for row, each in zip(inputs, samples) if noisy else ():
            noise = each.noise.standard_normal((len(reference), 2, n))
            noise *= np.array([[spread.position_noise], [spread.velocity_noise]])
            row[:, 3 * n:] = noise.reshape(len(reference), 2 * n)
        state, _ = self._run(state, constants, inputs[0] if len(inputs) == 1 else inputs,
                             every=len(reference), threads=threads)
        kept = state[:, size:-1].reshape(-1, 3, n)
        return Outcome(np.sqrt(kept[:, _SQUARES] / len(reference)), kept[:, _PEAK_ERROR],
                       kept[:, _PEAK_TORQUE], state[:, :n], state[:, -1] != 0.0)

    def _joints(self, friction: NDArray) -> NDArray:
        """Return the constants of the plant with other friction."""
        rows = self.plant.constants[:-1].reshape(-1, self.plant.nv).copy()
        for k, name in enumerate(Constants._fields):
            if name in ('damping', 'friction', 'stiction', 'bristle_stiffness'):
                rows[k] *= friction
        return np.append(rows, self.plant.constants[-1])
