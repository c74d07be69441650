"""Acceptance of received points: mapping by name, and a reason for every refusal."""

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.trajectory import arrange_points, check_trajectory, Reference, ResultCode
from robodyn_ros.trajectory import TrajectoryPoint, unwrap_continuous

NAMES = ('shoulder', 'elbow', 'wheel')
INF = np.inf
MODEL = SimpleNamespace(
    joint_names=NAMES, lower=np.array([-1.0, -2.0, -INF]), upper=np.array([1.0, 2.0, INF]),
    velocity_limit=np.array([2.0, 3.0, 8.0]), continuous=np.array([False, False, True]),
    position_units=('rad', 'm', 'rad'))
REST = Reference.zeros(3)


def point(t, positions=(0.1, 0.2, 0.3), velocities=(), accelerations=(), efforts=()):
    return TrajectoryPoint(positions, velocities, accelerations, efforts, t)


def check(points, names=NAMES, start=REST, **options):
    return check_trajectory(MODEL, names, points, start, **options)


def refused(points, text, names=NAMES, options=None, **evidence):
    return points, text, names, options or {}, evidence


REFUSED = {
    'unknown joint': refused(
        [point(1.0)], "no joint 'whel'; did you mean 'wheel'", names=('shoulder', 'elbow', 'whel'),
        joint='whel', code=-2),
    'repeated joint': refused(
        [point(1.0)], "joint 'elbow' is named twice", names=('elbow', 'elbow', 'wheel'),
        joint='elbow', code=-2),
    'missing joint': refused(
        [point(1.0, (0.1, 0.2))], "joint 'shoulder' is missing .* allow_partial_joints_goal",
        names=('elbow', 'wheel'), joint='shoulder', code=-2),
    'no joints': refused(
        [point(1.0, ())], 'names no joints', names=(), code=-2),
    'no joints at all, partial': refused(
        [point(1.0, ())], 'names no joints', names=(), options={'allow_partial_joints': True},
        code=-2),
    'no points': refused(
        [], 'no points', code=-1),
    'equal times': refused(
        [point(1.0), point(1.0)],
        'point 1: time_from_start 1 s does not come after 1 s of point 0', point=1),
    'nearly equal times': refused(
        [point(1.0), point(1.0 + 1e-9)], 'comes 1 ns after 1 s of point 0: leave one of them out',
        point=1),
    'a stamp of another clock': refused(
        [point(1.0)], r'would begin in 1.044e\+08 s: its stamp is that far ahead',
        options={'start_delay': 104352377.0}),
    'decreasing times': refused(
        [point(1.0), point(2.0), point(1.5)], 'point 2: .*1.5 s.*2 s of point 1', point=2,
        value=1.5, limit=2.0),
    'negative time': refused(
        [point(-0.5)], r'point 0: time_from_start is -0\.5 s', point=0),
    'time that is not a number': refused(
        [point(np.nan)], 'point 0: time_from_start is nan', point=0),
    'end in the past': refused(
        [point(1.0)], r'ended 2\.000 s ago: its stamp lies 3\.000 s in the past',
        options={'start_delay': -3.0}, code=-3),
    'no time to move': refused(
        [point(0.0)], 'ends at time 0; the arm needs time', code=-3),
    'not finite': refused(
        [point(1.0), point(2.0, (0.1, np.inf, 0.3))], "point 1, joint 'elbow': position is inf",
        joint='elbow', point=1, value=INF),
    'velocity not a number': refused(
        [point(1.0, velocities=(0.0, 0.0, np.nan))], "joint 'wheel': velocity is nan",
        joint='wheel', point=0),
    'too few positions': refused(
        [point(1.0), point(2.0, (0.1, 0.2))],
        'point 1: 2 positions for 3 joints; give one for each of shoulder, elbow, wheel', point=1,
        value=2, limit=3),
    'one number for all joints': refused(
        [point(1.0, 0.5)], 'point 0: positions = 0.5; give a number for each of the 3 joints',
        point=0),
    'a matrix': refused(
        [point(1.0, np.zeros((3, 1)))], r'point 0: positions = array\(', point=0),
    'text': refused(
        [point(1.0, ('a', 'b', 'c'))], r"point 0: positions = \('a', 'b', 'c'\); give a number",
        point=0),
    'nothing': refused(
        [point(1.0), point(2.0, velocities=None)], 'point 1: velocities = None; give a number',
        point=1),
    'a time in words': refused(
        [point(1.0), point('soon')], "point 1: time_from_start = 'soon'; give a number of seconds",
        point=1),
    'rows in place of points': refused(
        [(0.1, 0.2, 0.3)], r'point 0 is \(0.1, 0.2, 0.3\); give a TrajectoryPoint', point=0),
    'a point in place of a list': refused(
        point(1.0), 'the points are TrajectoryPoint.*; give a list of TrajectoryPoint'),
    'a name in place of a list': refused(
        [point(1.0)], "the joint names are 'wheel'; give a list of names", names='wheel', code=-2),
    'no positions': refused(
        [point(1.0, (), (0.0, 0.0, 0.0))], 'point 0: 0 positions for 3 joints', point=0),
    'too many efforts': refused(
        [point(1.0, efforts=(0.0,) * 4)], 'point 0: 4 efforts for 3 joints', value=4),
    'velocities on some points': refused(
        [point(1.0, velocities=(0.0,) * 3), point(2.0)], 'point 1 has no velocities, point 0 has',
        point=1),
    'accelerations on some points': refused(

        [point(1.0, velocities=(0.0,) * 3),
         point(2.0, velocities=(0.0,) * 3, accelerations=(0.0,) * 3)],
        'point 0 has no accelerations, point 1 has', point=0),
    'accelerations alone': refused(
        [point(1.0, accelerations=(0.0,) * 3)], 'accelerations but no velocities', code=-1),
    'moving at the end': refused(
        [point(1.0, velocities=(0.0, 0.4, 0.0))],
        "point 0, joint 'elbow': the last velocity is 0.4 m/s", joint='elbow', value=0.4,
        limit=0.0),
    'above the upper limit': refused(
        [point(1.0), point(2.0, (1.2, 0.0, 0.0))],
        "point 1, joint 'shoulder': position 1.2 is above the upper limit 1 rad", joint='shoulder',
        point=1, value=1.2, limit=1.0),
    'below the lower limit': refused(
        [point(9.0, (0.0, -2.5, 0.0))],
        "joint 'elbow': position -2.5 is below the lower limit -2 m",
        limit=-2.0),
    'velocity above the limit': refused(
        [point(1.0, velocities=(0.0, -3.5, 0.0)), point(2.0, velocities=(0.0,) * 3)],
        "point 0, joint 'elbow': velocity -3.5 is above the limit 3 m/s", joint='elbow',
        value=-3.5, limit=3.0),
    'too fast between points': refused(
        [point(0.3, (0.9, 0.0, 0.0))],
        "joint 'shoulder' would move at 4.5 rad/s at 0.1.* limit 2 rad/s; stretch the times by "
        '2.25', joint='shoulder', limit=2.0),
    'beyond a limit between points': refused(

        [point(1.0, (0.99, 0.0, 0.0), (1.9, 0.0, 0.0)),
         point(2.0, (0.99, 0.0, 0.0), (0.0, 0.0, 0.0))],
        "joint 'shoulder' would pass its limit 1 rad between points", joint='shoulder',
        limit=1.0),
}


@pytest.mark.parametrize('points, text, names, options, evidence', REFUSED.values(), ids=REFUSED)
def test_refusals_name_what_is_wrong(points, text, names, options, evidence):
    with pytest.raises(TrajectoryError, match=text) as caught:
        check(points, names, **options)
    found = caught.value.evidence
    assert isinstance(found['code'], ResultCode)
    assert {key: found[key] for key in evidence} == evidence


def test_maps_by_name():
    names = ('wheel', 'shoulder', 'elbow')
    arrays = arrange_points(names, [point(1.0, (3.0, 1.0, 2.0), (0.3, 0.1, 0.2))], NAMES)
    np.testing.assert_array_equal(arrays.positions, [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(arrays.velocities, [[0.1, 0.2, 0.3]])
    assert arrays.accelerations is None and arrays.efforts is None


def test_partial_goal_holds_the_other_joints():
    start = Reference.at_rest([0.3, -0.4, 0.5])
    trajectory = check([point(1.0, (0.2,), (0.0,), (0.0,), (7.0,))], names=('elbow',), start=start,
                       allow_partial_joints=True)
    np.testing.assert_array_equal(trajectory.end.q, [0.3, 0.2, 0.5])
    np.testing.assert_array_equal(trajectory.end.effort, [0.0, 7.0, 0.0])


def test_late_message_joins_what_is_still_ahead():
    points = [point(t, (0.1 * t, 0.0, 0.0)) for t in (0.0, 1.0, 2.0, 3.0)]
    trajectory = check(points, start_delay=-1.5)
    assert trajectory.times == (0.0, 0.5, 1.5)
    assert check(points, start_delay=2.0).times == (0.0, 2.0, 3.0, 4.0, 5.0)


def test_start_beyond_a_limit_may_come_back():
    start = Reference.at_rest([1.05, 0.0, 0.0])
    assert check([point(1.0, (0.5, 0.0, 0.0))], start=start).end.q[0] == 0.5
    with pytest.raises(TrajectoryError, match='would pass its limit'):
        check([point(1.0, (0.5, 0.0, 0.0))],
              start=Reference(start.q, np.array([1.0, 0.0, 0.0]), *np.zeros((2, 3))))


def test_zero_velocity_limit_is_blamed_on_the_model():
    model = SimpleNamespace(**{**vars(MODEL), 'velocity_limit': np.array([0.0, 3.0, 8.0])})
    with pytest.raises(TrajectoryError, match='velocity limit of 0: correct the URDF'):
        check_trajectory(model, NAMES, [point(1.0)], REST)


def test_a_point_on_its_limit_is_inside():
    assert check([point(2.0, (1.0 + 1e-9, -2.0, 0.0))]).end.q[1] == -2.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-20.0, 20.0), min_size=1, max_size=8), st.floats(-20.0, 20.0))
def test_continuous_joints_turn_the_short_way(goals, start):
    goals = np.array(goals)
    positions = np.stack((goals, goals), axis=1)
    unwrapped = unwrap_continuous(positions, [start, start], np.array([True, False]))
    np.testing.assert_array_equal(unwrapped[:, 1], goals)
    turns = (unwrapped[:, 0] - goals) / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-9)
    assert (np.abs(np.diff(unwrapped[:, 0], prepend=start)) <= np.pi + 1e-9).all()


def test_a_continuous_joint_turns_as_given():
    """Up to half a turn from point to point, and so on for several turns."""
    turns = [point(t, (0.0, 0.0, 3.0 * t)) for t in (1.0, 2.0, 3.0, 4.0)]
    assert check(turns).end.q[2] == 12.0


@pytest.mark.parametrize('goal, other', [(2.0 * np.pi, '0'), (4.0, '-2.283'), (-4.0, '2.283')])
def test_a_longer_turn_in_one_segment_is_refused_with_both_ways(goal, other):
    with pytest.raises(TrajectoryError, match="joint 'wheel' may turn by") as refusal:
        check([point(2.0, (0.0, 0.0, goal))])
    assert f'give {other} for that' in str(refusal.value)
    assert (refusal.value.evidence['joint'], refusal.value.evidence['point']) == ('wheel', 0)


def test_angles_within_one_turn_are_those_of_a_joint_that_has_turned():
    start = Reference.at_rest([0.0, 0.0, 4.0 * np.pi + 0.1])
    path = check([point(t, (0.0, 0.0, x)) for t, x in ((0.0, 0.1), (1.0, 1.0), (2.0, 3.0))],
                 start=start)
    assert path.end.q[2] == pytest.approx(4.0 * np.pi + 3.0)
    # from 3.1 to -3.1 there is no time for the longer way
    path = check([point(1.0, (0.0, 0.0, 3.1)), point(1.1, (0.0, 0.0, -3.1))])
    assert path.end.q[2] == pytest.approx(2.0 * np.pi - 3.1)
