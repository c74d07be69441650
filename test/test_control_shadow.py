"""The cycle as one function answers recorded states as the controller does."""

from golden.controller_host import ControllerHost
from golden.log_file import path_of, read
from golden.replay import replay
from golden.scenario import Robot, ROBOTS
from golden.scenarios import scenarios
import pytest
import shadow

# what is not finite in the observer is forgotten by the function, and kept by the controller
DIFFERENT = {'torque_not_finite'}
NEVER_ACTIVE = {'activation_check'}
SLOW = {'robodyn7': (pytest.mark.slow,)}


def cases():
    """Return robot and scenario of all logs at the controller; one robot is enough to be quick."""
    for robot in ROBOTS:
        for scenario in scenarios(Robot(robot)).values():
            if scenario.name not in DIFFERENT:
                yield pytest.param(robot, scenario, marks=SLOW.get(robot, ()),
                                   id=f'{robot}-{scenario.name}')


@pytest.mark.parametrize('robot, scenario', list(cases()))
def test_the_shadow_agrees(monkeypatch, robot, scenario):
    shadow.install(monkeypatch)
    header, arrays = read(path_of(robot, scenario.name))
    host = ControllerHost(robot, header['scenario']['setup'])
    replay(header, arrays, host)
    if scenario.name not in NEVER_ACTIVE:
        assert host.controller.shadow.cycle.cycles > 10
