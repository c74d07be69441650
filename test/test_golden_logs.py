"""Replay of golden logs of the controller: torques, modes, faults and counters as recorded."""

from golden.controller_host import ControllerHost
from golden.log_file import LOGS, path_of, read, write
from golden.replay import replay, TORQUE
from golden.scenario import Robot, ROBOTS
from golden.scenarios import node_scenarios, scenarios
import numpy as np
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


def test_every_log_has_a_script():
    scripts = {path_of(name, each) for name in ROBOTS for each in (
        *scenarios(Robot(name)), *node_scenarios(Robot(name)))}
    assert set(LOGS.glob('*/*')) == scripts


def test_a_difference_names_scenario_step_joint_and_values():
    header, arrays = read(path_of('robodyn7', 'hold_while_moving'))
    host = ControllerHost('robodyn7', header['scenario']['setup'])
    recorded = arrays['torque'][50, 2]
    arrays['torque'][50, 2] += 1.5 * TORQUE * host.effort_limit[2]
    header['events'][2][0] += 1
    header['requests'][1][-1] = 'StateError: no'
    answer, event, torque = replay(header, arrays, host)
    assert 'hold_while_moving: request hold before step 113 was answered' in answer
    assert "'StateError: no'" in answer and "'done'" in answer
    assert 'step 40 (update, t = 0.' in event and "'mode': 'tracking'" in event
    assert torque.startswith('robodyn7/hold_while_moving: step 50 (update, t = 0.')
    assert f"joint 'joint3': torque was {float(arrays['torque'][50, 2])!r}, now " in torque
    assert float(torque.split('now ')[1].split(':')[0]) == pytest.approx(recorded, abs=1e-13)
    assert '1.5e-12 of the effort limit, allowed 1e-12; 1 of 224 steps differ' in torque


def test_logs_keep_every_bit(tmp_path):
    rng = np.random.default_rng(3)
    arrays = {'smooth': np.cumsum(rng.normal(size=(40, 3)), axis=0),
              'odd': np.array([[np.nan, np.inf, -0.0], [5e-324, -1e308, 1.0]]),
              'whole': rng.integers(-2**62, 2**62, (7, 2))}
    write(tmp_path / 'a' / 'log.xz', {'text': 'NaN', 'number': 0.1}, arrays)
    header, found = read(tmp_path / 'a' / 'log.xz')
    assert header == {'text': 'NaN', 'number': 0.1}
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes(), name
