"""Timing of taught paths: toppra's own optimum, limits that hold, and files of demonstrations."""

from dataclasses import replace
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from simulated_arm import ARM, one_joint

from robodyn_ros.cli.main import main, USER_MISTAKE
from robodyn_ros.cli.replay import joint_limits
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, TrajectoryError
from robodyn_ros.share import share_path
from robodyn_ros.teaching import Demonstration, JointLimits, Path, recorded_timing, time_optimal
from robodyn_ros.teaching.lerobot import export
from robodyn_ros.teaching.retiming import squared_speeds
from robodyn_ros.teaching.smoothing import smoothed
from robodyn_ros.trajectory import Trajectory
from robodyn_ros.trajectory.message_text import trajectory_message
from scipy.interpolate import CubicSpline
import yaml

toppra = pytest.importorskip('toppra', reason='retiming needs the library toppra')

DYNAMICS = Dynamics(ARM)
NONE = np.zeros(ARM.nv)
WHOLE = JointLimits(0.9 * ARM.velocity_limit, np.full(ARM.nv, 10.0), 0.8 * ARM.effort_limit,
                    ARM.damping, ARM.friction, NONE)


def duration(x, grid):
    """Return the duration of a motion with squared velocities at a grid."""
    speed = np.sqrt(x)
    return np.sum(2.0 * np.diff(grid) / (speed[1:] + speed[:-1]))


def random_points(seed, count=5):
    """Return positions in the middle of the ranges."""
    lower, upper = np.maximum(ARM.lower, -2.0), np.minimum(ARM.upper, 2.0)
    return lower + (upper - lower) * np.random.default_rng(seed).uniform(
        0.3, 0.7, (count, ARM.nv))


def random_path(seed):
    points = random_points(seed)
    return Path(CubicSpline(np.arange(5.0), points)(np.linspace(0.0, 4.0, 300)))


class Wrapped:
    """A path of toppra as one of this package."""

    def __init__(self, spline):
        self._spline, self.nv, self.length = spline, spline.dof, spline.path_interval[1]

    def __call__(self, place, order=0):
        return self._spline(place, order)


def test_the_example_of_toppra_takes_as_long_as_with_toppra():
    """The example plot_kinematics.py of toppra's documentation: seven joints, five points."""
    random = np.random.RandomState(0)
    spline = toppra.SplineInterpolator(np.linspace(0, 1, 5), random.randn(5, 7))
    velocity, acceleration = 10 + random.rand(7) * 20, 10 + random.rand(7) * 2
    solver = toppra.algorithm.TOPPRA([
        toppra.constraint.JointVelocityConstraint(velocity),
        toppra.constraint.JointAccelerationConstraint(acceleration)], spline,
        parametrizer='ParametrizeConstAccel')
    theirs = solver.compute_trajectory().duration
    limits = JointLimits(velocity, acceleration, np.full(7, np.inf), NONE, NONE, NONE)
    grid = np.array(solver.problem_data.gridpoints)
    found = squared_speeds(Wrapped(spline), DYNAMICS, limits, grid)
    assert duration(found, grid) == pytest.approx(theirs, rel=1e-3)


def test_torque_limits_without_friction_give_the_optimum_of_toppra():
    spline = toppra.SplineInterpolator(np.linspace(0, 1, 5), random_points(1))
    torque, grid = 0.6 * ARM.effort_limit, np.linspace(0.0, 1.0, 400)
    solver = toppra.algorithm.TOPPRA([
        toppra.constraint.JointVelocityConstraint(ARM.velocity_limit),
        toppra.constraint.JointTorqueConstraint(
            DYNAMICS.inverse_dynamics, np.array([-torque, torque]).T, NONE,
            toppra.constraint.DiscretizationType.Interpolation)], spline, grid)
    limits = JointLimits(ARM.velocity_limit, np.full(ARM.nv, np.inf), torque, NONE, NONE, NONE)
    theirs = solver.compute_parameterization(0.0, 0.0)[1] ** 2
    found = squared_speeds(Wrapped(spline), DYNAMICS, limits, grid)
    assert duration(found, grid) == pytest.approx(duration(theirs, grid), rel=1e-3)


def test_viscous_and_dry_friction_of_a_slide_give_the_exact_optimum():
    """A mass on a rail: full force forwards, then backwards, by integration of the equation."""
    mass, viscous, dry, force, way = 2.0, 8.0, 3.0, 20.0, 0.6
    model = one_joint('prismatic', mass=mass, axis='1 0 0')
    limits = JointLimits(*(np.array([value]) for value in (
        np.inf, np.inf, force, viscous, dry, 0.0)))
    path = Path(np.linspace([0.0], [way], 50))
    found = time_optimal(path, Dynamics(model), limits, smoothing=0.0)
    s = np.linspace(0.0, way, 200_001)
    ahead, back = np.zeros_like(s), np.zeros_like(s)
    for k in range(len(s) - 1):  # d(v^2)/ds = 2 a
        slope = 2.0 / mass * (s[1] - s[0])
        ahead[k + 1] = ahead[k] + slope * (force - dry - viscous * np.sqrt(ahead[k]))
        back[k + 1] = back[k] + slope * (force + dry + viscous * np.sqrt(back[k]))
    exact = duration(np.minimum(ahead, back[::-1]), s)
    assert found.duration == pytest.approx(exact, rel=0.01)
    without = time_optimal(path, Dynamics(model), replace(
        limits, viscous=np.zeros(1), coulomb=np.zeros(1)), smoothing=0.0)
    assert without.duration == pytest.approx(2.0 * np.sqrt(way * mass / force), rel=0.005)


@pytest.mark.parametrize('smoothing', [0.0, 0.05])
@pytest.mark.parametrize('seed', range(4))
def test_no_limit_is_exceeded_between_the_points(seed, smoothing):
    found = time_optimal(random_path(seed), DYNAMICS, WHOLE, smoothing)
    path = Trajectory.from_points(found.times, found.positions, found.velocities,
                                  found.accelerations).dense(1e-3, 100_000)
    torque = np.array([DYNAMICS.inverse_dynamics(*each) for each in zip(
        path.q, path.qd, path.qdd)])
    torque += ARM.damping * path.qd + ARM.friction * np.sign(path.qd)
    used = np.abs(torque) / WHOLE.torque
    assert used.max() <= 1.0 + 1e-9
    assert (np.abs(path.qd) / WHOLE.velocity).max() <= 1.0 + 1e-9
    assert (np.abs(path.qdd) / WHOLE.acceleration).max() <= 1.0 + 1e-9
    # fast: at most times some joint is at one of its limits
    at_limit = np.max([used, np.abs(path.qd) / WHOLE.velocity,
                       np.abs(path.qdd) / WHOLE.acceleration], axis=(0, 2)) > 0.9
    assert np.mean(at_limit) > 0.5
    for rest in (found.velocities[[0, -1]], path.qd[[0, -1]]):
        np.testing.assert_allclose(rest, 0.0, atol=1e-9)


@pytest.mark.parametrize('smoothing', [0.0, 0.05])
def test_the_torques_of_the_fastest_motion_are_within_limits_by_pinocchio(smoothing):
    """With rotors and three times the friction, four samples per millisecond, to 0.1 %."""
    pytest.importorskip('pinocchio')
    from oracle import Oracle
    oracle = Oracle(share_path('urdf', 'robodyn7.urdf').read_text(), ARM.joint_names)
    limits = replace(WHOLE, acceleration=np.full(ARM.nv, np.inf), viscous=3.0 * ARM.damping,
                     coulomb=3.0 * ARM.friction, armature=np.full(ARM.nv, 0.05))
    found = time_optimal(random_path(5), DYNAMICS, limits, smoothing)
    path = Trajectory.from_points(found.times, found.positions, found.velocities,
                                  found.accelerations).dense(2.5e-4, 100_000)
    assert len(path.q) > 3000
    torque = np.array([oracle.inverse_dynamics(*each) for each in zip(path.q, path.qd, path.qdd)])
    torque += 0.05 * path.qdd + 3.0 * (ARM.damping * path.qd + ARM.friction * np.sign(path.qd))
    used = np.abs(torque) / limits.torque
    assert 0.9 < used.max() <= 1.001
    assert (np.abs(path.qd) / limits.velocity).max() <= 1.001


def test_a_path_that_the_motors_cannot_bear_names_the_joint():
    weak = replace(WHOLE, torque=0.05 * ARM.effort_limit)
    with pytest.raises(TrajectoryError, match="joint 'joint.' needs .* for gravity"):
        time_optimal(random_path(0), DYNAMICS, weak)
    with pytest.raises(TrajectoryError, match='does not move'):
        Path(np.zeros((5, 7)))


def test_toppra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, 'toppra.algorithm', None)
    with pytest.raises(RobodynError, match=r"pip install toppra \(or 'robodyn_ros\[replay\]'\)"):
        time_optimal(random_path(0), DYNAMICS, WHOLE)


def guided(seconds=4.0, tremor=2e-3):
    """Return times and positions of a hand: slow, with a tremor of 8 Hz, and at rest at first."""
    times = np.arange(0.0, seconds + 2.0, 0.01)
    part = np.clip((times - 1.0) / seconds, 0.0, 1.0)
    shape = 10.0 * part ** 3 - 15.0 * part ** 4 + 6.0 * part ** 5
    start, end = random_points(3, 2)
    clean = start + shape[:, None] * (end - start)
    shake = tremor * np.sin(2.0 * np.pi * 8.0 * times)[:, None] * np.cos(np.arange(ARM.nv))
    return times, clean, clean + shake * (part * (1.0 - part) > 0.0)[:, None]


def test_tremor_is_removed_and_the_path_kept():
    times, clean, shaken = guided()
    grid, q, qd, qdd = smoothed(times, shaken, 0.08)
    inside = (grid > times[0]) & (grid < times[-1])
    exact = np.column_stack([np.interp(grid[inside], times, each) for each in clean.T])
    assert np.abs(q[inside] - exact).max() < 5e-3
    accelerations = np.gradient(np.gradient(clean, times, axis=0), times, axis=0)
    # 2 mrad at 8 Hz alone are 5 rad/s^2
    assert np.abs(qdd).max() < 1.5 * np.abs(accelerations).max()
    np.testing.assert_allclose(q[[0, -1]], shaken[[0, -1]], atol=3e-3)
    assert not qd[[0, -1]].any() and grid[-1] - grid[0] < 6.0


def test_the_recorded_timing_is_kept_or_slowed_down_to_the_limits():
    times, _, shaken = guided()
    usual = recorded_timing(times, shaken, DYNAMICS, WHOLE)
    assert usual.duration == pytest.approx(usual.recorded[-1] - usual.recorded[0])
    assert recorded_timing(times, shaken, DYNAMICS, WHOLE, 0.5).duration == pytest.approx(
        2.0 * usual.duration)
    fast = recorded_timing(times, shaken, DYNAMICS, WHOLE, 10.0)
    assert usual.duration / 10.0 < fast.duration < usual.duration
    assert 0.99 < fast.use(DYNAMICS, WHOLE).largest <= 1.0


def test_a_demonstration_is_read_as_written(tmp_path):
    times, _, rows = guided()
    written = Demonstration(ARM.joint_names, times, rows, np.array([1.0, 2.5]), ('finger',),
                            np.linspace(0.0, 0.04, len(times))[:, None])
    written.write(tmp_path / 'pick')
    found = Demonstration.read(tmp_path / 'pick')
    assert found.joint_names == ARM.joint_names and found.gripper_names == ('finger',)
    for name in ('times', 'positions', 'waypoints', 'gripper'):
        np.testing.assert_allclose(getattr(found, name), getattr(written, name), atol=1e-6)
    with pytest.raises(RobodynError, match='robodyn teach'):
        Demonstration.read(tmp_path / 'other')
    (tmp_path / 'pick' / 'trajectory.yaml').write_text('points: 3')
    with pytest.raises(RobodynError, match='is not a JointTrajectory'):
        Demonstration.read(tmp_path / 'pick')


@pytest.mark.parametrize('change, said', [
    ({'times': [0.0, 5e3, 1.7e9]}, 'more than 4000 s: its stamps have jumped'),
    ({'waypoints': [-1.0]}, 'waypoints that are no'),
    ({'waypoints': [np.nan]}, 'waypoints that are no'),
    ({'waypoints': [0.2, 0.1]}, 'waypoints that are no increasing times'),
    ({'gripper_names': ('finger',), 'gripper': np.zeros((2, 1))}, r'gripper of shape \(2, 1\)'),
    ({'joint_names': (ARM.joint_names[0],) * ARM.nv}, 'names a joint twice')])
def test_a_damaged_demonstration_is_refused(tmp_path, change, said):
    good = Demonstration(ARM.joint_names, np.array([0.0, 0.1, 0.2]), np.zeros((3, ARM.nv)),
                         np.zeros(0))
    replace(good, **{name: value if isinstance(value, tuple) else np.array(value)
                     for name, value in change.items()}).write(tmp_path)
    with pytest.raises(RobodynError, match=said):
        Demonstration.read(tmp_path)


@pytest.mark.parametrize('text', ['[]', '{', '{"gripper": {}}', 'null'])
def test_damaged_details_are_named(tmp_path, text):
    Demonstration(ARM.joint_names, np.array([0.0, 0.1]), np.zeros((2, ARM.nv)),
                  np.zeros(0)).write(tmp_path)
    (tmp_path / 'demonstration.json').write_text(text)
    with pytest.raises(RobodynError, match='demonstration.json does not have waypoints'):
        Demonstration.read(tmp_path)


@pytest.mark.parametrize('text, said', [
    ('', 'is not a JointTrajectory: it needs joint_names'),
    ('joint_names: 3', 'is not a JointTrajectory'),
    ('joint_names: [a]\npoints: []', 'two or more points'),
    ('a: [1,\nb: }', 'is not YAML: line 2: ')])
def test_a_damaged_trajectory_is_named(tmp_path, text, said):
    (tmp_path / 'trajectory.yaml').write_text(text)
    with pytest.raises(RobodynError, match=said):
        Demonstration.read(tmp_path)


def test_states_of_nearly_the_same_time_take_no_memory():
    grid, *_ = smoothed(np.array([0.0, 1e-9, 2e-9]), np.array([[0.0], [0.1], [0.2]]), 0.08)
    assert len(grid) < 1000


@pytest.fixture
def replay(tmp_path, capsys):
    """Return a function that runs the command for a demonstration; exit code and output."""
    times, _, rows = guided(2.0)
    Demonstration(ARM.joint_names, times, rows, np.array([1.0, 2.0, 3.0])).write(tmp_path / 'pick')

    def run(*options, urdf='robodyn7.urdf'):
        code = main(['replay', str(tmp_path / 'pick'), str(share_path('urdf', urdf)), *options])
        return code, ''.join(capsys.readouterr())
    return run


@pytest.mark.parametrize('how', [(), ('--fastest',), ('--fastest', '--waypoints')])
def test_the_plan_is_a_trajectory_within_the_limits(replay, tmp_path, how):
    path = tmp_path / 'plan.yaml'
    code, said = replay('--plan', '--output', str(path), *how)
    assert code == 0 and 'torque (%)' in said, said
    message = yaml.safe_load(path.read_text())
    times = [each['time_from_start']['sec'] + 1e-9 * each['time_from_start']['nanosec']
             for each in message['points']]
    rows = [np.array([each[name] for each in message['points']]) for name in (
        'positions', 'velocities', 'accelerations')]
    dense = Trajectory.from_points(times, *rows).dense(2e-3)
    use = WHOLE.use(DYNAMICS, dense.q, dense.qd, dense.qdd)
    assert use.largest < 1.01  # of rounded numbers
    assert tuple(message['joint_names']) == ARM.joint_names


def test_a_demonstration_of_another_arm_is_refused(replay):
    code, said = replay('--plan', urdf='robodyn6.urdf')
    assert code == USER_MISTAKE and "is of another arm: this one has no joint 'joint7'" in said


def test_positions_far_beyond_a_limit_are_refused(replay, tmp_path):
    times, _, rows = guided(2.0)
    Demonstration(ARM.joint_names, times, np.degrees(rows), np.zeros(0)).write(tmp_path / 'pick')
    code, said = replay('--plan')
    assert code == USER_MISTAKE and 'was recorded at' in said and 'beyond its limit' in said


def test_parameters_of_the_controller_replace_friction_of_the_urdf(replay, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text('node:\n  ros__parameters:\n    friction:\n      coulomb: [900.0]\n')
    code, said = replay('--plan', '--fastest', '--params', str(path))
    assert code == USER_MISTAKE and 'gravity and dry friction' in said
    wrong = 'node:\n  ros__parameters:\n    friction:\n      viscous: '
    for text, named in (
            ('nothing', 'is not a parameter file'), ('a: [1,\nb: }', 'is not YAML: line 2: '),
            (wrong + '[a]', 'friction.viscous does not have one number'),
            (wrong + '[-1.0]', "friction.viscous of joint 'joint1' is -1.0")):
        path.write_text(text)
        code, said = replay('--plan', '--params', str(path))
        assert code == USER_MISTAKE and named in said
    code, said = replay('--plan', '--params', str(tmp_path))
    assert code == USER_MISTAKE and f'{tmp_path} cannot be read: Is a directory; give' in said


@pytest.mark.parametrize('value, friction', [
    ('0.0', NONE), ('[0.0]', NONE), ('[]', ARM.friction), ('1.5', NONE + 1.5)])
def test_a_number_counts_for_all_joints_and_an_empty_list_for_none(tmp_path, value, friction):
    path = tmp_path / 'arm.yaml'
    path.write_text(f'node:\n  ros__parameters:\n    friction:\n      coulomb: {value}\n')
    limits = joint_limits(SimpleNamespace(
        params=path, velocity=1.0, effort=1.0, acceleration=10.0), ARM)
    np.testing.assert_array_equal(limits.coulomb, friction)


@pytest.mark.parametrize('how', [(), ('--fastest',)])
def test_a_recording_without_a_motion_is_named(replay, tmp_path, how):
    times = np.linspace(0.0, 2.0, 201)
    rows = 0.3 + 1e-3 * np.sin(9.0 * times)[:, None] * np.ones(ARM.nv)
    Demonstration(ARM.joint_names, times, rows, np.zeros(0)).write(tmp_path / 'pick')
    code, said = replay('--plan', *how)
    assert code == USER_MISTAKE and 'nothing to replay: no joint has moved' in said


class DataSet:
    """Stands in for the data set of lerobot, with the signature of version 3."""

    def __init__(self, **given):
        self.given, self.frames, self.calls = given, [], []

    def add_frame(self, frame):
        self.frames.append(frame)

    def save_episode(self):
        self.calls.append('save_episode')

    def finalize(self):
        self.calls.append('finalize')


class OldDataSet(DataSet):
    """The signature of version 2."""

    finalize = property()

    def add_frame(self, frame, task):
        self.frames.append({**frame, 'task': task})


@pytest.mark.parametrize('kind', [DataSet, OldDataSet])
def test_lerobot_gets_states_and_the_next_ones_as_actions(monkeypatch, tmp_path, kind):
    made = []
    library = ModuleType('lerobot.datasets.lerobot_dataset')
    library.LeRobotDataset = SimpleNamespace(
        create=lambda **given: made.append(kind(**given)) or made[-1])
    for name in ('lerobot', 'lerobot.datasets'):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, library.__name__, library)
    times, _, rows = guided()
    demonstration = Demonstration(ARM.joint_names, times, rows, np.zeros(0), ('finger',),
                                  np.linspace(0.0, 0.04, len(times))[:, None])
    count = export(tmp_path / 'pick', demonstration, 'robodyn7', 'pick the cube', fps=25)
    data, = made
    assert count == len(data.frames) == pytest.approx(25 * times[-1], abs=1)
    feature = data.given['features']['action']
    assert feature['names'] == [*ARM.joint_names, 'finger'] and feature['shape'] == (8,)
    assert data.given['fps'] == 25 and data.given['root'] == tmp_path / 'pick'
    assert {each['task'] for each in data.frames} == {'pick the cube'}
    for before, after in zip(data.frames, data.frames[1:]):
        np.testing.assert_array_equal(before['action'], after['observation.state'])
    assert data.calls == ['save_episode', 'finalize'][:1 + hasattr(data, 'finalize')]


def test_lerobot_is_named_where_it_is_missing(monkeypatch, replay, tmp_path):
    monkeypatch.setitem(sys.modules, 'lerobot', None)
    code, said = replay('--plan', '--lerobot', str(tmp_path / 'data'))
    assert code == USER_MISTAKE and 'pip install lerobot' in said


def test_a_message_without_velocities_has_positions_only():
    assert yaml.safe_load(trajectory_message(['a'], [0.5], [[1.0]])) == {
        'joint_names': ['a'], 'points': [
            {'positions': [1.0], 'time_from_start': {'sec': 0, 'nanosec': 500000000}}]}
