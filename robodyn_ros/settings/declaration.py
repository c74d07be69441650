"""Declaration of settings: classes of parameters and groups, validated when they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, Field, field, fields, replace
from typing import Any, TYPE_CHECKING, TypeVar

from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.settings.description import Parameter, SCALARS

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # not in Python 3.10
    def dataclass_transform(**_):
        return lambda decorator: decorator

# A field of numbers or texts is a tuple; it is set by any sequence, array, or single value.
Numbers = Any
Texts = Any
T = TypeVar('T')


def parameter(default: Any, description: str, unit: str = '', minimum: float | None = None,
              maximum: float | None = None, *, kind: str = '', read_only: bool = False,
              per_joint: bool = False, choices: tuple[str, ...] = (), in_ros: bool = True) -> Any:
    """
    Declare a field that is a parameter, see `Parameter`.

    `kind` follows from the default; an empty tuple is a double_array unless it is given.
    `in_ros`: whether nodes have it; if not, it is set in Python only.
    """
    row = Parameter('', kind or _kind_of(default), default, description, unit, minimum, maximum,
                    read_only, per_joint, choices)
    return field(default=row.default, metadata={'parameter': row, 'in_ros': in_ros})


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
                    named = replace(row, name=joined(prefix, each.name))
                    object.__setattr__(self, each.name, named.checked(value))
                else:
                    _check_group(joined(prefix, each.name), value, each)
            if hasattr(self, 'check'):
                self.check()

        setattr(cls, '__post_init__', validate)
        return dataclass(frozen=True)(cls)
    return decorate


def _check_group(name: str, value: Any, each: Field) -> None:
    """Raise `ParameterError` for a group of another class."""
    cls = class_of(each)
    of_joints = 'joints' in each.metadata
    given = value.values() if of_joints and isinstance(value, Mapping) else [value]
    if not all(isinstance(one, cls) for one in given):
        wanted = f'a mapping from joints to {cls.__name__}' if of_joints else cls.__name__
        raise ParameterError(f'{name} is {shown(value)}: set it to {wanted}(...)', name=name)


def _kind_of(default: Any) -> str:
    if not isinstance(default, tuple):
        return next(kind for kind, each in SCALARS.items() if type(default) is each)
    return _kind_of(default[0]) + '_array' if default else 'double_array'


def class_of(each: Field) -> type:
    """Return the class of a group, or of the group that each joint has."""
    return each.metadata.get('group') or each.metadata['joints']


def joined(*parts: str) -> str:
    """Return a full name."""
    return '.'.join(filter(None, parts))
