"""The momentum observer: its formula against NumPy, its filter and bias against a known arm."""

from analysed_robots import EXACT, make, slopes, states
from closed_loop import BENT, Loop, MODEL
from design import gains_with, settings_of
from fake_arm import MODEL as TWO_JOINTS
import numpy as np
import pytest
from robodyn_ros.control import with_slots
from robodyn_ros.control.arm.contact import compile_tip_wrench
from robodyn_ros.control.steps import observer
from robodyn_ros.control.steps.observer import momentum
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError, ParameterError
from robodyn_ros.model import Payload
from robodyn_ros.safety.acceptance import State
from steps import array, body_of, doubles, filled
from tolerance import assert_close

LIMIT = np.array(MODEL.effort_limit)
ROTORS = 2e-3 * LIMIT
TIP = 'tool0'
LOAD = Payload('link7', 1.5, (0.0, 0.0, 0.05), 2e-3 * np.eye(3))
LOADED = Dynamics(MODEL.with_payload('link7', 1.5, (0.0, 0.0, 0.05), 2e-3 * np.eye(3)))


def loop_with(gains=None, **options):
    """Return a loop around the arm with rotors, held in a bent pose."""
    options.setdefault('q', BENT)
    made = Loop(options.pop('model', MODEL), gains={'armature': ROTORS, **(gains or {})},
                settings=settings_of(activation_time=0.05, load_time=0.0),
                armature=ROTORS, **options)
    made.run(0.1)
    return made


def seen(loop):
    return loop.control.observation


def watched(loop, seconds):
    """Return the external torque that is seen in each cycle of a while."""
    rows = []
    for _ in range(round(seconds / loop.period)):
        loop.cycle()
        rows.append(seen(loop).torque.copy())
    return np.array(rows)


@pytest.mark.parametrize('name', ['arm', 'single', 'slides', 'tree', 'tied'])
def test_momentum_and_gradient_are_those_of_the_matrices(name):
    dyn = make(name)
    kernel = dyn.kernel(lambda *arguments: [*map(list, momentum(*arguments))],
                        {'q': dyn.nv, 'qd': dyn.nv}, (2, dyn.nv))
    for q, qd in zip(*states(dyn)[:2]):
        p, gradient = kernel(q, qd)
        assert_close(p, dyn.mass_matrix(q) @ qd, EXACT)
        C = np.einsum('ijk,k->ij', dyn.christoffel(q), qd)
        assert_close(gradient, C.T @ qd, 10 * EXACT, scale=np.abs(p).max())
        by_differences = slopes(lambda x: dyn.kinetic_energy(x, qd), q)
        assert_close(gradient, by_differences, 1e-6, scale=np.abs(p).max())


def test_a_step_is_that_of_the_equations():
    dyn = Dynamics(MODEL)
    n, rng, dt, K = dyn.nv, np.random.default_rng(0), 0.004, 40.0
    gains = gains_with(
        dyn, armature=0.1, observer__bandwidth=K, friction__viscous=0.3, friction__coulomb=0.0)
    (q0, q1), (v0, v1) = rng.uniform(-1, 1, (2, 2, n))
    torque, known = rng.uniform(-5, 5, (2, n))
    m, rows = filled(observer.Memory, begins=1.0), doubles(np.zeros((len(Term), n)))
    for step, q, v in ((0.0, q0, v0), (dt, q1, v1)):
        assert not array(m.external).any()
        m = observer.update(body_of(dyn, gains), m, filled(observer.Program),
                            *doubles([step]), filled(State, q=q, qd=v),
                            *doubles([torque, known]), rows, doubles((0.0, 0.0)))

    def p(q, v):
        return (dyn.mass_matrix(q) + 0.1 * np.eye(n)) @ v

    def drift(q, v):
        return dyn.coriolis_matrix(q, v).T @ v - dyn.gravity(q) - 0.3 * v

    mean = (p(q1, v1) - p(q0, v0)) / dt - torque - 0.5 * (drift(q0, v0) + drift(q1, v1))
    filtered = 1.0 - np.exp(-K * dt)
    assert_close(array(m.external), filtered * mean, 2e-4)
    assert_close(array(m.unknown), filtered * (mean - known), 2e-4)


@pytest.mark.parametrize('bandwidth', [30.0, 100.0])
@pytest.mark.parametrize('period', [0.001, 0.005])
def test_the_residual_is_the_push_behind_a_filter(period, bandwidth):
    loop = loop_with(gains={'observer__bandwidth': bandwidth}, period=period)
    push = 0.02 * LIMIT
    loop.plant.external[:] = push
    rows = watched(loop, 3.0 / bandwidth)
    t = period * np.arange(len(rows))[:, None]
    np.testing.assert_allclose(rows / push, (1.0 - np.exp(-bandwidth * t)) * np.ones(7), atol=5e-3)


def test_states_may_come_when_they_like():
    loop, rng = loop_with(), np.random.default_rng(1)
    push = 0.02 * LIMIT
    loop.plant.external[:] = push
    start = loop.now
    for steps in rng.integers(1, 20, 30):
        loop.period = 1e-3 * steps
        loop.cycle()
    left = 1.0 - np.exp(-30.0 * (loop.log[-1][0] - start))
    np.testing.assert_allclose(seen(loop).torque / push, left, atol=0.01)


@pytest.mark.parametrize('period, bound', [(0.001, 2e-6), (0.005, 4e-5)])
def test_without_a_push_there_is_none_in_fast_motion(period, bound):
    loop = loop_with(period=period)
    assert np.abs(watched(loop, 0.3) / LIMIT).max() < 1e-9
    loop.follow(loop.swing(1.2, 0.9), 1.2)
    assert np.abs(watched(loop, 1.3) / LIMIT).max() < bound
    assert (np.abs(loop.column(2)).max(axis=0) > 0.5 * MODEL.velocity_limit).any()


def test_friction_of_the_model_is_no_push_where_a_joint_moves():
    friction = {'friction__viscous': 0.01 * LIMIT, 'friction__coulomb': 0.02 * LIMIT,
                'friction_scale': 1.0}
    loop = loop_with(gains=friction)
    loop.plant.change(damping=0.01 * LIMIT, friction=0.02 * LIMIT, armature=ROTORS)
    loop.follow(loop.swing(2.0, 0.8), 2.0)
    loop.run(0.7)
    away = watched(loop, 0.6) / LIMIT
    assert np.abs(loop.column(2)[-600:, 0]).min() > 0.3
    assert np.abs(away[:, 0]).max() < 1e-3


def test_payloads_that_change_in_motion_are_no_push():
    loop = loop_with(model=with_slots(MODEL))
    loop.moving(duration=2.0, share=0.8)
    before = seen(loop).torque.copy()
    loop.control.load_changes.set_payload(LOAD)
    loop.cycle()
    # what it would add to the momentum, all at once, through a filter of 30 rad/s
    (_, q, qd, *_) = loop.log[-1]
    jump = 30.0 * (LOADED.mass_matrix(q) - Dynamics(MODEL).mass_matrix(q)) @ qd
    assert np.abs(jump).max() > 10.0
    # the arm does not have it: from now on its gravity torque is missing, which shows slowly
    assert np.abs(seen(loop).torque - before).max() < 0.5


def test_after_a_pause_it_begins_anew():
    loop = loop_with()
    loop.plant.external[:] = 0.02 * LIMIT
    watched(loop, 0.2)
    assert np.abs(seen(loop).torque[0]) > 2.9
    loop.silence()
    assert not seen(loop).torque.any()
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.cycle()
    assert not seen(loop).torque.any()
    watched(loop, 0.2)
    loop.now += 1.0  # it was not called
    loop.cycle()
    assert not seen(loop).torque.any()


def test_measured_effort_shows_motors_that_give_less():
    class Weak(Loop):
        def send(self, torque):
            super().send(0.9 * torque)

        def cycle(self):
            effort = np.where(np.arange(7) == 3, np.nan, self.torque)
            self.send(self.control.update(self.now, self.plant.q, self.plant.qd, effort))

    for source, joints in (('command', slice(0, 7)), ('measured', slice(3, 4))):
        loop = Weak(MODEL, settings_of(observer__torque_source=source), q=BENT)
        loop.run(1.0)
        missing = np.zeros(7)
        missing[joints] = -0.1 / 0.9 * loop.torque[joints]
        np.testing.assert_allclose(seen(loop).torque, missing, atol=1e-3)
    with pytest.raises(ParameterError, match="torque_source' is 'guess'"):
        settings_of(observer__torque_source='guess')


def test_gravity_of_the_driver_is_no_push():
    class Driver(Loop):
        def send(self, torque):
            super().send(torque)
            self.log[-1] = (*self.log[-1][:5], torque.copy())

        def cycle(self):
            torque = self.control.update(self.now, self.plant.q, self.plant.qd)
            self.send(torque + self.dynamics.gravity(self.plant.q))

    loop = Driver(MODEL, q=BENT, gains={'driver_compensates_gravity': True})
    loop.run(0.5)
    assert np.abs(seen(loop).torque / LIMIT).max() < 1e-6


def test_what_is_known_is_not_unknown():
    loop = loop_with()
    wrench = np.array([8.0, -5.0, 3.0, 0.2, 0.1, -0.1])
    loop.plant.push(TIP, wrench)
    worst = 0.0
    for _ in range(400):
        R = loop.dynamics.forward_kinematics(loop.plant.q, TIP)[:3, :3]
        loop.control.inputs.apply_wrench(loop.now, TIP, [*(R.T @ wrench[:3]), *(R.T @ wrench[3:])])
        loop.cycle()
        worst = max(worst, np.abs(seen(loop).unknown / LIMIT).max())
    np.testing.assert_allclose(seen(loop).torque, loop.plant.external, atol=1e-3)
    assert np.abs(loop.plant.external / LIMIT).max() > 0.02
    assert worst < 2e-3


def test_the_wrench_at_the_tip_is_found():
    loop = loop_with()
    wrench = np.array([8.0, -5.0, 3.0, 0.2, 0.1, -0.1])
    loop.plant.push(TIP, wrench)
    loop.run(1.0)
    np.testing.assert_allclose(seen(loop).wrench(), wrench, atol=0.01)
    # what moves the arm beside its tip is no wrench on it
    M = loop.dynamics.mass_matrix(BENT) + np.diag(ROTORS)
    J = loop.dynamics.jacobian(BENT, TIP)
    beside = M @ np.linalg.svd(J)[2][-1]
    found = compile_tip_wrench(loop.dynamics, TIP)(BENT, ROTORS, beside)
    assert np.abs(found).max() < 1e-9 * np.abs(beside).max()


def test_two_joints_see_the_force_in_their_plane():
    dyn = Dynamics(TWO_JOINTS)
    q, force = np.array([0.3, -0.9]), np.array([4.0, 5.0, -3.0])
    torque = dyn.jacobian(q, 'fore')[:3].T @ force
    # the forearm's link begins at the elbow: one direction
    found = compile_tip_wrench(dyn, 'fore')(q, np.zeros(2), torque)
    along = dyn.jacobian(q, 'fore')[:3, 0]
    along /= np.linalg.norm(along)
    np.testing.assert_allclose(found[:3], along * (along @ force), atol=2e-3)
    assert not found[3:].any() and found[1] == 0.0


def test_a_link_that_is_not_there_is_named():
    with pytest.raises(ModelError, match="no link 'hand'"):
        Loop(MODEL, settings_of(cartesian__link='hand'))


def test_stretched_out_the_estimate_stays_bounded():
    dyn = Dynamics(MODEL)
    estimate = compile_tip_wrench(dyn, TIP)
    for q in (np.zeros(7), np.array([0.0, 1.57, 0.0, 0.0, 0.0, 0.0, 0.0])):
        found = estimate(q, ROTORS, 0.01 * LIMIT)
        assert np.isfinite(found).all() and np.abs(found).max() < 1e4
