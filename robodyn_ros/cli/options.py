"""Options that several commands share, and their values."""

from __future__ import annotations

import argparse
from pathlib import Path
import shlex
import shutil
import sys

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model.robot import EARTH, Robot
from robodyn_ros.share import share_path


def add_robot_arguments(parser: argparse.ArgumentParser,
                        default: str = 'the seven-joint arm of the package') -> None:
    """Declare the options that select a robot; `default` describes the one without them."""
    add = parser.add_argument
    add('path', type=Path, nargs='?', metavar='URDF', help=f'the arm; default {default}')
    add('--urdf', type=Path, metavar='URDF', help='the same')
    add('--base', default='', metavar='LINK', help='link that is the fixed base')
    add('--tip', default='', metavar='LINK', help='link at the end of the moving chain')
    add('--lock', action='append', default=[], metavar='JOINT:POSITION',
        help='lock a joint; may be repeated')
    add('--gravity', type=finite, nargs=3, default=EARTH, metavar=('X', 'Y', 'Z'),
        help='m/s^2, in the frame of the base (default 0 0 -9.81)')


def robot_of(options: argparse.Namespace) -> Robot:
    """Return the robot that the options select; raise `ParameterError` if two URDFs are given."""
    if options.urdf and options.path:
        raise ParameterError(f'two URDFs are given, {options.path} and --urdf {options.urdf}: '
                             'leave one out')
    return Robot(options.urdf or options.path or share_path('urdf', 'robodyn7.urdf'),
                 options.base, options.tip, tuple(options.lock), tuple(options.gravity))


def add_motion_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the motion, see `motion.plan_motion`."""
    add = parser.add_argument
    add('--duration', type=between(0.5, 10.0), default=2.0, metavar='SECONDS',
        help='duration of the motion; longer if the motors are weak (default 2)')
    add('--speed', type=between(0.01, 1.0), default=0.6, metavar='PART',
        help='part of the velocity limits to reach (default 0.6)')


def add_range_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the option."""
    parser.add_argument(
        '--range', action='append', default=[], metavar='JOINT:LOWER:UPPER', dest='ranges',
        help='move this joint only between these positions, in rad or m; may be repeated')


def add_namespace_argument(parser: argparse._ActionsContainer) -> None:
    """Declare the option for the namespace of the arm."""
    parser.add_argument('--namespace', default='', metavar='NAME',
                        help='namespace of the arm: of its driver and its controller')


def add_enclave_argument(parser: argparse._ActionsContainer) -> None:
    """Declare the option for the SROS 2 enclave of this process."""
    parser.add_argument('--enclave', default='', metavar='NAME',
                        help='SROS 2 enclave with the keys and permissions, such as /operator')


def add_consent_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a command that moves an arm."""
    parser.add_argument('--yes', action='store_true', help='do not ask before the arm moves; only '
                        'with --at-the-stop, or on a simulated arm')
    parser.add_argument('--at-the-stop', action='store_true', help='with --yes: somebody watches '
                        'the arm, with a hand on its emergency stop')


def check_consent(options: argparse.Namespace, simulated: bool = False) -> None:
    """Raise `ParameterError` if nobody is asked and nobody watches, unless it is simulated."""
    if options.yes and not (options.at_the_stop or simulated):
        raise ParameterError(
            '--yes moves an arm without asking: add --at-the-stop if somebody watches it with a '
            'hand on its emergency stop, or leave out --yes')


def add_gravity_argument(parser: argparse.ArgumentParser, default: str) -> None:
    """Declare the option for who compensates gravity; `default` describes what is without it."""
    parser.add_argument(
        '--driver-compensates-gravity', nargs='?', const='yes', choices=('yes', 'no'),
        help='whether the driver adds the gravity torque itself (Franka, KUKA FRI, UR, YAM); '
        + default)


def finite(text: str) -> float:
    """Return the finite number in the text of an option."""
    return between(-1e30, 1e30)(text)


def whole_number(text: str) -> int:
    """Return the positive integer in the text of an option."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f'{text!r} must be a whole number above 0')
    return value


def between(low: float, high: float):
    """Return a parser of numbers in a range, for an option."""
    def number_in_range(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float('nan')
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f'{text!r} must be a number from {low:g} to {high:g}')
        return value
    return number_in_range


def next_line(path: Path, namespace: str = '', joint_states: str = 'joint_states') -> str:
    """Return the command that starts the controller with a file of parameters."""
    name = shlex.quote(str(path))
    if shutil.which('ros2'):
        return ('ros2 launch robodyn_ros controller.launch.py params_file:=' + name
                + (f' namespace:={namespace}' if namespace else '')
                + (f' joint_states:={joint_states}' if joint_states != 'joint_states' else ''))
    # the wheels of ROS contain no `ros2 launch`
    node = shlex.quote(str(Path(sys.executable).parent / 'controller'))
    space = '/' + namespace.strip('/')
    return (f'{node} --ros-args --params-file {name}'
            + (f' -r __ns:={space}' if namespace else '')
            + (f' -r joint_states:={joint_states}' if joint_states != 'joint_states' else ''))
