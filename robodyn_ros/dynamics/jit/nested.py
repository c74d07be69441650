"""Scalars nested in lists, tuples, named tuples and dataclasses, as one list and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
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
    found: list[Scalar] = []
    _append(values, found)
    return found


def _append(values, found: list[Scalar]) -> None:
    if isinstance(values, float):
        found.append(values)
    elif isinstance(values, (list, tuple)):
        for each in values:
            _append(each, found)
    elif (names := _names(values.__class__)) is not None:
        for name in names:
            _append(getattr(values, name), found)
    else:
        found.append(number(values))


@lru_cache(maxsize=None)
def _names(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass; None for other types."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else None


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
    kind: type = like.__class__
    if isinstance(like, (list, tuple)):
        values = [_nested(each, scalars) for each in like]
        return kind(*values) if hasattr(like, '_fields') else kind(values)
    names = _names(kind)
    if names is None:
        return next(scalars)
    return kind(**{name: _nested(getattr(like, name), scalars) for name in names})
