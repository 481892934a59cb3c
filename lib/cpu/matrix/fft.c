/* fft.c - Fourier transforms. Lines are transformed side by side, one to a lane of the vectors, so
 * that no length leaves lanes idle; a long line, or one by itself, is made two sets of short ones
 * first. */
#include "lib/cpu/matrix/fft.h"
#include "lib/cpu/common/lanes.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_fft), ISA(eg__cpu_rfft), ISA(eg__cpu_irfft);

/* Lines are done side by side up to so many elements, else each is split: if they lie behind each
 * other, or are made of halves of real lines, which are told apart more quickly side by side; if
 * they lie side by side, where splitting would read a cache line for each element; if there are too
 * few to fill lanes. */
#ifdef EG_TINY_LIMITS
enum { MOST_BEHIND = 30, MOST_REAL = 60, MOST_BESIDE = 300 };
#else
enum { MOST_BEHIND = 255, MOST_REAL = 4096, MOST_BESIDE = 16384 };
#endif

typedef enum what { COMPLEX, TO_BINS, TO_REAL } what;

/* Where line l of a group begins, and from element to element; in scalars. */
typedef struct layout {
    char *data;
    int64_t group, lane, step;
    int parts; /* 2: pairs */
} layout;

typedef struct job {
    const eg__fft_plan *p, *real; /* real: what goes before or behind p, for real lines of even length */
    what what;
    int turn; /* parts are exchanged: the inverse transform */
    double scale;
    layout side[2];
    int64_t n, lanes, units, per_group; /* of the real lines, if there are; lines of a group */
    int width, slots, threads;          /* lines at once; slots of units, or threads of one */
    char *space;
    void *chirp;
    int64_t slot_size, unit_size, between_size, block_size; /* in scalars */
} job;

#define EVEN_16                   0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_16                    1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOW_16                    0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16                   8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN_8                    0, 2, 4, 6, 8, 10, 12, 14
#define ODD_8                     1, 3, 5, 7, 9, 11, 13, 15
#define LOW_8                     0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8                    4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_4                    0, 2, 4, 6
#define ODD_4                     1, 3, 5, 7
#define LOW_4                     0, 4, 1, 5
#define HIGH_4                    2, 6, 3, 7
#define EVEN_2                    0, 2
#define ODD_2                     1, 3
#define LOW_2                     0, 2
#define HIGH_2                    1, 3
#define SHUFFLE(a, b, order)      SHUFFLE_(a, b, order, LANES)
#define SHUFFLE_(a, b, order, n)  SHUFFLE__(a, b, order, n)
#define SHUFFLE__(a, b, order, n) SHUFFLE___(a, b, order##_##n)
#define SHUFFLE___(a, b, ...)     __builtin_shufflevector(a, b, __VA_ARGS__)

#define T     float
#define V     eg__f32s
#define FN(f) f##_f32
#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#include "lib/cpu/matrix/fft_loops.h"
#undef LANES
#undef FN
#undef V
#undef T
enum { LANES_F32 = EG__VECTOR_BYTES / 4, LANES_F64 = EG__VECTOR_BYTES / 8 };

#define T     double
#define V     eg__f64s
#define FN(f) f##_f64
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif
#include "lib/cpu/matrix/fft_loops.h"

/* Groups of lines, their lanes being what lies closer, if there are enough of them. */
static int64_t lay_out(job *j, const eg__call *c)
{
    const eg__fft_opts *o = c->opts;
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < c->in[0]->ndim - (j->what != TO_BINS); d++) {
        outer *= d < o->axis ? c->in[0]->shape[d] : 1;
        inner *= d > o->axis ? c->in[0]->shape[d] : 1;
    }
    bool beside = inner > 1 && (inner >= LANES_F64 || inner >= outer);
    j->lanes = beside ? inner : outer;
    for (int i = 0; i < 2; i++) {
        const eg_tensor *t = i ? c->out[0] : c->in[0];
        layout *l = &j->side[i];
        l->parts = j->what == COMPLEX || (j->what == TO_BINS) == i ? 2 : 1;
        l->data = eg__ptr(t);
        l->step = inner * l->parts;
        l->lane = beside ? l->parts : t->shape[o->axis] * l->step;
        l->group = beside ? t->shape[o->axis] * l->step : l->parts;
    }
    return beside ? outer : inner;
}

/* The plans for j->n, where lines lie as they do. */
static eg_status plan(job *j, const eg__call *c, bool wide, int lanes)
{
    bool halves = j->what != COMPLEX && j->n % 2 == 0;
    bool beside = j->lanes > 1 && j->side[0].lane == j->side[0].parts;
    int64_t most = 2 * j->lanes < lanes ? EG__FFT_ALONE : beside ? MOST_BESIDE : halves ? MOST_REAL : MOST_BEHIND;
    eg__fft_plan *p = eg__fft_plan_get(j->n, wide, most, halves);
    if (!p) {
        return eg__no_memory(c->op->name, 0);
    }
    j->p = halves ? p->first : p;
    j->real = halves ? p : NULL;
    return EG_OK;
}

/* Units, and what memory each of them takes. */
static void divide(job *j, int64_t groups, int64_t work, int lanes)
{
    const eg__fft_plan *p = j->p, *smooth = p->way == EG__FFT_CHIRP ? p->first : p;
    bool split = smooth->way == EG__FFT_SPLIT;
    j->width = split ? 1 : lanes;
    j->per_group = (j->lanes + j->width - 1) / j->width;
    j->units = groups * j->per_group;
    int threads = work < EG__GRAIN / 4 ? 1 : eg_threads();
    j->slots = j->units >= threads ? threads : 1;
    j->threads = split && j->slots < threads && smooth->n >= EG__GRAIN / 4 ? threads : 1;
    int64_t rows = eg__max(smooth->n, j->n / 2 + 1);
    j->unit_size = (2 * rows * j->width + 15) & ~(int64_t)15;
    j->between_size = split ? (2 * smooth->n + 15) & ~(int64_t)15 : 0;
    j->block_size = split ? 2 * lanes * eg__max(smooth->rows, smooth->columns) : 0;
    j->slot_size = 2 * j->unit_size + j->between_size + 2 * j->threads * j->block_size;
}

static eg_status run(const eg__call *c, what kind)
{
    const eg__fft_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    bool wide = x->dtype == EG_F64;
    int lanes = wide ? LANES_F64 : LANES_F32;
    job j = {.what = kind,
             .turn = kind == TO_REAL || (kind == COMPLEX && o->inverse),
             .scale = o->scale,
             .n = kind == TO_REAL ? o->n : x->shape[o->axis]};
    if (c->out[0]->n == 0) {
        return EG_OK;
    }
    int64_t groups = lay_out(&j, c);
    eg_status st = plan(&j, c, wide, lanes);
    if (st) {
        return st;
    }
    divide(&j, groups, x->n, lanes);
    size_t es = eg__esize(x), chirp = j.p->way == EG__FFT_CHIRP ? (size_t)j.p->first->n * 2 : 0;
    eg__scratch s;
    st = eg__scratch_get(c, ((size_t)(j.slots * j.slot_size) + chirp) * es, &s);
    if (!st) {
        j.space = s.data;
        j.chirp = (char *)s.data + (size_t)(j.slots * j.slot_size) * es;
        if (chirp) {
            wide ? make_chirp_f64(&j, j.chirp) : make_chirp_f32(&j, j.chirp);
        }
        eg__parallel(j.slots, 1, wide ? units_f64 : units_f32, &j);
        eg__scratch_put(c, &s);
    }
    eg__fft_plan_put((eg__fft_plan *)(j.real ? j.real : j.p));
    return st;
}

eg_status ISA(eg__cpu_fft)(const eg__call *c)
{
    return run(c, COMPLEX);
}

eg_status ISA(eg__cpu_rfft)(const eg__call *c)
{
    return run(c, TO_BINS);
}

eg_status ISA(eg__cpu_irfft)(const eg__call *c)
{
    return run(c, TO_REAL);
}
