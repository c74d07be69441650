"""
What a page that shows the arm costs the control loop: the round trip with and without it.

    python benchmark/view.py
    python benchmark/view.py --rate 500 --seconds 5 --rounds 6 --json

As benchmark/round_trip.py: from a joint state that is sent to the torque that comes back, of a
controller in a process of its own. Without a view, with `robodyn view` that nobody looks at, with
a client that takes all that the page sends, and with one that wants the terms of the torque as
well, take turns in one run. The client is no browser, which takes a processor for itself wherever
it runs. Compare the rows of one run.
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
from round_trip import Contestant, HERE, rclpy, RobotModel, Transition

WAYS = ('no view', 'view', 'view, client', 'view, terms')
READER = """
import sys
from page_client import messages, PageClient
with PageClient(sys.argv[1]) as client:
    while True:
        client.read(1.0)
        boxes = [each['uuid'] for each in client.of_type('GuiCheckboxMessage')
                 if each['props']['label'] == 'listen']
        if boxes and sys.argv[2] == 'terms':
            client.send(messages.GuiUpdateMessage(boxes[0], {'value': True}))
        client.messages.clear()
"""


@contextlib.contextmanager
def running(command, log, words=''):
    """Let a process run, from when it says some words on; yield what it has said."""
    with open(log, 'wb') as output:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=output, stderr=subprocess.STDOUT,
            cwd=HERE.parent / 'test', env={**round_trip.os.environ, 'PYTHONUNBUFFERED': '1',
                                           'PYTHONPATH': ':'.join(sys.path)})
    try:
        end = time.monotonic() + round_trip.START
        while words not in (said := Path(log).read_text()):
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f'{command}:\n{said}')
            time.sleep(0.05)
        yield said
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)


@contextlib.contextmanager
def beside(way, urdf, folder):
    """Have a view, and a client of its page, run beside what is measured."""
    with contextlib.ExitStack() as stack:
        if way != 'no view':
            said = stack.enter_context(running(
                ['-m', 'robodyn_ros.cli.main', 'view', str(urdf), '--namespace', 'controller',
                 '--port', '0'], f'{folder}/view', 'http://'))
            if ',' in way:
                url = said[said.index('http://'):].split()[0]
                stack.enter_context(running(['-c', READER, url, way.split(', ')[1]],
                                            f'{folder}/client'))
            time.sleep(2.0)  # until all have found each other
        yield


def measure(controller, options, folder):
    """Let all ways take turns; return one row for each."""
    turns = {way: [] for way in WAYS}
    for k in range(options.rounds):
        for way in WAYS:
            print(f'\rround {k + 1} of {options.rounds}: {way:14}', end='', file=sys.stderr,
                  flush=True)
            with beside(way, options.urdf.resolve(), folder):
                controller.change(Transition.TRANSITION_ACTIVATE)
                turns[way].append(round_trip.run(controller, options.rate, options.seconds))
                controller.change(Transition.TRANSITION_DEACTIVATE)
    print('\r' + 60 * ' ' + '\r', end='', file=sys.stderr)
    return [round_trip.summary(options.rate, way, several) for way, several in turns.items()]


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    add = parser.add_argument
    add('--urdf', type=Path, default=HERE.parent / 'urdf' / 'robodyn7.urdf')
    add('--rate', type=float, default=1000.0, metavar='HZ', help='states per second')
    add('--seconds', type=float, default=3.0, help='of each turn')
    add('--rounds', type=int, default=4, help='turns of each way')
    add('--json', action='store_true', help='print JSON instead of the table')
    options = parser.parse_args()
    rclpy.init()
    with tempfile.TemporaryDirectory() as folder, Contestant(
            round_trip.Node('source'), 'controller', RobotModel.from_urdf(options.urdf),
            options.urdf.resolve(), Path(folder) / 'controller') as controller:
        controller.start()
        controller.change(Transition.TRANSITION_DEACTIVATE)
        rows = measure(controller, options, folder)
    rclpy.try_shutdown()
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
    else:
        round_trip.print_rows(rows)


if __name__ == '__main__':
    main()
