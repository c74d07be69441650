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
