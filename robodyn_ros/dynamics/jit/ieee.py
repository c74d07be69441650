"""Floats that behave like the doubles of compiled code, to interpret a function exactly."""

from __future__ import annotations

import math

_add, _sub, _mul, _div, _neg = (float.__add__, float.__sub__, float.__mul__, float.__truediv__,
                                float.__neg__)


class Ieee(float):
    """
    A double that is known at run time only; plain floats are constants.

    Division by zero gives an infinity or NaN, as in IEEE 754, where Python raises. Constants fold
    as in a trace: 0 times infinity is 0 if the 0 is a plain float, and NaN if both are `Ieee`.
    Results of operations with an `Ieee` are `Ieee`, flags of comparisons included.
    """

    __slots__ = ()

    def __add__(self, other):
        if other.__class__ is not Ieee and other == 0.0:
            return self
        return Ieee(_add(self, other))

    __radd__ = __add__

    def __sub__(self, other):
        if other is self:
            return 0.0
        return Ieee(_sub(self, other))

    def __rsub__(self, other):
        return Ieee(_sub(float(other), self) if other else _neg(self))

    def __mul__(self, other):
        if other.__class__ is not Ieee and other == 0.0:
            return 0.0
        return Ieee(_mul(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        return _quotient(self, other)

    def __rtruediv__(self, other):
        return _quotient(other, self) if other else 0.0

    def __gt__(self, other):
        return Ieee(float.__gt__(self, other))

    def __lt__(self, other):
        return Ieee(float.__lt__(self, other))

    def __ge__(self, other):
        return Ieee(float.__ge__(self, other))

    def __le__(self, other):
        return Ieee(float.__le__(self, other))

    def __and__(self, other):
        return Ieee(self > 0.0 and other > 0.0)

    def __or__(self, other):
        return Ieee(self > 0.0 or other > 0.0)

    __rand__, __ror__ = __and__, __or__

    def __neg__(self):
        return Ieee(_neg(self))

    def __abs__(self):
        return Ieee(float.__abs__(self))


def _quotient(a: float, b: float) -> Ieee:
    if b:
        return Ieee(_div(float(a), b))
    if a != a or not a:
        return Ieee(math.nan)
    return Ieee(math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b)))
