"""Layouts of messages for machine code: bytes to compare, and offsets of the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.nodes.cdr import DoublesLayout, JointStateLayout
from robodyn_ros.nodes.native.block import Block, LAYOUT

MAX_LAYOUTS = 8


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
