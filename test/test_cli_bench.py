"""`robodyn bench`: figures of all quantities, and of peers only if they compute the same."""
import json
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros.bench.cases import check
from robodyn_ros.cli import bench
from robodyn_ros.cli.main import main, SUCCESS, USER_MISTAKE
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.inspection.timing import Budget, Call, compare

OWN = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
SHORT = Budget(turn=1e-4, total=0.0, min_rounds=3)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(bench, 'Budget', lambda: SHORT)


def test_all_quantities_are_timed(short, capsys):
    assert main(['bench', str(OWN), '--json']) == SUCCESS
    document = json.loads(capsys.readouterr().out)
    ours = {(row['group'], row['quantity']): row for row in document['us']
            if row['library'] == 'robodyn'}
    assert {quantity for group, quantity in ours if group == 'call'} == {
        'inverse dynamics', 'gravity', 'mass matrix', 'forward dynamics', 'Jacobian',
        'computed-torque law'}
    assert all(0.0 < row['time'][0] <= row['time'][1] <= row['time'][2] and row['ratio'] == [1, 1,
               1] for row in ours.values())
    for package, name in (('pinocchio', 'Pinocchio'), ('mujoco', 'MuJoCo')):
        try:
            __import__(package)
        except ImportError:
            continue
        assert sum(row['library'] == name for row in document['us']) >= 6, document['notes']


def test_a_part_of_a_robot_has_no_peers(short, capsys):
    assert main(['bench', str(OWN), '--tip', 'link2']) == SUCCESS
    printed = capsys.readouterr().out
    assert 'not compared' in printed and '2 joints' in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_a_missing_file_is_a_mistake(capsys):
    assert main(['bench', 'nowhere.urdf']) == USER_MISTAKE
    assert 'nowhere.urdf' in capsys.readouterr().err


def test_what_computes_something_else_is_not_compared():
    good, other = Call('x', {'x': np.ones(2)}), Call('x', {'x': np.array([1.0, 1.1])})
    check('arm', 'torque', {'robodyn': good, 'twin': good})
    for wrong in (other, Call('x', {'x': np.ones(3)}), Call('x', {'x': np.full(2, np.nan)})):
        with pytest.raises(RobodynError, match='torque'):
            check('arm', 'torque', {'robodyn': good, 'twin': wrong})


def test_ratios_are_those_of_times():
    calls = {'robodyn': Call('sum(x)', {'x': range(100)}),
             'slow': Call('sum(x)', {'x': range(10_000)})}
    ours, slow = compare('call', 'arm', 1, 'sum', calls, Budget(total=0.05))
    assert ours.ratio == (1.0, 1.0, 1.0)
    assert 10.0 < slow.ratio[1] < 1000.0
