"""
Parameters of a node: a tree of settings, declared, read and validated.

`Parameters` declares what `robodyn_ros.settings` describes, reads what the user set into an
instance of the tree, and validates every later change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import math
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult)
from rclpy.exceptions import ParameterNotDeclaredException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from robodyn_ros.exceptions import (
    has_near_match, near_matches, ParameterError, RobodynError, shown)
from robodyn_ros.settings import for_joints, JOINT, Parameter, parameters, with_values

ROS_TYPES = {
    'bool': RosParameter.Type.BOOL, 'int': RosParameter.Type.INTEGER,
    'double': RosParameter.Type.DOUBLE, 'string': RosParameter.Type.STRING,
    'int_array': RosParameter.Type.INTEGER_ARRAY,
    'double_array': RosParameter.Type.DOUBLE_ARRAY,
    'string_array': RosParameter.Type.STRING_ARRAY}
_MAX_NAMED = 10  # unknown parameters that are named in one message
_CLOCK = 'use_sim_time'
# set by ROS itself on any node
_BUILT_IN = (_CLOCK, 'start_type_description_service', 'qos_overrides.')
T = TypeVar('T')


class _Unknown(ParameterNotDeclaredException):
    """Refusal of a parameter, with the reason that services answer."""

    def __init__(self, reason: str):
        Exception.__init__(self, reason)


class Parameters(Generic[T]):
    """
    The parameters of a node: declared, read and validated.

    Works on any node, lifecycle or not.

    Parameters
    ----------
    node : Node
        Node that declares them.
    tree : type
        Class of settings, see `robodyn_ros.settings`.
    check : callable, optional
        `check(values, names)` raises a `RobodynError` for an invalid tree, with the
        names that change; called before a change, which it must not put into effect. Its result
        is given to `changed`.
    changed : callable, optional
        `changed(values, names, checked)` puts an accepted change into effect.

    Attributes
    ----------
    table : dict of str to Parameter
        What is declared, by name.
    values : tree
        Present values; a change makes a new tree and leaves this one as it is.

    Raises
    ------
    ParameterError
        A value that the user set at start has a wrong type or is out of range.

    """

    def __init__(self, node: Node, tree: type[T],
                 check: Callable[[T, Sequence[str]], Any] | None = None,
                 changed: Callable[[T, list[str], Any], None] | None = None):
        self._node, self._check, self._changed = node, check, changed
        self._checked: Any = None
        self.table: dict[str, Parameter] = {}
        self.values = tree()
        rows = parameters(tree)
        self._of_joints = [row for row in rows if JOINT in row.name]
        self._warned = False  # of parameters of other nodes
        self._declare([row for row in rows if JOINT not in row.name])
        if hasattr(node, 'add_pre_set_parameters_callback'):  # not in ROS 2 Humble
            node.add_pre_set_parameters_callback(self._before_set)
        node.add_on_set_parameters_callback(self._on_set)
        self._in_two_steps = hasattr(node, 'add_post_set_parameters_callback')
        if self._in_two_steps:  # not in ROS 2 Humble
            node.add_post_set_parameters_callback(self._after_set)

    def declare_for(self, joint_names: Sequence[str]) -> None:
        """Declare and read the parameters that each joint has, once the joints are known."""
        self._declare(for_joints(self._of_joints, joint_names))
        self._of_joints = []

    def _declare(self, rows: Iterable[Parameter]) -> None:
        given, problems = {}, []
        for row in rows:
            if row.name in self.table:
                continue
            try:
                given[row.name] = self._declared(row)
                self.table[row.name] = row
            except ParameterError as error:
                problems.append(str(error))
        if problems:
            raise ParameterError('; '.join(problems))
        values = with_values(self.values, given)
        if self._check is not None:
            self._check(values, ())
        self.values = values

    def given(self, name: str) -> bool:
        """Return whether the user set a parameter at the start."""
        return name in getattr(self._node, '_parameter_overrides', {})

    def refuse_unknown(self) -> None:
        """
        Raise if a parameter that was set at start is nearly one of the tree; log the others.

        A section `/**` of a file is for all nodes, with the parameters of each.

        Raises
        ------
        ParameterError
            Naming the parameter, and which of the tree come near.

        """
        given = getattr(self._node, '_parameter_overrides', {})
        parts = [row.name.partition(JOINT) for row in self._of_joints]
        unknown = [name for name in given if name not in self.table
                   and not self._node.has_parameter(name) and not name.startswith(_BUILT_IN)
                   and not any(name.startswith(begin) and name.endswith(end)
                               for begin, _, end in parts)]
        foreign = [name for name in unknown if not has_near_match(name, self.table)]
        if foreign and not self._warned:
            self._warned = True
            self._node.get_logger().warning(
                f'parameters of other nodes are ignored: {", ".join(map(shown, foreign))}')
        unknown = [name for name in unknown if name not in foreign]
        if unknown:
            more = (f'; and {len(unknown) - _MAX_NAMED} more' if len(unknown) > _MAX_NAMED
                    else '')
            raise ParameterError('; '.join(
                f'there is no parameter {shown(name)}, set to {shown(given[name].value)}: '
                f'{near_matches(name, self.table)}' for name in unknown[:_MAX_NAMED]) + more,
                names=unknown)

    def _declared(self, row: Parameter) -> Any:
        """Declare one parameter, and return its value."""
        try:
            given = self._override(row)
            value = row.default if given is None else row.checked(given)
        except TypeError as error:
            raise ParameterError(f'parameter {row.name!r}: {error}', name=row.name) from error
        self._node.declare_parameter(row.name, list(value) if row.is_array else value,
                                     descriptor(row), ignore_override=True)
        return value

    def _override(self, row: Parameter) -> Any:
        """Return what the user set, of any type; None if nothing."""
        # declared with any type and without a range first: our messages name more than those of
        # ROS
        value = self._node.declare_parameter(
            row.name, None, ParameterDescriptor(dynamic_typing=True)).value
        self._node.undeclare_parameter(row.name)
        return value

    def _before_set(self, given: list[RosParameter]) -> list[RosParameter]:
        """
        Convert whole numbers to floats, as `ros2 param set node step 1` sends them.

        Checks that ROS would make, with the name alone in their message, are left to `_on_set`.
        Raises `_Unknown` for a parameter that the node does not have.
        """
        unknown = [each.name for each in given if not self._node.has_parameter(each.name)]
        if unknown:
            raise _Unknown('; '.join(
                f'there is no parameter {shown(name)}: {near_matches(name, self.table)}'
                for name in unknown[:_MAX_NAMED]))
        for described, _ in self._descriptors(given):
            described.read_only = False
            described.floating_point_range, described.integer_range = [], []
        return [self._as_declared(each) for each in given]

    def _descriptors(self, given: list[RosParameter]) -> Iterator[tuple]:
        """Yield the descriptors that ROS holds of our parameters, and their rows."""
        for each in given:
            if each.name in self.table and self._node.has_parameter(each.name):
                yield self._node.describe_parameter(each.name), self.table[each.name]

    def _as_declared(self, given: RosParameter) -> RosParameter:
        row = self.table.get(given.name)
        if row is None:
            return given
        try:
            value = row.checked(given.value)
        except ParameterError:
            return given  # refused below, with its reason
        return RosParameter(given.name, ROS_TYPES[row.kind],
                            list(value) if row.is_array else value)

    def _on_set(self, given: list[RosParameter]) -> SetParametersResult:
        """Validate all changes; refuse all of them if one is refused."""
        for described, row in self._descriptors(given):
            # ROS has written the type of what was given into it, wanted or not
            declared = descriptor(row)
            for field in ('type', 'read_only', 'floating_point_range', 'integer_range'):
                setattr(described, field, getattr(declared, field))
        try:
            changes = self._changes(given)
            if changes:
                values = with_values(self.values, changes)
                self._checked = self._check and self._check(values, list(changes))
        except RobodynError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if not self._in_two_steps:
            self._after_set(given)
        return SetParametersResult(successful=True)

    def _changes(self, given: list[RosParameter]) -> dict[str, Any]:
        """Return the values by name, checked each; raises `ParameterError`."""
        changes = {}
        for each in given:
            row = self.table.get(each.name)
            if each.name == _CLOCK and each.value != self._node.get_parameter(_CLOCK).value:
                raise ParameterError(f'parameter {_CLOCK!r} is read-only while the node runs, '
                                     'which compares stamps with this clock: set it when you '
                                     'start the node', name=_CLOCK)
            if row is None:
                continue
            if row.read_only and self._node.has_parameter(row.name):
                raise ParameterError(f'parameter {row.name!r} is read-only while the node runs: '
                                     'set it when you start the node', name=row.name)
            if each.type_ == RosParameter.Type.NOT_SET:
                raise ParameterError(f'parameter {row.name!r} cannot be removed: set it to '
                                     f'{shown(row.default)}, its default', name=row.name)
            changes[row.name] = row.checked(each.value)
        return changes

    def _after_set(self, given: list[RosParameter]) -> None:
        """Put changes into effect that no callback has refused."""
        changes = {each.name: self.table[each.name].checked(each.value)
                   for each in given if each.name in self.table}
        if changes:
            self.values = with_values(self.values, changes)
            if self._changed is not None:
                self._changed(self.values, list(changes), self._checked)


def descriptor(row: Parameter) -> ParameterDescriptor:
    """Return what `ros2 param describe` prints of a parameter."""
    unit = f' [{row.unit}]' if row.unit else ''
    constraints = []
    if row.per_joint:
        constraints.append('one number for all joints, or one per joint')
    if row.choices:
        constraints.append('one of ' + ', '.join(row.choices))
    # dynamic typing passes a wrong type to `Parameters`, whose message names more than that of ROS
    result = ParameterDescriptor(
        name=row.name, type=ROS_TYPES[row.kind].value, dynamic_typing=True,
        description=row.description + unit, read_only=row.read_only,
        additional_constraints='; '.join(constraints))
    low, high = row.minimum, row.maximum
    if row.kind == 'double' and (low, high) != (None, None):
        result.floating_point_range = [FloatingPointRange(
            from_value=-math.inf if low is None else float(low),
            to_value=math.inf if high is None else float(high))]
    if row.kind == 'int' and (low, high) != (None, None):
        result.integer_range = [IntegerRange(
            from_value=-2**63 if low is None else int(low),
            to_value=2**63 - 1 if high is None else int(high))]
    return result
