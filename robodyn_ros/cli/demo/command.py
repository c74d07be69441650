"""
Run a simulated arm under the real controller, and judge the result.

Simulator and controller communicate over ROS as on a real arm. The arm is held, floats, executes a
fast motion of all joints with and without gravity in the feedforward, and keeps its last torque
when the controller exits. The results, measured on the topics, are a table, a verdict and a
picture.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
import re
import signal
from typing import TYPE_CHECKING

from robodyn_ros.cli.demo.findings import Findings
from robodyn_ros.cli.demo.scenario import Scenario
from robodyn_ros.cli.options import add_motion_arguments, add_robot_arguments, between, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.control import ArmController, with_slots
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.model.robot import Robot
from robodyn_ros.nodes.bag import check_bag, write_bag
from robodyn_ros.simulation.motion import plan_motion
from robodyn_ros.text import verdict

if TYPE_CHECKING:  # the session needs ROS
    from robodyn_ros.client.session import Session

EXAMPLES = """examples:
  robodyn demo
  robodyn demo --urdf arm.urdf --lock finger_joint:0.02 --speed 0.3
  robodyn demo --bag run1
  robodyn demo --view                                show and move the arm in the browser
  robodyn demo --urdf torso.urdf --base torso --tip left_hand --output results
"""
_START = 30.0  # s until the page must be served
_CHECK = 0.2   # s between two checks of the processes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser)
    add_motion_arguments(parser)
    add = parser.add_argument
    add('--rate', type=between(50.0, 4000.0), default=1000.0, metavar='HZ',
        help='rate of states and simulation steps (default 1000)')
    add('--output', type=Path, default=Path(), metavar='DIR',
        help='folder of robodyn_demo.png and robodyn_demo.npz (default: current folder)')
    add('--bag', type=Path, metavar='DIR', help='also record the topics as a rosbag2 in MCAP to '
        'this new folder, for Foxglove and PlotJuggler')
    add('--view', action='store_true', help='also show the arm in the browser, where it floats '
        'after the demo until Ctrl-C')
    add('--no-plot', action='store_true', help='write no picture')
    add('--keep-logs', action='store_true', help='keep the logs of the processes')


def run(options: argparse.Namespace) -> int:
    """Run the demo; return 0 if all criteria hold, else 1."""
    from robodyn_ros.client.session import Session  # needs ROS

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.bag:
        check_bag(options.bag)
    if options.view:
        check_view()
    steps = Steps()
    robot = robot_of(options)
    options.output.mkdir(parents=True, exist_ok=True)
    with steps('load the robot, plan a motion') as step:
        model = robot.load()
        motion = plan_motion(Dynamics(model), options.duration, options.speed)
        # fills the cache, so that the controller compiles nothing during the motion
        dynamics = Dynamics(with_slots(model))
        ArmController(dynamics).compile_all()
        step.result = f'{model.name}, {model.nv} joints, {motion.duration:.1f} s of motion'
    findings = Findings(model, motion)
    session = Session(robot, model, motion.start, options.rate, options.output, steps.tick,
                      bool(options.bag))
    try:
        code = _run(session, robot, findings, options, steps)
    except RobodynError:
        if session.log_files():
            steps.write_line('logs: ' + ', '.join(map(str, session.log_files())))
        raise
    if options.keep_logs:
        steps.write_line('logs: ' + ', '.join(map(str, session.log_files())))
    else:
        session.remove_logs()
    return code


def _run(session: Session, robot: Robot, findings: Findings, options: argparse.Namespace,
         steps: Steps) -> int:
    """Run all in a session; return the exit code."""
    with session:
        with steps('start simulator and controller') as step:
            session.start()
            step.result = f'on ROS_DOMAIN_ID={session.domain}, this machine only'
        if options.view:
            with steps('open the page') as step:
                step.result = address = open_page(session, robot)
        Scenario(session, findings, steps).run()
        code = _conclude_all(session, findings, options, steps)
        if options.view:
            stay(session, address, steps)
    return code


def _conclude_all(session: Session, findings: Findings, options: argparse.Namespace,
                  steps: Steps) -> int:
    """Write the bag, if requested; then conclude."""
    if options.bag:
        with steps('write the bag') as step:
            step.result = str(write_bag(options.bag, session.recorder.recorded))
    return conclude(findings, options, steps)


def conclude(findings: Findings, options: argparse.Namespace, steps: Steps) -> int:
    """Write files, print tables and verdicts, and return the exit code."""
    written = [options.output / 'robodyn_demo.npz']
    findings.save(written[0])
    if not options.no_plot:
        with steps('draw') as step:
            try:
                from robodyn_ros.cli.demo.plot import plot
                plot(findings, options.output / 'robodyn_demo.png')
                written.insert(0, options.output / 'robodyn_demo.png')
            except ImportError as error:
                step.result = f'no picture: {error}; pip install matplotlib'
    criteria = findings.criteria()
    for line in ('', *findings.joints(), '', *findings.loop(), '', *findings.notes(),
                 *verdict(criteria, findings.reservation()), '',
                 'written: ' + ', '.join(map(str, written))):
        steps.write_line(line)
    return 1 if any(each.passed is False for each in criteria) else 0


def check_view() -> None:
    """Raise if the page cannot be served."""
    if find_spec('viser') is None:
        raise RobodynError("the page needs viser: pip install 'robodyn_ros[view]', or leave out "
                           '--view')


def open_page(session: Session, robot: Robot) -> str:
    """
    Start `robodyn view`, and return the address of its page.

    Raises
    ------
    StateError
        The page is not served; with the last message of the process.

    """
    child = session.start_extra('view', 'robodyn_ros.cli.main',
                                ['view', '--control', *robot.options()])
    session.recorder.wait(lambda: _address(child) or child.exit_code is not None, _START)
    address = _address(child)
    if not address:
        raise StateError(f'no page was served within {_START:g} s: {child.last_message()}')
    return address


def stay(session: Session, address: str, steps: Steps) -> None:
    """Keep the arm floating and the page served until Ctrl-C."""
    with steps('start the controller again, float') as step:
        session.start_controller()
        session.call('float')
        step.result = f'move the arm at {address}'
    session.recorder.close()  # more states are not used
    steps.write_line('Ctrl-C ends it')
    try:
        while True:
            session.sleep(_CHECK)
    except KeyboardInterrupt:
        steps.write_line()


def _address(child) -> str:
    found = re.search(r'http://[^ ]+', child.log.read_text(errors='replace'))
    return found[0] if found else ''
