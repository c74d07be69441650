"""Compiled runs: the nodes send the torques of its runs."""
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from robodyn_ros.model.robot import Robot  # noqa: E402
from robodyn_ros.montecarlo.cases import COMPILED  # noqa: E402
from robodyn_ros.montecarlo.scenario import scenario, seeds_of  # noqa: E402
from robodyn_ros.montecarlo.study import Job, prepare_faults  # noqa: E402
from tools.campaign.compiled.lockstep import compare, obstacle  # noqa: E402

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
BY_NAME = {case.name: case for case in COMPILED}


@pytest.fixture(scope='module')
def study():
    return prepare_faults(Job.with_faults(Robot(ARM)))


# one seed of a fault in the states, and of one in the motors; each begins without a fault
@pytest.mark.parametrize('name', ['position frozen', 'torque lost'])
def test_the_nodes_send_the_same_torques(study, name, tmp_path):
    run = scenario(study, seeds_of([BY_NAME[name]], 0, 1)[0])
    assert not obstacle(run)
    found = compare(study, run, Robot(ARM), tmp_path)
    assert found.steps > 800 and not found.missing
    assert found.difference < 1e-9  # N m
