"""Replay of one run: step by step on floats, and in lockstep through the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.terms import Term
from robodyn_ros.montecarlo.plans import noise_of, Plan, plan_of
from robodyn_ros.montecarlo.runs import advance_requests, begun
from robodyn_ros.montecarlo.scenario import Scenario
from robodyn_ros.montecarlo.study import FaultStudy
from robodyn_ros.picture import colour, picture
from robodyn_ros.simulation.closed_loop import Runs
from robodyn_ros.simulation.fault_loop import CHUNK, Record


class Step(NamedTuple):
    """
    One step of a run.

    Attributes
    ----------
    number : int
        Number of the step; its state was measured at this time.
    runs : Runs
        The run before the step, one row.
    noise : (2 nv,) array
        Random numbers of the sensors.
    rows : list of (n, k) array
        Segments of the trajectories.
    memory : array
        Memory of the controller after the step.
    record : (r,) array
        Record of the step.

    """

    number: int
    runs: Runs
    noise: NDArray
    rows: list[NDArray]
    memory: NDArray
    record: NDArray


def steps_of(study: FaultStudy, plan: Plan, count: int, lockstep: bool = False) -> Iterator[Step]:
    """Yield the first `count` steps of a run in machine code, one by one."""
    loop = study.loop
    runs, rows = begun(study, [plan], lockstep)
    for chunk in range(len(runs.records), -(-count // CHUNK)):
        advance_requests(study, [plan], np.zeros(1, dtype=int), chunk, runs, rows)
        noise = np.broadcast_to(noise_of(study, [plan]), (1, CHUNK, 2 * study.plant.nv))
        for k in range(min(CHUNK, count - chunk * CHUNK)):
            before = runs._replace(programs=runs.programs.copy())
            runs = loop.single_step(runs, noise[:, k:k + 1], rows, chunk * CHUNK + k)
            yield Step(chunk * CHUNK + k + 1, before, noise[0, k], list(rows),
                       runs.memories[0].copy(), runs.state[0, :loop.recorded].copy())


def length_of(study: FaultStudy, plan: Plan) -> int:
    """Return the number of steps until motion and fault are over, and half a second more."""
    return int((plan.over + 0.5) / study.plant.step_size)


class Replay(NamedTuple):
    """
    A run, step by step.

    Attributes
    ----------
    record : Record
        Record of all steps.
    terms : (T, terms, nv) array
        Terms of the torque, see `Term`.
    reference : (T, nv) array
        Reference position.
    compared : int
        Number of steps that were computed in Python as well.
    difference : float
        Largest difference of their torques, relative to the effort limit.

    """

    record: Record
    terms: NDArray
    reference: NDArray
    compared: int
    difference: float


def replay(study: FaultStudy, run: Scenario, every: int = 1) -> Replay:
    """
    Return a run step by step, and compare steps with those computed in Python.

    every: one of so many steps is compared; each takes about a tenth of a second.
    """
    plan = plan_of(study, run)
    records: list[NDArray] = []
    terms, references, compared, worst = [], [], 0, 0.0
    nv = study.plant.nv
    for each in steps_of(study, plan, length_of(study, plan)):
        if every and each.number % every == 0:
            made = study.loop.step_on_floats(each.runs, each.noise, records or [each.record],
                                             each.rows)
            off = np.abs(made[:nv] - each.record[:nv]) / study.model.effort_limit
            worst, compared = max(worst, float(off.max())), compared + 1
        records.append(each.record)
        fields = study.controller.fields(each.memory)
        terms.append(fields['terms'].reshape(len(Term), nv))
        references.append(fields['motion.reference.q'])
    return Replay(study.loop.record_of(np.array(records)), np.array(terms), np.array(references),
                  compared, worst)


def draw_replay(path: Path, study: FaultStudy, run: Scenario, found: Replay) -> None:
    """Write a picture of a run: position error, velocity, and all terms of each joint."""
    plan, names = plan_of(study, run), study.model.joint_names
    time = study.plant.step_size * np.arange(1, len(found.terms) + 1)
    with picture(path, len(names), 2, figsize=(12.0, 2.4 * len(names)), sharex=True,
                 layout='constrained') as (figure, axes):
        figure.suptitle(f'seed {run.seed}: {run.case.name}')
        for j, (name, (left, right)) in enumerate(zip(names, np.reshape(axes, (-1, 2)))):
            left.plot(time, 1e3 * (found.record.q[:, j] - found.reference[:, j]), color=colour(0))
            left.set(ylabel=f'{name}\nerror (mrad)')
            for k, term in enumerate(Term):
                if np.abs(found.terms[:, k, j]).max(initial=0.0) > 0.0:
                    right.plot(time, found.terms[:, k, j], color=colour(k),
                               label=term.name.lower(), linewidth=1.0)
            right.set(ylabel='N m')
            for axis in (left, right):
                axis.axvspan(plan.begin, plan.begin + plan.lasts, color='#dddddd')
        np.reshape(axes, (-1, 2))[0, 1].legend(fontsize=7, ncols=3)
        for axis in np.reshape(axes, (-1, 2))[-1]:
            axis.set(xlabel='s')
