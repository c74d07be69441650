"""A control loop in machine code: its arrays, its thread, and what Python reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
import time

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node

from robodyn_ros.control import blocks
from robodyn_ros.control.host import Host
from robodyn_ros.control.memory import Memory
from robodyn_ros.control.permission import CommandPermission, PHASES
from robodyn_ros.control.state import State
from robodyn_ros.control.steps import permission
from robodyn_ros.nodes.cdr import JointStateLayout, LITTLE_ENDIAN
from robodyn_ros.nodes.native import code, rcl
from robodyn_ros.nodes.native.block import Block, PLACES, ROW
from robodyn_ros.nodes.native.layouts import Layouts
from robodyn_ros.nodes.native.probe import probe
from robodyn_ros.nodes.native.thread import check_platform, LoopThread

ROWS = 1024          # of the ring, cycles
_CAPACITY = 65_536   # bytes of a message
_ANSWER = 2.0        # s in which the loop looks at a new program, on the busiest machine
_POLL = 1e-4         # s


class Wires:
    """
    The handles between which a loop runs.

    Parameters
    ----------
    node : Node
        Owner of all of them.
    states, words : Subscription or None
        Of joint states; of the states of the guard.
    torques, heartbeats : Publisher
        Of Float64MultiArray; of Header.
    torque_message : bytes
        Serialized message of torques; its last numbers are those.
    order : (nv,) array of int64
        Joint of the model of each number in it.

    """

    def __init__(self, node: Node, states, words, torques, heartbeats,
                 torque_message: bytes, order: np.ndarray):
        self.node, self.states, self.words = node, states, words
        self.torques, self.heartbeats = torques, heartbeats
        self.torque_message, self.order = torque_message, order


class Row:
    """
    What one turn of the loop has seen and done.

    Attributes
    ----------
    stamp : int
        Of the newest joint state, in ns.
    arrival, wall, end : float
        Times of the steady clock, of the clock of stamps, and again of the steady clock, in s.
    sent : int
        Torques sent so far.
    kind : float
        Kind of the cycle that was made of it, see `control.state`.

    """

    __slots__ = ('stamp', 'arrival', 'wall', 'end', 'sent', 'kind', 'memory', 'permission')

    def __init__(self, words: np.ndarray, kind_place: int, permission_size: int):
        numbers, begin = words.view(np.float64), len(ROW) + permission_size
        _, self.stamp, *_, self.sent = words[:len(ROW)].tolist()
        self.arrival, self.wall, self.end = numbers[2:5].tolist()
        self.permission, self.memory = numbers[len(ROW):begin], numbers[begin:]
        self.kind = self.memory.item(kind_place)


class NativeLoop:
    """
    Runs the cycle of an arm in a thread that needs no interpreter.

    Between `start` and `stop` the memory of the host is a copy, see `show`; its program
    counts from the next `submit` on.

    Parameters
    ----------
    host : Host
        Memory and program of the arm.
    deference : CommandPermission
        What is known of the guard.
    wires : Wires
        Where states come from and torques go.
    simulated : bool
        Whether the clock of the stamps is that of a simulation.
    period : float
        Seconds between torques without a state; infinite: none.
    patience : float
        Seconds without a sign of Python after which a motion is stopped.

    Attributes
    ----------
    missed : int
        Turns that were written over before `rows` was called.

    Raises
    ------
    NativeLoopError
        It cannot run here.

    """

    def __init__(self, host: Host, deference: CommandPermission, wires: Wires, simulated: bool,
                 period: float, patience: float):
        check_platform()
        self._host, self._deference, self._wires = host, deference, wires
        self._rcl = made = rcl.Rcl()
        self._probe(wires)
        self.block = block = Block()
        d = host.made.dimensions
        places = {f'{name}.{entry.name}': entry.begin for name, cls in (
            ('state', State), ('memory', Memory), ('turn', permission.Turn),
            ('permission', permission.Memory)) for entry in blocks.entries(cls, d)}
        self._kind_place = places['memory.acceptance.kind']
        self._code = code.compiled({name: place for name, place in places.items()
                                    if not name.startswith('memory.')
                                    or name == 'memory.acceptance.kind'})
        self._swap = ctypes.PYFUNCTYPE(None, ctypes.c_int64)(self._code.address('swap'))
        block.set_functions(made.addresses)
        for name, function in deference.functions.items():
            block[name] = function.address
        self._arrays(host, deference)
        self._messages(wires)
        block['simulated'] = simulated
        block.set_number('period', period)
        block.set_number('patience', patience)
        self._owned = [made.wait_set(wires.node.context, 1 + (wires.words is not None)),
                       made.buffer(_CAPACITY), made.buffer(_CAPACITY)]
        for name, owned in zip(('wait_set', 'state_message', 'word_message'), self._owned):
            block[name] = rcl.address_of(owned)
        self._wake = rclpy_implementation.GuardCondition(wires.node.context.handle)
        for name, handle in (('wake', self._wake), ('states', wires.states.handle),
                             ('torques', wires.torques.handle),
                             ('heartbeats', wires.heartbeats.handle)):
            block[name] = handle.pointer
        block['words'] = 0 if wires.words is None else wires.words.handle.pointer
        self._thread = LoopThread('control loop', self._code, block, self.stop,
                                  self._wake.trigger_guard_condition)
        self._read = self._number = self.missed = 0

    def _probe(self, wires: Wires) -> None:
        handles = {wires.states.topic_name: ('subscription', wires.states.handle.pointer),
                   wires.torques.topic_name: ('publisher', wires.torques.handle.pointer),
                   wires.heartbeats.topic_name: ('publisher', wires.heartbeats.handle.pointer)}
        if wires.words is not None:
            handles[wires.words.topic_name] = 'subscription', wires.words.handle.pointer
        marked = bytes(wires.torque_message[:-8]) + np.array([1.5]).tobytes()
        probe(wires.node, self._rcl, handles, marked)

    # --- what it works on -------------------------------------------------------------------

    def _arrays(self, host: Host, deference: CommandPermission) -> None:
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
        function = host.made.function
        block['program_slot'] = arguments[function.place('program'):].ctypes.data
        block['segments_slot'] = arguments[function.place('path'):].ctypes.data
        self._values = {name: each.copy() for name, each in deference.values.items()}
        for name, key in (('turn', 'turn'), ('before', 'before'), ('result', 'result'),
                          ('permission_program', 'program'), ('permission', 'memory')):
            block[name] = self._values[key].ctypes.data
        block['permission_bytes'] = self._values['memory'].nbytes
        for name, array in (('state', self._state), ('memory', self._memory),
                            ('torque', self._torque)):
            block[name] = array.ctypes.data
        block['memory_bytes'] = self._memory.nbytes
        width = len(ROW) + self._values['memory'].size + self._memory.size
        self._ring = np.full((ROWS, width), -1, dtype=np.int64)
        block['ring'], block['ring_rows'] = self._ring.ctypes.data, ROWS
        block['ring_bytes'] = self._ring.strides[0]
        self._strange = np.zeros(_CAPACITY, dtype=np.uint8)
        block['strange'], block['strange_bytes'] = self._strange.ctypes.data, _CAPACITY
        self._layouts = Layouts(block)

    def _messages(self, wires: Wires) -> None:
        block, made, n = self.block, self._rcl, len(wires.order)
        self._torque_bytes = np.frombuffer(bytearray(wires.torque_message), dtype=np.uint8)
        self._order = np.array(wires.order, dtype=np.int64)
        block['order'], block['joints'] = self._order.ctypes.data, n
        block['torque_data'] = self._torque_bytes.ctypes.data + self._torque_bytes.size - 8 * n
        beats = [np.frombuffer(bytearray(_header(phase.value)), dtype=np.uint8)
                 for phase in PHASES]
        messages = (rcl.SerializedMessage * 4)(
            *(made.message(each) for each in (*beats, self._torque_bytes)))
        block['heartbeat_messages'] = ctypes.addressof(messages)
        block['torque_message'] = ctypes.addressof(messages[3])
        texts = [np.frombuffer(_text(state.value), dtype=np.uint8)
                 for state in permission.GUARD_STATES]
        table = np.array([(each.ctypes.data, each.size) for each in texts], dtype=np.int64)
        block['word_table'], block['word_count'] = table.ctypes.data, len(texts)
        self._kept = beats, messages, texts, table

    def register(self, layout: JointStateLayout, joint_names: Sequence[str],
                 velocity_required: bool) -> str:
        """Let the loop read messages of a layout; return why it cannot, see `Layouts`."""
        return self._layouts.register(layout, joint_names, velocity_required)

    # --- the thread -------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether the loop has the arm."""
        return self._thread.running

    def start(self, stamp: int, heard: bool) -> int:
        """
        Begin with the memory and the program of the host; return the number of the thread.

        Parameters
        ----------
        stamp : int
            Above those of all heartbeats so far, in ns.
        heard : bool
            Whether a guard listens to heartbeats.

        """
        host, block = self._host, self.block
        self._memory[:], self._state[:] = host.bound.memory, host.bound.state
        for name, array in self._values.items():
            array[:] = self._deference.values[name]
        block['since'] = self._deference.since or stamp
        block['beat_stamp'] = stamp
        block['beat_phase'] = block['lost'] = block['commands'] = 0
        block['strange_length'] = block['failures'] = 0
        block['beat_phase'], block['heard'] = -1, heard
        block.set_number('due', np.inf)
        self.attend()
        self._read = block['count']
        self._put()
        wires = self._wires
        self._thread.start(wires.node, wires.states, wires.words, wires.torques, wires.heartbeats)
        host.remote = self
        return self._thread.native_id

    def stop(self) -> None:
        """End the loop; the memory is the host's again."""
        if not self.running:
            return
        self._thread.stop()
        self._host.remote = None
        self._host.bound.memory[:] = self._memory
        self._deference.values['memory'][:] = self._values['memory']

    def close(self) -> None:
        """Give everything back."""
        self.stop()
        for owned in self._owned:
            self._rcl.close(owned)
        self._owned = []
        self._wake.destroy_when_not_in_use()

    def attend(self) -> None:
        """Take note that Python is alive."""
        self.block.set_number('alive', time.monotonic())

    # --- programs ---------------------------------------------------------------------------

    def submit(self) -> None:
        """
        Let the loop use the program of the host, and wait until it has.

        Raises
        ------
        NativeLoopError
            It does not react.

        """
        number = self._put()
        self._wake.trigger_guard_condition()
        end = time.monotonic() + _ANSWER
        while self.block['used'] < number:
            if time.monotonic() > end:
                raise rcl.NativeLoopError('the control loop does not react')
            time.sleep(_POLL)
        self.refresh()

    def submit_changes(self) -> None:
        """Let the loop use the program of the host, if that has changed."""
        if self._programs[self.block['current']].tobytes() != self._host.bound.program.tobytes():
            self._put()

    def _put(self) -> int:
        block, host = self.block, self._host
        free = ({0, 1, 2} - {block['current'], block['using']}).pop()
        self._programs[free][:] = host.bound.program
        self._segments[free] = segments = host.bound.segments
        self._number += 1
        place = PLACES[f'number{free}']
        block.words[place:place + 4] = (self._number, self._programs[free].ctypes.data,
                                        segments.ctypes.data, len(segments))
        block['chosen'] = free
        self._swap(block.address)
        return self._number

    # --- what it has done -------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """Return what the turns since the last call have seen and done, as far as it is kept."""
        count = self.block['count']
        rows = map(self._row, range(max(self._read, count - ROWS + 1), count))
        kept = [row for row in rows if row is not None]
        self.missed += count - self._read - len(kept)
        self._read = count
        return kept

    def _row(self, number: int) -> Row | None:
        """Return a turn by its number; None if the loop has written over it meanwhile."""
        words = self._ring[number % ROWS].copy()
        if words[0] == self._ring[number % ROWS, 0] == number:
            return Row(words, self._kind_place, self._values['memory'].size)
        return None

    def refresh(self) -> None:
        """Let the memory of the host be that of the newest turn."""
        while (row := self._row(self.block['count'] - 1)) is None:
            pass
        self.show(row)

    def show(self, row: Row) -> None:
        """Let the memory of the host be that of a turn."""
        self._host.bound.memory[:] = row.memory
        self._deference.values['memory'][:] = row.permission

    def strange(self) -> bytes | None:
        """Return a message whose layout the loop does not know, once."""
        length = self.block['strange_length']
        if not length:
            return None
        data = self._strange[:length].tobytes()
        self.block['strange_length'] = 0
        return data


def _header(text: str) -> bytes:
    """Return a serialized Header without a stamp."""
    return LITTLE_ENDIAN + bytes(8) + _text(text)


def _text(text: str) -> bytes:
    encoded = text.encode() + b'\0'
    return len(encoded).to_bytes(4, 'little') + encoded
