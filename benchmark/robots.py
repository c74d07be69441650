"""The robots: URDFs with the same meaning for all libraries, and a state of each."""
from pathlib import Path
import sys

from calls import BenchRobot, plain
from checkout import ROOT
import numpy as np

OWN = ROOT / 'urdf' / 'robodyn7.urdf'
EXAMPLES = {'ur5': 'ur_description/urdf/ur5_robot.urdf',
            'panda': 'panda_description/urdf/panda.urdf',
            'talos': 'talos_data/robots/talos_reduced.urdf'}
FIXED = {'panda': ('panda_finger_joint1', 'panda_finger_joint2')}


def load(name):
    """Return a robot by its name, or by the path of its URDF."""
    path = find(name)
    return BenchRobot(path.stem if name == str(path) else name, plain(path, FIXED.get(name, ())))


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
    sys.exit(f'{name} is neither a file nor an example ({", ".join(EXAMPLES)}); examples need '
             '`pip install example-robot-data`')


def chain(joints):
    """
    Return an arm with a number of joints.

    Right angles between neighbouring axes and offsets along one axis, as in real arms; centres of
    mass and inertia tensors have no symmetry.
    """
    rng = np.random.default_rng(joints)
    parts = ['<link name="base"/>']
    for i in range(joints):
        # the inertia of a box, which is physically consistent
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
    return BenchRobot(f'chain{joints}', f'<robot name="chain{joints}">{"".join(parts)}</robot>')
