"""
Delays and processor time of the simulator, with its loop in machine code and in Python.

    python benchmark/simulator_loop.py
    python benchmark/simulator_loop.py --rate 500 --seconds 20 --rounds 5 --json
    python benchmark/simulator_loop.py --fifo

Simulator and controller of one arm run in real time, each as a process. In each round both loops
of the simulator have a turn; the controller is the same. A step is late if it begins more than
half a period after its deadline, as in the diagnostics of the simulator; the cost is processor
time of the simulator as a share of a core. A thread that only sleeps until such deadlines (bare)
has turns as well, and shows the delays of the machine. Absolute numbers depend on the machine and
its load: compare the rows of one run.
"""
import argparse
from contextlib import ExitStack
import json
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import time

os.environ.setdefault('ROS_DOMAIN_ID', str(random.SystemRandom().randint(1, 100)))
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
import numpy as np  # noqa: E402
import rclpy  # noqa: E402

LOOPS = 'native', 'python'
STEPS, LATE, COMMANDS = 'steps', 'steps late by half a period', 'commands'
START = 30.0  # s until the first torques of the controller
PRIORITY = 20
_TICK = os.sysconf('SC_CLK_TCK')


class Simulation:
    """A simulator with one of its loops, and a controller, which run in a `with` block."""

    def __init__(self, node, loop, options, folder):
        self._node, self._loop, self._rate = node, loop, options.rate
        self._settings = {'urdf_file': options.urdf.resolve(),
                          'realtime.priority': PRIORITY if options.fifo else 0}
        self._log = Path(folder) / loop
        self._figures = None
        self._ends = ExitStack()

    def __enter__(self):
        self._simulator = self._started('simulator', step=1.0 / self._rate, loop=self._loop)
        self._started('controller')
        self._subscription = self._node.create_subscription(
            DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        end = time.monotonic() + START
        while self.figures()[COMMANDS] < self._rate:
            if time.monotonic() > end:
                sys.exit(f'no torques are commanded:\n{self._log.read_text()}')
        return self

    def __exit__(self, *_):
        self._node.destroy_subscription(self._subscription)
        self._ends.close()

    def _started(self, kind, **settings):
        given = [part for name, value in {**self._settings, **settings}.items()
                 for part in ('-p', f'{name}:={value}')]
        with open(self._log, 'ab') as output:
            process = subprocess.Popen(
                [sys.executable, '-m', f'robodyn_ros.nodes.{kind}.node', '--ros-args', *given],
                stdout=output, stderr=subprocess.STDOUT, cwd=HERE.parent)
        self._ends.callback(process.wait, 20)
        self._ends.callback(process.send_signal, signal.SIGINT)
        return process

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.name.endswith('simulation'):
                self._figures = {pair.key: pair.value for pair in status.values}

    def figures(self):
        """Return the next figures of the simulator, its processor time and the present time."""
        self._figures = None
        end = time.monotonic() + START
        while self._figures is None and time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=0.1)
        text = Path(f'/proc/{self._simulator.pid}/stat').read_text().rpartition(')')[2].split()
        return {**{name: float(self._figures[name]) for name in (STEPS, LATE, COMMANDS)},
                'cpu': (int(text[11]) + int(text[12])) / _TICK, 'now': time.monotonic()}

    def run(self, seconds):
        """Return the part of late steps, and the processor time as a share of a core."""
        before = self.figures()
        time.sleep(seconds)
        while (after := self.figures())['now'] - before['now'] < seconds:
            pass  # older messages
        passed = {name: after[name] - before[name] for name in after}
        return passed[LATE] / passed[STEPS], passed['cpu'] / passed['now']


def bare(options):
    """Return the part of late wake-ups of a sleeping thread, and its share of a core."""
    if options.fifo:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    period, late, cpu = 1e9 / options.rate, 0, time.process_time()
    begin = time.monotonic_ns()
    for number in range(1, count := int(options.rate * options.seconds)):
        deadline = begin + number * period
        time.sleep(max(deadline - time.monotonic_ns(), 0) / 1e9)
        late += time.monotonic_ns() - deadline > 0.5 * period
    if options.fifo:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return late / count, (time.process_time() - cpu) / options.seconds


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument('--urdf', type=Path, default=HERE.parent / 'urdf' / 'robodyn7.urdf')
    parser.add_argument('--rate', type=float, default=1000.0, help='steps per second')
    parser.add_argument('--seconds', type=float, default=10.0, help='duration of each turn')
    parser.add_argument('--rounds', type=int, default=3, help='turns of each')
    parser.add_argument('--fifo', action='store_true', help='real-time priority for both nodes')
    parser.add_argument('--json', action='store_true', help='print JSON instead of the table')
    options = parser.parse_args()
    rclpy.init()
    node, turns = rclpy.create_node('watch'), {name: [] for name in (*LOOPS, 'bare')}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for loop in LOOPS:
                with Simulation(node, loop, options, folder) as each:
                    turns[loop].append(each.run(options.seconds))
            turns['bare'].append(bare(options))
    rclpy.shutdown()
    rows = [{'loop': loop, 'rate': options.rate, 'late_percent': 100.0 * float(np.median(late)),
             'worst_late_percent': 100.0 * max(late), 'cpu_percent': 100.0 * float(np.median(cpu))}
            for loop, several in turns.items() for late, cpu in [zip(*several)]]
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return
    print(f'{options.rounds} turns of {options.seconds:g} s, {options.rate:g} steps per second\n')
    print(f'{"loop":10}{"late, %":>10}{"worst":>10}{"CPU, %":>10}')
    for row in rows:
        print(f'{row["loop"]:10}{row["late_percent"]:10.3f}{row["worst_late_percent"]:10.3f}'
              f'{row["cpu_percent"]:10.1f}')


if __name__ == '__main__':
    main()
