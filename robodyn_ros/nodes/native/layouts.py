"""Layouts of JointState messages in machine code: what is compared, and where the numbers are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.nodes.cdr import JointStateLayout
from robodyn_ros.nodes.native.block import Block, LAYOUT

MOST = 8


class Layouts:
    """
    The layouts that a loop knows.

    Parameters
    ----------
    block : Block
        Of the loop.

    """

    def __init__(self, block: Block):
        self._block = block
        self._table = np.zeros((MOST, len(LAYOUT)), dtype=np.int64)
        self._kept: list = []
        self._known: set = set()
        block['layouts'] = self._table.ctypes.data

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
        content = (tuple(layout.arrays), tuple(layout.compared), b''.join(
            layout.data[begin:begin + size] for begin, size in layout.compared))
        if content in self._known:
            return ''
        k = self._block['layout_count']
        if k == MOST:
            return f'joint states have more than {MOST} layouts'
        template = np.frombuffer(layout.data, dtype=np.uint8).copy()
        ranges = np.array(layout.compared, dtype=np.int64)
        columns = np.array([layout.names.index(name) for name in ours], dtype=np.int64)
        self._kept.append((template, ranges, columns))
        self._table[k] = (
            template.size, ranges.ctypes.data, len(ranges), template.ctypes.data, len(ours),
            position, velocity if speeds else -1, effort if efforts == names else -1,
            columns.ctypes.data)
        self._block['layout_count'] = k + 1
        self._known.add(content)
        return ''
