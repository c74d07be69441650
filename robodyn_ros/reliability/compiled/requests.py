"""Requests to the controller in the middle of a run, as changes of its program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.settings import Settings
from robodyn_ros.reliability.compiled.scenario import Scenario
from robodyn_ros.reliability.compiled.study import LAWS, Study
from robodyn_ros.reliability.injections import InLoop, Loaded, Tilted
from robodyn_ros.trajectory import Reference, Trajectory

_SHORTEST = 1.0  # s to a new goal,
_PART = 0.25     # of the velocity limits, reached on the way from rest
_ATTEMPTS, _LONGER, _SAMPLES = 10, 1.3, 24
_USABLE = 0.6    # part of velocity and effort limits
_AWAY = 0.3      # part of the way from one start position to another


class Request(NamedTuple):
    """
    A request to the controller.

    Attributes
    ----------
    chunk : int
        Chunk before which it is made.
    make : callable
        `make(program, memory, rows)` changes a program; trajectories are added to `rows`, the
        table of all runs as a list.

    """

    chunk: int
    make: Callable[[NDArray, NDArray, list[NDArray]], None]


def followed(study: Study, program: NDArray, memory: NDArray, rows: list[NDArray],
             plan: Callable[[Reference], Trajectory]) -> None:
    """Request to follow a trajectory, unless there is a fault."""
    if study.controller.fault_code(memory):
        return
    trajectory = plan(study.controller.reference(memory))
    study.controller.follow(program, memory, trajectory, sum(map(len, rows)))
    rows.append(trajectory.table)


def requests_of(study: Study, run: Scenario, begin: int, end: int) -> list[Request]:
    """
    Return the requests of a run.

    Parameters
    ----------
    study, run
        What the runs have in common, and this one.
    begin, end : int
        Chunks before which the fault begins and ends.

    """
    inject, controller = run.case.inject, study.controller

    def loads(runtime: NDArray) -> Callable:
        return lambda program, memory, rows: controller.load(program, runtime)

    if isinstance(inject, (Loaded, Tilted)) and inject.reported:
        usual = study.control.host.program.loads.target.copy()
        changed = usual.copy()
        if isinstance(inject, Tilted):
            changed[:3] += run.numbers['gravity']
        else:
            slot = list(study.control.dynamics.model.payload_bodies).index(study.model.nb - 1)
            changed[3 + 10 * slot:13 + 10 * slot] += run.numbers['load']
        return [Request(begin, loads(changed)), Request(end, loads(usual))]
    if not isinstance(inject, InLoop):
        return []
    changes = {
        'goal': lambda program, memory, rows: followed(
            study, program, memory, rows, lambda start: _new_goal(study, run, start)),
        'law': lambda program, memory, rows: controller.change(program, _other_law(study, run)),
        'gains': lambda program, memory, rows: controller.change(
            program, _other_gains(study, run)),
        'stop': lambda program, memory, rows: controller.stop(program)}
    return [Request(begin, changes[inject.kind])] if inject.kind in changes else []


def goal_of(run: Scenario) -> NDArray:
    """Return where the arm is to rest at the end."""
    start, end = run.motion.start, run.motion.positions[-1]
    return (start + _AWAY * (run.other.start - start) if run.case.inject == InLoop('goal')
            else end)


def _new_goal(study: Study, run: Scenario, start: Reference) -> Trajectory:
    goal, still = goal_of(run), np.zeros(study.plant.nv)
    with np.errstate(divide='ignore', invalid='ignore'):
        shortest = np.nanmax(1.875 * np.abs(goal - start.q) / study.model.velocity_limit)
    lasts = max(_SHORTEST, float(shortest) / _PART)
    for _ in range(_ATTEMPTS):  # the nodes would refuse one that the motors cannot drive
        path = Trajectory.from_points([lasts], [goal], [still], [still], start=start)
        rows = [path.sample(t) for t in np.linspace(0.0, lasts, _SAMPLES)]
        q, qd, qdd = (np.array([getattr(row, name) for row in rows])
                      for name in ('q', 'qd', 'qdd'))
        torque = (study.plant.dynamics.inverse_dynamics(q, qd, qdd)
                  + study.plant.joints.armature * qdd + study.model.damping * qd
                  + study.model.friction * np.sign(qd))
        if max(np.abs(qd / study.model.velocity_limit).max(),
               np.abs(torque / study.model.effort_limit).max()) < _USABLE:
            break
        lasts *= _LONGER
    return path


def _other_law(study: Study, run: Scenario) -> Settings:
    settings = study.control.settings
    others = [law for law in LAWS if law != settings.mode]
    return replace(settings, mode=others[run.draw.joints[0] % len(others)])


def _other_gains(study: Study, run: Scenario) -> Settings:
    settings = study.control.settings
    return replace(settings, natural_frequency=[
        run.draw.amount * each for each in settings.natural_frequency])
