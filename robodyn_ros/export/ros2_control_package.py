"""The files of a package with a controller of ros2_control, as texts by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from robodyn_ros import __version__
from robodyn_ros.control.shared_block import about, SharedLayout, usual_name
from robodyn_ros.export import c_files
from robodyn_ros.export.names import comment, macro

_TEMPLATES = Path(__file__).parent / 'ros2_control'
_PLACES = {  # of each template in the package
    'package.xml': 'package.xml', 'CMakeLists.txt': 'CMakeLists.txt', 'plugin.xml': 'plugin.xml',
    'README.md': 'README.md', 'controllers.yaml': 'config/controllers.yaml',
    **{name: f'src/{name}' for name in (
        'controller.hpp', 'controller.cpp', 'cycle_loop.hpp', 'cycle_loop.cpp',
        'shared_block.hpp', 'shared_block.cpp')}}


def package_files(name: str, robot: str, joints, layout: SharedLayout,
                  c_sources: Mapping[str, str]) -> dict[str, str]:
    """
    Return the texts of a package by their paths in it.

    Parameters
    ----------
    name : str
        Begins all names.
    robot : str
        Name of the robot.
    joints : sequence of str
        Names of the joints, in order.
    layout : SharedLayout
        Layout of the block.
    c_sources : mapping of str to str
        Headers and sources of the cycle in C.

    """
    sources = ' '.join(f'src/{each}' for each in c_sources if each.endswith('.c'))
    values = {'@NAME@': name, '@PREFIX@': f'{macro(name, "")}_', '@ROBOT@': comment(robot),
              '@VERSION@': __version__, '@BLOCK@': usual_name(robot), '@SOURCES@': sources,
              '@JOINT_LIST@': ', '.join(map(comment, joints))}
    files = {f'src/{each}': text for each, text in c_sources.items()}
    files[f'src/{name}_block.h'] = _header(name, robot, joints, layout)
    for template, place in _PLACES.items():
        text = (_TEMPLATES / template).read_text(encoding='utf-8')
        for key, value in values.items():
            text = text.replace(key, value)
        files[place] = text
    return files


def _header(name: str, robot: str, joints, layout: SharedLayout) -> str:
    """Return the header with the places of the block."""
    guard, constants = macro(name, 'BLOCK_H'), layout.constants()
    names = ', '.join(f'"{_escaped(each)}"' for each in joints)
    head = ', '.join(f'INT64_C({value})' for value in layout.head().values())
    return c_files.text([
        '/* Places of the block in shared memory, in bytes, or in words. */',
        f'#ifndef {guard}', f'#define {guard}', '', '#include <stdint.h>', '',
        *(f'#define {macro(name, key)} {value}' for key, value in constants.items()), '',
        f'#define {macro(name, "BLOCK_HEAD")} {{{head}}}',
        f'#define {macro(name, "BLOCK_ABOUT")} "{_escaped(about(comment(robot), __version__))}"',
        f'#define {macro(name, "JOINT_NAMES")} {{{names}}}', '', '#endif'])


def _escaped(text: str) -> str:
    """Return a text as a part of a string of C."""
    return ''.join(each if each.isascii() and each.isprintable() and each not in '"\\?'
                   else ''.join(f'\\{byte:03o}' for byte in each.encode()) for each in text)
