"""Replay of golden logs of the controller: torques, modes, faults and counters as recorded."""

from golden.controller_host import ControllerHost
from golden.log_file import path_of, read
from golden.replay import replay
from golden.scenario import Robot, ROBOTS
from golden.scenarios import scenarios
import pytest

CASES = [(robot, each) for robot in ROBOTS for each in scenarios(Robot(robot)).values()]


@pytest.mark.filterwarnings('ignore:overflow encountered')  # one scenario is about that
@pytest.mark.parametrize('robot, scenario', CASES, ids=[
    f'{robot}-{each.name}' for robot, each in CASES])
def test_answers_to_recorded_states_are_the_same(robot, scenario):
    header, arrays = read(path_of(robot, scenario.name))
    assert scenario.is_that_of(header), (
        f'the script of {scenario.name} has changed: python test/golden/make.py {scenario.name}')
    problems = replay(header, arrays, ControllerHost(robot, header['scenario']['setup']))
    if problems:
        pytest.fail('\n'.join(problems), pytrace=False)
