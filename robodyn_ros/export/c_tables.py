"""Tables, and calls of other functions, in C (see `dynamics.jit.flow` for their nodes)."""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.dynamics.jit.graph import Symbol
from robodyn_ros.export.c_flow import begin_switch
from robodyn_ros.export.expressions import bare


# --- calls ----------------------------------------------------------------------------------

def _call(writer, index, argument, row, *inputs):
    kind, names = writer.program.arguments[argument], writer.function.inputs[argument].names
    name = names[int(row)] if isinstance(row, float) and 0.0 <= row < len(names) else None
    given, start = [], 0
    for size in kind.inputs if name or isinstance(row, Symbol) else ():
        given.append(writer.address(inputs[start:start + size]))
        start += size
    out = writer.names[index] = writer.new('r')
    writer.line(f'double {out}[{kind.outputs}];')
    if not isinstance(row, Symbol):
        _invoke(writer, name, given, out, kind)
        return
    begin_switch(writer, writer.operand(row), len(names))
    for k, name in enumerate(names):
        if name is not None:
            writer.begin(f'case {k}:')
            _invoke(writer, name, given, out, kind)
            writer.line('break;')
            writer.end()
    writer.begin('default:')
    _invoke(writer, None, given, out, kind)
    writer.line('break;')
    writer.end()
    writer.end()


def _invoke(writer, name, given, out, kind) -> None:
    """Write a call; without a function the result is not a number."""
    if name is None:
        writer.helpers.add('fill_nan')
        writer.line(f'fill_nan({out}, {kind.outputs});')
    else:
        writer.line(f'{name}({", ".join([*given, out])});')


# --- tables ---------------------------------------------------------------------------------

def _row(writer, index, argument, row):
    rows = writer.function.inputs[argument]
    writer.helpers.update(('row_at', 'fill_nan'))
    nothing, name = writer.new('n'), writer.new('p')
    writer.names[index] = name
    writer.line(f'double {nothing}[{rows.columns}];')
    writer.line(f'const double *{name} = {nothing};')
    writer.begin(f'if ({rows.length} > 0)')
    writer.line(f'{name} = &{rows.name}[row_at({rows.length}, {bare(writer.operand(row))}) * '
                f'{rows.columns}];')
    writer.otherwise()
    writer.line(f'fill_nan({nothing}, {rows.columns});')
    writer.end()


def _rows(writer, index, argument):
    writer.names[index] = f'((double){writer.function.inputs[argument].length})'


def _search(writer, index, argument, value, first, count, column):
    rows = writer.function.inputs[argument]
    writer.helpers.add('search_sorted')
    given = ', '.join(bare(writer.operand(each)) for each in (value, first, count))
    writer.names[index] = writer.constant(
        'double', f'search_sorted({rows.name}, {rows.length}, {rows.columns}, {column}, {given})')


WRITERS: dict[str, Callable] = {'call': _call, 'row': _row, 'rows': _rows, 'search': _search}
