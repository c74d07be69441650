"""
Longest time without a torque while Python is blocked.

    python benchmark/stall.py
    python benchmark/stall.py --rate 500 --fifo --json

The controller with its loop in machine code (native) and in Python (controller) receives a state
every period, as in `round_trip.py`. In each turn its Python is blocked once, except in `none`; the
figure is the longest gap between two torques.
"""
import argparse
import json
from pathlib import Path
import signal
import sys
import time

from lifecycle_msgs.msg import Transition
import numpy as np
from round_trip import COMMANDS, CONTROLLERS, HERE, timed_nodes

STALLS = {'none': None, 'interpreter kept for 300 ms': signal.SIGUSR1,
          'callback blocked for 1.5 s': signal.SIGUSR2,
          'garbage collection of 3 million objects': signal.SIGALRM}
BEFORE, AFTER = 0.5, 3.0  # s of a turn before the stall, and from then on


def gap(node, stall, rate):
    """Return the longest time between two torques in a turn, in s."""
    times, period = [], 1.0 / rate
    begin = deadline = time.perf_counter()
    while (now := time.perf_counter()) - begin < BEFORE + AFTER:
        if stall is not None and now - begin > BEFORE:
            node.process.send_signal(stall)
            stall = None
        if node.round_trip(period) is not None:
            times.append(time.perf_counter())
        deadline += period
        while deadline < time.perf_counter() - period:
            deadline += period  # states due meanwhile are not sent
        time.sleep(max(deadline - time.perf_counter(), 0.0))
    return float(np.diff(times).max())


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument('--urdf', type=Path, default=HERE.parent / 'urdf' / 'robodyn7.urdf')
    parser.add_argument('--rate', type=float, default=1000.0, help='states per second')
    parser.add_argument('--rounds', type=int, default=3, help='turns of each')
    parser.add_argument('--fifo', action='store_true', help='real-time priority for all')
    parser.add_argument('--json', action='store_true', help='print JSON instead of the table')
    options = parser.parse_args()
    COMMANDS.update({name: [str(HERE / 'stalling_node.py')] for name in CONTROLLERS})
    rows = []
    with timed_nodes(CONTROLLERS, options.urdf, options.fifo) as started:
        for stall, number in STALLS.items():
            for each in started:
                each.change_state(Transition.TRANSITION_ACTIVATE)
                gaps = [1e3 * gap(each, number, options.rate) for _ in range(options.rounds)]
                each.change_state(Transition.TRANSITION_DEACTIVATE)
                rows.append({'stall': stall, 'node': each.name, 'rate': options.rate,
                             'gap_ms': float(np.median(gaps)), 'worst_ms': max(gaps)})
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return
    print(f'longest gap between two torques in ms, at {options.rate:g} Hz\n')
    print(f'{"stall":42}{"loop":12}{"median":>8}{"worst":>8}')
    for row in rows:
        print(f'{row["stall"]:42}{row["node"]:12}{row["gap_ms"]:8.1f}{row["worst_ms"]:8.1f}')


if __name__ == '__main__':
    main()
