/* planes.h - of attention, for an element type T: what places, masks and dropout do to a tile of scores. */

/* The rooms of a thread; height: QUERIES, or 1 where a block is one query. */
typedef struct FN(room) {
    T *turned, *turned_dy; /* [columns, queries] of a block: q scale, dy */
    T *q, *k, *v, *dy;     /* copies of rows */
    T *x, *dx;             /* tiles of scores, and of their gradients */
    T *lines, *plane;      /* of a mask or dropout, [queries, keys] and [keys, queries] */
    T *slope;              /* of a soft cap, a tile */
    T *y, *dk, *dv, *dq;   /* sums */
    T *top, *sum, *scale;  /* of each query of a block */
    T *stat, *delta;       /* of all queries, and a block behind them */
    T *tiles;              /* what products of tiles take: */
    uint16_t *halves, *values;
    uint32_t *words, *pairs;
    const char **taken; /* which matrix `values` is of */
} FN(room);

/* A tile: queries t .. t + rows of matrix b, which take up `height` numbers for a key, and keys s .. s + keys. */
typedef struct FN(place) {
    int64_t b, t, rows, height, s, keys;
} FN(place);

/* Scores before the mask become capped ones. */
static void FN(cap)(int64_t n, T cap, T *restrict x, T *restrict slope)
{
    const T each = 1 / cap;
    for (int64_t i = 0; i < n; i++) {
        const T share = FN(tanh)(x[i] * each);
        x[i] = cap * share;
        if (slope) {
            slope[i] = 1 - share * share;
        }
    }
}

/* Hides what queries do not see by their places. */
static void FN(hide)(const job *j, const FN(place) * p, T *x)
{
    if (p->s - (p->t + p->rows - 1) >= j->band.low && p->s + p->keys - 1 - p->t <= j->band.high) {
        return;
    }
    for (int64_t k = 0; k < p->keys; k++, x += p->height) {
        const int64_t at = p->s + k - p->t; /* key s + k is seen by query t + i where low <= at - i <= high */
        const int64_t from = eg__min(eg__max(at - j->band.high, 0), p->height);
        const int64_t to = eg__max(eg__min(at - j->band.low + 1, p->height), from);
        for (int64_t i = 0; i < from; i++) {
            x[i] = -(T)INFINITY;
        }
        for (int64_t i = to; i < p->height; i++) {
            x[i] = -(T)INFINITY;
        }
    }
}

/* What distance takes away. */
static void FN(lean)(const job *j, const FN(place) * p, T *restrict x)
{
    T slope;
    FN(widen)(1, j->slopes.dtype, at_matrix(j, &j->slopes, p->b), 0, &slope);
    for (int64_t k = 0; k < p->keys; k++, x += p->height) {
        const int32_t apart = (int32_t)(p->t + j->corner - p->s - k);
        for (int32_t i = 0; i < (int32_t)p->height; i++) {
            const int32_t far = apart + i;
            x[i] -= slope * (T)(far < 0 ? -far : far);
        }
    }
}

/* What a row of the mask adds. */
static void FN(mask_line)(const view *m, const char *from, int64_t n, T *to)
{
    if (m->dtype != EG_BOOL) {
        FN(widen)(n, m->dtype, from, m->column, to);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i * m->column] ? 0 : -(T)INFINITY;
    }
}

/* From lines of queries. */
static const T *FN(plane)(const FN(place) * p, const FN(room) * r)
{
    if (p->height == 1) {
        return r->lines;
    }
    FN(turn)(r->lines, p->rows, (p->keys + LANES - 1) / LANES * LANES, LINE, r->plane, p->height, 1);
    return r->plane;
}

static void FN(mask)(const job *j, const FN(place) * p, const FN(room) * r, T *restrict x)
{
    const view *m = &j->mask;
    const char *from = at_matrix(j, m, p->b) + p->t * m->row + p->s * m->column;
    if (m->row) {
        for (int64_t i = 0; i < p->rows; i++) {
            FN(mask_line)(m, from + i * m->row, p->keys, r->lines + i * LINE);
        }
        const T *restrict added = FN(plane)(p, r);
        for (int64_t i = 0; i < p->keys * p->height; i++) {
            x[i] = added[i] == -(T)INFINITY ? added[i] : x[i] + added[i];
        }
        return;
    }
    FN(mask_line)(m, from, p->keys, r->lines);
    for (int64_t k = 0; k < p->keys; k++, x += p->height) {
        const T added = r->lines[k];
        for (int64_t i = 0; i < p->height; i++) {
            x[i] = added == -(T)INFINITY ? added : x[i] + added;
        }
    }
}

/* What dropout multiplies weights with. */
static const T *FN(kept)(const job *j, const FN(place) * p, const FN(room) * r)
{
    const uint32_t threshold = eg__threshold(j->o->dropout);
    const T keep = j->o->dropout < 1 ? (T)(1 / (1 - j->o->dropout)) : 0;
    const int64_t first = eg__lead_at(&j->g, j->g.weights, p->b) + p->t * j->g.s + p->s;
    uint32_t words[KEYS + 3 + 64];
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t at = first + i * j->g.s, skip = at % 4;
        const uint32_t *w = words + skip;
        T *to = r->lines + i * LINE;
        ISA(eg__philox_words)
        (j->o->from.seed, j->o->from.offset + (uint64_t)at / 4, (skip + p->keys + 3) / 4, words);
        for (int64_t k = 0; k < p->keys; k++) {
            to[k] = eg__chance(w[k], threshold) ? 0 : keep;
        }
    }
    return FN(plane)(p, r);
}

/* A block of an operand's rows, and turned, times scale. */
static void FN(take)(const job *j, const FN(place) * p, const view *x, int64_t n, T scale, T *copy, T *turned,
                     const T **rows)
{
    const int64_t padded = (n + LANES - 1) / LANES * LANES;
    *rows = FN(rows)(x, at_matrix(j, x, p->b) + p->t * x->row, p->rows, n, copy);
    if (p->height > 1) {
        FN(turn)(*rows, p->rows, padded, padded, turned, p->height, scale);
        return;
    }
    for (int64_t i = 0; i < padded; i++) {
        turned[i] = (*rows)[i] * scale;
    }
}

/* Products of queries and keys become scores. */
static void FN(bend_scores)(const job *j, const FN(place) * p, const FN(room) * r, T *slope)
{
    if (j->o->softcap > 0) {
        FN(cap)(p->keys * p->height, (T)j->o->softcap, r->x, slope);
    }
    if (j->slopes.p) {
        FN(lean)(j, p, r->x);
    }
    if (j->mask.p) {
        FN(mask)(j, p, r, r->x);
    }
    FN(hide)(j, p, r->x);
}

/* The scores of a tile. */
static void FN(scores)(const job *j, const FN(place) * p, const FN(room) * r, const T *keys, T *slope)
{
    const int64_t d = (j->g.d + LANES - 1) / LANES * LANES;
    if (p->height == 1) {
        FN(dots)(p->keys, d, keys, r->turned, r->x);
    } else {
        FN(product)(p->keys, p->height, j->g.d, keys, d, false, r->turned, p->height, r->x, p->height, false);
    }
    FN(bend_scores)(j, p, r, slope);
}
