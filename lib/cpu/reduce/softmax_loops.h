/* softmax_loops.h - the loops of softmax and its gradients for an element type T; softmax.c
 * includes it per type, with FN to name them and FN(e_to) and FN(higher) defined. A line is added
 * up in lanes, a stretch of it at a time. */

/* ---- lines by themselves --------------------------------------------------------------------- */

/* Join LANES lanes in the first: their sum, their largest. */
static EG__INLINE void FN(join_sums)(T *acc)
{
    for (int h = LANES / 2; h > 0; h /= 2) {
        for (int l = 0; l < h; l++) {
            acc[l] = acc[l] + acc[l + h];
        }
    }
}

static EG__INLINE void FN(join_tops)(T *acc)
{
    for (int h = LANES / 2; h > 0; h /= 2) {
        for (int l = 0; l < h; l++) {
            acc[l] = FN(higher)(acc[l], acc[l + h]);
        }
    }
}

/* The sum from `at` to `end` of a[i], or of a[i] * b[i] where `times`, a constant, says so. */
static EG__INLINE T FN(stretch_sum)(int64_t at, int64_t end, const T *restrict a, const T *restrict b, bool times)
{
    _Alignas(64) T acc[2 * LANES] = {0};
    int64_t i = at;
    for (; i + 2 * LANES <= end; i += 2 * LANES) {
        for (int l = 0; l < 2 * LANES; l++) {
            acc[l] += times ? a[i + l] * b[i + l] : a[i + l];
        }
    }
    for (int l = 0; l < LANES; l++) {
        acc[l] += acc[l + LANES];
    }
    FN(join_sums)(acc);
    for (; i < end; i++) {
        acc[0] += times ? a[i] * b[i] : a[i];
    }
    return acc[0];
}

/* The same of a whole line. */
static EG__INLINE double FN(line_sum)(int64_t n, const T *restrict a, const T *restrict b, bool times)
{
    double sum = 0;
    for (int64_t at = 0; at < n; at += STRETCH) {
        sum += FN(stretch_sum)(at, eg__min(at + STRETCH, n), a, b, times);
    }
    return sum;
}

/* y = e^(x - top), and the sum of it. Into y even where y is not wanted: fetching it hides behind
 * the arithmetic. */
static EG__INLINE double FN(powers)(int64_t n, const T *restrict x, T top, T *restrict y)
{
    double sum = 0;
    for (int64_t at = 0; at < n; at += STRETCH) {
        const int64_t end = eg__min(at + STRETCH, n);
        for (int64_t i = at; i < end; i++) {
            y[i] = FN(e_to)(x[i] - top);
        }
        sum += FN(stretch_sum)(at, end, y, NULL, false);
    }
    return sum;
}

/* The largest of a line, or a NaN in it. */
static T FN(top)(int64_t n, const T *restrict x)
{
    _Alignas(64) T acc[4 * LANES], top = -(T)INFINITY;
    int64_t i = 0;
    if (n >= 4 * LANES) {
        for (int l = 0; l < 4 * LANES; l++) {
            acc[l] = x[l];
        }
        for (i = 4 * LANES; i + 4 * LANES <= n; i += 4 * LANES) {
            for (int l = 0; l < 4 * LANES; l++) {
                acc[l] = FN(higher)(acc[l], x[i + l]);
            }
        }
        for (int l = 0; l < LANES; l++) {
            const T a = FN(higher)(acc[l], acc[l + LANES]);
            const T b = FN(higher)(acc[l + 2 * LANES], acc[l + 3 * LANES]);
            acc[l] = FN(higher)(a, b);
        }
        FN(join_tops)(acc);
        top = acc[0];
    }
    for (; i < n; i++) {
        top = FN(higher)(top, x[i]);
    }
    return top;
}

static void FN(softmax_line)(int64_t n, const T *restrict x, const T *restrict unused, T *restrict y)
{
    const T top = FN(top)(n, x);
    const double sum = FN(powers)(n, x, top, y);
    (void)unused;
    const T scale = (T)(1 / sum);
    for (int64_t i = 0; i < n; i++) {
        y[i] *= scale;
    }
}

static void FN(log_softmax_line)(int64_t n, const T *restrict x, const T *restrict unused, T *restrict y)
{
    const T top = FN(top)(n, x);
    const double sum = FN(powers)(n, x, top, y);
    (void)unused;
    const T off = (T)log(sum);
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] - top - off;
    }
}

static void FN(softmax_grad_line)(int64_t n, const T *restrict y, const T *restrict dy, T *restrict dx)
{
    const T off = (T)FN(line_sum)(n, y, dy, true);
    for (int64_t i = 0; i < n; i++) {
        dx[i] = y[i] * (dy[i] - off);
    }
}

static void FN(log_softmax_grad_line)(int64_t n, const T *restrict y, const T *restrict dy, T *restrict dx)
{
    const T scale = (T)FN(line_sum)(n, dy, NULL, false);
    for (int64_t i = 0; i < n; i++) {
        dx[i] = dy[i] - FN(e_to)(y[i]) * scale;
    }
}

/* ---- lines side by side ---------------------------------------------------------------------- */

/* The operands of a block of columns: element i of line c of operand k is at
 * p[k] + i * step[k] + c. */
typedef struct FN(columns) {
    int64_t n, cols, step[3];
    T *p[3];
} FN(columns);

static void FN(tops)(const FN(columns) * b, T *top)
{
    for (int64_t c = 0; c < b->cols; c++) {
        top[c] = b->p[1][c];
    }
    for (int64_t i = 1; i < b->n; i++) {
        const T *restrict x = b->p[1] + i * b->step[1];
        for (int64_t c = 0; c < b->cols; c++) {
            top[c] = FN(higher)(top[c], x[c]);
        }
    }
}

static void FN(softmax_columns)(const FN(columns) * b)
{
    _Alignas(64) T top[COLS];
    _Alignas(64) double sum[COLS] = {0};
    const int64_t cols = b->cols;
    FN(tops)(b, top);
    for (int64_t i = 0; i < b->n; i++) {
        const T *x = b->p[1] + i * b->step[1];
        T *y = b->p[0] + i * b->step[0];
        for (int64_t c = 0; c < cols; c++) {
            const T v = FN(e_to)(x[c] - top[c]);
            y[c] = v;
            sum[c] += v;
        }
    }
    for (int64_t c = 0; c < cols; c++) {
        top[c] = (T)(1 / sum[c]);
    }
    for (int64_t i = 0; i < b->n; i++) {
        T *y = b->p[0] + i * b->step[0];
        for (int64_t c = 0; c < cols; c++) {
            y[c] *= top[c];
        }
    }
}

static void FN(log_softmax_columns)(const FN(columns) * b)
{
    _Alignas(64) T top[COLS], off[COLS];
    _Alignas(64) double sum[COLS] = {0};
    const int64_t cols = b->cols;
    FN(tops)(b, top);
    for (int64_t i = 0; i < b->n; i++) {
        const T *x = b->p[1] + i * b->step[1];
        for (int64_t c = 0; c < cols; c++) {
            sum[c] += FN(e_to)(x[c] - top[c]);
        }
    }
    for (int64_t c = 0; c < cols; c++) {
        off[c] = (T)log(sum[c]);
    }
    for (int64_t i = 0; i < b->n; i++) {
        const T *x = b->p[1] + i * b->step[1];
        T *y = b->p[0] + i * b->step[0];
        for (int64_t c = 0; c < cols; c++) {
            y[c] = x[c] - top[c] - off[c];
        }
    }
}

static void FN(softmax_grad_columns)(const FN(columns) * b)
{
    _Alignas(64) double sum[COLS] = {0};
    for (int64_t i = 0; i < b->n; i++) {
        const T *y = b->p[1] + i * b->step[1], *dy = b->p[2] + i * b->step[2];
        for (int64_t c = 0; c < b->cols; c++) {
            sum[c] += y[c] * dy[c];
        }
    }
    for (int64_t i = 0; i < b->n; i++) {
        const T *y = b->p[1] + i * b->step[1], *dy = b->p[2] + i * b->step[2];
        T *dx = b->p[0] + i * b->step[0];
        for (int64_t c = 0; c < b->cols; c++) {
            dx[c] = y[c] * (dy[c] - (T)sum[c]);
        }
    }
}

static void FN(log_softmax_grad_columns)(const FN(columns) * b)
{
    _Alignas(64) double sum[COLS] = {0};
    for (int64_t i = 0; i < b->n; i++) {
        const T *dy = b->p[2] + i * b->step[2];
        for (int64_t c = 0; c < b->cols; c++) {
            sum[c] += dy[c];
        }
    }
    for (int64_t i = 0; i < b->n; i++) {
        const T *y = b->p[1] + i * b->step[1], *dy = b->p[2] + i * b->step[2];
        T *dx = b->p[0] + i * b->step[0];
        for (int64_t c = 0; c < b->cols; c++) {
            dx[c] = dy[c] - FN(e_to)(y[c]) * (T)sum[c];
        }
    }
}

/* ---- a block of lines, however it lies ------------------------------------------------------- */

typedef void FN(line)(int64_t n, const T *restrict a, const T *restrict b, T *restrict y);
typedef void FN(abreast)(const FN(columns) * b);

/* Lines that do not lie side by side, as many as fit, copied so that they do. */
static void FN(packed)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across, int nops,
                       FN(abreast) * abreast)
{
    _Alignas(64) T buf[3][PACKED];
    FN(columns) b = {l->n, 0, {0}, {buf[0], buf[1], buf[2]}};
    const int64_t width = eg__min(COLS, PACKED / l->n);
    for (int64_t c = 0; c < cols; c += b.cols) {
        b.cols = eg__min(width, cols - c);
        b.step[0] = b.step[1] = b.step[2] = b.cols;
        for (int k = 1; k < nops; k++) {
            const char *x = ptr[k] + c * across[k];
            for (int64_t i = 0; i < l->n; i++, x += l->step[k]) {
                for (int64_t j = 0; j < b.cols; j++) {
                    buf[k][i * b.cols + j] = *(const T *)(x + j * across[k]);
                }
            }
        }
        abreast(&b);
        char *y = ptr[0] + c * across[0];
        for (int64_t i = 0; i < l->n; i++, y += l->step[0]) {
            for (int64_t j = 0; j < b.cols; j++) {
                *(T *)(y + j * across[0]) = buf[0][i * b.cols + j];
            }
        }
    }
}

/* A block of lines: each by itself, side by side, or packed. */
static inline void FN(drive)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across, int nops,
                             FN(line) * line, FN(abreast) * abreast)
{
    bool along = l->n >= SHORT || cols < 4, beside = true;
    for (int k = 0; k < nops; k++) {
        along = along && l->step[k] == sizeof(T);
        beside = beside && across[k] == sizeof(T);
    }
    if (along) {
        _Alignas(64) T buf[PACKED];
        const bool stream = l->stream && l->n <= PACKED;
        for (int64_t c = 0; c < cols; c++) {
            T *y = (T *)(ptr[0] + c * across[0]);
            line(l->n, (const T *)(ptr[1] + c * across[1]), nops > 2 ? (const T *)(ptr[2] + c * across[2]) : NULL,
                 stream ? buf : y);
            if (stream) {
                eg__look_ahead(ptr[1] + (c + 1) * across[1], l->n * (int64_t)sizeof(T));
                eg__stream(y, buf, l->n * (int64_t)sizeof(T));
            }
        }
        if (stream) {
            eg__stream_end();
        }
        return;
    }
    if (!beside && l->n <= PACKED) {
        FN(packed)(l, cols, ptr, across, nops, abreast);
        return;
    }
    /* A single line may have any gaps. */
    const int64_t width = beside ? eg__min(COLS, eg__max(16, 65536 / l->n)) : 1;
    for (int64_t c = 0; c < cols; c += width) {
        FN(columns) b = {.n = l->n, .cols = eg__min(width, cols - c)};
        for (int k = 0; k < nops; k++) {
            b.p[k] = (T *)(ptr[k] + c * across[k]);
            b.step[k] = l->step[k] / (int64_t)sizeof(T);
        }
        abreast(&b);
    }
}

static void FN(softmax)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(drive)(l, cols, ptr, across, 2, FN(softmax_line), FN(softmax_columns));
}

static void FN(log_softmax)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(drive)(l, cols, ptr, across, 2, FN(log_softmax_line), FN(log_softmax_columns));
}

static void FN(softmax_grad)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(drive)(l, cols, ptr, across, 3, FN(softmax_grad_line), FN(softmax_grad_columns));
}

static void FN(log_softmax_grad)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(drive)(l, cols, ptr, across, 3, FN(log_softmax_grad_line), FN(log_softmax_grad_columns));
}
