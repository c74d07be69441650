"""Messages to arrays and back: mapped by name, whatever comes."""

import itertools
import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from builtin_interfaces.msg import Duration, Time  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from robodyn_ros.nodes.cdr import JointStateDecoder  # noqa: E402
from robodyn_ros.nodes.conversions import (  # noqa: E402
    in_seconds, JointStateAssembler, seconds, set_stamp, trajectory_points)
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

NAMES = ('a', 'b', 'c')
DECODER = JointStateDecoder()


def received(message):
    """Return what is received of a JointState message."""
    return DECODER.decode(serialize_message(message))


def state(names, position=None, velocity=None, effort=()):
    """Return a sample whose numbers identify their joint, unless given."""
    own = [10.0 * 'abcdefgh'.index(name[0]) for name in names]
    return received(JointState(
        name=list(names), position=own if position is None else position,
        velocity=[x + 1 for x in own] if velocity is None else velocity, effort=effort))


def reader_of(names):
    return JointStateAssembler(names, *np.full((3, len(names)), math.nan))


@pytest.fixture
def reader():
    return reader_of(NAMES)


def assert_state(reader):
    np.testing.assert_array_equal(reader.q, [0.0, 10.0, 20.0])
    np.testing.assert_array_equal(reader.qd, [1.0, 11.0, 21.0])


# --- joint states -------------------------------------------------------------------------------


@pytest.mark.parametrize('names', list(itertools.permutations('abc')))
def test_any_order(reader, names):
    assert reader.read(state(names))
    assert_state(reader)
    assert reader.problem == '' and reader.refused == 0


def test_the_order_may_change_and_there_may_be_others(reader):
    for names in ('abc', 'dcab', 'gbhac', 'abc', 'cba'):
        assert reader.read(state(names))
        assert_state(reader)


def test_joints_under_control_keep_their_places(reader):
    """Protects an arm whose driver exchanges names: feedback of one joint would drive another."""
    for names in ('dabc', 'cba', 'b'):
        reader.read(state(names))
    reader.keep_order(True)
    for names in ('abc', 'cgba', 'ab', 'c'):
        reader.read(state(names))
        assert reader.problem == '' or 'not reported' in reader.problem
    refused = reader.refused
    for names, moved in (('acb', 'c for b, b for c'), ('bac', 'b for a, a for b'),
                         ('gcaeb', 'a for b, b for a')):
        assert not reader.read(state(names))
        assert reader.problem == (
            f'joints have changed places in the joint states ({moved}): check joint names; to use '
            'the new order, deactivate and activate the controller')
    assert reader.refused == refused + 3
    assert reader.read(state('abc')), 'the former order is back'
    assert_state(reader)
    reader.keep_order(False)
    assert reader.read(state('acb'))
    reader.keep_order(True)
    assert reader.read(state('acb')) and reader.read(state('abc'))
    assert not reader.read(state('bca'))


def test_orders_that_are_remembered_are_bounded(reader):
    names = [f'{k}' for k in range(200)]
    reader = reader_of(names)

    def turned(k):
        return received(JointState(name=[*names[k:], *names[:k]], position=[0.0] * 200,
                                   velocity=[0.0] * 200))

    assert all(reader.read(turned(k)) for k in range(200))
    reader.keep_order(True)
    assert reader.read(turned(199)) and not reader.read(turned(0))


def test_several_messages_make_one_state(reader):
    assert not reader.read(state('ad'))
    assert reader.problem == 'joints not reported: b, c'
    assert not reader.read(state('a'))
    assert reader.read(state('cb'))
    assert_state(reader)
    # the next state needs all of them again
    assert not reader.read(state('bc'))
    assert reader.problem == 'joints not reported: a'
    assert reader.read(state('a'))


def test_messages_of_others_change_nothing(reader):
    assert not reader.read(state('de'))
    assert reader.problem == "a message named none of the model's joints"
    assert not reader.read(received(JointState()))
    assert reader.read(state('abc'))
    assert not reader.read(state('de'))
    assert_state(reader)
    assert reader.refused == 0


def test_what_others_report_may_be_no_number(reader):
    assert reader.read(state('dabce', position=[math.nan, 0.0, 10.0, 20.0, math.inf]))
    assert_state(reader)


@pytest.mark.parametrize('position, velocity, words', [
    ([], None, '3 names, 0 positions, 3 velocities'),
    (None, [], '3 positions, 0 velocities; .*needs position and velocity of every joint'),
    ([0.0, 10.0], None, '2 positions'), (None, [1.0] * 4, '4 velocities')])
def test_numbers_that_cannot_be_used_are_refused(reader, position, velocity, words):
    reader.read(state('abc'))
    assert not reader.read(state('abc', position, velocity))
    assert re.search(words, reader.problem), reader.problem
    assert reader.refused == 1
    assert_state(reader)
    assert reader.read(state('abc')) and reader.problem == ''


def test_a_joint_named_twice_is_refused(reader):
    assert not reader.read(state('abcb'))
    assert reader.problem == "joint 'b' is named twice in one message"
    assert reader.refused == 1
    assert reader.read(state('abcdd')), 'others may do as they like'


def test_effort_is_passed_on_where_it_is_reported(reader):
    assert reader.read(state('cab', effort=[3.0, 1.0, 2.0]))
    np.testing.assert_array_equal(reader.effort, [1.0, 2.0, 3.0])
    assert reader.read(state('abc'))
    assert np.isnan(reader.effort).all()
    assert reader.read(state('abc', effort=[1.0]))
    assert np.isnan(reader.effort).all()


def test_arrays_keep_their_identity(reader):
    q, qd = reader.q, reader.qd
    reader.read(state('abc'))
    assert reader.q is q and reader.qd is qd


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.lists(st.sampled_from('abcd'), max_size=5),
                          st.lists(st.floats(), max_size=5), st.lists(st.floats(), max_size=5),
                          st.lists(st.floats(), max_size=5)), max_size=6))
def test_whatever_comes_a_state_is_new_only_when_complete(messages):
    reader = reader_of(NAMES)
    for names, position, velocity, effort in messages:
        with np.errstate(all='ignore'):
            new = reader.read(received(JointState(name=names, position=position,
                                                  velocity=velocity, effort=effort)))
        assert new == (reader.problem == '')


# --- trajectories and time ----------------------------------------------------------------------


def test_points_are_plain_data():
    message = JointTrajectory(joint_names=['a', 'b'], points=[
        JointTrajectoryPoint(positions=[1.0, 2.0], time_from_start=Duration(sec=1)),
        JointTrajectoryPoint(positions=[3.0, 4.0], velocities=[5.0, 6.0],
                             accelerations=[7.0, 8.0], effort=[9.0, 0.0],
                             time_from_start=Duration(sec=2, nanosec=500_000_000))])
    first, second = trajectory_points(message)
    assert list(first.positions) == [1.0, 2.0] and first.time_from_start == 1.0
    assert not len(first.velocities) and not len(first.accelerations) and not len(first.efforts)
    assert list(second.velocities) == [5.0, 6.0] and list(second.accelerations) == [7.0, 8.0]
    assert list(second.efforts) == [9.0, 0.0] and second.time_from_start == 2.5
    assert trajectory_points(JointTrajectory()) == []


@pytest.mark.parametrize('nanoseconds', [0, 1, 999_999_999, 1_000_000_000,
                                         1_795_246_505_740_203_247])
def test_stamps(nanoseconds):
    stamp = Time()
    set_stamp(stamp, nanoseconds)
    assert stamp.sec * 10**9 + stamp.nanosec == nanoseconds
    assert seconds(stamp) == pytest.approx(1e-9 * nanoseconds, rel=1e-15)
    assert in_seconds(nanoseconds) == seconds(stamp)


def test_negative_durations():
    assert seconds(Duration(sec=-2, nanosec=500_000_000)) == -1.5
