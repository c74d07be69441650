"""Integral action: no offset under unknown loads, and no winding up."""

from closed_loop import arm, BENT, HEAVY, Loop, MODEL
import numpy as np
import pytest
from robodyn_ros.control import Mode, Term
from robodyn_ros.control.steps import law_state
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from design import change_settings, gains_with, settings_of
from steps import array, doubles, gains_of

# with a triple pole at -20/s: kp = 3 p^2, kd = 3 p, ki = p^3
TRIPLE = {'kp': 1200.0, 'kd': 60.0, 'ki': 8000.0}
LAWS = ('computed_torque', 'feedforward_pd')


def held(law, gains, seconds=5.0):
    """Return a loop around an arm with an unknown load that has been held for a while."""
    loop = Loop(MODEL, settings_of(mode=law), gains, q=BENT, plant=HEAVY)
    loop.run(seconds)
    return loop


@pytest.mark.parametrize('law', LAWS)
def test_an_unknown_load_causes_no_offset(law):
    without = held(law, {**TRIPLE, 'ki': 0.0})
    assert np.abs(without.error[-1]).max() > 1e-3
    loop = held(law, TRIPLE)
    assert np.abs(loop.error[-1]).max() < 1e-6
    # the integral is then the unmodelled torque
    unknown = Dynamics(HEAVY).gravity(BENT) - Dynamics(MODEL).gravity(BENT)
    np.testing.assert_allclose(loop.control.terms[Term.INTEGRAL], unknown, atol=1e-3)


def test_the_error_of_a_perfect_model_has_the_requested_poles():
    loop = arm(gains=TRIPLE, settings=settings_of(activation_time=0.0, transition_time=0.0))
    offset = 0.01
    loop.plant.q[:] -= offset
    loop.log.clear()
    loop.run(0.5)
    t = loop.times - loop.times[0]
    # e''' + 60 e'' + 1200 e' + 8000 e = 0 from e = offset, e' = 0, e'' = -kp e
    a = offset
    b = 20.0 * a
    c = 0.5 * (-1200.0 * a + 40.0 * b - 400.0 * a)
    expected = (a + b * t + c * t * t) * np.exp(-20.0 * t)
    # one millisecond from state to state
    np.testing.assert_allclose(loop.error, expected[:, None] * np.ones(7), atol=0.06 * offset)


class Saturated:
    """An integral whose joints have an error, and torque for some acceleration only."""

    def __init__(self, room=np.inf, **design):
        self.value, self.room = np.zeros(7), room
        self.gains = gains_of(gains_with(Dynamics(MODEL), **{**TRIPLE, **design}))

    def go(self, cycles, error, part=1.0, dt=1e-3):
        """Go on by some cycles; part: of what is missing that is fed back."""
        for _ in range(cycles):
            cut = part * np.minimum(self.room - self.value, 0.0)
            self.value = array(law_state.integrate(
                *map(doubles, (self.value, dt, np.broadcast_to(error, 7), cut)), self.gains))
        return self.value


def test_it_does_not_wind_up_while_a_motor_gives_all_it_has():
    loop = arm(gains=TRIPLE, settings=settings_of(activation_time=0.05))
    loop.run(0.2)
    push = np.zeros(7)
    push[0] = 1.2 * MODEL.effort_limit[0]  # more than the motor has
    for _ in range(150):
        torque = loop.control.update(loop.now, loop.plant.q, loop.plant.qd)
        loop.send(torque - push)
    pushed, begin = loop.error[-1, 0], len(loop.log)
    loop.run(3.0)
    assert -loop.error[begin:, 0].min() < 0.1 * pushed
    assert np.abs(loop.error[-1]).max() < 1e-6


def test_back_calculation_ends_where_the_limit_is_just_met():
    # a constant error at a saturated joint: i = room + ki e Tt, no further
    expected = 50.0 + 8000.0 * 0.02 * np.sqrt(60.0 / 8000.0)
    np.testing.assert_allclose(Saturated(50.0).go(2000, 0.02), expected, rtol=1e-6)
    assert (Saturated(50.0).go(2000, 0.02, part=0.0) > 5.0 * expected).all(), 'what it prevents'


def test_a_turned_error_takes_it_from_the_limit_at_once():
    """Protects from the overshoot of an integral that has wound up."""
    bounded, wound = Saturated(50.0), Saturated(50.0)
    bounded.go(1000, 0.02)
    wound.go(1000, 0.02, part=0.0)
    assert (bounded.go(60, -0.05) < 50.0).all() and (wound.go(60, -0.05, part=0.0) > 50.0).all()


@pytest.mark.parametrize('dt', [1.0, 0.0])
def test_back_calculation_takes_no_more_than_all_of_it_in_a_cycle(dt):
    """Protects from an integral that oscillates because states come less often than 1 / Tt."""
    integral = Saturated(50.0)
    integral.value[:] = 90.0
    np.testing.assert_allclose(integral.go(1, 0.0, dt=dt), 50.0 if dt else 90.0)


def test_a_number_that_is_not_finite_ends_it():
    """Protects later cycles from an error that was not a number."""
    integral = Saturated()
    error = np.full(7, 0.01)
    integral.go(10, error)
    error[3] = np.nan
    assert (integral.go(1, error)[3], np.isfinite(integral.value).all()) == (0.0, True)


def test_it_is_forgotten_when_the_arm_floats_or_is_found_again():
    loop = held('computed_torque', TRIPLE)
    control = loop.control
    for forget in (control.requests.compensate_gravity,
                   lambda: control.activation.resume(loop.now, loop.plant.q, loop.plant.qd),
                   lambda: control.changes.enter('joint_impedance')):
        assert control.terms[Term.INTEGRAL].any()
        forget()
        loop.cycle()
        assert not control.terms[Term.INTEGRAL].any() or control.mode is Mode.FLOAT
        loop.run(0.01)
        assert not control.host.memory.integral.any() or control.mode is not Mode.FLOAT
        control.changes.enter('computed_torque')
        loop.run(3.0)


@pytest.mark.parametrize('without', [range(7), [1]])
def test_without_ki_its_torque_fades_smoothly_and_is_gone(without):
    loop = held('computed_torque', TRIPLE, 1.0)
    control, ki = loop.control, np.full(7, TRIPLE['ki'])
    before = control.host.memory.integral.copy()
    assert (np.abs(before) > 0.1).all()
    ki[without] = 0.0
    change_settings(control, **{**TRIPLE, 'ki': ki})
    begin = len(loop.log) - 1
    loop.cycle()
    # the integral is gone at once, its torque is not: it fades within transition_time (0.2 s)
    np.testing.assert_array_equal(control.host.memory.integral, np.where(ki, before, 0.0))
    loop.run(0.3)
    torques = np.array([row[5] for row in loop.log[begin:]])
    assert (np.abs(np.diff(torques, axis=0)) / MODEL.effort_limit).max() < 0.012
    loop.run(1.2)
    unknown = Dynamics(HEAVY).gravity(BENT) - Dynamics(MODEL).gravity(BENT)
    # what remains is balanced by the error alone: M kp e
    error = loop.error[-1]
    if len(without) == 7:
        assert not control.terms[Term.INTEGRAL].any()
        carried = loop.dynamics.mass_matrix(loop.plant.q) @ (TRIPLE['kp'] * error)
        np.testing.assert_allclose(carried, unknown, atol=0.03 * np.abs(unknown).max())
    else:
        assert control.host.memory.integral[1] == 0.0
        assert abs(error[1]) > 1e-3
        assert np.abs(np.delete(error, 1)).max() < 1e-6


def test_an_unstable_integral_gain_is_refused():
    with pytest.raises(ParameterError, match="ki of joint 'joint1' is 80000; the error dies out "
                                             'only below kp kd'):
        gains_with(Dynamics(MODEL), kp=1200.0, kd=60.0, ki=80000.0)


# --- a gain that is taken away ------------------------------------------------------------------


def test_the_integral_of_a_joint_whose_ki_becomes_zero_is_dropped_and_the_others_go_on():
    """Protects from an integral torque that stays for good after `ki` of a joint is set to 0."""
    error, some = np.linspace(0.01, 0.07, 7), np.array([8000.0, 0.0, 8000.0, 0.0, 0.0, 8e3, 8e3])
    integral = Saturated()
    np.testing.assert_allclose(integral.go(100, error), 0.1 * 8000.0 * error, rtol=1e-12)
    after = Saturated(ki=some)
    after.value = integral.value
    for cycle in (101, 102):
        np.testing.assert_allclose(
            after.go(1, error), np.where(some, 1e-3 * cycle * 8000.0 * error, 0.0), rtol=1e-12)
