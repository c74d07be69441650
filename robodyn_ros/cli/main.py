"""The `robodyn` command: finds the sub-command, and turns a user's mistake into one message."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import os
from pathlib import Path
import sys
from types import ModuleType

from robodyn_ros import __version__
from robodyn_ros.exceptions import RobodynError

SUCCESS, FAILURE, USER_MISTAKE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
# name: what it does. Each has a folder, with `add_arguments(parser)` and `run(options) -> int` in
# its command.py.
COMMANDS = {
    'check': 'preflight of an arm: what is wrong with its URDF, or with the running one',
    'explain': 'mass matrix, torque term by term and ellipsoids of a state',
    'bench': 'how fast the dynamics of an arm are on this machine',
    'export': 'dynamics and control cycle of an arm in C, or as object files',
    'demo': 'a simulated arm that floats and tracks, under the real controller',
    'view': 'a running arm in the browser, and a hand to push a simulated one',
    'campaign': 'every fault that an arm may suffer, many times, and what becomes of it',
    'montecarlo': 'many simulated arms that differ from their model',
    'excite': 'plan a motion that tells much about an arm',
    'identify': 'find friction, inertia and payload in a recording',
}
_EPILOG = """examples:
  robodyn check arm.urdf               what is wrong with your arm, and what it can carry
  robodyn demo                         the arm that comes with the package
  robodyn demo --urdf arm.urdf         your own arm
  robodyn COMMAND --help               what a command can do, with examples

exit codes: 0 done, 1 a criterion failed or a defect, 2 a mistake in what was given
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options, unknown = make_parser(arguments).parse_known_args(arguments)
    if unknown:  # the parser of all commands would tell the usage of all commands
        options.parser.error('unrecognized arguments: ' + ' '.join(unknown))
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # as by `| head`: nobody wants to know the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (RobodynError, OSError, ImportError) as error:
        if options.debug or _is_ours(error):
            raise
        print(f'robodyn {options.command}: {_explained(error, options)}', file=sys.stderr)
        return USER_MISTAKE


def make_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser of all sub-commands, with the options of the one that is asked for."""
    parser = argparse.ArgumentParser(
        prog='robodyn', epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Rigid-body dynamics and torque control of an arm from its URDF.')
    parser.add_argument('--version', action='version', version=f'robodyn_ros {__version__}')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in arguments:  # the others would only take time to import
            _fill(command, import_module(f'robodyn_ros.cli.{name}.command'))
    return parser


def _fill(command: argparse.ArgumentParser, module: ModuleType) -> None:
    """Give the parser of a sub-command its options."""
    command.description, command.epilog = (module.__doc__ or '').strip(), module.EXAMPLES
    module.add_arguments(command)
    command.add_argument('--debug', action='store_true', help='show the stack trace of an error')
    command.set_defaults(run=module.run, parser=command)


def _is_ours(error: Exception) -> bool:
    """Return whether a failed import is a defect of this package."""
    name = getattr(error, 'name', None)
    return isinstance(error, ImportError) and str(name).startswith('robodyn_ros')


def _explained(error: Exception, options: argparse.Namespace) -> str:
    """Return the message of an error, with a remedy where it has none."""
    if isinstance(error, ImportError):
        missing = getattr(error, 'name', None) or 'a library'
        extra = _EXTRAS.get(missing.partition('.')[0])
        remedy = ('source a ROS 2 installation (`source /opt/ros/DISTRO/setup.bash`), or install '
                  "its wheels: pip install 'robodyn_ros[ros]'"
                  if missing.partition('.')[0] in _ROS or missing.endswith('_msgs')
                  else f"install it: pip install 'robodyn_ros[{extra}]'" if extra
                  else 'install it with pip')
        return f'{missing} cannot be imported ({error}): {remedy}'
    if isinstance(error, OSError) and error.filename is not None:
        return f'{_option_of(error.filename, options)}{error.filename}: {error.strerror}'
    return str(error) or type(error).__name__


def _option_of(filename: str | bytes | int, options: argparse.Namespace) -> str:
    """Return which option led to a file that cannot be written, and what to do about it."""
    for name, value in vars(options).items():
        option = f'--{name.replace("_", "-")}'
        # a folder that is missing may be above the one that was asked for
        if isinstance(value, Path) and isinstance(filename, str) and (
                _below(filename, value) or _below(value, filename)
                ) and option in options.parser.format_usage():
            return f'{option} {value}: choose a place that can be written; '
    return ''


def _below(path: str | Path, folder: str | Path) -> bool:
    return Path(path).absolute().is_relative_to(Path(folder).absolute())


_ROS = ('rclpy', 'std_srvs', 'rcl_interfaces', 'rpyutils', 'ament_index_python')
_EXTRAS = {'matplotlib': 'plot', 'rosbags': 'record', 'trimesh': 'view', 'viser': 'view'}


if __name__ == '__main__':
    sys.exit(main())
