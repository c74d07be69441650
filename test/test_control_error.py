"""The error under computed torque: its decay, and its bound with a model that is wrong."""

from closed_loop import arm, BENT, Loop, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.simulation.mismatch import mismatched

AT_ONCE = settings_of(activation_time=0.0, transition_time=0.0)


@pytest.mark.parametrize('frequency, ratio', [(10.0, 1.0), (20.0, 1.0), (20.0, 0.7)])
def test_with_a_perfect_model_it_decays_at_the_designed_rate_while_the_arm_moves(frequency, ratio):
    loop = arm(gains={'natural_frequency': frequency, 'damping_ratio': ratio}, settings=AT_ONCE)
    loop.follow(loop.swing(1.5, 0.3), 1.5)
    offset = 0.01
    loop.plant.q[:] -= offset
    loop.log.clear()
    loop.run(1.0)
    t = loop.times - loop.times[0]
    # e'' + 2 zeta wn e' + wn^2 e = 0 from e = offset, e' = 0
    root = -ratio * frequency + frequency * np.sqrt(complex(ratio * ratio - 1.0 + 1e-12))
    other = -2.0 * ratio * frequency - root
    expected = (offset * (other * np.exp(root * t) - root * np.exp(other * t))
                / (other - root)).real
    np.testing.assert_allclose(loop.error, expected[:, None] * np.ones(7), atol=0.06 * offset)


@pytest.mark.parametrize('frequency', [15.0, 30.0])
def test_with_a_model_that_is_wrong_by_a_fifth_it_stays_within_its_bound(frequency):
    heavier = mismatched(MODEL, 1.2)
    loop = Loop(MODEL, AT_ONCE, {'natural_frequency': frequency}, q=BENT, plant=heavier)
    loop.run(1.0)
    begin = len(loop.log)
    loop.follow(loop.swing(1.5, 0.4), 1.5)
    loop.run(1.6)
    model, real = Dynamics(MODEL), Dynamics(heavier)
    disturbance = []
    for _, q, qd, _, _, torque in loop.log:
        qdd = real.forward_dynamics(q, qd, torque)
        lacking = real.inverse_dynamics(q, qd, qdd) - model.inverse_dynamics(q, qd, qdd)
        disturbance.append(np.linalg.solve(model.mass_matrix(q), lacking))
    # e'' + kd e' + kp e = d: with critical damping the impulse response does not change its
    # sign and integrates to 1 / kp, so |e| <= max |d| / kp
    bound = np.abs(disturbance).max(axis=0) / frequency ** 2
    largest = np.abs(loop.error[begin:]).max(axis=0)
    assert np.all(largest <= 1.05 * bound)
    assert largest.max() > 1e-3  # there is something to bound
