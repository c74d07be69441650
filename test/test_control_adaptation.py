"""The adaptive law and one step of learning, against the equations that they come from."""

from dataclasses import replace

from closed_loop import BENT, MODEL
import numpy as np
import pytest
from design import gains_with, settings_of
from random_trees import Mixture, random_tree
from robodyn_ros.control import ArmController, ControlLaw, Term, with_slots
from robodyn_ros.control.laws.symmetric import clipped
from robodyn_ros.control.settings import AdaptiveSettings
from robodyn_ros.control.steps import learning
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError, ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import Reference
from steps import array, body_of, doubles, filled
from tolerance import assert_close

# sums in another order
EXACT = 1e-11
TRUE = (1.3, (0.04, -0.03, 0.1), np.diag((3e-3, 4e-3, 2e-3)))
CALM = {'friction_scale': 0.0}


def mixed():
    """Return a robot of turning and sliding joints, some following others."""
    return RobotModel.from_urdf(
        random_tree(11, 6, Mixture(prismatic=0.4, mimic=0.4))).with_gravity((1, -2, 9))


@pytest.fixture(scope='module', params=['arm', 'mixed'])
def model(request):
    return with_slots(MODEL if request.param == 'arm' else mixed())


def tip(model):
    return list(model.links)[-1]


class Learner:
    """Estimate of the payload at the tip; its dynamics contain it."""

    def __init__(self, model, gains, start=None, **settings):
        self.settings = AdaptiveSettings(**settings)
        self.dynamics = Dynamics(model)
        self.known = self.dynamics.runtime.copy()
        self.body, self.sliding = body_of(self.dynamics, gains, tip(model)), gains.sliding
        self.m = filled(learning.Memory)
        if start is not None:
            self.m = replace(self.m, estimate=doubles(np.ravel(start)))
        self.p = filled(learning.Program, **{name: getattr(self.settings, name) for name in (
            'rate', 'dead_zone', 'largest_mass', 'size')})

    @property
    def estimate(self):
        return array(self.m.estimate).reshape(4, 4)

    def go(self, dt, q, qd, reference):
        body = replace(self.body, runtime=doubles(self.dynamics.runtime))
        state = [q, qd, reference.q, reference.qd, reference.qdd, self.sliding]
        self.m, learned = learning.update(
            body, self.m, self.p, *doubles(
                [dt, state, self.dynamics.runtime - self.known]), body.robot.slot)
        self.dynamics.runtime[:] = self.known + array(learned)


def controller(model, link, **settings):
    dynamics = Dynamics(model)
    return ArmController(dynamics, settings_of(
        adaptive=AdaptiveSettings(**settings), cartesian__link=link, **CALM))


def motion(model, seed=3):
    """Return a measured state and a reference."""
    q, qd, *reference = np.random.default_rng(seed).uniform(-1.5, 1.5, (5, model.nv))
    return q, qd, Reference(*reference, np.zeros(model.nv))


def of_the_book(dynamics, gains, q, qd, reference):
    """Return s, and M qdd_r + C qd_r + g."""
    L = gains.sliding
    qd_r = reference.qd + L * (reference.q - q)
    qdd_r = reference.qdd + L * (reference.qd - qd)
    return qd - qd_r, (dynamics.mass_matrix(q) @ qdd_r + gains.armature * qdd_r
                       + dynamics.coriolis_matrix(q, qd) @ qd_r + dynamics.gravity(q))


def test_the_law_is_that_of_the_book(model):
    dynamics = Dynamics(model.with_payload(tip(model), *TRUE))
    gains = gains_with(dynamics, adaptive__sliding=7.0, armature=0.1, **CALM)
    q, qd, reference = motion(model)
    s, model_torque = of_the_book(dynamics, gains, q, qd, reference)
    terms = ControlLaw(dynamics, gains, 'adaptive').follow(q, qd, reference)
    assert_close(terms[Term.TOTAL], model_torque - gains.sliding_damping * s, EXACT)


def test_its_feedback_is_what_the_error_adds(model):
    dynamics = Dynamics(model)
    gains = gains_with(dynamics, **CALM)
    law = ControlLaw(dynamics, gains, 'adaptive')
    q, qd, reference = motion(model)
    met = Reference(q, qd, reference.qdd, np.zeros(model.nv))
    terms = law.follow(q, qd, met)
    assert not terms[Term.FEEDBACK].any()
    assert_close(terms[Term.TOTAL], dynamics.inverse_dynamics(q, qd, met.qdd), EXACT)


def test_its_poles_are_at_a_quarter_of_kd_and_at_the_rest_by_default():
    # damped as feedforward_pd: K_D + I L = I kd; K_D L = 3/16 I kd^2
    gains = gains_with(Dynamics(MODEL), natural_frequency=30.0)
    np.testing.assert_allclose(gains.sliding_damping * gains.sliding, 0.75 * gains.pd_kp)
    np.testing.assert_allclose(
        gains.sliding_damping + gains.inertia * gains.sliding, gains.pd_kd)
    gains = gains_with(Dynamics(MODEL), adaptive__sliding=4.0)
    np.testing.assert_allclose(gains.sliding_damping, 36.0 * gains.inertia)
    with pytest.raises(ParameterError, match='sliding of joint .* is 41; it must be below kd'):
        gains_with(Dynamics(MODEL), adaptive__sliding=41.0)


def random_payload(rng):
    """Return the mass, centre and inertia of a few points within 0.2 m."""
    points, masses = rng.uniform(-0.15, 0.15, (5, 3)), rng.uniform(0.05, 0.3, 5)
    com = masses @ points / masses.sum()
    away = points - com
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, away))
    return masses.sum(), com, inertia


def pseudo_inertia(mass, com, inertia):
    """Return P of a payload in the axes of its link, from its definition."""
    spread = 0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(com, com)
    return np.block([[spread, mass * np.array(com)[:, None]], [mass * np.array(com), mass]])


def test_the_estimate_goes_along_the_power_that_the_payload_would_do(model):
    # -Y^T s from differences of whole equations of motion, one per random payload
    gains = gains_with(Dynamics(model), **CALM)
    q, qd, reference = motion(model)
    s, empty = of_the_book(Dynamics(model), gains, q, qd, reference)
    start = np.diag((9.0, 9.0, 9.0, 100.0))  # far from where it would be clipped
    learner = Learner(model, gains, start, rate=1.0, largest_mass=1e3, size=0.3, dead_zone=0.0)
    dt = 1e-3
    learner.go(dt, q, qd, reference)
    lengths = np.array([0.3, 0.3, 0.3, 1.0])
    change = (learner.estimate - start) / np.outer(lengths, lengths) / dt
    rng = np.random.default_rng(5)
    for _ in range(12):
        payload = random_payload(rng)
        loaded = Dynamics(model.with_payload(tip(model), *payload))
        power = -s @ (of_the_book(loaded, gains, q, qd, reference)[1] - empty)
        scaled = pseudo_inertia(*payload) / np.outer(lengths, lengths)
        assert np.sum(change * scaled) == pytest.approx(power, rel=1e-7, abs=1e-7)


def test_what_the_kernels_read_is_the_payload_that_is_reported(model):
    control = controller(model, tip(model), largest_mass=50.0)
    control.adaptation.pseudo_inertia[:] = pseudo_inertia(*TRUE)
    control.adaptation.change(control.settings.adaptive)
    control.host.apply()  # the bounds count at once
    payload = control.adaptation.payload
    assert payload.mass == pytest.approx(TRUE[0]) and payload.link == tip(model)
    np.testing.assert_allclose(payload.com, TRUE[1], atol=1e-12)
    np.testing.assert_allclose(payload.inertia, TRUE[2], atol=1e-12)
    q, qd, reference = motion(model)
    loaded = Dynamics(model.with_payload(tip(model), *TRUE))
    assert_close(control.dynamics.inverse_dynamics(q, qd, reference.qdd),
                 loaded.inverse_dynamics(q, qd, reference.qdd), EXACT)


@pytest.mark.parametrize('dt, expected', [(0.02, 0.02), (0.3, 0.02), (0.0, 0.0)])
def test_a_pause_counts_as_a_short_step(dt, expected):
    """Protects from an estimate that leaps because no state came for a while."""
    model = with_slots(MODEL)
    gains = gains_with(Dynamics(model), **CALM)
    estimates = []
    for seconds in (dt, expected):
        learner = Learner(model, gains, np.diag((0.1, 0.1, 0.1, 4.0)))
        learner.go(seconds, *motion(model))
        estimates.append(learner.estimate)
    np.testing.assert_array_equal(*estimates)
    assert np.array_equal(estimates[0], np.diag((0.1, 0.1, 0.1, 4.0))) == (dt == 0.0)


def test_a_state_that_is_not_finite_changes_nothing():
    model = with_slots(MODEL)
    learner = Learner(model, gains_with(Dynamics(model), **CALM))
    q, qd, reference = motion(model)
    learner.go(1e-3, q, qd, reference)
    before = learner.estimate, learner.dynamics.runtime.copy()
    assert before[0].any()
    qd[2] = np.nan
    learner.go(1e-3, q, qd, reference)
    np.testing.assert_array_equal(learner.estimate, before[0])
    np.testing.assert_array_equal(learner.dynamics.runtime, before[1])


# --- projection -----------------------------------------------------------------------------

def symmetric(rng):
    """Return a random symmetric matrix, of any rank and size, some with equal eigenvalues."""
    V = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    values = rng.choice([0.0, -1.0, 2.0, *rng.normal(size=3)], 4) * 10.0 ** rng.integers(-6, 6)
    return (V * values) @ V.T


def by_lapack(A, least, most):
    values, V = np.linalg.eigh(A)
    return (V * np.clip(values, least, most)) @ V.T


def test_eigenvalues_are_clipped_as_by_lapack():
    rng = np.random.default_rng(1)
    cases = [np.zeros((4, 4)), np.eye(4), np.diag((1.0, -2.0, 3.0, 9.0)), np.ones((4, 4)),
             *(symmetric(rng) for _ in range(300))]
    for A in cases:
        got = np.array(clipped(A.tolist(), 0.0, 5.0))
        size = max(np.abs(A).max(), 1e-30)
        np.testing.assert_allclose(got, by_lapack(A, 0.0, 5.0), rtol=0, atol=1e-13 * size)


def test_clipping_brings_nothing_farther_apart():
    rng = np.random.default_rng(2)
    for _ in range(100):
        A, B = symmetric(rng), symmetric(rng)
        nearer = np.array(clipped(A.tolist(), 0.0, 5.0)) - clipped(B.tolist(), 0.0, 5.0)
        assert np.linalg.norm(nearer) <= np.linalg.norm(A - B) * (1 + 1e-12)


# --- the proof ------------------------------------------------------------------------------

def lyapunov(loaded, learner, gains, state, reference, true):
    """Return 1/2 s^T M s + 1/2 |error of the estimate|^2 / rate, M of the loaded arm."""
    q, qd = state
    s, _ = of_the_book(loaded, gains, q, qd, reference)
    size, rate = learner.settings.size, learner.settings.rate
    lengths = np.array([size, size, size, 1.0])
    error = (learner.estimate - true) / np.outer(lengths, lengths)
    return 0.5 * s @ loaded.mass_matrix(q) @ s + 0.5 * np.sum(error * error) / rate


@pytest.mark.parametrize('payload', [TRUE, (3.0, (0.0, 0.0, 0.12), np.zeros((3, 3)))],
                         ids=['body', 'point'])
def test_the_function_of_lyapunov_never_rises(payload):
    # without dead zone and friction, at 5 kHz: near enough to continuous time for no rise at all
    model, dt = with_slots(MODEL), 2e-4
    gains = gains_with(Dynamics(model), **CALM)
    learner = Learner(model, gains, dead_zone=0.0, largest_mass=6.0)
    loaded = Dynamics(model.with_payload(tip(model), *payload))
    law = ControlLaw(learner.dynamics, gains, 'adaptive')
    q, qd = BENT, np.zeros(7)
    speeds, home = np.linspace(1.5, 3.5, 7), q.copy()
    values = []
    for k in range(2500):
        phase = speeds * k * dt
        reference = Reference(home + 0.4 * np.sin(phase), 0.4 * speeds * np.cos(phase),
                              -0.4 * speeds ** 2 * np.sin(phase), np.zeros(7))
        values.append(lyapunov(loaded, learner, gains, (q, qd), reference,
                               pseudo_inertia(*payload)))
        torque = law.follow(q, qd, reference)[Term.TOTAL].copy()
        learner.go(dt, q, qd, reference)
        # midpoint rule under a torque that is held
        a = loaded.forward_dynamics(q, qd, torque)
        a = loaded.forward_dynamics(q + 0.5 * dt * qd, qd + 0.5 * dt * a, torque)
        q, qd = q + dt * (qd + 0.5 * dt * a), qd + dt * a
    changes = np.diff(values)
    # with C(q, qd) qd in place of C(q, qd) qd_r it rises by 2e-6 of its value in a cycle
    assert changes.max() < 1e-9 * values[0]
    assert values[-1] < 0.5 * values[0]


# --- refusals -------------------------------------------------------------------------------

@pytest.mark.parametrize('name, value', [
    ('rate', -1.0), ('largest_mass', 0.0), ('size', 0.0), ('dead_zone', np.inf),
    ('rate', np.nan)])
def test_settings_without_sense_are_refused(name, value):
    with pytest.raises(ParameterError, match=f'adaptive.{name}'):
        AdaptiveSettings(**{name: value})


def test_a_link_that_cannot_hold_a_payload_is_refused():
    with pytest.raises(ParameterError, match='immovable base'):
        controller(with_slots(MODEL), MODEL.base_link)
    with pytest.raises(ModelError, match='nowhere'):
        controller(with_slots(MODEL), 'nowhere')
    control = controller(MODEL, '')
    with pytest.raises(ModelError, match=r'with_slots\(model\)'):
        control.changes.enter('adaptive')
    assert control.settings.mode == 'computed_torque'
