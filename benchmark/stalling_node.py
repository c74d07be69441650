"""The controller node with signals that block its interpreter, or its main thread only."""
import ctypes
import gc
import signal
import sys
import time

GIL = 0.3       # s for which SIGUSR1 blocks the interpreter for all threads
HUNG = 1.5      # s for which SIGUSR2 blocks the main thread
_OBJECTS = 3_000_000


def keep_the_interpreter(*_):
    print('interpreter kept', flush=True)
    ctypes.PyDLL(None).usleep(int(1e6 * GIL))  # a PyDLL call does not release the lock
    print('interpreter free', flush=True)


def hang(*_):
    print('hung', flush=True)
    time.sleep(HUNG)
    print('not hung', flush=True)


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
