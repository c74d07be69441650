"""Processor time of a process beside others."""

import os
from pathlib import Path

LAST = 10  # nice value below that of every control loop on this machine


def set_priority(nice: int) -> None:
    """Set the nice value of this process and its session, as far as the system permits."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        # Linux divides processor time between sessions first
        Path('/proc/self/autogroup').write_text(str(nice))
    except OSError:
        pass  # a negative value takes a privileged user; not every system groups sessions
