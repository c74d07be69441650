"""
Record an arm that floats and is guided by hand, for `robodyn replay`.

The command asks before the arm floats: hold it, as it may sink. Then Enter marks a waypoint, q and
Enter (or Ctrl-C) ends the recording, and the arm holds where it is.
The result is a folder: trajectory.yaml (JointTrajectory), demonstration.json, and a bag in MCAP if
rosbags is installed.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
import math
from pathlib import Path
import shutil

import numpy as np

from robodyn_ros.cli.options import (
    add_consent_arguments, add_enclave_argument, add_namespace_argument, between, check_consent)
from robodyn_ros.cli.terminal import agreed, Keys, Steps
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.files import made
from robodyn_ros.nodes.bag import write_bag
from robodyn_ros.teaching import Demonstration
from robodyn_ros.teaching.demonstration import TRAJECTORY
from robodyn_ros.teaching.smoothing import MOVED

EXAMPLES = """examples:
  robodyn teach pick                                      then: robodyn replay pick arm.urdf
  robodyn teach pick --gripper /gripper/joint_states      with the positions of a gripper
  robodyn teach pick --duration 20 --replace

exit codes: 0 recorded, 1 refused by the user, 2 the arm cannot be guided or the folder exists,
            130 ended by Ctrl-C
"""
BAG, REFUSED = 'bag', 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add('name', type=Path, metavar='NAME', help='folder of the demonstration')
    add('--rate', type=between(1.0, 1000.0), default=100.0, metavar='HZ',
        help='points per second (default 100)')
    add('--duration', type=between(0.1, 3600.0), default=math.inf, metavar='SECONDS',
        help='end after this time (default: at q)')
    add('--gripper', default='', metavar='TOPIC',
        help='also record the positions of this topic of JointState messages')
    add('--replace', action='store_true', help='replace a demonstration of this name')
    add_consent_arguments(parser)
    add_namespace_argument(parser)
    add_enclave_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Record; return 0, or `REFUSED`."""
    check_consent(options)
    folder = options.name
    if (folder / TRAJECTORY).exists() and not options.replace:
        raise RobodynError(f'{folder} is a demonstration already: choose another name, or add '
                           '--replace', path=str(folder))
    if folder.exists() and not folder.is_dir():
        raise RobodynError(f'{folder} is a file: choose another name', path=str(folder))
    with made(folder):
        return _teach(options, folder)


def _teach(options: argparse.Namespace, folder: Path) -> int:
    """Let the arm float and record it; return 0, or `REFUSED`."""
    from robodyn_ros.client.demonstrations import HandGuiding  # needs ROS
    steps = Steps()
    guiding = HandGuiding(options.gripper, steps.tick, steps.write_line, options.enclave,
                          options.namespace)
    try:
        with steps('find the controller') as step:
            guiding.wait_for_arm()
            step.result = f'{len(guiding.joint_names)} joints'
        if not options.yes and not agreed('The arm will float, and may sink. Do you hold it?'):
            return REFUSED
        try:
            with steps('float: guide the arm by hand') as step:
                steps.write_line('Enter: waypoint; q and Enter: end')
                guiding.record(Keys(), options.duration)
        finally:
            demonstration = guiding.demonstration(options.rate)
            if demonstration is not None:
                _write(folder, demonstration, guiding, steps)
    finally:
        guiding.close()
    if demonstration is None:
        raise RobodynError('nothing was recorded: the joint states have stopped')
    steps.write_line(f'robodyn replay {folder} [URDF] replays it')
    return 0


def _write(folder: Path, demonstration: Demonstration, guiding, steps: Steps) -> None:
    demonstration.write(folder)
    moved = np.ptp(demonstration.positions, axis=0)
    widest = int(np.argmax(moved))
    steps.write_line(f'written: {folder / TRAJECTORY}: {demonstration.times[-1]:.1f} s, '
                     f'{len(demonstration.waypoints)} waypoints; joint '
                     f"'{demonstration.joint_names[widest]}' moved by {moved[widest]:.2f}")
    if moved[widest] <= MOVED:
        steps.write_line('the arm has hardly moved: there is nothing to replay')
    if find_spec('rosbags') is None:
        steps.write_line("no bag: it needs pip install 'robodyn_ros[record]'")
        return
    shutil.rmtree(folder / BAG, ignore_errors=True)
    path = write_bag(folder / BAG, guiding.recorded)
    steps.write_line(f'written: {path}')
