"""The controller does in lockstep what it did when the golden logs were made."""

import json

from golden.controller_host import ControllerHost
from golden.log_file import path_of, read
from golden.replay import replay
from golden.scenario import Robot, ROBOTS
from golden.scenarios import scenarios
import pytest

CASES = [(robot, each) for robot in ROBOTS for each in scenarios(Robot(robot)).values()]


@pytest.mark.parametrize('robot, scenario', CASES, ids=[
    f'{robot}-{each.name}' for robot, each in CASES])
def test_replayed_states_have_the_same_answers(robot, scenario):
    header, arrays = read(path_of(robot, scenario.name))
    assert json.dumps(header['scenario']) == json.dumps(scenario.plain()), (
        f'the script of {scenario.name} has changed: python test/golden/make.py {scenario.name}')
    problems = replay(header, arrays, ControllerHost(robot, header['scenario']['setup']))
    assert not problems, '\n'.join(problems)
