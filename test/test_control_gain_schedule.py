"""Gains that depend on where the arm is: blended, bounded in rate, and stable."""

from dataclasses import replace

from closed_loop import arm, BENT, MODEL
import numpy as np
import pytest
from robodyn_ros.control import make_gains, Term
from robodyn_ros.control.gain_schedule import ScheduledGains
from robodyn_ros.control.settings import GainSchedule
from robodyn_ros.control.steps import schedule
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from design import change_settings, gains_with, settings_of
from steps import array, doubles, gains_of

FAR = BENT + 1.5
TWO = GainSchedule((*BENT, *FAR), (0.5, 2.0), 0.5)


class Scheduled:
    """Factors of a schedule on their way, and the gains that count."""

    def __init__(self, of=TWO, model=MODEL, **design):
        self.table, self.factor = ScheduledGains(model, of).table, np.ones(7)
        self.base = gains_of(gains_with(Dynamics(model), **design))

    def wanted(self, q):
        return array(schedule.wanted(self.table, doubles(q)))

    def go(self, q, cycles=1, dt=1e-3):
        """Go on by some cycles at a configuration; return the gains that count then."""
        for _ in range(cycles):
            self.factor = array(schedule.update(self.table, doubles(self.factor), self.base,
                                                *doubles([dt, q])))
        return schedule.scaled(self.table, doubles(self.factor), self.base)


def test_a_configuration_has_its_factor_and_the_middle_the_mean():
    wanted = Scheduled().wanted
    # what the other one adds there: exp(-7 1.5^2 / 2 0.5^2)
    np.testing.assert_allclose(wanted(BENT), 0.5, atol=1e-12)
    np.testing.assert_allclose(wanted(FAR), 2.0, atol=1e-12)
    np.testing.assert_allclose(wanted(0.5 * (BENT + FAR)), 1.25)
    # far from all of them the nearest counts, and nothing underflows
    np.testing.assert_allclose(wanted(FAR + 100.0), 2.0)


def test_factors_may_differ_from_joint_to_joint():
    factors = np.linspace(0.5, 1.1, 14)
    wanted = Scheduled(GainSchedule((*BENT, *FAR), factors, 0.5)).wanted
    np.testing.assert_allclose(wanted(BENT), factors[:7], atol=1e-12)
    np.testing.assert_allclose(wanted(FAR), factors[7:], atol=1e-12)


def test_weights_are_those_of_a_normal_distribution():
    """Protects the blend between two configurations, which no symmetry determines."""
    for part in (0.2, 0.35, 0.6, 0.7):
        away = 7.0 * 1.5 ** 2 * np.array([part ** 2, (1.0 - part) ** 2])
        weights = np.exp(-away / (2.0 * 0.5 ** 2))
        expected = weights @ [0.5, 2.0] / weights.sum()
        np.testing.assert_allclose(Scheduled().wanted((1.0 - part) * BENT + part * FAR),
                                   expected, rtol=1e-12)


def test_stiffness_goes_with_the_square_and_damping_with_the_factor():
    base = make_gains(Dynamics(MODEL))
    counting = Scheduled().go(BENT, 3000)
    for name, part in (('kp', 0.25), ('kd', 0.5), ('pd_kp', 0.25), ('pd_kd', 0.5),
                       ('sliding_damping', 0.5)):
        np.testing.assert_allclose(array(getattr(counting, name)), part * getattr(base, name))
    np.testing.assert_array_equal(array(counting.stiffness), base.stiffness)


@pytest.mark.parametrize('wn, fastest', [(20.0, 1.0), (0.5, 0.5 * 2 * 0.5 * 0.5 ** 2)])
def test_a_factor_changes_no_faster_than_stability_allows(wn, fastest):
    # kd f^2 / 2 where that is less than 1: at the factor 0.5 and kd = 2 wn
    gains = Scheduled(natural_frequency=wn)
    gains.factor[:] = before = 0.5
    gains.go(FAR)
    np.testing.assert_allclose(gains.factor - before, 1e-3 * fastest, rtol=1e-9)
    gains.factor[:] = before = 2.0
    gains.go(BENT)
    np.testing.assert_allclose(before - gains.factor, 1e-3 * min(1.0, 16.0 * fastest), rtol=1e-9)


def test_an_error_never_gains_energy_while_the_gains_change_back_and_forth():
    # in the time that runs as the factor does: V = e_t^2 / 2 + kp e^2 / 2, e_t = e' / f
    gains = Scheduled(natural_frequency=2.0)
    dt, e, rate, values = 4e-4, 1.0, 0.0, []
    for k in range(10000):
        counting = gains.go(BENT if k // 1000 % 2 else FAR, dt=dt)
        rate += dt * (-counting.kd[0] * rate - counting.kp[0] * e)
        e += dt * rate
        values.append(0.5 * (rate / gains.factor[0]) ** 2 + 0.5 * 4.0 * e * e)
    assert np.diff(values).max() < 1e-6 and values[-1] < 1e-3 * values[0]


def test_the_laws_use_it_and_others_do_not_change():
    feedback = {}
    for each in (TWO, GainSchedule()):
        control = arm(settings=settings_of(
            gain_schedule=each, activation_time=0.0, transition_time=0.0)).control
        for name in ('computed_torque', 'feedforward_pd', 'joint_impedance'):
            control.enter(name)
            for k in range(2):
                control.host.memory.motion.reference.q[:] = BENT + 0.01
                # factors count from the cycle after the one in which they change
                control.host.memory.schedule[:] = 0.5 if each is TWO else 1.0
                control.update(1e-3 * k, BENT, np.zeros(7))
            feedback[name, each is TWO] = control.terms[Term.FEEDBACK].copy()
    for name, part in (('computed_torque', 0.25), ('feedforward_pd', 0.25),
                       ('joint_impedance', 1.0)):
        np.testing.assert_allclose(feedback[name, True], part * feedback[name, False])


def test_no_torque_steps_on_a_way_through_all_of_it():
    loop = arm(settings=settings_of(gain_schedule=TWO), plant=MODEL.with_payload(
        'tool0', 0.3, (0.0, 0.0, 0.1)))
    loop.run(0.7)
    plain = arm(plant=loop.plant.model)
    plain.run(0.7)
    for each in (loop, plain):
        each.follow(BENT + 0.8, 1.5)
        each.run(2.0)
    steps, usual = (np.abs(np.diff(each.torques, axis=0)).max() for each in (loop, plain))
    assert steps < 2.0 * usual


def test_continuous_joints_go_the_short_way():
    turned = BENT + 2.0 * np.pi * np.eye(7)[0]
    turns = Scheduled(model=replace(MODEL, continuous=np.arange(7) == 0))
    np.testing.assert_allclose(turns.wanted(turned), 0.5, atol=1e-12)
    assert (Scheduled().wanted(turned) > 1.0).all()


def test_an_integral_gain_has_to_be_stable_with_the_least_factor():
    # ki < kp kd f^3
    dynamics, gains = Dynamics(MODEL), ScheduledGains(MODEL, TWO)
    gains.check(gains_with(dynamics, ki=0.9 * 400 * 40 * 0.5 ** 3))
    with pytest.raises(ParameterError, match="'joint1' is 2200: .*below 2000"):
        gains.check(gains_with(dynamics, ki=1.1 * 400 * 40 * 0.5 ** 3))


def test_a_mode_requested_with_such_a_gain_is_not_entered():
    loop = arm(settings=settings_of(gain_schedule=TWO))
    with pytest.raises(ParameterError, match='below 2000'):
        change_settings(loop.control, mode='feedforward_pd', ki=2200.0)
    assert loop.control.law_at_work == loop.control.settings.mode == 'computed_torque'


@pytest.mark.parametrize('schedule, message', [
    (GainSchedule(BENT[:3], (1.0,)), 'has 3 values; give 7 for each'),
    (GainSchedule(BENT, (1.0, 2.0)), 'has 2 values for 1 configurations'),
    (GainSchedule((), (1.0,)), 'has 1 values for 0 configurations')])
def test_what_does_not_fit_is_refused(schedule, message):
    with pytest.raises(ParameterError, match=message):
        ScheduledGains(MODEL, schedule)
