/* depthwise.c - convolutions in which every channel is its own group, channels-last: vectors lie
 * along the channels, a few windows side by side share each load of the weight. */
#include "lib/cpu/conv/conv.h"
#include "lib/cpu/common/lanes.h"

eg__conv_way ISA(eg__conv_depthwise);

/* Results side by side, or vectors of channels, whose sums stay in registers. */
enum { SIDE = 4, WIDE = 4 };
/* Shares of the weight's gradient: as few as make adding them up cheap, and never by the number of threads, on
 * which the last bits would depend. */
enum { MOST_PIECES = 16, WINDOWS_PER_PIECE = 256 };
/* Multiplications below which another thread does not pay. */
enum { WORK_PER_SLICE = 1 << 16 };

/* One axis of sums: result q sums, over taps i, source cell at + q * step + i * tap where that is
 * within 0..limit-1, times weight w + i * wstep. Result q lies at cell to + q * tostep. */
typedef struct line {
    int64_t at, step, tap, limit;
    int64_t w, wstep, taps;
    int64_t to, tostep, count;
} line;

static inline bool within(const line *l, int64_t q, int64_t i)
{
    int64_t at = l->at + q * l->step + i * l->tap;
    return at >= 0 && at < l->limit;
}

/* All taps of result q are within: so they are in between if they are at both ends. */
static inline bool whole(const line *l, int64_t q)
{
    return within(l, q, 0) && within(l, q, l->taps - 1);
}

/* The taps [*i0, *i1) of result q that are within. */
static inline void inside(const line *l, int64_t q, int64_t *i0, int64_t *i1)
{
    for (; *i0 < *i1 && !within(l, q, *i0); ++*i0) {
    }
    for (; *i1 > *i0 && !within(l, q, *i1 - 1); --*i1) {
    }
}

typedef struct job {
    const eg__conv_job *j;
    const eg__conv_geometry *g;
    int64_t pieces, slices; /* of rows and of channels */
    char *w;                /* weights as [tap][channel]; or sums, one such array per piece */
    char *source, *result;
} job;

#define T       float
#define V       eg__f32s
#define NAME(f) f##_f32
#define LINE(f) f##_f32
#include "lib/cpu/conv/depthwise_line.h"
#undef LINE
#undef V
#define V       eg__f32s_half
#define LINE(f) f##_half_f32
#include "lib/cpu/conv/depthwise_line.h"
#undef V
#define V eg__f32s
#include "lib/cpu/conv/depthwise_rows.h"
#undef T
#undef V
#undef NAME
#undef LINE
#define T       double
#define V       eg__f64s
#define NAME(f) f##_f64
#define LINE(f) f##_f64
#include "lib/cpu/conv/depthwise_line.h"
#undef LINE
#undef V
#define V       eg__f64s_half
#define LINE(f) f##_half_f64
#include "lib/cpu/conv/depthwise_line.h"
#undef V
#define V eg__f64s
#include "lib/cpu/conv/depthwise_rows.h"
#undef T
#undef V
#undef NAME
#undef LINE

static int64_t pieces_of(const eg__conv_geometry *g)
{
    int64_t rows = g->n * g->out[0] * g->out[1], most = rows * g->out[2] / WINDOWS_PER_PIECE;
    return eg__max(1, eg__min(eg__min(most, MOST_PIECES), rows));
}

/* Ranges of the channels for the threads that pieces leave over; of `width` channels at least. */
static int64_t slices_of(const eg__conv_geometry *g, int64_t pieces, int64_t width)
{
    double work = (double)(g->n * g->out[0] * g->out[1] * g->out[2]) * (double)(g->k[0] * g->k[1] * g->k[2] * g->c);
    int64_t paying = (int64_t)fmin(work / WORK_PER_SLICE, 1 << 20) / pieces;
    return eg__max(1, eg__min(eg__min((eg_threads() - 1) / pieces + 1, g->c / width), paying));
}

eg_status ISA(eg__conv_depthwise)(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    int64_t taps = g->k[0] * g->k[1] * g->k[2];
    bool weight = j->result == EG__CONV_W, data = j->result == EG__CONV_X, f64 = j->x->dtype == EG_F64;
    job d = {.j = j, .g = g, .pieces = weight ? pieces_of(g) : 1, .slices = 1};
    size_t bytes = (size_t)(taps * g->c) * eg__esize(j->x);
    eg__scratch scratch;
    if (eg__scratch_get(j->c, bytes * (size_t)d.pieces, &scratch)) {
        return EG_ENOMEM;
    }
    d.w = scratch.data;
    d.source = eg__ptr(data ? j->y : j->x);
    d.result = eg__ptr(data ? j->x : j->y);
    (f64 ? pack_f64 : pack_f32)(&d);
    if (weight) {
        d.slices = slices_of(g, d.pieces, 2 * (int64_t)(sizeof(eg__f32s) / eg__esize(j->x)));
        eg__parallel(d.pieces * d.slices, 1, f64 ? weight_piece_f64 : weight_piece_f32, &d);
        (f64 ? unpack_f64 : unpack_f32)(&d);
    } else {
        const int64_t *size = data ? g->in : g->out;
        int64_t grain = eg__max(EG__GRAIN / (size[2] * g->c * taps / 4 + 1), 1);
        eg__range_fn *rows = data ? f64 ? data_rows_f64 : data_rows_f32 : f64 ? forward_rows_f64 : forward_rows_f32;
        eg__parallel(g->n * size[0] * size[1], grain, rows, &d);
    }
    eg__scratch_put(j->c, &scratch);
    return EG_OK;
}
