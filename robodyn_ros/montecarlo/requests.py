"""Requests to the controller in the middle of a run, as changes of its program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.settings import Settings
from robodyn_ros.montecarlo.effects import InLoop, Loaded, Tilted
from robodyn_ros.montecarlo.scenario import Scenario
from robodyn_ros.montecarlo.study import FaultStudy, GROUP, LAWS
from robodyn_ros.simulation.fault_loop import CHUNK
from robodyn_ros.trajectory import Reference, Trajectory

# a new goal: part of the way from where the arm could stop to another start position,
_AWAY = (0.3, 0.2, 0.1, 0.0)
_STOPPING = 0.4  # s to there at the present velocity,
_MARGIN = 0.05   # rad or m from position limits; and s in which it is reached
_TIMES = (0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0)
_USABLE = 0.8    # part of velocity and effort limits that the motion may use
_SAMPLES = 24


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


def requests_of(study: FaultStudy, run: Scenario, begin: int, end: int) -> list[Request]:
    """
    Return the requests of a run.

    Parameters
    ----------
    study, run
        What the runs have in common, and this one.
    begin, end : int
        Chunks before which the fault begins and ends.

    """
    effect, controller = run.case.effect, study.controller

    def loads(runtime: NDArray) -> Callable:
        return lambda program, memory, rows: controller.load(program, runtime)

    if isinstance(effect, (Loaded, Tilted)) and effect.reported:
        usual = study.control.host.program.loads.target.copy()
        changed = usual.copy()
        if isinstance(effect, Tilted):
            changed[:3] += run.numbers['gravity']
        else:
            slot = list(study.control.dynamics.model.payload_bodies).index(study.model.nb - 1)
            changed[3 + 10 * slot:13 + 10 * slot] += run.numbers['load']
        return [Request(begin, loads(changed)), Request(end, loads(usual))]
    if not isinstance(effect, InLoop):
        return []
    changes = {
        'goal': lambda program, memory, rows: controller.follow(
            program, memory, lambda start: _path(start, *_new_goal(study, run)), rows),
        'law': lambda program, memory, rows: controller.change(
            program, _other_law(study, run), study.design_of(run.number)),
        'gains': lambda program, memory, rows: controller.change(
            program, _other_gains(study, run), study.design_of(run.number)),
        'stop': lambda program, memory, rows: controller.stop(program)}
    return [Request(begin, changes[effect.kind])] if effect.kind in changes else []


def chunks_of(study: FaultStudy, seconds: float) -> int:
    """Return a time in the motion in chunks, at least one."""
    return max(1, round(seconds / (CHUNK * study.plant.step_size)))


def goal_of(study: FaultStudy, run: Scenario) -> NDArray:
    """Return where the arm is to rest at the end."""
    return _new_goal(study, run)[0] if run.case.effect == InLoop('goal') else (
        run.motion.positions[-1])


@lru_cache(maxsize=GROUP)
def _new_goal(study: FaultStudy, run: Scenario) -> tuple[NDArray, float]:
    """
    Return a new goal that the arm can reach from the middle of its motion, and the time for it.

    As a planner does, other goals and times are tried until velocities and torques are feasible.
    """
    passed = chunks_of(study, run.draw.moment) * CHUNK * study.plant.step_size
    start, model = run.motion.trajectory().sample(passed), study.model
    stop = start.q + _STOPPING * start.qd
    found: list[tuple[float, int, NDArray, float]] = []
    for part in _AWAY:
        goal = np.clip(stop + part * (run.other.start - stop), model.lower + _MARGIN,
                       model.upper - _MARGIN)
        for lasts in _TIMES:
            found.append((_load(study, _path(start, goal, lasts), lasts), len(found), goal, lasts))
            if found[-1][0] < _USABLE:
                return goal, lasts
    return min(found)[2:]


def _path(start: Reference, goal: NDArray, lasts: float) -> Trajectory:
    still = np.zeros_like(goal)
    return Trajectory.from_points([lasts], [goal], [still], [still], start=start)


def _load(study: FaultStudy, path: Trajectory, lasts: float) -> float:
    """Return the largest ratio of velocities and torques to their limits on the way."""
    _, q, qd, qdd, _ = path.dense(lasts / (_SAMPLES - 1.5))
    model = study.model
    torque = (study.plant.dynamics.inverse_dynamics(q, qd, qdd) + study.plant.joints.armature * qdd
              + model.friction_torque(qd))
    outside = np.maximum(q - model.upper, model.lower - q).max() > 0.0
    return math.inf if outside else max(float(np.abs(qd / model.velocity_limit).max()),
                                        float(np.abs(torque / model.effort_limit).max()))


def _other_law(study: FaultStudy, run: Scenario) -> Settings:
    settings = study.control.settings
    others = [law for law in LAWS if law != settings.mode]
    return replace(settings, mode=others[run.draw.joints[0] % len(others)])


def _other_gains(study: FaultStudy, run: Scenario) -> Settings:
    settings = study.control.settings
    return replace(settings, natural_frequency=[
        run.draw.amount * each for each in settings.natural_frequency])
