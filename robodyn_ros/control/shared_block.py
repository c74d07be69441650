"""
Layout of the block in shared memory between a controller of ros2_control and its owner.

The controller runs the cycle; the owner, a node of this package, writes programs. The layout is
declared once: C++ reads it as constants of a header, Python as offsets of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import hashlib

import numpy as np

from robodyn_ros.control.compiled import BLOCKS, CompiledCycle
from robodyn_ros.control.steps.laws import NAMES
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.flow import Table

MAGIC = 0x314F52434E594452  # 'RDYNCRO1'
RING_ROWS = 1024     # cycles
SEGMENT_ROWS = 2048  # segments of trajectories
LOCK_CONTROLLER, LOCK_OWNER = 0, 1  # bytes of the file that are locked by each side

# set by the controller before it writes the first word
HEAD = ('magic', 'bytes', 'layout', 'code', 'arm', 'options', 'laws')
WORDS = (
    *HEAD,
    # set by the owner
    'current', '~alive', '~patience',
    # set by the controller; session: number of the activation
    'using', 'used', 'count', 'session', 'active', 'chained',
    # programs: number, rows of segments, handover and session for which they are compiled
    *(f'{name}{k}' for k in range(3) for name in ('number', 'rows', 'handover', 'session')),
    'chosen')  # scratch of the owner
PROGRAM_WORDS = 4
# first words of a row of the ring, as of the native loop; the memory follows
ROW = ('number', 'stamp', '~arrival', '~wall', '~end', 'sent')
_TEXT, _TEXT_BYTES, _LINE = 1024, 256, 64  # offset of the name of the robot; bytes of alignment


@dataclass(frozen=True)
class SharedLayout:
    """
    Places of the block, for one arm.

    Attributes
    ----------
    sizes : dict of str to int
        Lengths of the blocks of the cycle.
    segment : int
        Length of a segment.
    digests : dict of str to int
        What must be the same on both sides: the words layout, code, arm and options.
    laws : int
        Bits of the rows of the laws that can be selected.

    """

    sizes: dict[str, int]
    segment: int
    digests: dict[str, int]
    laws: int

    @classmethod
    def of(cls, compiled: CompiledCycle, joint_names: Sequence[str],
           names: Sequence[str] = NAMES) -> SharedLayout:
        """Return the layout for the cycle of an arm, with the laws of these names."""
        path = compiled.function.arguments['path']
        assert isinstance(path, Table)
        segment = path.columns
        entries = [(name, entry.name, entry.begin, int(entry.size)) for name, block in
                   BLOCKS.items() for entry in blocks.entries(block, compiled.dimensions)]
        # keys identify all that the code of a function depends on
        functions = [compiled.function, *(
            each for table in compiled.functions.values() for each in table)]
        parts = [str(each.key).split('|') for each in functions]
        arm, code, _, *_ = parts[0]
        digests = {'layout': (WORDS, ROW, RING_ROWS, SEGMENT_ROWS, segment, entries),
                   'code': code, 'arm': (arm, tuple(joint_names)),
                   'options': [options for _, _, options, *_ in parts]}
        return cls({name: int(size) for name, size in compiled.sizes.items()}, segment,
                   {name: _digest(value) for name, value in digests.items()},
                   sum(1 << NAMES.index(name) for name in names))

    @property
    def program_bytes(self) -> int:
        """Return the distance of two programs."""
        return _aligned(8 * self.sizes['program'])

    @property
    def segments_bytes(self) -> int:
        """Return the distance of two tables of segments."""
        return _aligned(8 * SEGMENT_ROWS * self.segment)

    @property
    def row_bytes(self) -> int:
        """Return the distance of two rows of the ring."""
        return 8 * (len(ROW) + self.sizes['memory'])

    @property
    def programs(self) -> int:
        """Return the offset of the programs."""
        return _TEXT + _TEXT_BYTES

    @property
    def handover(self) -> int:
        """Return the offset of the memory that an owner hands over."""
        return self.programs + 3 * self.program_bytes

    @property
    def segments(self) -> int:
        """Return the offset of the tables of segments."""
        return self.handover + _aligned(8 * self.sizes['memory'])

    @property
    def ring(self) -> int:
        """Return the offset of the ring."""
        return self.segments + 3 * self.segments_bytes

    @property
    def total(self) -> int:
        """Return the size of the block."""
        return self.ring + RING_ROWS * self.row_bytes

    def head(self) -> dict[str, int]:
        """Return the first words."""
        return {'magic': MAGIC, 'bytes': self.total, **self.digests, 'laws': self.laws}

    def constants(self) -> dict[str, int]:
        """Return offsets in bytes, indices of words, and sizes, by their names in C."""
        words = {f'WORD_{name.lstrip("~").upper()}': k for k, name in enumerate(WORDS)}
        row = {f'ROW_{name.lstrip("~").upper()}': k for k, name in enumerate(ROW)}
        return {**words, **row, 'ROW_WORDS': len(ROW), 'PROGRAM_WORDS': PROGRAM_WORDS,
                'RING_ROWS': RING_ROWS, 'SEGMENT_ROWS': SEGMENT_ROWS,
                'LOCK_CONTROLLER': LOCK_CONTROLLER, 'LOCK_OWNER': LOCK_OWNER,
                'BLOCK_BYTES': self.total, 'BLOCK_TEXT': _TEXT, 'BLOCK_PROGRAMS': self.programs,
                'PROGRAM_BYTES': self.program_bytes, 'BLOCK_HANDOVER': self.handover,
                'BLOCK_SEGMENTS': self.segments, 'SEGMENTS_BYTES': self.segments_bytes,
                'BLOCK_RING': self.ring, 'ROW_BYTES': self.row_bytes}


def usual_name(robot: str) -> str:
    """Return the usual name of the block of a robot."""
    return '/robodyn.' + ''.join(each if each.isascii() and each.isalnum() else '_'
                                 for each in robot).lower()


def about(name: str, version: str) -> str:
    """Return the text of a block: the robot, and the version of this package."""
    return f'{name}, robodyn_ros {version}'[:_TEXT_BYTES - 1]


def read_about(block: np.ndarray) -> str:
    """Return the text of a block, as bytes."""
    return block[_TEXT:_TEXT + _TEXT_BYTES].tobytes().partition(b'\0')[0].decode('ascii',
                                                                                 'replace')


def _digest(value) -> int:
    """Return a positive word that identifies a value."""
    return int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:7], 'little')


def _aligned(size: int) -> int:
    return -(-size // _LINE) * _LINE
