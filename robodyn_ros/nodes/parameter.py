"""One row of the table of a node's parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import Any, Iterable, Sequence

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.parameter import Parameter as RosParameter

from robodyn_ros.exceptions import near_matches, ParameterError, shown

_SCALARS = {'bool': bool, 'int': int, 'double': float, 'string': str}
ROS_TYPES = {
    'bool': RosParameter.Type.BOOL, 'int': RosParameter.Type.INTEGER,
    'double': RosParameter.Type.DOUBLE, 'string': RosParameter.Type.STRING,
    'int_array': RosParameter.Type.INTEGER_ARRAY,
    'double_array': RosParameter.Type.DOUBLE_ARRAY,
    'string_array': RosParameter.Type.STRING_ARRAY}
_REMEDY = {
    'bool': 'true or false', 'int': 'a whole number', 'double': 'a number', 'string': 'a text',
    'int_array': 'a list of whole numbers', 'double_array': 'a list of numbers',
    'string_array': 'a list of texts'}


@dataclass(frozen=True)
class Parameter:
    """
    One row of a node's table; checks itself.

    Parameters
    ----------
    name : str
        As on the command line; dots become underscores in the snapshot. `{joint}` in the name
        stands for one parameter per joint, see `for_joints`.
    kind : str
        bool, int, double, string, int_array, double_array or string_array.
    default : bool, int, float, str or tuple
        Used when the user sets nothing.
    description : str
        What it does, in one or two sentences.
    unit : str
        Of the number or numbers.
    minimum, maximum : float, optional
        Allowed range, of each number of an array. None: any finite number. An infinite
        `maximum` allows infinity itself.
    read_only : bool
        Whether it can be set at start only.
    per_joint : bool
        Whether an array holds one number per joint, or a single one for all.
    choices : tuple of str
        The only texts allowed.

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
        if self.kind not in ROS_TYPES:
            raise ParameterError(f'parameter {self.name!r} has kind {self.kind!r}; '
                                 + near_matches(self.kind, ROS_TYPES), name=self.name)
        object.__setattr__(self, 'default', self.checked(self.default))

    @property
    def attribute(self) -> str:
        """Name in the snapshot of values."""
        return self.name.replace('.', '_')

    @property
    def is_array(self) -> bool:
        """Whether its value is a tuple."""
        return self.kind.endswith('_array')

    def checked(self, value: Any) -> Any:
        """
        Return a value as a plain bool, int, float, str or tuple of int, float or str.

        Whole numbers are accepted where numbers are wanted, a single value where an array is.

        Raises
        ------
        ParameterError
            Wrong type or out of range; the message names parameter, value and remedy.

        """
        if not self.is_array:
            return self._checked_scalar(value)
        if value is None:  # what ROS makes of an empty list
            return ()
        if isinstance(value, (str, bytes)) or not hasattr(value, '__iter__'):
            value = (value,)
        # [''] is the usual way to write an empty list of texts in ROS
        return tuple(self._checked_scalar(each) for each in value if each != '')

    def _checked_scalar(self, value: Any) -> Any:
        wanted = _SCALARS[self.kind.removesuffix('_array')]
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise self._refused(value, f'set it to {_REMEDY[self.kind]}')
        if wanted in (int, float):
            self._check_range(value)
        if self.choices and value not in self.choices:
            raise self._refused(value, 'choose one of ' + ', '.join(self.choices))
        return value

    def _check_range(self, value: float) -> None:
        if self.maximum == math.inf and value == math.inf:
            return
        if not math.isfinite(value):
            raise self._refused(value, 'it must be finite')
        if self.minimum is not None and value < self.minimum:
            raise self._refused(value, f'the least allowed is {self._with_unit(self.minimum)}')
        if self.maximum is not None and value > self.maximum:
            raise self._refused(value, f'the most allowed is {self._with_unit(self.maximum)}')

    def _with_unit(self, value: float) -> str:
        return f'{value:g} {self.unit}'.strip()

    def _refused(self, value: Any, remedy: str) -> ParameterError:
        return ParameterError(f'parameter {self.name!r} is {shown(value)}: {remedy}',
                              name=self.name, value=value)

    def descriptor(self) -> ParameterDescriptor:
        """Return what `ros2 param describe` shows."""
        unit = f' [{self.unit}]' if self.unit else ''
        constraints = []
        if self.per_joint:
            constraints.append('one number for all joints, or one per joint')
        if self.choices:
            constraints.append('one of ' + ', '.join(self.choices))
        # dynamic typing lets a wrong type reach `Parameters`, whose refusal says more than ROS's
        descriptor = ParameterDescriptor(
            name=self.name, type=ROS_TYPES[self.kind].value, dynamic_typing=True,
            description=self.description + unit, read_only=self.read_only,
            additional_constraints='; '.join(constraints))
        low, high = self.minimum, self.maximum
        if self.kind == 'double' and (low, high) != (None, None):
            descriptor.floating_point_range = [FloatingPointRange(
                from_value=-math.inf if low is None else float(low),
                to_value=math.inf if high is None else float(high))]
        if self.kind == 'int' and (low, high) != (None, None):
            descriptor.integer_range = [IntegerRange(
                from_value=-2**63 if low is None else int(low),
                to_value=2**63 - 1 if high is None else int(high))]
        return descriptor


def for_joints(table: Iterable[Parameter], joint_names: Sequence[str]) -> list[Parameter]:
    """Return a table whose rows with `{joint}` in their name are repeated for each joint."""
    return [replace(row, name=row.name.replace('{joint}', joint))
            for row in table for joint in (joint_names if '{joint}' in row.name else ('',))]
