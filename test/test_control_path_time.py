"""Speed scaling and pause: motions slow down and stop on their path, within their limits."""

from types import SimpleNamespace

from closed_loop import arm, BENT, Loop
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.control.steps import path_time
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, StateError, TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.share import share_path
from robodyn_ros.trajectory import Trajectory, TrajectoryPoint
from steps import doubles

CYCLE = 1e-3
GOAL = BENT + (1.0, -0.6, 0.8, 0.7, -0.9, 0.5, 0.6)
FASTEST = 1.3  # s: 96 % of a velocity limit


def rate_from(rate, scaling, seconds, jerk=25.0, bound=np.inf):
    """Return rates and changes of all cycles."""
    program = path_time.Program(*doubles([scaling, jerk]))
    m, rows = path_time.Memory(*doubles([rate, 0.0])), []
    for _ in range(round(seconds / CYCLE)):
        m, _ = path_time.update(m, program, *doubles([CYCLE, -bound, bound]))
        rows.append((float(m.rate), float(m.change)))
    return np.array(rows).T


@pytest.mark.parametrize('begin, end', [(1.0, 0.0), (0.0, 1.0), (1.0, 0.4), (0.3, 0.31)])
def test_the_rate_gets_to_the_requested_one_in_shortest_time(begin, end):
    """Bang-bang: with the second derivative j, a change of the rate by d takes 2 sqrt(d / j)."""
    rate, change = rate_from(begin, end, 1.0)
    arrival = 2.0 * np.sqrt(abs(end - begin) / 25.0)
    arrived = CYCLE * np.flatnonzero(rate != end)[-1]
    assert arrived == pytest.approx(arrival, abs=4.0 * CYCLE)
    assert rate[-1] == end and change[-1] == 0.0
    assert rate.min() >= min(begin, end) - 1e-5 and rate.max() <= max(begin, end) + 1e-5
    assert np.abs(np.diff(change)).max() <= 25.0 * CYCLE * (1.0 + 1e-6) + 1e-6


def test_a_bound_on_the_change_makes_it_take_longer():
    rate, change = rate_from(1.0, 0.0, 2.0, bound=1.0)
    assert np.abs(change).max() == 1.0
    assert rate[round(0.9 / CYCLE)] > 0.0 and rate[-1] == 0.0


def test_at_full_speed_path_time_is_time():
    m = path_time.Memory(*doubles([1.0, 0.0]))
    program = path_time.Program(*doubles([1.0, 25.0]))
    for h in (1e-3, 0.0, 0.0123456789):
        m, passed = path_time.update(m, program, *doubles([h, 0.0, 0.0]))
        assert (m.rate, m.change, passed) == (1.0, 0.0, h)


def moving(seconds=FASTEST, goal=GOAL):
    """Return a loop whose arm has begun a motion, and its path."""
    loop = arm(gains={'stale.hold': 0.05})
    loop.run(0.6)
    zero = np.zeros(7)
    loop.control.follow(loop.now, loop.plant.model.joint_names,
                        [TrajectoryPoint(goal, zero, zero, (), seconds)])
    loop.since = len(loop.log)
    return loop


def finish(loop, seconds=6.0):
    """Run until the motion has ended."""
    end = loop.now + seconds
    while loop.control.status.following:
        assert loop.now < end
        loop.cycle()
    loop.run(0.05)
    return loop


def undisturbed(loop):
    """Return the path of the motion from its start, (n, nv), as a dense polyline."""
    trajectory, _ = loop.control.status.trajectory
    return trajectory.dense(1e-4, 10**6).q


def deviation(q, path):
    """Return the largest distance of positions from a path, in any joint."""
    gaps = np.array([np.abs(path - each).max(axis=1).min() for each in q])
    return gaps.max()


def assert_smooth(loop):
    """Check torque limit, rate limit, and continuity of the reference."""
    model = loop.plant.model
    assert (np.abs(loop.torques) <= model.effort_limit + 1e-9).all()
    acceleration = np.diff(loop.column(4)[loop.since:], axis=0) / CYCLE
    # a step of the reference's velocity would be an acceleration of hundreds
    assert np.abs(acceleration).max() < 60.0
    # the peak of jerk of the motion itself is 60 d / T^3, that of the pause q' jerk is of its size
    assert np.abs(np.diff(acceleration, axis=0)).max() < 60.0 / FASTEST ** 3 * 1.5 * CYCLE * 2.0


@pytest.mark.parametrize('seed', range(8))
def test_a_pause_at_any_moment_of_a_fast_motion_stays_on_the_path(seed):
    rng = np.random.default_rng(seed)
    loop = moving()
    path = undisturbed(loop)
    loop.run(rng.uniform(0.02, FASTEST - 0.05))
    loop.control.path_speed.pause()
    loop.run(1.0)
    speed = loop.control.path_speed
    assert speed.rate == 0.0 and speed.text == '0 % (paused)'
    assert loop.control.mode is Mode.TRACK or loop.control.status.code == 0  # paused near its end
    assert np.abs(loop.plant.qd).max() < 1e-3
    before = loop.plant.q.copy()
    loop.run(0.3)
    np.testing.assert_allclose(loop.plant.q, before, atol=1e-3)
    speed.resume()
    finish(loop)
    assert loop.control.status.code == 0
    assert deviation(loop.q[loop.since::5], path) < 1e-3
    np.testing.assert_allclose(loop.plant.q, GOAL, atol=1e-3)
    assert_smooth(loop)


@pytest.mark.parametrize('share', [0.1, 0.3, 0.5, 0.7])
def test_a_pause_of_a_motion_at_the_limit_of_the_torque_takes_longer(share):
    """Gravity and acceleration need nearly all torque of joint2; the pause gets the rest."""
    zero, goal = np.zeros(7), BENT + (0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    loop = arm(gains={'effort_margin': 0.36, 'slow_down': True, 'pause_time': 0.1})
    loop.run(0.6)
    duration = loop.control.follow(loop.now, loop.plant.model.joint_names,
                                   [TrajectoryPoint(goal, zero, zero, (), 0.7)])
    loop.since = len(loop.log)
    path = undisturbed(loop)
    loop.run(share * duration)
    speed = loop.control.path_speed
    speed.pause()
    saturated, begin = 0, loop.now
    while speed.rate > 0.0 and loop.control.status.following:
        loop.cycle()
        saturated += bool(loop.control.status.saturated_joints())
        assert loop.now < begin + 1.0
    assert not saturated
    speed.resume()
    finish(loop)
    assert loop.control.status.code == 0
    assert deviation(loop.q[loop.since::5], path) < 1e-3
    assert (np.abs(loop.torques) <= 0.36 * loop.plant.model.effort_limit + 1e-9).all()


@pytest.mark.parametrize('name, offset, seed', [
    ('robodyn6', (0.8, -0.7, 0.8, 0.8, -0.8, 0.8), 0),
    ('robodyn6', (0.8, -0.7, 0.8, 0.8, -0.8, 0.8), 1),
    ('robodyn7', (1.0, -0.6, 0.8, 0.7, -0.9, 0.5, 0.6), 2)])
def test_a_motion_that_is_slowed_down_to_the_torque_limit_pauses_at_any_moment(name, offset, seed):
    """At full speed it needs a tenth more torque than there is, but gravity alone does not."""
    model = RobotModel.from_urdf(share_path('urdf', f'{name}.urdf'))
    dynamics, zero = Dynamics(model), np.zeros(model.nv)
    start, seconds = BENT[:model.nv], 1.35
    points = np.array([start, start + offset])
    full = Trajectory.from_points([0.0, seconds], points, 0.0 * points, 0.0 * points).dense(2e-3)
    needed = np.abs(dynamics.inverse_dynamics(full.q, full.qd, full.qdd)) / model.effort_limit
    margin = float(needed.max()) - 0.2 * float(
        needed.max() - (np.abs(dynamics.gravity(full.q)) / model.effort_limit).max())
    loop = Loop(model, gains={'effort_margin': margin, 'slow_down': True}, q=start)
    loop.run(0.6)
    duration = loop.control.follow(loop.now, model.joint_names, [
        TrajectoryPoint(points[1], zero, zero, (), seconds)])
    assert seconds < duration < 3.0 * seconds
    loop.since, path, speed = len(loop.log), undisturbed(loop), loop.control.path_speed
    for moment in np.sort(np.random.default_rng(seed).uniform(0.1, 0.9, 2)):
        while loop.control.status.trajectory[1] < moment * duration:
            loop.cycle()
        speed.pause()
        begin = loop.now
        while speed.rate > 0.0 and loop.control.status.following:
            loop.cycle()
            assert loop.now < begin + duration
        speed.resume()
    finish(loop)
    assert loop.control.status.code == 0
    assert deviation(loop.q[loop.since::5], path) < 1e-3
    used = np.abs(loop.torques[loop.since:]) / model.effort_limit
    assert 0.95 * margin < used.max() <= margin + 1e-9


def test_scaling_stretches_the_motion():
    """Half the speed: twice the time, a quarter of the acceleration."""
    loop = moving(2.0)
    full = finish(loop)
    times = [full.now]
    speeds = np.abs(np.diff(full.column(3)[full.since:], axis=0)).max()
    half = arm()
    half.run(0.6)
    half.control.path_speed.scale(0.5)
    zero = np.zeros(7)
    begin = half.now
    half.control.follow(half.now, half.plant.model.joint_names,
                        [TrajectoryPoint(GOAL, zero, zero, (), 2.0)])
    half.since = len(half.log)
    finish(half, 10.0)
    assert half.now - begin == pytest.approx(2.0 * (times[0] - 0.6 - 0.05) + 0.05, abs=0.01)
    slower = np.abs(np.diff(half.column(3)[half.since:], axis=0)).max()
    assert slower == pytest.approx(0.5 * speeds, rel=1e-3)
    assert deviation(half.q[half.since::10], undisturbed(full)) < 1e-3


def test_tolerances_are_in_path_time():
    """A paused arm does not violate the time of its goal, and its velocity is the scaled one."""
    loop = arm(gains={'constraints.goal_time': 0.2, 'constraints.trajectory': 0.05})
    loop.run(0.6)
    loop.follow(BENT + 0.3, 1.0)
    loop.run(0.5)
    loop.control.path_speed.pause()
    loop.run(3.0)
    assert loop.control.status.following
    _, elapsed = loop.control.status.trajectory
    assert 0.5 < elapsed < 0.9
    loop.control.path_speed.resume()
    finish(loop)
    assert loop.control.status.code == 0


def test_stops_are_not_scaled():
    loop = moving()
    loop.control.path_speed.scale(0.3)
    loop.run(0.4)
    loop.control.requests.stop('test')
    begin = loop.now
    while loop.control.mode is not Mode.HOLD:
        loop.cycle()
    assert loop.now - begin < 0.35


def test_a_trajectory_that_replaces_a_paused_one_begins_after_the_pause():
    loop = moving()
    loop.run(0.4)
    loop.control.path_speed.pause()
    loop.run(0.5)
    zero = np.zeros(7)
    loop.control.follow(loop.now, loop.plant.model.joint_names,
                        [TrajectoryPoint(BENT, zero, zero, (), 1.5)])
    before = loop.control.reference.q.copy()
    loop.run(0.2)
    np.testing.assert_allclose(loop.control.reference.q, before, atol=1e-12)
    loop.control.path_speed.resume()
    finish(loop)
    np.testing.assert_allclose(loop.control.reference.q, BENT, atol=1e-9)
    assert_smooth(loop)


@pytest.mark.parametrize('scaling', [0.35, 1.0])
def test_a_trajectory_continues_another_while_the_speed_changes(scaling):
    loop = moving(1.5)
    loop.run(0.4)
    loop.control.path_speed.scale(scaling)
    loop.run(0.1)
    zero = np.zeros(7)
    loop.control.follow(loop.now, loop.plant.model.joint_names,
                        [TrajectoryPoint(BENT + 0.2, zero, zero, (), 1.5)])
    finish(loop, 12.0)
    np.testing.assert_allclose(loop.control.reference.q, BENT + 0.2, atol=1e-9)
    assert_smooth(loop)


def test_a_motion_to_a_pose_pauses_too():
    loop = arm()
    loop.run(0.6)
    control = loop.control
    goal = control.pose(BENT + 0.1)
    control.motions.reach(goal[:3, 3], (np.array([0.0, 0.0, 0.0, 1.0])))
    loop.run(0.3)
    assert np.abs(control.reference.qd).max() > 0.05
    control.path_speed.pause()
    loop.run(1.0)
    assert control.mode is Mode.REACH
    assert np.abs(control.reference.qd).max() < 1e-4
    control.path_speed.resume()
    loop.run(0.3)
    assert np.abs(control.reference.qd).max() > 0.05


@pytest.mark.parametrize('factor', [-0.1, 1.01, 50.0, float('nan'), 'fast', None])
def test_a_scaling_that_is_no_fraction_is_refused(factor):
    loop = arm()
    with pytest.raises(ArgumentError, match='from 0 to 1'):
        loop.control.path_speed.scale(factor)
    assert loop.control.path_speed.scaling == 1.0


def test_activation_ends_a_pause_but_not_the_scaling():
    loop = arm()
    speed = loop.control.path_speed
    speed.scale(0.5)
    speed.pause()
    loop.control.activation.deactivate()
    with pytest.raises(StateError, match='not active'):
        speed.pause()
    loop.start(BENT)
    assert not speed.paused and speed.rate == 0.5


def test_bounds_of_the_change_leave_a_tenth_of_the_torque():
    def bounds(torque, inertial):
        return path_time.bounds(doubles(torque), doubles(inertial), doubles([10.0, 10.0]))

    low, high = bounds([0.0, 5.0], [1.0, -2.0])
    assert (low, high) == pytest.approx((-2.0, 7.0))
    assert bounds([9.5, 0.0], [1.0, 0.0])[1] == 0.0
    assert SimpleNamespace(x=bounds([0.0, 0.0], [0.0, 0.0])[0]).x < -1e6


def test_a_trajectory_with_too_much_torque_is_slowed_down_if_allowed():
    zero = np.zeros(7)
    goal = BENT + (0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0)

    def duration(seconds, **gains):
        loop = arm(gains={'effort_margin': 0.36, **gains})
        loop.run(0.1)
        return loop.control.follow(loop.now, loop.plant.model.joint_names,
                                   [TrajectoryPoint(goal, zero, zero, (), seconds)])

    with pytest.raises(TrajectoryError, match='would need'):
        duration(0.7)
    assert 0.7 < duration(0.7, slow_down=True) < 2.0
    assert duration(3.0, slow_down=True) == pytest.approx(3.0)
