"""
Measure the payload of an arm with the running controller: mass and centre of mass.

The arm passes slowly through some poses, up and down, so that friction cancels. The command shows
where, and asks for consent: the workspace must be free. An arm that was measured without the
payload before needs no accurate URDF: --save, then --without.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robodyn_ros.cli.options import (
    add_consent_arguments, add_enclave_argument, add_namespace_argument, add_range_argument,
    add_robot_arguments, check_consent, robot_of, whole_number)
from robodyn_ros.cli.terminal import agreed, Steps
from robodyn_ros.commissioning.ranges import check_present, described, restricted
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.files import check_writable, parameter_file
from robodyn_ros.identification.passes import (
    check_poses, pass_points, passes_of, read_passes, stroke, write_passes)
from robodyn_ros.identification.results import payload_command
from robodyn_ros.identification.static_payload import choose_poses, estimate_payload, StaticPayload
from robodyn_ros.model import Payload
from robodyn_ros.model.robot import Robot
from robodyn_ros.text import number, table

EXAMPLES = """examples:
  robodyn payload better.urdf --link tool0 --output tool.yaml
  robodyn payload arm.urdf --link tool0 --save empty.json        without the payload
  robodyn payload arm.urdf --link tool0 --without empty.json     then with it

exit codes: 0 a payload was found, or --save was given, 1 none, or stopped, 2 invalid input
"""
_RADIUS = 0.05  # m, radius of gyration of the published payload: passes show no inertia


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--link', default='', help='link that holds the payload (default: the tip)')
    add('--poses', type=whole_number, default=16, metavar='N', help='number of poses (default 16)')
    add('--seed', type=int, default=0, help='seed of the poses (default 0)')
    add('--save', type=Path, metavar='FILE', help='write the torques of the passes without '
        'payload (JSON); nothing is reported to controller and guard')
    add('--without', type=Path, metavar='FILE', help='torques of the same passes without payload')
    add('--output', type=Path, metavar='FILE', help='write the command that publishes the '
        'payload (YAML with comments)')
    add('--dont-publish', action='store_true', help='do not report the payload to controller and '
        'guard')
    add_consent_arguments(parser)
    add_range_argument(parser)
    add_namespace_argument(parser)
    add_enclave_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Measure; return 0, or 1 if there is no payload and nothing to save."""
    check_consent(options)
    for path in (options.save, options.output):
        check_writable(path)
    steps, robot = Steps(), robot_of(options)
    dynamics = Dynamics(robot.load())
    model = dynamics.model
    link = options.link or model.tip
    without = read_passes(options.without, model.nv) if options.without else []
    allowed = restricted(model, options.ranges)
    with steps('choose the poses') as step:
        poses = choose_poses(Dynamics(allowed), link, options.poses,
                             float(stroke(allowed).max()), options.seed)
        step.result = f'{len(poses)} poses'
    if options.without:
        check_poses(options.without, without, poses)
    arm = make_arm(robot, model, steps, options.enclave, options.namespace)
    try:
        q = arm.watch(0.2).position[-1]
        check_present(model, options.ranges, q)
        points = pass_points(allowed, q, poses)
        steps.write_paragraphs(described(dynamics, points, q))
        if not options.yes and not agreed('The arm will move. Go on?'):
            steps.write_line('stopped')
            return 1
        with steps('pass through the poses') as step:
            passes = passes_of(allowed, arm.execute(points), poses)
            step.result = f'{points[0][-1]:.0f} s'
        if options.save:
            write_passes(options.save, passes)
            steps.write_line(f'written: {options.save}')
        found = estimate_payload(dynamics, link, passes, without)
        for line in ('', *report(model.joint_names, link, found)):
            steps.write_line(line)
        if not found.significant:
            return 0 if options.save else 1
        payload = ball(link, found)
        if not options.dont_publish and not options.save:
            arm.publish_payload(payload)
            steps.write_line('reported to controller and guard')
    finally:
        arm.close()
    if options.output:
        options.output.write_text(parameter_file({}, [
            'The payload; report it to controller and guard while they run:',
            payload_command(link, _numbers(payload), options.namespace)]), encoding='utf-8')
        steps.write_line(f'written: {options.output}')
    return 0


def make_arm(robot: Robot, model, steps: Steps, enclave: str, namespace: str = ''):
    """Return the arm of the running controller."""
    from robodyn_ros.commissioning.ros_arm import RosArm  # needs ROS
    arm = RosArm(robot, model, Path(), steps.tick, enclave=enclave, namespace=namespace)
    arm.attach()
    return arm


def report(joint_names, link: str, found: StaticPayload) -> list[str]:
    """Return the results as lines."""
    lines = [f'payload of {link}: {number(found.mass)} +-{number(found.mass_margin)} kg']
    if found.significant:
        lines.append('centre of mass (m): ' + ', '.join(
            f'{value:.4f} +-{margin:.4f}' for value, margin in zip(found.com, found.com_margin)))
    else:
        lines.append('none: the mass is not significant')
    return [*lines, '', *table(('joint', 'not explained (N m|N)'), [
        (name, number(each)) for name, each in zip(joint_names, found.residual)])]


def ball(link: str, found: StaticPayload) -> Payload:
    """Return the payload with a small inertia, which the passes do not show."""
    return Payload(link, found.mass, found.com, found.mass * _RADIUS ** 2 * np.eye(3))


def _numbers(payload: Payload) -> list[float]:
    inertia = payload.inertia
    return [payload.mass, *payload.com, *np.diag(inertia), inertia[0, 1], inertia[0, 2],
            inertia[1, 2]]
