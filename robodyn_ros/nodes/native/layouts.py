"""Layouts of messages in machine code: what is compared, and where the numbers are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.nodes.cdr import DoublesLayout, JointStateLayout
from robodyn_ros.nodes.native.block import Block, LAYOUT

MOST = 8


class LayoutTable:
    """
    Layouts of messages that a loop knows.

    Parameters
    ----------
    block : Block
        Of the loop.
    table, count : str
        Words for the address of the table and for how many there are.

    """

    def __init__(self, block: Block, table: str = 'layouts', count: str = 'layout_count'):
        self._block, self._count = block, count
        self._table = np.zeros((MOST, len(LAYOUT)), dtype=np.int64)
        self._kept: list = []
        self._known: set = set()
        block[table] = self._table.ctypes.data

    def add(self, layout: JointStateLayout | DoublesLayout, columns: Sequence[int],
            position: int, velocity: int, effort: int) -> bool:
        """
        Add a layout, unless it is known; return whether there was room.

        Parameters
        ----------
        layout : JointStateLayout or DoublesLayout
            What it is compared with.
        columns : sequence of int
            What the loop makes of each number, or where it finds it.
        position, velocity, effort : int
            Where the arrays begin; -1 if they are not read.

        """
        content = (position, velocity, effort, tuple(columns), tuple(layout.compared), b''.join(
            layout.data[begin:begin + size] for begin, size in layout.compared))
        if content in self._known:
            return True
        k = self._block[self._count]
        if k == MOST:
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
    """Layouts of joint states that the controller's loop knows."""

    def register(self, layout: JointStateLayout, joint_names: Sequence[str],
                 velocity_required: bool = True) -> str:
        """
        Let the loop read messages of a layout; those of other joints are passed over.

        Returns
        -------
        problem : str
            Why it cannot, empty if it can.

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
        return '' if known else f'joint states have more than {MOST} layouts'


class CommandLayouts(LayoutTable):
    """
    Layouts of commands that the simulator's loop knows.

    Parameters
    ----------
    block : Block
        Of the loop.
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
        """Let the loop read Float64MultiArrays like a good one; return whether it can."""
        layout = DoublesLayout(data)
        return self._add(layout, self._order, *layout.array)

    def register_named(self, data: bytes) -> bool:
        """Let the loop read JointStates like one with good efforts; return whether it can."""
        layout = JointStateLayout(data)
        return self._add(layout, layout.names, *layout.arrays[2])

    def _add(self, layout, names: Sequence[str], count: int, begin: int) -> bool:
        if layout.order != '<' or count != len(names):
            return False
        return self.add(layout, [self._joint_names.index(name) for name in names], -1, -1, begin)
