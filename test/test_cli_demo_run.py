"""`robodyn demo` as a user runs it: three processes, one verdict, and nothing left behind."""
from contextlib import contextmanager
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

from bag_of_joints import contents
from expected_loop import LOOP
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the demo needs ROS 2')

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0
RATE = '250'  # Hz


@contextmanager
def starting(folder):
    """Give a function that starts the demo; what is left of it is killed in the end."""
    started = []
    # a copy, whose path distinguishes the processes of a test from all others
    urdf = shutil.copy(ROOT / 'urdf' / 'robodyn7.urdf', folder / 'arm.urdf')

    def run(*arguments):
        environment = {name: value for name, value in os.environ.items()
                       if name != 'ROS_DOMAIN_ID'}
        environment.update(PYTHONPATH=str(ROOT), PYTHONUNBUFFERED='1')
        started.append(subprocess.Popen(
            [sys.executable, '-m', 'robodyn_ros.cli.main', 'demo', '--urdf', str(urdf),
             '--output', str(folder), '--rate', RATE, *arguments],
            cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT))
        return started[-1]

    try:
        yield run
    finally:
        for process in started:
            process.kill()
            process.communicate()
        for pid in left_over(urdf):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def start(tmp_path):
    """Return a function that starts the demo."""
    with starting(tmp_path) as run:
        yield run


def left_over(urdf):
    """Return the ids of processes that work with this file."""
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            if str(urdf).encode() in (folder / 'cmdline').read_bytes():
                found.append(int(folder.name))
        except OSError:
            pass
    return found


@pytest.fixture(scope='module')
def demo(tmp_path_factory):
    """Return exit code, output and folder of a demo; with a bag, where bags can be written."""
    folder = tmp_path_factory.mktemp('demo')
    with starting(folder) as run:
        process = run('--duration', '1.5',
                      *(['--bag', str(folder / 'run')] if find_spec('rosbags') else []))
        output, _ = process.communicate(timeout=2 * PATIENCE)
        assert not left_over(folder / 'arm.urdf')
    # whether states were missed, and what that did to the motion, depends on the machine
    assert process.returncode in (0, 1), output
    return process.returncode, output, folder


def test_demo(demo):
    code, output, folder = demo
    for words in ('hold: error', 'float: drift', 'motion: below 1 % of the states saturated',
                  'Ctrl-C', 'after exit:'):
        assert f'pass  {words}' in output, output
    assert f'\nloop: {LOOP}' in output, output
    with np.load(folder / 'robodyn_demo.npz') as saved:
        errors = [np.sqrt(np.mean((saved[kind + 'reference'] - saved[kind + 'q']) ** 2))
                  for kind in ('', 'without_gravity_')]
        assert len(saved['time']) > 100
        assert {'term_gravity', 'term_feedback'} <= set(saved.files)
    if code == 0:  # else a motion may have been broken off
        assert errors[0] < errors[1], 'gravity in the feedforward must make the motion better'
    assert not list(folder.glob('*.log'))


def test_the_demo_writes_what_was_on_its_topics(demo):
    pytest.importorskip('rosbags', reason='bags need the library rosbags')
    messages, kinds = contents(demo[-1] / 'run')
    assert kinds['/robot_description'] == 'std_msgs/msg/String'
    assert '<robot' in messages['/robot_description'][0][1].data
    node = '/computed_torque_controller'
    for topic in ('/joint_states', f'{node}/reference', f'{node}/joint_trajectory',
                  f'{node}/torque_terms/gravity', '/effort_controller/commands', '/diagnostics',
                  '/robot_simulator/ground_truth'):
        assert messages[topic], topic
    states = messages['/joint_states']
    assert len(states) > 1000
    # recorded when they were sent, so nearly at the time of their stamps
    _, first = states[0]
    assert len(first.position) == 7 and np.isfinite(first.position).all()
    late = [stamp - 10**9 * m.header.stamp.sec - m.header.stamp.nanosec for stamp, m in states]
    assert 0 <= np.median(late) < 5e6


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind(start, tmp_path, number):
    process, urdf = start(), tmp_path / 'arm.urdf'
    log = tmp_path / 'robodyn_demo_controller.log'
    end = time.monotonic() + PATIENCE
    while not (log.exists() and 'active' in log.read_text()):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, 'the controller was never active'
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    if number == signal.SIGTERM:
        assert process.returncode == 130, output
        assert 'interrupted' in output
        assert 'Traceback' not in output
    while left_over(urdf):
        assert time.monotonic() < end, f'still there: {left_over(urdf)}'
        time.sleep(0.05)


def test_the_demo_reports_a_simulator_that_ends(start):
    process = start('--lock', 'no_such_joint:0')
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, output
    assert 'no_such_joint' in output
    assert 'Traceback' not in output
