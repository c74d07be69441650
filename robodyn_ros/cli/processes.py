"""Child processes that never outlive their parent, and say why they died."""

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

# how ROS writes a log line: [ERROR] [1700000000.123] [node]: text
_LOG_LINE = re.compile(r'^\[(?P<level>[A-Z]+)\] \[[^]]*\] \[[^]]*\]: (?P<text>.*)$')
_PATIENCE = (5.0, 2.0)  # s after SIGINT, after SIGTERM
_PR_SET_PDEATHSIG = 1
_PRIORITY = -10
LAST = 10  # nice: every control loop on this machine goes first


class ProcessError(RobodynError):
    """A process ended that should have gone on."""


class Child:
    """
    A Python module running as a process of its own.

    It gets no signals of the terminal: who started it decides when it ends.

    Parameters
    ----------
    name : str
        For messages.
    module : str
        As for `python -m`.
    arguments : sequence of str
        Of its command line.
    log : Path
        Where its output goes.

    Attributes
    ----------
    may_end : bool
        Whether `check` takes its end for normal.

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
        """Its process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def check(self) -> None:
        """
        Raise if it has ended.

        Raises
        ------
        ProcessError
            With what it said last.

        """
        code = self.exit_code
        if code is not None and not self.may_end:
            how = f'exit code {code}' if code >= 0 else signal.Signals(-code).name
            raise ProcessError(f'the {self.name} ended ({how}): {self.last_words()} '
                               f'(all that it said is in {self.log})', log=str(self.log))

    def messages(self, start: int = 0) -> list[tuple[str, str]]:
        """Return (level, text) of its log lines, from a byte of the log on."""
        with self.log.open('rb') as log:
            log.seek(start)
            lines = log.read().decode(errors='replace').splitlines()
        matches = (_LOG_LINE.match(line) for line in lines)
        return [(match['level'], match['text']) for match in matches if match]

    def last_words(self) -> str:
        """Return the last error that it logged, or else its last line."""
        errors = [text for level, text in self.messages() if level in ('ERROR', 'FATAL')]
        if errors:
            return errors[-1]
        lines = self.log.read_text(errors='replace').strip().splitlines()
        return lines[-1] if lines else 'it said nothing'

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.exit_code is None:
            self._process.send_signal(number)

    def stop(self) -> int:
        """Ask it to end, in the end with force; return its exit code."""
        for number, patience in zip((signal.SIGINT, signal.SIGTERM), _PATIENCE):
            self.signal(number)
            try:
                return self._process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        self._process.kill()
        return self._process.wait()

    def cpu_time(self) -> float:
        """Return the processor time that it has used, in seconds; NaN where unknown."""
        try:
            # the name in the second field may hold anything but is followed by the last ')'
            fields = Path(f'/proc/{self.pid}/stat').read_text().rpartition(')')[2].split()
        except OSError:
            return float('nan')
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Children:
    """Processes that are checked together, and stopped together, the last first."""

    def __init__(self) -> None:
        self._children: list[Child] = []

    def start(self, name: str, module: str, arguments: Sequence[str], log: Path) -> Child:
        """Start a `Child`."""
        child = Child(name, module, arguments, log)
        self._children.append(child)
        return child

    def check(self) -> None:
        """Raise if one has ended (`ProcessError`)."""
        for child in self._children:
            child.check()

    def stop(self) -> None:
        """Stop all, however often the user presses Ctrl-C meanwhile."""
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
    Processor time since it was made, in parts of one core.

    Parameters
    ----------
    children : sequence of Child
        In addition to this process, called 'this process', and all others, called 'others'.

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
        """Return the part of one core that each has used; NaN where unknown."""
        end = self._times()
        wall = end.pop('') - self._begin['']
        return {name: max((used - self._begin[name]) / wall, 0.0) for name, used in end.items()}


def _busy_time() -> float:
    """Return the time that all processors were busy since the machine started; Linux only."""
    try:
        ticks = [int(each) for each in Path('/proc/stat').read_text().split(maxsplit=9)[1:9]]
    except (OSError, ValueError):
        return float('nan')
    user, nice, system, _idle, _waiting, irq, softirq, steal = ticks
    return (user + nice + system + irq + softirq + steal) / os.sysconf('SC_CLK_TCK')


def set_priority(nice: int) -> None:
    """Let this process go first, below 0, or last, above it; as far as the system allows that."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        # Linux shares processors among sessions first
        Path('/proc/self/autogroup').write_text(str(nice))
    except OSError:
        pass  # only a privileged user may go first; not every system groups sessions


def _prepare() -> None:
    """
    Prepare a new process: where the system allows it, it goes first, and never stays behind.

    A control loop has little to do but has to do it on time; and the kernel ends it when the
    process that started it dies, in whatever way.
    """
    set_priority(_PRIORITY)
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    except (AttributeError, OSError):
        pass  # not Linux
