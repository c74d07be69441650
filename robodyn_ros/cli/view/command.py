"""
Show an arm in the browser: what it does, what it is asked, and why this torque.

Listens to joint states and robot_description, of a simulator or of any arm. With --control the
first one at the page may also command, and pull the links of a simulated arm with the mouse.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
import socket
import sys

import numpy as np

from robodyn_ros.cli.domain import add_enclave_argument
from robodyn_ros.cli.processes import LAST, set_priority
from robodyn_ros.cli.robot import add_robot_arguments, between, Robot
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.source import read_source
from robodyn_ros.view.moves import usual_poses
from robodyn_ros.view.visuals import read_visuals

EXAMPLES = """examples:
  robodyn view                                the arm that publishes its robot_description
  robodyn view --control                      with buttons, sliders, and a hand for a simulated arm
  robodyn view arm.urdf --namespace left
  robodyn view --control --pose home:0,0.5,0,-1,0,0.5,0
  robodyn view --host 0.0.0.0                 other machines may look, too
"""
THIS_MACHINE = '127.0.0.1'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_robot_arguments(parser, 'what robot_description says')
    add = parser.add_argument
    add('--control', action='store_true',
        help='the first one at the page may command; all others watch')
    add('--pose', action='append', default=[], metavar='NAME:Q1,Q2,...',
        help='a pose to choose from, in the order of the joints; may be repeated')
    page = parser.add_argument_group('the page')
    page.add_argument('--host', default=THIS_MACHINE, metavar='ADDRESS',
                      help='to listen at; 0.0.0.0: whoever in the network has the address that is '
                      'printed may look, and command with --control (default: this machine only)')
    page.add_argument('--allow-host', action='append', default=[], metavar='NAME',
                      help='with --host: a name by which others call this machine, besides its '
                      'own; may be repeated')
    page.add_argument('--port', type=int, metavar='N', help='default 8080, or the next free one')
    page.add_argument('--rate', type=between(1.0, 30.0), default=30.0, metavar='HZ',
                      help='pictures per second; fewer for a browser that is slow (default 30)')
    ros = parser.add_argument_group('what is looked at')
    ros.add_argument('--namespace', default='', metavar='NAME', help='of the arm')
    ros.add_argument('--joint-states', default='joint_states', metavar='TOPIC',
                     help='default joint_states')
    ros.add_argument('--controller', metavar='NODE', help='default computed_torque_controller')
    ros.add_argument('--simulator', metavar='NODE', help='default robot_simulator')
    add_enclave_argument(ros)
    ros.add_argument('--timeout', type=between(0.1, 3600.0), default=30.0, metavar='SECONDS',
                     help='to wait for robot_description (default 30)')


def run(options: argparse.Namespace) -> int:
    """Show the page until Ctrl-C; return 0."""
    from robodyn_ros.nodes.process import StopRequest  # needs ROS
    from robodyn_ros.nodes.view.live import LiveView
    from robodyn_ros.view.page import Page
    from robodyn_ros.view.server import free_port, serve

    free_port(options.host, options.port)  # refused before the wait for a robot
    set_priority(LAST)
    stop = StopRequest()
    stop.install()
    with LiveView(_names(options), options.namespace, options.enclave) as live:
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
    from robodyn_ros.nodes.view.names import Names  # needs ROS

    given = {'joint_states': options.joint_states, 'controller': options.controller,
             'simulator': options.simulator}
    return Names(**{key: value for key, value in given.items() if value})


def _robot(options: argparse.Namespace, live) -> tuple[RobotModel, str | bytes, Path | None]:
    """Return the model, the URDF that it was made of, and where that lies."""
    robot = Robot.from_options(options)
    if options.urdf or options.path:
        text, folder = read_source(robot.urdf), robot.urdf.parent
    else:
        text, folder = live.description(options.timeout), None
    return RobotModel.from_urdf(text, gravity=robot.gravity, **robot.selection()), text, folder


def _surfaces(model: RobotModel, urdf: str | bytes, folder: Path | None):
    from robodyn_ros.view.surfaces import arm_surfaces

    visuals, odd = read_visuals(urdf)
    surfaces, missing = arm_surfaces(model, visuals, folder)
    problems = odd + missing
    if problems:
        more = f' ({len(problems) - 1} more like that)' if len(problems) > 1 else ''
        print(f'robodyn view: {problems[0]}{more}; capsules stand for what is missing',
              file=sys.stderr)
    return surfaces


def _poses(model: RobotModel, given: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the usual poses and those that `--pose` names."""
    poses = usual_poses(model)
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

    whom = 'this machine only' if options.host in LOOPBACK else (
        'who has this address can look'
        + (', and the first one can command the arm' if options.control else ''))
    print(f'look at {url(server, token)} ({whom}); Ctrl-C ends it', flush=True)
    if options.host not in LOOPBACK:
        print(f'from other machines: {url(server, token, socket.gethostname())}', flush=True)
    if not options.control:
        print('it only watches; --control gives the first one at the page buttons and a hand',
              flush=True)
