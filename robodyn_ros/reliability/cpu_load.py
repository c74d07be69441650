"""A program that only wants processor time: a part of one processor, `python -m ... 0.3`."""

from __future__ import annotations

import os
import sys
import time

_PERIOD = 0.01  # s


def hog(share: float) -> None:
    """Be busy for a part of the time, for ever."""
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    while True:
        begin = time.monotonic()
        while time.monotonic() - begin < share * _PERIOD:
            pass
        time.sleep((1.0 - share) * _PERIOD)


if __name__ == '__main__':
    try:
        hog(float(sys.argv[1]))
    except KeyboardInterrupt:
        pass
