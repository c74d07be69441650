"""Test in LLVM IR whether numbers are finite."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.sines import VECTOR, WIDTH


def finite_ir(name: str, data: list[tuple[str, int]], good: str, bad: str) -> list[str]:
    """
    Return instructions that branch on whether doubles in memory are finite.

    Parameters
    ----------
    name : str
        Prefix of the names of all values.
    data : list of (str, int)
        Addresses, as 64-bit integers, and numbers of doubles.
    good, bad : str
        Labels for the two cases.

    """
    lines, sums = [], {'double': '0.0', VECTOR: 'zeroinitializer'}
    for array, (address, size) in enumerate(data):
        kind, step = ('double', 1) if size < WIDTH else (VECTOR, WIDTH)
        # if vectors do not fill the array, the last one overlaps the one before
        for start in [*range(0, size - step, step), size - step] if size else []:
            at, zero = f'%{name}{array}.{start}', '0.0' if step == 1 else 'zeroinitializer'
            lines += [f'  {at} = add i64 {address}, {8 * start}',
                      f'  {at}p = inttoptr i64 {at} to ptr',
                      f'  {at}x = load {kind}, ptr {at}p, align 8',
                      f'  {at}z = fmul contract {kind} {at}x, {zero}',
                      f'  {at}s = fadd contract {kind} {at}z, {sums[kind]}']
            sums[kind] = f'{at}s'
    return [*lines,
            f'  %{name}v = fcmp uno {VECTOR} {sums[VECTOR]}, zeroinitializer',
            f'  %{name}bits = bitcast <{WIDTH} x i1> %{name}v to i{WIDTH}',
            f'  %{name}lanes = icmp ne i{WIDTH} %{name}bits, 0',
            f'  %{name}d = fcmp uno double {sums["double"]}, 0.0',
            f'  %{name}any = or i1 %{name}lanes, %{name}d',
            f'  br i1 %{name}any, label %{bad}, label %{good}']
