"""Feedback gets weaker when torques come late, so that a busy computer does not throw the arm."""

from closed_loop import BENT, Loop, MODEL
import numpy as np
import pytest
from robodyn_ros.control import CycleSettings, make_gains, Term
from robodyn_ros.control.cadence import Cadence, swiftness
from robodyn_ros.control.laws import TRACKING
from robodyn_ros.dynamics import Dynamics

ROTORS = MODEL.effort_limit / 500.0
FAST = swiftness(np.array([1600.0]), np.array([80.0]))


def after(*gaps, before=0.002):
    """Return a cadence that was regular, and then had gaps."""
    cadence = Cadence()
    for gap in (*[before] * 2000, *gaps):
        cadence.note(gap)
    return cadence


def test_a_regular_cadence_is_for_the_gains_to_bear():
    for period in (0.001, 0.002, 0.01):
        assert after(*[2.9 * period] * 3, before=period).part(*FAST) == (
            1.0 if 2.9 * period < 0.02 else pytest.approx(0.8 / (0.029 * 80.0)))


def test_after_a_gap_the_error_dies_out_without_swinging():
    assert after(0.05).part(*FAST) == pytest.approx(0.8 / (0.05 * 80.0))
    assert after(0.2).part(*FAST) == 0.0, 'kp T > 2 kd: no damping could help'
    assert after(0.05).part(1.0, 1.0) == 1.0, 'slow gains bear it'


def test_a_gap_is_forgotten():
    part = [after(0.05, *[0.002] * count).part(*FAST) for count in (0, 50, 100, 200, 1000)]
    assert part == sorted(part) and part[-1] == 1.0


def test_joints_without_damping_have_no_say():
    assert swiftness(np.array([100.0, 900.0]), np.array([0.0, 60.0])) == (60.0, 15.0)
    assert swiftness(np.zeros(1), np.zeros(1)) == (0.0, 0.0)


def test_each_law_tells_how_fast_its_feedback_is():
    gains = make_gains(Dynamics(MODEL), natural_frequency=20.0, impedance_frequency=10.0,
                       armature=ROTORS)
    loop = Loop(MODEL, gains={'armature': ROTORS})
    for name in ('computed_torque', 'feedforward_pd', 'adaptive'):
        assert swiftness(*TRACKING[name].rates(gains, loop.control.task_gains)) == (
            pytest.approx((40.0, 10.0)))
    for name in ('joint_impedance', 'shaped_impedance'):
        assert swiftness(*TRACKING[name].rates(gains, loop.control.task_gains)) == (
            pytest.approx((20.0, 5.0)))
    for name in ('cartesian_impedance', 'operational_space'):
        damping, stiffness = swiftness(*TRACKING[name].rates(gains, loop.control.task_gains))
        assert 10.0 < damping < 100.0 and 2.0 < stiffness < 20.0


def answered_late(tracking, worst, seed=0):
    """Return the fastest joint, in velocity limits, where half of the torques come late."""
    rng = np.random.default_rng(seed)
    loop = Loop(MODEL, CycleSettings(activation_time=0.05, tracking=tracking), friction=True,
                gains={'natural_frequency': 40.0, 'armature': ROTORS}, armature=ROTORS, q=BENT,
                period=0.002)
    loop.run(0.2)
    loop.follow(loop.swing(2.0), 2.0)
    end = loop.now + 2.5
    while loop.now < end:
        loop.period = 0.002 if rng.random() < 0.5 else 1e-3 * rng.integers(1, round(1e3 * worst))
        loop.cycle()
    return max((np.abs(row[2]) / MODEL.velocity_limit).max() for row in loop.log)


@pytest.mark.parametrize('tracking', ['computed_torque', 'joint_impedance', 'cartesian_impedance'])
def test_a_busy_computer_does_not_throw_the_arm(tracking):
    assert answered_late(tracking, 0.1) < 0.9


def test_with_all_of_its_feedback_it_would(monkeypatch):
    monkeypatch.setattr(Cadence, 'part', lambda *_: 1.0)
    assert answered_late('computed_torque', 0.1) > 3.0


def test_weaker_feedback_leaves_the_model_alone(monkeypatch):
    loop = Loop(MODEL, CycleSettings(activation_time=0.05), q=BENT)
    loop.run(0.1)
    q, qd = loop.plant.q + 0.01, loop.plant.qd
    loop.control.update(loop.now, q, qd)
    whole = loop.control.terms.copy()
    monkeypatch.setattr(Cadence, 'part', lambda *_: 0.25)
    loop.control.update(loop.now, q, qd)
    weaker = loop.control.terms
    np.testing.assert_allclose(weaker[Term.FEEDBACK], 0.25 * whole[Term.FEEDBACK])
    for term in (Term.GRAVITY, Term.CORIOLIS, Term.INERTIA):
        np.testing.assert_array_equal(weaker[term], whole[term])
