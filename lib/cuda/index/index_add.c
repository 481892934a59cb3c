/* index_add.c - the host side of index_add, scatter_add and scatter_reduce: sorting by place, then joining. */
#include <egret/ops/index.h>

#include "lib/cuda/index/index_add.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

/* What is needed in between, in one block of memory. */
typedef struct plan {
    eg__joining join;
    eg__sorting sort;
    unsigned *edges; /* begin, then end, of each place */
    size_t bytes;
    eg__block *block;
} plan;

static char *part_of(plan *p, size_t bytes)
{
    size_t at = p->bytes;
    p->bytes += (bytes + 255) / 256 * 256;
    return p->block ? p->block->data + at : NULL;
}

/* Gives each of what is needed its place; called for the size first. */
static void lay_out(plan *p)
{
    eg__joining *j = &p->join;
    const size_t n = (size_t)p->sort.n, tiles = n / EG__SORT_TILE + 2, wide = j->dtype == EG_F32 ? 4 : 8;
    const size_t row = (size_t)(j->outer * j->inner) * wide;
    p->bytes = 0;
    for (int i = 0; i < 2; i++) {
        p->sort.key[i] = (unsigned *)(void *)part_of(p, n * sizeof(unsigned));
        p->sort.value[i] = (int *)(void *)part_of(p, n * sizeof(int));
    }
    p->sort.counts = (unsigned *)(void *)part_of(p, (tiles << EG__DIGIT) * sizeof(unsigned));
    p->edges = (unsigned *)(void *)part_of(p, 2 * (size_t)j->size.d * sizeof(unsigned));
    /* Runs worth cutting there are only among many. */
    j->part[0] = n >= 4 * EG__SLOT ? part_of(p, n / EG__SLOT * row) : NULL;
    j->part[1] = n >= 2 * EG__SLOT * EG__SLOT ? part_of(p, n / (EG__SLOT * EG__SLOT) * row) : NULL;
}

static bool aligned(const void *p)
{
    return (uintptr_t)p % 16 == 0;
}

/* The most places and sources there may be. */
static eg_status countable(const eg__call *c, int64_t places, int64_t sources)
{
    if (places > INT32_MAX || sources > INT32_MAX) {
        return eg__fail(EG_ENOKERNEL, c->op->name,
                        "%lld sources for %lld places are more than the "
                        "2^31 - 1 it is made for on a GPU",
                        (long long)sources, (long long)places);
    }
    return EG_OK;
}

/* Sorts, and joins. keys: makes the keys and values of buffer 1, if the index alone does not say them. */
typedef eg_status make_keys(const eg__call *c, const plan *p);

static eg_status run(const eg__call *c, plan *p, make_keys *keys)
{
    eg__joining *j = &p->join;
    eg__sorting *s = &p->sort;
    const int64_t places = j->size.d;
    const int bits = places > 1 ? 64 - __builtin_clzll((unsigned long long)places - 1) : 0;
    const int64_t width = 16 / (j->dtype == EG_F32 ? 4 : 8);
    cudaStream_t stream = eg__stream_of(c);
    s->n = (int)j->n;
    s->passes = bits > 0 ? (bits + EG__DIGIT - 1) / EG__DIGIT : 1;
    j->wide = j->inner % width == 0 && aligned(j->x) && aligned(j->y) && aligned(j->base);
    lay_out(p);
    eg_status st = eg__cuda_scratch(c, p->bytes, &p->block);
    if (st) {
        return st;
    }
    lay_out(p);
    const int at = (s->passes - 1) & 1;
    j->key = s->key[at];
    j->order = s->value[at];
    j->begin = p->edges;
    j->end = p->edges + places;
    st = eg__launched(c, cudaMemsetAsync(p->edges, 0, 2 * (size_t)places * sizeof(unsigned), stream));
    if (!st && s->n) {
        st = keys ? keys(c, p) : EG_OK;
        st = st ? st : eg__launched(c, eg__launch_sort(s, stream));
        st = st ? st : eg__launched(c, eg__launch_edges(j->key, s->n, p->edges, p->edges + places, stream));
    }
    st = st ? st : eg__launched(c, eg__launch_join(j, stream));
    eg__cuda_scratch_end(p->block);
    return st;
}

eg_status eg__cuda_index_add(const eg__call *c)
{
    const eg__index_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0], *base = c->nin > 2 ? c->in[2] : NULL;
    plan p = {.join = {.y = eg__ptr(y),
                       .x = eg__ptr(x),
                       .base = base ? eg__ptr(base) : NULL,
                       .outer = 1,
                       .n = index->n,
                       .inner = 1,
                       .skip = o->skip,
                       .size = eg__divisor_of(o->size),
                       .dtype = y->dtype,
                       .mode = EG__JOIN_ADD},
              .sort = {.index = (const int64_t *)eg__ptr(index), .raw = EG__RAW_INDEX(c, o, o->size)}};
    for (int d = 0; d < y->ndim; d++) {
        p.join.outer *= d < o->axis ? y->shape[d] : 1;
        p.join.inner *= d > o->axis ? y->shape[d] : 1;
    }
    if (!y->n) {
        return EG_OK;
    }
    eg_status st = countable(c, o->size, index->n);
    return st ? st : run(c, &p, NULL);
}

/* ---- places of whole tensors ----------------------------------------------------------------------- */

/* t with its elements numbered: the strides in bytes are those in elements. */
static eg_tensor numbered(const eg_tensor *t)
{
    eg_tensor u = *t;
    u.dtype = EG_U8;
    return u;
}

/* Whether a walk over t stays within 2^31 elements of the first. */
static bool near(const eg_tensor *t)
{
    int64_t reach = 0;
    for (int d = 0; d < t->ndim; d++) {
        int64_t far;
        if (__builtin_mul_overflow(t->shape[d] - 1, t->strides[d], &far) ||
            __builtin_add_overflow(reach, far < 0 ? -far : far, &reach)) {
            return false;
        }
    }
    return reach <= INT32_MAX;
}

static eg_status keys_of_places(const eg__call *c, const plan *p)
{
    const int axis = ((const eg__scatter_opts *)c->opts)->axis;
    eg_tensor *index = c->in[1], source = numbered(c->in[0]), under = numbered(c->out[0]);
    const int64_t step = under.strides[axis];
    eg_status st = EG_OK;
    eg__launches w;
    memcpy(under.shape, index->shape, sizeof under.shape);
    under.strides[axis] = 0;
    under.n = index->n;
    eg__launches_begin(&w, c, (eg_tensor *[]){index, &under, &source}, 3);
    for (int64_t done = 0; !st && eg__launches_next(&w); done += w.elements.n) {
        st = eg__launched(c, eg__launch_keys(&w.elements, step, eg__ptr(&under), eg__ptr(&source),
                                             p->sort.key[1] + done, p->sort.value[1] + done, eg__stream_of(c)));
    }
    return st;
}

static eg_status scatter(const eg__call *c, int mode)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    eg_tensor *base = c->nin > 2 ? c->in[2] : NULL;
    eg_status st = countable(c, y->n, x->n);
    if (!st && !near(x)) {
        st = eg__fail(EG_ENOKERNEL, c->op->name,
                      "the source lies further apart than the 2^31 - 1 elements "
                      "it is made for on a GPU; eg_contiguous helps");
    }
    if (st || !y->n) {
        return st;
    }
    if (base && !(base->flags & EG__DENSE)) {
        base = eg__cuda_dense(c, base, base->ndim, base->shape);
        st = base ? EG_OK : eg__why();
    }
    plan p = {.join = {.y = eg__ptr(y),
                       .x = eg__ptr(x),
                       .base = base ? eg__ptr(base) : NULL,
                       .outer = 1,
                       .n = x->n,
                       .inner = 1,
                       .skip = -1,
                       .size = eg__divisor_of(y->n),
                       .dtype = y->dtype,
                       .mode = mode}};
    return st ? st : run(c, &p, keys_of_places);
}

eg_status eg__cuda_scatter_add(const eg__call *c)
{
    return scatter(c, EG__JOIN_ADD);
}

eg_status eg__cuda_scatter_reduce(const eg__call *c)
{
    int mode = ((const eg__scatter_opts *)c->opts)->mode;
    return scatter(c, mode == EG_SCATTER_MUL ? EG__JOIN_MUL : mode == EG_SCATTER_MAX ? EG__JOIN_MAX : EG__JOIN_MIN);
}
