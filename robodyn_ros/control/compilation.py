"""
Compilation in a process of its own, beside one that controls an arm.

Tracing and compiling hold the interpreter for seconds; a torque would wait for them. The other
process puts the code into the cache on disk, from where it is loaded in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
import os
import pickle
import subprocess
import sys
from threading import Thread

_NICE = 10  # the arm comes first
# modules are not looked for in the working directory
_MAIN = f'import sys; sys.path[:] = filter(None, sys.path); from {__name__} import main; main()'


class Compilation:
    """
    Compiles laws of a cycle in a process of its own.

    Parameters
    ----------
    arguments : tuple
        Of `CompiledCycle`; its dynamics have a cache on disk.
    names : sequence of str
        Of the laws.

    """

    def __init__(self, arguments: tuple, names: Sequence[str]):
        paths = [os.path.abspath(each) for each in sys.path]
        # Ctrl-C is for this process, which may have an arm to bring to rest meanwhile
        self._process = subprocess.Popen(
            [sys.executable, '-c', _MAIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)})
        pipe = self._process.stdin  # stays open: its end is that of this process
        try:
            pickle.dump((arguments, list(names)), pipe)
            pipe.flush()
        except BrokenPipeError:  # it has ended: no law is compiled
            with suppress(BrokenPipeError):
                pipe.close()

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the laws as soon as they are in the cache."""
        with self._process as process:
            for line in process.stdout:
                yield line.decode().strip()

    def stop(self) -> None:
        """End it; the iteration ends, too."""
        self._process.terminate()


def main() -> None:
    """Compile what standard input describes; names of what is done go to standard output."""
    from robodyn_ros.control.compiled import CompiledCycle
    os.nice(_NICE)
    if hasattr(os, 'sched_setscheduler') and os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    arguments, names = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_parent, daemon=True).start()
    cycle = CompiledCycle(*arguments)
    for name in names:
        cycle.fill_cache(name)
        print(name, flush=True)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
