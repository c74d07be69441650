"""Calls of MuJoCo's Python bindings."""

from __future__ import annotations

from calls import BenchRobot, Order
import mujoco
import numpy as np
from timing import Call

# effects other than rigid-body dynamics
ADDED = ('CONSTRAINT', 'CONTACT', 'LIMIT', 'FRICTIONLOSS', 'EQUALITY', 'SPRING', 'DAMPER')
# the parts of mj_fwdPosition that these quantities need
POSITION = 'mujoco.mj_kinematics(m, data)\nmujoco.mj_comPos(m, data)\n'


class Mujoco:
    """
    Calls of MuJoCo for a robot.

    Parameters
    ----------
    robot : BenchRobot
    law : dict
        State, reference and gains of the law.

    """

    name, version = 'MuJoCo', mujoco.__version__

    def __init__(self, robot: BenchRobot, law: dict[str, np.ndarray]):
        self.robot, self.law = robot, law
        self.model = mujoco.MjModel.from_xml_string(robot.text)
        self.model.opt.disableflags |= sum(
            int(getattr(mujoco.mjtDisableBit, f'mjDSBL_{name}')) for name in ADDED)
        self.order = Order(robot.model.joint_names, joint_names(self.model))
        n, body = robot.joints, self.model.body(robot.link).id
        self.names = {'mujoco': mujoco, 'm': self.model, 'data': mujoco.MjData(self.model),
                      'body': body, 'force': np.zeros(n), 'M': np.zeros((n, n)),
                      'linear': np.zeros((3, n)), 'angular': np.zeros((3, n))}
        # data with zero velocities
        self.still = {**self.names, 'data': mujoco.MjData(self.model)}

    def calls(self):
        """Return a call for each quantity, without derivatives (finite differences in MuJoCo)."""
        state, vector = self.order.of(self.robot.state), self.order.columns
        return {quantity: Call(text, {**names, **state}, convert)
                for quantity, (text, names, convert) in {
            'inverse dynamics': (
                'data.qpos = q; data.qvel = qd; data.qacc = qdd\n'
                'mujoco.mj_inverse(m, data)\ndata.qfrc_inverse', self.names, vector),
            'gravity': (
                'data.qpos = q\n' + POSITION + 'mujoco.mj_comVel(m, data)\n'
                'mujoco.mj_rne(m, data, 0, force)\nforce', self.still, vector),
            'mass matrix': (
                'data.qpos = q\n' + POSITION + 'mujoco.mj_crb(m, data)\n'
                'mujoco.mj_fullM(m, data, M)\nM', self.names, self.order.square),
            'forward dynamics': (
                'data.qpos = q; data.qvel = qd; data.qfrc_applied = tau\n'
                'mujoco.mj_forward(m, data)\ndata.qacc', self.names, vector),
            'Jacobian': (
                'data.qpos = q\n' + POSITION + 'mujoco.mj_jacBody(m, data, linear, angular, body)'
                '\nlinear, angular', self.names, lambda rows: vector(np.vstack(rows))),
            'forward kinematics': (
                'data.qpos = q\nmujoco.mj_kinematics(m, data)\ndata.xpos[body], data.xmat[body]',
                self.names, lambda pose: homogeneous(*pose)),
        }.items()} | {'computed-torque law': Call(
            'data.qpos = q; data.qvel = qd\n'
            'data.qacc = qdd_ref + kp * (q_ref - q) + kd * (qd_ref - qd)\n'
            'mujoco.mj_inverse(m, data)\ndata.qfrc_inverse',
            {**self.names, **self.order.of(self.law)}, vector)}


def joint_names(model):
    """Return the names of all joints in MuJoCo's order."""
    return [model.joint(j).name for j in range(model.njnt)]


def homogeneous(position, rotation):
    """Return a pose as a (4, 4) matrix."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.reshape(3, 3), position
    return pose
