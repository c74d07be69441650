"""
Round-trip time: from sending a joint state to receiving its torque.

    python benchmark/round_trip.py
    python benchmark/round_trip.py --rates 1000 --seconds 10 --urdf arm.urdf --json
    python benchmark/round_trip.py --rates 1000 --fifo

The controller with its loop in machine code (native) and in Python (controller), an echo node
under an executor (echo), and one that waits as the controller does (polled_echo) run as processes
and are measured in turns; the controllers are inactive during the turns of others. This process
sends states of an arm at rest at absolute times, and waits for each torque. A miss is a torque
that arrives after the next state was due. Absolute numbers depend on the machine and its load:
compare the rows of one run.
"""
import argparse
from contextlib import contextmanager
import gc
import json
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import time

os.environ['ROS_DOMAIN_ID'] = str(random.SystemRandom().randint(1, 100))
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
import numpy as np  # noqa: E402
import rclpy  # noqa: E402
from rclpy.node import Node  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from robodyn_ros import RobotModel  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.cdr import JointStateWriter  # noqa: E402
from robodyn_ros.nodes.controller.node import NAME  # noqa: E402
from robodyn_ros.nodes.polling import PolledSubscription  # noqa: E402

ECHO = str(HERE / 'echo.py')
CONTROLLERS = {'native': 'native', 'controller': 'python'}
COMMANDS = {**{name: ['-m', 'robodyn_ros.nodes.controller.node'] for name in CONTROLLERS},
            'echo': [ECHO, 'executor'], 'polled_echo': [ECHO, 'polled']}
PRIORITY = 20   # of the nodes with --fifo; that of this process is higher
LOST = 0.1      # s after which a torque counts as lost
SETTLE = 0.3    # s at the begin of each turn that are not measured
START = 30.0    # s until the first torque of a node


class TimedNode:
    """A node in a process of its own, with publisher and subscription to time it."""

    def __init__(self, node, name, model, urdf, log):
        # the states of this process have no efforts for the activation check
        settings = ['-p', f'urdf_file:={urdf}', '-p', 'handshake:=false', '-p',
                    f'loop:={CONTROLLERS[name]}'] if name in CONTROLLERS else []
        with open(log, 'wb') as output:
            self.process = subprocess.Popen(
                [sys.executable, *COMMANDS[name], '--ros-args', '-r', f'__ns:=/{name}', *settings],
                stdout=output, stderr=subprocess.STDOUT, cwd=HERE.parent, env={
                    **os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
        self.name = name
        self.log = log
        self.writer = JointStateWriter(model.joint_names)
        self.writer.position[:] = pose(model)
        self._states = node.create_publisher(JointState, f'/{name}/joint_states', qos.reliable(5))
        self._torques = PolledSubscription(
            node, Float64MultiArray, f'/{name}/effort_controller/commands', qos.reliable(10))
        self._node = node
        self._lifecycle = node.create_client(
            ChangeState, f'/{name}/{NAME}/change_state') if name in CONTROLLERS else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def round_trip(self, timeout):
        """Send a state; return the time in s until the torque arrives, or None."""
        while self._torques.take() is not None:
            pass  # late torques, and those of a controller without a state
        begin = time.perf_counter()
        self._states.publish(self.writer.write(time.time_ns()))
        while (took := time.perf_counter() - begin) <= timeout:
            if self._torques.wait(timeout - took) is not None:
                return time.perf_counter() - begin
        return None

    def start(self):
        """Wait until the node has published 50 torques."""
        end, count = time.monotonic() + START, 0
        while count < 50:
            count += self.round_trip(0.01) is not None
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit(f'{self.name} publishes no torques:\n{Path(self.log).read_text()}')

    def change_state(self, transition):
        """Request a transition, such as activate, if the node is a controller."""
        if self._lifecycle is None:
            return
        request = ChangeState.Request()
        request.transition.id = transition
        end, done = time.monotonic() + START, False
        while not done:
            future = self._lifecycle.call_async(request)
            while not future.done():
                self.round_trip(0.0)  # activation and stop need fresh states
                rclpy.spin_once(self._node, timeout_sec=0.002)
                if time.monotonic() > end:
                    sys.exit(f'{self.name} does not change its state:\n'
                             + Path(self.log).read_text())
            done = future.result().success


def prioritise(pid, priority):
    """Give all threads of a process a real-time priority."""
    for task in Path(f'/proc/{pid}/task').iterdir():
        os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(priority))


@contextmanager
def timed_nodes(names, urdf, fifo):
    """Yield running nodes; with `fifo` at a real-time priority."""
    model = RobotModel.from_urdf(urdf)
    rclpy.init()
    node, started = Node('source'), []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in names:
                each = TimedNode(node, name, model, urdf.resolve(), Path(folder) / name)
                started.append(each)
                each.start()
                each.change_state(Transition.TRANSITION_DEACTIVATE)
                if fifo:
                    prioritise(each.process.pid, PRIORITY)
            if fifo:
                prioritise(os.getpid(), PRIORITY + 1)
            gc.collect()
            gc.disable()
            yield started
        finally:
            for each in started:
                each.__exit__()
    rclpy.try_shutdown()


def pose(model):
    """Return a pose inside the limits with gravity torques."""
    bounded = np.isfinite(model.lower) & np.isfinite(model.upper)
    low, high = np.where(bounded, model.lower, -1.0), np.where(bounded, model.upper, 1.0)
    return 0.5 * (low + high) + 0.1 * (high - low)


class Clocks:
    """Processor time of a node, of this process and of all others, since construction."""

    def __init__(self, node):
        self._node = node.process.pid
        self._begin, self._wall = used_times(), time.perf_counter()

    def shares(self):
        """Return the shares of one core that the node, this process and all others have used."""
        wall = time.perf_counter() - self._wall
        used = {pid: (end - self._begin.get(pid, 0.0)) / wall
                for pid, end in used_times().items()}
        node, own = used.pop(self._node), used.pop(os.getpid())
        return node, own, sum(used.values())


def used_times():
    """Return the processor time of each process, in s; None: stolen by other virtual machines."""
    tick = os.sysconf('SC_CLK_TCK')
    times = {None: int(Path('/proc/stat').read_text().split()[8]) / tick}
    for path in Path('/proc').glob('[0-9]*/stat'):
        try:
            # the second field, a name of any characters, ends with the last ')'
            fields = path.read_text().rpartition(')')[2].split()
        except OSError:
            continue  # it has ended
        times[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / tick
    return times


def run(node, rate, seconds):
    """Send states at a rate; return round trips (s), misses, and shares of a core."""
    period, times, missed = 1.0 / rate, [], 0
    clocks = Clocks(node)
    begin = deadline = time.perf_counter() + 1e-3
    while deadline - begin < SETTLE + seconds:
        wait = deadline - time.perf_counter()
        if wait > 0.0:
            time.sleep(wait)
        took = node.round_trip(LOST)
        due, deadline = deadline, deadline + period
        while deadline < time.perf_counter() - period:
            deadline += period  # states due meanwhile are not sent, and count as misses
        if due - begin < SETTLE:
            clocks = Clocks(node)
            continue
        missed += round((deadline - due) / period) - 1
        if took is not None:
            times.append(took)
        missed += took is None or took > period
    return times, missed, clocks.shares()


def quiet_run(node, rate, seconds, most):
    """Repeat the run, up to five times, while others use more of a core than `most`."""
    turns = []
    while len(turns) < 5:
        turns.append(run(node, rate, seconds))
        if turns[-1][2][2] <= most:
            break
    return min(turns, key=lambda turn: turn[2][2])


def measure(started, options):
    """Measure all nodes in turns; return one row for each rate and node."""
    turns = {(rate, each.name): [] for rate in options.rates for each in started}
    for rate in options.rates:
        for k in range(options.rounds):
            for each in started:
                print(f'\r{rate:g} Hz, round {k + 1} of {options.rounds}: {each.name:12}', end='',
                      file=sys.stderr, flush=True)
                each.change_state(Transition.TRANSITION_ACTIVATE)
                turns[rate, each.name].append(
                    quiet_run(each, rate, options.seconds, options.others))
                each.change_state(Transition.TRANSITION_DEACTIVATE)
    print('\r' + 60 * ' ' + '\r', end='', file=sys.stderr)
    return [summary(rate, name, several) for (rate, name), several in turns.items()]


def summary(rate, name, turns):
    """Return the figures of all turns of one node at one rate."""
    times, missed, shares = zip(*turns)
    p50, p99, p999, top = 1e6 * np.percentile(np.concatenate(times), (50, 99, 99.9, 100))
    medians = [1e6 * float(np.median(each)) for each in times]
    node, source, others = np.mean(shares, axis=0)
    return {'rate': rate, 'node': name, 'answers': sum(map(len, times)), 'p50': p50, 'p99': p99,
            'p99.9': p999, 'max': top, 'lowest p50': min(medians), 'highest p50': max(medians),
            'misses': sum(missed), 'cpu': node, 'source cpu': source, 'others cpu': others}


def print_rows(rows):
    """Print the figures."""
    print('round trip in us, with the medians of the single turns; '
          'use of processors in % of one core\n')
    print(f'{"":8}{"node":13}{"p50":>7}{"turns":>14}{"p99":>8}{"p99.9":>8}{"max":>8}'
          f'{"missed":>8}{"node":>7}{"source":>8}{"others":>8}')
    for row in rows:
        turns = f'{row["lowest p50"]:.0f} to {row["highest p50"]:.0f}'
        print(f'{row["rate"]:>4g} Hz {row["node"]:13}{row["p50"]:7.0f}{turns:>14}'
              f'{row["p99"]:8.0f}{row["p99.9"]:8.0f}{row["max"]:8.0f}{row["misses"]:8d}'
              f'{100 * row["cpu"]:7.0f}{100 * row["source cpu"]:8.0f}'
              f'{100 * row["others cpu"]:8.0f}')


def print_table(rows):
    """Print the figures, and the ratios of the controllers' to each echo node's."""
    print_rows(rows)
    print()
    ours = [row for row in rows if row['node'] in CONTROLLERS]
    for row in rows:
        for own in ours:
            if row not in ours and own['rate'] == row['rate']:
                parts = ', '.join(f'{key} {own[key] / row[key]:.2f}'
                                  for key in ('p50', 'p99', 'cpu'))
                print(f'{row["rate"]:>4g} Hz: {own["node"]:10} / {row["node"]:13} {parts}')


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument('--urdf', type=Path, default=HERE.parent / 'urdf' / 'robodyn7.urdf')
    parser.add_argument('--rates', type=float, nargs='+', default=[200.0, 500.0, 1000.0],
                        metavar='HZ', help='states per second')
    parser.add_argument('--seconds', type=float, default=3.0, help='duration of each turn')
    parser.add_argument('--rounds', type=int, default=4, help='turns of each node at each rate')
    parser.add_argument('--others', type=float, default=0.3, metavar='SHARE',
                        help='share of one core of other processes above which a turn is '
                        'repeated, at most five times')
    parser.add_argument('--fifo', action='store_true', help='real-time priority (SCHED_FIFO) for '
                        'all; needs permission')
    parser.add_argument('--json', action='store_true', help='print JSON instead of the table')
    options = parser.parse_args()
    with timed_nodes(COMMANDS, options.urdf, options.fifo) as started:
        rows = measure(started, options)
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
    else:
        print_table(rows)


if __name__ == '__main__':
    main()
