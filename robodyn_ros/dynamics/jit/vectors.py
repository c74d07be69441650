"""Lists with a scalar for each joint: elementwise arithmetic."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.flags import no, when
from robodyn_ros.dynamics.jit.lists import WIDEST
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum

_TINY = 1e-300
_ORDER = 18  # of the series of the exponential


def added(a, b):
    """Return a + b."""
    return [x + y for x, y in zip(a, b)]


def difference(a, b):
    """Return a - b."""
    return [x - y for x, y in zip(a, b)]


def product(a, b):
    """Return a b, elementwise."""
    return [x * y for x, y in zip(a, b)]


def sums(rows):
    """Return the sum of rows, joint by joint."""
    return [sum(column) for column in zip(*rows)]


def total(values, length=0):
    """
    Return the sum of a list, or of several lists of a length, one behind the other.

    Lists that are longer than a vector are added as vectors first, and then their elements.
    """
    length = length or len(values)
    if length <= WIDEST:
        return sum(values)
    vectors = [values[k:min(k + WIDEST, begin + length)]
               for begin in range(0, len(values), length)
               for k in range(begin, begin + length, WIDEST)]
    vectors.sort(key=len, reverse=True)  # all lanes of a sum have the same operations
    return sum(sum(each[lane] for each in vectors if lane < len(each)) for lane in range(WIDEST))


def scaled(factor, a):
    """Return a multiple of a list."""
    return [factor * x for x in a]


def zeros(a):
    """Return a list of zeros of the same length."""
    return [0.0 for _ in a]


def clipped(a, low, high):
    """Return a list within bounds; the lower bound where an element is not a number."""
    return [minimum(maximum(x, least), most) for x, least, most in zip(a, low, high)]


def smooth_step(x):
    """Return 3 x^2 - 2 x^3 for x in [0, 1], 0 before and 1 after."""
    x = minimum(maximum(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def exponential(x, halvings=4):
    """
    Return exp(x) for x not above 0.

    halvings: power of two by which the argument is divided, which keeps x / halvings above -1; the
    relative error is halvings times 1e-16. Below -halvings the result is that for -halvings.
    """
    x = maximum(x, -1.0 * halvings) * (1.0 / halvings)
    value = 1.0
    for k in range(_ORDER, 0, -1):
        value = 1.0 + value * x * (1.0 / k)
    while halvings > 1:
        value, halvings = value * value, halvings // 2
    return value


def positive(x):
    """Return `x` where it is above 0, else a tiny number that can be divided by."""
    return maximum(x, _TINY)


def largest(values):
    """Return the index of the largest element, the first of several, as a scalar."""
    index, best = 0.0, values[0]
    for k, value in enumerate(values[1:], start=1):
        more = value > best
        index, best = when(more, float(k), index), when(more, value, best)
    return index


def first_where(flags):
    """Return the index of the first flag that holds, as a scalar; 0 if none does."""
    index = 0.0
    for k in reversed(range(1, len(flags))):
        index = when(flags[k], float(k), index)
    return when(flags[0], 0.0, index)


def element(values, index):
    """Return the element at an index that is a scalar."""
    result = values[0]
    for k, value in enumerate(values[1:], start=1):
        result = when((index > k - 0.5) & no(index > k + 0.5), value, result)
    return result


def magnitudes(a):
    """Return absolute values."""
    return [absolute(x) for x in a]
