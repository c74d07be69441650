"""Joints that exchange names near each other: detected by their velocities, and found again."""

import math

from closed_loop import MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController
from robodyn_ros.control.state import FROM_STATE
from robodyn_ros.control.steps import exchange
from robodyn_ros.dynamics import Dynamics
from steps import array, doubles, filled

DT, MOTION = 2e-3, 5e-3
SPEED = np.array([1.5, 1.5, 1.8, 1.8, 2.2, 2.6, 3.0])


class Names:
    """States of seven joints, whose names may be exchanged."""

    def __init__(self, q, qd):
        self.m = filled(exchange.Memory)
        self.last = np.array(q, dtype=float), np.array(qd, dtype=float)

    def state(self, q, qd, passed=DT, absent=None, known=1.0):
        """Take a state; return positions and velocities under their own names."""
        self.m, own, self.found = exchange.update(
            self.m, *doubles([known, passed, (list(q), list(qd)), tuple(map(list, self.last)),
                              MOTION, SPEED, absent or [0.0] * 7]))
        self.last = tuple(map(array, own))
        return self.last


def swapped(row, first=1, second=4):
    row = np.array(row)
    row[[first, second]] = row[[second, first]]
    return row


def moving(time):
    """Return a state in which joints 2 and 5 meet at 0.3 s, at different velocities."""
    qd = np.array([0.2, 0.5, -0.3, 0.0, -0.4, 0.8, -1.0])
    q = np.array([-1.0, -0.15, 0.6, 1.4, 0.12, -2.0, 2.4]) + time * qd
    return q, qd


@pytest.mark.parametrize('begin', [0.1, 0.28])
def test_an_exchange_is_detected_and_ends_wherever_joints_are(begin):
    names = Names(*moving(0.0))
    for k in range(1, 300):
        time = k * DT
        exchanged = begin <= time < 0.5
        given = moving(time)
        own = names.state(*(map(swapped, given) if exchanged else given))
        assert bool(names.m.exchanged) == exchanged
        for row, true in zip(own, given):
            np.testing.assert_allclose(row, true, atol=1e-12)
        if exchanged:
            assert {float(names.m.first), float(names.m.second)} == {1.0, 4.0}


class Decided(Names):
    """The same; as in the acceptance, an undecided state is not the last one."""

    def state(self, q, qd, passed=DT, absent=None, known=1.0):
        last, self.since = self.last, getattr(self, 'since', 0.0) + passed
        own = super().state(q, qd, self.since, absent, known)
        if self.m.undecided:
            self.last = last
        else:
            self.since = 0.0
        return own


def test_where_joints_meet_an_exchange_is_decided_when_they_have_parted():
    names, undecided = Decided(*moving(0.0)), 0
    for k in range(1, 300):
        time, exchanged = k * DT, 0.3 <= k * DT < 0.5
        given = moving(time)
        own = names.state(*(map(swapped, given) if exchanged else given))
        undecided += bool(names.m.undecided)
        assert bool(names.m.exchanged or names.m.undecided) == exchanged and not names.found
        if not names.m.undecided:
            np.testing.assert_allclose(own, given, atol=1e-12)
    assert 0 < undecided < 10


@pytest.mark.parametrize('wrong', [lambda v: -v, lambda v: 0.0 * v])
def test_wrong_velocities_where_joints_meet_are_no_exchange(wrong):
    """With the sign of its velocity changed, each joint has that of the other, for a moment."""
    speed = np.array([0.2, 0.5, -0.3, 0.0, -0.5, 0.8, -1.0])
    start = np.array([-1.0, -0.15, 0.6, 1.4, 0.15, -2.0, 2.4])
    names = Decided(start, speed)
    for k in range(1, 300):
        lies = 0.3 <= k * DT < 0.5
        names.state(start + k * DT * speed, wrong(speed) if lies else speed)
        assert not names.m.exchanged
        assert not names.m.undecided or k * DT < 0.32 or 0.5 <= k * DT < 0.52


def test_an_exchange_that_is_not_decided_in_time_is_suspected_and_found_at_its_end():
    q, qd = np.zeros(7), np.array([0.0, 0.2, 0.0, 0.0, -0.2, 0.0, 0.0])
    names = Decided(q, qd)
    for k in range(20):  # where they are
        names.state(q, swapped(qd))
        assert not names.m.exchanged and bool(names.m.undecided) == (k < 14)
    assert names.m.suspected
    parted = q + 0.1 * qd
    names.last = swapped(parted), swapped(qd)
    names.state(parted, qd)
    assert names.found and not names.m.suspected


def test_an_exchange_that_ends_where_joints_meet_has_ended():
    names = Decided(*moving(0.0))
    for k in range(1, 300):
        exchanged = 0.1 <= k * DT < 0.3
        given = moving(k * DT)
        names.state(*(map(swapped, given) if exchanged else given))
        assert bool(names.m.exchanged) == exchanged


def test_joints_with_equal_positions_and_velocities_keep_their_names():
    names = Names(np.zeros(7), np.zeros(7))
    names.state(swapped(np.zeros(7)), swapped(np.zeros(7)))
    assert not names.m.exchanged


def test_noise_and_acceleration_are_no_exchange():
    rng = np.random.default_rng(1)
    q, qd = np.zeros(7), np.zeros(7)
    names = Names(q, qd)
    for _ in range(2000):
        dt = rng.choice([DT] * 9 + [0.02])
        qdd = SPEED * rng.uniform(-9.0, 9.0, 7)
        q, qd = q + dt * qd + 0.5 * dt * dt * qdd, np.clip(qd + dt * qdd, -SPEED, SPEED)
        names.state(q + rng.normal(0.0, 5e-4, 7), qd + 0.01 * SPEED * rng.normal(0.0, 1.0, 7), dt)
        assert not names.m.exchanged


@pytest.mark.parametrize('options', [
    {'passed': 0.05}, {'absent': [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]}, {'known': 0.0}])
def test_without_velocities_and_a_recent_state_names_are_taken_as_they_are(options):
    q, qd = moving(0.3)
    names = Names(q, qd)
    own = names.state(swapped(q), swapped(qd), **options)
    assert not names.m.exchanged
    np.testing.assert_array_equal(own[0], swapped(q))


class Arm:
    """A controller that receives states at 500 Hz."""

    def __init__(self, q):
        self.control, self.now = ArmController(Dynamics(MODEL), settings_of()), 100.0
        self.q, self.qd = q, np.zeros(7)
        self.receive()
        self.control.activate(self.now, self.q, self.qd, self.now)

    def receive(self, names=lambda row: row):
        state = self.control.host.state
        self.now += DT
        self.q = self.q + DT * self.qd
        state.q[:], state.qd[:], state.effort[:] = names(self.q), names(self.qd), math.nan
        return self.control.receive(self.now, self.now, self.now)


def test_states_of_exchanged_joints_are_not_used_until_their_names_are_right():
    arm = Arm(q=np.array([0.0, 0.5, 0.8, 1.0, 0.545, -0.5, 0.2]))
    arm.qd[[1, 4]] = 0.6, -0.5
    for _ in range(10):  # until they are 23 mrad from each other
        assert arm.receive() is not None
    before = arm.control.status.states.q.copy()
    for _ in range(130):
        arm.receive(swapped)
        assert arm.control.status.states.kind != FROM_STATE
        np.testing.assert_array_equal(arm.control.status.states.q, before)
    expected = ("joints 'joint{}' and 'joint{}' seem to be exchanged: each has position and "
                'velocity of the other; check joint names')
    assert arm.control.status.state_problem in (expected.format(2, 5), expected.format(5, 2))
    assert 'no good data for 0.25' in arm.control.fault
    assert arm.control.status.state_problem in arm.control.fault
    arm.receive()
    assert arm.control.status.states.kind == FROM_STATE and not arm.control.status.state_problem
    np.testing.assert_allclose(arm.control.status.states.q, arm.q)
