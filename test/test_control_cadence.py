"""Feedback gets weaker when torques come late, so that a busy computer does not throw the arm."""

from closed_loop import BENT, Loop, MODEL
from lying_arm import LyingArm
import numpy as np
import pytest
from robodyn_ros.control import Mode, Term
from robodyn_ros.control.laws.table import fastest, TRACKING
from robodyn_ros.control.steps import feedback
from robodyn_ros.dynamics import Dynamics
from design import change_settings, gains_with, settings_of
from steps import doubles, filled

ROTORS = MODEL.effort_limit / 500.0
FAST = fastest(np.array([1600.0]), np.array([80.0]))


def share_after(*gaps, rates=FAST, before=0.002):
    """Return the share of the feedback after regular torques, and then some with gaps."""
    m = filled(feedback.Memory)
    for gap in (*[before] * 2000, *gaps):
        m = feedback.update(m, doubles(gap))
    return float(feedback.stable_scale(m, *doubles(rates)))


def test_gains_are_made_for_a_regular_cadence():
    for period in (0.001, 0.002, 0.01):
        assert share_after(*[2.9 * period] * 3, before=period) == (
            1.0 if 2.9 * period < 0.02 else pytest.approx(0.8 / (0.029 * 80.0)))


@pytest.mark.parametrize('damping_ratio', [0.35, 0.5, 0.7, 1.0, 2.0])
def test_gains_are_stable_with_a_torque_that_acts_one_interval_late(damping_ratio):
    factors = []
    for kd in np.linspace(0.05, 10.0, 200):  # with an interval of 1
        kp = (0.5 * kd / damping_ratio) ** 2
        f, = feedback.factors(*np.array([[kp], [kd], [1.0]]))
        # position, velocity and the torque that acts next
        loop = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [-f * f * kp, -f * kd, 0.0]])
        assert np.abs(np.linalg.eigvals(loop)).max() < 1.0, kd
        assert f == 1.0 or kd > 0.26
        factors.append(f)
    assert factors[0] == 1.0 and factors == sorted(factors, reverse=True) and factors[-1] > 0.02


@pytest.mark.parametrize('period', [0.001, 0.004])
def test_gains_that_are_too_high_for_the_rate_do_not_throw_the_arm(period):
    loop = Loop(MODEL, settings_of(activation_time=0.05), q=BENT, period=period)
    late, send = [loop.control.gravity_torque()], loop.send

    def send_late(torque):
        late.append(torque.copy())
        send(late.pop(0))

    loop.send = send_late
    loop.run(0.2)
    loop.follow(loop.swing(2.0), 2.0)
    loop.run(0.8)
    assert not loop.control.status.unstable_gains
    change_settings(loop.control, natural_frequency=500.0)
    loop.run(1.5)
    assert np.abs(loop.q - [row[3] for row in loop.log]).max() < 0.01
    assert loop.control.mode is Mode.HOLD and not loop.control.fault
    assert loop.control.status.unstable_gains.endswith(
        f'kd = 1000 1/s is unstable with a torque every {1e3 * period:.0f} ms')
    factor, = feedback.factors(*np.array([[250e3], [1000.0], [period]]))
    assert loop.control.status.bandwidth_factor == pytest.approx(factor) and factor < 0.7


def test_late_states_and_seldom_torques_are_reported_each_by_name():
    loop = Loop(MODEL, settings_of(natural_frequency=100.0), q=BENT)
    loop.run(0.01)
    share = loop.control.host.memory.feedback
    for usual, late, words in ((0.002, 0.04, 'a torque every 2 ms and states up to 40 ms late'),
                               (0.0, 0.04, 'states up to 40 ms late'),
                               (0.015, 0.0, 'a torque every 15 ms')):
        share.usual[()] = share.gap[()] = share.least[()] = usual
        share.lag[()] = late
        assert loop.control.status.unstable_gains.endswith(
            f'kd = 200 1/s is unstable with {words}')


@pytest.mark.parametrize('delay', [0.02, 0.03, 0.045])
def test_states_that_come_late_from_now_on_do_not_throw_the_arm(delay):
    arm = LyingArm(faults=[f'1.0 delay 0.6 {delay}'], gains={'natural_frequency': 30.0})
    arm.run(0.6)
    assert not arm.go(1.5)
    arm.run(3.0)
    assert (np.abs(arm.column(2)) / MODEL.velocity_limit).max() < 0.9
    assert not arm.control.fault and float(arm.control.host.memory.feedback.lag) < 1e-3


def test_a_slower_rate_counts_within_a_few_intervals():
    m = filled(feedback.Memory)
    for _ in range(2000):
        m = feedback.update(m, doubles(0.001))
    for _ in range(10):
        m = feedback.update(m, doubles(0.0025))
    assert float(feedback.interval(m)) == 0.0025
    for _ in range(2):  # short intervals in between are no faster rate
        m = feedback.update(m, doubles(0.001))
    assert float(feedback.interval(m)) < 0.0015


def test_after_a_gap_the_error_dies_out_without_oscillation():
    assert share_after(0.05) == pytest.approx(0.8 / (0.05 * 80.0))
    assert share_after(0.2) == 0.0, 'kp T > 2 kd: no damping could help'
    assert share_after(0.05, rates=(1.0, 1.0)) == 1.0, 'slow gains are stable all the same'


def test_a_gap_is_forgotten():
    part = [share_after(0.05, *[0.002] * count) for count in (0, 50, 100, 200, 1000)]
    assert part == sorted(part) and part[-1] == 1.0


def test_an_arm_that_was_not_under_control_has_no_past():
    """Protects feedback from the gaps of the time before an activation."""
    m = feedback.update(filled(feedback.Memory, gap=0.2, usual=0.002), doubles(0.002))
    assert feedback.stable_scale(m, *doubles(FAST)) < 1.0
    m = feedback.update(feedback.restarted(m, 1.0), doubles(0.002))
    assert feedback.stable_scale(m, *doubles(FAST)) == 1.0


@pytest.mark.parametrize('duration', [0.5, 0.0])
def test_feedback_grows_without_a_step_or_a_kink_from_the_activation_on(duration):
    m = feedback.growing(filled(feedback.Memory), doubles(3.0), 1.0)
    p = filled(feedback.Program, activation_time=duration)
    times = np.linspace(2.9, 3.6, 701)
    grown = np.array([float(feedback.growth(m, p, doubles(t))) for t in times])
    if not duration:
        assert (grown == 1.0).all()
        return
    assert not grown[times <= 3.0].any() and (grown[times >= 3.5 + 1e-9] == 1.0).all()
    x = np.clip((times - 3.0) / duration, 0.0, 1.0)
    np.testing.assert_allclose(grown, 3.0 * x ** 2 - 2.0 * x ** 3, atol=1e-12)
    never = filled(feedback.Memory, since=np.inf)  # of an arm that was never activated
    assert feedback.growth(never, p, doubles(1e9)) == 0.0


def test_joints_without_damping_do_not_count():
    assert fastest(np.array([100.0, 900.0]), np.array([0.0, 60.0])) == (60.0, 15.0)
    assert fastest(np.zeros(1), np.zeros(1)) == (0.0, 0.0)


def test_how_fast_the_feedback_of_each_law_is():
    gains = gains_with(
        Dynamics(MODEL), natural_frequency=20.0, impedance__natural_frequency=10.0,
        armature=ROTORS)
    loop = Loop(MODEL, gains={'armature': ROTORS})
    for name in ('computed_torque', 'feedforward_pd', 'adaptive'):
        assert fastest(*TRACKING[name].rates(gains, loop.control.design.task_gains)) == (
            pytest.approx((40.0, 10.0)))
    for name in ('joint_impedance', 'shaped_impedance'):
        assert fastest(*TRACKING[name].rates(gains, loop.control.design.task_gains)) == (
            pytest.approx((20.0, 5.0)))
    for name in ('cartesian_impedance', 'operational_space'):
        damping, stiffness = fastest(*TRACKING[name].rates(gains, loop.control.design.task_gains))
        assert 10.0 < damping < 100.0 and 2.0 < stiffness < 20.0


def answered_late(tracking, worst, rates=None):
    """
    Return the fastest joint, in velocity limits, where half of the torques come late.

    rates: in place of those of the law, from which the share of the feedback follows.
    """
    rng = np.random.default_rng(0)
    loop = Loop(MODEL, settings_of(activation_time=0.05, mode=tracking), friction=True,
                gains={'natural_frequency': 40.0, 'armature': ROTORS}, armature=ROTORS, q=BENT,
                period=0.002)
    if rates is not None:
        program = loop.control.host.program
        program.law_damping[()], program.law_stiffness[()] = rates
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


def test_with_all_of_its_feedback_it_would():
    assert answered_late('computed_torque', 0.1, rates=(0.0, 0.0)) > 3.0


def test_weaker_feedback_does_not_change_the_model_terms():
    loop = Loop(MODEL, settings_of(activation_time=0.05), q=BENT)
    loop.run(0.1)
    q, qd = loop.plant.q + 0.01, loop.plant.qd
    loop.control.update(loop.now, q, qd)
    whole = loop.control.terms.copy()
    gap = 0.1
    loop.control.host.memory.feedback.gap[()] = gap
    loop.control.host.program.law_damping[()] = 0.8 / (0.25 * gap)
    loop.control.host.program.law_stiffness[()] = 0.0
    loop.control.update(loop.now, q, qd)
    weaker = loop.control.terms
    np.testing.assert_allclose(weaker[Term.FEEDBACK], 0.25 * whole[Term.FEEDBACK])
    for term in (Term.GRAVITY, Term.CORIOLIS, Term.INERTIA):
        np.testing.assert_array_equal(weaker[term], whole[term])
