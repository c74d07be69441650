"""
Print the equation of motion of a state, term by term: M, C, g and the terms of the torque.

    tau = M(q) qdd + C(q, qd) qd + g(q) + friction

Also the ellipsoids of the effective mass of a link, and of the torques for accelerations. Joints
are given all in order, or some by name as in `--q shoulder=0.3`; the others are 0, or at the
nearest limit.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys

import numpy as np

from robodyn_ros.cli.options import add_robot_arguments, finite, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.files import check_writable
from robodyn_ros.inspection.check import plain
from robodyn_ros.inspection.equation import beyond, Equation, text
from robodyn_ros.model import RobotModel
from robodyn_ros.model.units import joint_units

EXAMPLES = """examples:
  robodyn explain arm.urdf
  robodyn explain arm.urdf --q 0 0.5 0 -1 0 0.5 0 --qd 0 1 0 0 0 0 0
  robodyn explain arm.urdf --q elbow=-1.2 --qdd shoulder=2 --link tool0
  robodyn explain arm.urdf --q elbow=-1.2 --plot explained.png
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    for name, what in (('q', 'positions, rad or m'), ('qd', 'velocities, rad/s or m/s'),
                       ('qdd', 'accelerations, rad/s^2 or m/s^2')):
        add(f'--{name}', nargs='+', default=[], metavar='X',
            help=f'{what}: one number per joint, or joint=number')
    add('--link', default='', help='link of the effective mass (default the last one)')
    add('--plot', type=Path, metavar='FILE', help='draw a picture; needs matplotlib')
    add('--json', action='store_true', help='print one JSON document, and nothing else')


def run(options: argparse.Namespace) -> int:
    """Print the equation of a state; return 0."""
    steps = Steps(sys.stderr if options.json else sys.stdout)
    model = robot_of(options).load()
    link = options.link or options.tip or model.tip
    if link not in model.links:
        raise ParameterError(f'--link: the robot has no link {link!r}; '
                             + near_matches(link, model.links))
    check_writable(options.plot)
    rest = np.clip(0.0, model.lower, model.upper)
    state = [joint_numbers(model, option, getattr(options, option), default) for option, default
             in (('q', rest), ('qd', 0.0 * rest), ('qdd', 0.0 * rest))]
    equation = Equation.of(Dynamics(model), link, *state)
    if options.json:
        print(json.dumps(document(model, equation), indent=2))
    else:
        for line in text(model, equation):
            steps.write_line(line)
    if options.plot:
        from robodyn_ros.inspection.equation import plot  # needs matplotlib
        plot(model, equation, options.plot)
        steps.write_line(f'written: {options.plot}')
    return 0


def joint_numbers(model: RobotModel, option: str, given: Sequence[str],
                  default: np.ndarray) -> np.ndarray:
    """
    Return one number for each joint, from the arguments of an option.

    Raises
    ------
    ParameterError
        The count is wrong, a joint is unknown, or an argument is not a number.

    """
    numbers = np.array(default, dtype=float)
    pairs = [part.rpartition('=') for part in given]
    named = [joint for joint, _, _ in pairs if joint]
    if named and len(named) < len(given) or not named and len(given) not in (0, model.nv):
        raise ParameterError(
            f'--{option} has {len(given)} entries: give {model.nv} numbers, for '
            f'{", ".join(model.joint_names)}, or each as joint=number')
    for k, (joint, _, word) in enumerate(pairs):
        if joint and joint not in model.joint_names:
            raise ParameterError(f'--{option}: no joint {joint!r} moves; '
                                 + near_matches(joint, model.joint_names))
        if joint and named.count(joint) > 1:
            raise ParameterError(f'--{option} names {joint!r} twice: leave one out')
        try:
            numbers[model.joint_names.index(joint) if joint else k] = finite(word)
        except argparse.ArgumentTypeError as error:
            raise ParameterError(f'--{option}: {error}') from error
    return numbers


def document(model: RobotModel, equation: Equation) -> dict:
    """Return the equation as JSON types; infinite values are null."""
    return plain({
        'robot': model.name, 'joints': model.joint_names,
        'position_units': [unit for unit, _ in joint_units(model)],
        'effort_units': [unit for _, unit in joint_units(model)],
        'effort_limit': model.effort_limit, 'notes': beyond(model, equation),
        **equation.values()})
