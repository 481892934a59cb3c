/* tiles.h - of attention, for an element type T that is computed in: rows of operands as products want them, and the
 * products. attention.c includes it per type, with FN to name things, LANES and FN(e_to), FN(tanh) defined.
 *
 * A tile of scores lies with queries side by side, x[key][query]: so what is kept of each query, the largest score, a
 * sum, is a vector, keys are read as they lie, and only a block of queries is turned around. */

typedef T FN(vec) __attribute__((vector_size(EG__VECTOR_BYTES), aligned(sizeof(T)), may_alias));
#define VEC FN(vec)

/* ---- rows ------------------------------------------------------------------------------------- */

static void FN(widen)(int64_t n, int dtype, const char *x, int64_t step, T *y)
{
    if (dtype == EG_F16 || dtype == EG_BF16) {
#if FLOATS
        ISA(eg__halves_to_f32)(n, dtype, x, step, y);
#else
        for (int64_t i = 0; i < n; i++) {
            const uint16_t h = *(const uint16_t *)(x + i * step);
            y[i] = dtype == EG_F16 ? eg__f16_to_f32(h) : eg__bf16_to_f32(h);
        }
#endif
    } else if (dtype == EG_F32) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (T) * (const float *)(x + i * step);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (T) * (const double *)(x + i * step);
        }
    }
}

static void FN(narrow)(int64_t n, int dtype, const T *x, char *y)
{
    if (dtype == EG_F16 || dtype == EG_BF16) {
#if FLOATS
        ISA(eg__f32_to_halves)(n, dtype, x, y, 2);
#endif
    } else {
        memcpy(y, x, (size_t)n * sizeof(T));
    }
}

/* Rows of `n` numbers, then zeros up to a whole vector, one row behind the other: as they lie if they lie so, or in
 * `copy`. */
static const T *FN(rows)(const view *x, const char *from, int64_t count, int64_t n, T *copy)
{
    const int64_t padded = (n + LANES - 1) / LANES * LANES;
    if (x->dtype == OWN && x->column == sizeof(T) && n == padded && x->row == padded * (int64_t)sizeof(T)) {
        return (const T *)from;
    }
    for (int64_t i = 0; i < count; i++) {
        T *to = copy + i * padded;
        if (x->dtype == OWN && x->column == sizeof(T)) {
            memcpy(to, from + i * x->row, (size_t)n * sizeof(T));
        } else {
            FN(widen)(n, x->dtype, from + i * x->row, x->column, to);
        }
        for (int64_t k = n; k < padded; k++) {
            to[k] = 0;
        }
    }
    return copy;
}

typedef struct FN(square) {
    T from[LANES][LANES], to[LANES][LANES];
} FN(square);

static EG__INLINE void FN(turn_square)(FN(square) * s)
{
    for (int r = 0; r < LANES; r++) {
        for (int l = 0; l < LANES; l++) {
            s->to[r][l] = s->from[l][r];
        }
    }
}

/* to[columns, height] = the transpose of from[count, columns], of rows `padded` apart, times `scale`; zero where there
 * are no rows. columns and height are whole vectors. */
static void FN(turn)(const T *from, int64_t count, int64_t columns, int64_t padded, T *to, int64_t height, T scale)
{
    for (int64_t i = 0; i < height; i += LANES) {
        const int64_t rows = eg__min(LANES, count - i);
        for (int64_t k = 0; k < columns; k += LANES) {
            FN(square) s;
            for (int64_t r = 0; r < LANES; r++) {
                const T *row = from + (i + (r < rows ? r : 0)) * padded + k;
                *(VEC *)s.from[r] = *(const VEC *)row * (r < rows ? scale : 0);
            }
            FN(turn_square)(&s);
            for (int r = 0; r < LANES; r++) {
                *(VEC *)(to + (k + r) * height + i) = *(const VEC *)s.to[r];
            }
        }
    }
}

static void FN(clear)(int64_t n, T *x)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0;
    }
}

/* ---- products ---------------------------------------------------------------------------------- */

/* y[rows, vectors] (+)= a b; rows of a lie `ra` apart, columns `ca`. rows and vectors are constants. */
static EG__INLINE void FN(tile)(const int rows, const int vectors, int64_t k, const T *a, int64_t ra, int64_t ca,
                                const T *b, int64_t rb, T *y, int64_t ry, bool add)
{
    VEC sum[2 * ROWS][VECTORS];
    const T *row[2 * ROWS];
    EG__UNROLLED
    for (int i = 0; i < rows; i++) {
        row[i] = a + i * ra;
        EG__UNROLLED
        for (int j = 0; j < vectors; j++) {
            sum[i][j] = (VEC){0};
        }
    }
    for (int64_t l = 0; l < k; l++, b += rb) {
        VEC w[VECTORS];
        EG__UNROLLED
        for (int j = 0; j < vectors; j++) {
            w[j] = *(const VEC *)(b + j * LANES);
        }
        EG__UNROLLED
        for (int i = 0; i < rows; i++) {
            const T f = row[i][l * ca];
            EG__UNROLLED
            for (int j = 0; j < vectors; j++) {
                sum[i][j] += f * w[j];
            }
        }
    }
    EG__UNROLLED
    for (int i = 0; i < rows; i++) {
        EG__UNROLLED
        for (int j = 0; j < vectors; j++) {
            VEC *to = (VEC *)(y + i * ry + j * LANES);
            sum[i][j] += add ? *to : (VEC){0};
            *to = sum[i][j];
        }
    }
}

/* As many rows as there are tiles for: enough sums at once to hide how long one takes. across: rows of a lie side by
 * side, its columns do not. */
#define COLUMN(name, vectors, across)                                                                              \
    static void FN(name)(int64_t m, int64_t k, const T *a, int64_t step, const T *b, int64_t rb, T *y, int64_t ry, \
                         bool add)                                                                                 \
    {                                                                                                              \
        const int64_t ra = across ? 1 : step, ca = across ? step : 1;                                              \
        for (; vectors == 1 && m >= 2 * ROWS; m -= 2 * ROWS, a += 2 * ROWS * ra, y += 2 * ROWS * ry) {             \
            FN(tile)(2 * ROWS, vectors, k, a, ra, ca, b, rb, y, ry, add);                                          \
        }                                                                                                          \
        for (; m >= ROWS; m -= ROWS, a += ROWS * ra, y += ROWS * ry) {                                             \
            FN(tile)(ROWS, vectors, k, a, ra, ca, b, rb, y, ry, add);                                              \
        }                                                                                                          \
        if (m >= 4) {                                                                                              \
            FN(tile)(4, vectors, k, a, ra, ca, b, rb, y, ry, add);                                                 \
            m -= 4, a += 4 * ra, y += 4 * ry;                                                                      \
        }                                                                                                          \
        if (m >= 2) {                                                                                              \
            FN(tile)(2, vectors, k, a, ra, ca, b, rb, y, ry, add);                                                 \
            m -= 2, a += 2 * ra, y += 2 * ry;                                                                      \
        }                                                                                                          \
        if (m >= 1) {                                                                                              \
            FN(tile)(1, vectors, k, a, ra, ca, b, rb, y, ry, add);                                                 \
        }                                                                                                          \
    }
COLUMN(along_1, 1, false)
COLUMN(along_2, 2, false)
COLUMN(across_1, 1, true)
COLUMN(across_2, 2, true)
#if VECTORS > 2
COLUMN(along_4, 4, false)
COLUMN(across_4, 4, true)
#endif
#undef COLUMN

/* y[m, n] (+)= a[m, k] b[k, n], n whole vectors. */
static void FN(product)(int64_t m, int64_t n, int64_t k, const T *a, int64_t step, bool across, const T *b, int64_t rb,
                        T *y, int64_t ry, bool add)
{
    while (n > 0) {
#if VECTORS > 2
        if (n >= 4 * LANES) {
            (across ? FN(across_4) : FN(along_4))(m, k, a, step, b, rb, y, ry, add);
            n -= 4 * LANES, b += 4 * LANES, y += 4 * LANES;
            continue;
        }
#endif
        const int vectors = n >= 2 * LANES ? 2 : 1;
        if (vectors == 2) {
            (across ? FN(across_2) : FN(along_2))(m, k, a, step, b, rb, y, ry, add);
        } else {
            (across ? FN(across_1) : FN(along_1))(m, k, a, step, b, rb, y, ry, add);
        }
        n -= vectors * LANES, b += vectors * LANES, y += vectors * LANES;
    }
}

/* y[m, n] += a^T b where k rows are many: some of them at a time, which stay in the innermost cache. */
static void FN(add_product)(int64_t m, int64_t n, int64_t k, const T *a, int64_t step, const T *b, int64_t rb, T *y,
                            int64_t ry)
{
    for (int64_t l = 0; l < k; l += DEPTH) {
        FN(product)(m, n, eg__min(DEPTH, k - l), a + l * step, step, true, b + l * rb, rb, y, ry, true);
    }
}

/* y[i] = row i of a times v, both whole vectors long. Sums of many rows are added up across lanes together. */
static void FN(dots)(int64_t m, int64_t k, const T *a, const T *v, T *y)
{
    for (int64_t i = 0; i < m; i += LANES) {
        VEC sum[LANES];
        const int64_t rows = eg__min(LANES, m - i);
        EG__UNROLLED
        for (int r = 0; r < LANES; r++) {
            const T *row = a + (i + (r < rows ? r : 0)) * k;
            sum[r] = (VEC){0};
            for (int64_t l = 0; l < k; l += LANES) {
                sum[r] += *(const VEC *)(row + l) * *(const VEC *)(v + l);
            }
        }
        T total[LANES] = {0};
        FN(square) s;
        memcpy(s.from, sum, sizeof s.from);
        FN(turn_square)(&s);
        for (int r = 0; r < LANES; r++) {
            for (int l = 0; l < LANES; l++) {
                total[l] += s.to[r][l];
            }
        }
        memcpy(y + i, total, (size_t)rows * sizeof(T));
    }
}

/* The product of two rows. */
static T FN(dot)(int64_t k, const T *a, const T *b)
{
    VEC sum = {0};
    for (int64_t l = 0; l < k; l += LANES) {
        sum += *(const VEC *)(a + l) * *(const VEC *)(b + l);
    }
    T part[LANES];
    memcpy(part, &sum, sizeof part);
    for (int h = LANES / 2; h > 0; h /= 2) {
        for (int l = 0; l < h; l++) {
            part[l] += part[l + h];
        }
    }
    return part[0];
}
