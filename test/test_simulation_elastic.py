"""Elastic joints: rotor, spring and link, against fine integrations and MuJoCo."""

import math
from pathlib import Path

import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from simulated_arm import one_joint

URDF = Path(__file__).resolve().parents[1] / 'urdf'
NO_FRICTION = {'friction': 0.0, 'damping': 0.0}
ROBODYN7 = RobotModel.from_urdf(URDF / 'robodyn7.urdf')
Q = np.array([0.3, 0.4, -0.2, -1.2, 0.1, 0.8, 0.3])
ROTORS = np.array([0.3, 0.3, 0.18, 0.14, 0.08, 0.05, 0.024])


def fine(dynamics, q, rotors, stiffness, damping, torque, seconds, step=1e-5):
    """Return positions of links and rotors after a while, by the symplectic Euler method."""
    q, theta = q.copy(), q + dynamics.gravity(q) / stiffness
    qd, omega = 0.0 * q, 0.0 * q
    for k in range(round(seconds / step)):
        spring = stiffness * (theta - q) + damping * (omega - qd)
        omega += step * (torque(k * step) - spring) / rotors
        qd += step * dynamics.forward_dynamics(q, qd, spring)
        theta += step * omega
        q += step * qd
    return q, theta


@pytest.mark.parametrize('stiffness', [2000.0, 7000.0, 20000.0])
def test_an_arm_with_elastic_joints_moves_like_one_in_steps_of_a_hundredth(stiffness):
    dynamics = Dynamics(ROBODYN7)
    plant = Plant(ROBODYN7, 1e-3, dynamics, armature=ROTORS, stiffness=stiffness,
                  spring_damping=2.0, **NO_FRICTION)
    plant.reset(Q)
    plant.gap[:] = dynamics.gravity(Q) / stiffness

    def torque(t):
        return dynamics.gravity(Q) + np.array([4.0, 6.0, 3.0, 3.0, 1.0, 0.8, 0.4]) * math.sin(
            2.0 * math.pi * 3.0 * t)

    for k in range(200):
        plant.step(torque((k + 0.5) * 1e-3))
    q, theta = fine(dynamics, Q, ROTORS, stiffness, 2.0, torque, 0.2)
    moved = np.abs(q - Q).max()
    assert moved > 0.02
    np.testing.assert_allclose(plant.q, q, atol=0.02 * moved)
    np.testing.assert_allclose(plant.q + plant.gap, theta, atol=0.02 * moved)


@pytest.mark.parametrize('stiffness, rotor, link', [(2000.0, 0.2, 1.0), (20000.0, 0.1, 0.5)])
def test_the_resonance_has_its_frequency_and_its_damping(stiffness, rotor, link):
    plant = Plant(one_joint(inertia=link), 1e-3, armature=rotor, stiffness=stiffness,
                  spring_damping=3.0, **NO_FRICTION)
    plant.gap[:] = 0.01
    reduced = rotor * link / (rotor + link)
    w, z = math.sqrt(stiffness / reduced), 3.0 / (2.0 * math.sqrt(stiffness * reduced))
    gaps = []
    for _ in range(400):
        plant.step(np.zeros(1))
        gaps.append(plant.gap[0])
    gaps = np.array(gaps)
    crossings = np.flatnonzero(gaps[1:] * gaps[:-1] < 0.0)
    halves = crossings.size - 1
    begin, end = (k + gaps[k] / (gaps[k] - gaps[k + 1]) for k in (crossings[0], crossings[-1]))
    found = math.pi * halves / (1e-3 * (end - begin))
    expected = w * math.sqrt(1.0 - z * z)
    assert found == pytest.approx(2e3 * math.atan(0.5e-3 * expected), rel=5e-3)
    assert found == pytest.approx(expected, rel=0.03)
    peaks = np.abs(gaps[crossings[0]:crossings[2]]).max(), np.abs(
        gaps[crossings[-3]:crossings[-1]]).max()
    decay = math.log(peaks[0] / peaks[1]) / (1e-3 * (crossings[-3] - crossings[0]))
    assert decay == pytest.approx(z * w, rel=0.1)


def test_a_spring_without_damping_keeps_its_energy():
    plant = Plant(one_joint(inertia=0.5), 1e-3, armature=0.1, stiffness=5000.0, **NO_FRICTION)
    plant.gap[:] = 0.01

    def energy():
        motor = plant.qd[0] + plant.gap_rate[0]
        return 0.5 * (0.5 * plant.qd[0] ** 2 + 0.1 * motor ** 2 + 5000.0 * plant.gap[0] ** 2)

    before = energy()
    for _ in range(5000):
        plant.step(np.zeros(1))
    assert energy() == pytest.approx(before, rel=1e-6)


def test_a_stiff_joint_is_a_rigid_one():
    options = {'armature': ROTORS, **NO_FRICTION}
    rigid = Plant(ROBODYN7, 1e-3, **options)
    stiff = Plant(ROBODYN7, 1e-3, rigid.dynamics, stiffness=1e7, spring_damping=100.0, **options)
    gravity = rigid.dynamics.gravity(Q)
    for plant in (rigid, stiff):
        plant.reset(Q)
    stiff.gap[:] = gravity / 1e7
    for k in range(300):
        torque = gravity + 0.05 * np.array(ROBODYN7.effort_limit) * math.sin(0.02 * k)
        rigid.step(torque)
        stiff.step(torque)
    np.testing.assert_allclose(stiff.q, rigid.q, atol=2e-3 * np.abs(rigid.q - Q).max())


def test_springs_carry_the_arm_when_the_brakes_open():
    plant = Plant(ROBODYN7, 1e-3, armature=ROTORS, stiffness=5000.0, brakes=True, **NO_FRICTION)
    plant.reset(Q)
    gravity = plant.dynamics.gravity(Q)
    plant.step(gravity)
    plant.release()
    for _ in range(200):
        plant.step(gravity)
    np.testing.assert_allclose(plant.gap, gravity / 5000.0, atol=1e-9)
    np.testing.assert_allclose(plant.q, Q, atol=1e-6)


@pytest.mark.parametrize('given, words', [
    ({'stiffness': 100.0}, 'armature of joint .* is 0.0: an elastic joint needs a rotor'),
    ({'stiffness': 100.0, 'armature': 0.1, 'backlash': 0.01},
     'stiffness of joint .* either elastic'),
    ({'stiffness': -1.0, 'armature': 0.1}, 'stiffness of joint .* must not be negative'),
    ({'spring_damping': math.inf}, 'spring_damping of joint .* finite')])
def test_what_no_joint_has_is_refused(given, words):
    with pytest.raises(ArgumentError, match=words):
        Plant(one_joint(inertia=1.0), 1e-3, **given)


_MJCF = """<mujoco>
  <compiler angle="radian"/>
  <option timestep="1e-5" integrator="RK4" gravity="0 0 -9.81"/>
  <worldbody>
    <body name="rotor1" pos="5 0 0"><joint name="rotor1" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.2 0.2 0.2"/></body>
    <body name="rotor2" pos="6 0 0"><joint name="rotor2" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>
    <body name="upper"><joint name="link1" axis="0 1 0"/>
      <inertial pos="0 0 0.2" mass="3" diaginertia="0.04 0.04 0.01"/>
      <body name="fore" pos="0 0 0.4"><joint name="link2" axis="0 1 0"/>
        <inertial pos="0 0 0.15" mass="2" diaginertia="0.02 0.02 0.005"/></body></body>
  </worldbody>
  <tendon>
    <fixed stiffness="3000" damping="2"><joint joint="rotor1" coef="1"/>
      <joint joint="link1" coef="-1"/></fixed>
    <fixed stiffness="2000" damping="1"><joint joint="rotor2" coef="1"/>
      <joint joint="link2" coef="-1"/></fixed>
  </tendon>
  <actuator><motor joint="rotor1"/><motor joint="rotor2"/></actuator>
</mujoco>"""
_URDF = """<robot name="two"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="3"/>
    <inertia ixx="0.04" iyy="0.04" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0 0 0.15"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="link1" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit effort="100" velocity="10"/></joint>
  <joint name="link2" type="continuous"><parent link="upper"/><child link="fore"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 1 0"/><limit effort="100" velocity="10"/></joint>
</robot>"""


def test_an_elastic_arm_moves_like_one_of_mujoco_with_rotors_and_springs():
    mujoco = pytest.importorskip('mujoco', reason='the oracle needs mujoco')
    m = mujoco.MjModel.from_xml_string(_MJCF)
    d = mujoco.MjData(m)
    m.tendon_lengthspring[:] = 0.0  # by default that of the first position
    plant = Plant(RobotModel.from_urdf(_URDF), 1e-3, armature=[0.2, 0.1],
                  stiffness=[3000.0, 2000.0], spring_damping=[2.0, 1.0], **NO_FRICTION)
    q = np.array([0.4, 0.7])
    plant.reset(q)
    plant.gap[:] = 0.0
    d.qpos[[0, 1]] = d.qpos[[2, 3]] = q
    for k in range(300):
        torque = np.array([8.0 * math.sin(0.05 * k), 5.0 * math.cos(0.08 * k)])
        d.ctrl[:] = torque
        for _ in range(100):
            mujoco.mj_step(m, d)
        plant.step(torque)
    moved = np.abs(d.qpos[[2, 3]] - q).max()
    assert moved > 0.3
    np.testing.assert_allclose(plant.q, d.qpos[[2, 3]], atol=0.01 * moved)
    np.testing.assert_allclose(plant.q + plant.gap, d.qpos[[0, 1]], atol=0.01 * moved)
