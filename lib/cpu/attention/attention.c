/* attention.c - attention and its gradients by tiles of weights that never leave the caches: y and the logarithm of a
 * sum for each query are all that is kept. Tiles and the order in which they are added up depend on shapes alone. */
#define _GNU_SOURCE
#include <math.h>

#include "lib/cpu/attention/attention.h"
#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/pointwise/vmath.h"
#include "lib/cpu/random/philox.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_attention), ISA(eg__cpu_attention_grad);

enum { LINE = (KEYS + 15) / 16 * 16, ROWS = 6 };
#if defined(__AVX512F__)
#define VECTORS 4
#else
#define VECTORS 2
#endif

#define T        float
#define OWN      EG_F32
#define FLOATS   1
#define LANES    (EG__VECTOR_BYTES / 4)
#define FN(name) name##_f32
#define e_to_f32 eg__f32_exp_down
#define log_f32  logf
#define tanh_f32 eg__f32_tanh
#include "lib/cpu/attention/tiles.h"
#include "lib/cpu/attention/planes.h"
#include "lib/cpu/attention/forward.h"
#include "lib/cpu/attention/backward.h"
#include "lib/cpu/attention/rooms.h"
#if AMX
#include "lib/cpu/attention/amx.h"
#endif
#undef T
#undef OWN
#undef FLOATS
#undef LANES
#undef FN
#undef VEC

#define T        double
#define OWN      EG_F64
#define FLOATS   0
#define LANES    (EG__VECTOR_BYTES / 8)
#define FN(name) name##_f64
#define e_to_f64 exp
#define log_f64  log
#define tanh_f64 tanh
#include "lib/cpu/attention/tiles.h"
#include "lib/cpu/attention/planes.h"
#include "lib/cpu/attention/forward.h"
#include "lib/cpu/attention/backward.h"
#include "lib/cpu/attention/rooms.h"

/* ---- calls ------------------------------------------------------------------------------------------ */

enum {
    FEW_QUERIES = 2,           /* up to which each is a block of its own */
    WORK_PER_THREAD = 1 << 17, /* multiplications below which another thread does not pay */
};

static view view_of(const eg__attended *g, const eg_tensor *t)
{
    view x = {.p = NULL};
    if (t) {
        const int64_t size = (int64_t)eg__esize(t);
        x.p = eg__ptr(t);
        x.dtype = t->dtype;
        x.row = t->shape[t->ndim - 2] == 1 ? 0 : t->strides[t->ndim - 2] * size;
        x.column = t->shape[t->ndim - 1] == 1 ? 0 : t->strides[t->ndim - 1] * size;
        eg__lead_strides(g, t, x.lead);
        for (int d = 0; d < g->nbatch; d++) {
            x.lead[d] *= size;
        }
    }
    return x;
}

/* Of a number for each query: as a matrix of one column. */
static view column_of(const eg__attended *g, const eg_tensor *t)
{
    view x = {.p = eg__ptr(t), .dtype = t->dtype, .row = t->strides[g->nbatch] * (int64_t)eg__esize(t)};
    for (int d = 0; d < g->nbatch; d++) {
        x.lead[d] = t->shape[d] == 1 ? 0 : t->strides[d] * (int64_t)eg__esize(t);
    }
    return x;
}

static job job_of(const eg__call *c, eg_tensor *const *qkv, const eg_tensor *mask, const eg_tensor *slopes)
{
    job j = {.o = c->opts, .g = eg__attended_of(qkv[0], qkv[1], qkv[2], mask)};
    j.band = eg__attention_band(j.o, j.g.t, j.g.s);
    j.q = view_of(&j.g, qkv[0]);
    j.k = view_of(&j.g, qkv[1]);
    j.v = view_of(&j.g, qkv[2]);
    j.mask = view_of(&j.g, mask);
    j.slopes = view_of(&j.g, slopes);
    j.corner = eg__attention_corner(j.o, j.g.t, j.g.s);
    j.height = j.g.t <= FEW_QUERIES ? 1 : QUERIES;
    j.whole = EG__VECTOR_BYTES / (qkv[0]->dtype == EG_F64 ? 8 : 4);
    j.blocks = (j.g.t + j.height - 1) / j.height;
    return j;
}

/* Keys in parts where there are less than UNITS units, at least so many keys each. */
static void split_keys(job *j, int64_t units, int64_t least)
{
    const int64_t wanted = units ? (UNITS + units - 1) / units : 1;
    j->splits = eg__max(1, eg__min(wanted, j->g.s / least));
    j->width = ((j->g.s + j->splits - 1) / j->splits + KEYS - 1) / KEYS * KEYS;
    j->splits = eg__max(1, (j->g.s + j->width - 1) / eg__max(j->width, 1));
    j->units = units * j->splits;
}

/* together: of blocks of queries, where keys are in parts. */
static eg_status run(const eg__call *c, job *j, eg__range_fn *parts, eg__range_fn *together)
{
    const double work = (double)(j->g.batches * j->g.t) * (double)(j->g.s * (j->g.d + j->g.v));
    const int64_t threads = (int64_t)eg__min((double)eg_threads(), work / WORK_PER_THREAD + 1);
    const int64_t partial = j->splits > 1 ? j->units * j->part : 0;
    eg__scratch scratch;
    j->parts = eg__min(threads, j->units);
    if (!j->units) {
        return EG_OK;
    }
    eg_status st = eg__scratch_get(c, (size_t)(partial + j->parts * j->room), &scratch);
    if (st) {
        return st;
    }
    j->partial = partial ? scratch.data : NULL;
    j->rooms = (char *)scratch.data + partial;
    eg__parallel(j->parts, 1, parts, j);
    if (partial) {
        eg__parallel(j->g.batches * j->blocks, 1, together, j);
    }
    eg__scratch_put(c, &scratch);
    return EG_OK;
}

eg_status ISA(eg__cpu_attention)(const eg__call *c)
{
    job j = job_of(c, c->in, c->nin > 3 ? c->in[3] : NULL, c->nin > 4 ? c->in[4] : NULL);
    j.y = view_of(&j.g, c->out[0]);
    j.stat = column_of(&j.g, c->out[1]);
    split_keys(&j, j.g.batches * j.blocks, PART_KEYS);
#if AMX
    const bool sides = j.g.d && j.g.d % PAIR == 0 && j.g.v && j.g.v % PAIR == 0;
    j.tiles = j.q.dtype == EG_BF16 && sides && j.g.t >= PAIR && j.g.s >= PAIR && has_tiles();
    j.keys_padded = (j.g.s + PAIR - 1) / PAIR * PAIR + PAIR;
    j.whole = j.tiles ? PAIR : j.whole;
#endif
    if (c->in[0]->dtype == EG_F64) {
        j.room = room_at_f64(&j, NULL, &(room_f64){0});
        j.part = part_f64(&j);
        return run(c, &j, parts_f64, together_f64);
    }
    j.room = room_at_f32(&j, NULL, &(room_f32){0});
    j.part = part_f32(&j);
    return run(c, &j, parts_f32, together_f32);
}

eg_status ISA(eg__cpu_attention_grad)(const eg__call *c)
{
    job j = job_of(c, c->in + 1, c->nin > 6 ? c->in[6] : NULL, c->nin > 7 ? c->in[7] : NULL);
    j.dy = view_of(&j.g, c->in[0]);
    j.y = view_of(&j.g, c->in[4]);
    j.stat = column_of(&j.g, c->in[5]);
    j.dq = view_of(&j.g, c->out[0]);
    j.dk = view_of(&j.g, c->out[1]);
    j.dv = view_of(&j.g, c->out[2]);
    split_keys(&j, j.g.batches, KEYS);
    if (c->in[1]->dtype == EG_F64) {
        j.room = room_at_f64(&j, NULL, &(room_f64){0});
        j.part = part_f64(&j);
        return run(c, &j, parts_f64, together_back_f64);
    }
    j.room = room_at_f32(&j, NULL, &(room_f32){0});
    j.part = part_f32(&j);
    return run(c, &j, parts_f32, together_back_f32);
}
