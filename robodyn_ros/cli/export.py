"""
Dynamics and control cycle of an arm in C99: to run without Python.

The functions are traced from the same code as those that run here. C has no dependencies but
math.h; it allocates nothing, and is the same for the same input, byte by byte. Its example prints
the time per call.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robodyn_ros.cli.options import add_robot_arguments, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.export import DEFAULT_FUNCTIONS, Export
from robodyn_ros.export.export import CYCLE
from robodyn_ros.files import made
from robodyn_ros.text import table

EXAMPLES = """examples:
  robodyn export arm.urdf arm_c
  robodyn export arm.urdf arm_c --functions inverse_dynamics,jacobian:tool0
  robodyn export arm.urdf arm_c --laws joint_impedance,cartesian_impedance
  robodyn export arm.urdf src/arm_controller --ros2-control
"""
ALL = 'all'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('folder', type=Path, metavar='DIR', help='where the files go')
    add('--ros2-control', action='store_true',
        help='write a package with a controller of ros2_control, which runs the cycle with all '
             'laws')
    add('--functions', type=_names, default=DEFAULT_FUNCTIONS, metavar='NAME,...',
        help=f'cycle, and methods of Dynamics, of a link as NAME:LINK (default '
             f'{",".join(DEFAULT_FUNCTIONS)})')
    add('--laws', type=_names, default=(), metavar='NAME,...',
        help='laws of the cycle besides gravity_compensation and computed_torque, or all')
    add('--prefix', default='', metavar='NAME',
        help="begins all names in C (default the robot's name)")


def run(options: argparse.Namespace) -> int:
    """Write the files; return 0."""
    steps = Steps()
    with steps('load the robot') as step:
        export = _export(options)
        step.result = f'{export.model.name}, {export.model.nv} joints'
    with made(options.folder):
        _write(options, export, steps)
    return 0


def _write(options: argparse.Namespace, export: Export, steps: Steps) -> None:
    """Trace the functions, and write them."""
    with steps('trace the functions') as step:
        operations = export.operations()
        step.result = f'{len(operations)} functions, {sum(operations.values()):,} operations'
    with steps('write') as step:
        files = export.ros2_control_files() if options.ros2_control else export.c_files()
        for name, text in files.items():
            path = options.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='ascii')
        step.result = (f'{len(files)} files in {options.folder}, '
                       f'{sum(map(len, files.values())) / 1000:,.0f} kB')
    if not options.ros2_control:
        for line in ('', *table(('function', 'operations'), [
                (name, f'{operations[name]:,}') for name in export.public()])):
            steps.write_line(line)


def _export(options: argparse.Namespace) -> Export:
    """Return the export; a controller has all laws, and needs no other functions."""
    functions, laws = options.functions, options.laws
    if options.ros2_control:
        functions, laws = (CYCLE,), laws or (ALL,)
    return Export(robot_of(options).load(), functions, _laws(laws), options.prefix)


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(',') if each.strip())


def _laws(names: tuple[str, ...]) -> tuple[str, ...]:
    from robodyn_ros.control.steps.laws import NAMES
    return NAMES if names == (ALL,) else names
