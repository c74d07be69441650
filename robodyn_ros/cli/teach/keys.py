"""Lines that the user enters, without waiting for them."""

from __future__ import annotations

from queue import Empty, SimpleQueue
import sys
from threading import Thread


class Keys:
    """
    Reader of standard input in a thread.

    Attributes
    ----------
    ended : bool
        Whether there is no more input.

    """

    def __init__(self) -> None:
        self.ended = False
        self._lines: SimpleQueue[str] = SimpleQueue()
        Thread(target=self._read, daemon=True).start()

    def poll(self) -> list[str]:
        """Return the lines entered since the last call, without the line end."""
        lines = []
        try:
            while True:
                lines.append(self._lines.get_nowait())
        except Empty:
            return lines

    def _read(self) -> None:
        try:
            for line in sys.stdin:
                self._lines.put(line.strip())
        except (OSError, ValueError):
            pass  # closed, or not readable
        self.ended = True
