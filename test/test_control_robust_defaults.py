"""Feedback inertia and compensation on an arm with rotors and friction that its model lacks."""

from types import SimpleNamespace

from closed_loop import BENT, LAW_ALONE, Loop, MODEL
from design import gains_with, settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, Term
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.steps import disturbance
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import likely_rotors
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import TrajectoryPoint
from steps import filled

# where the loop is known to be prompt
# errors of arms that the default tolerance would end
PROMPT = {'loop_delay': 0.0, 'constraints__trajectory': 0.0}
BOTH = {'feedback_inertia': (), 'disturbance_observer': True, **PROMPT}
# rotors, kg m^2, dry friction, N m, and viscous friction, N m s/rad, that URDFs lack
JOINTS = {'armature': 0.05, 'coulomb': 0.4, 'viscous': 0.3}
LIMIT = np.array(MODEL.effort_limit)


def mujoco_run(name, seed, settings, delay=1, rest=0.0):
    """
    Return RMS errors of a MuJoCo arm in motion, (nv,), and errors at rest, (n, nv); rad.

    delay: further periods until torques act. rest: seconds after the motion.
    """
    pytest.importorskip('mujoco')
    pytest.importorskip('cmeel', reason='example-robot-data')
    from mujoco_arm import MujocoPlant, urdf_text
    text = urdf_text(name)
    model = RobotModel.from_urdf(text)
    start = np.clip(np.full(model.nv, 0.2), model.lower + 0.7, model.upper - 0.7)
    plant = MujocoPlant(text, model, seed, start, JOINTS, masses=0.05)
    control = ArmController(Dynamics(model), settings)
    control.activate(0.0, *plant.read()[:2])
    late, errors, now = [control.gravity_torque().copy()] * (delay + 1), [], 0.0
    zero = np.zeros(model.nv)
    for k in range(2000 + round(rest / plant.period)):
        if k == 500:
            control.follow(now, model.joint_names, [
                TrajectoryPoint(start + 0.65 * np.where(start + 0.7 < model.upper, 1.0, -1.0),
                                zero, zero, (), 3.0)])
        q, qd, _ = plant.read()
        late.append(control.update(now, q, qd).copy())
        assert not control.fault
        errors.append(control.reference.q - q)
        plant.step(late.pop(0))
        now += plant.period
    errors = np.array(errors)
    return np.sqrt(np.mean(errors[500:2000] ** 2, axis=0)), errors[2000:]


@pytest.mark.parametrize('name', ['panda', 'ur5'])
def test_an_arm_with_rotors_friction_and_wrong_masses_is_tracked(name):
    motion, rest = mujoco_run(name, 31, settings_of(**PROMPT), rest=10.0)
    assert motion.max() < 0.01
    last = rest[-500:]
    assert np.abs(last).max() < 7e-3
    # MuJoCo's dry friction creeps
    assert np.ptp(last, axis=0).max() < 1e-3, 'no limit cycle'
    without, alone = (mujoco_run(name, 31, settings_of(**PROMPT, **each))[0].max()
                      for each in ({'disturbance_observer': False}, LAW_ALONE))
    assert without < 0.7 * alone and alone > 0.04


@pytest.mark.parametrize('period, delay', [(1e-3, 0.0), (2e-3, 0.0), (5e-3, 0.0), (2e-3, 4e-3)])
@pytest.mark.parametrize('wn', [10.0, 20.0, 60.0])
def test_the_feedback_inertia_is_stable_without_rotors(period, delay, wn):
    """
    Protects the perfect arm: the error decays with one interval of delay, and with two.

    Eigenvalues of the sampled closed loop of all joints. delay: lateness of the states, which
    counts as part of the interval.
    """
    loop = Loop(MODEL, gains={**BOTH, 'natural_frequency': wn}, period=period)
    loop.run(0.2)
    gains, rng = loop.gains, np.random.default_rng(3)
    for q in rng.uniform(MODEL.lower, MODEL.upper, (4, 7)):
        control = ArmController(loop.dynamics, loop.settings)
        memory = control.host.memory
        control.activate(0.0, q, 0.0 * q)
        for k in range(1, 5):
            control.update(k * period, q, 0.0 * q)
        memory.feedback.lag[()] = delay / (1.0 - period / 0.1)
        control.update(5 * period, q, 0.0 * q)
        E = memory.light.scale * gains.feedback_inertia
        assert (E > 1e-6).any() or wn * (period + delay) > 0.1
        interval = period + delay
        M = control.dynamics.mass_matrix(q)
        a = np.eye(7) + np.linalg.solve(M, np.diag(E))
        largest = max(np.linalg.eigvals(a @ np.diag(gains.kd)).real)
        if (E > 1e-6).any():
            assert largest * interval + (gains.kp / gains.kd).max() * interval <= 0.5 + 1e-9
        for intervals in (1, 2) if (E > 1e-6).any() else ():
            assert spectral_radius(a, gains.kp[0], gains.kd[0], period, intervals) < 1.0


def spectral_radius(a, kp, kd, T, intervals):
    """Return that of x'' = -a (kd x' + kp x), with torques held for T, after some intervals."""
    n = len(a)
    A = np.block([[np.eye(n), T * np.eye(n)], [np.zeros((n, n)), np.eye(n)]])
    B = np.vstack([0.5 * T * T * np.eye(n), T * np.eye(n)])
    K = -np.hstack([kp * a, kd * a])
    size = n * (2 + intervals)
    step = np.zeros((size, size))
    step[:2 * n, :2 * n], step[:2 * n, 2 * n:3 * n] = A, B
    for k in range(1, intervals):
        step[n * (k + 1):n * (k + 2), n * (k + 2):n * (k + 3)] = np.eye(n)
    step[-n:, :2 * n] = K
    return np.abs(np.linalg.eigvals(step)).max()


def test_a_perfect_arm_is_tracked_as_well_as_without():
    worst = []
    for gains in (LAW_ALONE, BOTH):
        loop = Loop(MODEL, gains=gains, q=BENT, period=2e-3, friction=True)
        loop.run(1.0)
        loop.follow(BENT + 0.5, 2.0)
        loop.run(3.0)
        worst.append(np.abs(loop.error).max())
    assert worst[1] < min(5e-4, 1.5 * worst[0] + 5e-5)


def test_the_feedback_inertia_is_that_of_usual_rotors_or_the_one_given():
    dyn = Dynamics(MODEL)
    own = gains_with(dyn)
    rotors = np.minimum(LIMIT / 500.0, LIMIT * 0.005 / MODEL.velocity_limit)
    np.testing.assert_allclose(likely_rotors(MODEL), rotors)
    np.testing.assert_allclose(own.feedback_inertia, np.maximum(rotors - own.inertia, 0.0))
    assert own.feedback_inertia[6] > 0.01 and own.feedback_inertia[0] == 0.0
    known = gains_with(dyn, armature=rotors)
    assert not known.feedback_inertia.any()
    np.testing.assert_array_equal(gains_with(dyn, feedback_inertia=0.2).feedback_inertia, 0.2)
    unlimited = SimpleNamespace(effort_limit=[np.inf, 5.0], velocity_limit=[1.0, np.inf])
    np.testing.assert_array_equal(likely_rotors(unlimited), 0.0)


# --- compensation of disturbances ---------------------------------------------------------------

def test_load_and_dry_friction_are_learned_from_the_position():
    """A joint with a load of 2 N m and friction of 0.5 N m that its model lacks."""
    M, T = 0.5, 1e-3
    gains = filled(Gains, 1, kp=400.0, kd=40.0, inertia=M, disturbance_observer=1.0)
    m, p = filled(disturbance.Memory, 1), filled(disturbance.Program, 1, limit=5.0)
    q, v = 0.0, 0.0
    for k in range(6000):
        w = 2.0 * np.pi * k * T / 3.0
        r = SimpleNamespace(q=[1.0 - np.cos(w)], qd=[2.1 * np.sin(w)], qdd=[4.4 * np.cos(w)])
        e = r.q[0] - q
        m = disturbance.without_learning(m, gains, 1.0, 1.0, T, fades=0.0, bias_fades=0.0)
        m = disturbance.update(m, p, gains, lambda a: [M * a[0]], [float(e)], r, 10.0)
        feedback = M * (r.qdd[0] + 400.0 * e + 40.0 * (r.qd[0] - v))
        torque = feedback + disturbance.torque(m, p, r.qd)[0]
        v += T / M * (torque - 2.0 - 0.5 * np.tanh(100.0 * v))
        q += T * v
    assert float(m.bias[0]) == pytest.approx(2.0, abs=0.1)
    assert float(m.dry_friction[0]) == pytest.approx(0.5, abs=0.1)
    bounded = filled(disturbance.Program, 1, limit=0.3)
    assert disturbance.torque(m, bounded, r.qd)[0] == 0.3
    m = disturbance.update(m, bounded, gains, lambda a: [M * a[0]], [9.0], r, 10.0)
    assert abs(m.bias[0]) == abs(m.dry_friction[0]) == 0.3
    # what is not finite teaches nothing
    after = disturbance.update(m, p, gains, lambda a: [np.nan], [0.1], r, 10.0)
    assert after.bias == m.bias and after.dry_friction == m.dry_friction


def test_learned_dry_friction_is_not_compensated_twice():
    """What a change of `friction.coulomb` adds to the model ends in the compensation."""
    def after(learned, before, now):
        m = filled(disturbance.Memory, 1, dry_friction=learned, model=before)
        gains = filled(Gains, 1, coulomb=now, disturbance_observer=1.0)
        return disturbance.without_learning(m, gains, 1.0, 1.0, 1e-3, 0.0, 0.0).dry_friction[0]

    assert after(0.4, 0.0, 0.3) == pytest.approx(0.1)
    assert after(0.4, 0.0, 0.6) == 0.0
    assert after(-0.2, 0.5, 0.4) == pytest.approx(-0.1)
    assert after(0.0, 0.0, 0.3) == 0.0 and after(0.4, 0.3, 0.3) == 0.4


def test_between_two_states_the_time_to_learn_from_is_summed_up():
    gains = filled(Gains, 1, kp=400.0, kd=40.0, inertia=1.0, disturbance_observer=1.0)
    p, r = filled(disturbance.Program, 1, limit=5.0), SimpleNamespace(q=[0.0], qd=[1.0], qdd=[0.0])

    def learned(cycles):
        m = filled(disturbance.Memory, 1)
        for error in (0.02, 0.03):
            for _ in range(cycles):
                m = disturbance.without_learning(m, gains, 1.0, 1.0, 0.01 / cycles, 0.0, 0.0)
            m = disturbance.update(m, p, gains, lambda a: a, [error], r, 10.0)
        return float(m.bias[0])

    assert learned(5) == pytest.approx(learned(1)) and learned(1) > 0.5


def test_the_compensation_decays_with_a_rotor_that_is_missing():
    """Protects arms without friction: roots of the error with twice the usual rotor."""
    n = 200
    rng = np.random.default_rng(5)
    M, E = 10.0 ** rng.uniform(-4, 0, n), 10.0 ** rng.uniform(-3, 0, n)
    wn, f, zeta = rng.uniform(5.0, 60.0, n), rng.uniform(0.0, 1.0, n), rng.uniform(0.5, 1.5, n)
    for m, e, part, w, z in zip(M, E, f, wn, zeta):
        g = filled(Gains, 1, kp=w ** 2, kd=2 * z * w, inertia=m, feedback_inertia=e,
                   disturbance_observer=1.0)
        K = float(disturbance.bandwidth(g, [part]))
        A, G, kp, kd = m + 2.0 * e, m + part * e, w ** 2, 2 * z * w
        friction = 3.0 * (m + A)
        roots = np.roots([m + A, G * kd + friction, G * (kp + K * kd), G * K * kp])
        assert K > 0.0 and roots.real.max() < 1e-9


def test_slips_at_rest_end():
    """Protects against hunting: error after each slip on the other side, of the same size."""
    rest = SimpleNamespace(qd=[0.0], qdd=[0.0])
    moves = SimpleNamespace(qd=[0.1], qdd=[0.0])
    frictionless = filled(Gains, 1, kp=400.0, inertia=0.5)
    narrow = disturbance.narrow_zones(frictionless, [0.0])
    assert narrow == [pytest.approx(3e-4)]
    assert disturbance.narrow_zones(frictionless, [-1.0]) == [pytest.approx(5e-4)]
    zone = disturbance.zones([0.01], [0.004], moves, narrow)
    assert abs(zone[0]) == narrow[0]
    assert disturbance.active(zone, [1e-9], moves) == [1.0]
    error, slips = 0.004, 0
    while disturbance.active(zone, [error], rest) == [1.0]:
        error, slips = -error, slips + 1
        zone = disturbance.zones(zone, [error], rest, narrow)
    assert slips == 3
    # a push to the same side is compensated again
    assert disturbance.active(zone, [2.0 * abs(zone[0])], rest) == [1.0]
    zone = disturbance.zones(zone, [error], moves, narrow)
    assert disturbance.active(zone, [error], rest) == [1.0]


def test_compensation_begins_anew_after_floating():
    loop = Loop(MODEL, gains=BOTH, q=BENT)
    loop.plant.external[:] = 0.05 * LIMIT
    loop.run(2.0)
    assert np.abs(loop.control.terms[Term.INTEGRAL][:2] / LIMIT[:2]).min() > 0.04
    loop.control.requests.compensate_gravity()
    loop.plant.external[:] = 0.0
    loop.run(0.1)
    assert not loop.control.terms[Term.INTEGRAL].any()
    assert not loop.control.host.memory.disturbance.bias.any()


def test_joints_with_an_integral_are_not_compensated_twice():
    gains = gains_with(Dynamics(MODEL), ki=[0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                       disturbance_observer=True)
    assert (gains.disturbance_observer > 0.0).tolist() == [True, False] + [True] * 5
    assert gains_with(Dynamics(MODEL)).disturbance_observer.all()
    assert settings_of().disturbance_limit == 0.1
