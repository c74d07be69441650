"""
The numbers of the reference systems, read from and written into their URDF files.

The URDF is the only place where the numbers stand: each symbol of the book is tied to the places
of the file that carry it, so a test can read the committed set and make others of the same arm.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

FOLDER = Path(__file__).resolve().parents[1] / 'urdf' / 'reference'

_FIELDS = {
    'mass': ('inertial/mass', 'value'),
    'com': ('inertial/origin', 'xyz'),
    'origin': ('origin', 'xyz'),
    'damping': ('dynamics', 'damping'),
    'friction': ('dynamics', 'friction'),
}


def _locate(root, place):
    """Find the element, the attribute, the entry in it and the sign that `place` stands for."""
    owner, field, *axis = place.lstrip('-').split()
    path, attribute = _FIELDS.get(field, ('inertial/inertia', field))
    found = [e.find(path) for e in root if e.tag in ('link', 'joint') and e.get('name') == owner]
    index = 'xyz'.index(axis[0]) if axis else 0
    return found[0], attribute, index, -1.0 if place.startswith('-') else 1.0


@dataclass(frozen=True)
class ReferenceSystem:
    """
    A URDF file and the places where each symbol of its closed form stands.

    A place reads `<link or joint> <field> [axis]`, with a minus sign in front where the file
    has the negative of the symbol. A symbol may stand in several places.
    """

    file: str
    places: Mapping[str, tuple[str, ...]]

    @property
    def path(self):
        """Path of the URDF file."""
        return FOLDER / self.file

    def numbers(self, text=None):
        """Read the numbers from the file, or from another URDF text of the same system."""
        root = ElementTree.fromstring(text or self.path.read_text())
        values = {}
        for symbol, places in self.places.items():
            read = set()
            for place in places:
                element, attribute, index, sign = _locate(root, place)
                read.add(sign * float(element.get(attribute).split()[index]))
            assert len(read) == 1, f'{self.file}: {symbol} differs between its places: {read}'
            values[symbol] = read.pop()
        return SimpleNamespace(**values)

    def text(self, numbers):
        """Write `numbers` into the places of the URDF and return its text."""
        root = ElementTree.fromstring(self.path.read_text())
        for symbol, places in self.places.items():
            for place in places:
                element, attribute, index, sign = _locate(root, place)
                entries = element.get(attribute).split()
                entries[index] = repr(sign * float(getattr(numbers, symbol)))
                element.set(attribute, ' '.join(entries))
        return ElementTree.tostring(root, encoding='unicode')

    def varied(self, rng, spread=0.1):
        """
        Scale every number by its own random factor, the committed file being factor one.

        Ten per cent is enough to distinguish all terms and keeps the inertias physical.
        """
        return SimpleNamespace(**{
            symbol: value * (1.0 + rng.uniform(-spread, spread))
            for symbol, value in vars(self.numbers()).items()})


RP_CRAIG = ReferenceSystem('rp_craig.urdf', {
    'm1': ('link1 mass',), 'L1': ('-link1 com z',), 'Iyy1': ('link1 iyy',),
    'm2': ('link2 mass',), 'L2': ('link2 com z',), 'Iyy2': ('link2 iyy',)})

_RP_GRAVITY = {
    'm1': ('link1 mass',), 'L1': ('link1 com x',), 'I1': ('link1 iyy',),
    'm2': ('link2 mass',), 'I2': ('link2 iyy',)}
RP_GRAVITY = ReferenceSystem('rp_gravity.urdf', _RP_GRAVITY)
RP_GRAVITY_FRICTION = ReferenceSystem('rp_gravity_friction.urdf', _RP_GRAVITY | {
    'b1': ('joint1 damping',), 'f1': ('joint1 friction',),
    'b2': ('joint2 damping',), 'f2': ('joint2 friction',)})

TWO_R_POINT_MASSES = ReferenceSystem('two_r_point_masses.urdf', {
    'm1': ('link1 mass',), 'L1': ('link1 com x', 'joint2 origin x'),
    'm2': ('link2 mass',), 'L2': ('link2 com x', 'tip_joint origin x')})

TWO_LINK_PAYLOAD = ReferenceSystem('two_link_payload.urdf', {
    'm1': ('link1 mass',), 'l1': ('joint2 origin x',), 'r1': ('link1 com x',),
    'J1': ('link1 iyy', 'link1 izz'),
    'm2': ('link2 mass',), 'l2': ('payload_joint origin x',), 'r2': ('link2 com x',),
    'J2': ('link2 iyy', 'link2 izz'),
    'm': ('payload mass',)})

CUBE = ReferenceSystem('cube.urdf', {
    'm': ('cube mass',), 'half': ('cube com x', 'cube com y', 'cube com z'),
    'moment': ('cube ixx', 'cube iyy', 'cube izz')})

MA23 = ReferenceSystem('ma23.urdf', {
    'l2': ('joint3 origin z',), 'ly4': ('joint5 origin y',), 'h2': ('joint5 origin z',),
    'M2': ('link2 mass',), 'd2': ('link2 com z',), 'Ix2': ('link2 ixx',),
    'M3': ('link3 mass',), 'd3': ('link3 com z',), 'Ix3': ('link3 ixx',),
    'M4': ('link4 mass',), 'dy4': ('link4 com y',), 'h1': ('link4 com z',),
    'Ix4': ('link4 ixx',), 'Iy4': ('link4 iyy',), 'Iz4': ('link4 izz',), 'Iyz4': ('link4 iyz',),
    'M5': ('link6 mass',), 'd5': ('link6 com z',),
    'Ix5': ('link6 ixx', 'link6 iyy'), 'Iz5': ('link6 izz',),
    'M6': ('counterweight mass',), 'd6': ('counterweight_joint origin z',),
    'Ix6': ('counterweight ixx',)})
