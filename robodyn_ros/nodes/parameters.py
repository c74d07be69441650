"""
Parameters as one declared table per node.

A row of the table is a `Parameter`; `Parameters` declares the rows on a node, reads what the
user set into a snapshot of plain Python values, and guards every later change. Descriptors (for
`ros2 param describe`), validation and documentation all come from the same rows.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable, Iterable, Iterator

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from robodyn_ros.exceptions import near_matches, ParameterError, RobodynError, shown
from robodyn_ros.nodes.parameter import for_joints, Parameter, ROS_TYPES

__all__ = ['for_joints', 'Parameter', 'Parameters']

_MOST = 10  # unknown parameters that are named in one message
# set by ROS itself on any node
_FOREIGN = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')


class Parameters:
    """
    The parameters of a node: declared, read and guarded.

    Works on any node, lifecycle or not. `values` is a snapshot with one attribute per
    parameter; a change makes a new snapshot, and never alters one that somebody holds.

    Parameters
    ----------
    node : Node
        Where to declare.
    table : iterable of Parameter
        The rows; more can be added with `add`.
    check : callable, optional
        `check(values)` raises a `RobodynError` for values that do not fit together. Called with
        the snapshot that a change would make; nothing changes when it raises.
    changed : callable, optional
        `changed(values, names)` takes over an accepted change. If it raises a `RobodynError`,
        the change is refused and the old snapshot stays.

    Raises
    ------
    ParameterError
        A value that the user set at start has a wrong type or is out of range.

    """

    def __init__(self, node: Node, table: Iterable[Parameter],
                 check: Callable[[SimpleNamespace], None] | None = None,
                 changed: Callable[[SimpleNamespace, list[str]], None] | None = None):
        self._node = node
        self._check = check
        self._changed = changed
        self.table: dict[str, Parameter] = {}
        self.values = SimpleNamespace()
        self.add(table)
        if hasattr(node, 'add_pre_set_parameters_callback'):  # not in ROS 2 Humble
            node.add_pre_set_parameters_callback(self._before_set)
        node.add_on_set_parameters_callback(self._on_set)

    def add(self, table: Iterable[Parameter]) -> None:
        """Declare more rows, and read them; rows that are declared already are left alone."""
        values = SimpleNamespace(**vars(self.values))
        problems = []
        for row in table:
            if row.name in self.table:
                continue
            try:
                setattr(values, row.attribute, self._declare(row))
                self.table[row.name] = row
            except ParameterError as error:
                problems.append(str(error))
        if problems:
            raise ParameterError('; '.join(problems))
        if self._check is not None:
            self._check(values)
        self.values = values

    def refuse_unknown(self, later: Iterable[Parameter] = ()) -> None:
        """
        Raise if the user set a parameter at start that no table has.

        To be called when all rows are declared.

        Parameters
        ----------
        later : iterable of Parameter
            Rows with `{joint}` in their names that are declared when the joints are known.

        Raises
        ------
        ParameterError
            Naming the parameter, and which known ones come near.

        """
        given = getattr(self._node, '_parameter_overrides', {})
        parts = [row.name.partition('{joint}') for row in later]
        unknown = [name for name in given if name not in self.table
                   and not self._node.has_parameter(name) and not name.startswith(_FOREIGN)
                   and not any(name.startswith(begin) and name.endswith(end)
                               for begin, _, end in parts)]
        if unknown:
            more = f'; and {len(unknown) - _MOST} more' if len(unknown) > _MOST else ''
            raise ParameterError('; '.join(
                f'there is no parameter {shown(name)}, set to {shown(given[name].value)}: '
                f'{near_matches(name, self.table)}' for name in unknown[:_MOST]) + more,
                names=unknown)

    def _declare(self, row: Parameter) -> Any:
        """Declare one row, and return its value."""
        try:
            given = self._override(row)
            value = row.default if given is None else row.checked(given)
        except TypeError as error:
            raise ParameterError(f'parameter {row.name!r}: {error}', name=row.name) from error
        self._node.declare_parameter(row.name, list(value) if row.is_array else value,
                                     row.descriptor(), ignore_override=True)
        return value

    def _override(self, row: Parameter) -> Any:
        """Return what the user set, of any type; None if nothing."""
        # declared with any type and without a range first: ours say more when they refuse
        value = self._node.declare_parameter(
            row.name, None, ParameterDescriptor(dynamic_typing=True)).value
        self._node.undeclare_parameter(row.name)
        return value

    def _before_set(self, given: list[RosParameter]) -> list[RosParameter]:
        """
        Make numbers of whole numbers, as `ros2 param set node step 1` sends them.

        What ROS would refuse on its own, with a name only, it is made to leave to `_on_set`.
        """
        declared = all(self._node.has_parameter(each.name) for each in given)
        for descriptor, _ in self._descriptors(given) if declared else ():
            descriptor.read_only = False
            descriptor.floating_point_range, descriptor.integer_range = [], []
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
        """Accept all changes, or refuse all of them and say why."""
        ours = [each for each in given if each.name in self.table]
        for descriptor, row in self._descriptors(given):
            # ROS has written the type of what was given into it, wanted or not
            declared = row.descriptor()
            for field in ('type', 'read_only', 'floating_point_range', 'integer_range'):
                setattr(descriptor, field, getattr(declared, field))
        values = SimpleNamespace(**vars(self.values))
        try:
            for each in ours:
                row = self.table[each.name]
                if row.read_only and self._node.has_parameter(row.name):
                    raise ParameterError(f'parameter {row.name!r} is read-only while the node '
                                         'runs: set it when you start the node', name=row.name)
                if each.type_ == RosParameter.Type.NOT_SET:
                    raise ParameterError(f'parameter {row.name!r} cannot be removed: set it to '
                                         f'{shown(row.default)}, its default', name=row.name)
                setattr(values, row.attribute, row.checked(each.value))
            if ours and self._check is not None:
                self._check(values)
            if ours and self._changed is not None:
                self._changed(values, [each.name for each in ours])
        except RobodynError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.values = values
        return SetParametersResult(successful=True)
