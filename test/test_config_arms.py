"""The files of parameters for an arm of six and of seven joints: nodes take them, arms move."""

from collections import deque

from closed_loop import Loop
import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='the tables of the nodes need rclpy')

from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.nodes.controller.node import NAME  # noqa: E402
from robodyn_ros.nodes.controller.parameters import (  # noqa: E402
    ControllerSettings, PARAMETERS)
from robodyn_ros.settings import with_values  # noqa: E402
from ros_process import NodeProcess, ROOT  # noqa: E402

HOMES = {6: [0.2, -0.4, 0.6, 0.0, 0.5, 0.0], 7: [0.3, 0.5, -0.2, -1.0, 0.4, 0.6, -0.1]}
LATE = 8  # ms from a state to its answer, as the files promise
TABLE = {row.name: row for row in PARAMETERS}


def path(joints):
    return ROOT / 'config' / f'robodyn{joints}_controller.yaml'


def urdf(joints):
    return ROOT / 'urdf' / f'robodyn{joints}.urdf'


def given(joints):
    """Return the parameters in a file by their dotted names."""
    (node, section), = yaml.safe_load(path(joints).read_text(encoding='utf-8')).items()
    assert node == f'/**/{NAME}' and list(section) == ['ros__parameters']
    values = dict(section['ros__parameters'])
    constraints = values.pop('constraints')
    return {**values, **{f'constraints.{name}': value for name, value in constraints.items()}}


@pytest.mark.parametrize('joints', HOMES)
def test_values_are_of_the_arm_and_of_the_table(joints):
    model, values = RobotModel.from_urdf(urdf(joints)), given(joints)
    assert tuple(values['command_joints']) == model.joint_names
    for name, value in values.items():
        TABLE[name].checked(value)
        if TABLE[name].per_joint:
            assert len(value) in (1, joints), name
        if TABLE[name].kind.startswith('double'):  # ROS takes 1 for an integer
            assert {type(each) for each in np.atleast_1d(value).tolist()} == {float}, name


@pytest.mark.parametrize('joints', HOMES)
def test_the_controller_takes_the_file(joints):
    with NodeProcess('robodyn_ros.nodes.controller.node', {'urdf_file': str(urdf(joints))},
                     ['--params-file', str(path(joints))]) as node:
        node.wait_for_output('waiting: no joint state')
        assert node.stop()[0] == 0


@pytest.mark.parametrize('joints', HOMES)
@pytest.mark.parametrize('late', [0, LATE])
def test_the_arm_moves_within_its_constraints(joints, late):
    file, model = given(joints), RobotModel.from_urdf(urdf(joints))
    values = with_values(ControllerSettings(), file).control
    loop = Loop(model, values, {'friction_scale': values.friction_scale}, HOMES[joints],
                friction=True)
    states = deque(maxlen=late + 1)

    def run(seconds):
        for _ in range(round(1e3 * seconds)):
            states.append((loop.plant.q.copy(), loop.plant.qd.copy()))
            loop.send(loop.control.update(loop.now, *states[0]))

    run(0.8)
    loop.follow(loop.swing(2.0), 2.0)
    run(3.0)
    assert loop.control.message == 'the goal is reached'
    assert np.all(np.abs(loop.error).max(axis=0) < values.constraints.trajectory)
    # it has come to rest: the delay does not make it swing
    assert np.abs(np.diff(loop.q[-500:], axis=0)).max() < 1e-5
