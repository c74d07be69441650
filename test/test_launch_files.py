"""The launch files for a user: descriptions, refusals, exit codes."""
import os
from pathlib import Path
import re
import signal
import subprocess
import time

import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')
pytest.importorskip('launch_ros', reason='launch files need ROS 2 launch')

from launch import LaunchContext  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402
from ros_install import found, needs_ros2  # noqa: E402
from ros_process import NodeProcess, PATIENCE, Probe, ROOT, wait_until  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

pytestmark = [needs_ros2, pytest.mark.usefixtures('install')]
FILES = sorted(path.name for path in (ROOT / 'launch').glob('*.launch.py'))
ARM, SEVEN = ROOT / 'urdf' / 'robodyn6.urdf', ROOT / 'urdf' / 'robodyn7.urdf'
CONTROLLER = 'robodyn_ros.nodes.controller.node'


def ros2_launch(*arguments):
    """Run `ros2 launch robodyn_ros ...` to its end; return (exit code, output)."""
    run = subprocess.run(['ros2', 'launch', 'robodyn_ros', *arguments], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
    return run.returncode, run.stdout


class Launched:
    """`ros2 launch` in a process group of its own, as in a terminal; ended with the block."""

    def __init__(self, log, *arguments):
        self._log = log
        with log.open('wb') as output:
            self._process = subprocess.Popen(
                ['ros2', 'launch', 'robodyn_ros', *arguments], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env={**os.environ, 'PYTHONUNBUFFERED': '1'})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait(10)

    @property
    def output(self):
        return self._log.read_text(errors='replace')

    def until(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.output:
            assert self._process.poll() is None and time.monotonic() < end, self.output
            time.sleep(0.05)

    def interrupt(self):
        """Press Ctrl-C; return the exit code."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(PATIENCE)


@pytest.mark.parametrize('name', FILES)
def test_all_arguments_are_described(name):
    code, text = ros2_launch(name, '--show-args')
    assert code == 0
    assert "'urdf':" in text and "'params_file':" in text
    assert 'no description given' not in text


def test_the_demo_is_described_as_one_that_simulates():
    source = PythonLaunchDescriptionSource(str(ROOT / 'launch' / 'demo.launch.py'))
    described = source.get_launch_description(LaunchContext()).get_launch_arguments()
    simulate, = (each for each in described if each.name == 'simulate')
    assert [each.text for each in simulate.default_value] == ['true']


@pytest.mark.parametrize('arguments, complaint', [
    (['controller.launch.py', 'urdf:=/nowhere.urdf'], '/nowhere.urdf: there is no such file'),
    (['controller.launch.py', 'ros2_control:=true', 'ros2_control_file:=lost.yaml'],
     'ros2_control_file:=lost.yaml: there is no such file'),
    (['simulation.launch.py', 'params_file:=lost.yaml'], 'lost.yaml: there is no such file'),
    (['simulation.launch.py', 'publish_rate:=fast'], "'publish_rate' is 'fast'"),
    (['simulation.launch.py', 'gravity:=[0, 0'], 'gravity:=[0, 0 cannot be read'),
    # the simulator comes first, and must not have been started
    (['demo.launch.py', 'mode:=flat'], "'mode' is 'flat': choose one of computed_torque")])
def test_mistakes_are_named_and_nothing_is_started(arguments, complaint):
    code, text = ros2_launch(*arguments)
    assert code == 1
    assert complaint in text
    assert 'process started' not in text


def test_a_node_that_fails_ends_the_demo(tmp_path):
    broken = tmp_path / 'broken.urdf'
    broken.write_text('<robot/>')
    _, text = ros2_launch('demo.launch.py', f'urdf:={broken}')
    assert 'was required: shutting down' in text


def test_the_demo_outlives_its_page(tmp_path):
    with Launched(tmp_path / 'log', 'demo.launch.py', 'view:=true', 'simulate:=true') as demo, \
            Probe('launch_probe') as probe:
        demo.until('active: the arm is held')
        started = processes(demo)
        assert set(started) == {'controller', 'simulator', 'view'}
        assert demo.output.count('process started') == len(started)
        if alive(started['view']):  # or it has missed its library
            os.kill(started['view'], signal.SIGKILL)
        demo.until('[view-3]: process has died')
        assert probe.call(Trigger, 'computed_torque_controller/float').success
        assert demo.interrupt() == 0
    assert 'the last torque is the gravity torque' in demo.output


def test_arguments_come_before_the_file_and_that_before_the_defaults(tmp_path):
    file = tmp_path / 'both.yaml'
    file.write_text(f"""
/**/computed_torque_controller:
  ros__parameters: {{mode: gravity_compensation, autostart: false}}
/**/robot_simulator:
  ros__parameters: {{urdf_file: {ARM}}}
""")
    with Launched(tmp_path / 'log', 'demo.launch.py', 'namespace:=left', f'params_file:={file}',
                  'autostart:=true') as demo:
        demo.until('the arm floats')
        demo.until('brakes released')
        assert '[left.robot_simulator]: robodyn6: 6 joints' in demo.output
        assert '[left.computed_torque_controller]: robodyn6: 6 joints' in demo.output
        assert demo.interrupt() == 0
    assert 'the last torque is the gravity torque' in demo.output
    assert 'has died' not in demo.output


def test_gravity_compensation_simulates_on_request(tmp_path):
    with Launched(tmp_path / 'log', 'gravity_compensation.launch.py', 'simulate:=true',
                  'shutdown_effort:=release', 'joint_states:=arm/states',
                  'effort_command_topic:=arm/torques') as launched:
        launched.until('the arm floats')
        launched.until('brakes released')
        assert launched.interrupt() == 0
    assert 'the last torque is zero' in launched.output
    assert 'has died' not in launched.output


def test_the_text_of_a_urdf_is_taken_as_well(tmp_path):
    with Launched(tmp_path / 'log', 'controller.launch.py', 'simulate:=true',
                  f'robot_description:={ARM.read_text()}') as launched:
        launched.until('active: the arm is held')
        launched.until('brakes released')
        assert '[robot_simulator]: robodyn6: 6 joints' in launched.output
        assert '[computed_torque_controller]: robodyn6: 6 joints' in launched.output
        assert launched.interrupt() == 0


def test_two_arms_run_in_two_namespaces(tmp_path):
    with Launched(tmp_path / 'left', 'demo.launch.py', 'namespace:=left',
                  'publish_rate:=250') as left, Launched(
                      tmp_path / 'right', 'demo.launch.py', 'namespace:=right', f'urdf:={ARM}',
                      'publish_rate:=250') as right:
        for arm, name, robot in ((left, 'left', 'robodyn7: 7'), (right, 'right', 'robodyn6: 6')):
            arm.until('active: the arm is held')
            arm.until('brakes released')
            assert f'[{name}.robot_simulator]: {robot} joints' in arm.output
            assert f'[{name}.computed_torque_controller]: {robot} joints' in arm.output
            assert 'nodes publish commands' not in arm.output and 'dropped' not in arm.output
        assert left.interrupt() == 0
        assert 'the last torque is the gravity torque' in left.output
        # the other side is not notified
        assert 'process has' not in right.output
        assert right.interrupt() == 0
        assert 'the last torque is the gravity torque' in right.output


@pytest.mark.skipif(found('controller_manager'), reason='ros2_control is installed')
def test_ros2_control_that_is_not_installed_is_named():
    code, text = ros2_launch('controller.launch.py', 'ros2_control:=true')
    assert code == 1
    assert 'the package controller_manager is not installed: sudo apt install' in text
    assert 'process started' not in text


def test_ros2_control_is_requested_to_load_its_controllers(tmp_path, monkeypatch):
    # in place of the spawner, a record of the request
    marker = tmp_path / 'share/ament_index/resource_index/packages/controller_manager'
    spawner = tmp_path / 'lib/controller_manager/spawner'
    for file, text in ((marker, ''), (spawner, '#!/bin/sh\necho requested "$@"\n')):
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path}:{os.environ["AMENT_PREFIX_PATH"]}')
    with Launched(tmp_path / 'log', 'gravity_compensation.launch.py', 'simulate:=true',
                  'namespace:=left', 'ros2_control:=true') as launched:
        launched.until('requested joint_state_broadcaster effort_controller')
        launched.until('the arm floats')  # the spawner is done, and ends nothing else
        assert '--controller-manager controller_manager --param-file ' in launched.output
        assert 'ros2_control_effort.yaml --ros-args -r __ns:=/left' in launched.output
        assert launched.interrupt() == 0


def test_alone_it_waits_for_a_robot(tmp_path):
    with Launched(tmp_path / 'log', 'gravity_compensation.launch.py') as launched:
        launched.until('waiting for a robot description on /robot_description')
        assert launched.interrupt() == 0
    assert 'simulator' not in launched.output


# --- with a guard -------------------------------------------------------------------------------


def processes(launched):
    """Return the process ids of the nodes that a launch has started, by executable."""
    return {name: int(pid) for name, pid in re.findall(
        r'\[(\w+)-\d+\]: process started with pid \[(\d+)\]', launched.output)}


def alive(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


@pytest.mark.parametrize('arguments, words', [
    (['demo.launch.py'], 'the arm is held'),
    (['controller.launch.py', 'simulate:=true'], 'the arm is held'),
    (['gravity_compensation.launch.py', 'simulate:=true'], 'the arm floats')])
def test_a_guard_takes_over_from_a_controller_that_is_killed(tmp_path, arguments, words):
    with Launched(tmp_path / 'log', *arguments, 'guard:=true') as launched:
        launched.until(f'active: {words}')
        launched.until('armed: the controller commands')
        started = processes(launched)
        assert set(started) == {'controller', 'guard', 'simulator'}
        os.kill(started['controller'], signal.SIGKILL)
        launched.until('the guard commands the arm: no heartbeat')
        time.sleep(1.0)
        assert alive(started['guard']) and alive(started['simulator'])
        again = NodeProcess(CONTROLLER, {'urdf_file': str(SEVEN), 'guard.use': 'expected'})
        with again, Probe('launch_probe') as probe:
            again.wait_for_output('waiting: the guard commands the arm')
            # the guard may discover its heartbeat later
            wait_until(lambda: probe.call(Trigger, 'guard/reset').success, 'the reset')
            again.wait_for_output('active: the arm is held')
            launched.until('armed: the controller commands again')
            again.process.kill()
            wait_until(lambda: launched.output.count('the guard commands the arm') == 2,
                       'it is guarded again')
        assert launched.interrupt() == 0
        assert 'ended: the last torque is the gravity torque' in launched.output
        assert not any(alive(pid) for pid in started.values())


def test_a_launch_with_a_guard_ends_in_good_order(tmp_path):
    with Launched(tmp_path / 'log', 'demo.launch.py', 'guard:=true') as launched:
        launched.until('armed: the controller commands')
        started = processes(launched)
        assert launched.interrupt() == 0
        assert 'deactivated: the last torque is the gravity torque' in launched.output
        assert 'the guard commands the arm' not in launched.output
        assert not any(alive(pid) for pid in started.values())
