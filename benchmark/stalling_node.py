"""A node whose Python can be held up: with its interpreter, or its thread alone."""
import ctypes
import gc
import signal
import sys
import time

GIL = 0.3       # s for which SIGUSR1 keeps the interpreter from all threads
HUNG = 1.5      # s for which SIGUSR2 holds up the thread of the node alone
_OBJECTS = 3_000_000


def keep_the_interpreter(*_):
    print('interpreter kept', flush=True)
    ctypes.PyDLL(None).usleep(int(1e6 * GIL))  # a PyDLL call does not release it
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


def live(main):
    """Run the `main` of a node, with signals that hold it up."""
    for number, act in ((signal.SIGUSR1, keep_the_interpreter), (signal.SIGUSR2, hang),
                        (signal.SIGALRM, collect)):
        signal.signal(number, act)
    sys.exit(main())


if __name__ == '__main__':
    from robodyn_ros.nodes.controller.node import main
    live(main)
