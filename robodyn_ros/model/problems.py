"""Mistakes of a URDF that do not depend on each other, reported together."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robodyn_ros.exceptions import ModelError

MOST = 50  # in one message; what is worse than that is not looked through


class Problems:
    """
    Gathers errors, so that one run tells all of them.

        problems = Problems()
        for element in elements:
            with problems.gathered():
                check(element)
        problems.raise_any()
    """

    def __init__(self) -> None:
        self.found: list[ModelError] = []

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keep a ModelError of the block for later, but not for ever."""
        try:
            yield
        except ModelError as error:
            self.found.extend(error.evidence.get('problems', (error,)))
            if len(self.found) >= MOST:
                self.raise_any()

    def raise_any(self) -> None:
        """
        Raise what was found, if anything.

        Raises
        ------
        ModelError
            The only one as it is; of several the texts, numbered, and the errors themselves as
            evidence `problems`.

        """
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            texts = [f'({k}) {error}' for k, error in enumerate(self.found[:MOST], start=1)]
            more = len(self.found) - MOST
            texts += [f'and {more} more'] if more > 0 else []
            raise ModelError(f'the URDF has {len(self.found)} mistakes: ' + '; '.join(texts),
                             problems=tuple(self.found))
