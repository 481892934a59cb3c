/* reduce.c - reductions over any axes of any layout: which runs of elements go to a fold, on which thread.
 *
 * Axes are brought into the order of memory and merged. If the innermost is reduced, each result folds
 * rows; if it is kept, results lie side by side and fold columns. Where there are few results, the
 * reduced axes are cut into pieces, whose number depends on the shape alone, and the pieces' words are
 * joined in order: so results do not depend on the number of threads. */
#include <math.h>

#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/reduce/fold.h"
#include "lib/math/half.h"
#include "lib/ops/options.h"

#define EG_REDUCTION(name, ...) eg__kernel ISA(eg__cpu_##name);
#include "lib/ops/reduce.def"
#undef EG_REDUCTION
eg__kernel ISA(eg__cpu_norm);

enum {
    COLS = EG__FOLD_COLS,
    WORDS = EG__FOLD_WORDS,
    HALVES = 8192,    /* elements widened at a time */
    WIDE = 128,       /* columns that several rows of few are laid side by side to be */
    SHORT = 16,       /* rows shorter than this fold as columns */
    FEW = 16,         /* blocks of results, or rows, that are enough to share among threads */
    PIECE = 32768,    /* least elements of a piece */
    PIECE_ROWS = 128, /* least elements of a piece behind each result */
    MOST_PIECES = 64,
};

typedef struct job job;
/* Turns the words of n results into values: w[0..n). */
typedef void finisher(const job *j, int64_t n, eg__word *w);

/* Axes of one kind, outermost in memory first; strides in bytes. */
typedef struct axes {
    int n;
    int64_t size[EG_MAX_DIMS], x[EG_MAX_DIMS], y[EG_MAX_DIMS];
} axes;

struct job {
    const eg__fold *fold;
    finisher *finish; /* NULL: the first word is the value */
    const eg__reduce_opts *o;
    const char *x;
    char *y;
    int half;  /* EG_F16 or EG_BF16 to be widened, else 0 */
    int dtype; /* of y */
    axes kept, gone;
    int64_t results, count; /* elements behind each result */
    bool columns;
    int64_t unit;  /* results that stay together: how many columns there are decides how they are summed */
    int64_t piece; /* elements of a piece, of pieces */
    eg__word *pieces;
};

/* ---- geometry ---------------------------------------------------------------------------------- */

static int64_t size_of(int64_t v)
{
    return v < 0 ? -v : v;
}

static void add_axis(axes *a, int64_t size, int64_t x, int64_t y)
{
    int at = a->n++;
    for (; at > 0 && size_of(a->x[at - 1]) < size_of(x); at--) {
        a->size[at] = a->size[at - 1];
        a->x[at] = a->x[at - 1];
        a->y[at] = a->y[at - 1];
    }
    a->size[at] = size;
    a->x[at] = x;
    a->y[at] = y;
}

static void merge_axes(axes *a)
{
    int k = 0;
    for (int i = 1; i < a->n; i++) {
        if (a->x[k] == a->x[i] * a->size[i] && a->y[k] == a->y[i] * a->size[i]) {
            a->size[k] *= a->size[i];
        } else {
            a->size[++k] = a->size[i];
        }
        a->x[k] = a->x[i];
        a->y[k] = a->y[i];
    }
    if (!a->n) {
        a->size[0] = 1;
        a->x[0] = a->y[0] = 0;
    }
    a->n = k + 1;
}

static void lay_out(job *j, const eg_tensor *x, const eg_tensor *y)
{
    int64_t ex = (int64_t)eg__esize(x), ey = (int64_t)eg__esize(y);
    j->kept.n = j->gone.n = 0;
    j->count = 1;
    for (int d = 0, k = 0; d < x->ndim; d++) {
        bool gone = j->o->axes >> d & 1;
        if (x->shape[d] != 1) {
            add_axis(gone ? &j->gone : &j->kept, x->shape[d], x->strides[d] * ex, gone ? 0 : y->strides[k] * ey);
        }
        j->count *= gone ? x->shape[d] : 1;
        k += !gone || j->o->keepdim;
    }
    merge_axes(&j->kept);
    merge_axes(&j->gone);
    int k = j->kept.n - 1, g = j->gone.n - 1;
    j->columns = j->kept.size[k] > 1 && (size_of(j->kept.x[k]) < size_of(j->gone.x[g]) ||
                                         (j->gone.size[g] < SHORT && j->kept.size[k] >= SHORT));
    j->unit = j->columns && j->kept.size[k] <= WIDE / 2 ? j->kept.size[k] : 1;
}

/* ---- folding one block of results ----------------------------------------------------------------- */

/* A tile of halves, widened part by part. */
static __attribute__((noinline)) void fold_halves(const job *j, const eg__tile *t, eg__word *w)
{
    _Alignas(64) float buf[HALVES];
    eg__tile part = {(const char *)buf, 0, t->cols * 4, t->cols, 4, t->first, t->p};
    int64_t most = HALVES / t->cols;
    for (int64_t i = 0; i < t->n; i += part.n) {
        const char *x = t->x + i * t->step;
        part.n = eg__min(most, t->n - i);
        part.first = t->first + i;
        if (!j->columns) {
            ISA(eg__halves_to_f32)(part.n, j->half, x, t->step, buf);
            j->fold->row(&part, w);
            continue;
        }
        for (int64_t r = 0; r < part.n; r++) {
            ISA(eg__halves_to_f32)(t->cols, j->half, x + r * t->step, t->across, buf + r * t->cols);
        }
        j->fold->columns(&part, w);
    }
}

static inline void fold_tile(const job *j, const eg__tile *t, eg__word *w)
{
    if (unlikely(j->half)) {
        fold_halves(j, t, w);
    } else if (j->columns) {
        j->fold->columns(t, w);
    } else {
        j->fold->row(t, w);
    }
}

static void start(const eg__fold *f, int64_t cols, eg__word *w)
{
    for (int k = 0; k < f->words; k++) {
        for (int64_t c = 0; c < cols; c++) {
            w[k * cols + c] = f->start[k];
        }
    }
}

/* Few columns without gaps between the rows: several rows side by side as one wide row, joined at the end. */
static __attribute__((noinline)) void fold_narrow(const job *j, eg__tile t, int64_t by, eg__word *w)
{
    eg__word wide[WORDS * COLS], part[WORDS * COLS];
    const int words = j->fold->words;
    const int64_t cols = t.cols, rows = t.n / by;
    eg__tile all = t;
    all.n = rows;
    all.step = t.step * by;
    all.cols = cols * by;
    start(j->fold, all.cols, wide);
    fold_tile(j, &all, wide);
    for (int64_t b = 0; b < by; b++) {
        for (int k = 0; k < words; k++) {
            memcpy(part + k * cols, wide + k * all.cols + b * cols, (size_t)cols * sizeof *part);
        }
        j->fold->join(cols, w, part);
    }
    t.x += rows * by * t.step;
    t.n -= rows * by;
    if (t.n) {
        fold_tile(j, &t, w);
    }
}

static inline void fold_run(const job *j, const eg__tile *t, eg__word *w)
{
    const int64_t by = WIDE / t->cols;
    if (j->columns && by > 1 && t->n >= 4 * by && t->step == t->cols * t->across && t->across > 0 &&
        !j->fold->ordered) {
        fold_narrow(j, *t, by, w);
    } else {
        fold_tile(j, t, w);
    }
}

/* Elements begin..end behind the results at x. */
static void fold_range(const job *j, const char *x, int64_t cols, int64_t begin, int64_t end, eg__word *w)
{
    const axes *g = &j->gone;
    const int last = g->n - 1;
    int64_t index[EG_MAX_DIMS], rest = begin;
    eg__tile t = {x, 0, g->x[last], cols, j->kept.x[j->kept.n - 1], begin, j->o->p};
    if (begin == end) {
        return;
    }
    if (last == 0) {
        t.x += begin * t.step;
        t.n = end - begin;
        fold_run(j, &t, w);
        return;
    }
    for (int d = last; d >= 0; d--) {
        index[d] = rest % g->size[d];
        rest /= g->size[d];
        t.x += index[d] * g->x[d];
    }
    while (t.first < end) {
        t.n = eg__min(g->size[last] - index[last], end - t.first);
        fold_run(j, &t, w);
        t.first += t.n;
        t.x += t.n * t.step;
        index[last] += t.n;
        for (int d = last; d > 0 && index[d] == g->size[d]; d--) {
            index[d] = 0;
            index[d - 1]++;
            t.x += g->x[d - 1] - g->size[d] * g->x[d];
        }
    }
}

static void fold_block(const job *j, const char *x, int64_t cols, int64_t begin, int64_t end, eg__word *w)
{
    const int words = j->fold->words;
    start(j->fold, cols, w);
    if (j->columns) {
        fold_range(j, x, cols, begin, end, w);
        return;
    }
    for (int64_t c = 0; c < cols; c++) {
        eg__word one[WORDS];
        for (int k = 0; k < words; k++) {
            one[k] = j->fold->start[k];
        }
        fold_range(j, x + c * j->kept.x[j->kept.n - 1], 1, begin, end, one);
        for (int k = 0; k < words; k++) {
            w[k * cols + c] = one[k];
        }
    }
}

/* Returns whether all words are finite doubles. */
static bool all_finite(int64_t n, const eg__word *w)
{
    const int64_t exponent = INT64_C(0x7ff) << 52;
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        bad |= (w[i].i & exponent) == exponent;
    }
    return !bad;
}

/* fold_block, in f64 if a sum passes the range of f32. */
static void fold_in_range(const job *j, const char *x, int64_t cols, int64_t begin, int64_t end, eg__word *w)
{
    fold_block(j, x, cols, begin, end, w);
    if (unlikely(j->fold->wide && !all_finite(cols, w))) {
        job wide = *j;
        wide.fold = j->fold->wide;
        fold_block(&wide, x, cols, begin, end, w);
    }
}

/* ---- writing results ----------------------------------------------------------------------------- */

static void write_values(const job *j, int64_t n, const eg__word *w, char *y, int64_t s)
{
    switch (j->dtype) {
    case EG_F32:
        for (int64_t i = 0; i < n; i++) {
            *(float *)(y + i * s) = (float)w[i].d;
        }
        break;
    case EG_F64:
        for (int64_t i = 0; i < n; i++) {
            *(double *)(y + i * s) = w[i].d;
        }
        break;
    case EG_F16:
    case EG_BF16:
        for (int64_t i = 0; i < n; i++) {
            const double v = w[i].d;
            *(uint16_t *)(y + i * s) = j->dtype == EG_F16 ? eg__f64_to_f16(v) : eg__f64_to_bf16(v);
        }
        break;
    case EG_I64:
        for (int64_t i = 0; i < n; i++) {
            *(int64_t *)(y + i * s) = w[i].i;
        }
        break;
    case EG_I32:
        for (int64_t i = 0; i < n; i++) {
            *(int32_t *)(y + i * s) = (int32_t)w[i].i;
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            *(uint8_t *)(y + i * s) = (uint8_t)w[i].i;
        }
    }
}

/* Calls fn for blocks of results begin..end side by side along the innermost kept axis. */
typedef void block_fn(const job *j, int64_t first, int64_t cols, const char *x, char *y, void *ctx);

static void each_block(const job *j, int64_t begin, int64_t end, block_fn *fn, void *ctx)
{
    const axes *a = &j->kept;
    const int last = a->n - 1;
    while (begin < end) {
        int64_t rest = begin, cols = 0;
        const char *x = j->x;
        char *y = j->y;
        for (int d = last; d >= 0; d--) {
            int64_t i = rest % a->size[d];
            cols = d == last ? eg__min(COLS, eg__min(a->size[d] - i, end - begin)) : cols;
            x += i * a->x[d];
            y += i * a->y[d];
            rest /= a->size[d];
        }
        fn(j, begin, cols, x, y, ctx);
        begin += cols;
    }
}

static void whole_block(const job *j, int64_t first, int64_t cols, const char *x, char *y, void *ctx)
{
    eg__word w[WORDS * COLS];
    (void)first, (void)ctx;
    fold_in_range(j, x, cols, 0, j->count, w);
    if (j->finish) {
        j->finish(j, cols, w);
    }
    write_values(j, cols, w, y, j->kept.y[j->kept.n - 1]);
}

static void results_range(void *ctx, int64_t begin, int64_t end)
{
    const int64_t unit = ((const job *)ctx)->unit;
    each_block(ctx, begin * unit, end * unit, whole_block, NULL);
}

/* ---- few results: pieces of the reduced axes ------------------------------------------------------- */

static void piece_block(const job *j, int64_t first, int64_t cols, const char *x, char *y, void *ctx)
{
    eg__word w[WORDS * COLS];
    const int64_t piece = *(int64_t *)ctx, begin = piece * j->piece;
    eg__word *to = j->pieces + piece * j->fold->words * j->results + first;
    (void)y;
    fold_in_range(j, x, cols, begin, eg__min(begin + j->piece, j->count), w);
    for (int k = 0; k < j->fold->words; k++) {
        memcpy(to + k * j->results, w + k * cols, (size_t)cols * sizeof *w);
    }
}

static void pieces_range(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t p = begin; p < end; p++) {
        each_block(ctx, 0, ((const job *)ctx)->results, piece_block, &p);
    }
}

static void joined_block(const job *j, int64_t first, int64_t cols, const char *x, char *y, void *ctx)
{
    (void)x, (void)ctx;
    write_values(j, cols, j->pieces + first, y, j->kept.y[j->kept.n - 1]);
}

static eg_status in_pieces(const eg__call *c, job *j, int64_t pieces)
{
    eg__scratch s;
    j->piece = (j->count + pieces - 1) / pieces;
    pieces = (j->count + j->piece - 1) / j->piece;
    int64_t words = j->fold->words * j->results;
    if (eg__scratch_get(c, (size_t)(pieces * words) * sizeof(eg__word), &s)) {
        return EG_ENOMEM;
    }
    j->pieces = s.data;
    eg__parallel(pieces, 1, pieces_range, j);
    for (int64_t p = 1; p < pieces; p++) {
        j->fold->join(j->results, j->pieces, j->pieces + p * words);
    }
    if (j->finish) {
        j->finish(j, j->results, j->pieces);
    }
    each_block(j, 0, j->results, joined_block, NULL);
    eg__scratch_put(c, &s);
    return EG_OK;
}

/* ---- driving ------------------------------------------------------------------------------------- */

/* How many pieces the reduced axes are best cut into; 1 if there are results enough to share. */
static int64_t best_pieces(const job *j, int64_t n)
{
    const int64_t side = eg__min(COLS, j->kept.size[j->kept.n - 1]);
    if (j->results / (j->columns ? side : 1) > FEW) {
        return 1;
    }
    return eg__min(eg__min(n * j->fold->cost / PIECE, MOST_PIECES), j->count / PIECE_ROWS);
}

static __attribute__((noinline)) eg_status reduce_axes(const eg__call *c, job *j)
{
    lay_out(j, c->in[0], c->out[0]);
    const int64_t n = c->in[0]->n, grain = (j->columns ? 2 * EG__GRAIN : EG__GRAIN / 2) / j->fold->cost;
    const int64_t pieces = n > 2 * EG__GRAIN / j->fold->cost ? best_pieces(j, n) : 1;
    if (pieces > 1) {
        return in_pieces(c, j, pieces);
    }
    eg__parallel(j->results / j->unit, eg__max(1, grain / eg__max(1, j->count * j->unit)), results_range, j);
    return EG_OK;
}

static inline eg_status reduce(const eg__call *c, const eg__fold *folds, finisher *finish)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const bool half = !folds[x->dtype].words;
    job j;
    j.fold = &folds[half ? EG_F32 : x->dtype];
    j.finish = finish;
    j.o = c->opts;
    j.x = eg__ptr(x);
    j.y = eg__ptr(y);
    j.half = half ? x->dtype : 0;
    j.dtype = y->dtype;
    j.results = y->n;
    if (y->n == 1 && x->flags & EG__PACKED && !half && x->n * j.fold->cost <= 2 * EG__GRAIN) {
        eg__word w[WORDS] = {j.fold->start[0], j.fold->start[1], j.fold->start[2]};
        j.count = x->n;
        const eg__tile all = {j.x, x->n, (int64_t)eg__esize(x), 1, 0, 0, j.o->p};
        j.fold->row(&all, w);
        if (unlikely(j.fold->wide && !all_finite(1, w))) {
            w[0] = j.fold->start[0];
            j.fold->wide->row(&all, w);
        }
        if (finish) {
            finish(&j, 1, w);
        }
        write_values(&j, 1, w, j.y, 0);
        return EG_OK;
    }
    return reduce_axes(c, &j);
}

/* ---- the ops ------------------------------------------------------------------------------------- */

#define finish_nothing NULL

static void finish_mean(const job *j, int64_t n, eg__word *w)
{
    const double count = (double)j->count;
    for (int64_t i = 0; i < n; i++) {
        w[i].d /= count;
    }
}

static void finish_any(const job *j, int64_t n, eg__word *w)
{
    (void)j;
    for (int64_t i = 0; i < n; i++) {
        w[i].i = w[i].i > 0;
    }
}

static void finish_all(const job *j, int64_t n, eg__word *w)
{
    for (int64_t i = 0; i < n; i++) {
        w[i].i = w[i].i == j->count;
    }
}

static void finish_place(const job *j, int64_t n, eg__word *w)
{
    (void)j;
    for (int64_t i = 0; i < n; i++) {
        w[i] = w[n + i];
    }
}

static void finish_var(const job *j, int64_t n, eg__word *w)
{
    const double by = (double)(j->o->biased ? j->count : eg__max(j->count - 1, 0));
    for (int64_t i = 0; i < n; i++) {
        w[i].d = w[n + i].d / by;
    }
}

static void finish_std(const job *j, int64_t n, eg__word *w)
{
    finish_var(j, n, w);
    for (int64_t i = 0; i < n; i++) {
        w[i].d = sqrt(w[i].d);
    }
}

static void finish_logsumexp(const job *j, int64_t n, eg__word *w)
{
    (void)j;
    for (int64_t i = 0; i < n; i++) {
        w[i].d = (isinf(w[i].d) ? 0 : w[i].d) + log(w[n + i].d);
    }
}

#define EG_REDUCTION(name, public, grad, cast, dtypes, flags, infer, saves, fold, finish, launch) \
    eg_status ISA(eg__cpu_##name)(const eg__call *c)                                              \
    {                                                                                             \
        return reduce(c, ISA(eg__fold_##fold), finish_##finish);                                  \
    }
#include "lib/ops/reduce.def"
#undef EG_REDUCTION

static void finish_root(const job *j, int64_t n, eg__word *w)
{
    const double p = j->o->p;
    for (int64_t i = 0; i < n; i++) {
        w[i].d = p == 2 ? sqrt(w[i].d) : pow(w[i].d, 1 / p);
    }
}

eg_status ISA(eg__cpu_norm)(const eg__call *c)
{
    const double p = ((const eg__reduce_opts *)c->opts)->p;
    if (p == 2) {
        return reduce(c, ISA(eg__fold_square), finish_root);
    }
    if (p == 1) {
        return reduce(c, ISA(eg__fold_abs), NULL);
    }
    if (isinf(p)) {
        return reduce(c, p > 0 ? ISA(eg__fold_abs_max) : ISA(eg__fold_abs_min), NULL);
    }
    return reduce(c, ISA(eg__fold_power), finish_root);
}
