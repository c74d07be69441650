"""A program that uses a share of one processor: `python -m ...cpu_load 0.3`."""

from __future__ import annotations

import os
import sys
import time

_PERIOD = 0.01  # s


def load(share: float) -> None:
    """Use a share of one processor until interrupted."""
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    while True:
        begin = time.monotonic()
        while time.monotonic() - begin < share * _PERIOD:
            pass
        time.sleep((1.0 - share) * _PERIOD)


if __name__ == '__main__':
    try:
        load(float(sys.argv[1]))
    except KeyboardInterrupt:
        pass
