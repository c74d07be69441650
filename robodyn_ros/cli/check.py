"""
Check an arm before it moves: defects of its URDF, its motors, and its payload.

Lists all defects of the URDF at once, the poses in which gravity exceeds the effort limits, the
largest payload, and the cost of the control law on this machine. With --live it also checks the
running arm: joint states, effort controller, and other nodes that publish commands.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import sys

from robodyn_ros.cli.options import (
    add_enclave_argument, add_namespace_argument, add_robot_arguments, between, robot_of,
    whole_number)
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.inspection.check import document
from robodyn_ros.inspection.finding import Finding, lines, NOTE, stops
from robodyn_ros.inspection.loop import draw, LoopCost, measure
from robodyn_ros.inspection.motors import findings as findings_of_motors, limits_table, Motors
from robodyn_ros.inspection.urdf import read, Reading
from robodyn_ros.picture import check_picture
from robodyn_ros.text import number

EXAMPLES = """examples:
  robodyn check arm.urdf
  robodyn check arm.urdf --tip link7 --lock finger_joint:0.02
  robodyn check arm.urdf --gravity 9.81 0 0          an arm on a wall
  robodyn check arm.urdf --live                      the running arm as well; needs ROS
  robodyn check arm.urdf --live --plot loop.png      measured loops, with their margins
  robodyn check arm.urdf --json > check.json

exit codes: 0 a start is possible, 1 a finding prevents it, 2 invalid arguments or input
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--poses', type=whole_number, default=10_000, metavar='N',
        help='number of random poses (default 10000)')
    add('--seed', type=int, default=0, help='seed of the poses (default 0)')
    add('--json', action='store_true', help='print one JSON document, and nothing else')
    live = parser.add_argument_group('the running arm')
    live.add_argument('--live', action='store_true', help='check the running arm; needs ROS')
    live.add_argument('--timeout', type=between(0.1, 600.0), default=10.0, metavar='SECONDS',
                      help='time to wait for joint states (default 10)')
    live.add_argument('--listen', type=between(0.1, 600.0), default=2.0, metavar='SECONDS',
                      help='time of recording (default 2)')
    live.add_argument('--joint-states', default='joint_states', metavar='TOPIC',
                      help='default joint_states')
    live.add_argument('--commands', default='effort_controller/commands', metavar='TOPIC',
                      help='default effort_controller/commands')
    add_namespace_argument(live)
    add_enclave_argument(live)
    live.add_argument('--plot', type=Path, metavar='FILE',
                      help='picture of the measured loops: gain and phase over frequency')
    live.add_argument('--driver-compensates-gravity', action='store_true',
                      help='the reported efforts may lack the gravity torque')


def run(options: argparse.Namespace) -> int:
    """Check the arm; return 0, or 1 if a finding prevents a start."""
    if options.plot is not None:
        if not options.live:
            raise ParameterError('--plot shows the loops of the running arm: add --live')
        check_picture(options.plot)
    steps = Steps(sys.stderr if options.json else sys.stdout)
    robot = robot_of(options)
    with steps('read the URDF') as step:
        reading = read(robot)
        step.result = _summary(reading)
    motors = cost = live = None
    found = list(reading.findings)
    if reading.model is not None:
        dynamics = Dynamics(reading.model)
        motors, cost = _examine(dynamics, options, steps)
        found += [*findings_of_motors(reading.model, motors), _cost_finding(cost)]
        if options.live:
            live = _check_live(dynamics, options, steps)
            found += live.findings
    if options.json:
        print(json.dumps(document(robot, reading, found, motors, cost, live), indent=2))
    else:
        _print(reading, motors, found, steps)
    return 1 if stops(found) else 0


def _examine(dynamics: Dynamics, options: argparse.Namespace,
             steps: Steps) -> tuple[Motors, LoopCost]:
    with steps(f'gravity torques in {options.poses} poses') as step:
        motors = Motors.examine(dynamics, options.tip or dynamics.model.tip, options.poses,
                                options.seed, steps.tick)
        over = motors.gravity.over_any
        step.result = f'over the limits in {100.0 * over:.3g} %' if over else ''
    with steps('time the control law') as step:
        cost = measure(dynamics)
        step.result = f'{number(cost.microseconds)} us'
    return motors, cost


def _check_live(dynamics: Dynamics, options: argparse.Namespace, steps: Steps):
    from robodyn_ros.client.live_check import observe  # needs ROS
    from robodyn_ros.inspection.live import judge

    with steps(f'record the arm for {options.listen:g} s') as step:
        seen = observe(options.joint_states, options.commands, options.timeout, options.listen,
                       steps.tick, options.enclave, options.namespace)
        step.result = f'{len(seen.messages)} joint states'
    if options.plot is not None:
        if not seen.loops:
            raise StateError('no controller has measured its loop: it does after its activation, '
                             'in the first hold, with measure_loop: true')
        draw(options.plot, seen.loops)
        steps.write_line(f'written: {options.plot}')
    return judge(dynamics, seen, options.driver_compensates_gravity)


def _summary(reading: Reading) -> str:
    if reading.model is None:
        count = len(reading.findings)
        return f'{count} defect{"s" * (count > 1)}'
    moving = sum(role == 'moves' for role in reading.roles.values())
    model = reading.model
    return (f'{model.name}, {moving} of {len(reading.roles)} joints move '
            f'{model.mass.sum():.3g} of {model.total_mass:.3g} kg')


def _cost_finding(cost: LoopCost) -> Finding:
    return Finding(NOTE, 'loop', (
        f'{cost.what}: {number(cost.microseconds)} us per call on this machine, '
        f'{number(0.1 * cost.microseconds)} % of a core at 1 kHz, ready after '
        f'{number(1e3 * cost.ready)} ms; ROS messages take hundreds of microseconds more'))


def _print(reading: Reading, motors: Motors | None, found: list[Finding], steps: Steps) -> None:
    if motors is not None and reading.model is not None:
        for line in ('', *limits_table(reading.model, motors)):
            steps.write_line(line)
    for line in ('', *lines(found), ''):
        steps.write_line(line)
    count = stops(found)
    steps.write_line('no finding prevents a start' if not count else
                     '1 finding prevents a start' if count == 1 else
                     f'{count} findings prevent a start')
