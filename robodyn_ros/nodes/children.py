"""Child processes that end with their parent, and whose logs are read for errors."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.priority import set_priority

# log line of ROS: [ERROR] [1700000000.123] [node]: text
_LOG_LINE = re.compile(r'^\[(?P<level>[A-Z]+)\] \[[^]]*\] \[[^]]*\]: (?P<text>.*)$')
_PATIENCE = (5.0, 2.0)  # s after SIGINT, after SIGTERM
_PR_SET_PDEATHSIG = 1
_PRIORITY = -10


class ProcessError(RobodynError):
    """A process has ended unexpectedly."""


class Child:
    """
    A Python module that runs as a process.

    It does not receive the signals of the terminal; its parent ends it.

    Parameters
    ----------
    name : str
        Name in messages.
    module : str
        Module, as for `python -m`.
    arguments : sequence of str
        Arguments of the command line.
    log : Path
        File for its output.

    Attributes
    ----------
    may_end : bool
        Whether its end is expected, so that `check` does not raise.

    """

    def __init__(self, name: str, module: str, arguments: Sequence[str], log: Path):
        self.name, self.log = name, log
        self.may_end = False
        with log.open('wb') as output:
            self._process = subprocess.Popen(
                [sys.executable, '-m', module, *arguments], stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=_prepare)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while the process runs."""
        return self._process.poll()

    def check(self) -> None:
        """
        Raise if the process has ended unexpectedly.

        Raises
        ------
        ProcessError
            The process has ended; with its last message.

        """
        code = self.exit_code
        if code is not None and not self.may_end:
            how = f'exit code {code}' if code >= 0 else f'killed by {signal.Signals(-code).name}'
            raise ProcessError(f'the {self.name} ended ({how}); last message: '
                               f'{self.last_message()} (its log: {self.log})', log=str(self.log))

    def messages(self, start: int = 0) -> list[tuple[str, str]]:
        """Return (level, text) of the log lines from a byte of the log on."""
        with self.log.open('rb') as log:
            log.seek(start)
            lines = log.read().decode(errors='replace').splitlines()
        matches = (_LOG_LINE.match(line) for line in lines)
        return [(match['level'], match['text']) for match in matches if match]

    def last_message(self) -> str:
        """Return the last error that the process logged, or else its last line."""
        errors = [text for level, text in self.messages() if level in ('ERROR', 'FATAL')]
        if errors:
            return errors[-1]
        lines = self.log.read_text(errors='replace').strip().splitlines()
        if not lines:
            return 'its log is empty'
        match = _LOG_LINE.match(lines[-1])
        return match['text'] if match else lines[-1]

    def signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.exit_code is None:
            self._process.send_signal(number)

    def stop(self) -> int:
        """End the process, if necessary by SIGKILL; return its exit code."""
        for number, patience in zip((signal.SIGINT, signal.SIGTERM), _PATIENCE):
            self.signal(number)
            try:
                return self._process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        self._process.kill()
        return self._process.wait()

    def cpu_time(self) -> float:
        """Return the processor time used, in s; NaN where it is not available."""
        try:
            # the second field, a name of any characters, ends with the last ')'
            fields = Path(f'/proc/{self.pid}/stat').read_text().rpartition(')')[2].split()
        except OSError:
            return float('nan')
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Children:
    """Processes that are checked and stopped together, the last one first."""

    def __init__(self) -> None:
        self._children: list[Child] = []

    def start(self, name: str, module: str, arguments: Sequence[str], log: Path) -> Child:
        """Start a process, and return it."""
        child = Child(name, module, arguments, log)
        self._children.append(child)
        return child

    def check(self) -> None:
        """Raise `ProcessError` if a process has ended unexpectedly."""
        for child in self._children:
            child.check()

    def stop(self) -> None:
        """Stop all processes; Ctrl-C is ignored meanwhile."""
        before = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, signal.SIG_IGN)
        try:
            while self._children:
                self._children.pop().stop()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class CpuMeter:
    """
    Processor time since construction, as a share of one core.

    Parameters
    ----------
    children : sequence of Child
        Processes to measure, besides 'this process' and the sum of all 'others'.

    """

    def __init__(self, children: Sequence[Child]):
        self._children = children
        self._begin = self._times()

    def _times(self) -> dict[str, float]:
        own = os.times()
        times = {child.name: child.cpu_time() for child in self._children}
        times['this process'] = own.user + own.system
        times['others'] = _busy_time() - sum(times.values())
        return {'': time.monotonic(), **times}

    def shares(self) -> dict[str, float]:
        """Return the share of one core that each process has used; NaN where not available."""
        end = self._times()
        wall = end.pop('') - self._begin['']
        return {name: max((used - self._begin[name]) / wall, 0.0) for name, used in end.items()}


def _busy_time() -> float:
    """Return the busy time of all processors since the start of the machine, in s; Linux only."""
    try:
        ticks = [int(each) for each in Path('/proc/stat').read_text().split(maxsplit=9)[1:9]]
    except (OSError, ValueError):
        return float('nan')
    user, nice, system, _idle, _waiting, irq, softirq, steal = ticks
    return (user + nice + system + irq + softirq + steal) / os.sysconf('SC_CLK_TCK')


def _prepare() -> None:
    """
    Prepare a new process: raise its priority, and end it with its parent, where permitted.

    A control loop needs little time, but on time; the kernel ends it when its parent dies.
    """
    set_priority(_PRIORITY)
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    except (AttributeError, OSError):
        pass  # not Linux
