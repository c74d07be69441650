"""Branches and loops in C (see `dynamics.jit.flow` for their nodes)."""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.export.expressions import bare


# --- branches -------------------------------------------------------------------------------

def _branch(writer, index, condition, regions):
    names = _declared(writer, index)
    writer.begin(f'if ({bare(writer.operand(condition))})')
    _case(writer, index, regions, 1, names)
    writer.otherwise()
    _case(writer, index, regions, 0, names)
    writer.end()


def _switch(writer, index, number, regions):
    names, number = _declared(writer, index), writer.operand(number)
    last = len(regions) - 1
    if last == 1:
        writer.begin(f'if (({number} >= 0.0) && ({number} < 1.0))')
        _case(writer, index, regions, 0, names)
        writer.otherwise()
        _case(writer, index, regions, 1, names)
        writer.end()
        return
    begin_switch(writer, number, last)
    for k, _ in enumerate(regions):
        writer.begin('default:' if k == last else f'case {k}:')
        _case(writer, index, regions, k, names)
        writer.line('break;')
        writer.end()
    writer.end()


def begin_switch(writer, number: str, count: int) -> None:
    """Write the head of a `switch` over a number cut off behind the point; others: `count`."""
    k = writer.new('k')
    writer.line(f'int32_t {k} = {count};')
    writer.begin(f'if (({number} >= 0.0) && ({number} < {count}.0))')
    writer.line(f'{k} = (int32_t){number};')
    writer.end()
    writer.begin(f'switch ({k})')


def _declared(writer, index) -> list[tuple[int, str]]:
    """Declare the results of a choice; return their nodes and names."""
    nodes = writer.schedule.chosen[index]
    names = _variables(writer, 'c', len(nodes))
    return list(zip(nodes, names))


def _variables(writer, letter: str, count: int) -> list[str]:
    if not count:
        return []
    name = writer.new(letter)
    writer.line(f'double {name}{f"[{count}]" if count > 1 else ""};')
    return [f'{name}[{k}]' for k in range(count)] if count > 1 else [name]


def _case(writer, index, regions, number, names) -> None:
    writer.block(regions[number])
    writer.copy([(name, writer.nodes[node][2 + number]) for node, name in names])
    writer.leave()
    for node, name in names:
        writer.names[node] = name


# --- loops ----------------------------------------------------------------------------------

def _iterate(writer, index, count, limit, region, *values):
    size, count = len(region.variables), writer.operand(count)
    carried = []
    for variable, first, following in zip(region.variables, values, values[size:]):
        if following is variable:
            writer.names[variable.index] = writer.operand(first)
        else:
            carried.append((variable, first, following))
    names = _variables(writer, 'v', len(carried))
    writer.copy([(name, first) for name, (_, first, _) in zip(names, carried)])
    for name, (variable, _, _) in zip(names, carried):
        writer.names[variable.index] = name
    k = writer.new('k')
    writer.begin(f'for (int32_t {k} = 0; ({k} < {int(limit)}) && ((double){k} < {count}); ++{k})')
    writer.block(region)
    # all of them before the first variable changes
    after = _variables(writer, 'n', len(carried))
    writer.copy([(name, following) for name, (_, _, following) in zip(after, carried)])
    writer.assign(list(zip(names, after)))
    writer.leave()
    writer.end()


def _iterated(writer, index, loop, number):
    region = writer.program.graph.node(loop)[3]
    writer.names[index] = writer.names[region.variables[number].index]


WRITERS: dict[str, Callable] = {
    'branch': _branch, 'switch': _switch, 'iterate': _iterate, 'iterated': _iterated}
