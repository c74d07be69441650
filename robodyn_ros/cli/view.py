"""
Show a running arm in the browser: joint states, reference and torque terms.

Subscribes to joint states and robot_description of a simulator or a real arm. With --control the
first client of the page may also send commands, and drag the links of a simulated arm.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import socket
import sys

import numpy as np

from robodyn_ros.cli.options import add_enclave_argument, add_robot_arguments, between, robot_of
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.source import read_source
from robodyn_ros.priority import LAST, set_priority
from robodyn_ros.view.feasibility import default_poses
from robodyn_ros.view.visuals import read_visuals

EXAMPLES = """examples:
  robodyn view                                the arm that publishes its robot_description
  robodyn view --control                      with buttons, sliders and dragging
  robodyn view arm.urdf --namespace left
  robodyn view --control --pose home:0,0.5,0,-1,0,0.5,0
  robodyn view --host 0.0.0.0                 also for other machines
"""
THIS_MACHINE = '127.0.0.1'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser, 'the topic robot_description')
    add = parser.add_argument
    add('--control', action='store_true',
        help='the first client of the page may send commands; others only watch')
    add('--pose', action='append', default=[], metavar='NAME:Q1,Q2,...',
        help='a pose for the menu, in the order of the joints; may be repeated')
    page = parser.add_argument_group('the page')
    page.add_argument('--host', default=THIS_MACHINE, metavar='ADDRESS',
                      help='address of the server; 0.0.0.0: all who have the printed address may '
                      'watch, and with --control send commands (default: this machine only)')
    page.add_argument('--allow-host', action='append', default=[], metavar='NAME',
                      help='with --host: another name of this machine; may be repeated')
    page.add_argument('--port', type=int, metavar='N', help='default 8080, or the next free one')
    page.add_argument('--rate', type=between(1.0, 30.0), default=30.0, metavar='HZ',
                      help='frames per second; lower for a slow browser (default 30)')
    ros = parser.add_argument_group('topics and nodes')
    ros.add_argument('--namespace', default='', metavar='NAME', help='namespace of the arm')
    ros.add_argument('--joint-states', default='joint_states', metavar='TOPIC',
                     help='default joint_states')
    ros.add_argument('--controller', metavar='NODE', help='default computed_torque_controller')
    ros.add_argument('--simulator', metavar='NODE', help='default robot_simulator')
    add_enclave_argument(ros)
    ros.add_argument('--timeout', type=between(0.1, 3600.0), default=30.0, metavar='SECONDS',
                     help='time to wait for robot_description (default 30)')


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; return 0."""
    from robodyn_ros.nodes.process import StopRequest  # needs ROS
    from robodyn_ros.nodes.view.live import LiveView
    from robodyn_ros.view.page import Page
    from robodyn_ros.view.server import free_port, serve

    free_port(options.host, options.port)  # raises before the wait for a robot
    set_priority(LAST)
    stop = StopRequest()
    stop.install()
    with LiveView(_names(options), options.namespace, options.enclave) as live:
        with Steps()('wait for the robot' if _waits(options) else 'read the URDF'):
            model, text, folder = _robot(options, live)
        poses, surfaces = _poses(model, options.pose), _surfaces(model, text, folder)
        dynamics = Dynamics(model)
        with serve(options.host, options.port, model.name, options.allow_host) as (server, token):
            page = Page(server, dynamics, surfaces, options.tip or model.tip,
                        live.page_commands.put, options.control, poses, options.rate)
            _announce(server, token, options)
            stop.defer()
            live.show(page, model, options.control, lambda: stop.requested)
    return 0


def _names(options: argparse.Namespace):
    from robodyn_ros.nodes.view.feed import Names  # needs ROS

    given = {'joint_states': options.joint_states, 'controller': options.controller,
             'simulator': options.simulator}
    return Names(**{key: value for key, value in given.items() if value})


def _waits(options: argparse.Namespace) -> bool:
    """Return whether the URDF is that of the topic robot_description."""
    return not (options.urdf or options.path)


def _robot(options: argparse.Namespace, live) -> tuple[RobotModel, str | bytes, Path | None]:
    """Return the model, its URDF, and the folder of the URDF."""
    robot = robot_of(options)
    if not _waits(options):
        text, folder = read_source(robot.urdf), robot.urdf.parent
    else:
        text, folder = live.description(options.timeout), None
    return RobotModel.from_urdf(text, gravity=robot.gravity, **robot.selection()), text, folder


def _surfaces(model: RobotModel, urdf: str | bytes, folder: Path | None):
    from robodyn_ros.view.surfaces import arm_surfaces

    visuals, invalid = read_visuals(urdf)
    surfaces, missing = arm_surfaces(model, visuals, folder)
    problems = invalid + missing
    if problems:
        more = f' (and {len(problems) - 1} more)' if len(problems) > 1 else ''
        print(f'robodyn view: {problems[0]}{more}; capsules replace missing shapes',
              file=sys.stderr)
    return surfaces


def _poses(model: RobotModel, given: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the default poses and those of `--pose`."""
    poses = default_poses(model)
    for text in given:
        name, _, values = text.rpartition(':')
        try:
            q = np.array([float(value) for value in values.split(',')])
        except ValueError:
            q = np.empty(0)
        if not name or q.shape != (model.nv,) or not np.isfinite(q).all():
            raise ParameterError(
                f'--pose {text}: give a name and {model.nv} positions, of '
                f'{", ".join(model.joint_names)}, as in home:' + ','.join(['0'] * model.nv))
        poses[name] = q
    return poses


def _announce(server, token: str, options: argparse.Namespace) -> None:
    from robodyn_ros.view.server import LOOPBACK, url

    access = 'this machine only' if options.host in LOOPBACK else (
        'all who have this address can watch'
        + (', and the first one can command the arm' if options.control else ''))
    print(f'open {url(server, token)} ({access}); Ctrl-C ends it', flush=True)
    if options.host not in LOOPBACK:
        print(f'from other machines: {url(server, token, socket.gethostname())}', flush=True)
    if not options.control:
        print('the page sends no commands; with --control the first client has buttons and '
              'dragging', flush=True)
