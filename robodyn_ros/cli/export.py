"""
Dynamics and control cycle of an arm in C99, or as object files: to run without Python.

The functions are traced from the same code as those that run here. C has no dependencies but
math.h; it allocates nothing, and is the same for the same input, byte by byte. Where there is a
C compiler, size and time per call are measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robodyn_ros.cli.options import add_robot_arguments, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.export import DEFAULT_FUNCTIONS, Export
from robodyn_ros.export.export import CYCLE
from robodyn_ros.export.measure import compiler, FLAGS, measure, Measurement
from robodyn_ros.export.objects import known_target
from robodyn_ros.files import made
from robodyn_ros.text import paragraph, table

EXAMPLES = """examples:
  robodyn export arm.urdf arm_c
  robodyn export arm.urdf arm_c --functions inverse_dynamics,jacobian:tool0
  robodyn export arm.urdf arm_c --laws joint_impedance,cartesian_impedance
  robodyn export arm.urdf arm_m7 --object thumbv7em-none-eabihf
  robodyn export arm.urdf src/arm_controller --ros2-control
"""
ALL = 'all'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('folder', type=Path, metavar='DIR', help='where the files go')
    add('--c', action='store_true', help='write C99; the default without --object')
    add('--ros2-control', action='store_true',
        help='write a package with a controller of ros2_control, which runs the cycle with all '
             'laws')
    add('--object', action='append', default=[], metavar='TRIPLE',
        help='write an object file for a machine, with its header: x86_64-linux-gnu, '
             'aarch64-linux-gnu, thumbv7em-none-eabihf (Cortex-M7), riscv64-linux-gnu; may be '
             'repeated')
    add('--cpu', default='', help='processor of the object files, as LLVM names it')
    add('--functions', type=_names, default=DEFAULT_FUNCTIONS, metavar='NAME,...',
        help=f'cycle, and methods of Dynamics, of a link as NAME:LINK (default '
             f'{",".join(DEFAULT_FUNCTIONS)})')
    add('--laws', type=_names, default=(), metavar='NAME,...',
        help='laws of the cycle besides gravity_compensation and computed_torque, or all')
    add('--prefix', default='', metavar='NAME',
        help="begins all names in C (default the robot's name)")
    add('--no-measure', action='store_true', help='do not compile and time the C code')


def run(options: argparse.Namespace) -> int:
    """Write the files; return 0."""
    if options.ros2_control and (options.c or options.object):
        raise ParameterError('--ros2-control writes a package of its own: leave out --c and '
                             '--object')
    steps = Steps()
    with steps('load the robot') as step:
        export = _export(options)
        step.result = f'{export.model.name}, {export.model.nv} joints'
    for triple in options.object:
        known_target(triple, options.cpu)
    with made(options.folder):
        _write(options, export, steps)
    return 0


def _write(options: argparse.Namespace, export: Export, steps: Steps) -> None:
    """Trace the functions, write them, and measure C code."""
    with steps('trace the functions') as step:
        operations = export.operations()
        step.result = f'{len(operations)} functions, {sum(operations.values()):,} operations'
    as_c = options.c or not (options.object or options.ros2_control)
    with steps('write') as step:
        files = (export.ros2_control_files() if options.ros2_control else
                 export.c_files() if as_c else export.header_files())
        for name, text in files.items():
            path = options.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='ascii')
        step.result = (f'{len(files)} files in {options.folder}, '
                       f'{sum(map(len, files.values())) / 1000:,.0f} kB')
    for triple in options.object:
        with steps(f'compile for {triple}') as step:
            made = export.object_file(triple, options.cpu)
            (options.folder / f'{export.name}_{triple}.o').write_bytes(made)
            step.result = f'{export.name}_{triple}.o, {len(made) / 1000:,.0f} kB'
    cc = compiler()
    if as_c and cc and not options.no_measure:
        with steps(f'compile and time: {cc} {" ".join(FLAGS)}'):
            found = measure(files, cc)
        for line in _report(export, operations, found):
            steps.write_line(line)
    elif as_c and not cc:
        steps.write_line('not measured: there is no C compiler `cc`; name one by CC=...')


def _export(options: argparse.Namespace) -> Export:
    """Return the export; a controller has all laws, and needs no other functions."""
    functions, laws = options.functions, options.laws
    if options.ros2_control:
        functions, laws = (CYCLE,), laws or (ALL,)
    return Export(robot_of(options).load(), functions, _laws(laws), options.prefix)


def _report(export: Export, operations: dict[str, int], found: Measurement) -> list[str]:
    rows = [(name, f'{operations[name]:,}', _bytes(found.stack.get(name)),
             f'{found.times[name]:.3f}') for name in export.public()]
    lines = ['', *table(('function', 'operations', 'its stack', 'us per call'), rows)]
    if found.code:
        parts = {name.removeprefix(f'{export.name}_'): size for name, size in found.code.items()
                 if name != 'main'}
        sizes = ', '.join(f'{name} {_bytes(size)}' for name, size in parts.items())
        lines += ['', *paragraph('', f'Machine code and constants: {sizes}.')]
    return lines


def _bytes(count: int | None) -> str:
    return '-' if count is None else f'{count / 1000:,.1f} kB'


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(',') if each.strip())


def _laws(names: tuple[str, ...]) -> tuple[str, ...]:
    from robodyn_ros.control.steps.laws import NAMES
    return NAMES if names == (ALL,) else names
