"""
Block of a native loop: named 64-bit words, shared by Python and machine code.

A word is an integer, an address, or, if its name begins with `~`, a float64. Layouts of messages
are tables that the block points to: bytes to compare, and offsets of the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robodyn_ros.nodes.cdr import DoublesLayout, JointStateLayout

MAX_LAYOUTS = 8


def places_of(words: Sequence[str]) -> dict[str, int]:
    """Return the index of each word by its name."""
    return {name.lstrip('~'): place for place, name in enumerate(words)}


# words of the controller's loop

FUNCTIONS = ('clear', 'add_subscription', 'add_guard_condition', 'wait', 'take', 'publish',
             'matched', 'forget_error', 'clock_gettime', 'usleep', 'turn_wait', 'turn_guard_heard',
             'turn_begin', 'turn_check', 'turn_sent', 'turn_end', 'turn_heartbeat', 'cycle',
             'drive')
WORDS = (
    # set by Python before the loop starts
    *FUNCTIONS, 'wait_set', 'wake', 'states', 'guard_states', 'torques', 'heartbeats',
    'state_message', 'guard_message', 'torque_message', 'heartbeat_messages',
    'guard_state_table', 'guard_state_count', 'simulated',
    # numbers of a command: address, place in the message, size; address of its stamp less its
    # offset in a Header, or 0; drive: 0 where the torques are sent as they are
    'drive_block', 'numbers', 'number_count', 'command_stamp', 'effort_scale',
    'inputs', 'previous', 'turn_program', 'turn', 'result', 'turn_bytes',
    'cycle_block', 'state', 'memory', 'memory_bytes', 'torque', 'program_slot', 'segments_slot',
    'since', 'depth', 'ring', 'ring_rows', 'ring_bytes',
    # address of a message info; publishers that are bound, 0: any
    'info', 'state_source0', 'state_source1', 'guard_source0', 'guard_source1',
    # set by Python at any time; current: newest program; chosen: argument of `swap`; lost: the
    # guard has commanded (set by both); alive: time of Python's last poll; cause: why no state is
    # used, a code of the controller's messages
    'stop', 'guard_subscribed', 'layouts', 'layout_count', 'current', 'chosen', 'lost', '~alive',
    '~cause',
    # set by machine code; using: index, used: number of the program of this turn; count: turns;
    # refused, others: messages of unknown layouts, of other joints; sent, withheld: torques;
    # unsent: the last one was withheld; strangers: messages of other publishers, foreign: the
    # last of them
    'using', 'used', 'count', 'unknown', 'unknown_bytes', 'unknown_length', 'refused', 'others',
    'errors', 'sent', 'heartbeat_stamp', 'unsent', 'withheld', 'stamp', 'strangers', 'foreign0',
    'foreign1',
    # programs: number, address, segments, rows of segments
    *(f'{name}{k}' for k in range(3) for name in ('number', 'program', 'segments', 'rows')),
    # scratch of the machine code
    'seconds', 'nanoseconds', 'subscribers')
PLACES = places_of(WORDS)

# words of a known layout of messages
LAYOUT = ('size', 'ranges', 'range_count', 'template', 'joints', 'position', 'velocity', 'effort',
          'columns')


class Block:
    """
    Words by name.

    Parameters
    ----------
    places : mapping of str to int
        Index of each word.
    words : (n,) array of int64, optional
        Memory of the block; default new memory.

    Attributes
    ----------
    words : (n,) array of int64
    numbers : (n,) array of float64
        The same memory.

    """

    def __init__(self, places: Mapping[str, int] = PLACES, words: np.ndarray | None = None):
        self._places = places
        self.words = np.zeros(len(places), dtype=np.int64) if words is None else words
        self.numbers = self.words.view(np.float64)

    def __getitem__(self, name: str) -> int:
        return int(self.words[self._places[name]])

    def __setitem__(self, name: str, value: int) -> None:
        self.words[self._places[name]] = value

    def number(self, name: str) -> float:
        """Return a word that is a float64."""
        return float(self.numbers[self._places[name]])

    def set_number(self, name: str, value: float) -> None:
        """Set a word that is a float64."""
        self.numbers[self._places[name]] = value

    def set_functions(self, addresses: Mapping[str, int]) -> None:
        """Set the addresses of those functions that have a word."""
        for name in addresses.keys() & self._places.keys():
            self[name] = addresses[name]

    @property
    def address(self) -> int:
        """Return the address of the block."""
        return self.words.ctypes.data


class LayoutTable:
    """
    Registered layouts of messages of a loop.

    Parameters
    ----------
    block : Block
        Block of the loop.
    table, count : str
        Words for the address of the table and for the number of layouts.

    """

    def __init__(self, block: Block, table: str = 'layouts', count: str = 'layout_count'):
        self._block, self._count = block, count
        self._table = np.zeros((MAX_LAYOUTS, len(LAYOUT)), dtype=np.int64)
        self._kept: list = []
        self._known: set = set()
        block[table] = self._table.ctypes.data

    def add(self, layout: JointStateLayout | DoublesLayout, columns: Sequence[int],
            position: int, velocity: int, effort: int) -> bool:
        """
        Add a layout, unless it is registered; return False if the table is full.

        Parameters
        ----------
        layout : JointStateLayout or DoublesLayout
            Layout with the bytes to compare.
        columns : sequence of int
            Indices of the numbers of the joints: in the message (joint states), or in the model
            (commands).
        position, velocity, effort : int
            Offsets of the arrays in the message; -1 if an array is not read.

        """
        content = (position, velocity, effort, tuple(columns), tuple(layout.compared), b''.join(
            layout.data[begin:begin + size] for begin, size in layout.compared))
        if content in self._known:
            return True
        k = self._block[self._count]
        if k == MAX_LAYOUTS:
            return False
        template = np.frombuffer(layout.data, dtype=np.uint8).copy()
        ranges = np.array(layout.compared, dtype=np.int64)
        numbers = np.array(columns, dtype=np.int64)
        self._kept.append((template, ranges, numbers))
        self._table[k] = (template.size, ranges.ctypes.data, len(ranges), template.ctypes.data,
                          numbers.size, position, velocity, effort, numbers.ctypes.data)
        self._block[self._count] = k + 1
        self._known.add(content)
        return True


class Layouts(LayoutTable):
    """Registered layouts of joint states of the controller's loop."""

    def register(self, layout: JointStateLayout, joint_names: Sequence[str],
                 velocity_required: bool = True) -> str:
        """
        Register a layout; messages of other joints are ignored.

        Returns
        -------
        problem : str
            Reason why the layout cannot be read; empty if it can.

        """
        ours = [name for name in joint_names if name in layout.names]
        (count, position), (speeds, velocity), (efforts, effort) = layout.arrays
        names = len(layout.names)
        if layout.order != '<':
            return 'joint states are not little-endian'
        if ours and len(ours) < len(joint_names):
            return 'joint states come in several messages'
        if ours and (len(set(layout.names)) < names or count != names
                     or speeds not in ({names} if velocity_required else {0, names})):
            return 'joint states lack positions or velocities, or name a joint twice'
        columns = [layout.names.index(name) for name in ours]
        known = self.add(layout, columns, position, velocity if speeds else -1,
                         effort if efforts == names else -1)
        return '' if known else (f'joint states have more than {MAX_LAYOUTS} layouts; loop: '
                                 'python reads any number')


class CommandLayouts(LayoutTable):
    """
    Registered layouts of commands of the simulator's loop.

    Parameters
    ----------
    block : Block
        Block of the loop.
    table, count : str
        As for `LayoutTable`.
    joint_names, command_joints : sequence of str
        The model's joints; their order in arrays without names.

    """

    def __init__(self, block: Block, table: str, count: str, joint_names: Sequence[str],
                 command_joints: Sequence[str]):
        super().__init__(block, table, count)
        self._joint_names, self._order = list(joint_names), list(command_joints)

    def register_array(self, data: bytes) -> bool:
        """Register the layout of a valid Float64MultiArray; return whether it can be read."""
        layout = DoublesLayout(data)
        return self._add(layout, self._order, *layout.array)

    def register_named(self, data: bytes) -> bool:
        """Register the layout of a JointState with valid efforts; return if it can be read."""
        layout = JointStateLayout(data)
        return self._add(layout, layout.names, *layout.arrays[2])

    def _add(self, layout, names: Sequence[str], count: int, begin: int) -> bool:
        if layout.order != '<' or count != len(names):
            return False
        return self.add(layout, [self._joint_names.index(name) for name in names], -1, -1, begin)
