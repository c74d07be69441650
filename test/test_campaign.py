"""The fault table, and the criteria of a recording."""

from dataclasses import replace
import math

import numpy as np
import pytest
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.montecarlo.cases import chosen
from robodyn_ros.montecarlo.effects import Draw
from robodyn_ros.montecarlo.judge import judge, Limits, measure, Recording, Requirements
from tools.campaign.cases import CASES
from tools.campaign.command import main
from tools.campaign.injections import bad_parameters

GOAL = np.array([0.5, -0.2])
LIMITS = Limits(np.array([10.0, 5.0]), np.array([1000.0, 500.0]), np.array([2.0, 3.0]),
                np.array([-1.0, -1.0]), np.array([1.0, 0.9]), GOAL)


def recording(**changes):
    """Return a motion that comes to rest 0.8 s after a fault of 0.2 s, with good torques."""
    t = np.arange(-0.5, 3.0, 0.002)
    left = np.clip(0.8 - t, 0.0, None)
    q = GOAL - 0.9 * left[:, None] ** 2
    qd = 1.8 * left[:, None] * np.ones(2)
    torque = np.outer(np.sin(5.0 * t), [8.0, 4.0])
    return Recording(0.2, t, torque, t, q, qd, **changes)


def failed(given, required=None):
    """Return the criteria that do not hold."""
    figures = measure(given, LIMITS)
    return [each.text for each in judge(given, figures, required or Requirements(tolerated=1.0))
            if not each.passed]


def test_an_arm_beyond_its_position_limits():
    far = recording()
    far.q[far.moved > 0.1, 1] += 1.13  # at rest 30 mrad beyond 0.9
    assert measure(far, LIMITS).beyond == pytest.approx(0.03)
    assert failed(far, Requirements()) == failed(far, Requirements(beyond=0.031)) == []
    assert failed(far, Requirements(beyond=0.02)) == ['distance beyond limits: below 20 mrad']


def test_a_good_run_passes():
    good = recording()
    figures = measure(good, LIMITS)
    assert failed(good) == []
    assert figures.torque == pytest.approx(0.8, abs=1e-3)
    # the step of one cycle is compared with the rate limit over two
    assert figures.step == pytest.approx(8.0 * 5.0 * 0.002 / (1000.0 * 0.004), rel=1e-3)
    assert figures.rest == pytest.approx(0.8 - 0.02 / 1.8, abs=0.005)
    assert figures.speed_at_fault == pytest.approx(1.8 * 0.8 / 2.0, abs=0.01)
    assert figures.gap == pytest.approx(0.002) and figures.away == pytest.approx(0.0)


def changed(field, change):
    """Return a recording with one array changed in place."""
    given = recording()
    array = getattr(given, field).copy()
    change(array, given.moved)
    return replace(given, **{field: array})


def put(value):
    return lambda array, t: array.__setitem__(t > 1.0, value)


@pytest.mark.parametrize('given, words', [
    (changed('torque', put(math.nan)), 'is finite'),
    (changed('torque', put(12.0)), 'torque within its limit'),
    (changed('torque', lambda torque, t: torque.__setitem__((slice(None), 1), np.where(
        np.arange(len(t)) % 2, 4.0, -4.0))), 'steps of torque'),
    (changed('qd', put(9.0)), 'speed below'),
    (changed('qd', put(0.05)), 'at rest'),
    (changed('q', lambda q, t: q.__iadd__(0.01 * np.clip(t - 1.0, 0.0, None)[:, None])), 'drift'),
    (changed('q', lambda q, t: q.__iadd__(0.05)), 'distance from the goal'),
    (changed('qd', lambda qd, t: qd.__imul__(0.01)), 'fast motion'),
    (recording(missing=('the guard commands',)), 'expected reports'),
    (recording(recovery='no error', recovered=False), 'next motion works')])
def test_each_violated_criterion_fails(given, words):
    assert any(words in text for text in failed(given)), failed(given)


def test_a_reset_fails_where_it_is_not_allowed():
    reset = recording(recovery='reset')
    assert failed(reset, Requirements()) == []
    assert failed(reset, Requirements(reset_allowed=False)) == ['next motion works']
    assert failed(recording(recovery='restart'), Requirements(reset_allowed=False)) == []


def test_an_arm_that_sags_during_a_long_fault_fails():
    long = replace(changed('q', lambda q, t: q.__iadd__(
        0.05 * np.clip(t - 1.0, 0.0, 1.0)[:, None])), lasted=2.0)
    assert failed(long, Requirements(sag=0.02)) == ['sag during the fault: below 20 mrad']
    assert failed(long, Requirements(sag=0.1)) == []


def test_only_a_long_fault_may_end_the_motion():
    away = replace(changed('q', lambda q, t: q.__iadd__(0.05)), lasted=0.5)
    assert failed(away, Requirements(tolerated=0.3)) == []
    assert failed(away, Requirements(tolerated=0.6)) == ['distance from the goal: below 10 mrad']


def test_figures_of_a_recording_without_torques_are_zero():
    silent = replace(recording(), sent=np.zeros(0), torque=np.zeros((0, 2)))
    figures = measure(silent, LIMITS)
    assert figures.torque == figures.step == figures.gap == 0.0


def test_the_same_seed_draws_the_same():
    draws = [Draw.of('states lost', seed, 7, (0.001, 5.0), (0.1, 0.2)) for seed in range(200)]
    assert draws[3] == Draw.of('states lost', 3, 7, (0.001, 5.0), (0.1, 0.2))
    assert draws[3] != Draw.of('nan', 3, 7, (0.001, 5.0), (0.1, 0.2))
    assert {draw.joints[0] for draw in draws} == set(range(7))
    assert {draw.sign for draw in draws} == {-1.0, 1.0}
    durations = np.array([draw.duration for draw in draws])
    # evenly over the decades
    assert 0.001 <= durations.min() < 0.003 and 2.0 < durations.max() <= 5.0
    assert 0.3 < np.mean(durations < math.sqrt(0.001 * 5.0)) < 0.7
    assert all(0.1 <= draw.amount <= 0.2 for draw in draws)


def test_the_fault_table_is_complete():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 35
    for case in CASES:
        assert case.description and case.expected and case.requirements.words()
        assert case.duration[0] <= case.duration[1] and case.amount[0] <= case.amount[1]
    assert [case.name for case in chosen(CASES, ['states'])] == [
        'states lost', 'states lost for long', 'states delayed']
    with pytest.raises(ParameterError, match="'Ctrl-C'"):
        chosen(CASES, ['Ctrl-c'])
    assert len(bad_parameters(7)) > 15


def test_an_unknown_fault_is_one_message(capsys):
    assert main(['--only', 'nothing']) == 2
    assert "there is no fault 'nothing'" in capsys.readouterr().err
    assert main(['--list']) == 0 and 'controller killed' in capsys.readouterr().out
