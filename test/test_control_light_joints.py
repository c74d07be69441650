"""Gains that do not scale with the mass matrix, on arms with light wrists."""

from dataclasses import replace

from closed_loop import ARM, BENT, Loop, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import ArmController, with_slots
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.steps.light_joints import admissible_parts
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import missing_rotors
from robodyn_ros.model import RobotModel

ARMS = {'panda': {'tip': 'panda_link8'}, 'ur5_robot': {}, 'kinova': {}, 'xarm7': {},
        'robodyn7': {}, 'robodyn6': {}}
CONSTANT = ('feedforward_pd', 'joint_impedance', 'adaptive', 'cartesian_impedance')
PERIOD = 2e-3  # s


def random_case(seed, n=6):
    """Return a mass matrix, its inverse, and gains."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-2, 0, n)[:, None]
    M = root @ root.T
    return M, np.linalg.inv(M), *(10.0 ** rng.uniform(-1, 2, (2, n))), rng


def lists(*arrays):
    """Return arrays as nested lists."""
    return [np.asarray(each).tolist() for each in arrays]


@pytest.mark.parametrize('seed', range(20))
def test_velocities_decay_no_faster_than_the_torques_permit(seed):
    M, inverse, stiffness, damping, rng = random_case(seed)
    ratio, fastest = rng.uniform(0.0, 2.0, len(M)), 400.0
    stiffness *= 100.0
    springs, dampers = map(np.array, admissible_parts(
        *lists(M, inverse, stiffness, damping, ratio), fastest))
    D = dampers * (damping + 2.0 * ratio * np.sqrt(stiffness * M.diagonal()))
    assert np.abs(np.linalg.eigvals(inverse @ np.diag(D))).max() < fastest * (1.0 + 1e-9)
    assert (dampers < 1.0).any() and (dampers > 0.0).all()
    # an arm that was hardly damped before stays so
    most = np.maximum(2.0 * fastest * D, dampers ** 2 * stiffness)
    assert (springs * stiffness <= most * (1.0 + 1e-12)).all()
    assert (springs > 0.0).all()


def test_gains_that_are_borne_stay_what_they_are():
    M, inverse, stiffness, damping, _ = random_case(0)
    given = lists(M, inverse, stiffness, damping, np.zeros(len(M)))
    assert admissible_parts(*given, 1e9) == ([1.0] * len(M),) * 2


def path_of(name):
    """Return the URDF of an arm, or skip the test that needs it."""
    if name.startswith('robodyn'):
        return ARM.with_name(f'{name}.urdf')
    from oracle import robot_files
    if name not in (files := robot_files()):
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    return files[name]


def stretched_and_bent(model):
    """Return two poses: that of rest, where axes are in line, and one from everywhere."""
    low, high = np.clip(model.lower, -2.0, 2.0), np.clip(model.upper, -2.0, 2.0)
    return None, np.random.default_rng(2).uniform(low, high)


@pytest.mark.parametrize('name, law', [
    pytest.param(name, law, marks=[pytest.mark.slow] if name in ('kinova', 'robodyn6') else [])
    for name in ARMS for law in (TRACKING if name in ('panda', 'robodyn7') else CONSTANT)])
def test_default_gains_follow_an_ordinary_trajectory(name, law):
    model = with_slots(RobotModel.from_urdf(path_of(name), **ARMS[name]))
    loop = Loop(model, settings_of(mode=law), period=PERIOD)
    for q in stretched_and_bent(model):
        loop.control.activation.deactivate()
        loop.now += 1.0
        loop.start(q)
        loop.run(0.6)
        loop.follow(loop.swing(1.5, 0.5), 1.5)
        loop.run(2.5)
        speed = np.abs(loop.column(2))
        assert (speed / model.velocity_limit).max() < 1.2
        assert speed[-50:].max() < 0.02
        assert not loop.control.fault and loop.control.status.code == 0


class Late(Loop):
    """A loop whose torques act a period late, as between driver and controller."""

    def cycle(self):
        """Answer the arm's state while the last torque acts."""
        before = self.torque
        torque = self.control.update(self.now, self.plant.q, self.plant.qd).copy()
        self.send(before)
        self.torque = torque


@pytest.mark.parametrize('law', CONSTANT)
def test_default_gains_bear_a_torque_that_is_a_period_late(law):
    model = with_slots(RobotModel.from_urdf(path_of('panda'), **ARMS['panda']))
    loop = Late(model, settings_of(mode=law), period=PERIOD)
    loop.run(0.6)
    loop.follow(loop.swing(1.5, 0.5), 1.5)
    loop.run(2.5)
    speed = np.abs(loop.column(2))
    assert (speed / model.velocity_limit).max() < 1.2 and speed[-50:].max() < 0.02


def test_joints_that_bear_their_gains_are_not_named():
    heavy = np.array(MODEL.effort_limit) / 500.0
    for law in CONSTANT:
        loop = Loop(with_slots(MODEL), settings_of(mode=law), {'armature': heavy}, BENT,
                    period=PERIOD, armature=heavy)
        loop.run(0.1)
        assert loop.control.status.gain_reduction == {}


def test_a_light_joint_is_named_with_what_it_does_not_bear():
    loop = Loop(MODEL, settings_of(mode='feedforward_pd'), period=PERIOD)
    loop.run(0.1)
    light = loop.control.status.gain_reduction
    assert light['joint3'] > 0.5 and 'joint2' not in light
    # the same gains at a rate that is high enough, and another law
    quick = Loop(MODEL, settings_of(mode='feedforward_pd'), period=1e-3)
    quick.run(0.1)
    assert quick.control.status.gain_reduction['joint3'] < light['joint3']
    loop.control.changes.enter('computed_torque')
    loop.run(0.1)
    assert loop.control.status.gain_reduction == {}


def test_a_stiffness_far_too_high_for_a_wrist_is_borne_by_part():
    loop = Loop(MODEL, settings_of(mode='joint_impedance'),
                {'impedance__stiffness': 3000.0}, BENT, period=PERIOD)
    loop.run(1.0)
    assert np.abs(loop.column(2)[-100:]).max() < 1e-3
    assert loop.control.status.gain_reduction['joint7'] > 0.9


def test_what_hardly_follows_teaches_nothing():
    # at 100 Hz the bare wrists bear little: an inertia learned of them would throw the arm
    loop = Loop(with_slots(MODEL), settings_of(mode='adaptive'), q=BENT, period=0.01)
    loop.run(0.6)
    loop.follow(loop.swing(1.5, 0.5), 1.5)
    loop.run(2.5)
    assert (np.abs(loop.column(2)) / MODEL.velocity_limit).max() < 1.2
    assert np.linalg.norm(loop.control.adaptation.pseudo_inertia) < 0.1


# --- rotors that are missing -------------------------------------------------------------------

def test_joints_without_rotor_are_named_with_what_to_set():
    text = arm_controller().status.missing_rotors
    assert "'joint7' (12 N m on 0.00025, armature about 0.024)" in text
    assert 'armature' in text and '1000 rad/s^2' in text
    assert "'joint1'" not in text and "'joint4'" not in text


def test_joints_with_a_rotor_or_without_a_limit_are_not_judged():
    assert not arm_controller(armature=np.array(MODEL.effort_limit) / 500.0).status.missing_rotors
    some = np.array([0.0, 0.0, 0.0, 0.0, 1e-3, 1e-3, 0.0])
    text = arm_controller(armature=some).status.missing_rotors
    assert "'joint7'" in text and "'joint5'" not in text and "'joint6'" not in text
    unlimited = replace(MODEL, effort_limit=np.full(7, np.inf))
    assert not missing_rotors(unlimited, np.full(7, 1e-3), np.zeros(7))


def arm_controller(**gains):
    """Return a controller of the arm with some design values."""
    return ArmController(Dynamics(MODEL), settings_of(**gains))
