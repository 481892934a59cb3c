/* index.c - the host side of checking indices, picking and putting by them, and finding what is not 0. */
#include "lib/cuda/index/index.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

/* Every element 0. */
static eg_status clear(const eg__call *c, const eg_tensor *y)
{
    size_t bytes = (size_t)y->n * eg__esize(y);
    return bytes ? eg__launched(c, cudaMemsetAsync(eg__ptr(y), 0, bytes, eg__stream_of(c))) : EG_OK;
}

eg_status eg__cuda_checked_index(const eg__call *c)
{
    const eg__check_opts *o = c->opts;
    const eg_tensor *index = c->in[0], *y = c->out[0];
    eg__checking k = {.index = eg__ptr(index),
                      .y = (int64_t *)eg__ptr(y),
                      .n = y->n,
                      .axes = o->axes,
                      .wide = index->dtype == EG_I64,
                      .strict = o->strict,
                      .op = c->op->id,
                      .name = o->name,
                      .fault = eg__fault_of(c)};
    memcpy(k.size, o->size, sizeof k.size);
    return y->n ? eg__launched(c, eg__launch_check(&k, eg__stream_of(c))) : EG_OK;
}

/* ---- picking --------------------------------------------------------------------------------------- */

eg_status eg__cuda_index_select(const eg__call *c)
{
    const eg__index_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    if (!x->n || !y->n) {
        return clear(c, y); /* if it has elements the indices were out of range, which will be said */
    }
    eg__selecting k = {.y = eg__ptr(y),
                       .x = eg__ptr(x),
                       .index = (const int64_t *)eg__ptr(index),
                       .raw = EG__RAW_INDEX(c, o, x->shape[o->axis]),
                       .size = x->shape[o->axis],
                       .unit = 16};
    int64_t row = (int64_t)eg__esize(x);
    for (int d = o->axis + 1; d < x->ndim; d++) {
        row *= x->shape[d];
    }
    while (((uintptr_t)k.y | (uintptr_t)k.x | (uint64_t)row) % (uint64_t)k.unit) {
        k.unit /= 2;
    }
    k.units = y->n * (int64_t)eg__esize(y) / k.unit;
    k.row = eg__divisor_of(row / k.unit);
    k.n = eg__divisor_of(index->n);
    return eg__launched(c, eg__launch_select(&k, eg__stream_of(c)));
}

/* t seen in the shape of `like` with all places along the axis at its element 0. */
static eg_tensor beneath(const eg_tensor *t, const eg_tensor *like, int axis)
{
    eg_tensor u = *t;
    memcpy(u.shape, like->shape, sizeof u.shape);
    u.strides[axis] = 0;
    u.n = like->n;
    return u;
}

static int64_t step_of(const eg_tensor *t, int axis)
{
    return t->strides[axis] * (int64_t)eg__esize(t);
}

eg_status eg__cuda_gather(const eg__call *c)
{
    const int axis = ((const eg__axis_opts *)c->opts)->axis;
    eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0], under = beneath(x, index, axis);
    eg_status st = EG_OK;
    eg__launches w;
    if (!x->n || !y->n) {
        return clear(c, y);
    }
    eg__launches_begin(&w, c, (eg_tensor *[]){y, index, &under}, 3);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c, eg__launch_gather(&w.elements, step_of(x, axis), eg__stream_of(c)));
    }
    return st;
}

/* ---- putting --------------------------------------------------------------------------------------- */

/* Which source stays at each place of y: 1 + its place along the axis, or 0. Along axes that the index does
 * not depend on there is one for all. */
typedef struct winners {
    eg__block *block;
    eg__storage storage;
    eg_tensor table;
} winners;

static eg_status find_winners(const eg__call *c, const eg_tensor *index, const eg_tensor *y, int axis, winners *w)
{
    eg_tensor along = *index, places = *index, under;
    eg__launches walk;
    w->table = *y;
    w->table.dtype = EG_I32;
    w->table.n = 1;
    places.dtype = EG_U8;
    for (int d = y->ndim; d-- > 0;) {
        if (d != axis && index->shape[d] == y->shape[d] && !index->strides[d]) {
            w->table.shape[d] = along.shape[d] = 1;
        }
        w->table.strides[d] = w->table.n;
        w->table.n *= w->table.shape[d];
        places.strides[d] = d == axis;
    }
    size_t bytes = (size_t)w->table.n * sizeof(int32_t);
    eg_status st = eg__cuda_scratch(c, bytes, &w->block);
    if (st) {
        return st;
    }
    w->storage = (eg__storage){.data = w->block->data};
    w->table.storage = places.storage = &w->storage;
    w->table.offset = places.offset = 0;
    st = eg__launched(c, cudaMemsetAsync(w->block->data, 0, bytes, eg__stream_of(c)));
    along.n = index->n ? 1 : 0;
    for (int d = 0; d < along.ndim; d++) {
        along.n *= along.shape[d];
    }
    memcpy(places.shape, along.shape, sizeof places.shape);
    places.n = along.n;
    under = beneath(&w->table, &along, axis);
    eg__launches_begin(&walk, c, (eg_tensor *[]){&along, &under, &places}, 3);
    while (!st && eg__launches_next(&walk)) {
        st = eg__launched(c,
                          eg__launch_mark(&walk.elements, step_of(&w->table, axis), w->block->data, eg__stream_of(c)));
    }
    return st;
}

eg_status eg__cuda_scatter(const eg__call *c)
{
    const eg__scatter_opts *o = c->opts;
    eg_tensor *source = c->in[0], *index = c->in[1], *y = c->out[0], *base = c->nin > 2 ? c->in[2] : NULL;
    eg__launches walk;
    winners w = {0};
    if (!y->n) {
        return EG_OK;
    }
    if (o->ndim && index->shape[o->axis] >> 32) {
        return eg__fail(EG_ENOKERNEL, c->op->name,
                        "%lld sources along an axis are more than the "
                        "2^32 - 1 it is made for on a GPU",
                        (long long)index->shape[o->axis]);
    }
    eg_status st = find_winners(c, index, y, o->axis, &w);
    eg_tensor under = beneath(source, y, o->axis);
    eg__launches_begin(&walk, c, (eg_tensor *[]){y, &w.table, &under, base ? base : y}, 4);
    while (!st && eg__launches_next(&walk)) {
        st = eg__launched(c, eg__launch_take(&walk.elements, step_of(source, o->axis), eg__stream_of(c)));
    }
    eg__cuda_scratch_end(w.block);
    return st;
}

/* ---- numbers of places ----------------------------------------------------------------------------- */

eg_status eg__cuda_one_hot(const eg__call *c)
{
    const eg__one_hot_opts *o = c->opts;
    const eg_tensor *ids = c->in[0], *y = c->out[0];
    eg__marking k = {.y = eg__ptr(y),
                     .ids = (const int64_t *)eg__ptr(ids),
                     .n = y->n,
                     .depth = eg__divisor_of(o->depth),
                     .dtype = y->dtype,
                     .size = (int)eg__esize(y),
                     .on = o->on,
                     .off = o->off};
    return y->n ? eg__launched(c, eg__launch_one_hot(&k, eg__stream_of(c))) : EG_OK;
}

static eg__numbering numbering(const eg__call *c, int64_t n)
{
    const eg__shape_opts *o = c->opts;
    eg__numbering k = {
        .x = (const int64_t *)eg__ptr(c->in[0]), .y = (int64_t *)eg__ptr(c->out[0]), .n = n, .ndim = o->ndim};
    for (int d = 0; d < o->ndim; d++) {
        k.shape[d] = eg__divisor_of(o->shape[d]);
    }
    return k;
}

eg_status eg__cuda_ravel_index(const eg__call *c)
{
    const eg__numbering k = numbering(c, c->out[0]->n);
    return k.n ? eg__launched(c, eg__launch_ravel(&k, eg__stream_of(c))) : EG_OK;
}

eg_status eg__cuda_unravel_index(const eg__call *c)
{
    const eg__numbering k = numbering(c, c->in[0]->n);
    return k.n ? eg__launched(c, eg__launch_unravel(&k, eg__stream_of(c))) : EG_OK;
}

eg_status eg__cuda_nonzero(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    eg__block *tiles = NULL;
    eg__finding k = {.x = (const uint8_t *)eg__ptr(x), .y = (int64_t *)eg__ptr(y), .n = x->n, .ndim = x->ndim};
    for (int d = 0; d < x->ndim; d++) {
        k.shape[d] = eg__divisor_of(x->shape[d]);
    }
    if (!y->n) {
        return EG_OK;
    }
    eg_status st = eg__cuda_scratch(c, ((size_t)x->n / EG__TILE + 1) * sizeof *k.tiles, &tiles);
    if (!st) {
        k.tiles = (int64_t *)(void *)tiles->data;
        st = eg__launched(c, eg__launch_nonzero(&k, eg__stream_of(c)));
    }
    eg__cuda_scratch_end(tiles);
    return st;
}
