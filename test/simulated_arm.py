"""Simulated arms, and what is done with them."""
import math
from pathlib import Path

import numpy as np
from robodyn_ros.model import RobotModel

ARM = RobotModel.from_urdf(Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf')
G = 9.81
NO_STOPS = {'lower': -math.inf, 'upper': math.inf}
NO_FRICTION = {'damping': 0.0, 'friction': 0.0}


def one_joint(kind='continuous', mass=1.0, lever=0.0, inertia=1.0, axis='0 1 0', limit='',
              dynamics=''):
    """Return a robot with one joint; its body hangs `lever` below the joint."""
    return RobotModel.from_urdf(f"""
        <robot name="one"><link name="base"/>
          <link name="body"><inertial><origin xyz="0 0 {-lever}"/><mass value="{mass}"/>
            <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>
          </inertial></link>
          <joint name="joint" type="{kind}"><parent link="base"/><child link="body"/>
            <axis xyz="{axis}"/>{limit or '<limit effort="1000" velocity="100"/>'}{dynamics}
          </joint></robot>""")


def run(plant, seconds, torque):
    """Step for a while; yield after every step."""
    torque = np.broadcast_to(np.asarray(torque, dtype=float), (plant.nv,)).copy()
    for _ in range(round(seconds / plant.step_size)):
        assert plant.step(torque), plant.fault
        yield plant


def finish(plant, seconds, torque=0.0):
    for _ in run(plant, seconds, torque):
        pass
    return plant


def energy(plant):
    dynamics = plant.dynamics
    return (dynamics.kinetic_energy(plant.q, plant.qd) + dynamics.potential_energy(plant.q)
            + 0.5 * plant.joints.armature @ plant.qd**2)
