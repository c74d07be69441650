"""The first launch of every profile, rehearsed with --simulate: the steps as they are printed."""

import os
from pathlib import Path
import re
import shlex
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from robodyn_ros import arms  # noqa: E402
from robodyn_ros.cli.main import main  # noqa: E402
from robodyn_ros.client import Arm  # noqa: E402
from ros_process import wait_until  # noqa: E402
from test_arms import made_urdf  # noqa: E402
import yaml  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
OTHER_FORM = ('command_type', 'command_fields', 'drive_kp', 'drive_kd', 'loop', 'shared_block')
LINE = re.compile(r'^  (\S*controller --ros-args .*|ros2 launch .*)$', re.M)


class Started:
    """A process with its output, in a session of its own."""

    def __init__(self, command, log):
        self._file = log.open('w')
        self.log, self.process = log, subprocess.Popen(
            command, stdout=self._file, stderr=self._file, start_new_session=True, cwd=ROOT,
            env={**os.environ, 'PYTHONPATH': str(ROOT)})

    @property
    def output(self):
        return self.log.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(20.0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self._file.close()


def with_hardware(path, profile):
    """Write the parameters of the hardware that the steps ask for into a URDF."""
    tree = ElementTree.parse(path)
    hardware = ElementTree.SubElement(
        ElementTree.SubElement(tree.getroot(), 'ros2_control', name='arm', type='system'),
        'hardware')
    for step in profile.steps.by_name.values():
        for each in step.hardware:
            name, value = each.split(':')
            ElementTree.SubElement(hardware, 'param', name=name).text = value
    tree.write(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize('name', arms.names())
def test_a_first_launch_is_rehearsed(name, tmp_path, capsys, monkeypatch):
    profile = arms.load(name)[1].named('')
    urdf = str(with_hardware(made_urdf(profile, tmp_path), profile))
    monkeypatch.chdir(tmp_path)
    options = ['--urdf', urdf]
    assert main(['arm', name, *options, '--write', name]) == 0
    capsys.readouterr()
    # as the first lines of --simulate ask for it
    path = tmp_path / name / 'arm.yaml'
    table = yaml.safe_load(path.read_text())
    for values in (each['ros__parameters'] for each in table.values()):
        for key in OTHER_FORM:
            values.pop(key, None)
        if not profile.parameters.effort_limit:  # a step of some profiles
            values['effort_limit'] = [20.0] * len(profile.joints)
        if profile.command.silence != 'repeat':  # and another one
            values['silence.may_fall'] = True
    path.write_text(yaml.safe_dump(table))
    command = [sys.executable, '-m', 'robodyn_ros.cli.main', 'arm', name, *options, '--simulate']
    with Started(command, tmp_path / 'simulator.log') as simulator:
        line = wait_until(lambda: LINE.search(simulator.output), 'the line of the controller')[1]
        code = main(['arm', name, *options, '--check', '--timeout', '60'])
        said = capsys.readouterr().out
        # the plugin is a node here
        assert code == 0 or profile.command.way == arms.PLUGIN, said
        assert said.count('STOP') == code and ('does not run: activate it' in said) == bool(code)
        words = shlex.split(line)
        if words[0] != 'ros2':
            words[:1] = [sys.executable, '-m', 'robodyn_ros.nodes.controller.node']
        words = [str(path) if each.endswith('arm.yaml') else each for each in words]
        with Started(words, tmp_path / 'controller.log') as controller:
            wait_until(lambda: 'loop measured' in controller.output, 'the measured loop',
                       timeout=90.0)
            if profile.state.topic == 'joint_states':  # that of the client
                with Arm(timeout=30.0) as arm:
                    home = arm.state.q.copy()
                    arm.move(home + 0.1, 2.0)
                    time.sleep(0.5)
                    assert np.abs(arm.state.q - home - 0.1).max() < 0.03
            assert '[ERROR]' not in controller.output and '[FATAL]' not in controller.output
