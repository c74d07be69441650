"""Outputs that are tried before the work whose results they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_writable(path: Path | None) -> None:
    """Make the folder of a file; raise `OSError` if the file cannot be written there."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open('ab'):
        pass
    if new:
        path.unlink()


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make a folder; remove it after a `with` block that has written nothing into it."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for each in new:
            if any(each.iterdir()):
                break
            each.rmdir()
