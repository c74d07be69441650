/* Sines s and cosines c of angles x, within one unit in the last place of the C library's. */
static void sines(const double *restrict x, double *restrict s, double *restrict c, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        const double angle = x[i];
        const bool small = fabs(angle) < @LARGEST@;
        /* nearest multiple of pi/2, and what is left */
        const double rounded = (angle * @TWO_OVER_PI@) + @ROUND@;
        const double k = rounded - @ROUND@;
        const double r1 = angle - (k * @HALF_PI0@);
        const double r2 = r1 - (k * @HALF_PI1@);
        const double r = r2 - (k * @HALF_PI2@);
        const double z = r * r;
        const double p = @SINE@;
        const double q = @COSINE@;
        const double sine = r + ((r * z) * p);
        const double cosine = (1.0 - (0.5 * z)) + ((z * z) * q);
        /* quadrant: odd ones swap */
        const int32_t whole = (int32_t)(small ? k : 0.0);
        const uint32_t quadrant = (uint32_t)whole;
        const double a = ((quadrant & 1U) != 0U) ? cosine : sine;
        const double b = ((quadrant & 1U) != 0U) ? sine : cosine;
        s[i] = ((quadrant & 2U) != 0U) ? -a : a;
        c[i] = (((quadrant + 1U) & 2U) != 0U) ? -b : b;
    }
    for (int32_t i = 0; i < count; ++i) {
        if (!(fabs(x[i]) < @LARGEST@)) {
            s[i] = sin(x[i]);
            c[i] = cos(x[i]);
        }
    }
}

/* Write that there is no number to an array. */
static void fill_nan(double *out, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        out[i] = (double)NAN;
    }
}

/* Number of a row of a table with rows: cut off behind the point, inside the table. */
static int32_t row_at(int32_t rows, double row)
{
    const double last = (double)(rows - 1);
    const double from = (row > 0.0) ? row : 0.0;
    return (int32_t)((from < last) ? from : last);
}

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
}

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
}
