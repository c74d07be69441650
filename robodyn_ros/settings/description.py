"""Description of a parameter: default, kind, unit, range and meaning; validates values."""

from __future__ import annotations

from dataclasses import dataclass
import math
import sys
from typing import Any

from robodyn_ros.exceptions import near_matches, ParameterError, shown

SCALARS: dict[str, type[Any]] = {'bool': bool, 'int': int, 'double': float, 'string': str}
KINDS = (*SCALARS, 'int_array', 'double_array', 'string_array')
_REMEDY = {
    'bool': 'true or false', 'int': 'a whole number', 'double': 'a number', 'string': 'a text',
    'int_array': 'a list of whole numbers', 'double_array': 'a list of numbers',
    'string_array': 'a list of texts'}


def unusable(value: float) -> str:
    """Return why nothing can be computed with a number; '' if it can be used."""
    if not math.isfinite(value):
        return 'it must be finite'
    if 0.0 < abs(value) < sys.float_info.min:
        return 'that is too small to compute with; set it to 0 or a number in SI units'
    return ''


@dataclass(frozen=True)
class Parameter:
    """
    One value of a tree of settings; validates itself.

    Parameters
    ----------
    name : str
        Full name, with dots.
    kind : str
        bool, int, double, string, int_array, double_array or string_array.
    default : bool, int, float, str or tuple
        Value if none is given.
    description : str
        Meaning, in one or two sentences; the first begins with a noun.
    unit : str
        Unit of the number or numbers.
    minimum, maximum : float, optional
        Range, of each number of an array. None: any finite number. An infinite `maximum` allows
        infinity itself.
    read_only : bool
        Whether it can be set at the start only.
    per_joint : bool
        Whether an array holds one number per joint, or a single one for all.
    choices : tuple of str
        The only texts allowed; empty: any.

    """

    name: str
    kind: str
    default: Any
    description: str
    unit: str = ''
    minimum: float | None = None
    maximum: float | None = None
    read_only: bool = False
    per_joint: bool = False
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f'parameter {self.name!r} has kind {self.kind!r}; '
                                 + near_matches(self.kind, KINDS), name=self.name)
        object.__setattr__(self, 'default', self.checked(self.default))

    @property
    def is_array(self) -> bool:
        """Whether its value is a tuple."""
        return self.kind.endswith('_array')

    def checked(self, value: Any) -> Any:
        """
        Return a value as a plain bool, int, float, str or tuple of int, float or str.

        Whole numbers are accepted for numbers, a single value for an array.

        Raises
        ------
        ParameterError
            Wrong type or out of range; the message names parameter, value and remedy.

        """
        if not self.is_array:
            return self._checked_scalar(value)
        if value is None:  # an empty list from ROS
            return ()
        if isinstance(value, (str, bytes)) or not getattr(value, 'ndim', hasattr(
                value, '__iter__')):
            value = (value,)
        # [''] is the usual way to write an empty list of texts in ROS
        given = [each for each in value if not (isinstance(each, str) and each == '')]
        return tuple(self._checked_scalar(each, f', number {i + 1} of {len(given)},' if len(
            given) > 1 else '') for i, each in enumerate(given))

    def _checked_scalar(self, value: Any, place: str = '') -> Any:
        wanted = SCALARS[self.kind.removesuffix('_array')]
        if hasattr(value, 'dtype') and hasattr(value, 'item'):
            value = value.item() if value.size == 1 else value
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise self._refused(value, f'set it to {_REMEDY[self.kind]}', place)
        if wanted in (int, float):
            self._check_range(value, place)
        if self.choices and value not in self.choices:
            raise self._refused(value, 'choose one of ' + ', '.join(self.choices), place)
        return value

    def _check_range(self, value: float, place: str) -> None:
        if self.maximum == math.inf and value == math.inf:
            return
        if why := unusable(value):
            raise self._refused(value, why, place)
        if self.minimum is not None and value < self.minimum:
            raise self._refused(value, f'the least allowed is {self._with_unit(self.minimum)}',
                                place)
        if self.maximum is not None and value > self.maximum:
            raise self._refused(value, f'the most allowed is {self._with_unit(self.maximum)}',
                                place)

    def _with_unit(self, value: float) -> str:
        return f'{value:g} {self.unit}'.strip()

    def _refused(self, value: Any, remedy: str, place: str) -> ParameterError:
        return ParameterError(f'parameter {self.name!r}{place} is {shown(value)}: {remedy}',
                              name=self.name, value=value)
