"""Joint impedance: the equations, passivity, and stiffness that pays for its energy."""

from pathlib import Path

from closed_loop import arm, BENT, Loop, MODEL
import numpy as np
import pytest
from design import change_settings, gains_with, settings_of
from random_trees import Mixture, random_tree
from robodyn_ros.control import ControlLaw, make_gains, Mode, Term
from robodyn_ros.control.steps import law_state
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import Reference
from steps import array, doubles, filled
from tolerance import assert_close

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
TREE = random_tree(3, 6, Mixture(prismatic=0.4))
EXACT = 1e-9
HOLDING = settings_of(mode='joint_impedance', activation_time=0.05)


@pytest.fixture(scope='module', params=[ARM.read_text(), TREE], ids=['arm', 'tree'])
def dyn(request):
    return Dynamics(RobotModel.from_urdf(request.param, gravity=(1.0, -2.0, -9.0)))


def case(dyn, seed=0):
    """Return a state, a reference, an external torque, and gains that all differ."""
    rng = np.random.default_rng(seed)
    n = dyn.nv
    q, qd, q_ref, qd_ref, qdd_ref, torque = rng.uniform(-1.5, 1.5, (6, n))
    k, z, armature, m = rng.uniform(0.1, 2.0, (4, n))
    gains = gains_with(
        dyn, friction_scale=0.0, impedance__stiffness=60.0 * k, impedance__damping_ratio=z,
        armature=0.2 * armature, impedance__inertia=m)
    return q, qd, Reference(q_ref, qd_ref, qdd_ref, np.zeros(n)), torque, gains


def inertia(dyn, gains, q):
    return dyn.mass_matrix(q) + np.diag(gains.armature)


def accelerations(dyn, gains, q, qd, torque):
    return np.linalg.solve(inertia(dyn, gains, q), torque - dyn.bias(q, qd))


@pytest.mark.parametrize('seed', range(4))
def test_the_storage_function_loses_what_the_dampers_take(dyn, seed):
    # dV/dt = -e'^T D e' - e'^T tau_ext, with V = 1/2 e'^T M e' + 1/2 e^T K e: passive
    q, qd, ref, external, gains = case(dyn, seed)
    M = inertia(dyn, gains, q)
    terms = ControlLaw(dyn, gains, 'joint_impedance').follow(q, qd, ref)
    qdd = accelerations(dyn, gains, q, qd, terms[Term.TOTAL] + external)
    e, ed, edd = ref.q - q, ref.qd - qd, ref.qdd - qdd
    C = dyn.coriolis_matrix(q, qd)
    rate = ed @ M @ edd + 0.5 * ed @ (C + C.T) @ ed + e @ (gains.stiffness * ed)
    D = 2.0 * gains.impedance_ratio * np.sqrt(gains.stiffness * np.diag(M))
    assert_close(rate, -ed @ (D * ed) - ed @ external, EXACT)
    assert ed @ (D * ed) > 0.0


@pytest.mark.parametrize('seed', range(4))
def test_shaped_joints_are_masses_on_springs(dyn, seed):
    # m e'' + D e' + K e = -tau_ext, joint by joint
    q, qd, ref, external, gains = case(dyn, seed)
    terms = ControlLaw(dyn, gains, 'shaped_impedance').follow(q, qd, ref, contact=external)
    qdd = accelerations(dyn, gains, q, qd, terms[Term.TOTAL] + external)
    m, k = gains.apparent_inertia, gains.stiffness
    left = (m * (ref.qdd - qdd) + 2.0 * gains.impedance_ratio * np.sqrt(k * m) * (ref.qd - qd)
            + k * (ref.q - q))
    assert_close(left, -external, EXACT)


def test_external_torque_is_fed_back_in_the_part_in_which_there_is_damping(dyn):
    q, qd, ref, external, gains = case(dyn)
    law = ControlLaw(dyn, gains, 'shaped_impedance')
    whole = law.follow(q, qd, ref, contact=external)[[Term.FEEDBACK, Term.INTEGRAL]].copy()
    part = law.follow(q, qd, ref, feedback_scale=0.3, contact=external)
    assert_close(part[[Term.FEEDBACK, Term.INTEGRAL]], 0.3 * whole, EXACT)


def test_damping_in_place_of_the_ratio():
    dyn = Dynamics(MODEL)
    gains = gains_with(dyn, impedance__damping=3.0, friction_scale=0.0)
    assert not gains.impedance_ratio.any()
    law, qd = ControlLaw(dyn, gains, 'joint_impedance'), np.linspace(-1.0, 1.0, 7)
    feedback = law.follow(BENT, qd, Reference.at_rest(BENT))[Term.FEEDBACK]
    assert_close(feedback, -3.0 * qd, EXACT)


def test_a_push_deflects_each_joint_by_its_spring():
    loop = arm(settings=HOLDING, gains={'impedance__stiffness': 200.0})
    push = np.array([10.0, -8.0, 6.0, 5.0, 2.0, -2.0, 1.0])
    loop.run(0.2)
    for _ in range(3000):
        torque = loop.control.update(loop.now, loop.plant.q, loop.plant.qd)
        loop.send(torque + push)
    np.testing.assert_allclose(loop.plant.q - BENT, push / 200.0, rtol=1e-3, atol=1e-6)


def test_no_energy_is_to_be_had_over_a_closed_motion():
    # a hand guides every joint around and back, at several speeds: it always has to do work
    for frequency in (0.5, 1.0, 2.0):
        # 10 rad/s: what is sampled every millisecond is as good as continuous
        loop = arm(settings=HOLDING, gains={
            'impedance__natural_frequency': 10.0, 'impedance__damping_ratio': 0.1})
        loop.run(0.2)
        work, start, inertia = 0.0, loop.now, loop.gains.inertia
        for k in range(round(2000.0 / frequency)):
            phase = 2.0 * np.pi * frequency * (loop.now - start)
            lead = BENT + 0.1 * np.sin(phase + np.arange(7)) * (1.0 - np.cos(0.5 * phase))
            hand = inertia * (400.0 * (lead - loop.plant.q) - 20.0 * loop.plant.qd)
            torque = loop.control.update(loop.now, loop.plant.q, loop.plant.qd)
            before = loop.plant.q.copy()
            loop.send(torque + hand)
            work += hand @ (loop.plant.q - before)
        assert work > 0.0, frequency


# --- stiffness that changes --------------------------------------------------------------------

class Springs:
    """Springs whose stiffness changes, and the tank that pays for it, full at first."""

    def __init__(self, stiffness, tank):
        n = len(stiffness)
        self.m = filled(law_state.Springs, n, value=stiffness, target=stiffness, energy=tank)
        self.tank = tank

    def change(self, stiffness, duration):
        self.m = law_state.requested(
            self.m, *doubles([self.m.change + 1.0, stiffness, duration]))

    def go(self, dt, error, dissipated):
        self.m = law_state.update_stiffness(
            self.m, *doubles([dt, error, dissipated, self.tank]))

    @property
    def value(self):
        return array(self.m.value)


@pytest.mark.parametrize('seed', range(5))
def test_stiffness_feeds_in_no_more_than_the_tank_holds(seed):
    rng = np.random.default_rng(seed)
    springs, injected, dissipated = Springs(np.full(3, 100.0), tank=0.5), 0.0, 0.0
    for k in range(2000):
        if k % 200 == 0:
            springs.change(rng.uniform(10.0, 4000.0, 3), 0.1)
        error, power = rng.uniform(-0.3, 0.3, 3), rng.uniform(0.0, 0.5)
        before = springs.value
        springs.go(1e-3, error, power)
        injected += 0.5 * (springs.value - before) @ error ** 2
        dissipated += power * 1e-3
        assert injected <= 0.5 + dissipated + 1e-9
        assert 0.0 <= springs.m.energy <= 0.5
    assert injected > 0.5, 'more than the tank held at first'


def test_a_relaxed_spring_goes_over_in_time_and_exactly():
    springs = Springs([100.0, 50.0], tank=0.0)
    springs.change([300.0, 20.0], 0.2)
    for _ in range(100):
        springs.go(1e-3, np.zeros(2), 0.0)
    np.testing.assert_allclose(springs.value, [200.0, 35.0])
    for _ in range(101):
        springs.go(1e-3, np.zeros(2), 0.0)
    np.testing.assert_array_equal(springs.value, [300.0, 20.0])


def test_softer_is_free_and_pays_for_what_comes_later():
    springs = Springs([100.0], tank=2.0)
    for _ in range(5):
        springs.go(1.0, [1.0], -10.0)  # dampers never feed in
    springs.change([0.0], 0.01)
    springs.go(0.01, [0.1], 0.0)
    assert springs.value[0] == 0.0 and springs.m.energy == 2.0
    springs.change([1000.0], 0.01)
    springs.go(0.01, [0.1], 0.0)  # would take 5 J
    np.testing.assert_allclose(springs.value, 400.0)
    assert springs.m.energy == 0.0


def test_a_change_that_is_known_does_not_begin_again():
    """Protects the pace of a change, which counts from its first request."""
    springs = Springs([100.0], tank=0.0)
    springs.change([300.0], 0.2)
    springs.go(0.1, [0.0], 0.0)
    springs.m = law_state.requested(springs.m, springs.m.change, *doubles([[900.0], 9.0]))
    springs.go(0.05, [0.0], 0.0)
    np.testing.assert_allclose(springs.value, 250.0)


@pytest.mark.parametrize('law', ['joint_impedance', 'shaped_impedance'])
@pytest.mark.parametrize('ratio', [0.0, 0.7])
def test_only_what_the_dampers_take_fills_the_tank(law, ratio):
    design = {'impedance__stiffness': 25.0, 'impedance__damping_ratio': ratio,
              'impedance__inertia': 1.5 * make_gains(Dynamics(MODEL)).inertia}
    loop = arm(gains=design, settings=settings_of(
        mode=law, activation_time=0.0, transition_time=0.0, impedance__energy_tank=100.0))
    loop.run(0.2)
    control = loop.control
    assert control.mode is Mode.HOLD
    m = (np.diag(loop.dynamics.mass_matrix(BENT)) if law == 'joint_impedance'
         else loop.gains.apparent_inertia)
    springs, qd = control.host.memory.springs, np.linspace(0.02, 0.05, 7)
    control.host.memory.motion.reference.q[:] = BENT + 0.005
    for k, velocity in enumerate((qd, -qd)):  # springs give energy, or take it
        springs.energy[()] = 0.0
        control.update(loop.now + 1e-3 * k, BENT, velocity)
        assert not control.terms[Term.LIMIT].any(), 'all of the feedback'
        power = qd @ (2.0 * ratio * np.sqrt(25.0 * m) * qd)
        np.testing.assert_allclose(springs.energy, 1e-3 * power, rtol=1e-9, atol=1e-14)


def test_a_deflected_arm_made_stiffer_gets_no_step_and_no_more_than_the_tank():
    settings = settings_of(
        mode='joint_impedance', activation_time=0.05, impedance__energy_tank=0.2)
    loop = arm(settings=settings, gains={
        'impedance__stiffness': 100.0, 'impedance__damping_ratio': 0.7})
    push = np.array([20.0, 20.0, 10.0, 10.0, 2.0, 2.0, 1.0])
    loop.run(0.1)

    def pushed(seconds):
        for _ in range(round(seconds * 1000.0)):
            torque = loop.control.update(loop.now, loop.plant.q, loop.plant.qd)
            loop.send(torque + push)

    pushed(1.5)
    error = loop.control.reference.q - loop.plant.q
    needed = 0.5 * (900.0 * error ** 2).sum()
    assert needed > 10.0 * settings.impedance.energy_tank  # all at once would feed in far more
    change_settings(
        loop.control, impedance__stiffness=1000.0, impedance__damping_ratio=0.7,
        friction_scale=0.0)
    before = len(loop.log)
    pushed(0.3)
    steps = np.abs(np.diff(loop.torques[before - 1:], axis=0)) / MODEL.effort_limit
    assert steps.max() < 0.012
    fed = 0.5 * ((loop.control.host.memory.springs.value - 100.0) * error ** 2).sum()
    # what dampers took since counts as well
    assert 0.0 < fed < 3.0 * settings.impedance.energy_tank


def test_gains_of_impedances_are_checked_by_name():
    dyn = Dynamics(MODEL)
    with pytest.raises(ParameterError, match="stiffness', number 3 of 7, is -1.0: the least"):
        gains_with(dyn, impedance__stiffness=[1, 1, -1, 1, 1, 1, 1])
    with pytest.raises(ParameterError, match='impedance.inertia.*the least allowed is 1e-06'):
        gains_with(dyn, impedance__inertia=0.0)
    with pytest.raises(ParameterError, match='float_friction.*the most allowed is 0.95'):
        gains_with(dyn, float_friction=1.0)
    with pytest.raises(ParameterError, match='stribeck_velocity.*the least allowed is 1e-06'):
        gains_with(dyn, friction__stribeck_velocity=0.0)


def test_stiffness_by_natural_frequency_is_that_of_the_joints_own_inertia():
    dyn = Dynamics(MODEL)
    gains = gains_with(dyn, impedance__natural_frequency=5.0, armature=0.1)
    np.testing.assert_allclose(gains.stiffness, 25.0 * gains.inertia)


def test_friction_taken_from_the_hand_lets_a_floating_arm_go_on_for_longer():
    travelled = {}
    for part in (0.0, 0.8):
        settings = settings_of(mode='gravity_compensation', activation_time=0.05)
        loop = Loop(MODEL, settings, {'float_friction': part}, q=BENT,
                    friction=True)
        loop.plant.qd[:] = 0.5
        loop.run(1.0)
        travelled[part] = np.abs(loop.plant.q - BENT)
        loop.run(9.0)
        assert np.abs(loop.plant.qd).max() < 1e-2  # it comes to rest all the same
    assert np.all(travelled[0.8][3:] > 1.5 * travelled[0.0][3:])
