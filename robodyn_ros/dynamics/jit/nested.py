"""Scalars nested in lists, tuples, named tuples and dataclasses, as one list and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from robodyn_ros.dynamics.jit.graph import number, Scalar


def flatten(values) -> list[Scalar]:
    """
    Return nested scalars as one list, in depth-first order.

    Parameters
    ----------
    values : scalar, list, tuple, named tuple or dataclass
        Nested in any way; a dataclass is treated as the list of its fields.

    """
    if isinstance(values, (list, tuple)):
        return [scalar for value in values for scalar in flatten(value)]
    if is_dataclass(values):
        return [scalar for each in fields(values)
                for scalar in flatten(getattr(values, each.name))]
    return [values if isinstance(values, float) else number(values)]


def unflatten(like, scalars: Iterable[Scalar]) -> Any:
    """
    Return scalars in the structure of others: the inverse of `flatten`.

    Parameters
    ----------
    like : scalar, list, tuple, named tuple or dataclass
        The structure.
    scalars : iterable of scalar
        As many as in `flatten(like)`.

    """
    return _nested(like, iter(scalars))


def _nested(like, scalars: Iterator[Scalar]):
    if isinstance(like, (list, tuple)):
        values = [_nested(each, scalars) for each in like]
        return type(like)(*values) if hasattr(like, '_fields') else type(like)(values)
    if is_dataclass(like):
        kind: Callable = like.__class__
        return kind(**{each.name: _nested(getattr(like, each.name), scalars)
                       for each in fields(like)})
    return next(scalars)
