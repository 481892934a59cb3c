/* gemm.h - own matrix products of one element type T, included by product.c with T, LANES and NAME(x)
 * defined. Blocked and packed in the manner of Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication" (2008): panels of b stay in the outer cache, blocks of a in the inner one, and a tile
 * of MR x 2 vectors of y in registers. */

typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
#define VEC NAME(vec)

enum { NAME(NR) = 2 * LANES };

/* ---- tiles -------------------------------------------------------------------------------------- */

/* y[MR, NR] (+)= a b, a packed by columns of MR, b by rows of NR. */
static inline void NAME(tile)(int64_t k, const T *a, const T *b, T *y, int64_t ry, bool add)
{
#define DECLARE(i) VEC p##i = {0}, q##i = {0};
    ROWS(DECLARE)
#undef DECLARE
    for (int64_t l = 0; l < k; l++, a += MR, b += 2 * LANES) {
        VEC u = *(const VEC *)b, v = *(const VEC *)(b + LANES);
#define STEP(i)                                                                                    \
    p##i += a[i] * u;                                                                              \
    q##i += a[i] * v;
        ROWS(STEP)
#undef STEP
    }
    if (add) {
#define ADD_TO(i)                                                                                  \
    p##i += *(const VEC *)(y + i * ry);                                                            \
    q##i += *(const VEC *)(y + i * ry + LANES);
        ROWS(ADD_TO)
#undef ADD_TO
    }
#define STORE(i)                                                                                   \
    *(VEC *)(y + i * ry) = p##i;                                                                   \
    *(VEC *)(y + i * ry + LANES) = q##i;
    ROWS(STORE)
#undef STORE
}

/* A tile of which only rows x cols exist. */
static void NAME(edge)(int64_t k, const T *a, const T *b, T *y, int64_t ry, bool add, int64_t rows,
                       int64_t cols)
{
    T t[MR * NAME(NR)];
    NAME(tile)(k, a, b, t, NAME(NR), false);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            y[i * ry + j] = t[i * NAME(NR) + j] + (add ? y[i * ry + j] : 0);
        }
    }
}

/* ---- packing ------------------------------------------------------------------------------------ */

/* `width` columns at a time of a matrix [k, n], missing ones zero. */
static void NAME(pack)(int64_t k, int64_t n, const T *x, int64_t rx, int64_t cx, int64_t width, T *to)
{
    for (int64_t j = 0; j < n; j += width, to += k * width) {
        int64_t cols = eg__min(width, n - j);
        const T *from = x + j * cx;
        if (cx == 1 && cols == width) {
            for (int64_t l = 0; l < k; l++) {
                memcpy(to + l * width, from + l * rx, (size_t)width * sizeof *to);
            }
            continue;
        }
        if (cols < width) {
            memset(to, 0, (size_t)(k * width) * sizeof *to);
        }
        for (int64_t i = 0; i < cols; i++) {
            for (int64_t l = 0; l < k; l++) {
                to[l * width + i] = from[l * rx + i * cx];
            }
        }
    }
}

/* ---- one matrix on one thread ------------------------------------------------------------------- */

static size_t NAME(buffer)(const eg__product *p)
{
    int64_t k = eg__min(p->k, KC), m = eg__min((p->m + MR - 1) / MR * MR, MC);
    int64_t n = eg__min((p->n + NAME(NR) - 1) / NAME(NR) * NAME(NR), NC);
    return ((size_t)(k * (m + n)) * sizeof(T) + 127) & ~(size_t)63;
}

/* Rows i0..i1, columns j0..j1 of one matrix. */
static void NAME(block)(const eg__product *p, const T *a, const T *b, T *y, int64_t i0, int64_t i1,
                        int64_t j0, int64_t j1, T *buffer)
{
    T *pa = buffer, *pb = buffer + eg__min(p->k, KC) * eg__min((p->m + MR - 1) / MR * MR, MC);
    for (int64_t jc = j0; jc < j1; jc += NC) {
        int64_t nc = eg__min(NC, j1 - jc);
        for (int64_t l = 0; l < p->k; l += KC) {
            int64_t kc = eg__min(KC, p->k - l);
            bool add = l > 0 || p->add;
            NAME(pack)(kc, nc, b + l * p->rb + jc * p->cb, p->rb, p->cb, NAME(NR), pb);
            for (int64_t ic = i0; ic < i1; ic += MC) {
                int64_t mc = eg__min(MC, i1 - ic);
                NAME(pack)(kc, mc, a + ic * p->ra + l * p->ca, p->ca, p->ra, MR, pa);
                for (int64_t j = 0; j < nc; j += NAME(NR)) {
                    for (int64_t i = 0; i < mc; i += MR) {
                        T *at = y + (ic + i) * p->ry + jc + j;
                        const T *ta = pa + i * kc, *tb = pb + j * kc;
                        int64_t rows = mc - i, cols = nc - j;
                        if (rows >= MR && cols >= NAME(NR)) {
                            NAME(tile)(kc, ta, tb, at, p->ry, add);
                        } else {
                            NAME(edge)(kc, ta, tb, at, p->ry, add, eg__min(rows, MR),
                                       eg__min(cols, NAME(NR)));
                        }
                    }
                }
            }
        }
    }
}

/* Parts begin..end of the units; each part has its own buffer. */
static void NAME(parts)(void *ctx, int64_t begin, int64_t end)
{
    const split *s = ctx;
    const eg__product *p = s->p;
    int64_t per = s->rows * s->cols;
    int64_t high = (p->m + s->rows - 1) / s->rows, wide = (p->n + s->cols - 1) / s->cols;
    high = (high + MR - 1) / MR * MR;
    wide = (wide + NAME(NR) - 1) / NAME(NR) * NAME(NR);
    for (int64_t part = begin; part < end; part++) {
        for (int64_t u = s->units * part / s->parts; u < s->units * (part + 1) / s->parts; u++) {
            batch_at at = batch_of(p, u / per);
            int64_t i = u % per / s->cols * high, j = u % s->cols * wide;
            NAME(block)(p, (const T *)p->a + at.a, (const T *)p->b + at.b, (T *)p->y + at.y,
                        eg__min(i, p->m), eg__min(i + high, p->m), eg__min(j, p->n),
                        eg__min(j + wide, p->n), (T *)(s->buffers + part * (int64_t)s->bytes));
        }
    }
}

static eg_status NAME(gemm)(const eg__call *c, const eg__product *p, int64_t batches)
{
    split s = split_of(p, batches, MR, NAME(NR));
    eg__scratch scratch;
    s.bytes = NAME(buffer)(p);
    eg_status st = eg__scratch_get(c, (size_t)s.parts * s.bytes, &scratch);
    if (!st) {
        s.buffers = scratch.data;
        eg__parallel(s.parts, 1, NAME(parts), &s);
        eg__scratch_put(c, &scratch);
    }
    return st;
}

/* ---- small ones: no packing of a, panels of b on the stack --------------------------------------- */

/* t[4, NR] = four rows of a times NR columns of b */
static inline void NAME(strip)(int64_t k, const T *const *a, int64_t ca, const T *b, int64_t rb, VEC *t)
{
    VEC p0 = {0}, p1 = {0}, p2 = {0}, p3 = {0}, q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};
    const T *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    for (int64_t l = 0; l < k; l++, b += rb) {
        VEC u = *(const VEC *)b, v = *(const VEC *)(b + LANES);
        p0 += a0[l * ca] * u;
        q0 += a0[l * ca] * v;
        p1 += a1[l * ca] * u;
        q1 += a1[l * ca] * v;
        p2 += a2[l * ca] * u;
        q2 += a2[l * ca] * v;
        p3 += a3[l * ca] * u;
        q3 += a3[l * ca] * v;
    }
    t[0] = p0, t[1] = q0, t[2] = p1, t[3] = q1, t[4] = p2, t[5] = q2, t[6] = p3, t[7] = q3;
}

static void NAME(small)(const eg__product *p, const T *a, const T *b, T *y)
{
    T panel[SMALL_K * 2 * LANES];
    for (int64_t j = 0; j < p->n; j += NAME(NR)) {
        int64_t cols = eg__min(NAME(NR), p->n - j), rb = p->rb;
        const T *from = b + j * p->cb;
        if (p->cb != 1 || cols < NAME(NR)) {
            NAME(pack)(p->k, cols, from, p->rb, p->cb, NAME(NR), panel);
            from = panel;
            rb = NAME(NR);
        }
        for (int64_t i = 0; i < p->m; i += 4) {
            VEC t[8];
            int64_t rows = eg__min(4, p->m - i);
            const T *at[4];
            for (int64_t r = 0; r < 4; r++) {
                at[r] = a + (i + (r < rows ? r : 0)) * p->ra;
            }
            NAME(strip)(p->k, at, p->ca, from, rb, t);
            for (int64_t r = 0; r < rows; r++) {
                const T *row = (const T *)&t[2 * r];
                T *to = y + (i + r) * p->ry + j;
                for (int64_t q = 0; q < cols; q++) {
                    to[q] = row[q] + (p->add ? to[q] : 0);
                }
            }
        }
    }
}

/* ---- a matrix times a few vectors ------------------------------------------------------------------ */

/* y[r, i] (+)= row i of x times vector r, both contiguous: rows begin..end, four at a time, which stay in
 * the innermost cache for the next vector. */
static void NAME(dots)(void *ctx, int64_t begin, int64_t end)
{
    const lines *g = ctx;
    int64_t whole = g->k / (2 * LANES) * (2 * LANES);
    for (int64_t i = begin; i < end; i += 4) {
        int64_t rows = eg__min(4, end - i);
        const T *r0 = (const T *)g->x + i * g->sx, *r1 = rows > 1 ? r0 + g->sx : r0;
        const T *r2 = rows > 2 ? r1 + g->sx : r0, *r3 = rows > 3 ? r2 + g->sx : r0;
        const T *row[4] = {r0, r1, r2, r3};
        for (int64_t r = 0; r < g->count; r++) {
            const T *v = (const T *)g->v + r * g->sv;
            T *y = (T *)g->y + r * g->ry + i * g->cy;
            VEC s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
            for (int64_t l = 0; l < whole; l += 2 * LANES) {
                VEC u = *(const VEC *)(v + l), w = *(const VEC *)(v + l + LANES);
                s0 += u * *(const VEC *)(r0 + l);
                t0 += w * *(const VEC *)(r0 + l + LANES);
                s1 += u * *(const VEC *)(r1 + l);
                t1 += w * *(const VEC *)(r1 + l + LANES);
                s2 += u * *(const VEC *)(r2 + l);
                t2 += w * *(const VEC *)(r2 + l + LANES);
                s3 += u * *(const VEC *)(r3 + l);
                t3 += w * *(const VEC *)(r3 + l + LANES);
            }
            VEC s[4] = {s0 + t0, s1 + t1, s2 + t2, s3 + t3};
            for (int64_t q = 0; q < rows; q++) {
                T sum = 0;
                for (int lane = 0; lane < LANES; lane++) {
                    sum += s[q][lane];
                }
                for (int64_t l = whole; l < g->k; l++) {
                    sum += row[q][l] * v[l];
                }
                y[q * g->cy] = sum + (g->add ? y[q * g->cy] : 0);
            }
        }
    }
}

/* y[r, j] (+)= vector r times column j of x, whose rows are contiguous: columns begin..end, so many at a
 * time that they stay in the innermost cache for the next vector, four rows of x in one go. */
static void NAME(combine)(void *ctx, int64_t begin, int64_t end)
{
    const lines *g = ctx;
    enum { STRETCH = 4096 / sizeof(T) };
    for (int64_t j = begin; j < end; j += STRETCH) {
        const T *x = (const T *)g->x + j;
        int64_t cols = eg__min(STRETCH, end - j), l = 0;
        for (int64_t r = 0; r < g->count && !g->add; r++) {
            memset((T *)g->y + r * g->ry + j, 0, (size_t)cols * sizeof(T));
        }
        for (; l < g->k; l += 4, x += 4 * g->sx) {
            int64_t rows = eg__min(4, g->k - l);
            const T *x1 = rows > 1 ? x + g->sx : x, *x2 = rows > 2 ? x1 + g->sx : x;
            const T *x3 = rows > 3 ? x2 + g->sx : x;
            for (int64_t r = 0; r < g->count; r++) {
                const T *v = (const T *)g->v + r * g->sv + l;
                T *restrict y = (T *)g->y + r * g->ry + j;
                if (rows == 4) {
                    T v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
                    for (int64_t q = 0; q < cols; q++) {
                        y[q] += v0 * x[q] + v1 * x1[q] + v2 * x2[q] + v3 * x3[q];
                    }
                    continue;
                }
                for (int64_t p = 0; p < rows; p++) {
                    for (int64_t q = 0; q < cols; q++) {
                        y[q] += v[p] * x[p * g->sx + q];
                    }
                }
            }
        }
    }
}

#undef VEC
