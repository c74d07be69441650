"""
Golden logs on disk: a header of plain data, and arrays, compressed without loss.

An array is stored as differences from row to row, byte plane by byte plane, so that slow changes
are mostly zeros. Positions and velocities lie on a binary grid, like those of an encoder, and are
stored as integers; torques keep all bits of a double.
"""

import json
import lzma
from pathlib import Path

from golden.renamed import renamed
import numpy as np

LOGS = Path(__file__).parent / 'logs'
# rad, rad/s, N m, or m, m/s, N
GRIDS = {'q': 2.0 ** -20, 'qd': 2.0 ** -16, 'effort': 2.0 ** -10}
_ODD = {2 ** 62: np.nan, 2 ** 62 + 1: np.inf, 2 ** 62 + 2: -np.inf}
_ORDERS = range(4)  # of differences that are tried
# a dictionary of 1 MiB: the usual 64 MiB would be cleared again and again
_FILTERS = [{'id': lzma.FILTER_LZMA2, 'preset': 9 | lzma.PRESET_EXTREME, 'dict_size': 1 << 20}]


def path_of(robot, name):
    """Return the path of the log of a scenario."""
    return LOGS / robot / f'{name}.xz'


def write(path, header, arrays):
    """
    Write a log.

    Parameters
    ----------
    path : Path
        File of the log.
    header : dict
        Plain data.
    arrays : dict of str to array
        Of 8-byte integers or doubles, along the first axis over time.

    """
    layout, parts = [], []
    for name, array in arrays.items():
        packed = [_pack(array, order) for order in _ORDERS]
        order = min(_ORDERS, key=lambda each: len(_compress(packed[each])))
        layout.append([name, array.dtype.str, list(array.shape), order])
        parts.append(packed[order])
    text = json.dumps({**header, 'arrays': layout}, indent=None).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_compress(b''.join((len(text).to_bytes(8, 'little'), text, *parts))))


def read(path):
    """Return header and arrays of a log."""
    data = lzma.decompress(path.read_bytes(), lzma.FORMAT_XZ)
    size = int.from_bytes(data[:8], 'little')
    header, position, arrays = json.loads(renamed(data[8:8 + size].decode())), 8 + size, {}
    for name, dtype, shape, order in header.pop('arrays'):
        end = position + 8 * int(np.prod(shape, dtype=int))
        arrays[name] = _unpack(data[position:end], dtype, shape, order)
        position = end
    return header, arrays


def on_grid(values, quantity):
    """Return values of a quantity as integers, with special ones for NaN and infinity."""
    values = np.array(values, dtype=float)
    whole = np.zeros(values.shape, dtype=np.int64)
    finite = np.isfinite(values)
    whole[finite] = np.round(values[finite] / GRIDS[quantity]).astype(np.int64)
    for mark, odd in _ODD.items():
        whole[np.isnan(values) if np.isnan(odd) else values == odd] = mark
    return whole


def off_grid(whole, quantity):
    """Return the values of integers of `on_grid`."""
    values = whole * GRIDS[quantity]
    for mark, odd in _ODD.items():
        values[whole == mark] = odd
    return values


def _pack(array, order):
    columns = np.ascontiguousarray(array.reshape(len(array), -1).T).view(np.uint64)
    for _ in range(order):
        columns = np.diff(columns, axis=1, prepend=np.uint64(0))
    signed = columns.view(np.int64)
    small = ((signed << 1) ^ (signed >> 63)).view(np.uint64)  # -1 as 1, not as all bits
    return small.astype('<u8').reshape(-1, 1).view(np.uint8).T.tobytes()


def _unpack(data, dtype, shape, order):
    planes = np.frombuffer(data, dtype=np.uint8).reshape(8, -1)
    small = np.ascontiguousarray(planes.T).view('<u8').reshape(-1).astype(np.uint64)
    columns = ((small >> np.uint64(1)) ^ (~(small & np.uint64(1)) + np.uint64(1)))
    columns = columns.reshape(-1, shape[0]) if shape[0] else columns.reshape(-1, 0)
    for _ in range(order):
        columns = np.cumsum(columns, axis=1, dtype=np.uint64)
    return np.ascontiguousarray(columns.T).view(np.dtype(dtype)).reshape(shape)


def _compress(data):
    return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=_FILTERS)
