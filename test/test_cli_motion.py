"""The motion that a demo sends: within all limits, for any arm."""
from functools import lru_cache
from pathlib import Path
import re

import numpy as np
import pytest

from model_urdf import INERTIAL, joint, link, robot
from robodyn_ros.cli.request import goal_of
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ParameterError, TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation.motion import plan_motion, USABLE
from robodyn_ros.trajectory import (
    check_feasibility, check_path, check_trajectory, Reference, TrajectoryPoint)

URDF = Path(__file__).resolve().parents[1] / 'urdf'


def limit(text):
    return f'<limit {text}/>'


def chain(*joints):
    """Return a chain of joints given as (kind, inside), with turning axes."""
    axes = ('0 1 0', '1 0 0', '0 0 1')
    parts = [link('link0', '')]
    for k, (kind, inside) in enumerate(joints):
        parts += [link(f'link{k + 1}', INERTIAL),
                  joint(f'joint{k}', f'link{k}', f'link{k + 1}', kind, inside, axes[k % 3])]
    return robot(*parts)


USUAL = limit('lower="-2" upper="2" effort="80" velocity="2"')
ARMS = {
    'robodyn7': URDF / 'robodyn7.urdf',
    'robodyn6': URDF / 'robodyn6.urdf',
    'turns and slides': URDF / 'reference' / 'rp_gravity_friction.urdf',
    'continuous': chain(('continuous', limit('effort="60" velocity="2"')), ('revolute', USUAL)),
    'a narrow joint': chain(
        ('revolute', limit('lower="0.5" upper="0.501" effort="80" velocity="2"')),
        ('revolute', USUAL)),
    'a joint without speed': chain(
        ('revolute', USUAL), ('revolute', limit('lower="-1" upper="1" effort="80" velocity="0"'))),
    'a slow finger': chain(
        ('revolute', USUAL), ('prismatic', limit('lower="0" upper="0.04" effort="60" '
                                                 'velocity="0.01"'))),
    # two links of 2 kg out to 0.4 m take some 11 N m at rest
    'hardly strong enough': chain(
        ('revolute', limit('lower="-1" upper="1" effort="11" velocity="20"')),
        ('revolute', limit('lower="-1" upper="1" effort="6" velocity="20"'))),
}


@lru_cache
def dynamics_of(arm):
    return Dynamics(RobotModel.from_urdf(ARMS[arm]))


@pytest.fixture(params=ARMS)
def dynamics(request):
    return dynamics_of(request.param)


def accepted(model, motion):
    """Return the trajectory that a controller makes of a motion; raises if it would refuse."""
    points = [TrajectoryPoint(*rows, (), t) for *rows, t in zip(
        motion.positions, motion.velocities, motion.accelerations, motion.times)]
    start = Reference.at_rest(motion.start)
    trajectory = check_trajectory(model, model.joint_names, points, start)
    check_path(model, trajectory, start, velocity_slack=0.0, position_slack=0.0)
    return trajectory


def test_a_controller_accepts_it(dynamics):
    model = dynamics.model
    motion = plan_motion(dynamics)
    trajectory = accepted(model, motion)
    check_feasibility(trajectory, dynamics.inverse_dynamics, model.effort_limit,
                      model.joint_names)
    assert motion.torque_share.max() <= USABLE


def test_it_ends_where_it_began_and_moves_all_that_can(dynamics):
    model = dynamics.model
    motion = plan_motion(dynamics)
    np.testing.assert_array_equal(motion.positions[0], motion.positions[-1])
    for rows in (motion.velocities, motion.accelerations):
        np.testing.assert_array_equal(rows[[0, -1]], 0.0)
    can = (model.velocity_limit > 0.0)
    np.testing.assert_array_equal(np.ptp(motion.positions, axis=0) > 0.0, can)


def test_it_has_the_requested_speed_where_there_is_room(dynamics):
    path = accepted(dynamics.model, plan_motion(dynamics, 1.0, 0.4)).dense(0.001)
    limits = dynamics.model.velocity_limit
    speed = np.abs(path.qd).max(axis=0)
    assert (speed <= 0.4 * limits * 1.001).all()
    if dynamics is dynamics_of('robodyn7'):
        np.testing.assert_allclose(speed, 0.4 * limits, rtol=0.01)


def test_points_carry_one_smooth_spline(dynamics):
    """Between its points the controller's interpolation has no step up to the acceleration."""
    path = plan_motion(dynamics).trajectory().dense(0.001)
    scale = np.abs(path.qdd).max(axis=0) + 1e-9
    # a step would not get smaller with the sampling; 4 per cent is what a smooth curve has here
    assert (np.abs(np.diff(path.qdd, axis=0)).max(axis=0) < 0.04 * scale).all()


def test_a_weak_arm_moves_more_slowly():
    motion = plan_motion(dynamics_of('hardly strong enough'), 0.5, 1.0)
    assert motion.duration > 0.6


def test_slower_is_the_same_path():
    motion = plan_motion(dynamics_of('robodyn7'))
    slow = motion.stretched(2.0)
    assert slow.duration == pytest.approx(2.0 * motion.duration)
    for t in np.linspace(0.0, motion.duration, 7):
        np.testing.assert_allclose(slow.trajectory().sample(slow.times[0] + 2.0 * t).q,
                                   motion.trajectory().sample(motion.times[0] + t).q, atol=1e-9)


@pytest.mark.parametrize('arm, error, words', [
    (chain(('revolute', limit('lower="-1" upper="1" effort="0" velocity="1"'))),
     ParameterError, "'joint0' has effort limit 0"),
    (chain(('revolute', limit('lower="-1" upper="1" effort="9" velocity="0"'))),
     TrajectoryError, 'no joint can move'),
])
def test_what_cannot_move_is_named(arm, error, words):
    with pytest.raises(error, match=words):
        plan_motion(Dynamics(RobotModel.from_urdf(arm)))


def test_an_arm_that_cannot_hold_itself_is_rejected():
    # it weighs 2 kg: 20 N
    up = robot(link('link0', ''), link('link1', INERTIAL),
               joint('lift', 'link0', 'link1', 'prismatic',
                     limit('lower="0" upper="1" effort="10" velocity="1"'), '0 0 1'))
    with pytest.raises(TrajectoryError, match="'lift' would need .* of its 10 N"):
        plan_motion(Dynamics(RobotModel.from_urdf(up)))


@pytest.mark.parametrize('texts, found', [
    (['b=0.5'], [0.1, 0.5]), (['1', '-2'], [1.0, -2.0]),
    (['1'], '1 positions for 2 joints: give one for each of a, b, or JOINT=POSITION'),
    (['a=1', '2'], "'2' has no joint"), (['c=1'], "no joint 'c'; the controller has a, b"),
    (['a=1 rad'], "'1 rad' is not a position in rad or m"), (['a=nan'], 'is not a position')])
def test_the_goal_of_a_motion_is_read_from_words(texts, found):
    if isinstance(found, str):
        with pytest.raises(ArgumentError, match=re.escape(found)):
            goal_of(texts, ('a', 'b'), (0.1, 0.2))
    else:
        assert goal_of(texts, ('a', 'b'), (0.1, 0.2)) == found
