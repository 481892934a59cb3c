/* fft.c - Fourier transforms. Lines are transformed side by side, one to a lane of the vectors, so
 * that no length leaves lanes idle; a long line, or one by itself, is made two sets of short ones
 * first. */
#include "lib/cpu/matrix/fft.h"
#include "lib/cpu/common/lanes.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_fft), ISA(eg__cpu_rfft), ISA(eg__cpu_irfft);

/* Lines are done side by side up to so many elements, else each is split: if they lie behind each
 * other, or are the halves of real lines; if they lie side by side, where splitting would read a cache
 * line for each element; if there are too few to fill lanes. Wide blocks leave the nearest cache sooner. */
#ifdef EG_TINY_LIMITS
enum { MOST_BEHIND = 30, MOST_REAL = 60, MOST_BINS = 30, MOST_BESIDE = 300 };
#elif defined(__AVX512F__)
enum { MOST_BEHIND = 239, MOST_REAL = 4096, MOST_BINS = 239, MOST_BESIDE = 16384 };
#else
enum { MOST_BEHIND = 255, MOST_REAL = 4096, MOST_BINS = 4096, MOST_BESIDE = 16384 };
#endif

/* The next line is asked for while one of so few elements is split, if bins come of it, which take longer to make than
 * to fetch, or all lines together are so many bytes that they come from afar. */
enum { AHEAD_MOST = 4096, AHEAD_BYTES = 32 << 20 };

typedef enum what { COMPLEX, TO_BINS, TO_REAL } what;

/* Where line l of a group begins, and from element to element; in scalars. */
typedef struct layout {
    char *data, *end;
    int64_t group, lane, step;
    int parts; /* 2: pairs */
} layout;

typedef struct job {
    const eg__fft_plan *p, *real; /* real: what goes before or behind p, for real lines of even length */
    what what;
    int turn;   /* parts are exchanged: the inverse transform */
    bool ahead; /* the next line is asked for */
    double scale;
    layout side[2];
    int64_t n, lanes, units, per_group; /* of the real lines, if there are; lines of a group */
    int width, slots, threads;          /* lines at once; slots of units, or threads of one */
    char *space;
    void *chirp;
    int64_t slot_size, unit_size, between_size, block_size; /* in scalars */
} job;

/* Where the part of n of a slot begins. */
static inline int64_t part_of(int64_t n, int64_t slot, int64_t slots)
{
    return slots == 1 ? n * slot : n * slot / slots;
}

/* Lane i of what is made of the lanes of two vectors: the real or imaginary parts of pairs, and all lanes' pairs of two
 * such, also from behind. */
#define EVEN(i)      2 * (i)
#define ODD(i)       EVEN(i) + 1
#define LOW(i)       (i) / 2 + (i) % 2 * LANES
#define HIGH(i)      LOW(i) + LANES / 2
#define EVEN_BACK(i) (2 * (LANES - 1 - (i)) + LANES) % (2 * LANES)
#define ODD_BACK(i)  EVEN_BACK(i) + 1
#define LOW_BACK(i)  LANES / 2 - 1 - (i) / 2 + (i) % 2 * LANES
#define HIGH_BACK(i) LOW_BACK(i) + LANES / 2
#define BACK(i)      LANES - 1 - (i)

#define LANES_2(order) order(0), order(1)
#define LANES_4(order) LANES_2(order), order(2), order(3)
#define LANES_8(order) LANES_4(order), order(4), order(5), order(6), order(7)
#define LANES_16(order) \
    LANES_8(order), order(8), order(9), order(10), order(11), order(12), order(13), order(14), order(15)
#define SHUFFLE(a, b, order)      SHUFFLE_(a, b, order, LANES)
#define SHUFFLE_(a, b, order, n)  SHUFFLE__(a, b, order, n)
#define SHUFFLE__(a, b, order, n) ((V)__builtin_shufflevector(a, b, LANES_##n(order)))

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
        l->end = l->data + (size_t)t->n * eg__esize(t);
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
    int64_t most = 2 * j->lanes < lanes ? EG__FFT_ALONE
                   : beside             ? MOST_BESIDE
                   : !halves            ? MOST_BEHIND
                   : j->what == TO_BINS ? MOST_BINS
                                        : MOST_REAL;
    eg__fft_plan *p = eg__fft_plan_get(j->n, wide, most, halves);
    if (!p) {
        return eg__no_memory(c->op->name, 0);
    }
    j->p = halves ? p->first : p;
    j->real = halves ? p : NULL;
    return EG_OK;
}

/* Units, and what memory each of them takes. */
static void divide(job *j, int64_t groups, int64_t work, int64_t bytes, int lanes)
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
    j->between_size = split ? 2 * smooth->rows * eg__fft_wide(smooth) : 0;
    j->block_size = split ? 2 * lanes * eg__max(smooth->rows, eg__fft_wide(smooth)) : 0;
    bool short_lines = j->n <= AHEAD_MOST && j->side[0].step <= 2 && j->side[1].step <= 2;
    j->ahead = split && short_lines && j->units > 1 && (j->what == TO_BINS || bytes > AHEAD_BYTES);
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
    divide(&j, groups, x->n, eg__bytes_of(x->n + c->out[0]->n, x->dtype), lanes);
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
