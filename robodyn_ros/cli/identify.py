"""
Identify friction, inertia, payload or torque scale of an arm from a recording of its motion.

The recording is a rosbag2 with joint states and efforts of a motion that excites all joints, as
from `robodyn excite`. The results are written as parameters of the controller and, for the
inertia, as a URDF. The last part of the recording is held back to validate them.
"""

from __future__ import annotations

import argparse
from pathlib import Path


from robodyn_ros.cli.options import add_robot_arguments, between, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ParameterError
from robodyn_ros.files import check_writable, parameter_file
from robodyn_ros.identification.dry_friction import DryFriction, SHAPES
from robodyn_ros.identification.estimate import Estimate
from robodyn_ros.identification.identified import identify
from robodyn_ros.identification.recordings import read_recording, Topics
from robodyn_ros.identification.report import described, report
from robodyn_ros.identification.results import (
    check_not_locked, identified_urdf, parameters, remarks)
from robodyn_ros.identification.unknowns import GROUPS
from robodyn_ros.identification.verdict import validation_failures
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.picture import check_picture
from robodyn_ros.text import paragraph

EXAMPLES = """examples:
  robodyn identify run1 arm.urdf --output identified.yaml
  robodyn identify run1 arm.urdf --estimate friction,inertia --urdf-output better.urdf --plot
  robodyn identify run2 better.urdf --payload tool0 --output tool.yaml
  robodyn identify run1 --estimate friction,scale --effort-topic effort_controller/commands
"""


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
    if options.recording.suffix in ('.urdf', '.xacro'):
        raise ArgumentError(f'{options.recording} is no recording: it comes first, then the URDF')
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
    return 1 if validation_failures(model.joint_names, found) else 0


def _write(options: argparse.Namespace, robot: Robot, model: RobotModel, found: Estimate,
           dry: DryFriction) -> list[Path]:
    """Write the files of the options; return their paths."""
    written = []
    if options.output:
        head = [f'Identified from {options.recording.name} with {robot.urdf.name}'
                + (f'; goes with {options.urdf_output.name}' if options.urdf_output else ''),
                'Joints: ' + ', '.join(model.joint_names),
                *(f'FAILED: {reason}' for reason in validation_failures(model.joint_names, found)),
                *remarks(found, options.payload, dry)]
        options.output.write_text(parameter_file(parameters(found, dry), head), encoding='utf-8')
        written.append(options.output)
    if options.urdf_output:
        options.urdf_output.write_text(identified_urdf(robot.urdf, model, found.arm.phi),
                                       encoding='utf-8')
        written.append(options.urdf_output)
    if options.plot:
        from robodyn_ros.identification.report import plot
        plot(model, found, options.plot)
        written.append(options.plot)
    return written


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(',') if name.strip()]
