"""
The block of a native loop: 64-bit words with names, shared by Python and machine code.

Words are integers, addresses or numbers; a name that begins with `~` is a number (float64).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def places_of(words: Sequence[str]) -> dict[str, int]:
    """Return the place of each word by its name."""
    return {name.lstrip('~'): place for place, name in enumerate(words)}


# words of the controller's loop

FUNCTIONS = ('clear', 'add_subscription', 'add_guard_condition', 'wait', 'take', 'publish',
             'forget_error', 'clock_gettime', 'usleep', 'receive', 'begin', 'check',
             'heartbeat_sent', 'cycle')
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
PLACES = places_of(WORDS)
PROGRAM_WORDS = 4

# a layout of messages that is known, in words
LAYOUT = ('size', 'ranges', 'range_count', 'template', 'joints', 'position', 'velocity', 'effort',
          'columns')
# the head of a row of the ring; permission, torque and memory come after it
ROW = ('number', 'stamp', '~arrival', '~wall', '~end', 'sent')


class Block:
    """
    The words by name.

    Parameters
    ----------
    places : mapping of str to int
        Place of each word.

    Attributes
    ----------
    words : (n,) array of int64
    numbers : (n,) array of float64
        The same memory.

    """

    def __init__(self, places: Mapping[str, int] = PLACES):
        self._places = places
        self.words = np.zeros(len(places), dtype=np.int64)
        self.numbers = self.words.view(np.float64)

    def __getitem__(self, name: str) -> int:
        return int(self.words[self._places[name]])

    def __setitem__(self, name: str, value: int) -> None:
        self.words[self._places[name]] = value

    def number(self, name: str) -> float:
        """Return a word that is a number."""
        return float(self.numbers[self._places[name]])

    def set_number(self, name: str, value: float) -> None:
        """Set a word that is a number."""
        self.numbers[self._places[name]] = value

    def set_functions(self, addresses: Mapping[str, int]) -> None:
        """Set the words of functions, of those that have one."""
        for name in addresses.keys() & self._places.keys():
            self[name] = addresses[name]

    @property
    def address(self) -> int:
        """Return where it is."""
        return self.words.ctypes.data
