"""Friction of the simulated arm: how a joint slows down, sticks and gets loose."""
from hypothesis import given, settings, strategies
import numpy as np
import pytest
from robodyn_ros.simulation import Plant
from simulated_arm import ARM, finish, one_joint, run


def test_terminal_velocity_is_where_friction_balances_the_torque():
    plant = Plant(one_joint(inertia=0.1, dynamics='<dynamics damping="0.5" friction="2"/>'))
    finish(plant, 4.0, 5.0)
    assert plant.qd[0] == pytest.approx((5.0 - 2.0) / 0.5, rel=1e-6)
    assert plant.friction[0] == pytest.approx(-5.0, rel=1e-6)


def test_coulomb_friction_stops_a_joint_in_time_and_for_good():
    inertia, friction, speed = 0.1, 0.5, 2.0
    plant = Plant(one_joint(inertia=inertia), damping=0.0, friction=friction)
    plant.qd[0] = speed
    duration = inertia * speed / friction
    finish(plant, duration / 2)
    assert plant.qd[0] == pytest.approx(speed / 2, rel=0.01)
    for _ in run(plant, 0.5, 0.0):
        # once it sticks, the bristle springs back by no more than it was bent
        assert plant.qd[0] >= -1e-5 / plant.step_size, 'friction drove the joint back'
    assert abs(plant.qd[0]) < 1e-9
    assert plant.q[0] == pytest.approx(speed * duration / 2, rel=0.01)


def test_stiction_holds_a_load_where_it_is():
    friction, load, presliding = 2.0, 1.5, 1e-5
    plant = Plant(one_joint(inertia=0.1), damping=0.0, friction=friction, presliding=presliding)
    finish(plant, 1.0, load)
    # the bristle bends in proportion to the load
    assert plant.q[0] == pytest.approx(presliding * load / friction, rel=1e-6)
    assert plant.friction[0] == pytest.approx(-load, rel=1e-9)
    held = plant.q[0]
    finish(plant, 60.0, load)
    assert abs(plant.q[0] - held) < 1e-12, 'it creeps'
    finish(plant, 0.2, friction + 1.0)
    assert plant.qd[0] > 0.5


def test_stiction_is_left_at_its_level_and_falls_to_coulomb_friction():
    stiction, friction = 3.0, 1.0
    plant = Plant(one_joint(inertia=0.1), damping=0.2, friction=friction, stiction=stiction,
                  stribeck_velocity=0.05)
    finish(plant, 0.5, 0.95 * stiction)
    assert abs(plant.q[0]) < 2e-5, 'it slipped'
    finish(plant, 90.0, 1.01 * stiction)
    # where viscous and Stribeck friction balance the torque
    v = plant.qd[0]
    curve = friction + (stiction - friction) / (1.0 + (v / 0.05)**2)
    assert 0.2 * v + curve == pytest.approx(1.01 * stiction, rel=1e-6)
    assert v > 5.0


def test_an_arm_at_rest_in_stiction_does_not_creep():
    plant = Plant(ARM, damping=1.0, friction=5.0)
    torque = plant.dynamics.gravity(plant.q) + np.array([3, -3, 3, -3, 3, -3, 3])
    finish(plant, 0.5, torque)
    held = plant.q.copy()
    finish(plant, 5.0, torque)
    np.testing.assert_allclose(plant.q, held, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(inertia=strategies.floats(1e-7, 1e-2), damping=strategies.floats(0.0, 100.0),
       friction=strategies.floats(0.0, 100.0), speed=strategies.floats(-50.0, 50.0))
def test_friction_slows_down_whatever_the_inertia(inertia, damping, friction, speed):
    plant = Plant(one_joint(inertia=0.0, mass=0.0), armature=inertia, damping=damping,
                  friction=friction)
    plant.qd[0] = before = speed
    for _ in run(plant, 0.02, 0.0):
        # but for what a bent bristle gives back
        spring = plant.joints.presliding[0] / plant.step_size
        assert abs(plant.qd[0]) <= abs(before) + spring
        assert plant.qd[0] * np.sign(speed) >= -spring
        before = plant.qd[0]
