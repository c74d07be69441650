"""
Identify friction, inertia, payload or torque scale of an arm from a recording of its motion.

The recording is a rosbag2 with joint states and efforts of a motion that excites all joints, as
from `robodyn excite`. The results are written as parameters of the controller and, for the
inertia, as a URDF. The last part of the recording is held back to validate them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robodyn_ros.cli.identify.output import check_not_locked, identified_urdf, parameters, remarks
from robodyn_ros.cli.identify.recordings import read_recording, Topics
from robodyn_ros.cli.options import add_robot_arguments, between, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import check_writable, parameter_file
from robodyn_ros.identification.dry_friction import DryFriction, SHAPES
from robodyn_ros.identification.equations import Excerpt
from robodyn_ros.identification.estimate import Estimate, Value
from robodyn_ros.identification.identify import identify
from robodyn_ros.identification.recording import Recording
from robodyn_ros.identification.unknowns import GROUPS
from robodyn_ros.identification.verdict import MAX_RESIDUAL, objections
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.picture import check_picture
from robodyn_ros.text import number, paragraph, table

EXAMPLES = """examples:
  robodyn identify run1 arm.urdf --output identified.yaml
  robodyn identify run1 arm.urdf --estimate friction,inertia --urdf-output better.urdf --plot
  robodyn identify run2 better.urdf --payload tool0 --output tool.yaml
  robodyn identify run1 --estimate friction,scale --effort-topic effort_controller/commands
"""
_UNEVEN = 1.5  # ratio of steps between stamps that is worth a remark
_PAYLOAD = ('mass (kg)', 'com x (m)', 'com y', 'com z', 'Ixx (kg m^2)', 'Iyy', 'Izz', 'Ixy', 'Ixz',
            'Iyz')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add('recording', type=Path, metavar='BAG', help='folder of a rosbag2, its .mcap or .db3 with '
        'metadata.yaml, or a .csv with columns time, JOINT.position and JOINT.effort')
    add_robot_arguments(parser)
    add('--topic', default='/joint_states', help='topic of positions (default /joint_states)')
    add('--effort-topic', metavar='TOPIC', help='topic of efforts, JointState or '
        'Float64MultiArray (default: that of the positions)')
    add('--effort-joints', type=_names, default=[], metavar='JOINT,...', help='order of joints in '
        'a Float64MultiArray (default: that of the URDF)')
    add('--estimate', type=_names, metavar='WHAT,...', help=f'of {", ".join(GROUPS)} (default '
        'friction,inertia; friction with --payload)')
    add('--payload', metavar='LINK', help='identify the payload on this link')
    add('--trust', type=between(0.01, 10.0), default=0.5, metavar='PART', help='relative '
        'uncertainty of the masses in the URDF (default 0.5)')
    add('--cutoff', type=between(0.1, 1000.0), metavar='HZ', help='cutoff frequency of the low '
        'pass of positions (default: ten times the bandwidth of the motion, less where noise '
        'begins below)')
    add('--period', type=between(1e-5, 1.0), metavar='SECONDS', help='period at which the driver '
        'samples: repairs stamps that are late by varying amounts')
    add('--friction', choices=SHAPES, default='smooth', help='dry friction as a function '
        'of velocity, where the data supports more than the sign (default smooth)')
    add('--load-friction', action='store_true', help='also look for friction that grows with the '
        'load')
    add('--delay', type=between(-1.0, 1.0), metavar='SECONDS', help='known delay of the efforts '
        'relative to the positions (default: identified)')
    add('--hold-back', type=between(0.05, 0.9), default=0.25, metavar='PART', help='part of the '
        'time, at the end, for validation (default 0.25)')
    add('--all', action='store_true', help='also list the base parameters')
    add('--output', type=Path, metavar='FILE', help='write parameters for the controller (YAML)')
    add('--urdf-output', type=Path, metavar='FILE', help='write a URDF with the inertia')
    add('--plot', type=Path, nargs='?', const=Path('robodyn_identify.png'), metavar='FILE',
        help='draw efforts and residuals (default robodyn_identify.png)')


def run(options: argparse.Namespace) -> int:
    """Identify; return 0, or 1 if the validation fails."""
    groups = options.estimate or (['friction'] if options.payload else ['friction', 'inertia'])
    if options.urdf_output and 'inertia' not in groups:
        raise ParameterError('--urdf-output writes the identified inertia: add inertia to '
                             '--estimate')
    for path in (options.output, options.urdf_output, options.plot):
        check_writable(path)
    if options.plot:
        check_picture(options.plot)
    steps, robot = Steps(), robot_of(options)
    with steps('load the robot') as step:
        model = robot.load()
        if options.urdf_output:
            check_not_locked(robot.urdf, model)
        dynamics = Dynamics(model)
        step.result = f'{model.name}, {model.nv} joints'
    with steps('read the recording') as step:
        recording = read_recording(options.recording, model.joint_names, Topics(
            options.topic, options.effort_topic, options.effort_joints))
        step.result = (f'{len(recording.position)} positions, {len(recording.effort)} efforts')
    what = [*groups, *(['payload'] if options.payload else [])]
    with steps('estimate ' + ', '.join(what)) as step:
        data, found, remark = identify(
            dynamics, recording, groups, options.cutoff, options.period,
            DryFriction(options.friction, options.load_friction), steps.tick,
            payload_link=options.payload, inertia_spread=options.trust,
            hold_back=options.hold_back, delay=options.delay)
        step.result = f'condition number {found.condition:.3g}'
    for line in ('', *described(data, recording), *([remark] if remark else [])):
        for row in paragraph('', line) if line else ['']:
            steps.write_line(row)
    for line in ('', *report(model, found, options.all, data.dry)):
        steps.write_line(line)
    for path in _write(options, robot, model, found, data.dry):
        steps.write_line(f'written: {path}')
    return 1 if objections(model.joint_names, found) else 0


def described(data: Excerpt, recording: Recording) -> list[str]:
    """Return lines about the recording, and what was used of it."""
    steps = 1e3 * np.diff(np.unique(recording.position_time))
    filters = data.filters
    pieces = 'one piece' if data.segments == 1 else f'{data.segments} pieces'
    lines = [f'{data.used:.1f} of {data.recorded:.1f} s used, in {pieces}; '
             f'positions up to {filters.position:.3g} Hz, torques up to {filters.equation:.3g} '
             'Hz']
    if steps.max() > _UNEVEN * np.median(steps):
        lines.append(f'the stamps are {steps.min():.3g} to {steps.max():.3g} ms apart: if the '
                     'driver samples evenly, give its --period')
    return lines


def _write(options: argparse.Namespace, robot: Robot, model: RobotModel, found: Estimate,
           dry: DryFriction) -> list[Path]:
    """Write the files of the options; return their paths."""
    written = []
    if options.output:
        head = [f'Identified from {options.recording.name} with {robot.urdf.name}'
                + (f'; goes with {options.urdf_output.name}' if options.urdf_output else ''),
                'Joints: ' + ', '.join(model.joint_names),
                *(f'FAILED: {reason}' for reason in objections(model.joint_names, found)),
                *remarks(found, options.payload, dry)]
        options.output.write_text(parameter_file(parameters(found, dry), head), encoding='utf-8')
        written.append(options.output)
    if options.urdf_output:
        options.urdf_output.write_text(identified_urdf(robot.urdf, model, found.arm.phi),
                                       encoding='utf-8')
        written.append(options.urdf_output)
    if options.plot:
        from robodyn_ros.cli.identify.plot import plot
        plot(model, found, options.plot)
        written.append(options.plot)
    return written


def report(model: RobotModel, found: Estimate, everything: bool = False,
           dry: DryFriction | None = None, listed: str = '--all lists them') -> list[str]:
    """Return the tables; `listed`: where all base parameters are."""
    kinds = list(found.joints)
    rows = [(name, *(_cell(found.joints[kind][j]) for kind in kinds),
             *(f'{100.0 * share[j]:.3g}' for share in (found.fitted, found.held_back, found.urdf)))
            for j, name in enumerate(model.joint_names)]
    residual = 'residual (%)'
    lines = table(('joint', *kinds, 'fitted', 'held back', 'URDF'), rows,
                  ('', *('' for _ in kinds), residual, residual, residual))
    lines += ['', 'N m, s, rad, or N, s, m; +- half of the 95 % interval; (URDF): not estimated',
              f'the efforts are {1e3 * found.delay.value:.2f} +-{1e3 * found.delay.margin:.2f} ms '
              'later than the positions']
    if found.payload:
        lines += ['', 'payload', *(f'  {name:<14} {_cell(value)}'
                                   for name, value in zip(_PAYLOAD, found.payload))]
        if not found.has_payload:
            lines.append('  none: the mass is below its uncertainty, and is not written')
    if found.base:
        lines += ['', *_base_lines(found, everything, listed)]
    lines += _dry_lines(model, dry)
    for kind, j in found.unexcited:
        # a joint that moves is excited, but what errs more than a number does not determine it
        why = 'not excited' if not found.fitted[j] > MAX_RESIDUAL else 'effort not explained'
        lines.append(f'{why}: {kind} of {model.joint_names[j]}, kept as in the URDF '
                     f'({number(_kept(found, kind, j))})')
    resting = [name for name, fitted, held_back in zip(
        model.joint_names, found.fitted, found.held_back)
        if np.isfinite(fitted) and not np.isfinite(held_back)]
    if resting and len(resting) < np.isfinite(found.fitted).sum():
        lines += paragraph('not validated, at rest in the part that is held back: ',
                           ', '.join(resting))
    return [*lines, '', *_verdict(model, found)]


def _dry_lines(model: RobotModel, dry: DryFriction | None) -> list[str]:
    """Return lines about the shape of dry friction."""
    if dry is None or dry.shape == 'sign':
        return []
    if not np.isfinite(dry.velocity).any():
        return ['', f'dry friction: the data supports the sign of the velocity, not {dry.shape}']
    what = {'smooth': 'tanh(velocity / v)', 'stribeck': 'Stribeck velocity v'}[dry.shape]
    parts = [f'{name} ' + (f'{v:.3g}' if np.isfinite(v) else 'not supported by the data')
             for name, v in zip(model.joint_names, dry.velocity)]
    return ['', *paragraph(f'dry friction, {what}: ', ', '.join(parts))]


def _kept(found: Estimate, kind: str, j: int) -> float:
    return found.joints[kind][j].value if kind in found.joints else float('nan')


def _base_lines(found: Estimate, everything: bool, listed: str) -> list[str]:
    count = sum(each.identified for each in found.base)
    where = '' if everything else f' ({listed})'
    lines = [f'all {count} base parameters are identified{where}' if count == len(found.base) else
             f'{count} of {len(found.base)} base parameters are identified; the others stay near '
             f'the URDF{where}']
    if everything:
        rows = [(each.name, f'{each.urdf:.4f}', f'{each.value:.4f}', f'{each.margin:.4f}',
                 '' if each.identified else 'not excited') for each in found.base]
        lines += ['', *table(('base parameter', 'URDF', 'found', '+- 95 %', ''), rows)]
    return lines


def _verdict(model: RobotModel, found: Estimate) -> list[str]:
    """Return a line for each joint that fails, and one about all."""
    reasons = objections(model.joint_names, found)
    means = [f'{100.0 * np.mean(each[np.isfinite(found.held_back)]):.3g} %'
             for each in (found.held_back, found.urdf) if np.isfinite(found.held_back).any()]
    lines = [row for reason in reasons for row in paragraph('FAIL  ', reason)]
    if means:
        lines.append(f'{"FAIL" if reasons else "pass"}  held-back torque: mean residual '
                     f'{means[0]}, with the URDF {means[1]}')
    return lines


def _cell(value: Value) -> str:
    if not value.margin:
        return f'{number(value.value)} (URDF)'
    return f'{number(value.value)} +-{number(value.margin)}'


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(',') if name.strip()]
