"""
Energy of a simulated arm: what it has gained is the work of all that acts on it.

Motors, a push, viscous friction and rotors together. Work is torque times the way of each step;
both it and the step are of second order, so the balance closes with the square of the step.
"""

from analysed_robots import ARM, last_link
import numpy as np
import pytest
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant

START = (0.1, 0.5, -0.2, -1.0, 0.3, 0.3, 0.0)
TORQUE = np.array([3.0, 10.0, 2.0, 4.0, 1.0, 0.5, 0.1])
PUSH = (5.0, -3.0, 8.0, 0.4, 0.2, -0.6)


@pytest.fixture(scope='module')
def arm():
    return RobotModel.from_urdf(ARM)


def imbalance(model, step, **joints):
    """Return energy gained less work done in half a second, over the largest kinetic energy."""
    plant = Plant(model, step, friction=0.0, lower=-np.inf, upper=np.inf, armature=0.05, **joints)
    plant.reset(START)
    plant.push(last_link(model), PUSH)
    dynamics = plant.dynamics

    def kinetic():
        rotors = 0.5 * plant.joints.armature @ plant.qd**2
        return dynamics.kinetic_energy(plant.q, plant.qd) + rotors

    before, work, moved = dynamics.potential_energy(plant.q), 0.0, 0.0
    for k in range(round(0.5 / step)):
        start = plant.q.copy()
        # as it is in the middle of the step
        assert plant.step(TORQUE * np.cos(5.0 * (k + 0.5) * step)), plant.fault
        work += (plant.applied + plant.external + plant.friction) @ (plant.q - start)
        moved = max(moved, kinetic())
    gained = kinetic() + dynamics.potential_energy(plant.q) - before
    assert moved > 1.0
    return abs(gained - work) / moved


@pytest.mark.parametrize('damping', [0.0, 0.4])
def test_energy_gained_is_the_work_done(arm, damping):
    coarse, fine = (imbalance(arm, step, damping=damping) for step in (2e-3, 1e-3))
    assert fine < 1e-4
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.3)


def test_all_friction_takes_energy(arm):
    """Check that with friction nothing that is left alone gains energy."""
    plant = Plant(arm, friction=0.3, damping=0.1)
    plant.reset(START)
    dynamics, zero = plant.dynamics, np.zeros(arm.nv)
    least = np.inf
    for _ in range(500):
        assert plant.step(zero), plant.fault
        assert plant.friction @ plant.qd <= 1e-12
        energy = (dynamics.kinetic_energy(plant.q, plant.qd)
                  + dynamics.potential_energy(plant.q))
        # what a step of second order may be wrong by
        assert energy < least + 1e-4
        least = min(least, energy)
