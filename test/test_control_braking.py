"""The brake in front of position limits: when it begins, and how hard it is."""

from types import SimpleNamespace

from closed_loop import arm, BENT, MODEL
from design import gains_with, settings_of
from lqr import command, regulator
import numpy as np
import pytest
from robodyn_ros.control import Mode, Term
from robodyn_ros.control.steps import modes, torque as torque_step
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.safety import passive_stop, walls
from steps import array, body_of, doubles

DYN = Dynamics(MODEL)
JOINT = 3
ROTORS = np.array([0.3, 0.3, 0.1, 0.1, 0.05, 0.02, 0.01])


def braked(torque, q, qd, driven, armature=ROTORS):
    """Return a torque with the brake; driven: something else than the reference moves the arm."""
    body = body_of(DYN, gains_with(DYN, armature=armature))
    return array(walls.brake(body, *map(doubles, (torque, q, qd, float(driven))), body.robot))


def braking(distance, speed, driven, side=1.0, armature=ROTORS):
    """Return the torque added to a joint that heads for a limit, and the state."""
    limit = MODEL.upper if side > 0.0 else MODEL.lower
    q, qd = BENT.copy(), np.zeros(7)
    q[JOINT], qd[JOINT] = limit[JOINT] - side * distance, side * speed
    return braked(np.zeros(7), q, qd, driven, armature), q


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_an_arm_that_something_else_drives_is_braked_four_times_earlier(side):
    """
    Protects the two distances of the brake: 0.1 s ahead of the limit, and 0.025 s.

    Where a hand or linear feedback drives the arm nothing else brakes. A trajectory ends where it
    should, and must not be disturbed on its way there.
    """
    speed = 2.0
    for driven, time in ((True, 0.1), (False, 0.025)):
        assert not braking(1.01 * time * speed, speed, driven, side)[0].any()
        torque, _ = braking(0.9 * time * speed, speed, driven, side)
        assert side * torque[JOINT] < -1.0
        assert not np.delete(torque, JOINT).any()


def test_the_deceleration_is_that_of_the_joint_with_its_rotor_while_others_are_free():
    """
    Protects the scale of the brake: 160 /s of excess speed, whatever the inertia of the joint.

    At the limit all of 1 rad/s is excess, less half the softness of 0.02 rad/s.
    """
    for armature in (0.0 * ROTORS, ROTORS, 100.0 * ROTORS):
        torque, q = braking(0.0, 1.0, True, armature=armature)
        M = DYN.mass_matrix(q) + np.diag(armature)
        assert np.linalg.solve(M, torque)[JOINT] == pytest.approx(-160.0 * 0.99, rel=1e-9)


def test_brakes_of_two_joints_add_to_the_torque_that_is_there():
    """Protects other torques, and the brake of one joint from that of another."""
    q, qd = BENT.copy(), np.zeros(7)
    q[[1, 3]], qd[[1, 3]] = MODEL.upper[[1, 3]], 1.0
    before = np.arange(7.0)
    torque = braked(before, q, qd, True)
    inverse = np.linalg.inv(DYN.mass_matrix(q) + np.diag(ROTORS))
    expected = before.copy()
    expected[[1, 3]] -= 160.0 * 0.99 / np.diag(inverse)[[1, 3]]
    np.testing.assert_allclose(torque, expected, rtol=1e-9)


def test_in_a_passive_stop_the_brake_is_as_soft_as_the_damping_that_a_joint_bears():
    """Protects an arm that swings from a brake that is firmer than what makes it rest."""
    body = body_of(DYN, gains_with(DYN, armature=ROTORS))
    q, qd, one = BENT.copy(), np.zeros(7), np.ones(7)
    q[JOINT], qd[JOINT] = MODEL.upper[JOINT], 1.0

    def braked_at(mode, root, softness=0.0):
        m = SimpleNamespace(
            predicted=SimpleNamespace(q=doubles(q), qd=doubles(qd)), walls=body.robot,
            motion=SimpleNamespace(mode=doubles(mode)), feedback=SimpleNamespace(gap=doubles(0.0)),
            oscillation=SimpleNamespace(factor=doubles(one)),
            passive=SimpleNamespace(root=doubles(root * one)), acceptance=SimpleNamespace(
                plausibility=SimpleNamespace(delay=doubles(passive_stop.DELAY))))
        p = SimpleNamespace(walls=SimpleNamespace(tolerance=doubles(0.01)),
                            probe=SimpleNamespace(softness=doubles(softness * one)))
        return array(torque_step.brake(
            body, doubles(np.zeros(7)), doubles(1.0), doubles(0.0), m, p))[JOINT]

    firm = braked_at(modes.FLOAT, 0.5)
    assert firm < -1.0 and braked_at(modes.PASSIVE, 1.0) == pytest.approx(firm, rel=1e-12)
    assert braked_at(modes.PASSIVE, 0.5) == pytest.approx(0.25 * firm, rel=1e-12)
    # a joint that moves against its torque would be driven by its brake
    assert not braked_at(modes.PASSIVE, 1.0, 1.0) and not braked_at(modes.FLOAT, 1.0, 1.0)


def test_a_trajectory_that_ends_next_to_a_limit_is_not_braked_on_its_way():
    """
    Protects a motion along a reference from the early brake of a driven arm.

    The last part of the way is faster than an arm may float there, so that an early brake would
    cut the torque and cost accuracy.
    """
    goal = BENT.copy()
    goal[JOINT] = MODEL.upper[JOINT] - 0.005
    loop = arm(q=goal - np.eye(7)[JOINT], settings=settings_of(activation_time=0.02))
    loop.run(0.05)
    loop.follow(goal, 1.1)
    begin, fast = len(loop.log), False
    for _ in range(1200):
        loop.cycle()
        left = MODEL.upper[JOINT] - loop.plant.q[JOINT]
        fast |= 0.1 * loop.plant.qd[JOINT] > 1.2 * left
    assert fast, 'the motion is too slow to show anything'
    assert np.abs(loop.error[begin:]).max() < 5e-4


def test_linear_feedback_is_braked_as_early_as_a_hand():
    """Protects an arm that external feedback drives: it follows no reference."""
    q = BENT.copy()
    q[JOINT] = MODEL.upper[JOINT] - 0.1
    held = command(DYN, q, regulator(DYN, q))
    loop = arm(q=q, settings=settings_of(
        mode='linear_feedback', activation_time=0.02, torque_rate_limit=1e6))
    loop.run(0.05)
    for _ in range(250):
        loop.control.inputs.take_linear_feedback(loop.now, held)
        loop.cycle()
    assert loop.control.mode is Mode.LINEAR_FEEDBACK and not loop.control.terms[Term.LIMIT].any()
    loop.plant.q[JOINT], loop.plant.qd[JOINT] = MODEL.upper[JOINT] - 0.06, 1.0
    loop.control.inputs.take_linear_feedback(loop.now, held)
    loop.cycle()
    assert loop.control.terms[Term.LIMIT][JOINT] < -1.0
