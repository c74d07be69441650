"""The command `robodyn excite`: well-conditioned motions within all limits."""

import csv

import numpy as np
import pytest
from robodyn_ros.cli.main import main, USER_MISTAKE
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, TrajectoryError
from robodyn_ros.identification.excitation import Bounds, check, Fourier, sampled, Search
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import (
    check_feasibility, check_path, check_trajectory, Reference, TrajectoryPoint)
from robodyn_ros.trajectory.message_text import trajectory_message
import yaml

from identification_data import arm, URDF
from model_urdf import INERTIAL, joint, link, robot

TURNS = '<limit lower="-1" upper="1" effort="{}" velocity="2"/>'


@pytest.fixture(scope='module', params=['robodyn6', 'rp_gravity_friction'])
def search(request):
    path = next(URDF.rglob(f'{request.param}.urdf'))
    dynamics = Dynamics(RobotModel.from_urdf(path))
    return Search(dynamics, Bounds.of(dynamics, acceleration=5.0), duration=10.0)


@pytest.fixture(scope='module')
def found(search):
    return search.best(seconds=3.0, starts=30)


def test_it_is_better_conditioned_than_a_random_motion(search, found):
    rng = np.random.default_rng(1)
    size = search.dynamics.nv * 11
    drawn = [search.condition(search.motion(rng.normal(size=size))) for _ in range(20)]
    assert found.after < 0.8 * np.median(drawn)
    assert found.after <= found.before


@pytest.mark.parametrize('effort', [0.7, 0.45])
def test_what_is_written_is_no_worse_than_what_was_drawn(effort):
    dynamics = arm()
    # barely enough torque: the drawn motion has to be made smaller, and is worse conditioned then
    search = Search(dynamics, Bounds.of(dynamics, effort=effort), duration=10.0)
    for seed in range(3):
        made = search.best(seed, seconds=0.3, starts=20)
        assert made.after == search.condition(made.motion) <= made.before


def test_it_keeps_all_limits(search, found):
    bounds, t = search.bounds, np.linspace(0.0, 10.0, 5001)
    q, qd, qdd = map(np.ascontiguousarray, found.motion.sample(t))
    slack = 1e-3
    assert (q <= bounds.upper + slack).all() and (q >= bounds.lower - slack).all()
    assert (np.abs(qd) <= (1.0 + slack) * bounds.velocity).all()
    assert (np.abs(qdd) <= (1.0 + slack) * 5.0).all()
    torque = search.dynamics.inverse_dynamics(q, qd, qdd)
    assert (np.abs(torque) <= search.dynamics.model.effort_limit).all()
    assert (found.share <= 1.0).all()


def test_it_begins_and_ends_at_rest_in_one_place(found):
    q, qd, qdd = found.motion.sample([0.0, 10.0])
    np.testing.assert_allclose(q, [found.motion.centre] * 2, atol=1e-12)
    np.testing.assert_allclose([qd, qdd], 0.0, atol=1e-9)


def test_derivatives_are_those_of_the_positions():
    rng = np.random.default_rng(0)
    motion = Fourier(6.0, 1.5, 0.3, np.ones(3), *rng.normal(size=(2, 3, 4)))
    t, step = np.linspace(0.1, 5.9, 50), 1e-5
    before, now, after = (motion.sample(t + shift) for shift in (-step, 0.0, step))
    for k in (0, 1):
        np.testing.assert_allclose((after[k] - before[k]) / (2.0 * step), now[k + 1], atol=1e-6)


def test_a_controller_accepts_it(search, found):
    dynamics, model = search.dynamics, search.dynamics.model
    times, *rows = sampled(found.motion, 4.0)
    start = Reference.at_rest(0.5 * (found.motion.centre + 0.5 * (
        search.bounds.lower + search.bounds.upper)))
    trajectory = check_trajectory(
        model, model.joint_names,
        [TrajectoryPoint(*each, (), t) for *each, t in zip(*rows, times)], start)
    check_path(model, trajectory, start, velocity_slack=0.0)
    check_feasibility(trajectory, dynamics.inverse_dynamics, model.effort_limit,
                      model.joint_names)
    # between the points it is the motion that was meant
    for t in np.linspace(0.3, 9.7, 23):
        np.testing.assert_allclose(trajectory.sample(4.0 + t).q, found.motion.sample([t])[0][0],
                                   atol=2e-4)


def test_the_seed_decides(search):
    one, same, other = (search.best(seed, 0.0, 5).motion.sine for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_files(tmp_path, capsys):
    path, rows = tmp_path / 'out.yaml', tmp_path / 'out.csv'
    assert main(['excite', str(URDF / 'robodyn6.urdf'), '--duration', '6', '--search', '0.5',
                 '--approach', '3', '--output', str(path), '--csv', str(rows)]) == 0
    printed = capsys.readouterr().out
    assert 'condition number of the base regressor' in printed and 'joint6' in printed
    sent = yaml.safe_load(path.read_text(encoding='utf-8'))
    assert tuple(sent['joint_names']) == arm().model.joint_names
    first, last = sent['points'][0], sent['points'][-1]
    assert first['time_from_start'] == {'sec': 3, 'nanosec': 0}
    assert last['time_from_start'] == {'sec': 9, 'nanosec': 0}
    assert first['positions'] == last['positions'] and not any(last['velocities'])
    # what one argument of a command may have
    assert path.stat().st_size < 131072
    with rows.open(encoding='utf-8') as file:
        table = list(csv.reader(file))
    assert table[0][:2] == ['time', 'joint1.position'] and len(table) == 602
    assert len(table[1]) == 19


def test_the_message_is_one_of_ros():
    rosbags = pytest.importorskip('rosbags.typesys', reason='it has the fields of messages')
    types = rosbags.get_typestore(rosbags.Stores.LATEST)
    fields = {name for name, _ in types.get_msgdef('trajectory_msgs/msg/JointTrajectory').fields}
    point = {name for name, _ in types.get_msgdef(
        'trajectory_msgs/msg/JointTrajectoryPoint').fields}
    made = yaml.safe_load(trajectory_message(('a',), [1.5], [[0.1]], [[0.0]], [[0.0]]))
    assert set(made) <= fields and set(made['points'][0]) <= point
    assert made['points'][0]['time_from_start'] == {'sec': 1, 'nanosec': 500000000}


def small_arm(effort):
    return robot(link('link0', ''), link('link1', INERTIAL),
                 joint('lift', 'link0', 'link1', 'revolute', TURNS.format(effort), '0 1 0'))


def test_weak_motors_move_it_less_or_are_named():
    weak = Dynamics(RobotModel.from_urdf(small_arm(0.001)))
    with pytest.raises(TrajectoryError, match="joint 'lift' would need"):
        Search(weak, Bounds.of(weak)).best(seconds=0.0, starts=5)
    none = Dynamics(RobotModel.from_urdf(small_arm(0)))
    with pytest.raises(ArgumentError, match="'lift' has effort limit 0"):
        Bounds.of(none)


def test_a_motion_beyond_a_limit_is_not_written():
    dynamics = arm()
    motion = Fourier(10.0, 1.0, 0.1, np.zeros(6), np.full((6, 1), 9.0), np.zeros((6, 1)))
    with pytest.raises(TrajectoryError, match='limit'):
        check(dynamics, sampled(motion, 1.0))


@pytest.mark.parametrize('options, words', [
    (['--bag', 'run'], 'add --send'), (['--urdf', 'nowhere.urdf'], 'nowhere.urdf'),
    (['--duration', '2', '--search', '0', '--output', '/proc/x.yaml'], '--output /proc')])
def test_mistakes_are_explained(options, words, capsys):
    assert main(['excite', *options]) == USER_MISTAKE
    assert words in capsys.readouterr().err


def test_a_joint_is_restricted_to_a_range(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(['excite', str(next(URDF.rglob('robodyn6.urdf'))), '--search', '0', '--csv',
                 'motion.csv', '--range', 'joint2:-0.3:0.1']) == 0
    table = np.genfromtxt('motion.csv', delimiter=',', names=True, deletechars='')
    q = table['joint2.position']
    assert -0.3 <= q.min() < q.max() <= 0.1
    assert np.ptp(table['joint1.position']) > 0.1
