"""
Simulate many arms that differ from their model, under the computed-torque law.

Masses, centres of mass, friction, sensor noise and the place to start from are drawn anew for each
run; the law believes in the URDF. Law and plant are one compiled loop: a thousand runs of two
seconds take about one. The result depends on the seed alone, not on what shares the work.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
import multiprocessing
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from robodyn_ros.cli.motion import Motion, plan_motion
from robodyn_ros.cli.places import check_place
from robodyn_ros.cli.progress import Steps
from robodyn_ros.cli.report import number, table
from robodyn_ros.cli.robot import (
    add_motion_arguments, add_robot_arguments, between, Robot, whole_number)
from robodyn_ros.control import make_gains, Term
from robodyn_ros.control.law import arguments, MODEL_GAINS, tracking_terms
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.simulation import ClosedLoop, Plant, Spread
from robodyn_ros.simulation.closed_loop import Outcome

EXAMPLES = """examples:
  robodyn montecarlo
  robodyn montecarlo --urdf arm.urdf --runs 10000 --mass 0.1 --workers 4
  robodyn montecarlo --position-noise 1e-4 --velocity-noise 0.01 --save runs.npz
  robodyn montecarlo --runs 100000 --scheduler tcp://cluster:8786
"""
_PART = 100  # runs that are simulated at once
_LAW = TRACKING['computed_torque']
_GAINS = (*_LAW.gains, *MODEL_GAINS)


@dataclass(frozen=True)
class Job:
    """
    All that a worker needs to know.

    Attributes
    ----------
    robot : Robot
    duration, speed : float
        Of the motion, see `plan_motion`.
    rate : float
        Steps per second.
    stiffness : float
        Natural frequency of the error, rad/s.
    spread : Spread
    seed : int

    """

    robot: Robot
    duration: float
    speed: float
    rate: float
    stiffness: float
    spread: Spread
    seed: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--runs', type=whole_number, default=1000, help='how many (default 1000)')
    add('--seed', type=int, default=0, help='of all that is drawn (default 0)')
    for name, unit in (('mass', 'part of the mass of each link'),
                       ('com', 'm, of each centre of mass'),
                       ('friction', 'part of the friction of each joint'),
                       ('position-noise', 'rad or m, of what is measured'),
                       ('velocity-noise', 'rad/s or m/s, of what is measured'),
                       ('start', 'rad or m, of where the arm starts')):
        default = getattr(Spread, name.replace('-', '_'))
        add(f'--{name}', type=between(0.0, 10.0), default=default, metavar='SPREAD',
            help=f'standard deviation: {unit} (default {default:g})')
    add_motion_arguments(parser)
    add('--rate', type=between(50.0, 4000.0), default=1000.0, metavar='HZ',
        help='of law and simulation (default 1000)')
    add('--stiffness', type=between(0.1, 500.0), default=40.0, metavar='RAD/S',
        help='natural frequency of the error (default 40)')
    add('--workers', type=whole_number, default=1, metavar='N', help='processes (default 1)')
    add('--scheduler', metavar='ADDRESS', help='of a Dask scheduler, whose workers have this '
        'package and can read the URDF')
    add('--save', type=Path, metavar='FILE', help='write the figures of all runs as .npz')


def run(options: argparse.Namespace) -> int:
    """Run the study; return 0, or 1 if a run diverged."""
    if options.scheduler and options.workers > 1:
        raise ParameterError('--scheduler has workers of its own: leave --workers out')
    if options.save:
        options.save = options.save.with_suffix('.npz')
        check_place(options.save)
    steps = Steps()
    spread = Spread(options.mass, options.com, options.friction, options.position_noise,
                    options.velocity_noise, options.start)
    job = Job(Robot.from_options(options), options.duration, options.speed, options.rate,
              options.stiffness, spread, options.seed)
    with steps('load the robot, plan, compile') as step:
        study = prepare(job)
        model = study.loop.plant.model
        step.result = f'{model.name}, {model.nv} joints, {study.motion.duration:.1f} s of motion'
    with steps(f'simulate {options.runs} runs') as step:
        parts = []
        for part in simulate(job, options.runs, options.workers, options.scheduler):
            parts.append(part)
            steps.tick(f'{sum(len(each.good) for each in parts)} of {options.runs}')
        outcome = Outcome(*map(np.concatenate, zip(*parts)))
        step.result = f'{len(study.reference) * options.runs:,} steps'
    for line in ('', *report(model, outcome)):
        steps.say(line)
    if options.save:
        np.savez_compressed(options.save, joint_names=np.array(model.joint_names),
                            **outcome._asdict())
        steps.say(f'written: {options.save}')
    return 0 if outcome.good.all() else 1


@dataclass(frozen=True, eq=False)
class Study:
    """What is the same for all runs: the motion, the loop, and what it is given."""

    motion: Motion
    loop: ClosedLoop
    reference: np.ndarray
    constants: np.ndarray


@lru_cache(maxsize=1)
def prepare(job: Job) -> Study:
    """Return the study of a job; once in each process."""
    plant = Plant(job.robot.load(), 1.0 / job.rate)
    motion = plan_motion(plant.dynamics, job.duration, job.speed)
    trajectory, rows = motion.trajectory(), []
    for k in range(round(motion.duration * job.rate)):
        at = trajectory.sample(motion.times[0] + k / job.rate)
        rows.append(np.concatenate([at.q, at.qd, at.qdd]))
    gains = make_gains(plant.dynamics, natural_frequency=job.stiffness)
    constants = np.concatenate([*gains.arrays(_GAINS), plant.joints.effort_limit])
    return Study(motion, ClosedLoop(plant, law, len(constants), 'montecarlo'), np.array(rows),
                 constants)


def law(tree, runtime, q, qd, reference, constants):
    """Return the torques of the controller's own computed-torque law."""
    n = tree.nv
    x = SimpleNamespace(**dict.fromkeys(arguments(_LAW), [0.0] * n))
    vars(x).update(q=q, qd=qd, authority=[1.0])
    for k, name in enumerate(('q_ref', 'qd_ref', 'qdd_ref')):
        setattr(x, name, reference[k * n:(k + 1) * n])
    for k, name in enumerate((*_GAINS, 'limit')):
        setattr(x, name, constants[k * n:(k + 1) * n])
    return tracking_terms(_LAW, tree, runtime, x)[Term.TOTAL]


def simulate(job: Job, runs: int, workers: int, scheduler: str | None) -> Iterator[Outcome]:
    """Yield the outcomes of all runs, in order, wherever they are simulated."""
    parts = [range(begin, min(begin + _PART, runs)) for begin in range(0, runs, _PART)]
    jobs = [job] * len(parts)
    if scheduler:
        with _dask_client(scheduler) as client:
            for future in client.map(simulate_part, jobs, parts, pure=False):
                yield future.result()
    elif workers > 1:
        context = multiprocessing.get_context('spawn')
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            yield from pool.map(simulate_part, jobs, parts)
    else:
        yield from map(simulate_part, jobs, parts)


def simulate_part(job: Job, numbers: range) -> Outcome:
    """Return the outcome of some runs."""
    study = prepare(job)
    return study.loop.run(study.reference, study.constants, job.spread, job.seed, numbers)


def _dask_client(scheduler: str):
    try:
        from distributed import Client
    except ImportError as error:
        raise RobodynError('--scheduler needs Dask: pip install "dask[distributed]"') from error
    try:
        return Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise RobodynError(f'no Dask scheduler answers at {scheduler}: {error}') from error


def report(model, outcome: Outcome) -> list[str]:
    """Return the table of the joints, and what became of the runs."""
    columns = [*np.percentile(1e3 * outcome.rms[outcome.good], (50, 95, 100), axis=0),
               *np.percentile(1e3 * outcome.peak[outcome.good], (50, 100), axis=0),
               100.0 * outcome.torque[outcome.good].max(axis=0) / model.effort_limit
               ] if outcome.good.any() else [np.full(model.nv, np.nan)] * 6
    rows = [(name, *(number(column[j]) for column in columns))
            for j, name in enumerate(model.joint_names)]
    rms, peak = 'RMS error (mrad, mm)', 'largest (mrad, mm)'
    lines = table(('joint', 'median', '95 %', 'worst', 'median', 'worst', '% used'), rows,
                  ('', rms, rms, rms, peak, peak, 'torque'))
    bad = np.flatnonzero(~outcome.good)
    lines += ['', f'{outcome.good.sum()} of {len(outcome.good)} runs came to their end']
    if len(bad):
        lines.append(f'diverged: runs {", ".join(map(str, bad[:10]))}'
                     + (', ...' if len(bad) > 10 else ''))
    return lines
