"""
Run a simulated arm under the real controller, and judge what it does.

Two processes talk over ROS as on a real arm. The arm is held, floats, makes a fast motion with all
joints, makes it again with gravity left out of the feedforward, and is left alone by the
controller. What it did is measured on the topics: a table, a verdict and a picture.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import signal

from robodyn_ros.cli.findings import Findings
from robodyn_ros.cli.motion import plan_motion
from robodyn_ros.cli.progress import Steps
from robodyn_ros.cli.report import verdict
from robodyn_ros.cli.story import Story
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.share import share_path

EXAMPLES = """examples:
  robodyn demo
  robodyn demo --urdf arm.urdf --lock finger_joint:0.02 --speed 0.3
  robodyn demo --urdf torso.urdf --base torso --tip left_hand --output results
"""


def _between(low: float, high: float):
    """Return a checker of numbers in a range."""
    def number_in_range(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float('nan')
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f'{text!r} must be a number from {low:g} to {high:g}')
        return value
    return number_in_range


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add('--urdf', type=Path, help='the arm; default the seven joints that come with the package')
    add('--base', default='', metavar='LINK', help='link that is the immovable base')
    add('--tip', default='', metavar='LINK', help='link at the end of the chain that moves')
    add('--lock', action='append', default=[], metavar='JOINT:POSITION',
        help='lock a joint; may be repeated')
    add('--duration', type=_between(0.5, 10.0), default=2.0, metavar='SECONDS',
        help='of the motion; longer where the motors are weak (default 2)')
    add('--speed', type=_between(0.01, 1.0), default=0.6, metavar='PART',
        help='part of the velocity limits to reach (default 0.6)')
    add('--rate', type=_between(50.0, 4000.0), default=1000.0, metavar='HZ',
        help='states per second, and steps of the simulation (default 1000)')
    add('--output', type=Path, default=Path(), metavar='DIR',
        help='where robodyn_demo.png and robodyn_demo.npz go (default: here)')
    add('--no-plot', action='store_true', help='no picture')
    add('--keep-logs', action='store_true', help='keep what the processes said')


def run(options: argparse.Namespace) -> int:
    """Run the demo; return 0 if all criteria hold, else 1."""
    from robodyn_ros.cli.session import Robot, Session  # needs ROS

    signal.signal(signal.SIGTERM, _interrupt)
    steps = Steps()
    robot = Robot(options.urdf or share_path('urdf', 'robodyn7.urdf'), options.base, options.tip,
                  tuple(options.lock))
    options.output.mkdir(parents=True, exist_ok=True)
    with steps('load the robot, plan a motion') as step:
        model = robot.load()
        motion = plan_motion(Dynamics(model), options.duration, options.speed)
        step.result = f'{model.name}, {model.nv} joints, {motion.duration:.1f} s of motion'
    findings = Findings(model, motion)
    with Session(robot, model, motion.start, options.rate, options.output,
                 steps.tick) as session:
        with steps('start simulator and controller') as step:
            session.start()
            step.result = f'on ROS_DOMAIN_ID={session.domain}, this machine only'
        Story(session, findings, steps).tell()
    if not options.keep_logs:
        session.remove_logs()
    return conclude(findings, options, steps)


def conclude(findings: Findings, options: argparse.Namespace, steps: Steps) -> int:
    """Write files, print tables and verdicts, and return the exit code."""
    written = [options.output / 'robodyn_demo.npz']
    findings.save(written[0])
    if not options.no_plot:
        with steps('draw') as step:
            try:
                from robodyn_ros.cli.plot import plot
                plot(findings, options.output / 'robodyn_demo.png')
                written.insert(0, options.output / 'robodyn_demo.png')
            except ImportError as error:
                step.result = f'no picture: {error}; pip install matplotlib'
    criteria = findings.criteria()
    for line in ('', *findings.joints(), '', *findings.loop(), '', *findings.notes(),
                 *verdict(criteria), '', 'written: ' + ', '.join(map(str, written))):
        steps.say(line)
    return 1 if any(each.passed is False for each in criteria) else 0


def _interrupt(_number, _frame) -> None:
    """End as after Ctrl-C."""
    raise KeyboardInterrupt
