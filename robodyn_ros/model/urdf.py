"""
Parsing of URDF text into the elements that dynamics needs.

Expat is used directly, so that document types and entities are rejected before anything is
expanded or fetched, and elements that dynamics does not need are never built.
"""
from __future__ import annotations

import math
import os
from xml.etree.ElementTree import Element, SubElement
from xml.parsers import expat

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model.findings import WarningList
from robodyn_ros.model.source import read_source

MAX_ELEMENTS = 500_000  # elements of all kinds; each takes about 1 us
MAX_KEPT = 50_000  # links, joints and their children

CHILDREN = {
    'robot': {'link', 'joint'},
    'link': {'inertial'},
    'inertial': {'origin', 'mass', 'inertia'},
    'joint': {'origin', 'axis', 'parent', 'child', 'limit', 'dynamics', 'mimic'},
}
ATTRIBUTES = {
    'robot': {'name', 'version'},
    'link': {'name'},
    'joint': {'name', 'type'},
    'origin': {'xyz', 'rpy'},
    'mass': {'value'},
    'inertia': {'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'},
    'axis': {'xyz'},
    'parent': {'link'},
    'child': {'link'},
    'limit': {'effort', 'velocity', 'lower', 'upper'},
    'dynamics': {'damping', 'friction'},
    'mimic': {'joint', 'multiplier', 'offset'},
}
ROTOR = {'motor_inertia', 'gear_ratio'}  # attributes of <dynamics> in some URDFs, not of URDF
# Known elements that dynamics does not use; no warning.
IGNORED = {
    'robot': {'gazebo', 'transmission', 'material', 'sensor', 'ros2_control', 'mujoco', 'drake'},
    'link': {'visual', 'collision', 'gazebo', 'sensor', 'contact', 'self_collision_checking'},
    'joint': {'safety_controller', 'calibration', 'gazebo'},
}
OTHER_FORMATS = {
    'sdf': 'SDF; convert it to URDF',
    'mujoco': 'MuJoCo MJCF; convert it to URDF',
    'COLLADA': 'a COLLADA mesh; give the URDF that refers to it',
    'launch': 'a launch file; give the URDF itself',
}


def read_urdf(source: str | bytes | os.PathLike, warnings: WarningList) -> Element:
    """
    Return the ``robot`` element of a URDF, with the elements that dynamics needs.

    Parameters
    ----------
    source : str, bytes or path
        The XML itself or the path of a file.
    warnings : WarningList
        Collects unknown elements and attributes, and repeated elements.

    Raises
    ------
    ModelError
        If the source cannot be read, is not well-formed XML, declares a document type or
        entities, is xacro source, or is not a URDF.

    """
    return _Reader(warnings).read(read_source(source))


class _Reader:
    def __init__(self, warnings: WarningList) -> None:
        self.warnings = warnings
        self.open: list[Element] = []
        self.root: Element | None = None
        self.skipped = 0  # depth below a skipped element
        self.seen = self.kept = 0

    def read(self, text: str | bytes) -> Element:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.EntityDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        try:
            parser.Parse(text, True)
        except ModelError:
            raise
        except expat.ExpatError as error:
            raise ModelError(
                f'the URDF is not well-formed XML: {expat.ErrorString(error.code)} at line '
                f'{error.lineno}, column {error.offset + 1}, near {_near(text, error.lineno)}',
                line=error.lineno, column=error.offset + 1) from error
        except (ValueError, LookupError) as error:
            raise ModelError(f'the URDF cannot be decoded: {error}; save it as UTF-8') from error
        assert self.root is not None  # expat raises for a text without an element
        return self.root

    def _refuse_doctype(self, name: str, *_: object) -> None:
        raise ModelError(
            f'the URDF declares a document type or entity {shown(name)}; URDF has none, and they '
            'are refused because they can fetch files or expand without end: remove the '
            '<!DOCTYPE ...> part', name=name)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.seen += 1
        if self.seen > MAX_ELEMENTS:
            raise ModelError(f'the URDF has more than {MAX_ELEMENTS} elements; is this really a '
                             'robot?')
        if self.skipped:
            self.skipped += 1
        elif not self.open:
            _check_root(tag)
            self.root = Element(tag, self._known(tag, attributes, ''))
            self.open.append(self.root)
        elif self._needed(tag):
            self._keep(tag, attributes)
        else:
            self.skipped = 1

    def _end(self, tag: str) -> None:
        if self.skipped:
            self.skipped -= 1
        else:
            self.open.pop()

    def _needed(self, tag: str) -> bool:
        parent = self.open[-1]
        if tag.startswith('xacro:'):
            raise ModelError(f'the URDF is xacro source, it contains <{tag[:60]}>; run xacro on '
                             'it first and give its output', element=tag)
        if tag not in CHILDREN.get(parent.tag, ()):
            if tag not in IGNORED.get(parent.tag, ()):
                self.warnings.add(
                    f'element <{tag[:60]}> in <{parent.tag}> is not known and ignored',
                    self._owner())
            return False
        if tag not in ('link', 'joint') and parent.find(tag) is not None:
            self.warnings.add(
                f'element <{tag}> is repeated in <{parent.tag}>; only the first counts',
                self._owner())
            return False
        return True

    def _keep(self, tag: str, attributes: dict[str, str]) -> None:
        self.kept += 1
        if self.kept > MAX_KEPT:
            raise ModelError(f'the URDF has more than {MAX_KEPT} elements for links and '
                             'joints; is this really a robot?')
        owner = attributes.get('name', '') if len(self.open) == 1 else self._owner()
        known = self._known(tag, attributes, owner)
        self.open.append(SubElement(self.open[-1], tag, known))

    def _owner(self) -> str:
        return self.open[1].get('name', '') if len(self.open) > 1 else ''

    def _known(self, tag: str, attributes: dict[str, str], owner: str) -> dict[str, str]:
        known = {}
        for name, value in attributes.items():
            if '${' in value or '$(' in value:
                raise ModelError(f'the URDF is xacro source, <{tag}> contains {name}='
                                 f'{shown(value)}; run xacro on it first and give its output',
                                 element=tag, attribute=name)
            if name == 'quat_xyzw':
                raise ModelError(f'{owner!r}: <{tag}> gives its rotation as quat_xyzw, which is '
                                 'not supported; write it as rpy', element=tag, owner=owner)
            if name in ATTRIBUTES[tag]:
                known[name] = value
            elif name in ROTOR and ROTOR <= attributes.keys():
                self._suggest_rotor(attributes, owner)
            elif not name.startswith('xmlns'):
                self.warnings.add(f'attribute {name[:60]!r} of <{tag}> is not known and ignored',
                                  owner)
        return known

    def _suggest_rotor(self, attributes: dict[str, str], owner: str) -> None:
        inertia, ratio = (attributes[name] for name in sorted(ROTOR, reverse=True))
        try:
            rotor = float(inertia) * float(ratio) ** 2
        except (ValueError, OverflowError):
            rotor = math.nan
        self.warnings.add(f'motor_inertia {shown(inertia)} and gear_ratio {shown(ratio)} of '
                          '<dynamics> are not used; they suggest the parameter armature: '
                          f'{rotor:.3g} kg m^2', owner)


def _check_root(tag: str) -> None:
    if tag == 'robot':
        return
    kind = OTHER_FORMATS.get(tag, 'something else')
    raise ModelError(f'the root element is <{tag[:60]}>, a URDF has <robot>: this is {kind}',
                     element=tag)


def _near(text: str | bytes, line: int) -> str:
    if not isinstance(text, str):
        text = text.decode('utf-8', 'replace')
    lines = text.splitlines()
    return shown(lines[line - 1].strip() if 0 < line <= len(lines) else text[:60])
