"""Batches of simulated arms over many steps, with given torques."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.dynamics.rollout import Rollout
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.step import constants_size, plant_step, State, state_size


class RolloutResult(NamedTuple):
    """
    Result of a rollout.

    Attributes
    ----------
    q, qd, qdd, applied : (N, T // every, nv) array
        State and motor torque after every `every` steps.
    good : (N,) array of bool
        False where a run diverged; it stays in its last finite state.

    """

    q: NDArray
    qd: NDArray
    qdd: NDArray
    applied: NDArray
    good: NDArray


class PlantRollout:
    """
    Compiled simulation of many arms like one plant.

    Parameters
    ----------
    plant : Plant
        Plant whose model, step, integrator and joints are used; its state is not changed. Its
        external joint torques are constant during the rollout.

    """

    def __init__(self, plant: Plant):
        self.plant = plant
        self._nv = plant.nv
        self._compile()

    def _compile(self) -> None:
        plant, nv, options = self.plant, self._nv, self.plant.options
        self._options = options

        def step(tree, runtime, state, constants, torque):
            return plant_step(tree, runtime, state, torque, constants[-nv:], constants[:-nv],
                              **options)

        self._run: Rollout = plant.dynamics.rollout(
            step, (state_size(nv), constants_size(nv) + nv, nv), len(State._fields[:4]) * nv,
            f'plant_rollout|{options}')

    def __call__(self, torques: ArrayLike, q: ArrayLike | None = None,
                 qd: ArrayLike | None = None, every: int = 1, threads: int = 1) -> RolloutResult:
        """
        Simulate all arms over all steps.

        Parameters
        ----------
        torques : (T, nv) or (N, T, nv) array_like
            Commands of each step; one sequence for all arms, or one per arm.
        q, qd : (nv,) or (N, nv) array_like, optional
            Initial state; default the plant's.
        every : int
            Number of steps per record.
        threads : int
            Number of threads.

        Raises
        ------
        ArgumentError
            Wrong shape, or not finite; the message names the argument.

        """
        plant, nv = self.plant, self._nv
        if plant.options != self._options:  # its joints were changed
            self._compile()
        torques = np.asarray(torques, dtype=np.float64)
        q, qd = (np.asarray(own if given is None else given, dtype=np.float64)
                 for given, own in ((q, plant.q), (qd, plant.qd)))
        for name, values in (('torques', torques), ('q', q), ('qd', qd)):
            if not np.isfinite(values).all():
                raise ArgumentError(f'{name} must be finite', name=name)
            if values.shape[-1:] != (nv,):
                raise ArgumentError(f'{name} must end in {nv} numbers, one per joint; got shape '
                                    f'{values.shape}', name=name)
        counts = {len(x) for x, single in ((torques, 2), (q, 1), (qd, 1)) if x.ndim == single + 1}
        if len(counts) > 1:
            raise ArgumentError(f'torques, q and qd are for different numbers of arms: {counts}')
        state = np.zeros((counts.pop() if counts else 1, state_size(nv)))
        state[:, :nv], state[:, nv:2 * nv], state[:, -1] = q, qd, 1.0
        constants = np.concatenate([plant.constants, plant.external])
        state, records, _ = self._run(state, constants, torques, every, threads)
        rows = records.reshape(*records.shape[:2], 4, nv)
        q, qd, qdd, applied = (rows[:, :, k] for k in range(4))
        return RolloutResult(q, qd, qdd, applied, state[:, -1] != 0.0)
