/* product.c - which way a matrix product goes: own loops for a few vectors and small matrices, oneDNN for the
 * rest of f32 and bf16, own blocked loops where that cannot. */
#include "lib/cpu/common/pack.h"
#include "lib/cpu/matrix/product.h"
#include "lib/cpu/matrix/sparse.h"

/* ---- from tensors ---------------------------------------------------------------------------------- */

static int64_t batch_stride(const eg_tensor *t, int back)
{
    int d = t->ndim - 3 - back;
    return d < 0 || t->shape[d] == 1 ? 0 : t->strides[d];
}

/* Appends a batch axis, merged into the one before if all strides allow. */
static void add_batch(eg__product *p, int64_t size, int64_t sa, int64_t sb, int64_t sy)
{
    int d = p->nbatch - 1;
    if (size == 1) {
        return;
    }
    if (d >= 0 && p->sa[d] == sa * size && p->sb[d] == sb * size && p->sy[d] == sy * size) {
        p->batch[d] *= size;
    } else {
        d = p->nbatch++;
        p->batch[d] = size;
    }
    p->sa[d] = sa;
    p->sb[d] = sb;
    p->sy[d] = sy;
}

eg__product ISA(eg__product_of)(const eg_tensor *a, const eg_tensor *b, const eg_tensor *y)
{
    int an = a->ndim, bn = b->ndim, yn = y->ndim;
    eg__product p = {.dtype = y->dtype,
                     .m = y->shape[yn - 2],
                     .n = y->shape[yn - 1],
                     .k = a->shape[an - 1],
                     .a = eg__ptr(a),
                     .b = eg__ptr(b),
                     .y = eg__ptr(y),
                     .ra = a->strides[an - 2],
                     .ca = a->strides[an - 1],
                     .rb = b->strides[bn - 2],
                     .cb = b->strides[bn - 1],
                     .ry = y->strides[yn - 2]};
    for (int back = yn - 3; back >= 0; back--) {
        add_batch(&p, y->shape[yn - 3 - back], batch_stride(a, back), batch_stride(b, back), y->strides[yn - 3 - back]);
    }
    for (int d; (d = p.nbatch - 1) >= 0 && p.sb[d] == 0; p.nbatch--) {
        if (p.m == 1) {
            p.ra = p.sa[d];
            p.ry = p.sy[d];
        } else if (p.sa[d] != p.m * p.ra || p.sy[d] != p.m * p.ry) {
            break;
        }
        p.m *= p.batch[d];
    }
    return p;
}

/* ---- batches and splits --------------------------------------------------------------------------- */

typedef struct batch_at {
    int64_t a, b, y;
} batch_at;

/* Where the matrices of batch i begin, in elements. */
static batch_at batch_of(const eg__product *p, int64_t i)
{
    batch_at at = {0, 0, 0};
    for (int d = p->nbatch; d-- > 0; i /= p->batch[d]) {
        int64_t r = i % p->batch[d];
        at.a += r * p->sa[d];
        at.b += r * p->sb[d];
        at.y += r * p->sy[d];
    }
    return at;
}

/* The work cut into units of rows x cols blocks per matrix, given out in `parts`. */
typedef struct split {
    const eg__product *p;
    int64_t rows, cols, units, parts;
    char *buffers;
    size_t bytes; /* of each part's buffer */
} split;

enum { WORK_PER_THREAD = 1 << 17 }; /* multiplications below which another thread does not pay */

static split split_of(const eg__product *p, int64_t batches, int64_t high, int64_t wide)
{
    double work = (double)p->m * (double)p->n * (double)p->k * (double)batches;
    int64_t threads = eg_threads();
    split s = {.p = p, .rows = 1, .cols = 1};
    threads = work < (double)threads * WORK_PER_THREAD ? (int64_t)(work / WORK_PER_THREAD) + 1 : threads;
    int64_t per = (threads + batches - 1) / batches;
    /* Nearly square blocks need the least packing. */
    while (s.rows * s.cols < per) {
        bool tall = p->m / s.rows >= p->n / s.cols;
        if (p->m <= high * s.rows && p->n <= wide * s.cols) {
            break;
        }
        if (tall ? p->m > high * s.rows : p->n <= wide * s.cols) {
            s.rows++;
        } else {
            s.cols++;
        }
    }
    s.units = batches * s.rows * s.cols;
    s.parts = eg__min(threads, s.units);
    return s;
}

/* A matrix times a few vectors: y[r, i] at r ry + i cy. */
typedef struct lines {
    char *x, *v, *y;
    int64_t k, sx, count, sv, ry, cy;
    bool add;
} lines;

/* ---- own loops, per element type -------------------------------------------------------------------- */

#define ROWS_4(X) \
    X(0)          \
    X(1)          \
    X(2)          \
    X(3)
#define ROWS_6(X)  \
    ROWS_4(X) X(4) \
    X(5)
#define ROWS_12(X) \
    ROWS_6(X) X(6) \
    X(7)           \
    X(8)           \
    X(9)           \
    X(10)          \
    X(11)

#if defined(__AVX512F__)
enum { VECTOR = 64, MR = 12, DOTS_AT_ONCE = 4, STRIP_VECTORS = 4 };
#define ROWS ROWS_12
#elif defined(__AVX__)
enum { VECTOR = 32, MR = 6, DOTS_AT_ONCE = 2, STRIP_VECTORS = 2 };
#define ROWS ROWS_6
#else
enum { VECTOR = 16, MR = 6, DOTS_AT_ONCE = 2, STRIP_VECTORS = 2 };
#define ROWS ROWS_6
#endif
enum { KC = 256, MC = 96, NC = 1024, SMALL_K = 64, DEEP = 128 };

#define T       float
#define LANES   (VECTOR / 4)
#define NAME(x) x##_f32
#include "lib/cpu/matrix/gemm.h"
#undef T
#undef LANES
#undef NAME

#define T       double
#define LANES   (VECTOR / 8)
#define NAME(x) x##_f64
#include "lib/cpu/matrix/gemm.h"
#undef T
#undef LANES
#undef NAME

/* ---- vectors and small matrices --------------------------------------------------------------------- */

/* Products each of which one thread does. */
typedef struct many {
    const eg__product *p;
    eg__range_fn *fn; /* of a matrix times vectors, of length n each; NULL: small matrices */
    lines g;
    int64_t n, unit; /* unit: results that are computed together, whichever thread does it */
} many;

static void units(void *ctx, int64_t begin, int64_t end)
{
    many *s = ctx;
    s->fn(&s->g, begin * s->unit, eg__min(end * s->unit, s->n));
}

static void each(void *ctx, int64_t begin, int64_t end)
{
    const many *s = ctx;
    const eg__product *p = s->p;
    int64_t es = p->dtype == EG_F64 ? 8 : 4;
    for (int64_t i = begin; i < end; i++) {
        batch_at at = batch_of(p, i);
        if (s->fn) {
            lines g = s->g;
            g.x += (p->n == 1 ? at.a : at.b) * es;
            g.v += (p->n == 1 ? at.b : at.a) * es;
            g.y += at.y * es;
            s->fn(&g, 0, s->n);
        } else if (es == 8) {
            small_f64(p, (const double *)p->a + at.a, (const double *)p->b + at.b, (double *)p->y + at.y);
        } else {
            small_f32(p, (const float *)p->a + at.a, (const float *)p->b + at.b, (float *)p->y + at.y);
        }
    }
}

/* Products with few rows or one column. False: the strides do not suit. */
static bool run_lines(const eg__product *p, int64_t batches)
{
    bool wide = p->dtype == EG_F64, column = p->n == 1; /* the vector is b, not a */
    int64_t rx = column ? p->ra : p->cb, cx = column ? p->ca : p->rb, step = column ? p->rb : p->ca;
    many s = {.p = p, .n = column ? p->m : p->n};
    s.g = (lines){.x = column ? p->a : p->b,
                  .v = column ? p->b : p->a,
                  .y = p->y,
                  .k = p->k,
                  .sx = cx == 1 ? rx : cx,
                  .count = column ? 1 : p->m,
                  .sv = column ? 0 : p->ra,
                  .ry = column ? 0 : p->ry,
                  .cy = column ? p->ry : 1,
                  .add = p->add};
    if ((cx != 1 && (rx != 1 || s.g.cy != 1)) || (step != 1 && p->k > 1)) {
        return false;
    }
    if (cx == 1) {
        s.fn = wide ? dots_f64 : dots_f32;
        s.unit = 4;
    } else {
        s.fn = wide ? combine_f64 : combine_f32;
        s.unit = wide ? STRIP_f64 : STRIP_f32;
    }
    if (batches > 1) {
        eg__parallel(batches, WORK_PER_THREAD / (s.n * p->k * s.g.count + 1) + 1, each, &s);
    } else {
        int64_t work = p->k * s.g.count * s.unit;
        eg__parallel((s.n + s.unit - 1) / s.unit, WORK_PER_THREAD / (work + 1) + 1, units, &s);
    }
    return true;
}

static void run_small(const eg__product *p, int64_t batches)
{
    many s = {.p = p};
    eg__parallel(batches, WORK_PER_THREAD / (p->m * p->n * p->k) + 1, each, &s);
}

/* ---- two vectors ------------------------------------------------------------------------------------- */

enum { STRETCH = 4096 }; /* numbers that one thread adds up */

typedef double doubles __attribute__((vector_size(VECTOR)));

/* The sum of a b in f64, in four registers at once. */
#define STRETCH_OF(name, T, bytes)                                                            \
    typedef T name##_load __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias)); \
    static double name(const T *a, const T *b, int64_t n)                                     \
    {                                                                                         \
        enum { LANES = VECTOR / 8 };                                                          \
        doubles s[4] = {{0}};                                                                 \
        double sum = 0;                                                                       \
        int64_t i = 0;                                                                        \
        for (; i + 4 * LANES <= n; i += 4 * LANES) {                                          \
            for (int r = 0; r < 4; r++) {                                                     \
                const int64_t at = i + (int64_t)r * LANES;                                    \
                s[r] += __builtin_convertvector(*(const name##_load *)(a + at), doubles) *    \
                        __builtin_convertvector(*(const name##_load *)(b + at), doubles);     \
            }                                                                                 \
        }                                                                                     \
        s[0] = (s[0] + s[1]) + (s[2] + s[3]);                                                 \
        for (int l = 0; l < LANES; l++) {                                                     \
            sum += s[0][l];                                                                   \
        }                                                                                     \
        for (; i < n; i++) {                                                                  \
            sum += (double)a[i] * (double)b[i];                                               \
        }                                                                                     \
        return sum;                                                                           \
    }
STRETCH_OF(stretch_f32, float, VECTOR / 2)
STRETCH_OF(stretch_f64, double, VECTOR)

typedef struct dot {
    const eg__product *p;
    double *sums; /* of each stretch */
} dot;

static void stretches(void *ctx, int64_t begin, int64_t end)
{
    const dot *d = ctx;
    const eg__product *p = d->p;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = i * STRETCH, n = eg__min(STRETCH, p->k - at);
        d->sums[i] = p->dtype == EG_F64 ? stretch_f64((const double *)p->a + at, (const double *)p->b + at, n)
                                        : stretch_f32((const float *)p->a + at, (const float *)p->b + at, n);
    }
}

/* Stretches are as long whatever the number of threads, and their sums are added one after the other. */
static eg_status run_dot(const eg__call *c, const eg__product *p)
{
    const int64_t n = (p->k + STRETCH - 1) / STRETCH;
    eg__scratch sums;
    double sum = 0;
    eg_status st = eg__scratch_get(c, (size_t)n * sizeof sum, &sums);
    if (st) {
        return st;
    }
    dot d = {.p = p, .sums = sums.data};
    eg__parallel(n, WORK_PER_THREAD / STRETCH, stretches, &d);
    for (int64_t i = 0; i < n; i++) {
        sum += d.sums[i];
    }
    eg__scratch_put(c, &sums);
    if (p->dtype == EG_F64) {
        *(double *)p->y = p->add ? *(double *)p->y + sum : sum;
    } else {
        *(float *)p->y = (float)(p->add ? (double)*(float *)p->y + sum : sum);
    }
    return EG_OK;
}

/* ---- oneDNN ------------------------------------------------------------------------------------------ */

/* Axes of size 1 get the stride they would have in a dense matrix. A row with gaps is none: oneDNN 3.7 takes
 * it for one without. */
static bool plain_matrix(int64_t rows, int64_t cols, int64_t *sr, int64_t *sc)
{
    if (cols == 1 && *sr != 1) {
        *sc = 1;
    }
    if (rows == 1) {
        *sr = cols;
        return *sc == 1 || cols == 1;
    }
    return (*sc == 1 && *sr >= cols) || (*sr == 1 && *sc >= rows);
}

static eg__dnnl_mem matrix(const eg__product *p, const int64_t *batch, int64_t rows, int64_t cols, int64_t sr,
                           int64_t sc)
{
    eg__dnnl_mem m = {.ndim = (uint8_t)(p->nbatch + 2), .dtype = p->dtype};
    for (int d = 0; d < p->nbatch; d++) {
        m.shape[d] = batch[d] ? p->batch[d] : 1;
        m.strides[d] = batch[d];
    }
    m.shape[p->nbatch] = rows;
    m.strides[p->nbatch] = sr;
    m.shape[p->nbatch + 1] = cols;
    m.strides[p->nbatch + 1] = sc;
    for (int d = p->nbatch; d-- > 0;) {
        if (m.shape[d] == 1) {
            m.strides[d] = m.shape[d + 1] * m.strides[d + 1];
        }
    }
    return m;
}

/* Whether matrices of that size do not follow each other at once. */
static bool apart(const eg__product *p, const int64_t *batch, int64_t size)
{
    for (int d = p->nbatch; d-- > 0;) {
        if (batch[d] && p->batch[d] > 1 && batch[d] != size) {
            return true;
        }
        size *= batch[d] ? p->batch[d] : 1;
    }
    return false;
}

/* Of bf16 oneDNN multiplies pairs along k. Where k is odd and lines or matrices have gaps behind them, it takes what
 * lies in a gap, or an infinity beside it, times 0. */
static bool pairs_with_gaps(const eg__product *p, int64_t ra, int64_t ca, int64_t rb, int64_t cb)
{
    return p->dtype == EG_BF16 && p->k % 2 &&
           ((ca == 1 ? ra != p->k : ca != p->m) || (cb == 1 ? rb != p->n : cb != p->k) ||
            apart(p, p->sa, p->m * p->k) || apart(p, p->sb, p->k * p->n));
}

enum { MANY_ROWS = 384 }; /* of a, for which packing b pays within one product */

/* Whether oneDNN lays b out as it likes. Shapes alone say so: another layout may add in another order, so that results
 * would tell how often b was used before. */
static bool packing_pays(const eg__product *p)
{
    return !p->nbatch && p->m >= MANY_ROWS && p->k >= SMALL_K && p->n >= SMALL_K;
}

static eg_status run_dnnl(const eg__call *c, const eg__product *p, bool packs, bool *done)
{
    int64_t ra = p->ra, ca = p->ca, rb = p->rb, cb = p->cb, ry = p->ry, cy = 1;
    if (p->nbatch + 2 > EG__DNNL_DIMS || !plain_matrix(p->m, p->k, &ra, &ca) || !plain_matrix(p->k, p->n, &rb, &cb) ||
        !plain_matrix(p->m, p->n, &ry, &cy) || pairs_with_gaps(p, ra, ca, rb, cb)) {
        return EG_OK;
    }
    eg__dnnl_op op = {.kind = EG__DNNL_MATMUL, .act = p->act, .add = p->add};
    op.x = matrix(p, p->sa, p->m, p->k, ra, ca);
    op.w = matrix(p, p->sb, p->k, p->n, rb, cb);
    op.y = matrix(p, p->sy, p->m, p->n, ry, cy);
    if (p->bias) {
        op.b = (eg__dnnl_mem){.ndim = op.y.ndim, .dtype = p->dtype};
        for (int d = 0; d < op.b.ndim; d++) {
            op.b.shape[d] = d == op.b.ndim - 1 ? p->n : 1;
            op.b.strides[d] = d == op.b.ndim - 1 ? 1 : p->n;
        }
    }
    op.w.any = packs || packing_pays(p);
    eg__dnnl_prim *prim;
    eg_status st = eg__dnnl_find(c, &op, &prim);
    *done = prim != NULL;
    return st || !prim
               ? st
               : eg__dnnl_run(
                     c, prim,
                     &(eg__dnnl_data){.x = p->a, .w = p->b, .b = p->bias, .y = p->y, .keep = packs ? p->keep : NULL});
}

/* ---- the choice ---------------------------------------------------------------------------------------- */

enum { SMALL_WORK = 8192 }; /* multiplications up to which calling oneDNN costs more than it saves */

/* Whether reading b as it lies, a few rows of a at a time, beats the blocked ways. Measured against oneDNN
 * with b plain, inside and outside the caches. A packed copy would be faster yet from about five rows on, but
 * then how often b was used before would choose between sums of different order, hence results. */
static bool few_rows(const eg__product *p)
{
    int64_t strip = STRIP_VECTORS * VECTOR / (p->dtype == EG_F64 ? 8 : 4);
    if (p->n == 1) {
        return true;
    }
    if (p->cb == 1) {
        return p->n >= strip && p->m <= 32;
    }
    return p->rb == 1 && p->m <= (p->k < 256 ? 6 : 16);
}

static void zero(const eg__product *p, int64_t batches)
{
    size_t es = p->dtype == EG_F64 ? 8 : p->dtype == EG_F32 ? 4 : 2;
    for (int64_t i = 0; i < batches; i++) {
        batch_at at = batch_of(p, i);
        for (int64_t r = 0; r < p->m; r++) {
            memset(p->y + (size_t)(at.y + r * p->ry) * es, 0, (size_t)p->n * es);
        }
    }
}

eg_status ISA(eg__product_run)(const eg__call *c, const eg__product *p, bool *done, bool *fused)
{
    int64_t batches = 1;
    for (int d = 0; d < p->nbatch; d++) {
        batches *= p->batch[d];
    }
    *done = true;
    *fused = false;
    if (batches * p->m * p->n == 0) {
        return EG_OK;
    }
    if (p->k == 0) {
        if (!p->add) {
            zero(p, batches);
        }
        return EG_OK;
    }
    bool own = p->dtype == EG_F32 || p->dtype == EG_F64;
    if (own && batches * p->m * p->n == 1 && p->ca == 1 && p->rb == 1) {
        return run_dot(c, p);
    }
    bool sparse;
    eg_status st = ISA(eg__product_sparse)(c, p, &sparse);
    if (st || sparse) {
        return st;
    }
    bool tiny = p->k <= SMALL_K && p->m * p->n * p->k <= SMALL_WORK;
    if (own && (!tiny || p->m == 1 || p->n == 1) && few_rows(p) && run_lines(p, batches)) {
        return EG_OK;
    }
    if (own && tiny) {
        run_small(p, batches);
        return EG_OK;
    }
    if (p->dtype != EG_F64) {
        bool packs = p->keep && (p->often ? p->m > 4 : packing_pays(p) && eg__pack_pays(p->keep, p->rb == 1));
        st = run_dnnl(c, p, packs, fused);
        *done = *fused;
        if (st || *done) {
            return st;
        }
    }
    *done = own;
    return p->dtype == EG_F64 ? gemm_f64(c, p, batches) : own ? gemm_f32(c, p, batches) : EG_OK;
}
