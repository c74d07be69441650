"""
Sine and cosine in LLVM IR, four angles at a time, accurate for every finite angle.

Cody and Waite's three-part reduction with fdlibm's polynomials for |x| < 1e6; the C library for
larger angles.
"""

from __future__ import annotations

import struct

WIDTH = 4
VECTOR = f'<{WIDTH} x double>'

# sin(r) = r + r^3 (S1 + r^2 (S2 + ...)), cos(r) = 1 - r^2/2 + r^4 (C1 + ...) on [-pi/4, pi/4],
# coefficients of fdlibm's k_sin.c and k_cos.c
SINE = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)
COSINE = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
          2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)
# pi/2 in three parts of 33 bits: k times a part is exact for |k| < 2^20
HALF_PI = (1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
ROUND = 1.5 * 2.0 ** 52  # adding it rounds to an integer and leaves that in the low bits
LARGEST = 1.0e6
TWO_OVER_PI = 0.63661977236758134308


def constant(value: float) -> str:
    """Return a double constant, exact to the last bit."""
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def splat(value: float) -> str:
    """Return a vector constant with all lanes equal."""
    return f'<{", ".join(f"double {constant(value)}" for _ in range(WIDTH))}>'


def sincos_ir() -> list[str]:
    """Return the lines of `sincos`, from a vector of angles to a pair of vectors."""
    v, integers = VECTOR, f'<{WIDTH} x i64>'
    mask = f'<{WIDTH} x i1>'
    pair = f'{{{v}, {v}}}'

    def whole(value):
        return f'<{", ".join(f"i64 {value}" for _ in range(WIDTH))}>'

    def polynomial(name, coefficients):
        lines = [f'  %{name}0 = fmul contract {v} %z, {splat(coefficients[0])}']
        for k, coefficient in enumerate(coefficients[1:]):
            lines.append(f'  %{name}{2 * k + 1} = fadd contract {v} %{name}{2 * k}, '
                         f'{splat(coefficient)}')
            if k < len(coefficients) - 2:
                lines.append(f'  %{name}{2 * k + 2} = fmul contract {v} %{name}{2 * k + 1}, %z')
        return lines, f'%{name}{2 * len(coefficients) - 3}'

    sine, sine_name = polynomial('s', SINE)
    cosine, cosine_name = polynomial('c', COSINE)
    lines = [
        f'define internal {pair} @sincos({v} %x) noinline {{', 'start:',
        f'  %size = call {v} @llvm.fabs.v{WIDTH}f64({v} %x)',
        f'  %small = fcmp olt {v} %size, {splat(LARGEST)}',
        f'  %bits = bitcast {mask} %small to i{WIDTH}',
        f'  %all = icmp eq i{WIDTH} %bits, -1',
        # nearest multiple of pi/2, and the remainder
        f'  %scaled = fmul {v} %x, {splat(TWO_OVER_PI)}',
        f'  %rounded = fadd {v} %scaled, {splat(ROUND)}',
        f'  %k = fsub {v} %rounded, {splat(ROUND)}',
        f'  %k1 = fmul contract {v} %k, {splat(HALF_PI[0])}',
        f'  %r1 = fsub contract {v} %x, %k1',
        f'  %k2 = fmul contract {v} %k, {splat(HALF_PI[1])}',
        f'  %r2 = fsub contract {v} %r1, %k2',
        f'  %k3 = fmul contract {v} %k, {splat(HALF_PI[2])}',
        f'  %r = fsub contract {v} %r2, %k3',
        f'  %z = fmul {v} %r, %r', *sine, *cosine,
        f'  %rz = fmul {v} %r, %z',
        f'  %sc = fmul contract {v} %rz, {sine_name}',
        f'  %sine = fadd contract {v} %r, %sc',
        f'  %zz = fmul {v} %z, %z',
        f'  %cc = fmul contract {v} %zz, {cosine_name}',
        f'  %half = fmul contract {v} %z, {splat(0.5)}',
        f'  %head = fsub contract {v} {splat(1.0)}, %half',
        f'  %cosine = fadd contract {v} %head, %cc',
        # quadrant: odd ones swap, the sign follows bit 1
        f'  %q = bitcast {v} %rounded to {integers}',
        f'  %odd = and {integers} %q, {whole(1)}',
        f'  %swap = icmp ne {integers} %odd, zeroinitializer',
        f'  %s = select {mask} %swap, {v} %cosine, {v} %sine',
        f'  %c = select {mask} %swap, {v} %sine, {v} %cosine',
        f'  %sq = shl {integers} %q, {whole(62)}',
        f'  %ssign = and {integers} %sq, {whole(-2 ** 63)}',
        f'  %q1 = add {integers} %q, {whole(1)}',
        f'  %cq = shl {integers} %q1, {whole(62)}',
        f'  %csign = and {integers} %cq, {whole(-2 ** 63)}',
        f'  %sbits = bitcast {v} %s to {integers}',
        f'  %cbits = bitcast {v} %c to {integers}',
        f'  %sflip = xor {integers} %sbits, %ssign',
        f'  %cflip = xor {integers} %cbits, %csign',
        f'  %sfinal = bitcast {integers} %sflip to {v}',
        f'  %cfinal = bitcast {integers} %cflip to {v}',
        f'  %f0 = insertvalue {pair} undef, {v} %sfinal, 0',
        f'  %f1 = insertvalue {pair} %f0, {v} %cfinal, 1',
        '  br i1 %all, label %fast, label %library', 'fast:', f'  ret {pair} %f1', 'library:']
    # per lane, so that the result of an angle does not depend on other lanes
    for function in ('sin', 'cos'):
        packed = 'undef'
        for lane in range(WIDTH):
            name = f'%{function}{lane}'
            lines += [f'  {name}x = extractelement {v} %x, i32 {lane}',
                      f'  {name}y = call double @{function}(double {name}x)',
                      f'  {name} = insertelement {v} {packed}, double {name}y, i32 {lane}']
            packed = name
        lines.append(f'  %{function}s = select {mask} %small, {v} %{function[0]}final, '
                     f'{v} {packed}')
    return [*lines, f'  %l0 = insertvalue {pair} undef, {v} %sins, 0',
            f'  %l1 = insertvalue {pair} %l0, {v} %coss, 1', f'  ret {pair} %l1', '}']
