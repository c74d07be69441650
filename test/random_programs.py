"""
Random functions over scalars, with all that a trace can record, for `test_dynamics_programs`.

A function is drawn anew at each run, from seeds that name the place in it: cases that do not run
draw nothing from the others. Constants that fold in a trace may hide what is no number (`x - x`
is 0), so a trace takes notes of what folded, and later runs on floats take the same constants.
"""
from random import Random

from robodyn_ros.dynamics.algorithms import is_zero
from robodyn_ros.dynamics.jit.flags import all_of, any_of, equal, finite, flag, no
from robodyn_ros.dynamics.jit.flow import (
    call, choose, FunctionTable, iterate, lookup, search_sorted, Table)
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.lists import ListLayout
from robodyn_ros.dynamics.jit.trace import (
    absolute, floor, like, maximum, minimum, nearest, select, sincos, sqrt)

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
    return [like(float(each), angle) for each in _SINES([angle])]


def quotient(a, b):
    """Return a / |b|: the sign of a zero is not kept; a where b is a constant 0."""
    return a if is_zero(b * 1.0) else a / absolute(b)  # also of a flag


SIMPLE = {'add': lambda a, b, c: a + b, 'subtract': lambda a, b, c: a - b, 'times': lambda a, b,
          c: a * b, 'divide': lambda a, b, c: quotient(a, b), 'negative': lambda a, b, c: -a,
          'absolute': lambda a, b, c: absolute(a), 'sqrt': lambda a, b, c: sqrt(a),
          'nearest': lambda a, b, c: nearest(a), 'floor': lambda a, b, c: floor(a),
          'minimum': lambda a, b, c: minimum(a, b), 'maximum': lambda a, b, c: maximum(a, b),
          'select': select, 'above': lambda a, b, c: a > b, 'flag': lambda a, b, c: flag(a),
          'at_least': lambda a, b, c: a >= b, 'equal': lambda a, b, c: equal(a, b),
          'both': lambda a, b, c: flag(a) & flag(b), 'either': lambda a, b, c: flag(a) | (b > c),
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
        return choose(index > other if random.random() < 0.5 else index, cases)

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
        # of an empty table of floats the numbers are as constant as the row
        return lookup(table, minimum(row, self._x), [random.randrange(COLUMNS)])

    def _search(self, random, place, pool, depth):
        value, count, first = self._picked(random, pool, 3)
        return [search_sorted(self._tables[0], value, count, random.randrange(COLUMNS), first)]

    def _sines(self, random, place, pool, depth):
        return sines(*self._picked(random, pool, 1))


# --- lists --------------------------------------------------------------------------------------

LISTS, SINGLES = 3, 3
LIST_FORKS = ('choose', 'iterate', 'call', 'lookup', 'all', 'any', 'sum', 'element')
CALLED_LISTS = {1: lambda a, b: [a, [y * x for x, y in zip(a, b)]],
                2: lambda a, b: [b, [absolute(x) + y for x, y in zip(a, b)]]}


class RandomListProgram(RandomProgram):
    """
    A function that does the same with each element of lists, now and then of some of them only.

    Parameters
    ----------
    seed : int
        Decides about everything.
    length : int
        Of the lists.

    """

    def __init__(self, seed, length):
        super().__init__(seed)
        self.length = n = length
        self.arguments = {
            'x': ListLayout([*[1] * SINGLES, *[n] * LISTS]), 'table': Table(ListLayout([1, n, n])),
            'functions': FunctionTable((ListLayout([n]), ListLayout([n])), ListLayout([n, n]))}
        self.results = {'lists': ListLayout([n] * 4), 'singles': 2}
        self.functions = [Function(lambda a, b, own=own: own(a, b), {'a': n, 'b': n}, {
            'c': 2 * n}) for own in CALLED_LISTS.values()]

    def __call__(self, x, table, functions):
        """Return four lists, and two numbers."""
        self._tables, self._x = (table, functions), x[0]
        self._traced = any(not isinstance(each, float) for each in x)
        rest, n = list(x[SINGLES:]), self.length
        self._lists = [rest[k * n:(k + 1) * n] for k in range(LISTS)]
        lists, singles = self._work(f'{self.seed}', self._lists, list(x[:SINGLES]), 2)
        return (lists * 2)[-4:], singles[-2:]

    def _work(self, place, lists, singles, depth):
        """Return lists and numbers, and what was made of them."""
        random, lists, singles = Random(place), list(lists), list(singles)
        for k in range(random.randint(4, 9)):
            here = f'{place}.{k}'
            if random.random() < 0.35 and depth:
                fork = getattr(self, f'_{random.choice(LIST_FORKS)}_lists')
                more, others = fork(random, here, lists, singles, depth)
            else:
                more, others = [self._elementwise(random, lists, singles)], []
            lists += [[self._settled(f'{here}.{j}.{i}', each) for i, each in enumerate(row)]
                      for j, row in enumerate(more)]
            singles += [self._settled(f'{here}.{j}', each) for j, each in enumerate(others)]
        return lists, singles

    def _elementwise(self, random, lists, singles):
        function = SIMPLE[random.choice(OFTEN)]
        rows = [self._row(random, lists, singles) for _ in range(3)]
        result = [function(*given) for given in zip(*rows)]
        if random.random() < 0.05:  # not all alike
            result[random.randrange(self.length)] = random.choice([2.0, singles[0], lists[0][-1]])
        return result

    def _row(self, random, lists, singles):
        """Return a list, a number for all, a constant for all, or a constant for each."""
        n = self.length
        return random.choice([random.choice(lists), random.choice(lists[-3:]), lists[-1],
                              [random.choice(singles)] * n, [random.choice(CONSTANTS)] * n,
                              [random.choice(CONSTANTS) for _ in range(n)]])

    def _choose_lists(self, random, place, lists, singles, depth):
        index, cases = random.choice([*singles, *lists[-1]]), []
        for k in range(random.randint(2, 3)):
            def case(k=k):
                own, others = self._work(f'{place}.{k}', lists, singles, depth - 1)
                return own[-2:], others[-1]
            cases.append(case)
        found, single = choose(flag(index) if random.random() < 0.5 else index, cases)
        return found, [single]

    def _iterate_lists(self, random, place, lists, singles, depth):
        count, limit = random.choice(singles), random.randint(0, 3)
        initial = [self._row(random, lists, singles), lists[-1]], random.choice(singles)

        def step(state):
            own, others = self._work(place, lists + state[0], [*singles, state[1]], depth - 1)
            return own[-2:], others[-1]

        found, single = iterate(count, step, initial, limit)
        return found, [single]

    def _call_lists(self, random, place, lists, singles, depth):
        n = self.length
        found = call(self._tables[1], random.choice(singles), self._row(random, lists, singles),
                     lists[-1], outputs=2 * n)
        return [found[:n], found[n:]], []

    def _lookup_lists(self, random, place, lists, singles, depth):
        n = self.length
        first, *found = lookup(self._tables[0], random.choice(singles), range(1 + 2 * n))
        return [found[:n], found[n:]], [first]

    def _all_lists(self, random, place, lists, singles, depth):
        return [], [all_of([finite(each) for each in [*lists[-1], *random.choice(lists),
                                                      random.choice(singles)]])]

    def _any_lists(self, random, place, lists, singles, depth):
        return [], [any_of([each > random.choice(singles) for row in lists[-2:] for each in row])]

    def _sum_lists(self, random, place, lists, singles, depth):
        return [], [sum(lists[-1])]

    def _element_lists(self, random, place, lists, singles, depth):
        found = lists[-1][0]
        for k, each in enumerate(lists[-1]):
            found = select(random.choice(singles) > k - 0.5, each, found)
        return [], [found]
