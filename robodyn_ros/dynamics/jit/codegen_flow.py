"""
LLVM IR of branches and loops (their nodes are described in `flow`).

For one state they are branches and loops of LLVM. For vectors a case runs if any lane selects it,
and each lane keeps the result of its own case; if all lanes agree, only one case runs. A loop runs
until all lanes have ended.
"""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.dynamics.jit.instructions import select
from robodyn_ros.dynamics.jit.sines import constant, WIDTH


# --- branches -------------------------------------------------------------------------------

def _branch(body, index, condition, regions):
    condition = body.operand(condition)
    if body.vector:
        _masked_cases(body, index, regions, [body.write(_not(body, condition)), condition])
        return
    labels = body.new_labels('case', 'other')
    body.lines.append(f'  br i1 {condition}, label %{labels[1]}, label %{labels[0]}')
    _cases(body, index, regions, labels)


def _switch(body, index, number, regions):
    number = body.operand(number)
    last = len(regions) - 1
    if body.vector:
        masks = [_between(body, number, k) for k in range(last)]
        rest = masks[0]
        for mask in masks[1:]:
            rest = body.write(f'or {body.mask} {rest}, {mask}')
        _masked_cases(body, index, regions, [*masks, body.write(_not(body, rest))])
        return
    labels = body.new_labels(*(f'case{k}of' for k in range(len(regions))))
    if last == 1:
        body.lines.append(f'  br i1 {_between(body, number, 0)}, label %{labels[0]}, '
                          f'label %{labels[1]}')
    else:
        known = body.write(f'and i1 {body.write(f"fcmp oge double {number}, {constant(0.0)}")}, '
                           f'{body.write(f"fcmp olt double {number}, {constant(last)}")}')
        case = body.write(f'fptosi double {number} to i32')
        case = body.write(f'select i1 {known}, i32 {case}, i32 {last}')
        targets = ' '.join(f'i32 {k}, label %{labels[k]}' for k in range(last))
        body.lines.append(f'  switch i32 {case}, label %{labels[last]} [{targets}]')
    _cases(body, index, regions, labels)


def _between(body, number: str, k: int) -> str:
    """Write the condition that the integer part of a number is k."""
    low, high = (body.write(f'fcmp {relation} {body.type} {number}, {body.operand(float(bound))}')
                 for relation, bound in (('oge', k), ('olt', k + 1)))
    return body.write(f'and {body.mask} {low}, {high}')


def _not(body, condition: str) -> str:
    true = f'<{", ".join(["i1 1"] * WIDTH)}>' if body.vector else '1'
    return f'xor {body.mask} {condition}, {true}'


def _cases(body, index, regions, labels):
    merges = body.merges(index)
    incoming = [[] for _ in merges]
    join, = body.new_labels('join')
    for number, (region, label) in enumerate(zip(regions, labels)):
        body.label(label)
        body.enter()
        body.region(region)
        for row, merge in zip(incoming, merges):
            row.append(f'[ {body.merged(merge, number)}, %{body.block} ]')
        body.leave()
        body.lines.append(f'  br label %{join}')
    body.label(join)
    for row, merge in zip(incoming, merges):
        body.name(merge, body.write(f'phi {merge.kind} {", ".join(row)}'))


def _results(body, index):
    """Return the result nodes of a choice, each with its value in every case."""
    return [(each, body.program.graph.nodes[each][2:]) for each in body.schedule.chosen[index]]


def _masked_cases(body, index, regions, masks):
    results, outer = _results(body, index), body.active
    merged = ['zeroinitializer'] * len(results)
    for number, (region, mask) in enumerate(zip(regions, masks)):
        wanted = body.write(f'and {body.mask} {mask}, {outer}') if outer else mask
        case, following = body.new_labels('case', 'next')
        before = body.block
        body.lines.append(f'  br i1 {_any(body, wanted)}, label %{case}, label %{following}')
        body.label(case)
        body.active = wanted
        body.region(region)
        found = [body.write(select([wanted, body.operand(values[number]), old], body.kind))
                 for (_, values), old in zip(results, merged)]
        body.active, last = outer, body.block
        body.lines.append(f'  br label %{following}')
        body.label(following)
        merged = [body.write(f'phi {body.type} [ {old}, %{before} ], [ {new}, %{last} ]')
                  for old, new in zip(merged, found)]
    for (result, _), name in zip(results, merged):
        body.names[result] = name


def _any(body, mask: str) -> str:
    bits = body.write(f'bitcast {body.mask} {mask} to i{WIDTH}')
    return body.write(f'icmp ne i{WIDTH} {bits}, 0')


# --- loops ----------------------------------------------------------------------------------

def _iterate(body, index, count, limit, region, *values):
    size, outer = len(region.variables), body.active
    count, limit = body.operand(count), body.operand(limit)
    # with this order of operands a count that is NaN stays NaN, for no iteration
    fewer = body.write(f'fcmp olt {body.type} {limit}, {count}')
    bound = body.write(select([fewer, limit, count], body.kind))
    merges = body.loop_merges(region, values[:size], values[size:])
    for variable, first, following in zip(region.variables, values, values[size:]):
        if following is variable:
            body.names[variable.index] = body.operand(first)
    phis = []
    for merge in merges:
        phis.append((merge.kind, body.new(), body.merged(merge, 0)))
        body.name(merge, phis[-1][1])
    counter = body.new()
    phis.append((body.type, counter, body.operand(0.0)))
    head, inside, done = body.new_labels('head', 'body', 'done')
    before = body.block
    body.lines.append(f'  br label %{head}')
    body.label(head)
    place = len(body.lines)
    body.lines += [''] * len(phis)
    again = mask = body.write(f'fcmp olt {body.type} {counter}, {bound}')
    if body.vector:
        mask = body.write(f'and {body.mask} {mask}, {outer}') if outer else mask
        again = _any(body, mask)
    body.lines.append(f'  br i1 {again}, label %{inside}, label %{done}')
    body.label(inside)
    body.active = mask if body.vector else ''
    body.enter()
    body.region(region)
    following = [body.merged(merge, 1) for merge in merges]
    if body.vector:
        following = [body.write(select([mask, new, old], body.kind))
                     for new, (_, old, _) in zip(following, phis)]
    body.leave()
    following.append(body.write(f'fadd {body.type} {counter}, {body.operand(1.0)}'))
    for k, ((kind, name, first), new) in enumerate(zip(phis, following)):
        body.lines[place + k] = (f'  {name} = phi {kind} [ {first}, %{before} ], '
                                 f'[ {new}, %{body.block} ]')
    body.lines.append(f'  br label %{head}')
    body.active = outer
    body.label(done)


def _iterated(body, index, loop, number):
    region = body.program.graph.node(loop)[3]
    body.names[index] = body.names[region.variables[number].index]


WRITERS: dict[str, Callable] = {
    'branch': _branch, 'switch': _switch, 'iterate': _iterate, 'iterated': _iterated}
