/* loss_loops.h - cross entropy of an element type T; loss.c includes it per type. Rows go in groups
 * of LANES: short ones turned so that they lie side by side, long ones one after the other. */

/* Of each row of a group: the largest logit, the sum of e^(x - largest), and, when labels are
 * smoothed, the weighted sum of x - largest. */
typedef struct FN(group) {
    T top[LANES], sum[LANES], lean[LANES];
} FN(group);

static inline T FN(highest)(int64_t n, const T *restrict x)
{
    T acc[4 * LANES], top = -(T)INFINITY;
    int64_t i = 0;
    for (int l = 0; l < 4 * LANES; l++) {
        acc[l] = top;
    }
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        for (int l = 0; l < 4 * LANES; l++) {
            acc[l] = x[i + l] > acc[l] ? x[i + l] : acc[l];
        }
    }
    for (int half = 2 * LANES; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) {
            acc[l] = acc[l + half] > acc[l] ? acc[l + half] : acc[l];
        }
    }
    top = acc[0];
    for (; i < n; i++) {
        top = x[i] > top ? x[i] : top;
    }
    return top;
}

static inline T FN(powers)(int64_t n, const T *restrict x, T top)
{
    double total = 0;
    for (int64_t at = 0; at < n; at += STRETCH) {
        const int64_t end = eg__min(at + STRETCH, n);
        int64_t i = at;
        T acc[LANES] = {0};
        for (; i + LANES <= end; i += LANES) {
            for (int l = 0; l < LANES; l++) {
                acc[l] += FN(e_to)(x[i + l] - top);
            }
        }
        for (int half = LANES / 2; half > 0; half /= 2) {
            for (int l = 0; l < half; l++) {
                acc[l] += acc[l + half];
            }
        }
        for (; i < end; i++) {
            acc[0] += FN(e_to)(x[i] - top);
        }
        total += acc[0];
    }
    return (T)total;
}

static T FN(leaning)(int64_t n, const T *restrict x, T top, const T *restrict weight)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += (double)((weight ? weight[i] : 1) * (x[i] - top));
    }
    return (T)total;
}

/* Rows of fewer than SHORT logits, side by side; places past the last row repeat it. */
static void FN(beside)(const job *j, const T *x, int64_t rows, FN(group) * g)
{
    const int64_t n = j->classes;
    T side[SHORT * LANES];
    for (int64_t l = 0; l < LANES; l++) {
        const T *restrict row = x + eg__min(l, rows - 1) * n;
        for (int64_t i = 0; i < n; i++) {
            side[i * LANES + l] = row[i];
        }
    }
    for (int l = 0; l < LANES; l++) {
        g->top[l] = -(T)INFINITY;
        g->sum[l] = 0;
        g->lean[l] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) {
            g->top[l] = side[i * LANES + l] > g->top[l] ? side[i * LANES + l] : g->top[l];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) {
            g->sum[l] += FN(e_to)(side[i * LANES + l] - g->top[l]);
        }
    }
    for (int64_t i = 0; i < n && j->smoothing > 0; i++) {
        const T w = j->weight ? ((const T *)j->weight)[i] : 1;
        for (int l = 0; l < LANES; l++) {
            g->lean[l] += w * (side[i * LANES + l] - g->top[l]);
        }
    }
}

static void FN(one_by_one)(const job *j, const T *x, int64_t rows, FN(group) * g)
{
    const int64_t n = j->classes;
    for (int64_t r = 0; r < rows; r++) {
        g->top[r] = FN(highest)(n, x + r * n);
        g->sum[r] = FN(powers)(n, x + r * n, g->top[r]);
        g->lean[r] = j->smoothing > 0 ? FN(leaning)(n, x + r * n, g->top[r], j->weight) : 0;
    }
    for (int64_t r = rows; r < LANES; r++) {
        g->sum[r] = 1;
    }
}

static void FN(losses)(const job *j, int64_t begin, int64_t end)
{
    const int64_t n = j->classes;
    const T hit = (T)(1 - j->smoothing), spread = (T)(j->smoothing / (double)n);
    const T *weight = j->weight, total = (T)j->total;
    T *y = j->y, *rows = j->rows;
    for (int64_t r = begin; r < end; r += LANES) {
        const int64_t count = eg__min(LANES, end - r);
        const T *x = (const T *)j->x + r * n;
        FN(group) g;
        (n < SHORT ? FN(beside) : FN(one_by_one))(j, x, count, &g);
        T log_sum[LANES];
        for (int l = 0; l < LANES; l++) {
            log_sum[l] = FN(log_of)(g.sum[l]);
        }
        for (int64_t l = 0; l < count; l++) {
            const int64_t label = j->labels[r + l];
            T loss = 0;
            if (label >= 0) {
                const T w = hit * (weight ? weight[label] : 1);
                loss = w * (log_sum[l] - (x[l * n + label] - g.top[l]));
            }
            if (label >= 0 && j->smoothing > 0) {
                loss += spread * (total * log_sum[l] - g.lean[l]);
            }
            y[r + l] = loss;
            rows[2 * (r + l)] = g.top[l];
            rows[2 * (r + l) + 1] = 1 / g.sum[l];
        }
    }
}

/* dx = e^(x - top) a; in whole vectors, past the end of the row where `over`. */
static inline void FN(slope_row)(int64_t n, const T *restrict x, T top, T a, bool over, T *restrict dx)
{
    const int64_t whole = (over ? n + LANES - 1 : n) / LANES * LANES, rest = n - whole;
    for (int64_t i = 0; i < whole; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            dx[i + l] = FN(e_to)(x[i + l] - top) * a;
        }
    }
    if (rest > 0) { /* in a vector too, whose last bits may be others than a scalar's */
        T last[LANES] = {0};
        memcpy(last, x + whole, (size_t)rest * sizeof(T));
        for (int l = 0; l < LANES; l++) {
            last[l] = FN(e_to)(last[l] - top) * a;
        }
        memcpy(dx + whole, last, (size_t)rest * sizeof(T));
    }
}

/* What a row writes past its end the next one overwrites; the last rows do not. */
static void FN(slopes)(const job *j, int64_t begin, int64_t end)
{
    const int64_t n = j->classes;
    const T hit = (T)(1 - j->smoothing), spread = (T)(j->smoothing / (double)n);
    const T *weight = j->weight, *dy = j->dy, *rows = j->rows;
    for (int64_t r = begin; r < end; r++) {
        const int64_t label = j->labels[r];
        T *dx = (T *)j->y + r * n;
        if (label < 0) {
            memset(dx, 0, (size_t)n * sizeof(T));
            continue;
        }
        const T w = hit * (weight ? weight[label] : 1);
        const T a = dy[r] * (w + spread * (T)j->total) * rows[2 * r + 1];
        FN(slope_row)(n, (const T *)j->x + r * n, rows[2 * r], a, (end - r) * n >= n + LANES, dx);
        for (int64_t i = 0; i < n && j->smoothing > 0; i++) {
            dx[i] -= dy[r] * spread * (weight ? weight[i] : 1);
        }
        dx[label] -= dy[r] * w;
    }
}
