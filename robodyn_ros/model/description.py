"""Links and joints of a URDF, each checked on its own."""
from __future__ import annotations

from dataclasses import dataclass
import os
from typing import Any, Callable
from xml.etree import ElementTree

from urdf_parser_py import urdf

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model.attributes import check_attributes, check_name
from robodyn_ros.model.joints import check_type, Joint, read_joint
from robodyn_ros.model.links import Link, read_link
from robodyn_ros.model.problems import Problems
from robodyn_ros.model.urdf import read_urdf
from robodyn_ros.model.warning_list import WarningList

NOT_FOR_FIXED = ('axis', 'limit', 'dynamics', 'mimic')


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
    links = _read_all(robot, 'link', urdf.Link, read_link, warnings, problems)
    joints = _read_all(robot, 'joint', urdf.Joint, read_joint, warnings, problems)
    if problems.found:  # the lumped bodies are not known, so that every flaw counts
        problems.found += [ModelError(link.flaw, link=name) for name, link in links.items()
                           if link.flaw]
    problems.raise_any()
    if not links:
        raise ModelError('the URDF has no links; a robot needs at least two, and a joint')
    return Description(name or 'robot', links, joints)


def _read_all(robot: ElementTree.Element, tag: str, kind: type,
              read: Callable, warnings: WarningList, problems: Problems) -> dict:
    found = {}
    for element in robot.findall(tag):
        name = element.get('name', '')
        with problems.collect():
            if element.get('type') == 'fixed':
                _strip_fixed(element, warnings)
            check_attributes(element)
            if tag == 'joint':
                check_type(name, element.get('type'))
            if name in found:
                raise ModelError(f'{tag} {name!r} is defined more than once; give each {tag} a '
                                 'name of its own', **{tag: name})
            found[name] = read(_parse(kind, element), warnings)
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


def _parse(kind: Any, element: ElementTree.Element) -> urdf.xmlr.Object:
    # one element at a time, so that an error of the parser can be attributed to it
    try:
        return kind.from_xml_string(ElementTree.tostring(element, encoding='unicode'))
    except Exception as error:
        raise ModelError(f'{element.tag} {element.get("name")!r} cannot be parsed: '
                         f'{" ".join(str(error).split())}', name=element.get('name')) from error
