"""Faults: how they are written, when they are there, and what they do."""
import math

import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation.fault_loop.fault_numbers import numbers
from robodyn_ros.simulation.faults import Fault, FaultSchedule, KINDS, parse_fault
from robodyn_ros.simulation.reports import FaultyReports, StateReport

JOINTS = ('hip', 'knee', 'toe')


def report(stamp=10**9, position=(1.0, 2.0, 3.0)):
    return StateReport(JOINTS, np.array(position), np.array([0.1, 0.2, 0.3]),
                       np.array([10.0, 20.0, 30.0]), stamp)


def faulty(*faults):
    return FaultyReports().apply(1.0, report(), faults)


@pytest.mark.parametrize('entry, fault', [
    ('2.0 silence 0.1', Fault(2.0, 'silence', (), 0.1)),
    ('now freeze knee inf', Fault(7.0, 'freeze', ('knee',), math.inf)),
    ('0 nan 0.01', Fault(0.0, 'nan', (), 0.01)),
    ('0 nan hip toe 0.01', Fault(0.0, 'nan', ('hip', 'toe'), 0.01)),
    ('1e1 swap hip knee 2', Fault(10.0, 'swap', ('hip', 'knee'), 2.0)),
    (' 3  clock_jump 0.5  -0.2 ', Fault(3.0, 'clock_jump', (), 0.5, -0.2)),
    ('3 delay 0.5 0.03', Fault(3.0, 'delay', (), 0.5, 0.03)),
])
def test_how_a_fault_is_written(entry, fault):
    assert parse_fault(entry, JOINTS, now=7.0) == fault
    # its text can be parsed again
    assert parse_fault(str(fault), JOINTS) == fault


@pytest.mark.parametrize('entry, words', [
    ('', ['START KIND', '2.0 silence 0.1']),
    ('silence', ['START KIND']),
    ('2.0 freez knee 0.5', ["'freez'", "did you mean 'freeze'"]),
    ('2.0 silence', ['START silence DURATION', 'no joint states']),
    ('2.0 freeze 0.5', ['START freeze JOINT DURATION']),
    ('2.0 swap knee 0.5', ['START swap JOINT1 JOINT2 DURATION']),
    ('2.0 delay 0.5', ['START delay DURATION AMOUNT']),
    ('2.0 freeze kne 0.5', ["'kne'", "'knee'"]),
    ('soon silence 0.5', ["START is 'soon'", "'now'"]),
    ('-1 silence 0.5', ["START is '-1'", 'not negative']),
    ('1 silence long', ["DURATION is 'long'", "'inf'"]),
    ('1 clock_jump 1 nan', ["AMOUNT is 'nan'", 'finite']),
    ('1 delay 1 -0.1', ['-0.1', 'delay']),
])
def test_a_mistake_is_quoted_with_its_remedy(entry, words):
    with pytest.raises(ArgumentError) as caught:
        parse_fault(entry, JOINTS)
    assert repr(entry) in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_faults_begin_and_end_at_their_time():
    listed = [parse_fault(entry, JOINTS) for entry in
              ('0.3 freeze knee 0.2', '0.1 silence 0.3', '0.25 nan inf')]
    schedule = FaultSchedule(listed)
    seen = []
    for k in range(600):
        if schedule.update(1e-3 * k):
            seen.append((k, sorted(fault.kind for fault in schedule.active)))
    assert seen == [(100, ['silence']), (250, ['nan', 'silence']),
                    (300, ['freeze', 'nan', 'silence']), (400, ['freeze', 'nan']), (500, ['nan'])]
    assert schedule.counts == {'freeze': 1, 'silence': 1, 'nan': 1}


def test_without_faults_nothing_changes():
    schedule = FaultSchedule()
    assert not schedule.update(1e6) and not schedule.active


def test_what_the_wire_shows_of_each_fault():
    assert faulty(Fault(1.0, 'silence')) == []
    one, = faulty(Fault(1.0, 'nan', ('knee',)))
    assert np.isnan(one.position[1]) and np.isnan(one.velocity[1]) and one.position[0] == 1.0
    every, = faulty(Fault(1.0, 'nan'))
    assert np.isnan(every.position).all()
    swapped, = faulty(Fault(1.0, 'swap', ('hip', 'toe')))
    assert swapped.names == ('toe', 'knee', 'hip') and list(swapped.position) == [1.0, 2.0, 3.0]
    reordered, = faulty(Fault(1.0, 'reorder'))
    assert dict(zip(reordered.names, reordered.effort)) == {'hip': 10.0, 'knee': 20.0, 'toe': 30.0}
    assert reordered.names == JOINTS[::-1]
    missing, = faulty(Fault(1.0, 'missing', ('hip',)))
    assert missing.names == ('knee', 'toe') and list(missing.velocity) == [0.2, 0.3]
    twice, = faulty(Fault(1.0, 'duplicate', ('knee',)))
    assert twice.names == (*JOINTS, 'knee') and twice.position[3] == 2.0
    slow, = faulty(Fault(1.0, 'nan_velocity', ('toe',)))
    assert np.isnan(slow.velocity).tolist() == [False, False, True]
    assert list(slow.position) == [1.0, 2.0, 3.0]
    weak, = faulty(Fault(1.0, 'nan_effort'))
    assert np.isnan(weak.effort).all() and list(weak.velocity) == [0.1, 0.2, 0.3]
    far, = faulty(Fault(1.0, 'infinite', ('hip',)))
    assert list(far.position) == [np.inf, 2.0, 3.0]
    more, = faulty(Fault(1.0, 'extra'))
    assert more.names == ('unknown_joint', *JOINTS) and list(more.effort[1:]) == [10.0, 20.0, 30.0]
    late, = faulty(Fault(1.0, 'clock_jump', amount=-0.25))
    assert late.stamp == 750_000_000
    assert faulty(Fault(1.0, 'clock_jump', amount=-5.0))[0].stamp == 0
    still, = faulty(Fault(1.0, 'velocity_zero', ('hip',)))
    assert list(still.velocity) == [0.0, 0.2, 0.3] and list(still.position) == [1.0, 2.0, 3.0]
    turned, = faulty(Fault(1.0, 'velocity_scale', ('hip', 'toe'), amount=-2.0))
    assert list(turned.velocity) == [-0.2, 0.2, -0.6]
    # of the motors the wire shows nothing
    assert faulty(Fault(1.0, 'estop'))[0].names == JOINTS


def test_a_frozen_encoder_stays_where_it_was_and_moves_on_after():
    reports, fault = FaultyReports(), Fault(1.0, 'freeze', ('knee',), 1.0)
    for k in range(3):
        output, = reports.apply(1.0, report(position=(k, 10.0 + k, 0.0)), (fault,))
        assert list(output.position) == [k, 10.0, 0.0] and output.velocity[1] == 0.0
        assert not reports.idle
    output, = reports.apply(2.0, report(position=(9.0, 19.0, 0.0)), ())
    assert output.position[1] == 19.0 and reports.idle


def test_a_state_is_repeated_under_new_stamps():
    reports, fault = FaultyReports(), Fault(1.0, 'repeat', (), 1.0)
    for k in range(3):
        output, = reports.apply(1.0, report(stamp=k, position=(k, 1.0, 2.0)), (fault,))
        assert list(output.position) == [0.0, 1.0, 2.0] and output.stamp == k
        assert not reports.idle
    output, = reports.apply(2.0, report(position=(9.0, 1.0, 2.0)), ())
    assert output.position[0] == 9.0 and reports.idle


def test_a_second_arm_reports_by_turns_with_the_first():
    reports, fault = FaultyReports(), Fault(1.0, 'second_arm', (), 1.0, 0.5)
    other, own = (reports.apply(1.0, report(stamp=k), (fault,))[0] for k in range(2))
    assert list(other.position) == [1.5, 2.5, 3.5] and not other.velocity.any()
    assert list(own.position) == [1.0, 2.0, 3.0] and own.velocity.all()


def test_one_velocity_of_fifty_is_an_outlier():
    reports, fault = FaultyReports(), Fault(0.0, 'velocity_outliers', ('knee',), 1.0, 1e5)
    velocities = np.array([reports.apply(0.0, report(stamp=k), (fault,))[0].velocity
                           for k in range(200)])
    assert np.flatnonzero(velocities[:, 1] == 1e5).tolist() == [49, 99, 149, 199]
    assert (velocities[:, 0] == 0.1).all() and (velocities[:, 2] == 0.3).all()


def test_delayed_states_keep_their_stamps_and_their_order():
    reports, fault = FaultyReports(), Fault(0.0, 'delay', (), 1.0, 0.003)
    came = []
    for k in range(10):
        active = (fault,) if k < 7 else ()
        came += [(k, output.stamp) for output in reports.apply(1e-3 * k, report(stamp=k), active)]
    assert came == [(3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (7, 5), (7, 6), (7, 7), (8, 8), (9, 9)]


def test_faults_of_motors_and_commands():
    motors = Fault(0.0, 'torque_loss', ('knee',)).numbers(JOINTS)['motor']
    assert list(motors) == [1.0, 0.0, 1.0]
    assert Fault(0.0, 'estop').numbers(JOINTS) == {'brakes': 1.0}
    assert Fault(0.0, 'deaf').numbers(JOINTS) == {'deaf': 1.0}


def test_every_kind_has_numbers_of_the_loop():
    for name, kind in KINDS.items():
        joints = JOINTS[:kind.joints[0]]
        found = numbers(3, Fault(0.0, name, joints, amount=0.1).numbers(JOINTS))
        assert (name == 'extra') == np.array_equal(found, numbers(3))


def test_several_faults_at_once():
    one, = faulty(Fault(1.0, 'velocity_scale', (), amount=2.0), Fault(1.0, 'freeze', ('hip',)),
                  Fault(1.0, 'clock_jump', amount=0.5), Fault(1.0, 'clock_jump', amount=0.25),
                  Fault(1.0, 'missing', ('toe',)))
    assert one.names == ('hip', 'knee') and list(one.velocity) == [0.0, 0.4]
    assert list(one.position) == [1.0, 2.0] and one.stamp == 1_750_000_000
    assert faulty(Fault(1.0, 'missing', ('toe',)), Fault(1.0, 'silence')) == []
