"""Control loop in controller_manager: its block in shared memory, as seen by the owner."""

from __future__ import annotations

from contextlib import suppress
import fcntl
import mmap
import os
from pathlib import Path
import re
import stat
import struct

from llvmlite import ir
import numpy as np

from robodyn_ros import __version__
from robodyn_ros.control.host import Host
from robodyn_ros.control.shared_block import (
    HEAD, LOCK_OWNER, MAGIC, read_about, RING_ROWS, SEGMENT_ROWS, SharedLayout, WORDS)
from robodyn_ros.exceptions import ParameterError, shown, StateError
from robodyn_ros.nodes.native import writer
from robodyn_ros.nodes.native.block import Block, places_of
from robodyn_ros.nodes.native.loop_data import LoopData, Row
from robodyn_ros.nodes.native.thread import check_platform

PLACES = places_of(WORDS)
_FOLDER = Path('/dev/shm')  # of shm_open
_NAME = re.compile(r'/[A-Za-z0-9_-][A-Za-z0-9._-]{0,198}')
_FLOCK = 'hhqqi4x'
_EXPORT = 'write the package anew (robodyn export --ros2-control) and build it'
_DIFFERENT = {
    'layout': f'by another version of robodyn_ros: {_EXPORT} with this one',
    'code': f'by another version of robodyn_ros: {_EXPORT} with this one',
    'arm': f'for another arm, or another description of it: {_EXPORT} from the URDF of this node',
    'options': 'with other position limits, link of the Cartesian laws, link of the adaptation, '
               f'or stale.stop: {_EXPORT} with the parameters of this node',
}


class SharedLoop:
    """
    The cycle of an arm in a controller of ros2_control, which this process owns.

    Parameters
    ----------
    host : Host
        Memory and program of the arm.
    joint_names : sequence of str
        Names of its joints.
    name : str
        Name of the block in shared memory, as /robodyn.arm.
    patience : float
        Seconds without `reset_watchdog` after which the controller stops a motion.

    Raises
    ------
    NativeLoopError
        The platform does not support it.

    """

    def __init__(self, host: Host, joint_names, name: str, patience: float):
        check_platform()
        module = ir.Module('shared loop')
        w = writer.Writer(module, 'swap', PLACES)
        w.swap()
        w.b.ret_void()
        self._host = host
        self.data = LoopData(host, Block(PLACES), writer.compiled(str(module)),
                             self._write_program)
        self._layout = SharedLayout.of(host.compiled, joint_names)
        if not _NAME.fullmatch(name):
            raise ParameterError(f'shared_block is {shown(name)}: set it to / and letters, '
                                 'digits, dots, _ or -', parameter='shared_block', value=name)
        self._path, self._name, self._patience = _FOLDER / name[1:], name, patience
        self._joints = tuple(joint_names)
        self._file = -1
        self._memory: mmap.mmap | None = None
        self._session = self._handover = 0
        self._kept: list = [None] * 3

    @property
    def block(self) -> Block:
        """Words shared with the controller; those of no controller while none is attached."""
        return self.data.block

    # --- the block --------------------------------------------------------------------------

    @property
    def is_attached(self) -> bool:
        """Whether a block is open and owned."""
        return self._memory is not None

    def attach(self) -> None:
        """
        Open and own the block, anew if another controller has made it anew.

        Raises
        ------
        StateError
            There is none, it does not fit, or it has another owner; the message has the remedy.

        """
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            self.close()
            raise StateError(
                f'no controller has made the shared block {self._name} ({error.strerror}): load '
                'and activate the exported controller in controller_manager, or correct '
                'shared_block') from error
        try:
            self._check_file(os.fstat(file))
        except StateError:
            os.close(file)
            self.close()
            raise
        if self.is_attached and os.fstat(file).st_ino == os.fstat(self._file).st_ino:
            os.close(file)
            return
        self.close()
        self._file = file
        try:
            self._map()
        except BaseException:
            self.close()
            raise

    def _check_file(self, found: os.stat_result) -> None:
        """Raise `StateError` for a file that another user has made, or may write."""
        if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
            raise StateError(f'the shared block {self._name} belongs to user {found.st_uid}, and '
                             f'this node to user {os.geteuid()}: run controller_manager and this '
                             'node as the same user, or remove the file from /dev/shm')
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise StateError(f'the shared block {self._name} may be opened by other users (mode '
                             f'{stat.S_IMODE(found.st_mode):o}): remove it from /dev/shm and '
                             'restart controller_manager')

    def _map(self) -> None:
        layout, size = self._layout, os.fstat(self._file).st_size
        if size < 8 * len(HEAD):
            raise StateError(f'the shared block {self._name} is being made')
        self._memory = memory = mmap.mmap(self._file, size)
        data = np.frombuffer(memory, dtype=np.uint8)
        head = dict(zip(HEAD, data[:8 * len(HEAD)].view(np.int64).tolist()))
        if head['magic'] != MAGIC:
            raise StateError(f'the shared block {self._name} is being made, or is of another '
                             'program')
        self._check(head, read_about(data))
        if head['bytes'] != size:
            raise StateError(f'the shared block {self._name} is incomplete: restart '
                             'controller_manager')
        self._own()

        def part(begin: int, count: int, distance: int, length: int, kind) -> np.ndarray:
            rows = data[begin:begin + count * distance].reshape(count, distance)
            return rows[:, :8 * length].view(kind)

        self.data.block = Block(PLACES, data[:8 * len(WORDS)].view(np.int64))
        width = layout.row_bytes
        self._tables = part(layout.segments, 3, layout.segments_bytes,
                            SEGMENT_ROWS * layout.segment, np.float64)
        self._given = part(layout.handover, 1, 8 * layout.sizes['memory'],
                           layout.sizes['memory'], np.float64)[0]
        self.data.set_arrays(
            part(layout.ring, RING_ROWS, width, width // 8, np.int64),
            part(layout.programs, 3, layout.program_bytes, layout.sizes['program'], np.float64))
        self._kept = [None] * 3

    def _check(self, head: dict[str, int], about: str) -> None:
        """Raise `StateError` if the controller was exported for something else."""
        mine = self._layout.head()
        for key, text in _DIFFERENT.items():
            if head[key] != mine[key]:
                raise StateError(f'the controller of {self._name} ({about}) was exported {text} '
                                 f'(this is robodyn_ros {__version__})')
        if missing := mine['laws'] & ~head['laws']:
            raise StateError(f'the controller of {self._name} was exported without some laws '
                             f'({missing:b}): {_EXPORT} with --laws all')

    def _own(self) -> None:
        """Lock the block for one owner, until this process ends."""
        lock = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, LOCK_OWNER, 1, 0)
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, lock)
        except OSError as error:
            raise StateError(f'another node owns the shared block {self._name}: stop '
                             'it') from error

    def close(self) -> None:
        """Leave the block to another owner; the controller goes on."""
        self._host.remote = None
        self.data.block = Block(PLACES)
        self._tables = self._given = np.zeros(0)
        self.data.set_arrays(np.zeros(0), [])
        self._memory = None
        if self._file >= 0:
            with suppress(OSError):
                os.close(self._file)
            self._file = -1

    # --- ownership --------------------------------------------------------------------------

    @property
    def problem(self) -> str:
        """Return why the controller does not run; empty if it does."""
        block = self.block
        if not block['active']:
            return 'controller_manager has not activated the controller, or waits for a state'
        if block['chained']:
            return 'the controller takes its references from another controller; deactivate that'
        return ''

    @property
    def session(self) -> int:
        """Return the number of the present activation of the controller."""
        return self.block['session']

    @property
    def owned(self) -> bool:
        """Whether the controller runs the program of this owner."""
        return (self._host.remote is self.data and not self.problem
                and self.session == self._session)

    def hand_over(self) -> None:
        """
        Replace memory and program of the controller by those of the host.

        Raises
        ------
        NativeLoopError
            The controller does not react.

        """
        block = self.block
        numbers = [[block[f'{name}{k}'] for k in range(3)] for name in ('number', 'handover')]
        self.data.number = max(self.data.number, block['used'], *numbers[0])
        self._handover, self._session = 1 + max(numbers[1]), block['session']
        self._given[:] = self._host.bound.memory
        block.set_number('patience', self._patience)
        self.data.wait(self.data.begin())
        self._host.remote = self.data

    def release(self) -> None:
        """Copy the memory of the controller to the host, which runs nothing any more."""
        if self._host.remote is self.data:
            self._host.remote = None
            self.data.refresh()

    def _write_program(self, free: int, number: int) -> None:
        segments = self._host.bound.segments
        if self._kept[free] is not segments:
            self._tables[free, :segments.size] = segments.ravel()
            self._kept[free] = segments
        for name, value in (('number', number), ('rows', len(segments)),
                            ('handover', self._handover), ('session', self._session)):
            self.block[f'{name}{free}'] = value

    def state(self) -> tuple[Row, np.ndarray, np.ndarray, np.ndarray]:
        """Return the newest row, with position, velocity and torque in it, (nv,) each."""
        row, n = self.data.newest(), len(self._joints)
        q, qd, sent = (row.memory[begin:begin + n] for begin in map(
            self._host.place, ('q', 'qd', 'sent')))
        return row, q, qd, sent
