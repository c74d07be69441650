"""Functions in LLVM IR that compiled programs call."""

from __future__ import annotations

import math
import re

from robodyn_ros.dynamics.jit.lists import WIDEST
from robodyn_ros.dynamics.jit.sines import constant, sincos_ir, VECTOR, WIDTH

_TEXT = """\
; function of a row of a table; null if there is none
define internal ptr @function_at(ptr %table, i64 %rows, double %row) {
start:
  %count = sitofp i64 %rows to double
  %low = fcmp oge double %row, 0.0
  %high = fcmp olt double %row, %count
  %inside = and i1 %low, %high
  br i1 %inside, label %look, label %none
look:
  %k = fptosi double %row to i64
  %entry = getelementptr ptr, ptr %table, i64 %k
  %function = load ptr, ptr %entry
  ret ptr %function
none:
  ret ptr null
}
; row of a table, clamped; for a table without rows that of `nothing`
define internal ptr @row_at(ptr %table, i64 %rows, i64 %columns, double %row, ptr %nothing) {
start:
  %end = sub i64 %rows, 1
  %last = sitofp i64 %end to double
  %positive = fcmp ogt double %row, 0.0
  %from = select i1 %positive, double %row, double 0.0
  %less = fcmp olt double %from, %last
  %at = select i1 %less, double %from, double %last
  %k = fptosi double %at to i64
  %offset = mul i64 %k, %columns
  %found = getelementptr double, ptr %table, i64 %offset
  %some = icmp sgt i64 %rows, 0
  %result = select i1 %some, ptr %found, ptr %nothing
  ret ptr %result
}
; last of `count` rows from `first` on whose key is not above a value; the table may be empty
define internal double @search(ptr %keys, i64 %rows, i64 %columns, double %value, double %first, \
double %count) {
start:
  %some = icmp sgt i64 %rows, 0
  %room = select i1 %some, i64 %rows, i64 1
  %end = sub i64 %room, 1
  %last = sitofp i64 %end to double
  %positive = fcmp ogt double %first, 0.0
  %at0 = select i1 %positive, double %first, double 0.0
  %less = fcmp olt double %at0, %last
  %at = select i1 %less, double %at0, double %last
  %base0 = fptosi double %at to i64
  %there = sub i64 %rows, %base0
  %most = sitofp i64 %there to double
  %few = fcmp olt double %count, %most
  %wanted = select i1 %few, double %count, double %most
  %any = fcmp oge double %count, 1.0
  %number = select i1 %any, double %wanted, double 1.0
  %left0 = fptosi double %number to i64
  br label %head
head:
  %base = phi i64 [ %base0, %start ], [ %base1, %body ]
  %left = phi i64 [ %left0, %start ], [ %left1, %body ]
  %more = icmp sgt i64 %left, 1
  br i1 %more, label %body, label %done
body:
  %half = lshr i64 %left, 1
  %middle = add i64 %base, %half
  %offset = mul i64 %middle, %columns
  %where = getelementptr double, ptr %keys, i64 %offset
  %key = load double, ptr %where
  %before = fcmp ole double %key, %value
  %base1 = select i1 %before, i64 %middle, i64 %base
  %left1 = sub i64 %left, %half
  br label %head
done:
  %found = sitofp i64 %base to double
  ret double %found
}
; inverse of a symmetric matrix: its lower triangle, in rows of whole vectors of WIDE
define internal void @invert(ptr %a, i64 %size, i64 %stride) {
start:
  %column = alloca double, i64 %stride, align 64
  %last = sub i64 %size, 1
  br label %pivot
pivot:
  %k = phi i64 [ 0, %start ], [ %k1, %swept ]
  %beginning = mul i64 %k, %stride
  br label %take
take:
  %j = phi i64 [ 0, %pivot ], [ %j1, %take ]
  %below = icmp sgt i64 %j, %k
  %row = select i1 %below, i64 %j, i64 %k
  %place = select i1 %below, i64 %k, i64 %j
  %offset = mul i64 %row, %stride
  %index = add i64 %offset, %place
  %from = getelementptr double, ptr %a, i64 %index
  %x = load double, ptr %from
  %to = getelementptr double, ptr %column, i64 %j
  store double %x, ptr %to
  %j1 = add i64 %j, 1
  %taken = icmp eq i64 %j1, %size
  br i1 %taken, label %ready, label %take
ready:
  %at = getelementptr double, ptr %column, i64 %k
  %diagonal = load double, ptr %at
  %scale = fdiv double 1.0, %diagonal
  br label %rows
rows:
  %i = phi i64 [ 0, %ready ], [ %i1, %updated ]
  %start_of_row = mul i64 %i, %stride
  %factor_at = getelementptr double, ptr %column, i64 %i
  %own = load double, ptr %factor_at
  %factor = fmul double %own, %scale
  %f0 = insertelement WIDE undef, double %factor, i32 0
  %factors = shufflevector WIDE %f0, WIDE undef, <8 x i32> zeroinitializer
  br label %update
update:
  %v = phi i64 [ 0, %rows ], [ %v1, %update ]
  %where = add i64 %start_of_row, %v
  %element = getelementptr double, ptr %a, i64 %where
  %before = load WIDE, ptr %element, align 8
  %c_at = getelementptr double, ptr %column, i64 %v
  %c = load WIDE, ptr %c_at, align 8
  %product = fmul contract WIDE %factors, %c
  %after = fsub contract WIDE %before, %product
  store WIDE %after, ptr %element, align 8
  %v1 = add i64 %v, 8
  %again = icmp sle i64 %v1, %i
  br i1 %again, label %update, label %updated
updated:
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i1, %size
  br i1 %done, label %set, label %rows
set:
  %m = phi i64 [ 0, %updated ], [ %m1, %set ]
  %under = icmp sgt i64 %m, %k
  %line = select i1 %under, i64 %m, i64 %k
  %spot = select i1 %under, i64 %k, i64 %m
  %shift = mul i64 %line, %stride
  %target_index = add i64 %shift, %spot
  %target = getelementptr double, ptr %a, i64 %target_index
  %c_here = getelementptr double, ptr %column, i64 %m
  %y = load double, ptr %c_here
  %scaled = fmul double %y, %scale
  store double %scaled, ptr %target
  %m1 = add i64 %m, 1
  %all = icmp eq i64 %m1, %size
  br i1 %all, label %swept, label %set
swept:
  %centre = add i64 %beginning, %k
  %pivot_at = getelementptr double, ptr %a, i64 %centre
  %opposite = fneg double %scale
  store double %opposite, ptr %pivot_at
  %k1 = add i64 %k, 1
  %finished = icmp eq i64 %k1, %size
  br i1 %finished, label %turn, label %pivot
turn:
  %count = mul i64 %size, %stride
  br label %negate
negate:
  %n = phi i64 [ 0, %turn ], [ %n1, %negate ]
  %p = getelementptr double, ptr %a, i64 %n
  %value = load WIDE, ptr %p, align 8
  %negative = fneg WIDE %value
  store WIDE %negative, ptr %p, align 8
  %n1 = add i64 %n, 8
  %end = icmp eq i64 %n1, %count
  br i1 %end, label %return, label %negate
return:
  ret void
}
"""

_LOOP = """\
define internal void @{name}({parameters}, i64 %size) {{
start:
{begin}
  br label %head
head:
  %k = phi i64 [ 0, %start ], [ %k1, %body ]
  %more = icmp slt i64 %k, %size
  br i1 %more, label %body, label %done
body:
{body}
  %k1 = add i64 %k, 1
  br label %head
done:
  ret void
}}"""
_LANES = range(WIDTH)
_WIDE = f'<{WIDEST} x double>'


def _loop(name: str, parameters: str, begin: list[str], body: list[str]) -> str:
    """Return a function with a loop of `size` iterations, each with its number `k`."""
    return _LOOP.format(name=name, parameters=parameters, begin='\n'.join(begin),
                        body='\n'.join(body))


def _with_lane(name: str, takes: bool) -> str:
    """Return a function that copies one lane of vectors to an array of doubles, or back."""
    source, target = ('lane', 'scalar') if takes else ('scalar', 'lane')
    return _loop(name, 'i64 %vectors, i64 %lane, i64 %scalars', [
        '  %from = inttoptr i64 %vectors to ptr', '  %array = inttoptr i64 %scalars to ptr'], [
        f'  %vector = getelementptr {VECTOR}, ptr %from, i64 %k',
        '  %atlane = getelementptr double, ptr %vector, i64 %lane',
        '  %atscalar = getelementptr double, ptr %array, i64 %k',
        f'  %x = load double, ptr %at{source}', f'  store double %x, ptr %at{target}'])


def _with_rows(name: str, gathers: bool) -> str:
    """Return a function that copies a row of an array per lane to a buffer of vectors, or back."""
    places = [line for k in _LANES for line in (
        f'  %i{k} = add i64 %s{k}, %k', f'  %p{k} = getelementptr double, ptr %rows, i64 %i{k}')]
    if gathers:
        moves = [*(f'  %x{k} = load double, ptr %p{k}' for k in _LANES), *(
            f'  %v{k + 1} = insertelement {VECTOR} {f"%v{k}" if k else "undef"}, double %x{k}, '
            f'i32 {k}' for k in _LANES), f'  store {VECTOR} %v{WIDTH}, ptr %at']
    else:
        moves = [f'  %v = load {VECTOR}, ptr %at', *(line for k in _LANES for line in (
            f'  %x{k} = extractelement {VECTOR} %v, i32 {k}', f'  store double %x{k}, ptr %p{k}'))]
    return _loop(name, f'i64 %array, {", ".join(f"i64 %s{k}" for k in _LANES)}, i64 %to', [
        '  %rows = inttoptr i64 %array to ptr', '  %buffer = inttoptr i64 %to to ptr'], [
        f'  %at = getelementptr {VECTOR}, ptr %buffer, i64 %k', *places, *moves])


def support_ir(text: str) -> list[str]:
    """Return the functions of this module that a text calls."""
    functions = {
        'sincos': '\n'.join(sincos_ir()),
        'fill_nan': _loop('fill_nan', 'ptr %out', [], [
            '  %where = getelementptr double, ptr %out, i64 %k',
            f'  store double {constant(math.nan)}, ptr %where']),
        'take_lane': _with_lane('take_lane', True), 'put_lane': _with_lane('put_lane', False),
        'gather': _with_rows('gather', True), 'scatter': _with_rows('scatter', False), **{
            re.findall(r'@(\w+)', each)[0]: f'{each.rstrip()}'
            for each in re.split(r'^(?=; )', _TEXT.replace('WIDE', _WIDE), flags=re.MULTILINE)
            if each}}
    return [function for name, function in functions.items() if f'@{name}(' in text]
