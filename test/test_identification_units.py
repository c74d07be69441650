"""Efforts that are currents or counts, and the verdict of each joint."""

from types import SimpleNamespace

from identification_data import arm, waves
import numpy as np
import pytest

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.identification.equations import excerpt
from robodyn_ros.identification.estimate import estimate
from robodyn_ros.identification.recording import Recording
from robodyn_ros.identification.report import report
from robodyn_ros.identification.verdict import validation_failures
from robodyn_ros.model import RobotModel

RATE = 100.0
LINK = """  <link name="{0}"><inertial><origin xyz="0.15 0 0"/><mass value="1.2"/>
    <inertia ixx="0.001" iyy="0.003" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
WRIST = f"""<robot name="wrist"><link name="base"/>{LINK.format('hand')}
  <joint name="wrist_1" type="revolute"><parent link="base"/><child link="hand"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="50" velocity="3"/></joint></robot>"""
VISCOUS, COULOMB, ROTOR = 2.45, 2.27, 0.2


@pytest.fixture(scope='module')
def wrist():
    """Return a wrist that lifts 1.2 kg at 0.15 m: gravity is nearly constant."""
    return Dynamics(RobotModel.from_urdf(WRIST))


def recorded(dynamics, scale, friction=1.0, noise=0.0, seed=0):
    """Return a motion with efforts of scale times torque, friction and rotors included."""
    motion = waves(dynamics.model, seed=seed, duration=40.0, frequency=0.05)
    t = np.arange(int(40.0 * RATE)) / RATE
    q, qd, qdd = motion.sample(t)
    torque = np.array([dynamics.inverse_dynamics(*each) for each in zip(q, qd, qdd)])
    torque += friction * (VISCOUS * qd + COULOMB * np.sign(qd) + ROTOR * qdd)
    torque += noise * np.random.default_rng(seed).normal(size=torque.shape)
    return Recording(dynamics.model.joint_names, t, q, t, scale * torque)


def identified(dynamics, recording, *groups):
    return estimate(dynamics, excerpt(dynamics, recording), groups)


@pytest.mark.parametrize('scale', [0.002, 0.12, 8.0, 20.0, 1000.0])
@pytest.mark.parametrize('friction, noise, groups', [
    (0.0, 0.0, ['scale']), (0.0, 0.3, ['friction', 'scale']), (1.0, 0.3, ['friction', 'scale']),
    (1.0, 0.0, ['friction', 'scale', 'armature'])])
def test_efforts_in_any_unit_give_their_scale_and_friction(wrist, scale, friction, noise, groups):
    found = identified(wrist, recorded(wrist, scale, friction, noise), *groups)
    assert ('scale', 0) not in found.unexcited
    assert found.arm.scale[0] == pytest.approx(scale, rel=0.05)
    if friction:
        assert found.joints['viscous'][0].value == pytest.approx(VISCOUS, rel=0.15)
        assert found.joints['coulomb'][0].value == pytest.approx(COULOMB, rel=0.15)
    assert found.held_back[0] < 0.2
    assert validation_failures(wrist.model.joint_names, found) == []


@pytest.mark.parametrize('groups', [['friction'], ['friction', 'armature'],
                                    ['friction', 'inertia']])
@pytest.mark.parametrize('scale', [0.12, 8.0])
def test_efforts_in_another_unit_do_not_pass_as_friction(wrist, scale, groups):
    found = identified(wrist, recorded(wrist, scale, 1.0, 0.1), *groups)
    reason, = validation_failures(wrist.model.joint_names, found)
    assert "'wrist_1'" in reason and f'efforts are {scale:.1g}' in reason


@pytest.mark.parametrize('scale', [0.7, 1.0, 1.6])
def test_masses_that_err_pass(wrist, scale):
    found = identified(wrist, recorded(wrist, scale, 1.0, 0.1), 'friction', 'armature')
    assert validation_failures(wrist.model.joint_names, found) == []


def test_currents_of_one_joint_are_found_in_an_arm():
    dynamics = arm()
    scale = np.array([1.0, 1.0, 0.11, 1.0, 1.0, 1.0])
    recording = recorded(dynamics, scale, 0.5, 0.05)
    reasons = validation_failures(dynamics.model.joint_names,
                                  identified(dynamics, recording, 'friction'))
    assert [dynamics.model.joint_names[2] in reason for reason in reasons] == [True]
    found = identified(dynamics, recording, 'friction', 'armature', 'scale')
    assert validation_failures(dynamics.model.joint_names, found) == []
    assert found.arm.scale[2] == pytest.approx(0.11, rel=0.02)


@pytest.mark.parametrize('scale', [0.1, 12.0])
def test_no_joint_of_an_arm_with_currents_counts_as_not_excited(scale):
    dynamics = arm()
    found = identified(dynamics, recorded(dynamics, scale, 0.5, 0.05), 'friction', 'scale')
    assert {kind for kind, _ in found.unexcited} <= {'offset', 'scale'}
    assert (found.held_back < 0.3).all()


def test_a_joint_that_moves_is_not_called_unexcited(wrist):
    model = wrist.model
    lines = report(model, identified(wrist, recorded(wrist, 0.05, 1.0, 0.1), 'friction'))
    assert any(line.startswith('effort not explained: ') for line in lines)
    assert not any(line.startswith('not excited') for line in lines)
    assert lines[-1].startswith('FAIL  held-back torque')
    dynamics = arm()
    recording = recorded(dynamics, 1.0, 0.5, 0.01)
    recording.position[:, 5] = 0.0
    lines = report(dynamics.model, identified(dynamics, recording, 'friction'))
    assert any(line.startswith('not excited: viscous of joint6') for line in lines)


def test_friction_of_a_joint_whose_unit_is_hidden_does_not_pass():
    dynamics = arm()
    recording = recorded(dynamics, np.array([0.1] * 5 + [0.2]), 0.5, 0.05)
    found = identified(dynamics, recording, 'friction', 'scale', 'armature')
    assert ('scale', 5) in found.unexcited and found.held_back[5] < 0.3
    reasons = validation_failures(dynamics.model.joint_names, found)
    assert "joint 'joint6': the scale of its efforts is not determined" in reasons[-1]
    assert 'not determined: scale of joint6' in '\n'.join(report(dynamics.model, found))


def test_a_joint_that_rests_in_the_end_is_not_validated():
    dynamics = arm()
    recording = recorded(dynamics, 1.0, 0.5, 0.01)
    later = recording.position_time > 25.0
    recording.position[later, 1] = recording.position[later, 1][0]
    found = identified(dynamics, recording, 'friction')
    assert any('not validated' in line and line.endswith(': joint2')
               for line in report(dynamics.model, found))


def judged(held_back, urdf=(1.0, 1.0), **fields):
    nothing = {'correlation': np.full(2, 5.0), 'effort_ratio': np.full(2, np.nan), 'payload': [],
               'base': [], 'joints': {}}
    found = SimpleNamespace(held_back=np.array(held_back), urdf=np.array(urdf),
                            **{**nothing, **fields})
    return validation_failures(('shoulder', 'elbow'), found)


@pytest.mark.parametrize('held_back, urdf, words', [
    ([0.05, 0.02], [0.5, 0.4], []), ([0.001, 0.002], [0.001, 0.001], []),
    ([0.0109, 0.02], [0.01, 0.0199], []), ([0.05, np.nan], [0.5, np.nan], []),
    ([0.05, 0.02], [0.01, 0.3], ['shoulder']), ([0.01, 0.9], [1.0, 2.0], ['elbow']),
    ([0.9, 0.5], [4.0, 5.0], ['shoulder', 'elbow']),
    ([np.nan, np.nan], [0.1, 0.1], ['record longer'])])
def test_each_joint_is_judged_by_what_was_held_back(held_back, urdf, words):
    reasons = judged(held_back, urdf)
    assert len(reasons) == len(words)
    assert all(word in reason for word, reason in zip(words, reasons))


@pytest.mark.parametrize('held_back, correlation, passes', [
    (0.5, 1.5, True), (0.5, 4.0, False), (0.91, 1.0, False), (0.91, 9.0, False)])
def test_noise_of_a_light_joint_passes_up_to_where_nothing_is_explained(held_back, correlation,
                                                                        passes):
    reasons = judged([0.01, held_back], correlation=np.array([1.0, correlation]))
    assert len(reasons) == (not passes) and all("'elbow'" in reason for reason in reasons)


@pytest.mark.parametrize('ratio, fields, count', [
    ([8.0, 1.0], {}, 1), ([0.1, 0.1], {}, 2), ([1.9, 0.6], {}, 0), ([np.nan, 1.0], {}, 0),
    ([8.0, 1.0], {'base': ['a mass']}, 0), ([8.0, 8.0], {'base': ['a mass']}, 2),
    ([8.0, 8.0], {'payload': ['a mass']}, 0), ([8.0, 8.0], {'joints': {'scale': []}}, 0)])
def test_a_unit_is_what_nothing_that_was_estimated_explains(ratio, fields, count):
    reasons = judged([0.01, 0.01], effort_ratio=np.array(ratio), **fields)
    assert len(reasons) == count and all('torque of the URDF' in each for each in reasons)
