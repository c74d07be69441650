"""
Random functions over scalars, with all that a trace can record, for `test_dynamics_programs`.

A function is drawn anew at each run, from seeds that name the place in it: cases that do not run
draw nothing from the others. Constants that fold in a trace may hide what is no number (`x - x`
is 0), so a trace takes notes of what folded, and later runs on floats take the same constants.
"""
from random import Random

from robodyn_ros.dynamics.flags import above, at_least, both, either, equal, finite, flag, no
from robodyn_ros.dynamics.flow import (
    call, choose, FunctionTable, iterate, last_not_after, lookup, row_count, Table)
from robodyn_ros.dynamics.function import Function
from robodyn_ros.dynamics.kernels import is_zero
from robodyn_ros.dynamics.trace import (
    absolute, floor, maximum, minimum, nearest, of_kind, select, sincos, sqrt)

INPUTS, COLUMNS = 6, 3
CALLED = FunctionTable((1, 3), 2)
ARGUMENTS = {'x': INPUTS, 'table': Table(COLUMNS), 'functions': CALLED}
SPECIAL = [float('nan'), float('inf'), float('-inf'), 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 2.0,
           3.0, 4.0, -7.5, 5e-324, -5e-324, 2.2e-308, 1e-160, 1e160, -1e308, 1.7e308, 2.0 ** 53]
CONSTANTS = [0.0, 1.0, -1.0, 2.0, -0.5, 3.25, 1e-3, -1e200]

# the machine's own sine: another one may differ in the last digit
_SINES = Function(lambda x: sincos(x[0]), {'x': 1}, {'y': 2})


def sines(angle):
    """Return sine and cosine as compiled code computes them."""
    if not isinstance(angle, float):
        return sincos(angle)
    return [of_kind(float(each), angle) for each in _SINES([angle])]


def quotient(a, b):
    """Return a / |b|: the sign of a zero is not kept; a where b is a constant 0."""
    return a if is_zero(b) else a / absolute(b)


SIMPLE = {
    'add': lambda a, b, c: a + b, 'subtract': lambda a, b, c: a - b,
    'times': lambda a, b, c: a * b, 'divide': lambda a, b, c: quotient(a, b),
    'negative': lambda a, b, c: -a,
    'absolute': lambda a, b, c: absolute(a), 'sqrt': lambda a, b, c: sqrt(a),
    'nearest': lambda a, b, c: nearest(a), 'floor': lambda a, b, c: floor(a),
    'minimum': lambda a, b, c: minimum(a, b), 'maximum': lambda a, b, c: maximum(a, b),
    'select': select, 'above': lambda a, b, c: above(a, b), 'flag': lambda a, b, c: flag(a),
    'at_least': lambda a, b, c: at_least(a, b), 'equal': lambda a, b, c: equal(a, b),
    'both': lambda a, b, c: both(a, b), 'either': lambda a, b, c: either(a, above(b, c)),
    'no': lambda a, b, c: no(a), 'finite': lambda a, b, c: finite(a)}
OFTEN = [*SIMPLE, *2 * ['add', 'subtract', 'times', 'divide']]
FORKS = ('choose', 'choose', 'iterate', 'call', 'lookup', 'search', 'sines')


class RandomProgram:
    """
    A function of `ARGUMENTS` that returns `size` scalars.

    Parameters
    ----------
    seed : int
        Decides about everything.
    size : int
        How many results there are.

    """

    def __init__(self, seed, size=4):
        self.seed, self.size = seed, size
        self._folded = {}

    def __call__(self, x, table, functions):
        """Return the results; those on floats are right once it was traced."""
        self._tables, self._x = (table, functions), x[0]
        self._traced = any(not isinstance(each, float) for each in x)
        return self._block(f'{self.seed}', list(x), self.size, 3)

    def _block(self, place, pool, size, depth):
        """Return results of some operations on each other and on what is in the pool."""
        random, pool = Random(place), list(pool)
        for k in range(random.randint(3, 8)):
            here = f'{place}.{k}'
            fork = depth and random.random() < 0.4
            operation = random.choice(FORKS if fork else OFTEN)
            if fork:
                results = getattr(self, f'_{operation}')(random, here, pool, depth)
            else:
                results = [SIMPLE[operation](*self._picked(random, pool, 3))]
            pool += [self._settled(f'{here}.{j}', each) for j, each in enumerate(results)]
        return self._picked(random, pool[-2 * size:], size)

    def _picked(self, random, pool, count):
        # mostly what was made last, so that little is made for nothing
        return [random.choice(random.choice([CONSTANTS, pool, *[pool[-4:]] * 6]))
                for _ in range(count)]

    def _settled(self, place, value):
        if self._traced:
            if isinstance(value, float):
                self._folded[place] = value
            return value
        return self._folded.get(place, value)

    def _choose(self, random, place, pool, depth):
        size, (index, other) = random.randint(1, 3), self._picked(random, pool, 2)
        cases = [lambda k=k: self._block(f'{place}.{k}', pool, size, depth - 1)
                 for k in range(random.randint(2, 4))]
        return choose(above(index, other) if random.random() < 0.5 else index, cases)

    def _iterate(self, random, place, pool, depth):
        size = random.randint(1, 3)
        count, *initial = self._picked(random, pool, size + 1)
        return iterate(count, lambda state: self._block(place, pool + state, size, depth - 1),
                       initial, random.randint(0, 4))

    def _call(self, random, place, pool, depth):
        row, *given = self._picked(random, pool, 5)
        return call(self._tables[1], row, given[0], given[1:], outputs=2)

    def _lookup(self, random, place, pool, depth):
        table, (row,) = self._tables[0], self._picked(random, pool, 1)
        # of an empty table of floats the number is a constant: not alone, then
        return [*lookup(table, row, [random.randrange(COLUMNS)]), row_count(table) + self._x]

    def _search(self, random, place, pool, depth):
        value, count, first = self._picked(random, pool, 3)
        return [last_not_after(self._tables[0], value, count, random.randrange(COLUMNS), first)]

    def _sines(self, random, place, pool, depth):
        return sines(*self._picked(random, pool, 1))
