"""Links and joints of a URDF, each with its attributes checked on its own."""
from __future__ import annotations

from dataclasses import dataclass
import os
import re
import sys
from typing import Callable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from urdf_parser_py import urdf

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model.findings import Problems, WarningList
from robodyn_ros.model.inertia import LARGEST
from robodyn_ros.model.joints import check_type, Joint, read_joint
from robodyn_ros.model.links import Link, read_link
from robodyn_ros.model.urdf import read_urdf

NOT_FOR_FIXED = ('axis', 'limit', 'dynamics', 'mimic')
REQUIRED = {
    'joint': ('name', 'type'), 'link': ('name',), 'parent': ('link',), 'child': ('link',),
    'axis': ('xyz',), 'mass': ('value',), 'inertia': ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'),
    'limit': ('effort', 'velocity'), 'mimic': ('joint',),
}
REQUIRED_CHILDREN = {'joint': ('parent', 'child'), 'inertial': ('mass',)}
NAMES = ('name', 'type', 'link', 'joint')
TRIPLES = ('xyz', 'rpy')
OF_LIMITS = ('lower', 'upper', 'effort', 'velocity')  # 1e308 often stands for unlimited
# Numbers as C++ strtod reads them; Python's float() also accepts 1_000 and non-ASCII digits.
NUMBER = re.compile(r'[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?', re.ASCII)
LONGEST = 1000  # characters of a name; names appear in messages


@dataclass(frozen=True, slots=True)
class Description:
    """Links and joints by name, in document order."""

    name: str
    links: dict[str, Link]
    joints: dict[str, Joint]


def read_description(source: str | bytes | os.PathLike, warnings: WarningList) -> Description:
    """
    Read and check the links and joints of a URDF; their connections are not checked yet.

    Parameters
    ----------
    source : str, bytes or path
        The XML itself or the path of a file.
    warnings : WarningList
        Collects the warnings.

    Raises
    ------
    ModelError
        If an element is faulty; the message names link or joint, value and remedy. Several
        errors are reported together, see `Problems`.

    """
    problems = Problems()
    robot = read_urdf(source, warnings)
    name = robot.get('name', '').strip()
    check_name('the name of the robot', name)
    if not name:
        warnings.add('the <robot> element has no name; it is called "robot" here')
    if robot.get('version', '1.0') != '1.0':
        warnings.add(f'URDF version {shown(robot.get("version"))} is read as version 1.0')
    for tag in ('link', 'joint'):
        _remove_faulty(robot, tag, warnings, problems)
    parsed = _parse(robot)
    links = _read_all(parsed.links, read_link, warnings, problems)
    joints = _read_all(parsed.joints, read_joint, warnings, problems)
    if problems.found:  # the lumped bodies are not known, so that every flaw counts
        problems.found += [ModelError(link.flaw, link=name) for name, link in links.items()
                           if link.flaw]
    problems.raise_any()
    if not links:
        raise ModelError('the URDF has no links; a robot needs at least two, and a joint')
    return Description(name or 'robot', links, joints)


def _remove_faulty(robot: Element, tag: str, warnings: WarningList, problems: Problems) -> None:
    """Check all elements of a tag, and remove those with problems."""
    found: set[str] = set()
    for element in robot.findall(tag):
        name = element.get('name', '')
        robot.remove(element)
        with problems.collect():
            if element.get('type') == 'fixed':
                _strip_fixed(element, warnings)
            check_attributes(element)
            if tag == 'joint':
                check_type(name, element.get('type'))
            if name in found:
                raise ModelError(f'{tag} {name!r} is defined more than once; give each {tag} a '
                                 'name of its own', **{tag: name})
            found.add(name)
            robot.append(element)


def _read_all(elements: list, read: Callable, warnings: WarningList, problems: Problems) -> dict:
    found = {}
    for element in elements:
        with problems.collect():
            found[element.name] = read(element, warnings)
    return found


def _strip_fixed(element: ElementTree.Element, warnings: WarningList) -> None:
    # exporters write axes of 0 0 0 and zero limits into fixed joints
    for tag in NOT_FOR_FIXED:
        child = element.find(tag)
        if child is not None:
            element.remove(child)
            if tag == 'mimic':
                warnings.add('a fixed joint cannot mimic another; its <mimic> is ignored',
                             element.get('name', ''))


def _parse(robot: Element) -> urdf.Robot:
    robot.attrib = {'name': 'robot'}  # name and version were checked
    try:
        return urdf.Robot.from_xml_string(ElementTree.tostring(robot, encoding='unicode'))
    except Exception as error:
        raise ModelError('links or joints of the URDF cannot be parsed: '
                         f'{" ".join(str(error).split())}') from error


def check_attributes(part: Element) -> None:
    """
    Check a ``link`` or ``joint`` element and all its descendants.

    Raises
    ------
    ModelError
        If a required attribute or element is missing, or a number is not a finite number.

    """
    owner = f'{part.tag} {shown(part.get("name", ""), 200)}'
    for element in part.iter():
        where = owner if element is part else f'{owner} <{element.tag}>'
        for name in REQUIRED.get(element.tag, ()):
            if not element.get(name, '').strip():
                others = ', '.join(REQUIRED[element.tag])
                raise ModelError(f'{where}: attribute {name!r} is missing or empty; give '
                                 f'{"it" if others == name else f"all of {others} as attributes"}',
                                 owner=owner, element=element.tag, attribute=name)
        for tag in REQUIRED_CHILDREN.get(element.tag, ()):
            if element.find(tag) is None:
                raise ModelError(f'{where}: element <{tag}> is missing; give it',
                                 owner=owner, element=element.tag, child=tag)
        for name, text in element.attrib.items():
            if name not in NAMES:
                _check_numbers(where, name, text)
            else:
                check_name(f'{element.tag} {shown(text)}: {name}', text)


def check_name(what: str, text: str) -> None:
    """Raise `ModelError` if a name is too long or not printable."""
    if len(text) > LONGEST:
        raise ModelError(f'{what} is {len(text)} characters long, more than {LONGEST}; shorten '
                         'it', value=text)
    if not text.isprintable():
        raise ModelError(f'{what} {shown(text)} holds a control character or a line end; rename '
                         'it', value=text)


def _check_numbers(where: str, name: str, text: str) -> None:
    count = 3 if name in TRIPLES else 1
    words = text.split()
    if len(words) != count:
        form = 'three numbers separated by blanks' if count == 3 else 'one number'
        raise ModelError(f'{where}: {name}={shown(text)} must be {form}',
                         where=where, attribute=name, value=text)
    for word in words:
        if word.lower().lstrip('+-') in ('nan', 'inf', 'infinity'):
            raise ModelError(f'{where}: {name}={shown(text)} is not finite; give a finite number',
                             where=where, attribute=name, value=text)
        if not NUMBER.fullmatch(word):
            raise ModelError(f'{where}: {name}={shown(text)} is not a number',
                             where=where, attribute=name, value=text)
        if abs(float(word)) > (sys.float_info.max if name in OF_LIMITS else LARGEST):
            raise ModelError(f'{where}: {name}={shown(text)} is too large; give a number in SI '
                             'units', where=where, attribute=name, value=text)
        # what is smaller has few digits, or none: its quotients are not those of the text
        if abs(float(word)) < sys.float_info.min and re.match(r'[+-]?[0.]*[1-9]', word):
            raise ModelError(f'{where}: {name}={shown(text)} is too small; give 0 or a number in '
                             'SI units', where=where, attribute=name, value=text)
