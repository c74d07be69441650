"""
An arm and its driver by name: parameters, controllers and steps of its first launch.

Profiles hold what is known of a driver: who adds gravity, what its efforts mean, its topics, rates
and limits. --write makes the files of a launch from a profile and the URDF, --check compares the
running driver with it, --simulate starts a simulator that behaves as this driver.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
import os
from pathlib import Path
import shlex
import sys

from robodyn_ros import arms
from robodyn_ros.cli.options import (
    add_enclave_argument, add_namespace_argument, between, finite, next_line)
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.commissioning.first_parameters import first_parameters
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.files import as_yaml, check_writable
from robodyn_ros.inspection.finding import lines, stops
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import joint_values
from robodyn_ros.model.robot import EARTH, Robot
from robodyn_ros.model.source import read_source
from robodyn_ros.text import paragraph

EXAMPLES = """examples:
  robodyn arm list
  robodyn arm show fr3
  robodyn arm fr3 --urdf fr3.urdf --write my_fr3      arm.yaml and controllers.yaml, and the steps
  robodyn arm fr3 --check                             the running driver
  robodyn arm fr3 --urdf fr3.urdf --simulate          rehearse the first launch

exit codes: 0 success, 1 a finding prevents a start, 2 invalid arguments or input
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add('words', nargs='*', default=['list'], metavar='NAME',
        help='an arm, or list (default), or show NAME')
    do = parser.add_mutually_exclusive_group()
    do.add_argument('--write', type=Path, metavar='DIR', help='write the files of the launch')
    do.add_argument('--check', action='store_true', help='check the running driver; needs ROS')
    do.add_argument('--simulate', action='store_true',
                    help='start the simulator as this arm and driver; needs ROS')
    add('--urdf', type=Path, metavar='URDF',
        help='the arm; --check takes that of the topic robot_description without it')
    add('--prefix', default='', metavar='TEXT', help='prefix of joints and links, such as left_')
    add('--lock', action='append', default=[], metavar='JOINT:POSITION',
        help='lock a joint, such as that of a gripper; may be repeated')
    add('--gravity', type=finite, nargs=3, default=EARTH, metavar=('X', 'Y', 'Z'),
        help='m/s^2, in the frame of the base (default 0 0 -9.81)')
    add('--timeout', type=between(0.1, 600.0), default=10.0, metavar='SECONDS',
        help='time that --check waits for the driver (default 10)')
    add_namespace_argument(parser)
    add_enclave_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Do what is asked for; return 0, or 1 if a finding prevents a start."""
    out, words = Steps(), options.words[options.words[:1] == ['show'] and len(options.words) > 1:]
    if len(words) != 1:
        raise ParameterError(f'name one arm instead of {" ".join(words)}')
    if words == ['list']:
        return _list(out)
    name, profile = arms.load(words[0])
    profile = profile.named(options.prefix)
    if options.check:
        return _check(name, profile, options, out)
    if options.simulate:
        return _simulate(name, profile, options, out)
    if options.write:
        _write(name, profile, options, out)
    _show(name, profile, options, out)
    return 0


def _list(out: Steps) -> int:
    for name, profile in arms.profiles().items():
        out.write_line(f'{name:<9}{profile.title}; {profile.driver.partition(" (")[0]}')
    for line in ('',
                 'without torque control, for a reason that `robodyn arm NAME` tells:',
                 *paragraph('  ', ', '.join(arms.refused()))):
        out.write_line(line)
    return 0


def _show(name: str, profile: arms.Profile, options: argparse.Namespace, out: Steps) -> None:
    line = arms.launch_line(profile, options.write or Path(name), options.namespace)
    chosen = ''.join(f' --{key} {shlex.quote(value)}' for key, value in (
        ('prefix', options.prefix), ('namespace', options.namespace)) if value)
    gravity = ('the driver adds the gravity torque' if
               profile.parameters.driver_compensates_gravity else 'the driver adds no gravity')
    for label, text in (
            ('', f'{profile.title}; {profile.driver}'), ('tried:   ', profile.tried),
            ('numbers: ', f'{gravity}. {profile.parameters.source}'),
            ('states:  ', f'{profile.state.topic} at {profile.state.rate:g} Hz, velocity '
             f'{profile.state.velocity}, effort {profile.state.effort}. {profile.state.source}'),
            ('torques: ', f'{profile.command.way}. {profile.command.source}'),
            ('silence: ', f'if commands stay away, {profile.command.in_silence}')):
        for row in paragraph(label, text):
            out.write_line(row)
    for k, (do, verify) in enumerate(arms.steps_of(name, profile, line, chosen), 1):
        out.write_line()
        for row in (*_unbroken(f'{k:2}. ', do), *paragraph('    verify: ', verify)):
            out.write_line(row)


def _unbroken(label: str, text: str) -> list[str]:
    """Return a command as one line that can be copied, or the lines of a text."""
    return [label + text] if text.startswith(('ros2 ', 'robodyn ')) else paragraph(label, text)


def _robot(profile: arms.Profile, options: argparse.Namespace) -> Robot:
    if options.urdf is None:
        raise ParameterError('name the URDF of the arm with --urdf; the driver publishes it on '
                             'robot_description')
    numbers = profile.parameters
    robot = Robot(options.urdf, **arms.robot_for(profile, read_source(options.urdf)),
                  locked=tuple(options.lock), gravity=tuple(options.gravity),
                  effort_limit=numbers.effort_limit, velocity_limit=numbers.velocity_limit)
    moving = robot.load().joint_names
    if set(moving) != set(profile.joints):
        raise ParameterError(
            f'the chain of the URDF moves {", ".join(moving)}, the profile has '
            f'{", ".join(profile.joints)}: lock the others with --lock')
    return robot


def _write(name: str, profile: arms.Profile, options: argparse.Namespace, out: Steps) -> None:
    robot = _robot(profile, options)
    notes = [f'{profile.title}, {profile.driver}. {profile.parameters.source}']
    texts = {'arm.yaml': first_parameters(
        robot, profile.parameters.driver_compensates_gravity, arms.parameters_of(name, profile),
        notes), 'controllers.yaml': arms.controllers_file(name, profile)}
    files = {options.write / file: text for file, text in texts.items() if text}
    for path in files:
        if path.exists():
            raise ParameterError(f'{path} exists already: choose another folder', path=str(path))
    for path, text in files.items():
        check_writable(path)
        path.write_text(text, encoding='utf-8')
        out.write_line(f'written: {path}')
    out.write_line()


def _check(name: str, profile: arms.Profile, options: argparse.Namespace, out: Steps) -> int:
    from robodyn_ros.client.live_check import description, observe  # needs ROS
    from robodyn_ros.inspection.driver import foreign, judge_driver

    seen = observe(profile.state.topic, arms.command_topic(name, profile), options.timeout, 2.0,
                   out.tick, options.enclave, options.namespace)
    found = foreign(profile, seen)
    if not found:
        def model_of(urdf: str | bytes) -> RobotModel:
            numbers = profile.parameters
            return RobotModel.from_urdf(
                urdf, tuple(options.gravity), **arms.robot_for(profile, urdf),
                locked=joint_values('--lock', tuple(options.lock))
            ).with_limits(numbers.effort_limit, numbers.velocity_limit)
        urdf: str | bytes
        if options.urdf:
            model = model_of(urdf := read_source(options.urdf))
        else:
            urdf, model = description(options.namespace, options.enclave, options.timeout,
                                      model_of)
        found = judge_driver(profile, Dynamics(model), urdf, seen)
    for line in lines(found):
        out.write_line(line)
    return 1 if stops(found) else 0


def _simulate(name: str, profile: arms.Profile, options: argparse.Namespace, out: Steps) -> int:
    robot = _robot(profile, options)
    plugin, message = profile.command.way == arms.PLUGIN, profile.command.message
    missing = message and find_spec(message.partition('/')[0]) is None
    line = next_line(Path(name, 'arm.yaml'), options.namespace, profile.state.topic)
    for each in (
            *(['The controller runs as a node here, not as the plugin: delete loop and '
               'shared_block in a copy of arm.yaml.'] if plugin else []),
            *([f'The workspace of {message} is not sourced: the simulator takes efforts alone '
               'here. Delete command_type, command_fields, drive_kp and drive_kd in a copy of '
               'arm.yaml.'] if missing else [])):
        for row in paragraph('', each):
            out.write_line(row)
    out.write_line(f'In another terminal, with the file that --write makes:\n  {line}')
    values = {**robot.parameters(), **arms.simulator_of(profile)}
    for key in ('command_type', 'command_fields') if missing else ():
        del values[key]
    remaps = [('joint_states', profile.state.topic), ('__ns', '/' + options.namespace.strip('/')),
              ('effort_controller/commands', profile.command.topic)]
    os.execv(sys.executable, [
        sys.executable, '-m', 'robodyn_ros.nodes.simulator.node', '--ros-args',
        *(part for key, value in values.items() for part in ('-p', f'{key}:={as_yaml(value)}')),
        *(part for old, new in remaps for part in ('-r', f'{old}:={new}'))])
