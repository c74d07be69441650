"""Who carries the arm is noticed in the first moments of control, before it has moved far."""

from collections import deque

from closed_loop import BENT, Loop, MODEL
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.exceptions import StateError


class Carried(Loop):
    """An arm to which a driver adds a part of its gravity torque, and torques come late."""

    def __init__(self, part, late=0, **more):
        super().__init__(MODEL, q=BENT, **more)
        self.part, self.place = part, self.plant.q.copy()
        self.waiting = deque([self.control.gravity_torque().copy()] * (late + 1), late + 1)

    def send(self, torque):
        self.waiting.append(torque.copy())
        super().send(self.waiting[0] + self.part * self.dynamics.gravity(self.plant.q))

    @property
    def moved(self):
        return np.abs(self.plant.q - self.place).max()

    def until_fault(self):
        while not self.control.fault and self.now < 1.0:
            self.run(1e-3)
        return self.control.fault


@pytest.mark.parametrize('late', [0, 15])
def test_an_arm_that_is_carried_twice_is_let_go_within_millimetres(late):
    arm = Carried(1.0, late)
    fault = arm.until_fault()
    assert 'as if it were carried twice' in fault and arm.moved < 6e-3
    arm.run(2.0)
    # the driver alone carries it now
    assert arm.control.mode is Mode.PASSIVE and arm.moved < 0.1
    assert np.abs(arm.plant.qd).max() < 0.01 and np.abs(arm.waiting[-1]).max() < 0.3
    with pytest.raises(StateError, match='the cause is still there: .*twice'):
        arm.control.reset_fault()


def test_an_arm_that_nobody_carries_is_a_fault():
    arm = Carried(-1.0)
    assert 'as if nobody carried it' in arm.until_fault() and arm.moved < 6e-3


@pytest.mark.parametrize('part', [0.0, 0.3, -0.3, -0.5])
def test_wrong_masses_are_not_taken_for_that(part):
    arm = Carried(part)
    arm.run(1.0)
    assert not arm.control.fault


@pytest.mark.parametrize('load', [0.5, 3.0])
def test_a_load_that_is_not_known_is_not_taken_for_that(load):
    loop = Loop(MODEL, q=BENT, plant=MODEL.with_payload('link6', load))
    loop.run(1.0)
    assert not loop.control.fault


def test_an_arm_that_is_carried_twice_is_not_thrown_at_the_end_of_control():
    arm = Carried(1.0)
    arm.until_fault()
    arm.run(1.0)
    place = arm.plant.q.copy()
    arm.control.requests.shut_down('the end')
    while not arm.control.status.shutdown_over and arm.now < 15.0:
        arm.run(1e-3)
    assert arm.control.status.shutdown_over
    assert np.abs(arm.waiting[-1]).max() < 0.5 and not arm.control.gravity_torque().any()
    assert np.abs(arm.plant.q - place).max() < 5e-3


class Wrong(Loop):
    """An arm whose motors make another torque than is sent, and add one of their own."""

    def __init__(self, factor, stiffness=0.0, carried=False):
        super().__init__(MODEL, q=BENT, gains={'driver_compensates_gravity': carried})
        self.factor, self.stiffness, self.carried = factor, stiffness, carried
        self.place = self.plant.q.copy()

    def send(self, torque):
        super().send(self.factor * torque - self.stiffness * self.plant.q + (
            self.dynamics.gravity(self.plant.q) if self.carried else 0.0))

    @property
    def moved(self):
        return np.abs(self.plant.q - self.place).max()


@pytest.mark.parametrize('factor', [
    -1.0, np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0]),
    np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0])])
def test_an_arm_whose_torques_have_another_sign_gets_none(factor):
    """Feedback and damping would throw it: 2.7 rad in a quarter of a second."""
    arm = Wrong(factor)
    while not arm.control.fault and arm.now < 1.0:
        arm.run(1e-3)
    assert 'have another sign' in arm.control.fault and arm.moved < 0.02
    arm.run(0.1)
    assert not arm.control.status.sent.any() and arm.control.mode is Mode.PASSIVE
    with pytest.raises(StateError, match='the cause is still there'):
        arm.control.reset_fault()
    assert not arm.control.gravity_torque().any()


def test_an_arm_that_something_pulls_away_is_not_pulled_back():
    arm = Wrong(1.0, np.array([0.0, 70.0, 0.0, 70.0, 0.0, 0.0, 0.0]), carried=True)
    while not arm.control.fault and arm.now < 1.0:
        arm.run(1e-3)
    assert 'gravity does not explain it: a stiffness of the drives' in arm.control.fault
    assert arm.control.mode is Mode.PASSIVE and arm.moved < 0.2
    arm.stiffness = 0.0
    arm.run(2.0)
    assert np.abs(arm.plant.qd).max() < 0.01
    with pytest.raises(StateError, match='the cause is still there'):
        arm.control.reset_fault()
