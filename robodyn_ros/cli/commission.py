"""
Commission an arm, step by step: from its URDF to measured parameters of the controller.

Checks the arm, measures delay and noise, excites it slowly and then faster, identifies friction,
rotors and masses, chooses the gains, and compares the tracking error before and after. Each step
is announced; those that move the arm ask for consent. Keep a hand on the emergency stop. The
results of completed steps are in a folder: the same command resumes after an interruption.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
import textwrap
from typing import cast

from numpy.typing import ArrayLike

from robodyn_ros.cli.options import (
    add_consent_arguments, add_enclave_argument, add_gravity_argument, add_namespace_argument,
    add_range_argument, add_robot_arguments, between, check_consent, next_line, robot_of)
from robodyn_ros.cli.terminal import agreed, answered, Steps
from robodyn_ros.commissioning.dry_run import SimulatedArm
from robodyn_ros.commissioning.first_parameters import GRAVITY_IN_DRIVER
from robodyn_ros.commissioning.folder import Folder
from robodyn_ros.commissioning.ranges import restricted
from robodyn_ros.commissioning.report import write_report
from robodyn_ros.commissioning.steps import Step, STEPS
from robodyn_ros.commissioning.work import Values, Work
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.files import made, read_parameters
from robodyn_ros.identification.dry_friction import DryFriction, SHAPES
from robodyn_ros.model.robot import Robot
from robodyn_ros.text import WIDTH

EXAMPLES = """examples:
  robodyn commission arm.urdf --dry-run             practise on a simulated arm that differs
  robodyn commission arm.urdf --dry-run --yes       the same without questions
  robodyn commission arm.urdf                       the arm; its driver must run
  robodyn commission arm.urdf --repeat excite1      again from this step on

steps: """ + ', '.join(step.name for step in STEPS) + """
exit codes: 0 complete, 1 stopped or refused, 2 invalid arguments, 130 interrupted
"""
_NAMES = [step.name for step in STEPS]
_LIMITS = ('effort_limit', 'velocity_limit')  # which may replace those of the URDF
_ROBOT = ('urdf_file', 'robot_description', 'base', 'tip', 'locked', 'gravity')
_STARTS = ' The controller is started before: the brakes open.'
_WHO_CARRIES = ('Does the driver add the gravity torque itself, as those of Franka, KUKA FRI, UR '
                'and YAM do?')
_RESUMES = 'the same command resumes with this step; --repeat STEP goes back further'


class Stopped(Exception):
    """The user does not want to go on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add('--folder', type=Path, metavar='DIR', help='state, recordings and results (default '
        'commission; dry_run with --dry-run)')
    add('--repeat', choices=_NAMES, metavar='STEP', help='do this step and all after it again')
    add('--dry-run', action='store_true', help='on a simulated arm with rotors, friction and '
        'masses drawn at random')
    add('--seed', type=int, default=0, help='seed of the simulated arm (default 0)')
    add('--pace', type=between(0.1, 2.0), default=1.0, metavar='FACTOR', help='on the speeds of '
        'the excitations, 0.2 and 0.45 of the limits (default 1)')
    add('--speed', type=between(0.01, 1.0), default=0.3, metavar='PART', help='part of the '
        'velocity limits in the motion that is compared (default 0.3)')
    add('--duration', type=between(5.0, 120.0), default=20.0, metavar='SECONDS',
        help='duration of each excitation (default 20)')
    add('--search', type=between(0.0, 600.0), default=10.0, metavar='SECONDS',
        help='time of the search for each (default 10)')
    add('--friction', choices=SHAPES, default='smooth', help='dry friction, as in `robodyn '
        'identify`, where the data supports it (default smooth)')
    add('--load-friction', action='store_true', help='also look for friction that grows with load')
    add('--params', type=Path, metavar='FILE', help='parameters of the controller that the arm '
        'needs (YAML), such as command_joints; its robot is not used')
    add_gravity_argument(parser, 'without it, it is asked')
    add_consent_arguments(parser)
    add_range_argument(parser)
    add_namespace_argument(parser)
    add_enclave_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Do the steps that are not done yet; return 0, or 1 if a step was refused."""
    check_consent(options, simulated=options.dry_run)
    given, out = _given(options), Steps()
    effort, velocity = (cast(ArrayLike, given.get(name, ())) for name in _LIMITS)
    robot = replace(robot_of(options), effort_limit=effort, velocity_limit=velocity)
    dynamics = Dynamics(robot.load())
    restricted(dynamics.model, options.ranges)
    if options.dry_run and given.get(GRAVITY_IN_DRIVER):
        raise ParameterError('the driver of the simulated arm does not compensate gravity: leave '
                             'out --driver-compensates-gravity or --dry-run')
    path = options.folder or Path('dry_run' if options.dry_run else 'commission')
    with made(path), (folder := Folder(path, _selection(options, robot, given))).locked():
        return _commission(options, robot, dynamics, folder, out, given)


def _commission(options: argparse.Namespace, robot: Robot, dynamics: Dynamics, folder: Folder,
                out: Steps, given: Values) -> int:
    """Do the steps that are not done yet; return the exit code."""
    if options.repeat:
        folder.forget_from(options.repeat, _NAMES)
    arm = _arm(options, robot, dynamics, folder, out, given)
    work = Work(robot, dynamics, arm, folder, out.tick,
                DryFriction(options.friction, options.load_friction), options.speed,
                pace=options.pace, excitation=options.duration, search=options.search,
                seed=options.seed, given=given, ranges=options.ranges)
    # consent to motions is none to the end of the controller, after which nothing holds an arm
    unasked = options.yes and options.dry_run
    try:
        for number, step in enumerate(STEPS, 1):
            _do(step, f'{number}/{len(STEPS)}', work, out, options.yes)
        path = work.write_result()
        report = write_report(work, folder / 'report.html')
        out.write_line(f'\nwritten: {path}, {report}')
        _release(work, out, unasked)
    except Stopped:
        _hold(work, out, unasked)
        out.write_line('stopped; the same command resumes here')
        return 1
    except KeyboardInterrupt:
        out.write_line()
        _hold(work, out, unasked)
        out.write_line(_RESUMES)
        raise
    except (RobodynError, OSError) as error:
        text, rows = str(error), getattr(error, 'evidence', {}).get('report', ())
        if isinstance(error, OSError) and error.filename is None:  # as of a full disk
            text = f'{work.folder.path}: {error.strerror or error}'
        out.write_paragraphs([*rows, text])
        _hold(work, out, unasked)
        out.write_line(_RESUMES)
        return 1
    except Exception:  # a defect, or a library that is not installed
        _hold(work, out, unasked)
        raise
    finally:
        arm.stop()
    for line in ('The next line to type:', '  ' + next_line(path, options.namespace)):
        out.write_line(line)
    return 0


def _given(options: argparse.Namespace) -> dict[str, object]:
    """Return the parameters of the controller that the options give, without the robot."""
    given = read_parameters(options.params) if options.params else {}
    given = {name: value for name, value in given.items() if name not in _ROBOT}
    answer = options.driver_compensates_gravity
    if answer is None and (GRAVITY_IN_DRIVER in given or options.dry_run):
        return given
    in_driver = answered(_WHO_CARRIES, ('n', 'no')) if answer is None else answer == 'yes'
    if in_driver is None:
        raise ParameterError(
            'who carries the arm is not known, and twice the gravity torque would throw it: '
            'answer yes or no, or give --driver-compensates-gravity yes or no')
    return {**given, GRAVITY_IN_DRIVER: in_driver}


def _selection(options: argparse.Namespace, robot: Robot, given: Values) -> list[str]:
    """Return the options that must not change while a commissioning is resumed."""
    return [*robot.options(),
            *(['--dry-run', str(options.seed)] if options.dry_run else []),
            *(['--namespace', options.namespace] if options.namespace else []),
            *(f'{name}: {value}' for name, value in sorted(given.items()))]


def _arm(options: argparse.Namespace, robot: Robot, dynamics: Dynamics, folder: Folder,
         out: Steps, given: Values):
    if options.dry_run:
        return SimulatedArm(robot, dynamics, folder.path, out.tick, options.seed)
    from robodyn_ros.commissioning.ros_arm import RosArm  # needs ROS
    return RosArm(robot, dynamics.model, folder.path, out.tick, enclave=options.enclave,
                  gravity_in_driver=bool(given.get(GRAVITY_IN_DRIVER)),
                  namespace=options.namespace)


def _do(step: Step, number: str, work: Work, out: Steps, yes: bool) -> None:
    """Do a step, unless it is done."""
    if step.name in work.folder.done:
        out.write_line(f'{number} {step.name}: done before')
        return
    out.write_line()
    starts = step.moves and not work.started and 'activation' in work.folder.done
    for line in textwrap.wrap(f'{number} {step.name}: {step.text}'
                              + (_STARTS if starts and step.name != 'after' else ''), WIDTH):
        out.write_line(line)
    if step.plan is not None:
        with out('plan the motion'):
            plan = work.plans[step.name] = step.plan(work)
        out.write_paragraphs(plan.lines)
    if step.moves and not yes and not agreed('The arm will move. Go on?'):
        raise Stopped
    with out(step.name):
        lines, result = step.act(work)
    out.write_paragraphs(lines)
    work.folder.complete(step.name, result, step.moves)


def _hold(work: Work, out: Steps, unasked: bool) -> None:
    """Hold the arm, and end the controller when the user agrees."""
    held = False
    try:
        held = work.arm.hold()
    except RobodynError as error:
        out.write_line(f'the arm could not be asked to hold: {error}')
    _release(work, out, unasked, held)


def _release(work: Work, out: Steps, unasked: bool, held: bool = True) -> None:
    """Wait until the user agrees to the end of the controller."""
    if unasked or not work.started:
        return
    question = ('The arm holds where it is. ' if held else 'The arm is not held. ') + (
        'Let the brakes in or support it: the controller ends. Is it supported?')
    while True:
        try:
            if answered(question, no=()) is None:
                out.write_line()
            return
        except KeyboardInterrupt:  # a repeated Ctrl-C must not end the controller
            out.write_line()
