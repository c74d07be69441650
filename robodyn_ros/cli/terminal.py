"""The terminal of a command: steps with their results, questions, and lines that are entered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from queue import Empty, SimpleQueue
import sys
import textwrap
from threading import Event, Thread
import time
from types import TracebackType
from typing import TextIO

from robodyn_ros.text import WIDTH

_REFRESH = 0.1  # s
_REMINDER = 10.0  # s


class Steps:
    """
    Prints the steps of a command, with their times and results.

        steps = Steps()
        with steps('float for 2 s') as step:
            ...
            step.result = 'drift 0.1 mrad'

    On a terminal the line is shown from the begin of the step, and `tick` refreshes its elapsed
    time. Elsewhere each step is one plain line, printed at its end; one that lasts has another
    every 10 s, with its progress.

    Parameters
    ----------
    stream : file, optional
        Output; default standard output.

    """

    def __init__(self, stream: TextIO | None = None):
        self.stream = sys.stdout if stream is None else stream
        self._live = self.stream.isatty()
        self._step: Step | None = None
        self._shown = 0.0
        self._progress, self._ended = '', Event()

    def __call__(self, text: str) -> Step:
        """Return the step to enter."""
        return Step(self, text)

    def tick(self, result: str = '...') -> None:
        """Refresh the elapsed time and the progress on a terminal."""
        now, self._progress = time.monotonic(), result
        if self._live and self._step is not None and now - self._shown > _REFRESH:
            self._shown = now
            self._draw(self._step, result)

    def write_line(self, text: str = '') -> None:
        """Print a line."""
        print(text, file=self.stream, flush=True)

    def write_paragraphs(self, lines: Iterable[str]) -> None:
        """Print lines, broken where they are too long."""
        for line in lines:
            first, *rest = textwrap.wrap(line, WIDTH, drop_whitespace=False) or ['']
            for row in (first, *map(str.lstrip, rest)):
                self.write_line(row.rstrip())

    def _draw(self, step: Step, result: str) -> None:
        self.stream.write(f'\r\033[K{step.line(result)}')
        self.stream.flush()

    def _begin(self, step: Step) -> None:
        self._step = step
        self._shown = 0.0
        self.tick()
        if not self._live:  # in a thread: not every long step has ticks
            self._ended = Event()
            Thread(target=self._remind, args=(step, self._ended), daemon=True).start()

    def _remind(self, step: Step, ended: Event) -> None:
        while not ended.wait(_REMINDER):
            self.write_line(step.line(self._progress))

    def _end(self, step: Step, result: str) -> None:
        self._step = None
        self._ended.set()
        if self._live:
            self._draw(step, result)
            self.write_line()
        else:
            self.write_line(step.line(result))


class Step:
    """A step, made by `Steps`."""

    def __init__(self, steps: Steps, text: str):
        self._steps = steps
        self._text = text
        self.result = ''

    def __enter__(self) -> Step:
        self._begin = time.monotonic()
        self._steps._begin(self)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if error is None:
            self._steps._end(self, self.result)
        else:
            self._steps._end(self, 'interrupted' if isinstance(error, KeyboardInterrupt)
                             else 'failed')

    def line(self, result: str) -> str:
        """Return the line of the step."""
        elapsed = time.monotonic() - self._begin
        return f'{elapsed:6.1f} s  {self._text:<38} {result}'.rstrip()


def answered(question: str, no: Sequence[str] = ('q', 'n', 'no', 'quit')) -> bool | None:
    """
    Ask until the answer is yes or no: Enter is neither.

    Parameters
    ----------
    question : str
        Question; the answers are added.
    no : sequence of str
        Answers that mean no, the first one is shown; without any, only yes ends the question.

    Returns
    -------
    bool or None
        Whether it is yes; None at the end of the input.

    """
    hint = f', {no[0]}: no' if no else ''
    while True:
        try:
            answer = input(f'{question} [y: yes{hint}] ').strip().lower()
        except EOFError:
            return None
        if answer in ('y', 'yes', *no):
            return answer in ('y', 'yes')


def agreed(question: str) -> bool:
    """Return whether the user agrees to a motion; the end of the input is no."""
    return answered(question) is True


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
