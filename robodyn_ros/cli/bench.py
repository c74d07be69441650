"""
Time the dynamics of an arm on this machine, in comparison with Pinocchio and MuJoCo.

All installed libraries compute the same quantities of the same rigid bodies in the same state,
which is checked first, and take short turns in one thread. Mimic joints are fixed, and friction is
left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from robodyn_ros.bench.cases import BATCH, batches_of, BenchRobot, calls_of, importable, plain
from robodyn_ros.cli.options import add_robot_arguments, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.inspection.timing import Budget, compare, OURS, Row
from robodyn_ros.model.robot import EARTH, Robot
from robodyn_ros.text import paragraph, table

EXAMPLES = """examples:
  robodyn bench
  robodyn bench arm.urdf
  robodyn bench arm.urdf --tip link7 --json
"""
_QUANTITIES = ('inverse dynamics', 'gravity', 'mass matrix', 'forward dynamics', 'Jacobian',
               'computed-torque law')
_CALL, _BATCH = 'call', 'batch'
_TITLES = {_CALL: 'one call from Python, microseconds; x: times ours',
           _BATCH: f'{BATCH:,} states, microseconds per state; others in a loop over the states'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    parser.add_argument('--json', action='store_true',
                        help='print one JSON document, and nothing else')


def run(options: argparse.Namespace) -> int:
    """Measure; return 0."""
    steps = Steps(sys.stderr if options.json else sys.stdout)
    robot = robot_of(options)
    selection = {**robot.selection(), 'gravity': robot.gravity}
    with steps('load the robot, compile, compare results') as step:
        name = robot.load().name
        bench = BenchRobot(name, plain(robot.urdf), **selection)
        peers, notes = _peers(bench, robot)
        cases = {_CALL: calls_of(bench, peers, _QUANTITIES),
                 _BATCH: batches_of(bench, peers, _QUANTITIES)}
        step.result = f'{name}, {bench.joints} joints'
    rows = []
    for group, quantities in cases.items():
        with steps(f'time each {group}'):
            for quantity, calls in quantities.items():
                steps.tick(quantity)
                rows += compare(group, name, bench.joints, quantity, calls, Budget())
    if options.json:
        print(json.dumps({'robot': name, 'joints': bench.joints, 'notes': notes,
                          'us': [row._asdict() for row in rows]}, indent=2))
    else:
        for line in _text(rows, notes):
            steps.write_line(line)
    return 0


def _peers(bench: BenchRobot, robot: Robot) -> tuple[list[Any], list[str]]:
    """Return the libraries to compare with, and notes about those left out."""
    if robot.base or robot.tip or robot.locked or robot.gravity != EARTH:
        return [], ['not compared with other libraries: they read the whole URDF, with standard '
                    'gravity; leave out --base, --tip, --lock and --gravity']
    found, missing = importable()
    notes = [f'not compared, because not installed: {", ".join(missing)}'] if missing else []
    peers = []
    peer: Any
    for peer in found:
        try:
            calls_of(bench, [peer], _QUANTITIES)
            peers.append(peer)
        except (RobodynError, ValueError, RuntimeError) as error:
            # each library rejects some URDFs that others accept
            notes.append(f'not compared with {peer.name}: {" ".join(str(error).split())}')
    return peers, notes


def _text(rows: list[Row], notes: list[str]) -> list[str]:
    libraries = list(dict.fromkeys(row.library for row in rows if row.library != OURS))
    heads = ['', f'{OURS} (quartiles)', *(head for name in libraries for head in (name, 'x'))]
    lines = []
    for group, title in _TITLES.items():
        found = {(row.quantity, row.library): row for row in rows if row.group == group}
        quantities = dict.fromkeys(quantity for quantity, _ in found)
        cells = [(quantity, _spread(found[quantity, OURS].time),
                  *(text for name in libraries for text in _pair(found.get((quantity, name)))))
                 for quantity in quantities]
        lines += ['', title, *table(heads, cells)]
    return [*lines, *(line for note in notes for line in ('', *paragraph('', note)))]


def _spread(quartiles: tuple[float, float, float]) -> str:
    low, middle, high = (f'{value:.3f}' for value in quartiles)
    return f'{middle} ({low}-{high})'


def _pair(row: Row | None) -> tuple[str, str]:
    return ('-', '-') if row is None else (f'{row.time[1]:.2f}', f'{row.ratio[1]:.1f}')
