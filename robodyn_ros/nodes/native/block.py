"""
Block of a native loop: named 64-bit words, shared by Python and machine code.

A word is an integer, an address, or, if its name begins with `~`, a float64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def places_of(words: Sequence[str]) -> dict[str, int]:
    """Return the index of each word by its name."""
    return {name.lstrip('~'): place for place, name in enumerate(words)}


# words of the controller's loop

FUNCTIONS = ('clear', 'add_subscription', 'add_guard_condition', 'wait', 'take', 'publish',
             'matched', 'forget_error', 'clock_gettime', 'usleep', 'turn_wait', 'turn_guard_heard',
             'turn_begin', 'turn_check', 'turn_sent', 'turn_end', 'turn_heartbeat', 'cycle')
WORDS = (
    # set by Python before the loop starts
    *FUNCTIONS, 'wait_set', 'wake', 'states', 'guard_states', 'torques', 'heartbeats',
    'state_message', 'guard_message', 'torque_message', 'torque_data', 'heartbeat_messages',
    'guard_state_table', 'guard_state_count', 'order', 'joints', 'simulated',
    'inputs', 'before', 'turn_program', 'turn', 'result', 'turn_bytes',
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
