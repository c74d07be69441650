"""
The block of the native loop: 64-bit words with names, shared by Python and machine code.

Words are integers, addresses or numbers; a name that begins with `~` is a number (float64).
"""

from __future__ import annotations

import numpy as np

FUNCTIONS = ('clear', 'add_subscription', 'add_guard_condition', 'wait', 'take', 'publish',
             'forget_error', 'clock_gettime', 'usleep', 'hear', 'begin', 'check', 'beat', 'cycle')
WORDS = (
    # Python sets them before the loop begins
    *FUNCTIONS, 'wait_set', 'wake', 'states', 'words', 'torques', 'heartbeats',
    'state_message', 'word_message', 'torque_message', 'torque_data', 'heartbeat_messages',
    'word_table', 'word_count', 'order', 'joints', 'simulated', '~period', '~patience',
    'turn', 'before', 'permission_program', 'permission', 'result', 'permission_bytes',
    'cycle_block', 'state', 'memory', 'memory_bytes', 'torque', 'program_slot', 'segments_slot',
    'since', 'ring', 'ring_rows', 'ring_bytes',
    # Python sets them at any time
    'stop', 'heard', 'layouts', 'layout_count', 'current', 'chosen', 'lost', '~alive', '~cause',
    # machine code sets them
    'using', 'used', 'count', 'strange', 'strange_bytes', 'strange_length', 'refused', 'errors',
    'commands', 'sent', 'failures', '~due', 'beat_stamp', '~beat_time', 'beat_phase', 'unsent',
    'withheld',
    # the programs: number, address, segments, rows of segments
    *(f'{name}{k}' for k in range(3) for name in ('number', 'program', 'segments', 'rows')),
    # scratch of the machine code
    'seconds', 'nanoseconds')
PLACES = {name.lstrip('~'): place for place, name in enumerate(WORDS)}
PROGRAM_WORDS = 4

# a layout of JointState messages that is known, in words
LAYOUT = ('size', 'ranges', 'range_count', 'template', 'joints', 'position', 'velocity', 'effort',
          'columns')
# the head of a row of the ring; permission, torque and memory come after it
ROW = ('number', 'stamp', '~arrival', '~wall', '~end', 'sent')


class Block:
    """
    The words by name.

    Attributes
    ----------
    words : (n,) array of int64
    numbers : (n,) array of float64
        The same memory.

    """

    def __init__(self) -> None:
        self.words = np.zeros(len(WORDS), dtype=np.int64)
        self.numbers = self.words.view(np.float64)

    def __getitem__(self, name: str) -> int:
        return int(self.words[PLACES[name]])

    def __setitem__(self, name: str, value: int) -> None:
        self.words[PLACES[name]] = value

    def number(self, name: str) -> float:
        """Return a word that is a number."""
        return float(self.numbers[PLACES[name]])

    def set_number(self, name: str, value: float) -> None:
        """Set a word that is a number."""
        self.numbers[PLACES[name]] = value

    @property
    def address(self) -> int:
        """Return where it is."""
        return self.words.ctypes.data
