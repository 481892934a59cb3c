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
#define STEP(i)       \
    p##i += a[i] * u; \
    q##i += a[i] * v;
        ROWS(STEP)
#undef STEP
    }
    if (add) {
#define ADD_TO(i)                       \
    p##i += *(const VEC *)(y + i * ry); \
    q##i += *(const VEC *)(y + i * ry + LANES);
        ROWS(ADD_TO)
#undef ADD_TO
    }
#define STORE(i)                 \
    *(VEC *)(y + i * ry) = p##i; \
    *(VEC *)(y + i * ry + LANES) = q##i;
    ROWS(STORE)
#undef STORE
}

/* A tile of which only rows x cols exist. */
static void NAME(edge)(int64_t k, const T *a, const T *b, T *y, int64_t ry, bool add, int64_t rows, int64_t cols)
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
static void NAME(block)(const eg__product *p, const T *a, const T *b, T *y, int64_t i0, int64_t i1, int64_t j0,
                        int64_t j1, T *buffer)
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
                            NAME(edge)(kc, ta, tb, at, p->ry, add, eg__min(rows, MR), eg__min(cols, NAME(NR)));
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
            NAME(block)
            (p, (const T *)p->a + at.a, (const T *)p->b + at.b, (T *)p->y + at.y, eg__min(i, p->m),
             eg__min(i + high, p->m), eg__min(j, p->n), eg__min(j + wide, p->n),
             (T *)(s->buffers + part * (int64_t)s->bytes));
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
static inline void NAME(four_rows)(int64_t k, const T *const *a, int64_t ca, const T *b, int64_t rb, VEC *t)
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
            NAME(four_rows)(p->k, at, p->ca, from, rb, t);
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

/* ---- a matrix times a few vectors, taken as it lies ------------------------------------------------ */

static inline T NAME(total)(VEC v)
{
    typedef T quad __attribute__((vector_size(16), may_alias));
    const quad *q = (const quad *)&v;
    quad sum = q[0];
    T s = 0;
    for (int i = 1; i < VECTOR / 16; i++) {
        sum += q[i];
    }
    for (size_t i = 0; i < 16 / sizeof(T); i++) {
        s += sum[i];
    }
    return s;
}

/* out[j][i] = row i of four times vector j of `count`, a constant. */
static inline __attribute__((always_inline)) void NAME(dot_tile)(int64_t k, const T *const *x, const T *v, int64_t sv,
                                                                 int count, T out[4][4])
{
    const T *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    int64_t l = 0;
#define DECLARE(j) VEC a##j = {0}, b##j = {0}, c##j = {0}, d##j = {0};
    ROWS_4(DECLARE)
#undef DECLARE
    for (; l + LANES <= k; l += LANES) {
        VEC p = *(const VEC *)(x0 + l), q = *(const VEC *)(x1 + l);
        VEC r = *(const VEC *)(x2 + l), s = *(const VEC *)(x3 + l);
#define STEP(j)                                 \
    if (j < count) {                            \
        VEC u = *(const VEC *)(v + j * sv + l); \
        a##j += p * u;                          \
        b##j += q * u;                          \
        c##j += r * u;                          \
        d##j += s * u;                          \
    }
        ROWS_4(STEP)
#undef STEP
    }
#define FINISH(j)                                     \
    if (j < count) {                                  \
        VEC sum[4] = {a##j, b##j, c##j, d##j};        \
        for (int i = 0; i < 4; i++) {                 \
            out[j][i] = NAME(total)(sum[i]);          \
            for (int64_t m = l; m < k; m++) {         \
                out[j][i] += x[i][m] * v[j * sv + m]; \
            }                                         \
        }                                             \
    }
    ROWS_4(FINISH)
#undef FINISH
}

/* y[r, i] (+)= row i of x times vector r, both contiguous: rows begin..end, four at a time, which stay in
 * the innermost cache for the next vectors. */
static void NAME(dots)(void *ctx, int64_t begin, int64_t end)
{
    const lines *g = ctx;
    for (int64_t i = begin; i < end; i += 4) {
        int64_t rows = eg__min(4, end - i);
        const T *x[4];
        for (int64_t q = 0; q < 4; q++) {
            x[q] = (const T *)g->x + (i + (q < rows ? q : 0)) * g->sx;
        }
        for (int64_t r = 0; r < g->count;) {
            const T *v = (const T *)g->v + r * g->sv;
            T out[4][4], *y = (T *)g->y + r * g->ry + i * g->cy;
            int64_t left = g->count - r, many = left >= 4 && DOTS_AT_ONCE == 4 ? 4 : left >= 2 ? 2 : 1;
            if (many == 4) {
                NAME(dot_tile)(g->k, x, v, g->sv, DOTS_AT_ONCE, out);
            } else if (many == 2) {
                NAME(dot_tile)(g->k, x, v, g->sv, 2, out);
            } else {
                NAME(dot_tile)(g->k, x, v, g->sv, 1, out);
            }
            for (int64_t j = 0; j < many; j++) {
                for (int64_t q = 0; q < rows; q++) {
                    T *to = y + j * g->ry + q * g->cy;
                    *to = out[j][q] + (g->add ? *to : 0);
                }
            }
            r += many;
        }
    }
}

/* Columns of a strip: so many vectors that the rows at once fill the registers. */
enum { NAME(STRIP) = STRIP_VECTORS * LANES };

/* y[rows, STRIP] (+)= rows of v times the strip of x; `rows` is a constant. */
static inline __attribute__((always_inline)) void NAME(strip_tile)(int64_t k, const T *x, int64_t sx, const T *v,
                                                                   int64_t sv, T *y, int64_t ry, bool add, int rows)
{
#define DECLARE(i) VEC p##i = {0}, q##i = {0}, r##i = {0}, s##i = {0};
    ROWS_6(DECLARE)
#undef DECLARE
    for (int64_t l = 0; l < k; l++, x += sx) {
        VEC a = *(const VEC *)x, b = *(const VEC *)(x + LANES), c = a, d = b;
        if (STRIP_VECTORS == 4) {
            c = *(const VEC *)(x + 2 * LANES);
            d = *(const VEC *)(x + 3 * LANES);
        }
#define STEP(i)                   \
    if (i < rows) {               \
        T f = v[i * sv + l];      \
        p##i += f * a;            \
        q##i += f * b;            \
        if (STRIP_VECTORS == 4) { \
            r##i += f * c;        \
            s##i += f * d;        \
        }                         \
    }
        ROWS_6(STEP)
#undef STEP
    }
#define FINISH(i)                                      \
    if (i < rows) {                                    \
        VEC sum[4] = {p##i, q##i, r##i, s##i};         \
        for (int j = 0; j < STRIP_VECTORS; j++) {      \
            VEC *to = (VEC *)(y + i * ry + j * LANES); \
            sum[j] += add ? *to : (VEC){0};            \
            *to = sum[j];                              \
        }                                              \
    }
    ROWS_6(FINISH)
#undef FINISH
}

/* A strip for `count` vectors, as evenly as the tiles there are divide them. */
static void NAME(strip)(int64_t k, const T *x, int64_t sx, const T *v, int64_t sv, T *y, int64_t ry, bool add,
                        int64_t count)
{
    while (count > 0) {
        int64_t rows = count == 8 ? 4 : count >= 6 ? 6 : count >= 4 ? 4 : count;
        switch (rows) {
        case 6:
            NAME(strip_tile)(k, x, sx, v, sv, y, ry, add, 6);
            break;
        case 4:
            NAME(strip_tile)(k, x, sx, v, sv, y, ry, add, 4);
            break;
        case 3:
            NAME(strip_tile)(k, x, sx, v, sv, y, ry, add, 3);
            break;
        case 2:
            NAME(strip_tile)(k, x, sx, v, sv, y, ry, add, 2);
            break;
        default:
            NAME(strip_tile)(k, x, sx, v, sv, y, ry, add, 1);
        }
        v += rows * sv;
        y += rows * ry;
        count -= rows;
    }
}

/* A strip for so many vectors that several tiles read it, or one that is not full: through a copy of some
 * of its rows that stays in the innermost cache. */
static void NAME(copied_strip)(const lines *g, int64_t j, int64_t cols)
{
    T copy[DEEP * NAME(STRIP)], last[6 * NAME(STRIP)];
    const T *x = (const T *)g->x + j;
    for (int64_t l = 0; l < g->k; l += DEEP, x += DEEP * g->sx) {
        int64_t k = eg__min(DEEP, g->k - l);
        bool add = g->add || l > 0;
        NAME(pack)(k, cols, x, g->sx, 1, NAME(STRIP), copy);
        for (int64_t r = 0; r < g->count; r += 6) {
            int64_t count = eg__min(6, g->count - r);
            const T *v = (const T *)g->v + r * g->sv + l;
            T *y = (T *)g->y + r * g->ry + j;
            if (cols == NAME(STRIP)) {
                NAME(strip)(k, copy, NAME(STRIP), v, g->sv, y, g->ry, add, count);
                continue;
            }
            NAME(strip)(k, copy, NAME(STRIP), v, g->sv, last, NAME(STRIP), false, count);
            for (int64_t i = 0; i < count; i++) {
                for (int64_t q = 0; q < cols; q++) {
                    y[i * g->ry + q] = last[i * NAME(STRIP) + q] + (add ? y[i * g->ry + q] : 0);
                }
            }
        }
    }
}

/* y[r, j] (+)= vector r times column j of x, whose rows are contiguous: columns begin..end. */
static void NAME(combine)(void *ctx, int64_t begin, int64_t end)
{
    const lines *g = ctx;
    for (int64_t j = begin; j < end; j += NAME(STRIP)) {
        int64_t cols = eg__min(NAME(STRIP), end - j);
        if (cols == NAME(STRIP) && (g->count <= 6 || g->k <= 2 * DEEP)) {
            NAME(strip)
            (g->k, (const T *)g->x + j, g->sx, (const T *)g->v, g->sv, (T *)g->y + j, g->ry, g->add, g->count);
        } else {
            NAME(copied_strip)(g, j, cols);
        }
    }
}

#undef VEC
