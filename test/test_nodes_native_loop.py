"""The loop in machine code in this process: what it counts when something goes wrong."""

import time

from closed_loop import arm
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the loop needs ROS 2')

import rclpy  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from robodyn_ros.control import drive  # noqa: E402
from robodyn_ros.control.turn_host import TurnHost  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateWriter  # noqa: E402
from robodyn_ros.nodes.command_message import CommandSettings, DriveSettings  # noqa: E402
from robodyn_ros.nodes.command_writer import CommandWriter  # noqa: E402
from robodyn_ros.nodes.native import loop as native, rcl  # noqa: E402
from robodyn_ros.nodes.polling import PolledSubscription  # noqa: E402
from robodyn_ros.safety.acceptance import FROM_STATE  # noqa: E402
from ros_process import wait_until  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Header  # noqa: E402

try:
    native.check_platform()
except rcl.NativeLoopError as error:
    pytest.skip(str(error), allow_module_level=True)

ROWS = 32


class Bench:
    """An arm at rest whose loop runs in this process."""

    def __init__(self, command=CommandSettings(), drives=DriveSettings()):
        self.context = rclpy.Context()
        rclpy.init(args=[], context=self.context)
        node = rclpy.create_node('native_loop', context=self.context)
        control = arm().control
        names = control.model.joint_names
        self._states = node.create_publisher(JointState, 'joint_states', qos.reliable(1))
        self._writer = JointStateWriter(names)
        self._writer.position[:] = control.reference.q
        self._node, decoder = node, JointStateDecoder()
        states = PolledSubscription(node, JointState, 'joint_states', qos.joint_states())
        self.commands = CommandWriter(
            names, command, drives, drive.function(control.host.compiled.dimensions))
        kind = self.commands.message.type
        self.sent = PolledSubscription(node, kind, 'torques', qos.reliable(10))
        handles = native.LoopHandles(
            node, states.subscription, None,
            node.create_publisher(kind, 'torques', qos.reliable()),
            node.create_publisher(Header, 'heartbeats', qos.reliable()), self.commands)
        self.loop = native.NativeLoop(control.host, TurnHost(False, 0.5), handles, False)
        self._gripper = JointStateWriter(['left', 'right'])
        for each in (self._writer, self._gripper):
            data = each.write(1)
            decoder.decode(data)
            assert not self.loop.register(decoder.layout(data), names, True)
        self.control = control
        self.start()

    def start(self):
        """Start the loop."""
        self.loop.start(time.time_ns(), False)

    def wait_for_iterations(self, count):
        """Wait until the loop has made `count` more iterations."""
        end = self.loop.block['count'] + count
        wait_until(lambda: self.loop.block['count'] >= end, f'{count} iterations')

    def state(self, stamp):
        """Return a state of the arm."""
        return self._writer.write(stamp)

    def gripper_state(self, stamp):
        """Return a state of other joints."""
        return self._gripper.write(stamp)

    def feed(self):
        """Publish a state; return how many torques were sent."""
        self._states.publish(self.state(time.time_ns()))
        return self.loop.block['sent']

    def wait_for_messages(self, *messages):
        """Publish messages to the loop, which does not run; wait until the last has arrived."""
        last = PolledSubscription(self._node, JointState, 'joint_states', qos.joint_states())
        wait_until(lambda: self._states.get_subscription_count() == 2, 'the subscriptions')
        for each in messages:
            self._states.publish(each)
        for _ in messages:
            wait_until(last.take, 'a message')
        last.destroy()

    def close(self):
        self.loop.close()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setattr(native, 'ROWS', ROWS)
    made = Bench()
    yield made
    made.close()


def test_overwritten_iterations_are_counted(bench):
    loop = bench.loop
    bench.wait_for_iterations(3 * ROWS)
    kept = len(loop.data.rows())
    assert 0 < kept < ROWS and loop.data.missed >= 2 * ROWS
    bench.wait_for_iterations(5)
    kept += len(loop.data.rows())
    loop.stop()
    kept += len(loop.data.rows())
    assert kept + loop.data.missed == loop.block['count'], (
        'an iteration is neither kept nor missed')


def test_errors_of_the_middleware_are_counted(bench, capfd):
    block = bench.loop.block
    wait_until(bench.feed, 'a torque')
    assert block['errors'] == block['withheld'] == 0
    rclpy.shutdown(context=bench.context)
    wait_until(lambda: block['withheld'] > 20, 'torques that were not sent')
    sent, unmade = block['sent'], np.zeros(8, dtype=np.int64)
    block['guard_states'] = unmade.ctypes.data  # an invalid subscription
    bench.wait_for_iterations(20)
    bench.loop.stop()   # a count is complete at the end of an iteration
    assert not bench.loop.running
    assert block['sent'] == sent and block['unsent']
    assert block['errors'] >= block['withheld'] + 40
    # one error on top of another would be printed, by a thread with deadlines
    assert 'overwritten' not in capfd.readouterr().err


def test_messages_of_a_gripper_do_not_displace_the_states_of_the_arm(bench):
    """The newest state counts, of those that wait; its stamp is that of the row."""
    loop = bench.loop
    wait_until(bench.feed, 'a torque')
    loop.stop()
    loop.data.rows()
    stamp = time.time_ns()
    bench.wait_for_messages(bench.state(stamp - 10**6), bench.state(stamp),
                            bench.gripper_state(stamp + 1))
    bench.start()
    bench.wait_for_iterations(3)
    assert [row.stamp for row in loop.data.rows() if row.kind == FROM_STATE] == [stamp]


def test_the_newest_cycle_is_there_on_demand(bench):
    """Requests to Python between two of its polls; before the first cycle: nothing."""
    host, loop = bench.control.host, bench.loop
    wait_until(bench.feed, 'a torque')
    before = float(bench.control.status.states.last_call)
    bench.wait_for_iterations(3)
    assert float(bench.control.status.states.last_call) == before, 'it was copied unasked'
    host.refresh()
    after = float(bench.control.status.states.last_call)
    assert after > before
    loop.stop()
    memory = host.bound.memory.copy()
    loop.block['count'], loop.block['stop'] = 0, 1
    loop._begin = 0
    host.remote = loop.data
    host.refresh()
    assert (host.bound.memory == memory).all(), 'there was no cycle yet'


@pytest.mark.parametrize('drives', [
    DriveSettings(),
    DriveSettings(
        command_type='trajectory_msgs/msg/JointTrajectory', drive_kp=(30.0,), drive_kd=(2.0,),
        command_fields=('joint_names:names', 'header.stamp:stamp', 'points.0.positions:position',
                        'points.0.velocities:velocity', 'points.1.positions:kp',
                        'points.1.velocities:kd', 'points.0.effort:effort'),
        effort_quantum=(0.01,)),
    DriveSettings(command_type='sensor_msgs/msg/LaserScan',
                  command_fields=('ranges:effort', 'intensities:position'))])
def test_the_loop_writes_what_python_writes(drives, monkeypatch):
    monkeypatch.setattr(native, 'ROWS', ROWS)
    order = tuple(f'joint{k}' for k in range(7, 0, -1))
    bench = Bench(CommandSettings(command_joints=order, effort_scale=(-2.0,)), drives)
    try:
        bench.control.activate(time.monotonic(), bench.control.reference.q, np.zeros(7))
        bench.loop.stop()
        bench.start()
        wait_until(lambda: bench.feed() > 3, 'torques')
        bench.loop.stop()
        messages = list(bench.sent.waiting())
        rows = [row for row in bench.loop.data.rows() if row.sent]
        memory = bench.control.host.bound.memory
        bench.commands.follow(memory)
        memory[:] = rows[-1].memory
        sent = np.array(bench.control.host.memory.sent)
        wanted = deserialize_message(bench.commands.write(sent), type(messages[-1]))
        got = messages[-1]
        if hasattr(got, 'header') and bench.commands.message.stamp:
            assert 0.0 <= time.time() - got.header.stamp.sec < 60.0
            wanted.header.stamp = got.header.stamp
        assert np.abs(sent).max() > 0.5
        assert got == wanted
    finally:
        bench.close()
