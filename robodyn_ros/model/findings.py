"""Errors and warnings about a URDF, collected so that one run reports all of them."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robodyn_ros.exceptions import ModelError

MAX_LISTED = 50  # errors in one message; after as many, reading stops
MAX_NAMES = 3    # names listed with a warning
MAX_WARNINGS = 200


class Problems:
    """
    Collects errors, so that one run reports all of them.

        problems = Problems()
        for element in elements:
            with problems.collect():
                check(element)
        problems.raise_any()
    """

    def __init__(self) -> None:
        self.found: list[ModelError] = []

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Store a ModelError of the block; raise once `MAX_LISTED` are stored."""
        try:
            yield
        except ModelError as error:
            self.found.extend(error.evidence.get('problems', (error,)))
            if len(self.found) >= MAX_LISTED:
                self.raise_any()

    def raise_any(self) -> None:
        """
        Raise the collected errors, if any.

        Raises
        ------
        ModelError
            A single error as it is; several as one, with numbered texts, and the errors
            themselves as evidence `problems`.

        """
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            texts = [f'({k}) {error}' for k, error in enumerate(self.found[:MAX_LISTED], start=1)]
            more = len(self.found) - MAX_LISTED
            texts += [f'and {more} more'] if more > 0 else []
            raise ModelError(f'the URDF has {len(self.found)} mistakes: ' + '; '.join(texts),
                             problems=tuple(self.found))


class WarningList:
    """List of warnings in which each text appears once, with the names it concerns."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._left_out = 0

    def add(self, text: str, name: str = '') -> None:
        """Add a warning about the joint or link of this name."""
        if text not in self._names and len(self._names) >= MAX_WARNINGS:
            self._left_out += 1
            return
        names = self._names.setdefault(text, [])
        if name and name not in names[-1:]:
            names.append(name)

    def lines(self) -> tuple[str, ...]:
        """Return the warnings, each with the names it concerns."""
        lines = [_line(text, names) for text, names in self._names.items()]
        if self._left_out:
            lines.append(f'{self._left_out} further warnings are left out')
        return tuple(lines)


def _line(text: str, names: list[str]) -> str:
    if not names:
        return text
    more = f' and {len(names) - MAX_NAMES} more' if len(names) > MAX_NAMES else ''
    return f'{text} ({", ".join(names[:MAX_NAMES])}{more})'
