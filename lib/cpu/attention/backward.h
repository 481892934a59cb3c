/* backward.h - of attention, for an element type T: a block of keys and the queries that see it, a tile after the
 * other. With weights w of a tile, made again from the kept sums,
 *
 *   dv += (m w)^T dy,  dx = w (m (dy v^T) - delta),  dk += dx^T q scale,  dq += dx k scale
 *
 * m what dropout leaves, delta the sum of dy y of each query. */

/* What is kept of all queries of matrix b, and their deltas; behind them are queries that see nothing. */
static void FN(sums_of_queries)(const job *j, int64_t b, const FN(room) * r)
{
    const char *dy = at_matrix(j, &j->dy, b), *y = at_matrix(j, &j->y, b), *stats = at_matrix(j, &j->stat, b);
    const int64_t v = (j->g.v + LANES - 1) / LANES * LANES;
    for (int64_t t = 0; t < j->g.t; t++) {
        r->delta[t] = FN(dot)(v, FN(rows)(&j->dy, dy + t * j->dy.row, 1, j->g.v, r->dy),
                              FN(rows)(&j->y, y + t * j->y.row, 1, j->g.v, r->v));
        r->stat[t] = *(const T *)(stats + t * j->stat.row);
    }
    for (int64_t t = j->g.t; t < j->g.t + QUERIES; t++) {
        r->delta[t] = 0;
        r->stat[t] = (T)INFINITY;
    }
}

/* x: scores become weights; dx: gradients of those become gradients of scores. */
static EG__INLINE void FN(bend)(const int w, int64_t n, T *restrict x, T *restrict dx, int64_t step,
                                const T *restrict stat, const T *restrict delta)
{
    for (int64_t i = 0; i < n * step; i += step) {
        EG__LANEWISE
        for (int l = 0; l < w; l++) {
            const T e = FN(e_to)(x[i + l] - stat[l]);
            dx[i + l] = e * (dx[i + l] - delta[l]);
            x[i + l] = e;
        }
    }
}

static void FN(bend_tile)(const job *j, const FN(place) * p, const FN(room) * r)
{
    const T *stat = r->stat + p->t, *delta = r->delta + p->t;
    const T *restrict kept = j->o->dropout > 0 ? FN(kept)(j, p, r) : NULL;
    T *restrict x = r->x;
    if (kept) {
        FN(times)(p->keys * p->height, kept, r->dx);
    }
    if (p->height == QUERIES) {
        FN(bend)(QUERIES, p->keys, x, r->dx, QUERIES, stat, delta);
    } else if (p->height == 1) {
        FN(bend)(1, p->keys, x, r->dx, 1, stat, delta);
    } else {
        for (int64_t i = 0; i < p->height; i += LANES) {
            FN(bend)(LANES, p->keys, x + i, r->dx + i, p->height, stat + i, delta + i);
        }
    }
    if (kept) {
        for (int64_t i = 0; i < p->keys * p->height; i++) {
            x[i] = kept[i] == 0 ? 0 : x[i] * kept[i];
        }
    }
    if (j->o->softcap > 0) {
        FN(times)(p->keys * p->height, r->slope, r->dx);
    }
}

/* What keys p.s .. p.s + p.keys give, to their own gradients and to those of the queries. */
static void FN(see_back)(const job *j, FN(place) p, const FN(room) * r)
{
    const int64_t d = (j->g.d + LANES - 1) / LANES * LANES, v = (j->g.v + LANES - 1) / LANES * LANES;
    const T *keys = FN(rows)(&j->k, at_matrix(j, &j->k, p.b) + p.s * j->k.row, p.keys, j->g.d, r->k);
    const T *values = FN(rows)(&j->v, at_matrix(j, &j->v, p.b) + p.s * j->v.row, p.keys, j->g.v, r->v);
    const int64_t s = p.s, end = p.s + p.keys, last = eg__min(j->g.t, end - j->band.low);
    for (p.t = eg__max(0, s - j->band.high); p.t < last; p.t += p.rows) {
        const T *q, *dy;
        p.rows = eg__min(j->height, last - p.t);
        p.height = j->height == 1 ? 1 : (p.rows + LANES - 1) / LANES * LANES;
        p.s = eg__max(s, p.t + j->band.low);
        p.keys = eg__min(end, p.t + p.rows + j->band.high) - p.s;
        const T *own_keys = keys + (p.s - s) * d, *own_values = values + (p.s - s) * v;
        FN(take)(j, &p, &j->q, j->g.d, (T)j->o->scale, r->q, r->turned, &q);
        FN(take)(j, &p, &j->dy, j->g.v, 1, r->dy, r->turned_dy, &dy);
        FN(scores)(j, &p, r, own_keys, r->slope);
        if (p.height == 1) {
            FN(dots)(p.keys, v, own_values, r->turned_dy, r->dx);
        } else {
            FN(product)(p.keys, p.height, j->g.v, own_values, v, false, r->turned_dy, p.height, r->dx, p.height, false);
        }
        FN(bend_tile)(j, &p, r);
        FN(product)(p.keys, v, p.rows, r->x, p.height, false, dy, v, r->dv + (p.s - s) * v, v, true);
        FN(product)(p.keys, d, p.rows, r->dx, p.height, false, q, d, r->dk + (p.s - s) * d, d, true);
        FN(add_product)(p.rows, d, p.keys, r->dx, p.height, own_keys, d, r->dq + p.t * d, d);
    }
}

/* Rows of a result from `from`, whose rows are whole vectors, times scale. */
static void FN(put)(const view *to, char *at, int64_t count, int64_t n, T scale, T *from)
{
    const int64_t padded = (n + LANES - 1) / LANES * LANES;
    for (int64_t i = 0; i < count; i++, from += padded) {
        T *y = to->dtype == OWN ? (T *)(at + i * to->row) : from;
        EG__EACH_ALONE
        for (int64_t k = 0; k < n; k++) {
            y[k] = from[k] * scale;
        }
        if (y == from) {
            FN(narrow)(n, to->dtype, from, at + i * to->row);
        }
    }
}

static void FN(backward)(const job *j, int64_t unit, const FN(room) * given)
{
    const int64_t d = (j->g.d + LANES - 1) / LANES * LANES, v = (j->g.v + LANES - 1) / LANES * LANES;
    const int64_t b = unit / j->splits, part = in_turn(unit % j->splits, j->splits);
    const int64_t end = part < j->splits - 1 ? (part + 1) * j->width : j->g.s;
    FN(room) r = *given;
    FN(place) p = {.b = b, .s = part * j->width};
    if (j->partial) {
        r.dq = (T *)(j->partial + (b * j->splits + part) * j->part);
    }
    FN(clear)(j->g.t * d, r.dq);
    FN(sums_of_queries)(j, b, &r);
    for (; p.s < end; p.s += p.keys) {
        p.keys = eg__min(KEYS, end - p.s);
        FN(clear)(p.keys * d, r.dk);
        FN(clear)(p.keys * v, r.dv);
        FN(see_back)(j, p, &r);
        FN(put)(&j->dk, at_matrix(j, &j->dk, b) + p.s * j->dk.row, p.keys, j->g.d, (T)j->o->scale, r.dk);
        FN(put)(&j->dv, at_matrix(j, &j->dv, b) + p.s * j->dv.row, p.keys, j->g.v, 1, r.dv);
    }
    if (!j->partial) {
        FN(put)(&j->dq, at_matrix(j, &j->dq, b), j->g.t, j->g.d, (T)j->o->scale, r.dq);
    }
}

/* Gradients of blocks of queries, of what parts of the keys gave, one after the other. */
static void FN(together_back)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const int64_t d = (j->g.d + LANES - 1) / LANES * LANES, step = j->part / (int64_t)sizeof(T);
    for (int64_t n = begin; n < end; n++) {
        const FN(place) p = FN(block)(j, n / j->blocks, n % j->blocks);
        T *sum = (T *)(j->partial + p.b * j->splits * j->part) + p.t * d;
        for (int64_t k = 1; k < j->splits; k++) {
            const T *restrict add = sum + k * step;
            for (int64_t i = 0; i < p.rows * d; i++) {
                sum[i] += add[i];
            }
        }
        FN(put)(&j->dq, at_matrix(j, &j->dq, p.b) + p.t * j->dq.row, p.rows, j->g.d, (T)j->o->scale, sum);
    }
}
