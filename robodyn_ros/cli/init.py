"""
Write the parameters for the first launch of an arm, from its URDF.

The file selects the robot, names its joints in the order of the commands, and lists what is
missing or doubtful: rotors, and who compensates gravity. `robodyn commission` measures the rest.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robodyn_ros.cli.options import add_gravity_argument, add_robot_arguments, next_line, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.commissioning.first_parameters import first_parameters
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import check_writable

EXAMPLES = """examples:
  robodyn init arm.urdf
  robodyn init arm.urdf --driver-compensates-gravity no --output my_arm.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    parser.add_argument('--output', type=Path, default=Path('arm.yaml'), metavar='FILE',
                        help='parameters of the controller (default arm.yaml)')
    add_gravity_argument(parser, 'without it, the file asks')


def run(options: argparse.Namespace) -> int:
    """Write the file; return 0."""
    path, answer = options.output, options.driver_compensates_gravity
    if path.exists():
        raise ParameterError(f'{path} exists already: choose another one with --output',
                             path=str(path))
    text = first_parameters(robot_of(options), None if answer is None else answer == 'yes')
    check_writable(path)
    path.write_text(text, encoding='utf-8')
    out = Steps()
    for line in (*text.splitlines(), '', f'written: {path}', 'The next line to type:',
                 '  ' + next_line(path)):
        out.write_line(line)
    return 0
