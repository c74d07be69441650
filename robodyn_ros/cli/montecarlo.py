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
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from robodyn_ros.cli.options import add_robot_arguments, between, robot_of, whole_number
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.rollout import ENDINGS
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import check_writable
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo import Job, simulate, simulate_faults
from robodyn_ros.montecarlo.cases import Case, chosen, COMPILED
from robodyn_ros.montecarlo.results import as_json, lines, summaries
from robodyn_ros.montecarlo.study import GROUP, prepare
from robodyn_ros.montecarlo.tracking import DIVERGED, Figures, NOT_ENDED
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
_RUNS = 1000
_SHOWN = 5   # largest number of listed runs
# options of the job, and those that do not go with faults
_SPREAD = tuple(field.name for field in fields(Spread))
_SETTINGS = ('duration', 'speed', 'rate', 'law', 'stiffness', 'tolerance', 'goal_tolerance',
             'goal_time', 'collision')
_ALONE = {'position_noise', 'velocity_noise', 'start', 'duration', 'speed', 'rate',
          'goal_tolerance', 'goal_time'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--faults', nargs='*', metavar='FAULT', help='inject faults: those whose name begins with '
        'one of these, or all; * marks what does not go with it')
    add('--plants', action='store_true', help='with --faults: arms that no model describes, with '
        'states up to 40 ms late, elastic joints, encoders on either side, other rotors; their '
        'loops are measured before the motion, and they must be calm')
    add('--list', action='store_true', help='print the faults, and run none')
    add('--runs', type=whole_number, help=f'number of runs (default {_RUNS}; {GROUP} of each '
        'fault)')
    add('--seed', type=int, default=0, help='seed of all random values (default 0)')
    usual, faulty = Job(Robot(Path())), Job.with_faults(Robot(Path()))

    def number(name: str, low: float, high: float, unit: str, text: str) -> None:
        """Declare a number of the job; its default depends on `--faults`."""
        field = name.replace('-', '_')
        values = [getattr(job.spread if field in _SPREAD else job, field)
                  for job in (usual, faulty)]
        other = '' if values[0] == values[1] else f'; {values[1]:g} with --faults'
        add(f'--{name}', type=between(low, high), metavar=unit,
            help=f'* {text} (default {values[0]:g})' if field in _ALONE else
            f'{text} (default {values[0]:g}{other})')

    for name, text in (('mass', 'part of the mass of each link'),
                       ('com', 'm, of each centre of mass'),
                       ('friction', 'part of the friction of each joint'),
                       ('position-noise', 'rad or m, of measured positions'),
                       ('velocity-noise', 'rad/s or m/s, of measured velocities'),
                       ('start', 'rad or m, of start positions')):
        number(name, 0.0, 10.0, 'SPREAD', f'standard deviation: {text}')
    number('duration', 0.5, 10.0, 'SECONDS', 'duration of the motion; longer if the motors are '
           'weak')
    number('speed', 0.01, 1.0, 'PART', 'part of the velocity limits to reach')
    number('rate', 50.0, 4000.0, 'HZ', 'rate of control cycle and simulation')
    add('--law', choices=tuple(TRACKING), help=f'tracking law (default {usual.law})')
    number('stiffness', 0.1, 500.0, 'RAD/S', 'natural frequency of the error')
    number('tolerance', 0.0, 10.0, 'ERROR', 'error in rad or m that ends a run during the motion, '
           '0: none')
    number('goal-tolerance', 0.0, 10.0, 'ERROR', 'largest error in rad or m at the goal, 0: none')
    number('goal-time', 0.001, 10.0, 'SECONDS', 'time after the motion until the goal tolerance '
           'must be met')
    number('collision', 0.0, 1.0, 'PART', 'part of the effort limits above which external torque '
           'is a collision, 0: none')
    add('--workers', type=whole_number, default=1, metavar='N', help='processes (default 1)')
    add('--scheduler', metavar='ADDRESS', help='address of a Dask scheduler, whose workers have '
        'this package and can read the URDF')
    add('--output', type=Path, metavar='FILE', help='write the figures of all runs as .npz; those '
        'of the faults, and the seeds that failed, as .json')


def job_of(options: argparse.Namespace) -> Job:
    """
    Return the job of the options.

    Raises
    ------
    ParameterError
        Options do not go with each other, or the robot is not found.

    """
    given = {name: value for name in (*_SPREAD, *_SETTINGS)
             if (value := getattr(options, name)) is not None}
    robot = robot_of(options)
    if options.faults is None:
        if options.plants:
            raise ParameterError('--plants goes with --faults only')
        job = Job(robot, seed=options.seed)
    else:
        for name in given:
            if name in _ALONE:
                raise ParameterError(f'--{name.replace("_", "-")} does not go with --faults: '
                                     'motions, starts and sensors of these runs are drawn')
        if options.plants and 'stiffness' in given:
            raise ParameterError('--stiffness does not go with --plants: gains follow from the '
                                 'measured loops')
        job = Job.with_faults(robot, drawn=options.plants)
    spread = {name: given.pop(name) for name in _SPREAD if name in given}
    return replace(job, spread=replace(job.spread, **spread), **given)


def run(options: argparse.Namespace) -> int:
    """Run the study; return 0, or 1 if a run did not reach its goal or meet the criteria."""
    if options.scheduler and options.workers > 1:
        raise ParameterError('--scheduler has workers of its own: leave --workers out')
    cases, steps = chosen(COMPILED, options.faults or ()), Steps()
    if options.list:
        for case in cases:
            steps.write_line(f'{case.name:<26} {case.description}')
        return 0
    if options.output:
        options.output = options.output.with_suffix('.npz' if options.faults is None else '.json')
        check_writable(options.output)
    job = job_of(options)
    with steps('load the robot, plan, compile') as step:
        study = prepare(job)
        step.result = (f'{study.model.name}, {study.model.nv} joints, ' + (
            f'{len(study.motions)} motions' if job.faults else
            f'{study.motions[0].duration:.1f} s of motion'))
    run_all = _run_faults if job.faults else _run_motion
    good = run_all(options, job, study.model, steps, cases)
    if options.output:
        steps.write_line(f'written: {options.output}')
    return 0 if good else 1


def _run_motion(options, job: Job, model, steps: Steps, _cases) -> bool:
    """Simulate, report and write runs without faults; return whether all reached their goal."""
    runs = options.runs or _RUNS
    with steps(f'simulate {runs} runs') as step:
        found = []
        for part in simulate(job, runs, options.workers, options.scheduler):
            found.append(part)
            steps.tick(f'{sum(len(each.good) for each in found)} of {runs}')
        figures = Figures(*map(np.concatenate, zip(*found)))
        step.result = f'{figures.followed.sum() * job.rate:,.0f} steps of motion'
    for line in ('', *report(model, figures)):
        steps.write_line(line)
    if options.output:
        np.savez_compressed(options.output, joint_names=np.array(model.joint_names),
                            **figures._asdict())
    return bool(figures.good.all())


def _run_faults(options, job: Job, model, steps: Steps, cases: Sequence[Case]) -> bool:
    """Simulate, report and write runs with faults; return whether all criteria hold."""
    runs = options.runs or GROUP * len(cases)
    with steps(f'{runs} runs of {len(cases)} faults') as step:
        found, done = [], 0
        try:
            for each in simulate_faults(job, cases, runs, options.seed, options.workers,
                                        options.scheduler):
                found.append(each)
                done += each[0].failed.runs
                steps.tick(f'{done} of {runs}')
        except KeyboardInterrupt:
            if not found:
                raise
            steps.write_line('interrupted: results of what was done')
        step.result = f'{sum(made for _, made in found):,} steps of cycle and arm'
    summed = summaries(cases, [each for each, _ in found])
    for line in ('', *lines(summed)):
        steps.write_line(line)
    if options.output:
        options.output.write_text(as_json(summed, {
            'robot': model.name, 'first_seed': options.seed, 'runs': done}), encoding='utf-8')
    return not any(each.failed.events for each in summed)


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
