"""Arms of MuJoCo from URDFs of other projects, with rotors, friction and wrong masses by seed."""

from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import mujoco
from mujoco_oracle import bare
import numpy as np

# of each arm: URDF in example-robot-data, and joints that are fixed at 0
ARMS = {
    'panda': ('panda_description/urdf/panda.urdf', ('panda_finger_joint1',
                                                    'panda_finger_joint2')),
    'ur5': ('ur_description/urdf/ur5_joint_limited_robot.urdf', ()),
    'kinova': ('kinova_description/robots/kinova.urdf', (
        'j2s6s200_joint_finger_1', 'j2s6s200_joint_finger_2', 'j2s6s200_joint_finger_tip_1',
        'j2s6s200_joint_finger_tip_2')),
    'xarm7': ('xarm_description/urdf/xarm7.urdf', ()),
}
RATE, _SUBSTEPS = 500.0, 2


def urdf_text(name):
    """Return the URDF of an arm, or of a path, without shapes, its fingers fixed."""
    path, fixed = ARMS.get(name, (name, ()))
    roots = [Path(each) for each in find_spec('cmeel').submodule_search_locations]
    folder = roots[0].parent / 'cmeel.prefix' / 'share' / 'example-robot-data' / 'robots'
    root = ElementTree.fromstring((folder / path).read_text())
    for joint in root.findall('joint'):
        if joint.get('name') in fixed:
            joint.set('type', 'fixed')
            for mimic in joint.findall('mimic'):
                joint.remove(mimic)
    return bare(ElementTree.tostring(root, encoding='unicode'))


def scaled(model, seed):
    """Return rotors and friction of all joints, in proportion to their effort limits."""
    rng, limit = np.random.default_rng(seed + 100), np.array(model.effort_limit)
    return {'armature': limit / 500.0 * rng.uniform(0.6, 1.4, model.nv),
            'coulomb': limit * rng.uniform(0.01, 0.03, model.nv),
            'viscous': limit * rng.uniform(0.002, 0.01, model.nv)}


class MujocoPlant:
    """
    An arm that differs from its URDF.

    Parameters
    ----------
    text : str
        URDF.
    model : RobotModel
        Our model of it, for names and limits.
    seed : int
        Of what differs, and of the noise.
    q : (nv,) array
        Where it is at first.
    joints : dict, optional
        Armature, viscous and coulomb of all joints, in place of those by seed.
    masses : float
        Largest relative error of mass and inertia.

    Attributes
    ----------
    armature, viscous, coulomb : (nv,) array
        What its joints have and the URDF has not.
    masses : (links,) array
        Factors of mass and inertia.
    noise : bool
        Whether the sensors have noise and resolution.

    """

    period = 1.0 / RATE

    def __init__(self, text, model, seed, q, joints=None, masses=0.1):
        rng = np.random.default_rng(seed)
        self.nv, self.limit = model.nv, np.array(model.effort_limit)
        self._m = m = mujoco.MjModel.from_xml_string(text)
        self._d = mujoco.MjData(m)
        self._order = np.array([m.joint(name).dofadr[0] for name in model.joint_names])
        assert m.nv == model.nv
        m.opt.timestep = self.period / _SUBSTEPS
        m.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
        self.masses = rng.uniform(1.0 - masses, 1.0 + masses, m.nbody)
        m.body_mass[:] *= self.masses
        m.body_inertia[:] *= self.masses[:, None]
        size = np.minimum(self.limit, 100.0)
        self.armature = rng.uniform(0.02, 0.08, model.nv)
        self.coulomb = rng.uniform(0.01, 0.03, model.nv) * size
        self.viscous = rng.uniform(0.01, 0.03, model.nv) * size
        for name, value in (joints or {}).items():
            setattr(self, name, np.broadcast_to(value, model.nv))
        m.dof_armature[self._order] = self.armature
        m.dof_frictionloss[self._order] = self.coulomb
        m.dof_damping[self._order] = self.viscous
        self._names = {m.body(i).name for i in range(m.nbody)}
        mujoco.mj_setConst(m, self._d)
        self._d.qpos[self._order] = q
        self._rng, self._applied, self.noise = rng, None, True

    def read(self):
        """Return measured q, qd and effort."""
        q, qd = self._d.qpos[self._order], self._d.qvel[self._order]
        if self._applied is None:  # brakes
            mujoco.mj_forward(self._m, self._d)
            self._applied = self._d.qfrc_bias[self._order].copy()
        if not self.noise:
            return q, qd, self._applied
        q = 1.2e-5 * np.round((q + 1e-5 * self._rng.normal(size=self.nv)) / 1.2e-5)
        return (q, qd + 5e-4 * self._rng.normal(size=self.nv),
                self._applied + 5e-4 * self.limit * self._rng.normal(size=self.nv))

    def step(self, torque):
        self._applied = np.clip(torque, -self.limit, self.limit)
        self._d.qfrc_applied[self._order] = self._applied
        for _ in range(_SUBSTEPS):
            mujoco.mj_step(self._m, self._d)

    def true_text(self, text):
        """Return the URDF with the masses of this arm."""
        root = ElementTree.fromstring(text)
        for link in root.findall('link'):
            if link.find('inertial') is None or link.get('name') not in self._names:
                continue
            factor = float(self.masses[self._m.body(link.get('name')).id])
            mass, inertia = link.find('inertial/mass'), link.find('inertial/inertia')
            mass.set('value', repr(factor * float(mass.get('value'))))
            for name in inertia.attrib:
                inertia.set(name, repr(factor * float(inertia.get(name))))
        return ElementTree.tostring(root, encoding='unicode')
