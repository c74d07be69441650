"""
The controller of an FR3 by Franka's own library, against a simulator of its protocol.

    python tools/franka_soak.py fr3.urdf SECONDS --server PYTHON [--mjcf fr3.xml]

PYTHON is an interpreter with the package franka-sim, whose server aborts a motion after 20 lost
commands, and at a torque step that the robot would refuse; here it listens on 127.0.0.1 alone.
This interpreter needs pylibfranka. The arm is moved, floats, and is held; every half minute the
controller is killed and started again. The last lines are the figures of the bridge: 0 faults are
expected. On a machine that is busy elsewhere motions are stopped, and the success rate is low.
"""

import argparse
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from robodyn_ros.cli.main import main
from robodyn_ros.client import Arm
from robodyn_ros.exceptions import RobodynError

SERVER = ("from franka_sim import FrankaSimServer; FrankaSimServer(host='127.0.0.1', "
          'enable_gripper=False, enforce_comm_constraints=True, enforce_motion_limits=True)'
          '.start()')
BRIDGE = ("import sys; from robodyn_ros.cli.main import main; sys.exit(main(['bridge', 'franka', "
          "'127.0.0.1', '--no-realtime']))")
_KILLED = 30.0  # s from one kill -9 of the controller to the next
_MOVES = 4.0    # s of a motion


def start(log, *command, **environment):
    """Return a process in a session of its own, with its output in a file."""
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True,
                            env={**os.environ, **environment})


def soak(urdf, seconds, server, mjcf, folder):
    """Return the log of the bridge, and the number of motions and of kills."""
    main(['arm', 'fr3', '--urdf', str(urdf), '--write', str(folder / 'fr3')])
    logs = [(folder / f'{name}.log').open('w') for name in ('server', 'bridge', 'controller')]
    controller = [sys.executable, '-m', 'robodyn_ros.nodes.controller.node', '--ros-args',
                  '--params-file', str(folder / 'fr3' / 'arm.yaml')]
    processes = [start(logs[0], server, '-c', SERVER, **({'FR3_MJCF': str(mjcf)} if mjcf else {}))]
    time.sleep(4.0)
    processes += [start(logs[1], sys.executable, '-c', BRIDGE), start(logs[2], *controller)]
    end, moves, kills = time.monotonic() + seconds, 0, 0
    try:
        while time.monotonic() < end:
            until = min(time.monotonic() + _KILLED, end)
            try:
                with Arm(timeout=60.0) as arm:
                    home = np.array(arm.state.q)
                    while time.monotonic() < until:
                        for goal in (home + 0.2, home):
                            arm.move(goal, _MOVES)
                            moves += 1
                        arm.float()
                        time.sleep(1.0)
                        arm.hold()
            except RobodynError as error:
                print(f'controller: {error}', flush=True)
                time.sleep(1.0)
            if time.monotonic() < end:
                kills += 1
                processes[-1].kill()
                processes[-1].wait()
                time.sleep(1.0)
                processes[-1] = start(logs[2], *controller)
    finally:
        for each in processes[::-1]:
            each.send_signal(signal.SIGINT)
            try:
                each.wait(15.0)
            except subprocess.TimeoutExpired:
                each.kill()
    return (folder / 'bridge.log').read_text(), moves, kills


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('urdf', type=Path)
    parser.add_argument('seconds', type=float)
    parser.add_argument('--server', default=sys.executable)
    parser.add_argument('--mjcf', type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bridge, moves, kills = soak(options.urdf.resolve(), options.seconds, options.server,
                                    options.mjcf, Path(name))
        print((Path(name) / 'controller.log').read_text()[-3000:])
    print(bridge)
    print(f'{moves} motions, {kills} kills of the controller')
