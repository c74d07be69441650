"""Arms for the Cartesian laws: one of every kind, and what they should do, in NumPy."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from robodyn_ros.control import make_gains
from robodyn_ros.control.laws.arm import Arm
from robodyn_ros.control.laws.task_space import Task
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from scipy.spatial.transform import Rotation

URDFS = Path(__file__).resolve().parents[1] / 'urdf'
_LINK = """<link name="{0}"><inertial><origin xyz="{2} 0 {3}"/><mass value="{1}"/>
  <inertia ixx="{4}" iyy="{4}" izz="{4}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_JOINT = """<joint name="to_{0}" type="{1}"><parent link="{2}"/><child link="{0}"/>
  <origin xyz="{3}"/><axis xyz="{4}"/><limit lower="-2.5" upper="2.5" effort="100" velocity="3"/>
</joint>"""


def arm_of(*joints, tip='1 0 0', inertia=0.02):
    """Return the URDF of a chain of (type, origin, axis), 1 kg at half a metre of each link."""
    parts, parent = ['<link name="base"/>'], 'base'
    for number, (kind, origin, axis) in enumerate(joints):
        name = f'link{number}'
        parts += [_LINK.format(name, 1.0, 0.5, 0.0, inertia),
                  _JOINT.format(name, kind, parent, origin, axis)]
        parent = name
    parts += ['<link name="tool"/>', f'<joint name="fixed" type="fixed"><parent link="{parent}"/>'
              f'<child link="tool"/><origin xyz="{tip}"/></joint>']
    return f'<robot name="chain">{"".join(parts)}</robot>'


# Lynch and Park 8.1 with unit masses and lengths, in the plane of x and y
POINT_MASSES = """<robot name="two_r"><link name="base"/>
<link name="a"><inertial><origin xyz="1 0 0"/><mass value="1"/>
  <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><origin xyz="1 0 0"/><mass value="1"/>
  <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tool"/>
<joint name="one" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
  <limit effort="50" velocity="3"/></joint>
<joint name="two" type="continuous"><parent link="a"/><child link="b"/><origin xyz="1 0 0"/>
  <axis xyz="0 0 1"/><limit effort="50" velocity="3"/></joint>
<joint name="three" type="fixed"><parent link="b"/><child link="tool"/><origin xyz="1 0 0"/>
  </joint>
</robot>"""
SCARA = arm_of(('revolute', '0 0 0', '0 0 1'), ('revolute', '0.4 0 0', '0 0 1'),
               ('prismatic', '0.4 0 0', '0 0 1'), ('revolute', '0 0 0', '0 0 1'), tip='0.1 0 0')
FOUR = arm_of(('revolute', '0 0 0', '0 0 1'), ('revolute', '0 0 0.3', '0 1 0'),
              ('revolute', '0.4 0 0', '0 1 0'), ('revolute', '0.4 0 0', '1 0 0'), tip='0.2 0 0.1')


def robot(name):
    """Return a model by name."""
    texts = {'two_r': POINT_MASSES, 'scara': SCARA, 'four': FOUR}
    return RobotModel.from_urdf(texts.get(name) or URDFS / f'{name}.urdf')


def interpreted(name):
    """Return the dynamics of a robot without compilation."""
    return Dynamics(robot(name), backend='python')


def task_of(dyn, gains, q, qd, reference, selected):
    """Return the task of the tip in floats."""
    frame, n = dyn.frame(dyn.model.tip), dyn.nv
    x = SimpleNamespace(q=list(q), qd=list(qd), q_ref=list(reference.q),
                        qd_ref=list(reference.qd), qdd_ref=list(reference.qdd),
                        task=SimpleNamespace(**{name: getattr(gains, name).tolist() for name in (
                            'axes', 'reach', 'mobility', 'singularity')}))
    arm = Arm(dyn.tree, dyn.runtime.tolist(), make_gains(dyn).armature.tolist(), [1.0] * n, frame)
    return Task(arm, x, list(map(float, selected)))


def inertia_of_task(dyn, link, q, rows=range(6)):
    """Return (J M^-1 J^T)^-1 over some rows."""
    J = dyn.jacobian(q, link)[list(rows)]
    return np.linalg.inv(J @ np.linalg.solve(dyn.mass_matrix(q), J.T))


def difference(dyn, link, q_ref, q):
    """Return p_ref - p, and the quaternion (eta, eps) of R_ref R^T with eta >= 0."""
    target, pose = (dyn.forward_kinematics(each, link) for each in (q_ref, q))
    x, y, z, w = Rotation.from_matrix(target[:3, :3] @ pose[:3, :3].T).as_quat()
    sign = 1.0 if w >= 0.0 else -1.0
    return target[:3, 3] - pose[:3, 3], sign * w, sign * np.array([x, y, z])


def spring(stiffness, away, eta, eps):
    """Return the force and moment of a spring in base axes (Caccavale and others 1999)."""
    moment = 2.0 * (eta * stiffness[3:] * eps + np.cross(stiffness[3:] * eps, eps))
    return np.concatenate([stiffness[:3] * away, moment])
