"""
Simulate many arms with random deviations from their model, under the control cycle of a real arm.

Masses, centres of mass, friction, sensor noise and start position are random in each run; the
controller uses the model of the URDF. Control cycle and arm are one compiled loop: a thousand runs
of two seconds take about four. Tolerances and collisions end a run as they end a motion of a real
arm. The result depends on the seed only, not on the number of workers.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robodyn_ros.cli.montecarlo.study import (
    DIVERGED, Figures, Job, NOT_ENDED, prepare, simulate_part)
from robodyn_ros.cli.options import (
    add_motion_arguments, add_robot_arguments, between, robot_of, whole_number)
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.rollout import ENDINGS
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import check_writable
from robodyn_ros.simulation import Spread
from robodyn_ros.simulation.distribution import distributed
from robodyn_ros.text import number, paragraph, table

EXAMPLES = """examples:
  robodyn montecarlo
  robodyn montecarlo --urdf arm.urdf --runs 10000 --mass 0.1 --workers 4
  robodyn montecarlo --position-noise 1e-4 --velocity-noise 0.01 --output runs.npz
  robodyn montecarlo --law joint_impedance --tolerance 0.1 --collision 0.2
  robodyn montecarlo --runs 100000 --scheduler tcp://cluster:8786
"""
_PART = 100  # runs that are simulated together
_SHOWN = 5   # largest number of listed runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--runs', type=whole_number, default=1000, help='number of runs (default 1000)')
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
    add('--output', type=Path, metavar='FILE', help='write the figures of all runs as .npz')


def run(options: argparse.Namespace) -> int:
    """Run the study; return 0, or 1 if a run did not reach its goal."""
    if options.scheduler and options.workers > 1:
        raise ParameterError('--scheduler has workers of its own: leave --workers out')
    if options.output:
        options.output = options.output.with_suffix('.npz')
        check_writable(options.output)
    steps = Steps()
    spread = Spread(options.mass, options.com, options.friction, options.position_noise,
                    options.velocity_noise, options.start)
    job = Job(robot_of(options), options.duration, options.speed, options.rate,
              options.law, options.stiffness, options.tolerance, options.goal_tolerance,
              options.goal_time, options.collision, spread, options.seed)
    with steps('load the robot, plan, compile') as step:
        study = prepare(job)
        model = study.model
        step.result = f'{model.name}, {model.nv} joints, {study.motion.duration:.1f} s of motion'
    with steps(f'simulate {options.runs} runs') as step:
        parts = []
        for part in simulate(job, options.runs, options.workers, options.scheduler):
            parts.append(part)
            steps.tick(f'{sum(len(each.good) for each in parts)} of {options.runs}')
        figures = Figures(*map(np.concatenate, zip(*parts)))
        step.result = f'{figures.followed.sum() * job.rate:,.0f} steps of motion'
    for line in ('', *report(model, figures)):
        steps.write_line(line)
    if options.output:
        np.savez_compressed(options.output, joint_names=np.array(model.joint_names),
                            **figures._asdict())
        steps.write_line(f'written: {options.output}')
    return 0 if figures.good.all() else 1


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
