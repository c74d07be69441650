"""
MuJoCo in the joint order and with the conventions of robodyn_ros.

A second judge, with its own URDF parser, and algorithms in axes of the world about centres of
mass. What it adds to rigid bodies (limits, contacts, friction, damping) is switched off. Mimic
joints, which it would pull together by constraint forces, are tied as in `oracle`.
"""

from xml.etree import ElementTree

import numpy as np
from oracle import followed, mimic_rules
import pytest

mujoco = pytest.importorskip('mujoco')
DISABLED = ('CONSTRAINT', 'CONTACT', 'LIMIT', 'FRICTIONLOSS', 'EQUALITY', 'SPRING', 'DAMPER')


def bare(text):
    """Return a URDF without shapes, which no dynamics needs, for MuJoCo to take as it is."""
    root = ElementTree.fromstring(text)
    for link in root.iter('link'):
        for shape in (*link.findall('visual'), *link.findall('collision')):
            link.remove(shape)
    for own in root.findall('mujoco'):
        root.remove(own)
    # no mass or inertia is made up, none is corrected, and every link stays a body
    ElementTree.SubElement(ElementTree.SubElement(root, 'mujoco'), 'compiler', {
        'fusestatic': 'false', 'boundmass': '0', 'boundinertia': '0', 'balanceinertia': 'false'})
    return ElementTree.tostring(root, encoding='unicode')


class MujocoOracle:
    """
    Reference dynamics of a URDF.

    Parameters
    ----------
    text : str
        The URDF.
    joint_names : sequence of str
        Independent joints, in the order that all arrays have.
    gravity : array_like, shape (3,)
        Acceleration of gravity in the root frame [m/s^2].

    """

    def __init__(self, text, joint_names, gravity):
        self.model = mujoco.MjModel.from_xml_string(bare(text))
        self.data = mujoco.MjData(self.model)
        self.model.opt.gravity = gravity
        flags = mujoco.mjtDisableBit
        for name in DISABLED:
            self.model.opt.disableflags |= int(getattr(flags, f'mjDSBL_{name}'))
        self.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        rules, joint_names = mimic_rules(text), tuple(joint_names)
        moving = [self.model.joint(j).name for j in range(self.model.njnt)]
        rules = {name: rule for name, rule in rules.items() if name in moving}
        self.coupling = np.zeros((self.model.nv, len(joint_names)))
        self.offset = np.zeros(self.model.nv)
        for j, name in enumerate(moving):
            leader, factor, self.offset[j] = followed(name, rules)
            self.coupling[j, joint_names.index(leader)] = factor

    def put(self, q, qd=None, qdd=None):
        """Set the state and compute all that follows from it; return MuJoCo's data."""
        data, zero = self.data, np.zeros(self.coupling.shape[1])
        data.qpos[:] = self.coupling @ q + self.offset
        data.qvel[:] = self.coupling @ (zero if qd is None else qd)
        data.qacc[:] = self.coupling @ (zero if qdd is None else qdd)
        data.qfrc_applied[:] = 0.0
        mujoco.mj_inverse(self.model, data)
        return data

    def inverse_dynamics(self, q, qd, qdd):
        """Joint torques by MuJoCo's inverse dynamics."""
        return self.coupling.T @ self.put(q, qd, qdd).qfrc_inverse

    def bias(self, q, qd):
        """Coriolis, centrifugal and gravity torques."""
        return self.coupling.T @ self.put(q, qd).qfrc_bias

    def mass_matrix(self, q):
        """Joint-space inertia matrix."""
        self.put(q)
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return self.coupling.T @ full @ self.coupling

    def forward_dynamics(self, q, qd, tau, wrenches):
        """Accelerations under joint torques and wrenches on links; for robots without mimic."""
        data = self.put(q, qd)
        data.qfrc_applied[:] = self.coupling @ tau
        for link, wrench in wrenches.items():
            body = self._body(link)
            mujoco.mj_applyFT(self.model, data, wrench[:3], wrench[3:], data.xpos[body], body,
                              data.qfrc_applied)
        mujoco.mj_forward(self.model, data)
        return self.coupling.T @ data.qacc

    def kinetic_energy(self, q, qd):
        """Kinetic energy [J]."""
        data = self.put(q, qd)
        mujoco.mj_energyVel(self.model, data)
        return data.energy[1]

    def forward_kinematics(self, q, link):
        """Pose of a link, a (4, 4) homogeneous matrix."""
        data, body = self.put(q), self._body(link)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
        return pose

    def jacobian(self, q, link):
        """Jacobian (6, n) at the origin of a link, linear rows first."""
        columns = np.zeros((2, 3, self.model.nv))
        mujoco.mj_jacBody(self.model, self.put(q), *columns, self._body(link))
        return columns.reshape(6, -1) @ self.coupling

    def jacobian_dot_qd(self, q, qd, link):
        """Acceleration of a link's origin at zero joint acceleration."""
        data, body = self.put(q, qd), self._body(link)
        columns = np.zeros((2, 3, self.model.nv))
        mujoco.mj_jacDot(self.model, data, *columns, data.xpos[body], body)
        return columns.reshape(6, -1) @ self.coupling @ qd

    def _body(self, link):
        return self.model.body(link).id
