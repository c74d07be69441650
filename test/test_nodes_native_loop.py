"""The loop in machine code in this process: what it counts when something goes wrong."""

import time

from closed_loop import arm
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the loop needs ROS 2')

import rclpy  # noqa: E402
from robodyn_ros.control.permission import CommandPermission  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateWriter  # noqa: E402
from robodyn_ros.nodes.conversions import EffortWriter  # noqa: E402
from robodyn_ros.nodes.native import loop as native, rcl  # noqa: E402
from robodyn_ros.nodes.polling import PolledSubscription  # noqa: E402
from ros_process import wait_until  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, Header  # noqa: E402

try:
    native.check_platform()
except rcl.NativeLoopError as error:
    pytest.skip(str(error), allow_module_level=True)

ROWS = 32


class Bench:
    """An arm at rest whose loop runs in this process."""

    def __init__(self):
        self.context = rclpy.Context()
        rclpy.init(args=[], context=self.context)
        node = rclpy.create_node('native_loop', context=self.context)
        control = arm().control
        names = control.model.joint_names
        self._states = node.create_publisher(JointState, 'joint_states', qos.reliable(1))
        self._writer, efforts = JointStateWriter(names), EffortWriter(names)
        self._writer.position[:] = control.reference.q
        self._node, decoder = node, JointStateDecoder()
        states = PolledSubscription(node, JointState, 'joint_states', qos.newest())
        self.loop = native.NativeLoop(control.host, CommandPermission(False, 0.5), native.Wires(
            node, states.subscription, None,
            node.create_publisher(Float64MultiArray, 'torques', qos.reliable()),
            node.create_publisher(Header, 'heartbeats', qos.reliable()),
            efforts.write(np.zeros(len(names))), efforts.order), False, np.inf, 60.0)
        data = self._writer.write(1)
        decoder.decode(data)
        assert not self.loop.register(decoder.layout(data), names, True)
        self.loop.start(time.time_ns(), False)

    def wait_for_iterations(self, count):
        """Wait until the loop has made `count` more iterations."""
        end = self.loop.block['count'] + count
        wait_until(lambda: self.loop.block['count'] >= end, f'{count} iterations')

    def feed(self):
        """Publish a state; return how many torques were sent."""
        self._states.publish(self._writer.write(time.time_ns()))
        return self.loop.block['sent']

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
    kept = len(loop.rows())
    assert 0 < kept < ROWS and loop.missed >= 2 * ROWS
    bench.wait_for_iterations(5)
    kept += len(loop.rows())
    loop.stop()
    kept += len(loop.rows())
    assert kept + loop.missed == loop.block['count'], 'an iteration is neither kept nor missed'


def test_errors_of_the_middleware_are_counted(bench, capfd):
    block = bench.loop.block
    wait_until(bench.feed, 'a torque')
    assert block['errors'] == block['withheld'] == 0
    rclpy.shutdown(context=bench.context)
    wait_until(lambda: block['withheld'] > 20, 'torques that were not sent')
    sent, unmade = block['sent'], np.zeros(8, dtype=np.int64)
    block['guard_states'] = unmade.ctypes.data  # an invalid subscription
    bench.wait_for_iterations(20)
    assert block['sent'] == sent and block['unsent']
    assert block['errors'] >= block['withheld'] + 40
    bench.loop.stop()
    assert not bench.loop.running
    # one error on top of another would be printed, by a thread with deadlines
    assert 'overwritten' not in capfd.readouterr().err
