"""
Functions in C that exported functions call; each file has its own copies of those it needs.

Sine and cosine are those of the LLVM backend (`dynamics.jit.sines`): one reduction and two
polynomials per angle below 1e6 rad, in a loop that compilers turn into vectors; beyond, the C
library's.
"""

from __future__ import annotations

from collections.abc import Iterable

from robodyn_ros.dynamics.jit import sines
from robodyn_ros.export.expressions import literal
from robodyn_ros.export.lines import INDENT, wrapped

# macros and types that exported files use
INCLUDES = ('math.h', 'stdbool.h', 'stdint.h')
# functions of math.h that may be called
LIBM = ('cos', 'fabs', 'floor', 'rint', 'sin', 'sqrt')


def helpers(names: Iterable[str]) -> list[str]:
    """Return the definitions of helpers, by name."""
    return [line for name in sorted(names) for text in (*_TEXTS[name].splitlines(), '')
            for line in wrapped(text.lstrip(), (len(text) - len(text.lstrip())) // len(INDENT))]


def _horner(coefficients: Iterable[float]) -> str:
    first, *rest = map(literal, coefficients)
    text = first
    for each in rest:
        text = f'(({text} * z) + {each})'
    return text


_SINES = f"""\
/* Sines s and cosines c of angles x, within one unit in the last place of the C library's. */
static void sines(const double *restrict x, double *restrict s, double *restrict c, int32_t count)
{{
    for (int32_t i = 0; i < count; ++i) {{
        const double angle = x[i];
        const bool small = fabs(angle) < {literal(sines.LARGEST)};
        /* nearest multiple of pi/2, and what is left */
        const double rounded = (angle * {literal(sines.TWO_OVER_PI)}) + {literal(sines.ROUND)};
        const double k = rounded - {literal(sines.ROUND)};
        const double r1 = angle - (k * {literal(sines.HALF_PI[0])});
        const double r2 = r1 - (k * {literal(sines.HALF_PI[1])});
        const double r = r2 - (k * {literal(sines.HALF_PI[2])});
        const double z = r * r;
        const double p = {_horner(sines.SINE)};
        const double q = {_horner(sines.COSINE)};
        const double sine = r + ((r * z) * p);
        const double cosine = (1.0 - (0.5 * z)) + ((z * z) * q);
        /* quadrant: odd ones swap */
        const int32_t whole = (int32_t)(small ? k : 0.0);
        const uint32_t quadrant = (uint32_t)whole;
        const double a = ((quadrant & 1U) != 0U) ? cosine : sine;
        const double b = ((quadrant & 1U) != 0U) ? sine : cosine;
        s[i] = ((quadrant & 2U) != 0U) ? -a : a;
        c[i] = (((quadrant + 1U) & 2U) != 0U) ? -b : b;
    }}
    for (int32_t i = 0; i < count; ++i) {{
        if (!(fabs(x[i]) < {literal(sines.LARGEST)})) {{
            s[i] = sin(x[i]);
            c[i] = cos(x[i]);
        }}
    }}
}}"""

_NO_NUMBERS = """\
/* Write that there is no number to an array. */
static void fill_nan(double *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        out[i] = (double)NAN;
    }
}"""

_ROW_AT = """\
/* Number of a row of a table with rows: cut off behind the point, inside the table. */
static int32_t row_at(int32_t rows, double row)
{
    const double last = (double)(rows - 1);
    const double from = (row > 0.0) ? row : 0.0;
    return (int32_t)((from < last) ? from : last);
}"""

_LAST_NOT_AFTER = """\
/* Last of `count` rows from `first` on whose key is not above a value; by bisection. */
static double search_sorted(const double *table, int32_t rows, int32_t columns, int32_t column,
                             double value, double first, double count)
{
    const double last = (double)(((rows > 0) ? rows : 1) - 1);
    const double from = (first > 0.0) ? first : 0.0;
    int32_t base = (int32_t)((from < last) ? from : last);
    const double most = (double)(rows - base);
    int32_t left = (int32_t)((count >= 1.0) ? ((count < most) ? count : most) : 1.0);
    while (left > 1) {
        const int32_t half = left / 2;
        const int32_t middle = base + half;
        base = (table[(middle * columns) + column] <= value) ? middle : base;
        left -= half;
    }
    return (double)base;
}"""

_INVERT = """\
/* Inverse of a symmetric matrix: its lower triangle, in rows `stride` numbers apart. */
static void invert(double *a, int32_t size, int32_t stride)
{
    for (int32_t k = 0; k < size; ++k) {
        const double scale = 1.0 / a[(k * stride) + k];
        for (int32_t i = 0; i < size; ++i) {
            const double own = (i <= k) ? a[(k * stride) + i] : a[(i * stride) + k];
            const double factor = own * scale;
            if (i != k) {
                for (int32_t j = 0; j <= i; ++j) {
                    const double other = (j <= k) ? a[(k * stride) + j] : a[(j * stride) + k];
                    if (j != k) {
                        a[(i * stride) + j] -= factor * other;
                    }
                }
            }
        }
        for (int32_t j = 0; j < size; ++j) {
            if (j < k) {
                a[(k * stride) + j] *= scale;
            } else if (j > k) {
                a[(j * stride) + k] *= scale;
            }
        }
        a[(k * stride) + k] = -scale;
    }
    for (int32_t i = 0; i < size; ++i) {
        for (int32_t j = 0; j <= i; ++j) {
            a[(i * stride) + j] = -a[(i * stride) + j];
        }
    }
}"""

_TEXTS = {'invert': _INVERT, 'sines': _SINES, 'fill_nan': _NO_NUMBERS, 'row_at': _ROW_AT,
          'search_sorted': _LAST_NOT_AFTER}
