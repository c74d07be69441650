"""Independent errors of a URDF, reported together."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robodyn_ros.exceptions import ModelError

MAX_LISTED = 50  # errors in one message; after as many, reading stops


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
