"""
Simulate many arms with random deviations from their model, under the control cycle of a real arm.

Masses, centres of mass, friction, sensor noise and start position are random in each run; the
controller uses the model of the URDF. Control cycle and arm are one compiled loop: a thousand runs
of two seconds take about four. Tolerances and collisions end a run as they end a motion of a real
arm. The result depends on the seed only, not on the number of workers.

With --faults each run has a fault of states, commands, motors, loads or time as well, at a random
moment of a random motion, and written criteria for what the arm does then.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robodyn_ros.cli.options import (
    add_motion_arguments, add_robot_arguments, between, robot_of, whole_number)
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.rollout import ENDINGS
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import check_writable
from robodyn_ros.montecarlo import study
from robodyn_ros.montecarlo.cases import chosen, COMPILED
from robodyn_ros.montecarlo.distribution import distributed
from robodyn_ros.montecarlo.results import as_json, lines, parts_of, summaries, summarised
from robodyn_ros.montecarlo.scenario import seeds_of
from robodyn_ros.montecarlo.tracking import (
    DIVERGED, Figures, Job, NOT_ENDED, prepare, simulate_part)
from robodyn_ros.simulation import Spread
from robodyn_ros.text import number, paragraph, table

EXAMPLES = """examples:
  robodyn montecarlo
  robodyn montecarlo --urdf arm.urdf --runs 10000 --mass 0.1 --workers 4
  robodyn montecarlo --position-noise 1e-4 --velocity-noise 0.01 --output runs.npz
  robodyn montecarlo --law joint_impedance --tolerance 0.1 --collision 0.2
  robodyn montecarlo --runs 100000 --scheduler tcp://cluster:8786
  robodyn montecarlo --faults --urdf arm.urdf --output faults.json
  robodyn montecarlo --faults 'states lost' push --runs 10000 --workers 4
"""
_RUNS, _RUNS_OF_A_FAULT = 1000, 64
_PART = 100  # runs that are simulated together
_SHOWN = 5   # largest number of listed runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--faults', nargs='*', metavar='FAULT', help='inject faults: those whose name begins with '
        'one of these, or all')
    add('--list', action='store_true', help='print the faults, and run none')
    add('--runs', type=whole_number, help='number of runs (default 1000; 64 of each fault)')
    add('--seed', type=int, default=0, help='seed of all random values (default 0)')
    for name, unit in (('mass', 'part of the mass of each link'),
                       ('com', 'm, of each centre of mass'),
                       ('friction', 'part of the friction of each joint'),
                       ('position-noise', 'rad or m, of measured positions'),
                       ('velocity-noise', 'rad/s or m/s, of measured velocities'),
                       ('start', 'rad or m, of start positions')):
        default = getattr(Spread, name.replace('-', '_'))
        add(f'--{name}', type=between(0.0, 10.0), default=default, metavar='SPREAD',
            help=f'standard deviation: {unit} (default {default:g})')
    add_motion_arguments(parser)
    add('--rate', type=between(50.0, 4000.0), default=1000.0, metavar='HZ',
        help='rate of control cycle and simulation (default 1000)')
    add('--law', choices=tuple(TRACKING), default='computed_torque',
        help='tracking law (default computed_torque)')
    add('--stiffness', type=between(0.1, 500.0), default=40.0, metavar='RAD/S',
        help='natural frequency of the error (default 40)')
    add('--tolerance', type=between(0.0, 10.0), default=0.0, metavar='ERROR',
        help='error in rad or m that ends a run during the motion (default 0: none)')
    add('--goal-tolerance', type=between(0.0, 10.0), default=0.0, metavar='ERROR',
        help='largest error in rad or m at the goal (default 0: none)')
    add('--goal-time', type=between(0.001, 10.0), default=0.5, metavar='SECONDS',
        help='time after the motion until the goal tolerance must be met (default 0.5)')
    add('--collision', type=between(0.0, 1.0), default=0.0, metavar='PART', help='part of the '
        'effort limits above which external torque is a collision (default 0: none)')
    add('--workers', type=whole_number, default=1, metavar='N', help='processes (default 1)')
    add('--scheduler', metavar='ADDRESS', help='address of a Dask scheduler, whose workers have '
        'this package and can read the URDF')
    add('--output', type=Path, metavar='FILE', help='write the figures of all runs as .npz; those '
        'of the faults, and the seeds that failed, as .json')


def run(options: argparse.Namespace) -> int:
    """Run the study; return 0, or 1 if a run did not reach its goal."""
    if options.scheduler and options.workers > 1:
        raise ParameterError('--scheduler has workers of its own: leave --workers out')
    if options.output:
        options.output = options.output.with_suffix('.npz' if options.faults is None else '.json')
        check_writable(options.output)
    steps = Steps()
    if options.list:
        for case in chosen(COMPILED, options.faults or ()):
            steps.write_line(f'{case.name:<26} {case.description}')
        return 0
    if options.faults is not None:
        return run_faults(options, steps)
    spread = Spread(options.mass, options.com, options.friction, options.position_noise,
                    options.velocity_noise, options.start)
    job = Job(robot_of(options), options.duration, options.speed, options.rate,
              options.law, options.stiffness, options.tolerance, options.goal_tolerance,
              options.goal_time, options.collision, spread, options.seed)
    with steps('load the robot, plan, compile') as step:
        study = prepare(job)
        model = study.model
        step.result = f'{model.name}, {model.nv} joints, {study.motion.duration:.1f} s of motion'
    runs = options.runs or _RUNS
    with steps(f'simulate {runs} runs') as step:
        parts = []
        for part in simulate(job, runs, options.workers, options.scheduler):
            parts.append(part)
            steps.tick(f'{sum(len(each.good) for each in parts)} of {runs}')
        figures = Figures(*map(np.concatenate, zip(*parts)))
        step.result = f'{figures.followed.sum() * job.rate:,.0f} steps of motion'
    for line in ('', *report(model, figures)):
        steps.write_line(line)
    if options.output:
        np.savez_compressed(options.output, joint_names=np.array(model.joint_names),
                            **figures._asdict())
        steps.write_line(f'written: {options.output}')
    return 0 if figures.good.all() else 1


def run_faults(options: argparse.Namespace, steps: Steps) -> int:
    """Run the study with faults; return 0, or 1 if a criterion does not hold."""
    cases, robot = chosen(COMPILED, options.faults), robot_of(options)
    count = options.runs or _RUNS_OF_A_FAULT * len(cases)
    with steps('load the robot, plan motions, compile') as step:
        prepared = study.prepare(robot)
        step.result = f'{prepared.model.name}, {len(prepared.motions)} motions'
    parts = parts_of(seeds_of(cases, options.seed, count), len(cases))
    with steps(f'{count} runs of {len(cases)} faults') as step:
        found = []
        for each in distributed(summarised, (robot, False), parts, options.workers,
                                options.scheduler):
            found.append(each)
            steps.tick(f'{len(found)} of {len(parts)} parts')
        step.result = f'{sum(made for _, made in found):,} steps of cycle and arm'
    summed = summaries(cases, [each for each, _ in found])
    for line in ('', *lines(summed)):
        steps.write_line(line)
    if options.output:
        options.output.write_text(as_json(summed, {
            'robot': prepared.model.name, 'first_seed': options.seed, 'runs': count}),
            encoding='utf-8')
        steps.write_line(f'written: {options.output}')
    return 1 if any(each.failed.events for each in summed) else 0


def simulate(job: Job, runs: int, workers: int, scheduler: str | None) -> Iterator[Figures]:
    """Return the figures of all runs, in order; workers or a scheduler simulate them."""
    parts = [range(begin, min(begin + _PART, runs)) for begin in range(0, runs, _PART)]
    return distributed(simulate_part, job, parts, workers, scheduler)


def report(model, figures: Figures) -> list[str]:
    """Return the table of the joints, and the reasons why runs ended."""
    good = figures.good
    columns = [*np.percentile(1e3 * figures.rms[good], (50, 95, 100), axis=0),
               *np.percentile(1e3 * figures.peak[good], (50, 100), axis=0),
               100.0 * figures.torque[good].max(axis=0) / model.effort_limit,
               100.0 * figures.cut[good].max(axis=0)
               ] if good.any() else [np.full(model.nv, np.nan)] * 7
    rows = [(name, *(number(column[j]) for column in columns))
            for j, name in enumerate(model.joint_names)]
    rms, peak = 'RMS error (mrad, mm)', 'largest (mrad, mm)'
    lines = table(('joint', 'median', '95 %', 'worst', 'median', 'worst', '% used', '% of time'),
                  rows, ('', rms, rms, rms, peak, peak, 'torque', 'limited'))
    lines += ['', f'{good.sum()} of {len(good)} runs reached their goal']
    codes, counts = np.unique(figures.code[~good], return_counts=True)
    for code in codes[np.argsort(-counts, kind='stable')]:
        lines += _ended(model, figures, code)
    return lines


def _ended(model, figures: Figures, code: int) -> list[str]:
    """Return the lines about the runs that ended with a code."""
    runs = np.flatnonzero(figures.code == code)
    text = {DIVERGED: 'simulation diverged', NOT_ENDED: 'not at the goal in time',
            **ENDINGS}.get(code, f'code {code}')
    if code > 0:
        joints = Counter(model.joint_names[j] for j in figures.joint[runs]).most_common()
        text += f' ({", ".join(f"{name} {count}" for name, count in joints)})'
    shown = ', '.join(map(str, runs[:_SHOWN])) + (', ...' if len(runs) > _SHOWN else '')
    return paragraph(f'{len(runs):>6} ', f'{text}: run{"s" * (len(runs) > 1)} {shown}')
