"""A controller node whose cycle runs in another process, as in controller_manager."""

import os
from pathlib import Path
from threading import Event, Thread
import time
import uuid

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    CONTROLLER, logged, NODE, PATIENT, send, trajectory)
from design import settings_of  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from robodyn_ros.control import ArmController, with_slots  # noqa: E402
from robodyn_ros.control.steps import laws, modes  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ParameterError, StateError  # noqa: E402
from robodyn_ros.export import Export  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.nodes.native.shared_loop import SharedLoop  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from shared_host import build, ControllerProcess, missing  # noqa: E402

SMALL = (Path(__file__).resolve().parents[1] / 'urdf' / 'reference' / 'two_link_payload.urdf')
MODEL = RobotModel.from_urdf(SMALL)
START = np.array([0.4, -0.7])
FAR = trajectory(MODEL.joint_names, START + 0.8, seconds=2.0)


@pytest.fixture(scope='module')
def loop_of():
    """Return a function that makes an owner of a block of a name."""
    controller = ArmController(Dynamics(with_slots(MODEL)))
    return lambda name: SharedLoop(controller.host, MODEL.joint_names, name, 1.0)


@pytest.mark.parametrize('name', ['robodyn', '/../robodyn', '/a/b', '/', '/.a'])
def test_a_block_has_a_name_without_folders(loop_of, name):
    with pytest.raises(ParameterError, match='shared_block is .* set it to / and letters'):
        loop_of(name)


@pytest.mark.parametrize('mode, words', [
    (0o666, 'may be opened by other users .mode 666.'), (0o600, 'is being made')])
def test_a_block_that_others_may_write_is_not_used(loop_of, mode, words):
    name = f'/robodyn_test_{uuid.uuid4().hex[:12]}'
    file = Path('/dev/shm') / name[1:]
    file.write_bytes(bytes(8))
    file.chmod(mode)
    try:
        with pytest.raises(StateError, match=words):
            loop_of(name).attach()
    finally:
        file.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root, to make a file of another user')
def test_a_block_of_another_user_is_not_used(loop_of):
    name = f'/robodyn_test_{uuid.uuid4().hex[:12]}'
    file = Path('/dev/shm') / name[1:]
    file.write_bytes(bytes(8))
    file.chmod(0o600)
    os.chown(file, 1234, 1234)
    try:
        with pytest.raises(StateError, match='belongs to user 1234, and this node to user 0'):
            loop_of(name).attach()
    finally:
        file.unlink()


def test_a_link_in_place_of_a_block_is_not_followed(loop_of, tmp_path):
    name, target = f'/robodyn_test_{uuid.uuid4().hex[:12]}', tmp_path / 'target'
    target.write_bytes(bytes(64))
    link = Path('/dev/shm') / name[1:]
    link.symlink_to(target)
    try:
        with pytest.raises(StateError, match='no controller has made the shared block'):
            loop_of(name).attach()
    finally:
        link.unlink()


class Manager:
    """The controller in real time, updated by a thread that publishes its joint states, too."""

    def __init__(self, program, probe):
        self.block = f'/robodyn_test_{uuid.uuid4().hex[:12]}'
        self.arm = ControllerProcess(program, self.block, MODEL, START, real_time=True)
        self.arm.activate()
        self._publisher = probe.node.create_publisher(JointState, 'joint_states', 10)
        self.pause, self._stop = Event(), Event()
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._stop.is_set():
            if not self.pause.is_set():
                self.arm.update()
                message = JointState(name=list(MODEL.joint_names), position=self.arm.q.tolist(),
                                     velocity=self.arm.qd.tolist())
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(
                    time.time_ns(), 10**9)
                self._publisher.publish(message)
            time.sleep(0.002)

    def close(self):
        self._stop.set()
        self._thread.join()
        self.arm.close()


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    if missing():
        pytest.skip(f'there is no compiler {missing()}')
    # stale.stop is compiled into the cycle
    controller = ArmController(Dynamics(with_slots(MODEL)), settings_of(
        stale__hold=PATIENT['stale.hold'], stale__stop=PATIENT['stale.stop']))
    return build(Export(MODEL, ('cycle',), laws.NAMES, controller=controller),
                 tmp_path_factory.mktemp('host'))


@pytest.fixture
def probe():
    with Probe('shared_probe') as made:
        yield made


@pytest.fixture
def manager(program, probe):
    made = Manager(program, probe)
    yield made
    made.close()


def owner(manager, **parameters):
    return NodeProcess(CONTROLLER, {
        'urdf_file': str(SMALL), 'loop': 'controller_manager', 'shared_block': manager.block,
        **PATIENT, **parameters})


def test_the_node_moves_the_arm_and_leaves_it_carried(probe, manager):
    with owner(manager) as process:
        process.wait_for_output('loop: controller_manager')
        process.wait_for_output('active: the arm is held')
        send(probe, process, FAR)
        process.wait_for_output('the goal is reached')
        assert np.abs(manager.arm.q - START - 0.8).max() < 5e-3
        probe.change_state(NODE, Transition.TRANSITION_DEACTIVATE)
        process.wait_for_output('deactivated: the last torque is the gravity torque')
        assert manager.arm.mode == modes.CARRY
        assert not logged(process, 'fault')


def test_an_arm_exported_with_other_options_is_refused(manager):
    with owner(manager, **{'stale.stop': 0.9}) as process:
        process.wait_for_output('waiting: the controller of')
        assert logged(process, 'stale.stop: write the package anew')


def test_a_killed_node_does_not_stop_the_torques(probe, manager):
    with owner(manager, loop_patience=1.0) as process:
        process.wait_for_output('active: the arm is held')
        send(probe, process, trajectory(MODEL.joint_names, START + 0.8, seconds=8.0))
        probe.until(lambda: np.abs(manager.arm.qd).max() > 0.05, 'motion')
        process.process.kill()
        probe.until(lambda: manager.arm.mode == modes.HOLD, 'a stop')
        probe.until(lambda: np.abs(manager.arm.qd).max() < 0.02, 'rest')
        assert np.abs(manager.arm.q - START).max() < 0.75
    with owner(manager) as process:
        process.wait_for_output('active: the arm is held')


def test_a_controller_that_stands_still_is_a_fault_until_it_runs_again(probe, manager):
    with owner(manager) as process:
        process.wait_for_output('active: the arm is held')
        manager.pause.set()
        process.wait_for_output('fault: controller_manager makes no cycles')
        manager.pause.clear()
        process.wait_for_output('runs the controller again')
        since = send(probe, process, trajectory(MODEL.joint_names, START + 0.1, seconds=1.0))
        probe.until(lambda: logged(process, 'the goal is reached', since), 'the goal')


def test_a_node_without_its_controller_waits(probe):
    publisher = probe.node.create_publisher(JointState, 'joint_states', 10)
    with NodeProcess(CONTROLLER, {'urdf_file': str(SMALL), 'loop': 'controller_manager',
                                  'shared_block': '/robodyn_test_none', **PATIENT}) as process:
        message = JointState(name=list(MODEL.joint_names), position=START.tolist(),
                             velocity=[0.0, 0.0])

        def waits():
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 10**9)
            publisher.publish(message)
            return logged(process, 'waiting: no controller has made the shared block')

        probe.until(waits, 'the reason')


def test_what_the_loop_does_not_support_is_refused():
    with NodeProcess(CONTROLLER, {'urdf_file': str(SMALL), 'loop': 'controller_manager',
                                  'lockstep': True}) as process:
        process.wait_for_output('lockstep is set, which loop: controller_manager')
