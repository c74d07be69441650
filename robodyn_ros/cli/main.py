"""The `robodyn` command: finds the sub-command, and turns a user's mistake into one message."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module, metadata
import sys

from robodyn_ros.exceptions import RobodynError

SUCCESS, FAILURE, USER_MISTAKE, INTERRUPTED = 0, 1, 2, 130
# name: what it does. Each is a module here with `add_arguments(parser)` and `run(options) -> int`.
COMMANDS = {
    'demo': 'a simulated arm that floats and tracks, under the real controller',
    'montecarlo': 'many simulated arms that differ from their model',
}
_EPILOG = """examples:
  robodyn demo                         the arm that comes with the package
  robodyn demo --urdf arm.urdf         your own arm
  robodyn COMMAND --help               what a command can do, with examples

exit codes: 0 done, 1 a criterion failed or a defect, 2 a mistake in what was given
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = make_parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return INTERRUPTED
    except (RobodynError, OSError, ImportError) as error:
        if options.debug or _is_ours(error):
            raise
        print(f'robodyn {options.command}: {_explained(error)}', file=sys.stderr)
        return USER_MISTAKE


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all sub-commands."""
    parser = argparse.ArgumentParser(
        prog='robodyn', epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Rigid-body dynamics and torque control of an arm from its URDF.')
    parser.add_argument('--version', action='version', version=f'robodyn_ros {_version()}')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for name, summary in COMMANDS.items():
        module = import_module(f'robodyn_ros.cli.{name}')
        command = commands.add_parser(
            name, help=summary, description=(module.__doc__ or '').strip(), epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_arguments(command)
        command.add_argument('--debug', action='store_true',
                             help='show the stack trace of an error')
        command.set_defaults(run=module.run)
    return parser


def _version() -> str:
    try:
        return metadata.version('robodyn_ros')
    except metadata.PackageNotFoundError:
        return 'of a source checkout that is not installed'


def _is_ours(error: Exception) -> bool:
    """Return whether a failed import is a defect of this package."""
    name = getattr(error, 'name', None)
    return isinstance(error, ImportError) and str(name).startswith('robodyn_ros')


def _explained(error: Exception) -> str:
    """Return the message of an error, with a remedy where it has none."""
    if isinstance(error, ImportError):
        missing = getattr(error, 'name', None) or 'a library'
        remedy = ('source a ROS 2 installation (`source /opt/ros/DISTRO/setup.bash`), or install '
                  "its wheels: pip install 'robodyn_ros[ros]'"
                  if missing.partition('.')[0] in _ROS or missing.endswith('_msgs')
                  else 'install it with pip')
        return f'{missing} cannot be imported ({error}): {remedy}'
    if isinstance(error, OSError) and error.filename is not None:
        return f'{error.filename}: {error.strerror}'
    return str(error) or type(error).__name__


_ROS = ('rclpy', 'std_srvs', 'rcl_interfaces', 'rpyutils', 'ament_index_python')


if __name__ == '__main__':
    sys.exit(main())
