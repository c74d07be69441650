"""Joint states that wait in the queue of the controller, where Python has the loop."""

import math
from types import SimpleNamespace

from closed_loop import MODEL
from design import settings_of
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from robodyn_ros.control import ArmController  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.exceptions import ArgumentError  # noqa: E402
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateWriter  # noqa: E402
from robodyn_ros.nodes.controller.state_input import ControllerClock, StateInput  # noqa: E402

NAMES = MODEL.joint_names


class Queue:
    """A subscription with these messages, and the input that takes them."""

    source, foreign, bound, appeared = b'', b'', frozenset(), -math.inf

    def __init__(self, lockstep=False):
        self.topic, self.problem, self.refused = 'joint_states', '', 0
        self.messages, self._decoder = [], JointStateDecoder()
        control = ArmController(Dynamics(MODEL), settings_of())
        self.input = StateInput(self, self._decoder, control, ControllerClock(
            SimpleNamespace(), control.status.states.offset, lockstep, lockstep))

    def forget(self):
        self.bound = frozenset()

    def put(self, names, position, stamp):
        """Let a message wait."""
        writer = JointStateWriter(names)
        writer.position[:] = position
        self.messages.append(self._decoder.decode(writer.write(stamp)))

    def wait(self, _timeout):
        return self.messages.pop(0) if self.messages else None

    def waiting(self):
        while self.messages:
            yield self.messages.pop(0)

    def receive(self):
        """Take what waits; return the stamp of the sample."""
        sample = self.input.wait(0.0)
        self.input.receive(sample, 100.0, False)
        return sample.stamp


def test_the_newest_state_counts_whatever_others_report():
    queue = Queue()
    queue.put(NAMES, 0.1, 1)
    queue.put(NAMES, 0.2, 2)
    queue.put(('left', 'right'), 9.0, 3)
    assert queue.receive() == 2
    np.testing.assert_array_equal(queue.input.q, np.full(7, 0.2))
    queue.put(('left', 'right'), 9.0, 4)
    assert queue.receive() == 4
    assert "none of the model's joints" in queue.input.problem


def test_parts_of_an_arm_that_wait_make_a_state():
    queue = Queue()
    for stamp, names in ((1, NAMES[:3]), (2, NAMES[3:])):
        queue.put(names, 0.3, stamp)
    assert queue.receive() == 2
    np.testing.assert_array_equal(queue.input.q, np.full(7, 0.3))


def test_an_order_that_is_new_under_control_is_not_registered_for_machine_code():
    queue, swapped = Queue(), (*NAMES[1::-1], *NAMES[2:])
    for names in (NAMES, NAMES[::-1]):
        queue.put(names, 0.3, 1)
        queue.receive()
    queue.input.bind()
    message = JointStateWriter(swapped).write(1)
    with pytest.raises(ArgumentError, match=f'changed places .*{NAMES[1]} for {NAMES[0]}'):
        queue.input.inspect(message)
    for names in (NAMES, NAMES[::-1]):
        layout, problem = queue.input.inspect(JointStateWriter(names).write(1))
        assert tuple(layout.names) == names and not problem
    queue.input.release()
    layout, problem = queue.input.inspect(message)
    assert tuple(layout.names) == swapped and not problem


def test_in_lockstep_every_state_is_answered():
    queue = Queue(lockstep=True)
    queue.put(NAMES, 0.1, 10**9)
    queue.put(NAMES, 0.2, 2 * 10**9)
    assert queue.receive() == 10**9
    np.testing.assert_array_equal(queue.input.q, np.full(7, 0.1))
