/* forward.h - of attention, for an element type T: a block of queries and the keys it sees, a tile after the other,
 * with the largest score so far, the sum of exponentials and the sum of values of each query (Milakov and Gimelshein
 * 2018, Dao et al. 2022). */

/* Scores of w queries become exponentials. scale: what sums so far are to be multiplied with, if the result is true. */
static EG__INLINE bool FN(soften)(const int w, int64_t n, T *restrict x, int64_t step, T *restrict top, T *restrict sum,
                                  T *restrict scale)
{
    T now[QUERIES], add[QUERIES];
    bool moved = false;
    EG__LANEWISE
    for (int l = 0; l < w; l++) {
        now[l] = top[l];
        add[l] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        EG__LANEWISE
        for (int l = 0; l < w; l++) {
            const T v = x[i * step + l];
            now[l] = v > now[l] ? v : now[l];
        }
    }
    EG__LANEWISE
    for (int l = 0; l < w; l++) {
        moved |= now[l] != top[l];
        const T from = now[l] == -(T)INFINITY ? 0 : now[l];
        scale[l] = FN(e_to)(top[l] - from);
        top[l] = now[l];
        now[l] = from;
    }
    for (int64_t i = 0; i < n; i++) {
        EG__LANEWISE
        for (int l = 0; l < w; l++) {
            const T e = FN(e_to)(x[i * step + l] - now[l]);
            x[i * step + l] = e;
            add[l] += e;
        }
    }
    EG__LANEWISE
    for (int l = 0; l < w; l++) {
        sum[l] = sum[l] * scale[l] + add[l];
    }
    return moved;
}

/* The same of one query, whose scores lie side by side. */
static bool FN(soften_one)(int64_t n, T *restrict x, T *top, T *sum, T *scale)
{
    T most[LANES], add[LANES] = {0}, now = *top, total = 0;
    int64_t i = 0;
    EG__LANEWISE
    for (int l = 0; l < LANES; l++) {
        most[l] = now;
    }
    for (; i + LANES <= n; i += LANES) {
        EG__LANEWISE
        for (int l = 0; l < LANES; l++) {
            most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        }
    }
    EG__LANEWISE
    for (int l = 0; l < LANES; l++) {
        now = most[l] > now ? most[l] : now;
    }
    for (; i < n; i++) {
        now = x[i] > now ? x[i] : now;
    }
    const bool moved = now != *top;
    const T from = now == -(T)INFINITY ? 0 : now;
    *scale = FN(e_to)(*top - from);
    *top = now;
    for (i = 0; i + LANES <= n; i += LANES) {
        EG__LANEWISE
        for (int l = 0; l < LANES; l++) {
            x[i + l] = FN(e_to)(x[i + l] - from);
            add[l] += x[i + l];
        }
    }
    for (; i < n; i++) {
        x[i] = FN(e_to)(x[i] - from);
        total += x[i];
    }
    EG__LANEWISE
    for (int l = 0; l < LANES; l++) {
        total += add[l];
    }
    *sum = *sum * *scale + total;
    return moved;
}

static bool FN(soften_tile)(const FN(place) * p, const FN(room) * r)
{
    bool moved = false;
    if (p->height == 1) {
        return FN(soften_one)(p->keys, r->x, r->top, r->sum, r->scale);
    }
    if (p->height == QUERIES) {
        return FN(soften)(QUERIES, p->keys, r->x, QUERIES, r->top, r->sum, r->scale);
    }
    for (int64_t i = 0; i < p->height; i += LANES) {
        moved |= FN(soften)(LANES, p->keys, r->x + i, p->height, r->top + i, r->sum + i, r->scale + i);
    }
    return moved;
}

static void FN(times)(int64_t n, const T *restrict f, T *restrict x)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= f[i];
    }
}

/* Adds what keys p->s .. end give. */
static void FN(see)(const job *j, FN(place) p, int64_t end, const FN(room) * r)
{
    const int64_t v = (j->g.v + LANES - 1) / LANES * LANES;
    const char *k0 = at_matrix(j, &j->k, p.b), *v0 = at_matrix(j, &j->v, p.b);
    const T *q;
    FN(take)(j, &p, &j->q, j->g.d, (T)j->o->scale, r->q, r->turned, &q);
    for (; p.s < end; p.s += p.keys) {
        p.keys = eg__min(KEYS, end - p.s);
        FN(scores)(j, &p, r, FN(rows)(&j->k, k0 + p.s * j->k.row, p.keys, j->g.d, r->k), NULL);
        if (FN(soften_tile)(&p, r)) {
            for (int64_t i = 0; i < p.rows; i++) {
                const T f = r->scale[i];
                for (int64_t c = 0; c < v; c += LANES) {
                    *(VEC *)(r->y + i * v + c) *= f;
                }
            }
        }
        if (j->o->dropout > 0) {
            FN(times)(p.keys * p.height, FN(kept)(j, &p, r), r->x);
        }
        const T *values = FN(rows)(&j->v, v0 + p.s * j->v.row, p.keys, j->g.v, r->v);
        FN(add_product)(p.rows, v, p.keys, r->x, p.height, values, v, r->y, v);
    }
}

/* What query i of a block comes to. */
static void FN(give)(const job *j, const FN(place) * p, int64_t i, T *y, T top, T sum)
{
    const T f = sum == 0 ? 0 : 1 / sum;
    for (int64_t c = 0; c < j->g.v; c++) {
        y[c] *= f;
    }
    FN(narrow)(j->g.v, j->y.dtype, y, at_matrix(j, &j->y, p->b) + (p->t + i) * j->y.row);
    *(T *)(at_matrix(j, &j->stat, p->b) + (p->t + i) * j->stat.row) = sum == 0 ? (T)INFINITY : top + FN(log)(sum);
}

static FN(place) FN(block)(const job *j, int64_t b, int64_t block)
{
    const int64_t t = block * j->height, rows = eg__min(j->height, j->g.t - t);
    const int64_t height = j->height == 1 ? 1 : (rows + j->whole - 1) / j->whole * j->whole;
    return (FN(place)){.b = b, .t = t, .rows = rows, .height = height};
}

#if FLOATS && AMX
static void see_by_tiles(const job *j, FN(place) p, int64_t end, const FN(room) * r);
#endif

static void FN(forward)(const job *j, int64_t unit, const FN(room) * given)
{
    const int64_t per = j->blocks * j->splits, v = (j->g.v + LANES - 1) / LANES * LANES;
    const int64_t part = unit % j->splits;
    FN(place) p = FN(block)(j, unit / per, in_turn(unit % per / j->splits, j->blocks));
    FN(room) r = *given;
    if (j->partial) {
        r.y = (T *)(j->partial + unit * j->part);
        r.top = r.y + j->height * v;
        r.sum = r.top + QUERIES;
    }
    FN(clear)(p.rows * v, r.y);
    for (int64_t i = 0; i < p.height; i++) {
        r.top[i] = -(T)INFINITY;
        r.sum[i] = 0;
    }
    const int64_t first = eg__max(0, p.t + j->band.low), last = eg__min(j->g.s, p.t + p.rows + j->band.high);
    p.s = eg__max(first, part * j->width);
    const int64_t end = eg__min(last, part < j->splits - 1 ? (part + 1) * j->width : j->g.s);
#if FLOATS && AMX
    if (j->tiles) {
        see_by_tiles(j, p, end, &r);
    } else
#endif
    {
        FN(see)(j, p, end, &r);
    }
    for (int64_t i = 0; i < p.rows && !j->partial; i++) {
        FN(give)(j, &p, i, r.y + i * v, r.top[i], r.sum[i]);
    }
}

/* Parts of the keys together, one after the other: the results of blocks of queries. */
static void FN(together)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const int64_t v = (j->g.v + LANES - 1) / LANES * LANES;
    for (int64_t n = begin; n < end; n++) {
        T *y = (T *)(j->partial + n * j->splits * j->part);
        const FN(place) p = FN(block)(j, n / j->blocks, in_turn(n % j->blocks, j->blocks));
        for (int64_t i = 0; i < p.rows; i++) {
            T top = -(T)INFINITY, sum = 0;
            const T *own_top = y + j->height * v + i;
            const int64_t step = j->part / (int64_t)sizeof(T);
            for (int64_t k = 0; k < j->splits; k++) {
                top = own_top[k * step] > top ? own_top[k * step] : top;
            }
            const T from = top == -(T)INFINITY ? 0 : top;
            T *to = y + i * v;
            for (int64_t k = 0; k < j->splits; k++) {
                const T f = FN(e_to)(own_top[k * step] - from), *add = to + k * step;
                sum += own_top[k * step + QUERIES] * f;
                for (int64_t c = 0; c < v; c++) {
                    to[c] = k ? to[c] + add[c] * f : to[c] * f;
                }
            }
            FN(give)(j, &p, i, to, top, sum);
        }
    }
}
