"""
Compilation in a separate process, during control of an arm.

Tracing and compiling block the interpreter for seconds, which would delay torques. The separate
process stores the code in the cache on disk, from where it is loaded in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
import os
import pickle
import subprocess
import sys
from threading import Thread

from robodyn_ros.priority import LAST, set_priority

# the working directory is not searched for modules
_MAIN = f'import sys; sys.path[:] = filter(None, sys.path); from {__name__} import main; main()'


class Compilation:
    """
    Compiles laws of a cycle in a separate process.

    Parameters
    ----------
    arguments : tuple
        Arguments of `CompiledCycle`; its dynamics have a cache on disk.
    names : sequence of str
        Names of the laws.

    """

    def __init__(self, arguments: tuple, names: Sequence[str]):
        paths = [os.path.abspath(each) for each in sys.path]
        # Ctrl-C is handled by this process only, which may have to bring an arm to rest
        self._process = process = subprocess.Popen(
            [sys.executable, '-c', _MAIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)})
        assert process.stdin is not None and process.stdout is not None
        self._names = process.stdout
        pipe = process.stdin  # stays open until this process ends
        try:
            pickle.dump((arguments, list(names)), pipe)
            pipe.flush()
        except BrokenPipeError:  # the process has ended: no law is compiled
            with suppress(BrokenPipeError):
                pipe.close()

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the laws as soon as they are in the cache."""
        with self._process:
            for line in self._names:
                yield line.decode().strip()

    def stop(self) -> None:
        """Terminate the process; the iteration ends, too."""
        self._process.terminate()


def main() -> None:
    """Compile the laws given on standard input; print the name of each when it is in the cache."""
    from robodyn_ros.control.compiled import CompiledCycle
    set_priority(LAST)
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
