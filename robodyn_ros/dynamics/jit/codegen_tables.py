"""
LLVM IR of tables and of calls of functions in them (their nodes are described in `flow`).

All lanes of vectors share the tables. Functions are called lane by lane, only for active lanes.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import re

from robodyn_ros.dynamics.jit.lists import WIDEST
from robodyn_ros.dynamics.jit.sines import constant, VECTOR, WIDTH

_LANES = range(WIDTH)
_NAN = constant(math.nan)


# --- calls ----------------------------------------------------------------------------------

def _call(body, index, argument, row, *inputs):
    kind, row = body.program.arguments[argument], body.operand(row)
    given, start = [], 0
    for size in kind.inputs:
        given.append(_input_address(body, inputs[start:start + size], size))
        start += size
    out = _reserve(body, body.type, kind.outputs)
    if body.vector:
        _call_lanes(body, argument, row, given, out)
    else:
        _invoke(body, argument, row, given, out, kind.outputs)
    body.names[index] = out


def _input_address(body, values, length: int) -> str:
    """Write values into an array, unless they are in one already, and return its address."""
    nodes: list[tuple] = [body.program.graph.node(each) if not isinstance(each, float) else ()
                          for each in values]
    if not body.vector and nodes and nodes == [
            ('input', *nodes[0][1:2], nodes[0][-1] + k) if nodes[0][:1] == ('input',) else None
            for k in range(len(nodes))] and not body.program.in_place:
        return body.write(f'add i64 %a{nodes[0][1]}, {8 * nodes[0][2]}')
    address = _reserve(body, body.type, len(values))
    body.write_list(address, values, length)
    return address


def _reserve(body, kind: str, count: int) -> str:
    """Reserve stack memory for values of a type, plus one vector; return its address."""
    name = body.new()
    body.reserved += [f'  {name}p = alloca {kind}, i64 {count + WIDEST}, align 64',
                      f'  {name} = ptrtoint {_pointer(body, kind)} {name}p to i64']
    return name


def _pointer(body, kind: str) -> str:
    return 'ptr' if body.pointer == 'ptr' else f'{kind}*'


def at(body, address: str, k: int, element: str, kind: str = '') -> str:
    """Write the pointer to element k of an array, as this type; return both."""
    where = body.write(f'add i64 {address}, {(8 * WIDTH if element == VECTOR else 8) * k}')
    pointer = _pointer(body, kind or element)
    return f'{pointer} {body.write(f"inttoptr i64 {where} to {pointer}")}'


def _invoke(body, argument: int, row: str, given: list[str], out: str, size: int) -> None:
    """Write the call of one row; if there is no such row the result, of this size, is NaN."""
    look, known, none, done = body.new_labels('look', 'known', 'none', 'called')
    rows = body.write(f'sitofp i64 %n{argument} to double')
    inside = body.write(f'and i1 {body.write(f"fcmp oge double {row}, {constant(0.0)}")}, '
                        f'{body.write(f"fcmp olt double {row}, {rows}")}')
    body.lines.append(f'  br i1 {inside}, label %{look}, label %{none}')
    body.label(look)
    offset = body.write(f'mul i64 {body.write(f"fptosi double {row} to i64")}, 8')
    entry = body.write(f'add i64 %a{argument}, {offset}')
    integer = _pointer(body, 'i64')
    address = body.write(f'load i64, {integer} '
                         f'{body.write(f"inttoptr i64 {entry} to {integer}")}')
    empty = body.write(f'icmp eq i64 {address}, 0')
    body.lines.append(f'  br i1 {empty}, label %{none}, label %{known}')
    body.label(known)
    signature = _pointer(body, f'void ({", ".join(["i64"] * (len(given) + 1))})')
    function = body.write(f'inttoptr i64 {address} to {signature}')
    arguments = ', '.join(f'i64 {each}' for each in (*given, out))
    body.lines += [f'  call void {function}({arguments})', f'  br label %{done}']
    body.label(none)
    body.lines += [f'  call void @fill_nan(i64 {out}, i64 {size})',
                   f'  br label %{done}']
    body.label(done)


def _call_lanes(body, argument: int, row: str, given: list[str], out: str) -> None:
    kind = body.program.arguments[argument]
    rows = _reserve(body, VECTOR, 1)
    body.lines.append(f'  store {VECTOR} {row}, {at(body, rows, 0, VECTOR)}')
    bits = body.write(f'bitcast {body.mask} {body.active} to i{WIDTH}') if body.active else '-1'
    single, result = [_reserve(body, 'double', size) for size in kind.inputs], _reserve(
        body, 'double', kind.outputs)
    lane, following = body.new(), body.new()
    head, wanted, tail, done = body.new_labels('lane', 'wanted', 'tail', 'lanes')
    before = body.block
    body.lines.append(f'  br label %{head}')
    body.label(head)
    body.lines.append(f'  {lane} = phi i64 [ 0, %{before} ], [ {following}, %{tail} ]')
    shifted = body.write(f'lshr i{WIDTH} {bits}, '
                         f'{body.write(f"trunc i64 {lane} to i{WIDTH}")}')
    body.lines.append(f'  br i1 {body.write(f"trunc i{WIDTH} {shifted} to i1")}, '
                      f'label %{wanted}, label %{tail}')
    body.label(wanted)
    for each, own, size in zip(given, single, kind.inputs):
        body.lines.append(f'  call void @take_lane(i64 {each}, i64 {lane}, i64 {size}, i64 {own})')
    offset = body.write(f'mul i64 {lane}, 8')
    place = body.write(f'add i64 {rows}, {offset}')
    value = body.write(f'load double, {at(body, place, 0, "double")}')
    _invoke(body, argument, value, single, result, kind.outputs)
    body.lines += [f'  call void @put_lane(i64 {out}, i64 {lane}, i64 {kind.outputs}, '
                   f'i64 {result})', f'  br label %{tail}']
    body.label(tail)
    body.lines += [f'  {following} = add i64 {lane}, 1']
    more = body.write(f'icmp slt i64 {following}, {WIDTH}')
    body.lines.append(f'  br i1 {more}, label %{head}, label %{done}')
    body.label(done)


def _result(body, index, made, number):
    address = body.names[made.index]
    body.names[index] = body.write(f'load {body.type}, {at(body, address, number, body.type)}')


# --- tables ---------------------------------------------------------------------------------

def _row(body, index, argument, row):
    if body.vector:
        lanes = (body.write(f'extractelement {VECTOR} {body.operand(row)}, i32 {lane}')
                 for lane in _LANES)
        body.names[index] = [_row_address(body, argument, each) for each in lanes]
    else:
        body.names[index] = [_row_address(body, argument, body.operand(row))]


def _row_address(body, argument: int, row: str) -> str:
    """Write the address of a row; for a table without rows, that of a row of NaN."""
    width = body.program.arguments[argument].columns
    last = body.write(f'sitofp i64 {body.write(f"sub i64 %n{argument}, 1")} to double')
    positive = body.write(f'fcmp ogt double {row}, {constant(0.0)}')
    inside = body.write(f'select i1 {positive}, double {row}, double {constant(0.0)}')
    less = body.write(f'fcmp olt double {inside}, {last}')
    inside = body.write(f'select i1 {less}, double {inside}, double {last}')
    offset = body.write(f'mul i64 {body.write(f"fptosi double {inside} to i64")}, {8 * width}')
    address = body.write(f'add i64 %a{argument}, {offset}')
    some = body.write(f'icmp sgt i64 %n{argument}, 0')
    nans = _pointer(body, f'[{width} x double]')
    return body.write(f'select i1 {some}, i64 {address}, '
                      f'i64 ptrtoint ({nans} @nan_row{width} to i64)')


def _element(body, index, row, column):
    values = [body.write(f'load double, {at(body, address, column, "double")}')
              for address in body.names[row.index]]
    body.names[index] = _packed(body, values)


def _packed(body, values: list[str]) -> str:
    if not body.vector:
        return values[0]
    packed = 'undef'
    for lane, value in enumerate(values):
        packed = body.write(f'insertelement {VECTOR} {packed}, double {value}, i32 {lane}')
    return packed


def _rows(body, index, argument):
    count = body.write(f'sitofp i64 %n{argument} to double')
    body.names[index] = body.spread(count) if body.vector else count


def _search(body, index, argument, value, first, count, column):
    width = body.program.arguments[argument].columns
    operands = [body.operand(each) for each in (value, first, count)]
    found = []
    for lane in _LANES if body.vector else (0,):
        own = [body.write(f'extractelement {VECTOR} {each}, i32 {lane}') if body.vector else each
               for each in operands]
        keys = body.write(f'add i64 %a{argument}, {8 * column}')
        given = ', '.join(f'double {each}' for each in own)
        found.append(body.write(f'call double @search(i64 {keys}, i64 %n{argument}, '
                                f'i64 {8 * width}, {given})'))
    body.names[index] = _packed(body, found)


WRITERS: dict[str, Callable] = {
    'call': _call, 'result': _result, 'row': _row, 'element': _element, 'rows': _rows,
    'search': _search}


# --- functions that these call --------------------------------------------------------------

def support_ir(text: str, pointer: str) -> list[str]:
    """Return the functions and constants of this module that a text uses."""
    lines = []
    for width in sorted(set(re.findall(r'@nan_row(\d+) ', text))):
        values = ', '.join([f'double {_NAN}'] * int(width))
        lines.append(f'@nan_row{width} = internal constant [{width} x double] [{values}]')
    if '@search(' in text:
        lines += _search_ir(pointer)
    if '@fill_nan(' in text:
        lines += _fill_nan_ir(pointer)
    for name, source, target in (('take_lane', 'vectors', 'scalars'),
                                 ('put_lane', 'scalars', 'vectors')):
        if f'@{name}(' in text:
            lines += _lane_ir(name, source, target, pointer)
    return lines


def _search_ir(pointer: str) -> list[str]:
    zero, one = constant(0.0), constant(1.0)
    return [
        'define internal double @search(i64 %keys, i64 %rows, i64 %size, double %value, '
        'double %first, double %count) {', 'start:',
        # first row, clamped to the table, which may be empty
        '  %some = icmp sgt i64 %rows, 0', '  %room = select i1 %some, i64 %rows, i64 1',
        '  %end = sub i64 %room, 1', '  %last = sitofp i64 %end to double',
        f'  %positive = fcmp ogt double %first, {zero}',
        f'  %at0 = select i1 %positive, double %first, double {zero}',
        '  %less = fcmp olt double %at0, %last',
        '  %at = select i1 %less, double %at0, double %last',
        '  %base0 = fptosi double %at to i64', '  %there = sub i64 %rows, %base0',
        # number of rows, clamped to the table
        '  %most = sitofp i64 %there to double', '  %few = fcmp olt double %count, %most',
        '  %wanted = select i1 %few, double %count, double %most',
        f'  %any = fcmp oge double %count, {one}',
        f'  %number = select i1 %any, double %wanted, double {one}',
        '  %left0 = fptosi double %number to i64', '  br label %head', 'head:',
        '  %base = phi i64 [ %base0, %start ], [ %base1, %body ]',
        '  %left = phi i64 [ %left0, %start ], [ %left1, %body ]',
        '  %more = icmp sgt i64 %left, 1', '  br i1 %more, label %body, label %done', 'body:',
        '  %half = lshr i64 %left, 1', '  %middle = add i64 %base, %half',
        '  %offset = mul i64 %middle, %size', '  %where = add i64 %keys, %offset',
        f'  %pointer = inttoptr i64 %where to {pointer}',
        f'  %key = load double, {pointer} %pointer',
        '  %before = fcmp ole double %key, %value',
        '  %base1 = select i1 %before, i64 %middle, i64 %base',
        '  %left1 = sub i64 %left, %half', '  br label %head', 'done:',
        '  %found = sitofp i64 %base to double', '  ret double %found', '}']


def _fill_nan_ir(pointer: str) -> list[str]:
    """Return a function that fills an array with NaN."""
    return [
        'define internal void @fill_nan(i64 %out, i64 %size) {', 'start:',
        '  br label %head', 'head:', '  %k = phi i64 [ 0, %start ], [ %k1, %body ]',
        '  %more = icmp slt i64 %k, %size', '  br i1 %more, label %body, label %done', 'body:',
        '  %offset = mul i64 %k, 8', '  %where = add i64 %out, %offset',
        f'  %pointer = inttoptr i64 %where to {pointer}',
        f'  store double {_NAN}, {pointer} %pointer', '  %k1 = add i64 %k, 1',
        '  br label %head', 'done:', '  ret void', '}']


def _lane_ir(name: str, source: str, target: str, pointer: str) -> list[str]:
    """Return a function that copies one lane of vectors to an array of doubles, or back."""
    parameters = {'vectors': '%vectors', 'scalars': '%scalars'}
    strides = {'vectors': 8 * WIDTH, 'scalars': 8}
    lines = [f'define internal void @{name}(i64 %vectors0, i64 %lane, i64 %size, i64 %scalars) {{',
             'start:', '  %shift = mul i64 %lane, 8', '  %vectors = add i64 %vectors0, %shift',
             '  br label %head', 'head:', '  %k = phi i64 [ 0, %start ], [ %k1, %body ]',
             '  %more = icmp slt i64 %k, %size', '  br i1 %more, label %body, label %done',
             'body:']
    for role, which in (('from', source), ('to', target)):
        lines += [f'  %{role}0 = mul i64 %k, {strides[which]}',
                  f'  %{role}1 = add i64 {parameters[which]}, %{role}0',
                  f'  %{role} = inttoptr i64 %{role}1 to {pointer}']
    return [*lines, f'  %value = load double, {pointer} %from',
            f'  store double %value, {pointer} %to', '  %k1 = add i64 %k, 1', '  br label %head',
            'done:', '  ret void', '}']
