"""Trees of settings as names and values of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, fields, replace
from typing import Any, TypeVar

from robodyn_ros.exceptions import near_matches, ParameterError, shown
from robodyn_ros.settings.declaration import class_of, joined
from robodyn_ros.settings.description import Parameter

JOINT = '{joint}'  # in the name of a parameter that each joint has
T = TypeVar('T')


def parameters(cls: type, prefix: str = '', of_python: bool = False) -> list[Parameter]:
    """
    Return the parameters of a tree in order; `{joint}` stands for a joint in their names.

    of_python: with those that nodes do not have.
    """
    return [replace(each.metadata['parameter'], name=name)
            for name, each in _leaves(cls, prefix) if of_python or each.metadata['in_ros']]


def _leaves(cls: Any, prefix: str = '') -> Iterator[tuple[str, Field]]:
    for each in fields(cls):
        if 'parameter' in each.metadata:
            yield joined(prefix, each.name), each
        else:
            yield from _leaves(class_of(each), _prefix_of(each, prefix))


def _prefix_of(each: Field, prefix: str) -> str:
    if 'joints' in each.metadata:
        return joined(prefix, JOINT)
    name = each.metadata['name']
    return joined(prefix, each.name if name is None else name)


def values(tree: Any, prefix: str = '') -> dict[str, Any]:
    """Return the values of a tree by the full names of their parameters."""
    result: dict[str, Any] = {}
    for each in fields(tree):
        value = getattr(tree, each.name)
        if 'parameter' in each.metadata:
            result[joined(prefix, each.name)] = value
            continue
        below = _prefix_of(each, prefix)
        if 'joints' in each.metadata:
            for joint, one in value.items():
                result.update(values(one, below.replace(JOINT, joint)))
        else:
            result.update(values(value, below))
    return result


def with_values(tree: T, changes: Mapping[str, Any]) -> T:
    """
    Return a tree with other values, by the full names of their parameters.

    Raises
    ------
    ParameterError
        There is no such parameter, or a value is refused.

    """
    known = [row.name for row in parameters(type(tree), of_python=True)]
    used: set[str] = set()
    result = _changed(tree, changes, '', used)
    for name in changes:
        if name not in used:
            raise ParameterError(f'there is no parameter {shown(name)}: '
                                 f'{near_matches(name, known)}', name=name)
    return result


def _changed(tree: Any, changes: Mapping[str, Any], prefix: str, used: set[str]) -> Any:
    given = {}
    for each in fields(tree):
        value = getattr(tree, each.name)
        if 'parameter' in each.metadata:
            name = joined(prefix, each.name)
            if name in changes:
                used.add(name)
                given[each.name] = changes[name]
            continue
        below = _prefix_of(each, prefix)
        if 'joints' in each.metadata:
            new = _joints_changed(each.metadata['joints'], value, changes, below, used)
        else:
            new = _changed(value, changes, below, used)
        if new is not value:
            given[each.name] = new
    return replace(tree, **given) if given else tree


def _joints_changed(cls: type, present: Mapping[str, Any], changes: Mapping[str, Any],
                    below: str, used: set[str]) -> Mapping[str, Any]:
    begin = below.partition(JOINT)[0]
    joints = dict(present)
    for name in changes:
        for leaf, _ in _leaves(cls):
            if name.startswith(begin) and name.endswith(f'.{leaf}'):
                joint = name[len(begin):-len(leaf) - 1]
                if joint and name not in used:
                    joints[joint] = _changed(joints.get(joint, cls()), changes,
                                             f'{begin}{joint}', used)
    return joints if joints != present else present


def for_joints(table: Sequence[Parameter], joint_names: Sequence[str]) -> list[Parameter]:
    """Return parameters with `{joint}` in their name repeated for each joint."""
    return [replace(row, name=row.name.replace(JOINT, joint))
            for row in table for joint in (joint_names if JOINT in row.name else ('',))]
