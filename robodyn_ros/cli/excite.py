"""
Plan an excitation trajectory of an arm for `robodyn identify`.

Finite Fourier series of all joints at once, from rest to rest, within the limits of position,
velocity and torque, chosen for the smallest condition number of the base regressor.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robodyn_ros.cli.options import (
    add_consent_arguments, add_enclave_argument, add_namespace_argument, add_range_argument,
    add_robot_arguments, between, check_consent, robot_of)
from robodyn_ros.cli.terminal import agreed, Steps
from robodyn_ros.commissioning.ranges import restricted
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import check_writable
from robodyn_ros.identification.excitation import (
    Bounds, check, Excitation, Fourier, sampled, Search)
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.bag import check_bag, write_bag
from robodyn_ros.priority import LAST, set_priority
from robodyn_ros.text import number, table
from robodyn_ros.trajectory.message_text import trajectory_message

EXAMPLES = """examples:
  robodyn excite arm.urdf
  robodyn excite arm.urdf --duration 30 --velocity 0.4 --csv excitation.csv
  robodyn excite arm.urdf --send --bag run1        needs a running controller
  ros2 topic pub --once /computed_torque_controller/joint_trajectory \\
      trajectory_msgs/msg/JointTrajectory "$(cat excitation.yaml)"
"""
REFUSED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--duration', type=between(2.0, 600.0), default=20.0, metavar='SECONDS',
        help='duration of the motion (default 20)')
    add('--frequency', type=between(0.01, 10.0), default=0.1, metavar='HZ',
        help='frequency of the first harmonic (default 0.1)')
    add('--harmonics', type=int, choices=range(1, 21), default=5, metavar='N',
        help='number of harmonics (default 5)')
    for name, default in (('position', 0.9), ('velocity', 0.7), ('effort', 0.7)):
        add(f'--{name}', type=between(0.01, 1.0), default=default, metavar='PART',
            help=f'part of the {name} limits to use (default {default:g})')
    add_range_argument(parser)
    add('--acceleration', type=between(0.01, 1e6), default=np.inf, metavar='LIMIT',
        help='acceleration limit, rad/s^2 or m/s^2 (default: limited by the torque only)')
    add('--search', type=between(0.0, 3600.0), default=30.0, metavar='SECONDS',
        help='time of the search (default 30)')
    add('--seed', type=int, default=0, help='seed of the search (default 0)')
    add('--approach', type=between(0.5, 60.0), default=5.0, metavar='SECONDS',
        help='time of the motion to the first point (default 5)')
    add('--output', type=Path, default=Path('excitation.yaml'), metavar='FILE',
        help='JointTrajectory message as YAML (default excitation.yaml)')
    add('--csv', type=Path, metavar='FILE', help='also write a table, 100 rows per second')
    add('--send', action='store_true', help='send the motion to the running controller')
    add('--bag', type=Path, metavar='DIR', help='with --send: record a bag in this new folder')
    add_consent_arguments(parser)
    add_namespace_argument(parser)
    add_enclave_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Plan the motion, write it and, with `--send`, execute it; return 0, or `REFUSED`."""
    check_consent(options)
    if options.bag and not options.send:
        raise ParameterError('--bag records what --send sends: add --send')
    if options.bag:
        check_bag(options.bag)
    for path in (options.output, options.csv):
        check_writable(path)
    steps = Steps()
    with steps('load the robot') as step:
        model = restricted(robot_of(options).load(), options.ranges)
        dynamics = Dynamics(model)
        bounds = Bounds.of(dynamics, options.position, options.velocity, options.effort,
                           options.acceleration)
        search = Search(dynamics, bounds, options.duration, options.frequency, options.harmonics)
        step.result = f'{model.name}, {model.nv} joints'
    if options.send:
        set_priority(LAST)
        with steps('find the controller'), _sender(options, steps, model) as sender:
            sender.wait_for_controller()
    with steps('search') as step:
        found = search.best(options.seed, options.search,
                            tick=lambda value: steps.tick(f'condition number {value:.3g}'))
        step.result = f'condition number {found.before:.3g} to {found.after:.3g}'
    points = sampled(found.motion, options.approach)
    check(dynamics, points)
    for line in ('', *report(model, bounds, found)):
        steps.write_line(line)
    options.output.write_text(trajectory_message(model.joint_names, *points), encoding='utf-8')
    steps.write_line(f'written: {options.output}')
    if options.csv:
        _write_table(options.csv, model, found.motion)
        steps.write_line(f'written: {options.csv}')
    if not options.send:
        return 0
    lasts = options.approach + found.motion.duration
    if not options.yes and not agreed(f'The arm moves for {lasts:.0f} s, in the ranges above. Is '
                                      'its workspace free?'):
        steps.write_line('stopped')
        return REFUSED
    _send(options, steps, model, found.motion)
    return 0


def report(model: RobotModel, bounds: Bounds, found: Excitation) -> list[str]:
    """Return the table of the joints, and the condition numbers."""
    q, qd, qdd = found.motion.sample(np.linspace(0.0, found.motion.duration, 2000))
    with np.errstate(invalid='ignore'):
        used = 100.0 * np.abs(qd).max(axis=0) / model.velocity_limit
        torque = 100.0 * found.share * bounds.effort / model.effort_limit
    columns = (q.min(axis=0), q.max(axis=0), used, np.abs(qdd).max(axis=0), torque)
    rows = [(name, *(number(column[j]) for column in columns))
            for j, name in enumerate(model.joint_names)]
    heads = ('joint', 'from', 'to', 'velocity (%)', 'acceleration', 'torque (%)')
    return [*table(heads, rows), '',
            f'condition number of the base regressor: {found.before:.3g} for the best random '
            f'motion, {found.after:.3g} after optimization']


def _write_table(path: Path, model: RobotModel, motion: Fourier) -> None:
    times = np.linspace(0.0, motion.duration, int(100.0 * motion.duration) + 1)
    heads = ['time', *(f'{name}.{what}' for what in ('position', 'velocity', 'acceleration')
                       for name in model.joint_names)]
    np.savetxt(path, np.column_stack([times, *motion.sample(times)]), '%.9g', ',',
               header=','.join(heads), comments='')


def _sender(options: argparse.Namespace, steps: Steps, model: RobotModel):
    from robodyn_ros.client.sender import Sender  # needs ROS
    return Sender(model, bool(options.bag), steps.tick, options.enclave, options.namespace)


def _send(options: argparse.Namespace, steps: Steps, model: RobotModel, motion: Fourier) -> None:
    """Execute the motion with the running controller, and record it."""
    with _sender(options, steps, model) as sender:
        try:
            with steps('execute the motion') as step:
                shortfall = sender.execute(sampled(motion, options.approach))
                step.result = f'{motion.duration:g} s'
            if shortfall:
                steps.write_line(f'the arm does not meet its goal tolerance: {shortfall}')
        finally:
            if options.bag and sender.moved:
                with steps('write the bag') as step:
                    step.result = str(write_bag(options.bag, sender.recorded))
