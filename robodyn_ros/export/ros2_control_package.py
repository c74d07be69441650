"""The files of a package with a controller of ros2_control, as texts by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Formatter

from robodyn_ros import __version__
from robodyn_ros.control.arm.messages import TEMPLATES
from robodyn_ros.control.shared_block import about, SharedLayout, usual_name
from robodyn_ros.export import c_files
from robodyn_ros.export.syntax import comment, macro
from robodyn_ros.export.templates import filled
from robodyn_ros.model import RobotModel

_FIELDS = ('joint', 'value', 'bound', 'time', 'unit', 'speed', 'percent')
# fields that only the node can fill in, and what stands for them
_FIXED = {'because': '', 'cause': 'the joint states are silent', 'size': '{value}', 'side': 'off',
          'unit_of_velocity': 'check its unit',
          'repetition': "joint '{joint}' at {value} {speed}: the driver has stopped, or brakes "
                        'hold the arm'}
_PLACES = {  # of each template in the package
    'package.xml': 'package.xml', 'CMakeLists.txt': 'CMakeLists.txt', 'plugin.xml': 'plugin.xml',
    'README.md': 'README.md', 'controllers.yaml': 'config/controllers.yaml',
    'controller.launch': 'launch/controller.launch.py',
    **{name: f'src/{name}' for name in (
        'controller.hpp', 'controller.cpp', 'cycle_loop.hpp', 'cycle_loop.cpp',
        'fault_text.hpp', 'fault_text.cpp', 'shared_block.hpp', 'shared_block.cpp')}}


def package_files(name: str, model: RobotModel, layout: SharedLayout,
                  c_sources: Mapping[str, str]) -> dict[str, str]:
    """
    Return the texts of a package by their paths in it.

    Parameters
    ----------
    name : str
        Begins all names.
    model : RobotModel
        The robot.
    layout : SharedLayout
        Layout of the block.
    c_sources : mapping of str to str
        Headers and sources of the cycle in C.

    """
    sources = ' '.join(f'src/{each}' for each in c_sources if each.endswith('.c'))
    values = {'NAME': name, 'PREFIX': f'{macro(name, "")}_', 'ROBOT': comment(model.name),
              'VERSION': __version__, 'BLOCK': usual_name(model.name), 'SOURCES': sources,
              'JOINT_LIST': ', '.join(map(comment, model.joint_names))}
    files = {f'src/{each}': text for each, text in c_sources.items()}
    files[f'src/{name}_block.h'] = _block_header(name, model, layout)
    files[f'src/{name}_texts.h'] = _texts_header(name, model)
    return {**files, **{place: filled(f'ros2_control/{template}', values)
                        for template, place in _PLACES.items()}}


def _block_header(name: str, model: RobotModel, layout: SharedLayout) -> str:
    """Return the header with the places of the block."""
    head = ', '.join(f'INT64_C({value})' for value in layout.head().values())
    return _header(name, 'BLOCK_H', 'Block in shared memory: places in bytes, or in words.', [
        '#include <stdint.h>', '',
        *(f'#define {macro(name, key)} {value}' for key, value in layout.constants().items()), '',
        f'#define {macro(name, "BLOCK_HEAD")} {{{head}}}',
        f'#define {macro(name, "BLOCK_ABOUT")} '
        f'"{_escaped(about(comment(model.name), __version__))}"'])


def _texts_header(name: str, model: RobotModel) -> str:
    """Return the header with names, units, and texts of faults."""
    arrays = {'JOINT_NAMES': model.joint_names, 'JOINT_EFFORT_UNITS': model.effort_units,
              'JOINT_SPEED_UNITS': [f'{unit}/s' for unit in model.position_units]}
    faults = [f'  {{{code}, "{_escaped(text)}"}}, \\' for code, text in fault_texts().items()]
    return _header(name, 'TEXTS_H', 'Names, units, and texts of faults.', [
        *(f'#define {macro(name, key)} {_strings(texts)}' for key, texts in arrays.items()), '',
        f'#define {macro(name, "FAULT_TEXTS")} {{ \\', *faults, '}'])


def _header(name: str, guard: str, purpose: str, lines: Iterable[str]) -> str:
    guard = macro(name, guard)
    return c_files.text([f'/* {purpose} */', f'#ifndef {guard}', f'#define {guard}', '', *lines,
                         '', '#endif'])


def _strings(texts: Iterable[str]) -> str:
    """Return texts as the initial value of an array in C."""
    return '{' + ', '.join(f'"{_escaped(each)}"' for each in texts) + '}'


def _escaped(text: str) -> str:
    """Return a text as a part of a string of C."""
    return ''.join(each if each.isascii() and each.isprintable() and each not in '"\\?'
                   else ''.join(f'\\{byte:03o}' for byte in each.encode()) for each in text)


def fault_texts() -> dict[int, str]:
    """
    Return the texts of faults by their codes.

    A field in braces stands for the joint's name, value, bound and time of the event, the units of
    effort (unit) and speed of the joint, or the value in percent of the bound. Faults of motions
    that only the node commands are left out.
    """
    found = {}
    for code, template in TEMPLATES.items():
        parts = list(Formatter().parse(template))
        if all(name in (None, *_FIELDS, *_FIXED) for _, name, _, _ in parts):
            found[int(code)] = ''.join(
                text + ('' if name is None else _FIXED.get(name, f'{{{name}}}'))
                for text, name, _, _ in parts)
    return found
