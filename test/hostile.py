"""
Arguments as a careless or hostile caller passes them, each with what it stands for.

Everything is drawn by `choose(options)`, which picks one of a list: hypothesis in a property, a
random number generator in a thread. A drawn argument comes with its meaning: the clean array, or
`REFUSED` where there is none.
"""

import array
from pathlib import Path
import tempfile

import numpy as np

REFUSED = object()
VALUES = (0.0, -0.0, 0.3, -1.0, 2.5, 7.0, 1e6, 1e9, 1e22, 1e300, 5e-324, np.nan, np.inf, -np.inf)
NARROW = ('f4', 'f2', 'i8', 'i1', 'u2', '?')


class Stubborn:
    """Claims to be an array, and is none."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *_, **__):
        raise self.error('no array today')


class Obliging:
    """Converts to an array on request."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


class Odd(np.ndarray):
    """An array that rejects functions of NumPy."""

    __array_ufunc__ = None


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def spread(x):
    wide = np.full((*x.shape, 3), np.nan)
    wide[..., 1] = x
    return wide[..., 1]


def locked(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def mapped(x):
    """Return an array in a file."""
    if not x.size:  # no bytes cannot be mapped
        return x
    with tempfile.TemporaryDirectory() as folder:
        on_disk = np.memmap(Path(folder) / 'x', x.dtype, 'w+', shape=x.shape)
    on_disk[...] = x
    return on_disk


SAME = {
    'itself': lambda x: x, 'list': lambda x: x.tolist(), 'tuple': lambda x: tuple(x.tolist()),
    'spread': spread, 'locked': locked, 'misaligned': misaligned, 'mapped': mapped,
    'backwards': lambda x: x[..., ::-1].copy()[..., ::-1], 'fortran': np.asfortranarray,
    'big-endian': lambda x: x.astype('>f8'), 'long': lambda x: x.astype(np.longdouble),
    'masked': lambda x: np.ma.masked_invalid(x), 'record': lambda x: x.view(np.recarray),
    'odd': lambda x: x.view(Odd), 'obliging': Obliging, 'memory': lambda x: memoryview(x.copy()),
    'scalars': lambda x: [*x], 'bytes': lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
}
NONSENSE = {
    'none': lambda n: None, 'scalar': lambda n: 1.0, '0-d': lambda n: np.array(1.0),
    'long': lambda n: np.zeros(n + 1), 'short': lambda n: np.zeros(n - 1),
    'empty': lambda n: np.zeros(0), '3-d': lambda n: np.zeros((1, 1, n)),
    'column': lambda n: np.zeros((n, n + 1)), 'objects': lambda n: np.zeros(n, dtype=object),
    'text': lambda n: 'x' * n, 'texts': lambda n: np.array(['1'] * n), 'raw': lambda n: b'\0' * n,
    'complex': lambda n: np.zeros(n, dtype=complex), 'times': lambda n: np.zeros(n, dtype='m8[s]'),
    'record': lambda n: np.zeros(n, dtype=[('a', float)]), 'void': lambda n: np.zeros(n, 'V8'),
    'ragged': lambda n: [[0.0], [0.0, 1.0]], 'mapping': lambda n: dict.fromkeys(range(n), 0.0),
    'class': lambda n: float, 'huge': lambda n: [10 ** 400] * n, 'nones': lambda n: [None] * n,
    'stubborn': lambda n: Stubborn(TypeError), 'liar': lambda n: Stubborn(ValueError),
    'array of texts': lambda n: array.array('u', 'x' * n), 'generator': lambda n: iter([0.0] * n),
    'set': lambda n: {0.0}, 'many axes': lambda n: np.zeros((1,) * 30 + (n,)),
}


def an_array(choose, size, rows):
    """
    Draw an argument for `size` numbers.

    Parameters
    ----------
    choose : callable
        Picks one of a list.
    size : int
        Length of one state.
    rows : int or None
        Length of a batch that the argument may be.

    Returns
    -------
    given, meaning : object, array or REFUSED
        The argument and the clean array that it stands for.

    """
    kind = choose(['same', 'same', 'same', 'narrow', 'constant', 'matrix', 'nonsense'])
    if kind == 'nonsense':
        return NONSENSE[choose(sorted(NONSENSE))](size), REFUSED
    shape = (size,) if rows is None else choose([(size,), (rows, size), (rows, size)])
    if kind == 'constant':  # one number in memory, seen from every place
        clean = np.broadcast_to(choose(VALUES), shape)
        return clean, clean.copy()
    clean = np.array([choose(VALUES) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if kind == 'narrow':
        with np.errstate(all='ignore'):
            narrow = np.nan_to_num(clean, posinf=9.0, neginf=-9.0) % 100
            given = narrow.astype(choose(NARROW))
        return given, given.astype(float)
    if not clean.size:  # as a list its states have no known length
        return clean, clean
    if kind == 'matrix' and rows is not None and clean.ndim == 2:
        return np.asmatrix(clean), clean
    return SAME[choose(sorted(SAME))](clean.copy()), clean


def an_output(choose, shape, inputs):
    """
    Draw `out=` for a result of this shape; return it and whether it can be written to.

    `None` as the second means that the array overlaps itself: any result is right.
    """
    kind = choose(['none', 'good', 'spread', 'misaligned', 'fortran', 'mapped', 'backwards',
                   'overlapping', 'locked', 'shape', 'type', 'swapped', 'record', 'list',
                   'folded'])
    fresh = np.full(shape, 7.0)
    if kind == 'none':
        return None, True
    if kind == 'overlapping':
        same = [each for each in inputs if type(each) is np.ndarray and each.shape == shape
                and each.dtype == np.float64 and each.flags.writeable]
        if not same:
            return fresh, True
        twin = choose(same)
        return choose([twin, twin[::-1], twin[..., ::-1]]), True
    if kind == 'folded':
        return np.lib.stride_tricks.as_strided(np.zeros(1), shape, (0,) * len(shape)), None
    good = {'good': lambda x: x, 'spread': spread, 'misaligned': misaligned, 'mapped': mapped,
            'fortran': np.asfortranarray, 'backwards': lambda x: x[::-1],
            'record': lambda x: x.view(np.recarray)}
    if kind in good:
        return good[kind](fresh), True
    bad = {'locked': locked, 'shape': lambda x: np.zeros((*x.shape, 1)),
           'type': lambda x: x.astype('f4'), 'swapped': lambda x: x.astype('>f8'),
           'list': lambda x: x.tolist()}
    return bad[kind](fresh), False


def a_link(choose, good):
    """Draw the name of a link; return it and whether there is such a link."""
    class Name(str):
        pass

    name = choose(['same', 'equal', 'child', 'numpy', 'bad'])
    if name == 'bad':
        return choose([None, 3, 1.5, b'link', [good], {good: 1}, '', 'x' * 9999, 'no\0link',
                       good + ' ', object(), np.zeros(3), str, float('nan')]), False
    return {'same': good, 'equal': ''.join(list(good)), 'child': Name(good),
            'numpy': np.str_(good)}[name], True
