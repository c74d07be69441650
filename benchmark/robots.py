"""The robots: URDF texts that all libraries understand alike, and a state of each."""
from pathlib import Path
import sys
from xml.etree import ElementTree

from checkout import ROOT
import numpy as np

from robodyn_ros import RobotModel

OWN = ROOT / 'urdf' / 'robodyn7.urdf'
EXAMPLES = {'ur5': 'ur_description/urdf/ur5_robot.urdf',
            'panda': 'panda_description/urdf/panda.urdf',
            'talos': 'talos_data/robots/talos_reduced.urdf'}
FIXED = {'panda': ('panda_finger_joint1', 'panda_finger_joint2')}


class Robot:
    """
    One robot and a state of it.

    Attributes
    ----------
    name : str
    text : str
        URDF of the rigid bodies: without shapes and without friction.
    model : RobotModel
        Its joint order is that of the state.
    link : str
        The one with the most joints between it and the base.
    state : dict of str to (nv,) array
        q, qd, qdd, and tau.

    """

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.model = RobotModel.from_urdf(text)
        self.joints = self.model.nv
        self.link = self.model.body_names[int(np.argmax(_depths(self.model)))]
        self.state = dict(zip(('q', 'qd', 'qdd', 'tau'), self.states(4)))

    def states(self, count, rows=None):
        """Return arrays of numbers like joint positions, inside the limits."""
        rng = np.random.default_rng(1)
        low, high = (np.clip(limit, -2.0, 2.0) for limit in (self.model.lower, self.model.upper))
        shape = (count, self.joints) if rows is None else (count, rows, self.joints)
        return low + (high - low) * rng.random(shape)


class Order:
    """
    Translates between our order of joints and that of another library.

    Parameters
    ----------
    ours, theirs : sequence of str
        Names of the joints.

    """

    def __init__(self, ours, theirs):
        if sorted(ours) != sorted(theirs):
            sys.exit(f'the joints are {", ".join(ours)} here, but {", ".join(theirs)} there')
        self._theirs = np.array([list(ours).index(name) for name in theirs])
        self._ours = np.argsort(self._theirs)

    def of(self, state):
        """Return a copy of a state in the order of the other library."""
        return {name: np.ascontiguousarray(row[..., self._theirs]) for name, row in state.items()}

    def columns(self, array):
        """Return a vector or the columns of a matrix in our order."""
        return np.asarray(array)[..., self._ours]

    def square(self, matrix):
        """Return rows and columns in our order."""
        return np.asarray(matrix)[np.ix_(self._ours, self._ours)]


def load(name):
    """Return a robot by its name, or by the path of its URDF."""
    path = find(name)
    return Robot(path.stem if name == str(path) else name, plain(path, FIXED.get(name, ())))


def find(name):
    """Return the path of a URDF."""
    if name == 'robodyn7':
        return OWN
    if Path(name).is_file():
        return Path(name)
    for place in sys.path:
        for folder in ('cmeel.prefix/share', '../../../share'):
            path = Path(place) / folder / 'example-robot-data' / 'robots' / EXAMPLES.get(name, '-')
            if path.is_file():
                return path
    sys.exit(f'{name} is no file, and not among the examples ({", ".join(EXAMPLES)}): those need '
             '`pip install example-robot-data`')


def plain(path, fixed=()):
    """
    Return a URDF that means the same to all libraries.

    Without shapes and friction. Joints that mimic others are fixed, which not all know about;
    continuous ones get limits, because Pinocchio's have two numbers each.
    """
    root = ElementTree.parse(path).getroot()
    for link in root.iter('link'):
        for shape in (*link.findall('visual'), *link.findall('collision')):
            link.remove(shape)
    for joint in root.findall('joint'):
        for part in joint.findall('dynamics'):
            joint.remove(part)
        if joint.get('name') in fixed or joint.find('mimic') is not None:
            joint.set('type', 'fixed')
            for part in (*joint.findall('mimic'), *joint.findall('limit')):
                joint.remove(part)
        if joint.get('type') == 'continuous':
            joint.set('type', 'revolute')
            limit = joint.find('limit')
            limit = ElementTree.SubElement(joint, 'limit') if limit is None else limit
            for key, value in (('lower', '-6.28'), ('upper', '6.28'), ('effort', '100'),
                               ('velocity', '10')):
                limit.set(key, limit.get(key, value))
    for kind in ('transmission', 'gazebo', 'mujoco'):
        for part in root.findall(kind):
            root.remove(part)
    return ElementTree.tostring(root, encoding='unicode')


def chain(joints):
    """
    Return an arm of so many joints.

    Right angles between neighbouring axes and offsets along one axis, as arms have them; centres
    of mass and inertia tensors without any symmetry.
    """
    rng = np.random.default_rng(joints)
    parts = ['<link name="base"/>']
    for i in range(joints):
        # a box, so that the tensor is one that a body can have
        mass, sides = 0.5 + rng.random(), 0.05 + 0.1 * rng.random(3)
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        tensor = mass / 12.0 * turn @ np.diag(np.sum(sides**2) - sides**2) @ turn.T
        elements = ' '.join(f'i{"xyz"[a]}{"xyz"[b]}="{tensor[a, b]:.9g}"'
                            for a in range(3) for b in range(a, 3))
        x, y, z = 0.05 * rng.normal(size=3)
        parts.append(
            f'<link name="link{i}"><inertial><origin xyz="{x:.6g} {y:.6g} {z:.6g}"/>'
            f'<mass value="{mass:.6g}"/><inertia {elements}/></inertial></link>'
            f'<joint name="joint{i}" type="revolute"><parent link="'
            f'{f"link{i - 1}" if i else "base"}"/><child link="link{i}"/><origin xyz="0 0 0.2" '
            f'rpy="{(-1)**i * np.pi / 2 if i else 0.0:.17g} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-2" upper="2" effort="100" velocity="3"/></joint>')
    return Robot(f'chain{joints}', f'<robot name="chain{joints}">{"".join(parts)}</robot>')


def _depths(model):
    depth = []
    for parent in model.parent:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    return depth
