"""
Effect of `robodyn view` on the control loop: round-trip times with and without it.

    python benchmark/view.py
    python benchmark/view.py --rate 500 --seconds 5 --rounds 6 --json

As benchmark/round_trip.py: from sending a joint state to receiving its torque, for a controller in
a process of its own. The cases, measured in turns, are no view, `robodyn view` without a client,
with a client that receives all messages of the page, and with one that also shows torque terms.
The client is not a browser, which would use a processor by itself. Compare the rows of one run.
"""
import argparse
import contextlib
import json
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

import round_trip  # first: it chooses the ROS domain
from round_trip import HERE, rclpy, RobotModel, TimedNode, Transition

CASES = ('no view', 'view', 'view, client', 'view, terms')
READER = """
import sys
from page_client import messages, PageClient
with PageClient(sys.argv[1]) as client:
    while True:
        client.read(1.0)
        boxes = [each['uuid'] for each in client.of_type('GuiCheckboxMessage')
                 if each['props']['label'] == 'show terms']
        if boxes and sys.argv[2] == 'terms':
            client.send(messages.GuiUpdateMessage(boxes[0], {'value': True}))
        client.messages.clear()
"""


@contextlib.contextmanager
def running(command, log, words=''):
    """Start a process, wait until its output contains some words, and yield its output."""
    with open(log, 'wb') as output:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=output, stderr=subprocess.STDOUT,
            cwd=HERE.parent / 'test', env={**round_trip.os.environ, 'PYTHONUNBUFFERED': '1',
                                           'PYTHONPATH': ':'.join(sys.path)})
    try:
        end = time.monotonic() + round_trip.START
        while words not in (output := Path(log).read_text()):
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f'{command}:\n{output}')
            time.sleep(0.05)
        yield output
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)


@contextlib.contextmanager
def viewed(case, urdf, folder):
    """Run view and client of a case in the `with` block."""
    with contextlib.ExitStack() as stack:
        if case != 'no view':
            output = stack.enter_context(running(
                ['-m', 'robodyn_ros.cli.main', 'view', str(urdf), '--namespace', 'controller',
                 '--port', '0'], f'{folder}/view', 'http://'))
            if ',' in case:
                url = output[output.index('http://'):].split()[0]
                stack.enter_context(running(['-c', READER, url, case.split(', ')[1]],
                                            f'{folder}/client'))
            time.sleep(2.0)  # discovery
        yield


def measure(controller, options, folder):
    """Measure all cases in turns; return one row for each."""
    turns = {case: [] for case in CASES}
    for k in range(options.rounds):
        for case in CASES:
            print(f'\rround {k + 1} of {options.rounds}: {case:14}', end='', file=sys.stderr,
                  flush=True)
            with viewed(case, options.urdf.resolve(), folder):
                controller.change_state(Transition.TRANSITION_ACTIVATE)
                turns[case].append(round_trip.run(controller, options.rate, options.seconds))
                controller.change_state(Transition.TRANSITION_DEACTIVATE)
    print('\r' + 60 * ' ' + '\r', end='', file=sys.stderr)
    return [round_trip.summary(options.rate, case, several) for case, several in turns.items()]


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    add = parser.add_argument
    add('--urdf', type=Path, default=HERE.parent / 'urdf' / 'robodyn7.urdf')
    add('--rate', type=float, default=1000.0, metavar='HZ', help='states per second')
    add('--seconds', type=float, default=3.0, help='duration of each turn')
    add('--rounds', type=int, default=4, help='turns of each case')
    add('--json', action='store_true', help='print JSON instead of the table')
    options = parser.parse_args()
    rclpy.init()
    with tempfile.TemporaryDirectory() as folder, TimedNode(
            round_trip.Node('source'), 'controller', RobotModel.from_urdf(options.urdf),
            options.urdf.resolve(), Path(folder) / 'controller') as controller:
        controller.start()
        controller.change_state(Transition.TRANSITION_DEACTIVATE)
        rows = measure(controller, options, folder)
    rclpy.try_shutdown()
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
    else:
        round_trip.print_rows(rows)


if __name__ == '__main__':
    main()
