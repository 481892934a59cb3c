/* norm.c - the host side of normalisation: how images lie, and how their sums are shared out. */
#include "lib/cuda/reduce/norm.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

/* ---- channels ----------------------------------------------------------------------------------------- */

static eg__per_channel per_channel(const eg_tensor *t)
{
    return (eg__per_channel){t ? eg__ptr(t) : NULL, t ? t->strides[0] : 0};
}

static bool aligned(const eg_tensor *t)
{
    return (uintptr_t)eg__ptr(t) % (4 * eg__esize(t)) == 0;
}

/* As x lies, dense or channels-last; merged: as one image. */
static eg__normed describe(const eg__call *c, const eg_tensor *x, eg_tensor *y, bool merged)
{
    const eg__norm_opts *o = c->opts;
    int64_t spatial = 1;
    for (int d = 2; d < x->ndim; d++) {
        spatial *= x->shape[d];
    }
    const bool last = spatial == 1 || !(x->flags & EG__DENSE);
    const int64_t rows = last ? spatial : 1, images = x->shape[0];
    return (eg__normed){.x = eg__ptr(x),
                        .y = eg__ptr(y),
                        .dtype = x->dtype,
                        .n = x->n,
                        .images = merged ? 1 : images,
                        .groups = merged ? x->shape[1] : o->groups,
                        .rows = eg__divisor_of(merged ? rows * images : rows),
                        .channels = eg__divisor_of(x->shape[1]),
                        .run = eg__divisor_of(last ? 1 : spatial),
                        .eps = o->eps,
                        .relu = o->relu,
                        .whole = aligned(x) && aligned(y)};
}

/* As many parts as keep the device busy, of elements enough to be worth it. */
static void share(eg__normed *k, int processors)
{
    enum { LEAST = 16 }; /* elements of a thread */
    const int64_t count = k->rows.d * k->run.d;
    k->lanes = k->run.d == 1 ? 256 / (unsigned)eg__power(k->channels.d, 256 / eg__power(count / LEAST, 8))
                             : (unsigned)eg__power(count / 4, 256);
    const unsigned wide = 256 / k->lanes;
    const int64_t blocks = (k->channels.d + wide - 1) / wide * k->images;
    const int64_t splits = eg__min(4 * processors / blocks, count / (LEAST * (int64_t)k->lanes));
    k->part = (count + eg__max(splits, 1) - 1) / eg__max(splits, 1);
    k->splits = (unsigned)((count + k->part - 1) / k->part);
}

/* Runs it with scratch for what is known of channels in between. */
static eg_status run(const eg__call *c, eg__normed *k, cudaError_t (*start)(const eg__normed *k, cudaStream_t s))
{
    const size_t cells = (size_t)(k->images * k->channels.d) * EG__NORM_CELL;
    const size_t states = (size_t)(k->images * k->splits * k->channels.d) * EG__NORM_STATE;
    eg__block *scratch;
    eg_status st = eg__cuda_scratch(c, cells + states, &scratch);
    if (st) {
        return st;
    }
    k->cells = scratch->data;
    k->states = scratch->data + cells;
    st = eg__launched(c, start(k, eg__stream_of(c)));
    eg__cuda_scratch_end(scratch);
    return st;
}

/* Results that nothing is known of are 0. */
static eg_status zeros(const eg__call *c)
{
    eg_status st = EG_OK;
    for (int j = 1; j < 3 && !st; j++) {
        const size_t bytes = (size_t)c->out[j]->n * eg__esize(c->out[j]);
        st = bytes ? eg__launched(c, cudaMemsetAsync(eg__ptr(c->out[j]), 0, bytes, eg__stream_of(c))) : EG_OK;
    }
    return st;
}

static eg_status forward(const eg__call *c, bool merged)
{
    const eg__norm_opts *o = c->opts;
    eg_stream *s = c->T->lane[c->device].now;
    eg__normed k = describe(c, c->in[0], c->out[0], merged);
    if (!k.n) {
        return zeros(c);
    }
    k.weight = per_channel(c->in[1]);
    k.bias = per_channel(c->in[2]);
    k.mean = eg__ptr(c->out[1]);
    k.var = eg__ptr(c->out[2]);
    eg_status st = EG_OK;
    for (int i = 0; i < 2 && !st; i++) {
        eg_tensor *t = c->nin > 3 + i ? c->in[3 + i] : NULL;
        if (t) {
            k.running[i] = (eg__running){eg__ptr(t), t->strides[0], t->dtype, o->momentum, i ? o->factor : 1};
            st = eg__cuda_writes(s, t->storage, c->op->name);
        }
    }
    share(&k, eg__cuda_at(c->device)->processors);
    st = st ? st : run(c, &k, eg__launch_normalise);
    atomic_fetch_add_explicit(&s->queued, 1, memory_order_relaxed);
    for (int i = 3; i < c->nin; i++) {
        if (c->in[i]) {
            eg__cuda_wrote(s, c->in[i]->storage);
        }
    }
    return st;
}

static eg_status backward(const eg__call *c, bool merged)
{
    eg__normed k = describe(c, c->in[1], c->out[0], merged);
    if (!k.n) {
        return zeros(c);
    }
    k.dy = eg__ptr(c->in[0]);
    k.whole &= aligned(c->in[0]);
    k.mean = eg__ptr(c->in[2]);
    k.var = eg__ptr(c->in[3]);
    k.weight = per_channel(c->in[4]);
    k.bias = per_channel(c->in[5]);
    k.dweight = eg__ptr(c->out[1]);
    k.dbias = eg__ptr(c->out[2]);
    share(&k, eg__cuda_at(c->device)->processors);
    return run(c, &k, eg__launch_normalise_grad);
}

eg_status eg__cuda_batch_norm(const eg__call *c)
{
    return forward(c, true);
}

eg_status eg__cuda_batch_norm_grad(const eg__call *c)
{
    return backward(c, true);
}

eg_status eg__cuda_group_norm(const eg__call *c)
{
    return forward(c, false);
}

eg_status eg__cuda_group_norm_grad(const eg__call *c)
{
    return backward(c, false);
}

eg_status eg__cuda_scale_channels(const eg__call *c)
{
    eg__normed k = describe(c, c->in[0], c->out[0], true);
    if (!k.n) {
        return EG_OK;
    }
    k.weight = per_channel(c->in[1]);
    k.bias = per_channel(c->nin > 2 ? c->in[2] : NULL);
    return run(c, &k, eg__launch_scale);
}

/* ---- rows --------------------------------------------------------------------------------------------- */

/* A contiguous tensor as [rows, width]. */
static eg_tensor as_rows(const eg_tensor *t, int axes)
{
    eg_tensor u = *t;
    int64_t width = 1;
    for (int d = t->ndim - axes; d < t->ndim; d++) {
        width *= t->shape[d];
    }
    u.ndim = 2;
    u.shape[0] = width ? t->n / width : 0;
    u.shape[1] = width;
    u.strides[0] = width;
    u.strides[1] = 1;
    return u;
}

static eg_status rows_of(const eg__call *c, eg__row_norm *k, eg_tensor *const *t, int n)
{
    const eg__norm_opts *o = c->opts;
    eg_tensor rows[3], *all[3];
    for (int i = 0; i < n; i++) {
        rows[i] = as_rows(t[i], o->axes);
        all[i] = &rows[i];
    }
    *k = (eg__row_norm){.eps = o->eps, .root = o->root};
    eg__lines_make(&k->l, all, n, 1);
    if (k->l.n >= (int64_t)1 << 31) {
        return eg__fail(EG_ESHAPE, c->op->name, "rows of %lld elements: at most 2^31 - 1 are possible on %s",
                        (long long)k->l.n, eg__cuda_at(c->device)->device->name);
    }
    const bool few = k->l.at.n * (k->l.n / 16) < (int64_t)eg__cuda_at(c->device)->processors * 512;
    k->l.lanes = (unsigned)eg__power(few ? (k->l.n + 3) / 4 : (k->l.n + 15) / 16, 256);
    return EG_OK;
}

static char *data_of(const eg_tensor *t)
{
    return t ? eg__ptr(t) : NULL;
}

eg_status eg__cuda_layer_norm(const eg__call *c)
{
    eg__row_norm k;
    eg_status st = c->in[0]->n ? rows_of(c, &k, (eg_tensor *[]){c->in[0], c->out[0]}, 2) : EG_OK;
    if (st || !c->in[0]->n) {
        return st;
    }
    k.weight = data_of(c->in[1]);
    k.bias = data_of(c->in[2]);
    k.mean = eg__ptr(c->out[1]);
    k.var = eg__ptr(c->out[2]);
    return eg__launched(c, eg__launch_row_norm(&k, eg__stream_of(c)));
}

eg_status eg__cuda_layer_norm_grad(const eg__call *c)
{
    eg_tensor *dy = c->in[0], *x = c->in[1];
    const eg__norm_opts *o = c->opts;
    eg__row_norm k;
    if (!x->n) {
        return zeros(c);
    }
    eg_status st = rows_of(c, &k, (eg_tensor *[]){dy, x, c->out[0]}, 3);
    if (st) {
        return st;
    }
    k.mean = eg__ptr(c->in[2]);
    k.var = eg__ptr(c->in[3]);
    k.weight = data_of(c->in[4]);
    st = eg__launched(c, eg__launch_row_norm_grad(&k, eg__stream_of(c)));
    eg__normed sums = {.x = eg__ptr(x),
                       .dy = eg__ptr(dy),
                       .dtype = x->dtype,
                       .n = x->n,
                       .images = 1,
                       .groups = 1,
                       .rows = eg__divisor_of(k.l.at.n),
                       .channels = eg__divisor_of(k.l.n),
                       .run = eg__divisor_of(1),
                       .mean = k.mean,
                       .var = k.var,
                       .dweight = eg__ptr(c->out[1]),
                       .dbias = eg__ptr(c->out[2]),
                       .eps = o->eps};
    share(&sums, eg__cuda_at(c->device)->processors);
    const size_t states = (size_t)(sums.splits * sums.channels.d) * EG__NORM_STATE;
    eg__block *scratch = NULL;
    st = st ? st : eg__cuda_scratch(c, states, &scratch);
    if (st) {
        return st;
    }
    sums.states = scratch->data;
    st = eg__launched(c, eg__launch_row_norm_sums(&sums, o->root, eg__stream_of(c)));
    eg__cuda_scratch_end(scratch);
    return st;
}
