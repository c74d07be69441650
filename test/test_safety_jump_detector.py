"""Whether the arm can have got from one reported position to the next."""

import math

import numpy as np
import pytest
from robodyn_ros.safety.acceptance import continue_track, Program, Track
from steps import doubles, filled

LIMIT = np.array([1.0, 2.0])
STEP = 0.002
PATIENCE = 0.3


class Judge:
    """The track of an arm with two joints."""

    def __init__(self, limit=LIMIT, slack=0.02):
        limit = np.where((limit > 0.0) & np.isfinite(limit), limit, 1e9)
        self._p = filled(Program, 2, slack=slack, patience=PATIENCE, limit=limit)
        self.reset()

    def reset(self):
        """Accept the next position, wherever it is."""
        self._track = filled(Track, 2)

    def accept(self, time, q, qd):
        """Return whether a position is accepted; `jump` is (joint, distance) if it is not."""
        self._track, accepted, _, jump = continue_track(
            self._track, self._p, *doubles([float(time), list(q), list(qd)]))
        self.jump = None if accepted else (float(jump.joint), float(jump.value))
        return bool(accepted)


@pytest.fixture
def judge():
    return Judge()


def fed(judge, positions, begin=0.0, step=STEP):
    """Return the verdicts on positions that come at equal times."""
    return [judge.accept(begin + k * step, np.array(q, dtype=float), np.zeros(len(q)))
            for k, q in enumerate(positions)]


def test_a_fast_motion_with_noise_is_accepted(judge):
    t = STEP * np.arange(2000)[:, None]
    noise = 2e-3 * np.random.default_rng(1).standard_normal((2000, 2))
    assert all(fed(judge, np.sin(LIMIT * 1.5 * t) + noise))


@pytest.mark.parametrize('limit', [0.0, math.inf])
def test_joints_without_a_limit_are_not_judged_also_where_no_time_passes(limit):
    judge = Judge(np.array([1.0, limit]))
    with np.errstate(all='raise'):
        assert fed(judge, [[0.0, 0.0], [0.0, 50.0], [0.0, -50.0]], step=0.0) == [True] * 3
        assert fed(judge, [[0.5, 0.0]]) == [False]


def test_a_jump_is_not_and_coming_back_is(judge):
    assert fed(judge, [[0.0, 0.0], [0.001, 0.0], [0.001, 0.5], [0.002, 0.5], [0.003, 0.001]]) == [
        True, True, False, False, True]
    judge.accept(1.0 * STEP, np.array([0.0, 0.7]), np.zeros(2))
    assert judge.jump == (1.0, pytest.approx(0.699))


def test_the_motion_continues_while_it_is_not_accepted(judge):
    """An offset that comes and goes while the arm moves by more than the slack."""
    t = STEP * np.arange(100)[:, None]
    way = LIMIT * t
    offset = np.zeros((100, 2))
    offset[20:60, 0] = 0.2
    verdicts = fed(judge, way + offset)
    assert all(verdicts[:20]) and not any(verdicts[20:60]) and all(verdicts[60:])
    assert np.ptp(way[20:60, 0]) > 0.02


def test_states_of_two_arms_one_after_the_other(judge):
    verdicts = fed(judge, [[0.0, 0.0], [0.3, 0.0]] * 50)
    assert verdicts == [True, False] * 50


def test_an_encoder_that_slips_back_is_accepted_at_once(judge):
    t = STEP * np.arange(700)[:, None]
    offset = np.zeros((700, 2))
    offset[100:400, 0] = 0.2
    verdicts = fed(judge, LIMIT * t + offset)
    first = verdicts[100:400].index(True)
    assert first == pytest.approx(PATIENCE / STEP, abs=2)
    assert all(verdicts[100 + first:])


def test_after_a_while_the_reported_position_is_accepted(judge):
    assert fed(judge, [[0.0, 0.0]]) == [True]
    count = round(PATIENCE / STEP)
    verdicts = fed(judge, [[1.0, 0.0]] * (count + 3), begin=STEP)
    assert not any(verdicts[:count - 1]) and all(verdicts[count + 1:])


def test_after_silence_it_may_be_as_far_as_it_can_get(judge):
    assert judge.accept(0.0, np.zeros(2), np.zeros(2))
    assert judge.accept(0.1, np.array([0.2, 0.4]), np.zeros(2))
    assert not judge.accept(0.15, np.array([0.4, 0.4]), np.zeros(2))
    assert judge.accept(9.0, np.array([3.0, 3.0]), np.zeros(2)), 'longer than its patience'


def test_what_has_no_limit_is_not_judged():
    judge = Judge(np.array([math.inf, 0.0]))
    assert all(fed(judge, [[0.0, 0.0], [99.0, 99.0], [-99.0, 0.0]]))
    lenient = Judge(slack=math.inf)
    assert all(fed(lenient, [[0.0, 0.0], [99.0, 99.0]]))


def test_time_that_goes_back_lets_nothing_pass(judge):
    assert judge.accept(10.0, np.zeros(2), np.zeros(2))
    assert judge.accept(9.0, np.array([0.019, 0.0]), np.zeros(2))
    assert not judge.accept(8.0, np.array([0.2, 0.0]), np.zeros(2))
    judge.reset()
    assert judge.accept(10.0, np.zeros(2), np.ones(2))
    assert not judge.accept(9.5, np.array([-0.5, -0.5]), np.ones(2)), 'backwards in time'


def test_the_joint_is_named_whose_jump_is_largest_for_its_velocity_limit(judge):
    """Protects the message: 0.2 at 1 rad/s is more of a jump than 0.3 at 2 rad/s."""
    assert fed(judge, [[0.0, 0.0], [0.2, 0.3]]) == [True, False]
    assert judge.jump == (0.0, pytest.approx(0.2))


def test_an_arm_that_accelerates_hard_is_accepted(judge):
    """Protects the mean of both velocities: the new one alone would be off by the slack."""
    t = 0.02 * np.arange(20)
    acceleration = 200.0 * LIMIT
    assert all(judge.accept(now, 0.5 * acceleration * now**2, acceleration * now) for now in t)


def test_an_arm_that_falls_faster_than_predicted_is_accepted_if_its_velocity_agrees(judge):
    t, speed = 0.02 * np.arange(50), 8.0 * LIMIT
    accepted = [judge.accept(now, speed * now, speed) for now in t]
    assert all(accepted)
    judge.reset()
    accepted = [judge.accept(now, speed * now, 0.0 * speed) for now in t[:10]]
    assert accepted == [True, *[False] * 9]
