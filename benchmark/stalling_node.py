"""
The controller node with signals that block its interpreter, or its main thread only.

The environment variable STALLS has their durations in s, such as '0.3 1.5'.
"""
import ctypes
import gc
import os
import signal
import sys
import time

# s for which SIGUSR1 blocks the interpreter for all threads, and SIGUSR2 the main thread
GIL, HUNG = map(float, os.environ.get('STALLS', '0.3 1.5').split())
_OBJECTS = 3_000_000


def keep_the_interpreter(*_):
    print('interpreter kept', flush=True)
    ctypes.PyDLL(None).usleep(int(1e6 * GIL))  # a PyDLL call does not release the lock
    print('interpreter free', flush=True)


class Continued(Exception):
    """The main thread goes on before its time."""


def hang(*_):
    """Block the main thread; the same signal ends that."""
    signal.signal(signal.SIGUSR2, go_on)
    print('hung', flush=True)
    try:
        time.sleep(HUNG)
    except Continued:
        pass
    signal.signal(signal.SIGUSR2, hang)
    print('not hung', flush=True)


def go_on(*_):
    raise Continued


def collect(*_):
    begin = time.monotonic()
    objects = [[] for _ in range(_OBJECTS)]
    gc.collect()
    del objects
    print(f'collected in {time.monotonic() - begin:.3f} s', flush=True)


def run(main):
    """Run the `main` of a node with signal handlers that block it."""
    for number, handler in ((signal.SIGUSR1, keep_the_interpreter), (signal.SIGUSR2, hang),
                            (signal.SIGALRM, collect)):
        signal.signal(number, handler)
    sys.exit(main())


if __name__ == '__main__':
    from robodyn_ros.nodes.controller.node import main
    run(main)
