"""
Settings as trees of frozen dataclasses; each field with default, unit, range and description.

A tree is both the input of a program and the ROS parameters of a node: the attribute
`settings.impedance.damping` is the parameter `impedance.damping`. Validation, descriptors, files
of parameters and documentation derive from the fields.

    @settings('impedance')
    class Impedance:
        damping: Numbers = parameter((), 'Damping of the joints.', 'N m s/rad', 0.0, 1e5)

    @settings()
    class Settings:
        mode: str = parameter('computed_torque', 'Control law.', choices=('computed_torque',))
        impedance: Impedance = group(Impedance)

    Settings(impedance=Impedance(damping=3.0)).impedance.damping    # (3.0,)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, Field, field, fields, replace
import math
from typing import Any, TYPE_CHECKING, TypeVar

import numpy as np

from robodyn_ros.exceptions import near_matches, ParameterError, shown

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # not in Python 3.10
    def dataclass_transform(**_):
        return lambda decorator: decorator

# A field of numbers or texts is a tuple; it is set by any sequence, array, or single value.
Numbers = Any
Texts = Any
T = TypeVar('T')

_SCALARS: dict[str, type[Any]] = {'bool': bool, 'int': int, 'double': float, 'string': str}
KINDS = (*_SCALARS, 'int_array', 'double_array', 'string_array')
_REMEDY = {
    'bool': 'true or false', 'int': 'a whole number', 'double': 'a number', 'string': 'a text',
    'int_array': 'a list of whole numbers', 'double_array': 'a list of numbers',
    'string_array': 'a list of texts'}
JOINT = '{joint}'  # in the name of a parameter that each joint has


@dataclass(frozen=True)
class Parameter:
    """
    One value of a tree of settings; validates itself.

    Parameters
    ----------
    name : str
        Full name, with dots.
    kind : str
        bool, int, double, string, int_array, double_array or string_array.
    default : bool, int, float, str or tuple
        Value if none is given.
    description : str
        Meaning, in one or two sentences; the first begins with a noun.
    unit : str
        Unit of the number or numbers.
    minimum, maximum : float, optional
        Range, of each number of an array. None: any finite number. An infinite `maximum` allows
        infinity itself.
    read_only : bool
        Whether it can be set at the start only.
    per_joint : bool
        Whether an array holds one number per joint, or a single one for all.
    choices : tuple of str
        The only texts allowed; empty: any.

    """

    name: str
    kind: str
    default: Any
    description: str
    unit: str = ''
    minimum: float | None = None
    maximum: float | None = None
    read_only: bool = False
    per_joint: bool = False
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f'parameter {self.name!r} has kind {self.kind!r}; '
                                 + near_matches(self.kind, KINDS), name=self.name)
        object.__setattr__(self, 'default', self.checked(self.default))

    @property
    def is_array(self) -> bool:
        """Whether its value is a tuple."""
        return self.kind.endswith('_array')

    def checked(self, value: Any) -> Any:
        """
        Return a value as a plain bool, int, float, str or tuple of int, float or str.

        Whole numbers are accepted for numbers, a single value for an array.

        Raises
        ------
        ParameterError
            Wrong type or out of range; the message names parameter, value and remedy.

        """
        if not self.is_array:
            return self._checked_scalar(value)
        if value is None:  # an empty list from ROS
            return ()
        if isinstance(value, (str, bytes)) or not getattr(value, 'ndim', hasattr(
                value, '__iter__')):
            value = (value,)
        # [''] is the usual way to write an empty list of texts in ROS
        given = [each for each in value if not (isinstance(each, str) and each == '')]
        return tuple(self._checked_scalar(each, f', number {i + 1} of {len(given)},' if len(
            given) > 1 else '') for i, each in enumerate(given))

    def _checked_scalar(self, value: Any, place: str = '') -> Any:
        wanted = _SCALARS[self.kind.removesuffix('_array')]
        if hasattr(value, 'dtype') and hasattr(value, 'item'):
            value = value.item() if value.size == 1 else value
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise self._refused(value, f'set it to {_REMEDY[self.kind]}', place)
        if wanted in (int, float):
            self._check_range(value, place)
        if self.choices and value not in self.choices:
            raise self._refused(value, 'choose one of ' + ', '.join(self.choices), place)
        return value

    def _check_range(self, value: float, place: str) -> None:
        if self.maximum == math.inf and value == math.inf:
            return
        if not math.isfinite(value):
            raise self._refused(value, 'it must be finite', place)
        if self.minimum is not None and value < self.minimum:
            raise self._refused(value, f'the least allowed is {self._with_unit(self.minimum)}',
                                place)
        if self.maximum is not None and value > self.maximum:
            raise self._refused(value, f'the most allowed is {self._with_unit(self.maximum)}',
                                place)

    def _with_unit(self, value: float) -> str:
        return f'{value:g} {self.unit}'.strip()

    def _refused(self, value: Any, remedy: str, place: str) -> ParameterError:
        return ParameterError(f'parameter {self.name!r}{place} is {shown(value)}: {remedy}',
                              name=self.name, value=value)


# --- declaration --------------------------------------------------------------------------------

def parameter(default: Any, description: str, unit: str = '', minimum: float | None = None,
              maximum: float | None = None, *, kind: str = '', read_only: bool = False,
              per_joint: bool = False, choices: tuple[str, ...] = ()) -> Any:
    """
    Declare a field that is a parameter, see `Parameter`.

    `kind` follows from the default; an empty tuple is a double_array unless it is given.
    """
    row = Parameter('', kind or _kind_of(default), default, description, unit, minimum, maximum,
                    read_only, per_joint, choices)
    return field(default=row.default, metadata={'parameter': row})


def group(cls: type, name: str | None = None) -> Any:
    """
    Declare a field that is a group of parameters, whose names begin with that of the field.

    `name`: another first part of their names; '' for none, so that they stand in the tree's root.
    """
    return field(default_factory=cls, metadata={'group': cls, 'name': name})


def for_each_joint(cls: type) -> Any:
    """
    Declare a mapping from the names of joints to a group that each of them has.

    The names of the parameters have that of the joint in place of that of the field; the field
    stands in a group with a prefix.
    """
    return field(default_factory=dict, metadata={'joints': cls})


@dataclass_transform(frozen_default=True)  # what `parameter` and `group` return is a default
def settings(prefix: str = '') -> Callable[[type[T]], type[T]]:
    """
    Return a decorator that makes a frozen dataclass of declared fields, validated when made.

    Parameters
    ----------
    prefix : str
        First part of the names in error messages. A method `check` of the class, if it has one,
        validates what concerns several fields; it raises `ParameterError`.

    """
    def decorate(cls: type[T]) -> type[T]:
        def validate(self):
            for each in fields(self):
                row = each.metadata.get('parameter')
                value = getattr(self, each.name)
                if row is not None:
                    named = replace(row, name=_joined(prefix, each.name))
                    object.__setattr__(self, each.name, named.checked(value))
                else:
                    _check_group(_joined(prefix, each.name), value, each)
            if hasattr(self, 'check'):
                self.check()

        setattr(cls, '__post_init__', validate)
        return dataclass(frozen=True)(cls)
    return decorate


def _check_group(name: str, value: Any, each: Field) -> None:
    """Raise `ParameterError` for a group of another class."""
    cls = _class_of(each)
    of_joints = 'joints' in each.metadata
    given = value.values() if of_joints and isinstance(value, Mapping) else [value]
    if not all(isinstance(one, cls) for one in given):
        wanted = f'a mapping from joints to {cls.__name__}' if of_joints else cls.__name__
        raise ParameterError(f'{name} is {shown(value)}: set it to {wanted}(...)', name=name)


def _kind_of(default: Any) -> str:
    if not isinstance(default, tuple):
        return next(kind for kind, each in _SCALARS.items() if type(default) is each)
    return _kind_of(default[0]) + '_array' if default else 'double_array'


def _joined(*parts: str) -> str:
    return '.'.join(filter(None, parts))


# --- trees as names and values ------------------------------------------------------------------

def parameters(cls: type, prefix: str = '') -> list[Parameter]:
    """Return the parameters of a tree in order; `{joint}` stands for a joint in their names."""
    return [replace(each.metadata['parameter'], name=name)
            for name, each in _leaves(cls, prefix)]


def _leaves(cls: Any, prefix: str = '') -> Iterator[tuple[str, Field]]:
    for each in fields(cls):
        if 'parameter' in each.metadata:
            yield _joined(prefix, each.name), each
        else:
            yield from _leaves(_class_of(each), _prefix_of(each, prefix))


def _class_of(each: Field) -> type:
    return each.metadata.get('group') or each.metadata['joints']


def _prefix_of(each: Field, prefix: str) -> str:
    if 'joints' in each.metadata:
        return _joined(prefix, JOINT)
    name = each.metadata['name']
    return _joined(prefix, each.name if name is None else name)


def values(tree: Any, prefix: str = '') -> dict[str, Any]:
    """Return the values of a tree by the full names of their parameters."""
    result: dict[str, Any] = {}
    for each in fields(tree):
        value = getattr(tree, each.name)
        if 'parameter' in each.metadata:
            result[_joined(prefix, each.name)] = value
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
    known = [row.name for row in parameters(type(tree))]
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
            name = _joined(prefix, each.name)
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


# --- values per joint ---------------------------------------------------------------------------

def per_joint(name: str, value, joint_names: Sequence[str]) -> np.ndarray:
    """
    Return a value as one number per joint, (nv,); one number is for all.

    Raises
    ------
    ParameterError
        Neither one number nor one per joint.

    """
    values = numbers(name, value)
    if values.size == 1:
        return np.full(len(joint_names), values.item())
    if values.shape != (len(joint_names),):
        raise ParameterError(
            f'{name} has {values.size} values; give one, or one for each of the '
            f'{len(joint_names)} joints: {", ".join(joint_names)}', parameter=name)
    return values.copy()


def numbers(name: str, value) -> np.ndarray:
    """Return what was given as an array, of any shape; raise `ParameterError` if it is none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f'{name} is {shown(value)}; give one number, or one per joint',
                             parameter=name) from error
