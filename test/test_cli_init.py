"""Parameters for a first launch: a file that the controller takes, and that holds the arm."""

from pathlib import Path
import sys

from lockstep_arm import LockstepArm
import numpy as np
import pytest
from robodyn_ros.cli import options
from robodyn_ros.cli.main import main, USER_MISTAKE
from robodyn_ros.model.robot import Robot
from robodyn_ros.share import share_path
from robodyn_ros.simulation import Plant
import yaml

ARM = share_path('urdf', 'robodyn6.urdf')
ROTOR = 0.1  # kg m^2


def written(tmp_path, urdf, *options):
    """Return text and parameters of the file that is written for a URDF."""
    path = tmp_path / 'arm.yaml'
    assert main(['init', str(urdf), '--output', str(path), *options]) == 0
    text = path.read_text()
    node, = yaml.safe_load(text).values()
    return text, node['ros__parameters']


def test_robot_and_joints_are_those_of_the_urdf(tmp_path, capsys):
    text, values = written(tmp_path, ARM)
    assert values['urdf_file'] == str(ARM)
    assert values['command_joints'] == [f'joint{k}' for k in range(1, 7)]
    assert 'driver_compensates_gravity' not in values and 'armature' not in values
    assert 'armature: [0.0, 0.0, 0.0, 0.08, 0.06, 0.024]' in text
    assert 'driver_compensates_gravity: true or false' in text
    assert capsys.readouterr().out.startswith(text)
    assert main(['init', str(ARM), '--output', str(tmp_path / 'arm.yaml')]) == USER_MISTAKE
    assert 'exists already' in capsys.readouterr().err
    assert (tmp_path / 'arm.yaml').read_text() == text


@pytest.mark.parametrize('answer, value', [('yes', True), ('no', False)])
def test_who_compensates_gravity_is_written(tmp_path, answer, value):
    text, values = written(tmp_path, ARM, '--driver-compensates-gravity', answer)
    assert values['driver_compensates_gravity'] is value
    assert 'true or false' not in text


def test_the_next_line_is_one_that_can_be_typed_here(monkeypatch):
    monkeypatch.setattr(options.shutil, 'which', lambda _: '/opt/ros/bin/ros2')
    assert options.next_line(Path('my arm.yaml'), 'left') == (
        "ros2 launch robodyn_ros controller.launch.py params_file:='my arm.yaml' namespace:=left")
    monkeypatch.setattr(options.shutil, 'which', lambda _: None)
    node, *rest = options.next_line(Path('arm.yaml'), 'left').split()
    assert Path(node) == Path(sys.executable).parent / 'controller'
    assert rest == ['--ros-args', '--params-file', 'arm.yaml', '-r', '__ns:=/left']


class Arm:
    """A plant with rotors that its URDF lacks."""

    period = 0.002

    def __init__(self, model, start):
        self.plant = Plant(model, self.period, armature=np.full(model.nv, ROTOR))
        self.plant.q[:] = start
        self.torque = self.plant.dynamics.gravity(start)

    def read(self):
        return self.plant.q.copy(), self.plant.qd.copy(), self.torque.copy()

    def step(self, torque):
        self.torque = torque.copy()
        self.plant.step(torque)


@pytest.mark.slow
def test_an_arm_with_unknown_rotors_moves(tmp_path):
    _, values = written(tmp_path, ARM, '--driver-compensates-gravity', 'no')
    for name in ('urdf_file', 'gravity', 'driver_compensates_gravity', 'command_joints'):
        values.pop(name)  # of the node
    robot = Robot(ARM)
    model = robot.load()
    start = np.clip([0.0, -0.3, 0.8, 0.0, 0.9, 0.0], model.lower, model.upper)
    arm = LockstepArm(robot, Arm(model, start))
    arm.start(ARM, values)  # raises in a fault
    zero = np.zeros((1, model.nv))
    run = arm.execute((np.array([1.5]), start[None] + 0.3, zero, zero))
    assert not run.shortfall and not arm.control.status.unmet_goal
    np.testing.assert_allclose(run.reference[-1], start + 0.3, atol=1e-9)  # not aborted
    assert np.abs(run.error).max() < 0.1  # rad, half of the tolerance by default
