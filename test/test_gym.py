"""The Gymnasium environment: its checker, same seed same episode, and what actions do."""

import numpy as np
import pytest
from simulated_arm import ARM

gymnasium = pytest.importorskip('gymnasium', reason='the environment needs gymnasium')

from gymnasium.utils.env_checker import check_env  # noqa: E402
from robodyn_ros.exceptions import ArgumentError  # noqa: E402
from robodyn_ros.gym import ArmEnv  # noqa: E402
from robodyn_ros.gym.target_reference import towards  # noqa: E402
from robodyn_ros.trajectory import Reference  # noqa: E402

HOME = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
NV = ARM.nv


@pytest.fixture(scope='module', params=['position', 'torque'])
def env(request):
    """Return an environment for each kind of action."""
    return gymnasium.make('robodyn_ros.gym:robodyn_ros/Arm-v0', urdf=ARM, start=HOME,
                          action=request.param).unwrapped


@pytest.mark.filterwarnings('ignore::UserWarning')  # of infinite bounds, and of units
def test_the_checker_of_gymnasium_finds_nothing(env):
    check_env(env, skip_render_check=True)


def test_the_same_seed_is_the_same_episode(env):
    def episode(seed, disturbed):
        env.reset(seed=99)
        for _ in range(disturbed):
            env.step(env.action_space.high)
        env.action_space.seed(seed)
        rows = [env.reset(seed=seed)[0]]
        for _ in range(20):
            rows.append(env.step(0.1 * env.action_space.sample())[0])
        return np.array(rows)

    np.testing.assert_array_equal(episode(1, 0), episode(1, 7))
    assert np.abs(episode(1, 0) - episode(2, 0)).max() > 1e-3


def test_targets_are_reached_and_torques_hold():
    env = ArmEnv(ARM, start=HOME, spread=0.0)
    env.reset(seed=0)
    goal = HOME + 0.2
    for _ in range(100):
        seen, reward, terminated, truncated, info = env.step(goal)
    assert info['mode'] in ('tracking', 'hold') and not info['fault'] and not info['refusal']
    assert not terminated and not truncated and reward == 0.0
    np.testing.assert_allclose(seen[2 * NV:3 * NV], goal, atol=1e-6)
    np.testing.assert_allclose(seen[:NV], goal, atol=0.01)

    env = ArmEnv(ARM, start=HOME, spread=0.0, action='torque', seconds=0.5,
                 reward=lambda env: -abs(env.plant.q[0]), physics={'friction': 0.0})
    first, _ = env.reset(seed=0)
    gravity = env.plant.dynamics.gravity(HOME)
    for _ in range(25):
        seen, reward, terminated, truncated, info = env.step(gravity)
    assert truncated and not terminated and info['mode'] == 'linear_feedback'
    np.testing.assert_allclose(seen[:NV], HOME, atol=1e-3)
    np.testing.assert_allclose(seen[3 * NV:], gravity, rtol=1e-9)
    assert reward == -abs(seen[0])
    env.reset(seed=0)
    push = gravity + 0.05 * env.action_space.high
    for _ in range(5):
        seen = env.step(push)[0]
    assert np.all(seen[NV:2 * NV] @ (push - gravity) > 0.0)


def test_the_reference_keeps_its_limits_and_does_not_overshoot():
    rng, period, acceleration = np.random.default_rng(0), 0.02, 15.0
    velocity = np.linspace(0.5, 2.0, NV)
    reference = Reference.at_rest(HOME)
    for k in range(400):
        if k % 80 == 0:
            target = HOME + rng.uniform(-0.5, 0.5, NV)
        motion = towards(reference, target, period, velocity, acceleration)
        path = motion.dense(1e-3)
        assert np.abs(path.qd).max(axis=0) == pytest.approx(
            np.minimum(np.abs(path.qd).max(axis=0), velocity + 1e-9))
        assert np.abs(path.qdd).max() <= acceleration + 1e-6
        assert np.abs(path.qd[-1]).max() < 1e-9
        after = motion.sample(period)
        np.testing.assert_allclose(after.q, reference.q + period * reference.qd + 0.5
                                   * period ** 2 * motion.sample(0.5 * period).qdd, atol=1e-9)
        reference = after
        if k % 80 == 79:
            np.testing.assert_allclose(reference.q, target, atol=1e-4)


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match='action is .*must be one of position, torque'):
        ArmEnv(ARM, action='velocity')
    with pytest.raises(ArgumentError, match='rate is 5000'):
        ArmEnv(ARM, rate=5000.0)
    with pytest.raises(ArgumentError, match='start must have shape'):
        ArmEnv(ARM, start=HOME[:3])
    with pytest.raises(ArgumentError, match="start of joint 'joint1' is 10: it must be from -2.9"):
        ArmEnv(ARM, start=np.full(7, 10.0))
    for name in ('seconds', 'acceleration', 'spread'):
        for value in (-1.0, np.nan, np.inf):
            with pytest.raises(ArgumentError, match=name):
                ArmEnv(ARM, **{name: value})
    env = ArmEnv(ARM)
    env.reset()
    for wrong in (HOME * np.nan, HOME[:3], HOME[None], 'up', None):
        with pytest.raises(ArgumentError, match='7 finite numbers'):
            env.step(wrong)


def test_an_episode_has_its_length_at_a_rate_that_is_no_divisor():
    env = ArmEnv(ARM, rate=300.0, seconds=0.3)  # periods of 3 ms
    env.reset()
    count = 0
    while not env.step(HOME)[3]:
        count += 1
    assert count + 1 == 100
