"""The `robodyn` command: runs the sub-command, and prints errors of the user as one message."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import os
from pathlib import Path
import sys
from types import ModuleType
from typing import NoReturn

from robodyn_ros import __version__
from robodyn_ros.exceptions import lacking, RobodynError

SUCCESS, FAILURE, USER_MISTAKE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
# Sub-commands and their summaries. The module of each has `add_arguments(parser)`,
# `run(options) -> int` and EXAMPLES.
COMMANDS = {
    'check': 'preflight of an arm: defects of its URDF, or of the running arm',
    'arm': 'a known arm and driver: files and steps of its first launch',
    'bridge': 'an arm by the library of its vendor, for ROS',
    'init': 'parameters of the controller for the first launch, from a URDF',
    'explain': 'mass matrix, torque term by term and ellipsoids of a state',
    'export': 'dynamics and control cycle of an arm in C, or as a ros2_control package',
    'demo': 'a simulated arm that floats and tracks, under the real controller',
    'view': 'a running arm in the browser; drags the links of a simulated one',
    'hold': 'the running controller holds the arm',
    'float': 'the running controller compensates gravity: guide the arm by hand',
    'move': 'the running controller moves the arm to a position',
    'stop': 'the running controller stops the arm, also with a fault',
    'reset': 'the running controller clears a fault whose cause is gone',
    'activate': 'the running controller holds an arm that it has let go',
    'deactivate': 'the running controller lets the arm go',
    'montecarlo': 'many simulated arms that differ from their model, with faults or without',
    'commission': 'measure an arm, identify it, and write its parameters, step by step',
    'excite': 'plan an excitation trajectory for identification',
    'identify': 'friction, inertia and payload of an arm from a recording',
    'payload': 'mass and centre of a payload, by the running controller',
    'teach': 'record an arm that is guided by hand',
    'replay': 'replay what was taught, as recorded or time-optimal',
}
_REQUESTS = 'hold', 'float', 'move', 'stop', 'reset', 'activate', 'deactivate'
_MODULES = {'demo': 'robodyn_ros.cli.demo.command',
            **dict.fromkeys(_REQUESTS, 'robodyn_ros.cli.request')}
# of the others: robodyn_ros.cli.NAME
_EPILOG = """examples:
  robodyn check arm.urdf               defects of a URDF, and the payload of the arm
  robodyn demo                         the arm that comes with the package
  robodyn demo --urdf arm.urdf         your own arm
  robodyn COMMAND --help               options of a command, with examples

exit codes: 0 success, 1 a criterion failed or a defect was found, 2 invalid arguments or input
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options, unknown = make_parser(arguments).parse_known_args(arguments)
    if unknown:  # of this command instead of all
        options.parser.error('unrecognized arguments: ' + ' '.join(unknown))
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # as by `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        known = lacking(error) or (isinstance(error, (RobodynError, OSError, ImportError))
                                   and not _is_ours(error) and _explained(error, options))
        if options.debug or not known:
            raise
        print(f'robodyn {options.command}: {known}', file=sys.stderr)
        return USER_MISTAKE


def make_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser of all sub-commands, with the options of the given one."""
    parser = _Parser(
        prog='robodyn', epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Rigid-body dynamics and torque control of an arm from its URDF.')
    parser.add_argument('--version', action='version', version=f'robodyn_ros {__version__}')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in arguments:  # importing the others would take time
            _fill(command, import_module(_MODULES.get(name, f'robodyn_ros.cli.{name}')))
    return parser


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are not preceded by all options."""

    def error(self, message: str) -> NoReturn:
        """Print an error, and where the options are; exit."""
        self.exit(USER_MISTAKE, f'{self.prog}: {message}; see {self.prog} --help\n')


def _fill(command: argparse.ArgumentParser, module: ModuleType) -> None:
    """Add description and options to the parser of a sub-command."""
    command.description, command.epilog = (module.__doc__ or '').strip(), module.EXAMPLES
    module.add_arguments(command)
    command.add_argument('--debug', action='store_true', help='show the stack trace of an error')
    command.set_defaults(run=module.run, parser=command)


def _is_ours(error: Exception) -> bool:
    """Return whether a failed import is a defect of this package."""
    name = getattr(error, 'name', None)
    return isinstance(error, ImportError) and str(name).startswith('robodyn_ros')


def _explained(error: Exception, options: argparse.Namespace) -> str:
    """Return the message of an error, with a remedy."""
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
    """Return the option that names a file which cannot be written, with a remedy."""
    for name, value in vars(options).items():
        option = f'--{name.replace("_", "-")}'
        # the missing folder may be a parent of the given one
        if isinstance(value, Path) and isinstance(filename, str) and (
                _below(filename, value) or _below(value, filename)
                ) and option in options.parser.format_usage():
            return f'{option} {value}: choose a path that can be written; '
    return ''


def _below(path: str | Path, folder: str | Path) -> bool:
    return Path(path).absolute().is_relative_to(Path(folder).absolute())


_ROS = ('rclpy', 'std_srvs', 'rcl_interfaces', 'rpyutils', 'ament_index_python')
_EXTRAS = {'matplotlib': 'plot', 'rosbags': 'record', 'toppra': 'replay', 'trimesh': 'view',
           'viser': 'view'}


if __name__ == '__main__':
    sys.exit(main())
