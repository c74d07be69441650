"""Native control loop: its arrays, its thread, and its exchange of data with Python."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
from typing import Any, cast

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node

from robodyn_ros.control import turn
from robodyn_ros.control.blocks import Memory
from robodyn_ros.control.host import Host
from robodyn_ros.control.shared_block import ROW
from robodyn_ros.control.turn_host import PHASES, TurnHost
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.nodes.cdr import JointStateLayout, LITTLE_ENDIAN
from robodyn_ros.nodes.command_writer import CommandWriter
from robodyn_ros.nodes.native import code, rcl
from robodyn_ros.nodes.native.block import Block, Layouts, PLACES
from robodyn_ros.nodes.native.loop_data import LoopData
from robodyn_ros.nodes.native.rcl import probe
from robodyn_ros.nodes.native.thread import check_platform, LoopThread
from robodyn_ros.safety.acceptance import State

ROWS = 1024          # rows of the ring buffer, one per cycle
_CAPACITY = 65_536   # bytes of a message


class LoopHandles:
    """
    Subscriptions and publishers of a control loop.

    Parameters
    ----------
    node : Node
        Owner of the handles.
    states, guard_states : Subscription or None
        Subscriptions of joint states and of the state of the guard.
    torques, heartbeats : Publisher
        Publishers of commands and of Header.
    writer : CommandWriter
        Writer of the commands.

    """

    def __init__(self, node: Node, states, guard_states, torques, heartbeats,
                 writer: CommandWriter):
        self.node, self.states, self.guard_states = node, states, guard_states
        self.torques, self.heartbeats, self.writer = torques, heartbeats, writer


class NativeLoop:
    """
    Runs the cycle of an arm in a thread that needs no Python interpreter.

    Between `start` and `stop` the memory of the host is a copy; a change of its program takes
    effect with the next `submit` of its data.

    Parameters
    ----------
    host : Host
        Memory and program of the arm.
    turns : TurnHost
        Permission to command, and pace.
    handles : LoopHandles
        Subscriptions and publishers.
    simulated : bool
        Whether stamps are simulated time.

    Attributes
    ----------
    block : Block
        Words shared with the thread.
    data : LoopData
        Programs to it, and rows from it.

    Raises
    ------
    NativeLoopError
        The platform or the middleware does not support the native loop.

    """

    def __init__(self, host: Host, turns: TurnHost, handles: LoopHandles, simulated: bool):
        check_platform()
        self._host, self._turns, self._handles = host, turns, handles
        self._rcl = functions = rcl.Rcl()
        self._probe(handles)
        self.block = block = Block()
        d = host.compiled.dimensions
        places = {f'{name}.{entry.name}': entry.begin for name, cls in (
            ('state', State), ('memory', Memory), ('inputs', turn.Inputs),
            ('turn', turn.Memory)) for entry in blocks.entries(cls, d)}
        compiled = code.compiled({name: place for name, place in places.items()
                                  if not name.startswith('memory.')
                                  or name == 'memory.acceptance.kind'})
        self.data = LoopData(host, block, compiled, self._write_program, self._wake_up,
                             turns.values['memory'])
        block.set_functions(functions.addresses)
        for name, function in turns.functions.items():
            block[f'turn_{name}'] = function.address
        self._arrays(host, turns)
        self._messages(handles)
        block['simulated'] = simulated
        block['depth'] = handles.states.qos_profile.depth
        self._info = np.zeros(rcl.INFO, dtype=np.uint8)
        block['info'] = self._info.ctypes.data
        self._owned = [
            functions.wait_set(handles.node.context, 1 + (handles.guard_states is not None)),
            functions.buffer(_CAPACITY), functions.buffer(_CAPACITY)]
        for name, owned in zip(('wait_set', 'state_message', 'guard_message'), self._owned):
            block[name] = ctypes.addressof(owned)
        self._wake = rclpy_implementation.GuardCondition(cast(Any, handles.node.context.handle))
        for name, handle in (('wake', self._wake), ('states', handles.states.handle),
                             ('torques', handles.torques.handle),
                             ('heartbeats', handles.heartbeats.handle)):
            block[name] = handle.pointer
        block['guard_states'] = (0 if handles.guard_states is None
                                 else handles.guard_states.handle.pointer)
        self._thread = LoopThread('control loop', compiled, block, self.stop,
                                  self._wake.trigger_guard_condition)

    def _probe(self, handles: LoopHandles) -> None:
        expected = {each.topic_name: (kind, each.handle.pointer) for kind, each in (
            ('subscription', handles.states), ('publisher', handles.torques),
            ('publisher', handles.heartbeats), ('subscription', handles.guard_states)) if each}
        probe(handles.node, self._rcl, expected)

    # --- arrays -----------------------------------------------------------------------------

    def _arrays(self, host: Host, turns: TurnHost) -> None:
        block, bound = self.block, host.bound
        self._state, self._memory, self._before, self._torque = (
            np.zeros_like(each) for each in (
                bound.state, bound.memory, bound.memory, bound.torque))
        self._programs = [bound.program.copy() for _ in range(3)]
        self._segments = [bound.segments] * 3
        self._cycle = bound.copy(self._state, self._before, self._programs[0], self._torque,
                                 self._memory)
        arguments = self._cycle.arguments
        block['cycle'], block['cycle_block'] = self._cycle.code, self._cycle.block
        function = host.compiled.function
        block['program_slot'] = arguments[function.place('program'):].ctypes.data
        block['segments_slot'] = arguments[function.place('path'):].ctypes.data
        self._values = {name: each.copy() for name, each in turns.values.items()}
        for name, key in (('inputs', 'inputs'), ('previous', 'previous'), ('result', 'result'),
                          ('turn_program', 'program'), ('turn', 'memory')):
            block[name] = self._values[key].ctypes.data
        block['turn_bytes'] = self._values['memory'].nbytes
        for name, array in (('state', self._state), ('memory', self._memory),
                            ('torque', self._torque)):
            block[name] = array.ctypes.data
        block['memory_bytes'] = self._memory.nbytes
        width = len(ROW) + self._values['memory'].size + self._memory.size
        ring = np.full((ROWS, width), -1, dtype=np.int64)
        block['ring'], block['ring_rows'] = ring.ctypes.data, ROWS
        block['ring_bytes'] = ring.strides[0]
        self.data.set_arrays(ring, self._programs)
        self._unknown = np.zeros(_CAPACITY, dtype=np.uint8)
        block['unknown'], block['unknown_bytes'] = self._unknown.ctypes.data, _CAPACITY
        self._layouts = Layouts(block)

    def _messages(self, handles: LoopHandles) -> None:
        block, functions, writer = self.block, self._rcl, handles.writer
        data, command = writer.message.data.copy(), self._torque
        if writer.function is not None:
            self._drive, (_, command) = writer.bound(self._memory, self._torque)
            block['drive'], block['drive_block'] = self._drive.code, self._drive.block
        self._numbers = writer.message.places * np.array([8, 1, 1]) + np.array(
            [command.ctypes.data, data.ctypes.data, 0])
        block['numbers'], block['number_count'] = self._numbers.ctypes.data, len(self._numbers)
        block['command_stamp'] = writer.message.stamp and data.ctypes.data + (
            writer.message.stamp - len(LITTLE_ENDIAN))
        block['effort_scale'] = writer.scale.ctypes.data
        heartbeats = [np.frombuffer(bytearray(_header(phase.value)), dtype=np.uint8)
                      for phase in PHASES]
        messages = (rcl.SerializedMessage * 4)(
            *(functions.message(each) for each in (*heartbeats, data)))
        block['heartbeat_messages'] = ctypes.addressof(messages)
        block['torque_message'] = ctypes.addressof(messages[3])
        texts = [np.frombuffer(_text(state.value), dtype=np.uint8)
                 for state in turn.GUARD_STATES]
        table = np.array([(each.ctypes.data, each.size) for each in texts], dtype=np.int64)
        block['guard_state_table'], block['guard_state_count'] = table.ctypes.data, len(texts)
        self._kept = heartbeats, messages, texts, table, data, command

    def register(self, layout: JointStateLayout, joint_names: Sequence[str],
                 velocity_required: bool) -> str:
        """Register a layout of joint states; return why it cannot be read, see `Layouts`."""
        return self._layouts.register(layout, joint_names, velocity_required)

    # --- the thread -------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether the loop runs."""
        return self._thread.running

    def start(self, stamp: int, guard_subscribed: bool) -> int:
        """
        Start with the memory and the program of the host; return the id of the thread.

        Parameters
        ----------
        stamp : int
            Time above the stamps of all heartbeats so far, in ns.
        guard_subscribed : bool
            Whether a guard subscribes to heartbeats.

        """
        host, block = self._host, self.block
        self._memory[:], self._state[:] = host.bound.memory, host.bound.state
        for name, array in self._values.items():
            array[:] = self._turns.values[name]
        block['since'] = self._turns.since or stamp
        block['heartbeat_stamp'], block['guard_subscribed'] = stamp, guard_subscribed
        for name in ('lost', 'unknown_length', 'foreign0', 'foreign1'):
            block[name] = 0
        self.data.begin()
        handles = self._handles
        self._thread.start(handles.node, handles.states, handles.guard_states, handles.torques,
                           handles.heartbeats)
        host.remote = self.data
        return self._thread.native_id

    def stop(self) -> None:
        """Stop the loop; copy its memory to the host."""
        if not self.running:
            return
        self._thread.stop()
        self._host.remote = None
        self._host.bound.memory[:] = self._memory
        self._turns.values['memory'][:] = self._values['memory']

    def close(self) -> None:
        """Stop the loop and release its resources."""
        self.stop()
        for owned in self._owned:
            self._rcl.close(owned)
        self._owned = []
        self._wake.destroy_when_not_in_use()

    # --- data -------------------------------------------------------------------------------

    def _wake_up(self) -> None:
        self._wake.trigger_guard_condition()

    def _write_program(self, free: int, number: int) -> None:
        self._segments[free] = segments = self._host.bound.segments
        place = PLACES[f'number{free}']
        self.block.words[place:place + 4] = (number, self._programs[free].ctypes.data,
                                             segments.ctypes.data, len(segments))

    def bind(self, name: str, source: bytes) -> None:
        """Bind `state_source` or `guard_source` to a publisher; empty: to none."""
        words = np.frombuffer(source.ljust(16, b'\0')[:16], dtype=np.int64)
        for k, word in enumerate(words):
            self.block[f'{name}{k}'] = int(word)

    @property
    def foreign(self) -> bytes:
        """Return the publisher of the last message that was not taken; empty: there was none."""
        words = [self.block[f'foreign{k}'] for k in range(2)]
        return np.array(words, dtype=np.int64).tobytes() if any(words) else b''

    def unknown_message(self) -> bytes | None:
        """Return a message of a layout that is not registered, once; None without one."""
        length = self.block['unknown_length']
        if not length:
            return None
        data = self._unknown[:length].tobytes()
        self.block['unknown_length'] = 0
        return data


def _header(text: str) -> bytes:
    """Return a serialized Header without a stamp."""
    return LITTLE_ENDIAN + bytes(8) + _text(text)


def _text(text: str) -> bytes:
    encoded = text.encode() + b'\0'
    return len(encoded).to_bytes(4, 'little') + encoded
