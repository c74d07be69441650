"""Check of an output file before the work whose result it holds."""

from __future__ import annotations

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
