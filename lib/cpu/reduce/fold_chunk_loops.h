/* fold_chunk_loops.h - the loops of folds that pass twice over a chunk, for an element type T;
 * fold_chunk.c includes it per type, with FN to name them and FN(e_to), FN(higher) and FN(type),
 * the dtype, defined. */

/* n elements s bytes apart as a contiguous array, filled up with `rest` to whole lanes. */
static int64_t FN(gather)(const char *x, int64_t s, int64_t n, T rest, T *buf)
{
    int64_t whole = (n + LANES - 1) / LANES * LANES;
    if (s == sizeof(T)) {
        for (int64_t i = 0; i < n; i++) {
            buf[i] = ((const T *)x)[i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            buf[i] = *(const T *)(x + i * s);
        }
    }
    for (int64_t i = n; i < whole; i++) {
        buf[i] = rest;
    }
    return whole;
}

/* The same as doubles, filled up with 0. */
static int64_t FN(gather_doubles)(const char *x, int64_t s, int64_t n, double *buf)
{
    int64_t whole = (n + LANES - 1) / LANES * LANES;
    if (s == sizeof(T)) {
        for (int64_t i = 0; i < n; i++) {
            buf[i] = ((const T *)x)[i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            buf[i] = *(const T *)(x + i * s);
        }
    }
    for (int64_t i = n; i < whole; i++) {
        buf[i] = 0;
    }
    return whole;
}

/* ---- variance -------------------------------------------------------------------------------- */

static void FN(spread_row)(const eg__tile *t, eg__word *w)
{
    _Alignas(64) double buf[CHUNK + LANES];
    for (int64_t at = 0; at < t->n; at += CHUNK) {
        int64_t n = eg__min(CHUNK, t->n - at);
        int64_t whole = FN(gather_doubles)(t->x + at * t->step, t->step, n, buf);
        double sum[LANES] = {0}, squares[LANES] = {0};
        for (int64_t i = 0; i < whole; i += LANES) {
            for (int l = 0; l < LANES; l++) {
                sum[l] += buf[i + l];
            }
        }
        join_doubles(sum);
        const double mean = sum[0] / (double)n;
        for (int64_t i = n; i < whole; i++) {
            buf[i] = mean;
        }
        for (int64_t i = 0; i < whole; i += LANES) {
            for (int l = 0; l < LANES; l++) {
                const double v = buf[i + l] - mean;
                squares[l] += v * v;
            }
        }
        join_doubles(squares);
        join_spread(1, w, (eg__word[]){{.d = mean}, {.d = squares[0]}, {.d = (double)n}});
    }
}

/* Column c of a row at e is c * across bytes further. */
static EG__INLINE void FN(spread_across)(const eg__tile *t, int64_t across, eg__word *w)
{
    eg__word chunk[3 * COLS];
    _Alignas(64) double mean[COLS], squares[COLS];
    const int64_t cols = t->cols;
    for (int64_t at = 0; at < t->n; at += ROWS) {
        const int64_t n = eg__min(ROWS, t->n - at);
        const char *x = t->x + at * t->step;
        for (int64_t c = 0; c < cols; c++) {
            mean[c] = squares[c] = 0;
        }
        for (int64_t r = 0; r < n; r++) {
            const char *e = x + r * t->step;
            for (int64_t c = 0; c < cols; c++) {
                mean[c] += (double)*(const T *)(e + c * across);
            }
        }
        for (int64_t c = 0; c < cols; c++) {
            mean[c] /= (double)n;
        }
        for (int64_t r = 0; r < n; r++) {
            const char *e = x + r * t->step;
            for (int64_t c = 0; c < cols; c++) {
                const double v = (double)*(const T *)(e + c * across) - mean[c];
                squares[c] += v * v;
            }
        }
        for (int64_t c = 0; c < cols; c++) {
            chunk[c].d = mean[c];
            chunk[cols + c].d = squares[c];
            chunk[2 * cols + c].d = (double)n;
        }
        join_spread(cols, w, chunk);
    }
}

static void FN(spread_columns)(const eg__tile *t, eg__word *w)
{
    if (t->across == sizeof(T)) {
        FN(spread_across)(t, sizeof(T), w);
    } else {
        FN(spread_across)(t, t->across, w);
    }
}

/* ---- logsumexp ------------------------------------------------------------------------------- */

static void FN(lse_row)(const eg__tile *t, eg__word *w)
{
    const eg__fold *highest = &ISA(eg__fold_max)[FN(type)];
    _Alignas(64) T buf[CHUNK + LANES];
    for (int64_t at = 0; at < t->n; at += CHUNK) {
        eg__tile part = *t;
        eg__word top = highest->start[0];
        T sum[LANES] = {0};
        part.x = t->x + at * t->step;
        part.n = eg__min(CHUNK, t->n - at);
        highest->row(&part, &top);
        const T base = (T)base_of(top.d);
        const int64_t whole = FN(gather)(part.x, t->step, part.n, -(T)INFINITY, buf);
        for (int64_t i = 0; i < whole; i++) {
            buf[i] = FN(e_to)(buf[i] - base);
        }
        for (int64_t i = 0; i < whole; i += LANES) {
            for (int l = 0; l < LANES; l++) {
                sum[l] += buf[i + l];
            }
        }
        for (int half = LANES / 2; half > 0; half /= 2) {
            for (int l = 0; l < half; l++) {
                sum[l] = sum[l] + sum[l + half];
            }
        }
        join_exponentials(1, w, (eg__word[]){top, {.d = sum[0]}});
    }
}

static EG__INLINE void FN(lse_across)(const eg__tile *t, int64_t across, eg__word *w)
{
    eg__word tile[2 * COLS];
    _Alignas(64) T top[COLS], base[COLS], part[COLS];
    _Alignas(64) double sum[COLS];
    const int64_t cols = t->cols;
    for (int64_t c = 0; c < cols; c++) {
        top[c] = -(T)INFINITY;
        base[c] = 0;
        sum[c] = 0;
    }
    for (int64_t at = 0; at < t->n; at += ROWS) {
        const int64_t n = eg__min(ROWS, t->n - at);
        const char *x = t->x + at * t->step;
        for (int64_t r = 0; r < n; r++) {
            const char *e = x + r * t->step;
            for (int64_t c = 0; c < cols; c++) {
                top[c] = FN(higher)(top[c], *(const T *)(e + c * across));
            }
        }
        for (int64_t c = 0; c < cols; c++) {
            const T old = base[c], now = top[c];
            base[c] = now == (T)INFINITY || now == -(T)INFINITY ? 0 : now;
            sum[c] = sum[c] == 0 ? 0 : sum[c] * FN(e_to)(old - base[c]);
            part[c] = 0;
        }
        for (int64_t r = 0; r < n; r++) {
            const char *e = x + r * t->step;
            for (int64_t c = 0; c < cols; c++) {
                part[c] += FN(e_to)(*(const T *)(e + c * across) - base[c]);
            }
        }
        for (int64_t c = 0; c < cols; c++) {
            sum[c] += part[c];
        }
    }
    for (int64_t c = 0; c < cols; c++) {
        tile[c].d = top[c];
        tile[cols + c].d = sum[c];
    }
    join_exponentials(cols, w, tile);
}

static void FN(lse_columns)(const eg__tile *t, eg__word *w)
{
    if (t->across == sizeof(T)) {
        FN(lse_across)(t, sizeof(T), w);
    } else {
        FN(lse_across)(t, t->across, w);
    }
}
