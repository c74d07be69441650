"""Replay of golden logs of the node: from joint state messages to effort commands."""

import pytest

pytest.importorskip('rclpy')

from golden.log_file import path_of, read  # noqa: E402
from golden.node_host import ros_nodes  # noqa: E402
from golden.node_log import replay_node  # noqa: E402
from golden.scenario import Robot, ROBOTS  # noqa: E402
from golden.scenarios import node_scenarios  # noqa: E402

CASES = [(robot, each) for robot in ROBOTS for each in node_scenarios(Robot(robot)).values()]


@pytest.fixture(scope='module')
def nodes():
    with ros_nodes() as pair:
        yield pair


@pytest.mark.parametrize('robot, scenario', CASES, ids=[
    f'{robot}-{each.name}' for robot, each in CASES])
def test_answers_to_recorded_messages_are_the_same(robot, scenario, nodes):
    header, arrays = read(path_of(robot, scenario.name))
    assert scenario.is_that_of(header), (
        f'the script of {scenario.name} has changed: python test/golden/make.py {scenario.name}')
    problems = replay_node(header, arrays, nodes)
    if problems:
        pytest.fail('\n'.join(problems), pytrace=False)
