"""Checks of the attributes of URDF elements: required ones, names and numbers."""
import re
import sys
from xml.etree.ElementTree import Element

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model.inertia import LARGEST

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
                raise ModelError(f'{where}: attribute {name!r} is missing or empty; give it',
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
