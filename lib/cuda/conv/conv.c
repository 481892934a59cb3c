/* conv.c - the host side of convolutions: which of the ways is taken. A product of matrices where a
 * kernel has one tap; kernels of our own where every channel is a group; cuDNN; and our own for the
 * rest. */
#include "lib/cuda/conv/conv.h"
#include "lib/cuda/common/axes.h"
#include "lib/cuda/conv/conv_job.h"

/* ---- operands in a form that can be read ----------------------------------------------------- */

static void last_strides(const eg_tensor *t, int64_t *strides)
{
    int64_t step = t->shape[1];
    strides[1] = 1;
    for (int d = t->ndim - 1; d >= 2; d--) {
        strides[d] = step;
        step *= t->shape[d];
    }
    strides[0] = step;
}

static bool is_last(const eg_tensor *t)
{
    int64_t strides[EG_MAX_DIMS];
    last_strides(t, strides);
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] != 1 && t->strides[d] != strides[d]) {
            return false;
        }
    }
    return true;
}

eg_tensor *eg__conv_last_like(const eg__conv_job *j, const eg_tensor *t)
{
    eg__desc d = {.dtype = t->dtype, .ndim = t->ndim, .device = t->device, .n = t->n};
    memcpy(d.shape, t->shape, sizeof d.shape);
    last_strides(t, d.strides);
    return eg__new(&d, j->c->op->name, j->c->op->id);
}

eg_status eg__conv_copy(const eg_tensor *from, eg_tensor *to)
{
    eg_tensor *in = (eg_tensor *)(uintptr_t)from;
    return eg__run(eg__host_ops()[EG__ID_copy], &in, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, to);
}

eg_tensor *eg__conv_last(const eg__conv_job *j, eg_tensor *t)
{
    if (is_last(t)) {
        return t;
    }
    eg_tensor *copy = eg__conv_last_like(j, t);
    return copy && !eg__conv_copy(t, copy) ? copy : NULL;
}

static eg_tensor view(const eg_tensor *t, int ndim, const int64_t *shape, const int64_t *strides)
{
    eg_tensor v = *t;
    v.ndim = (uint8_t)ndim;
    memcpy(v.shape, shape, (size_t)ndim * sizeof *shape);
    memcpy(v.strides, strides, (size_t)ndim * sizeof *strides);
    v.flags = eg__layout_flags(ndim, v.shape, v.strides);
    return v;
}

eg_status eg__conv_add_bias(const eg__conv_job *j)
{
    eg_tensor *y = j->c->out[0];
    if (!j->bias) {
        return EG_OK;
    }
    eg_tensor b =
        view(j->bias, y->ndim - 1, (int64_t[]){j->bias->n, 1, 1, 1}, (int64_t[]){j->bias->strides[0], 0, 0, 0});
    return eg__run(eg__host_ops()[EG__ID_add], (eg_tensor *[]){y, &b}, 2, NULL, y);
}

eg_status eg__conv_activate(const eg__conv_job *j)
{
    static const uint16_t ops[] = {
        [EG__ACT_RELU] = EG__ID_relu, [EG__ACT_TANH] = EG__ID_tanh, [EG__ACT_SIGMOID] = EG__ID_sigmoid};
    eg_tensor *y = j->c->out[0];
    return j->act == EG__ACT_NONE ? EG_OK : eg__run(eg__host_ops()[ops[j->act]], &y, 1, NULL, y);
}

/* ---- one tap: a product ---------------------------------------------------------------------- */

static bool is_product(const eg__conv_job *j)
{
    for (int d = 0; d < 3; d++) {
        if (j->g.k[d] != 1 || j->g.stride[d] != 1 || j->g.before[d] || j->g.after[d]) {
            return false;
        }
    }
    return j->g.groups == 1;
}

/* As rows of channels, [images, places, channels]; false if places do not lie evenly. */
static bool rows_of(const eg_tensor *t, eg_tensor *to)
{
    int64_t places = 1, step = 0;
    for (int d = t->ndim - 1; d >= 2; d--) {
        if (t->shape[d] == 1) {
            continue;
        }
        if (places > 1 && t->strides[d] != places * step) {
            return false;
        }
        step = places > 1 ? step : t->strides[d];
        places *= t->shape[d];
    }
    *to = view(t, 3, (int64_t[]){t->shape[0], places, t->shape[1]},
               (int64_t[]){t->strides[0], places > 1 ? step : t->shape[1], t->strides[1]});
    return true;
}

static bool to_rows(const eg__conv_job *j, eg_tensor *t, eg_tensor *to)
{
    return rows_of(t, to) || ((t = eg__conv_last(j, t)) && rows_of(t, to));
}

/* [images * places, channels], channels innermost. */
static bool to_matrix(const eg__conv_job *j, eg_tensor *t, eg_tensor *to)
{
    if (!(t = eg__conv_last(j, t))) {
        return false;
    }
    const int64_t channels = t->shape[1];
    *to = view(t, 2, (int64_t[]){t->n / channels, channels}, (int64_t[]){channels, 1});
    return true;
}

static eg_status by_product(const eg__conv_job *j)
{
    const eg__op *const *ops = eg__host_ops();
    eg_tensor x, y, t, w = view(j->w, 2, j->w->shape, j->w->strides);
    switch (j->result) {
    case EG__CONV_Y:
        if (!to_rows(j, j->x, &x) || !rows_of(j->y, &y)) {
            return eg__why();
        }
        return eg__run(ops[EG__ID_linear], (eg_tensor *[]){&x, &w, j->bias}, j->bias ? 3 : 2,
                       &(eg__linear_opts){.act = j->act}, &y);
    case EG__CONV_X:
        if (!to_rows(j, j->y, &y) || !rows_of(j->x, &x)) {
            return eg__why();
        }
        eg_status st = eg__run(ops[EG__ID_matmul], (eg_tensor *[]){&y, &w}, 2, NULL, &x);
        return st ? st : eg__conv_add_bias(j);
    default:
        if (!to_matrix(j, j->x, &x) || !to_matrix(j, j->y, &y)) {
            return eg__why();
        }
        t = view(&y, 2, (int64_t[]){y.shape[1], y.shape[0]}, (int64_t[]){1, y.shape[1]});
        return eg__run(ops[EG__ID_matmul], (eg_tensor *[]){&t, &x}, 2, NULL, &w);
    }
}

/* ---- kernels of our own ---------------------------------------------------------------------- */

/* Kernels count cells of an axis, and blocks, in 32 bits. */
static eg_status countable(const eg__conv_job *j)
{
    for (int d = 0; d < 3; d++) {
        const int64_t cells = j->g.in[d] + j->g.before[d] + j->g.after[d];
        if (cells >= (int64_t)1 << 30) {
            return eg__fail(EG_ENOKERNEL, j->c->op->name,
                            "%lld cells along an axis, with its borders: on a GPU there are fewer than 2^30",
                            (long long)cells);
        }
    }
    return EG_OK;
}

static eg__convolved describe(const eg__conv_job *j, const eg_tensor *x, const eg_tensor *y)
{
    const eg__conv_geometry *g = &j->g;
    const eg_tensor *over = j->result == EG__CONV_X ? x : y;
    eg__convolved k = {.x = eg__ptr(x),
                       .w = eg__ptr(j->w),
                       .y = eg__ptr(y),
                       .bias = j->bias ? eg__ptr(j->bias) : NULL,
                       .bias_step = j->bias ? j->bias->strides[0] : 0,
                       .dtype = x->dtype,
                       .n = g->n,
                       .each = g->c / g->groups,
                       .outs = g->o / g->groups,
                       .positions = j->result == EG__CONV_W
                                        ? eg__positions_of(y->n / g->o, 1, g->out, 1)
                                        : eg__positions_of(over->n, over->shape[1], over == x ? g->in : g->out, 1),
                       .weights = j->w->n,
                       .whole = {eg__divisor_of(g->c / g->groups)}};
    eg__conv_strides(x, k.sx);
    eg__conv_strides(j->w, k.sw);
    eg__conv_strides(y, k.sy);
    for (int d = 0; d < 3; d++) {
        k.in[d] = (int)g->in[d];
        k.out[d] = (int)g->out[d];
        k.k[d] = (int)g->k[d];
        k.stride[d] = (int)g->stride[d];
        k.dilation[d] = (int)g->dilation[d];
        k.before[d] = (int)g->before[d];
        k.whole[d + 1] = eg__divisor_of(g->k[d]);
    }
    return k;
}

static eg_status by_elements(const eg__conv_job *j)
{
    static cudaError_t (*const start[])(const eg__convolved *, cudaStream_t) = {eg__launch_conv, eg__launch_conv_data,
                                                                                eg__launch_conv_weight};
    const eg__convolved k = describe(j, j->x, j->y);
    return eg__launched(j->c, start[j->result](&k, eg__stream_of(j->c)));
}

/* ---- every channel a group ------------------------------------------------------------------- */

static int64_t taps_of(const eg__conv_job *j)
{
    return j->g.k[0] * j->g.k[1] * j->g.k[2];
}

/* Eight channels to a thread where they are aligned; as many threads beside each other as weights
 * fit for. */
static bool share_channels(const eg__conv_job *j, eg__depthwise *k)
{
    const bool data = j->result == EG__CONV_X, wide = k->c.dtype == EG_F64;
    const uintptr_t low = (uintptr_t)k->c.x | (uintptr_t)k->c.y;
    k->channels = data ? j->g.c : j->g.o;
    k->group = !wide && k->c.outs == 1 && k->channels % 8 == 0 && low % 16 == 0 ? 8 : 1;
    const int64_t units = k->channels / k->group;
    k->lanes = (int)eg__power(units, 32);
    while (k->lanes > 8 && 8 * ((units + k->lanes - 1) / k->lanes * k->lanes - units) > units) {
        k->lanes /= 2; /* too many of a block's threads would have no channel */
    }
    if (j->result == EG__CONV_W) {
        return true;
    }
    const int64_t each = (data ? k->c.outs : 1) * taps_of(j) * k->group * (wide ? 8 : 4);
    while (k->lanes > 1 && each * k->lanes > EG__DEPTHWISE_SHARED) {
        k->lanes /= 2;
    }
    k->shared = (int)eg__min(each * k->lanes, INT32_MAX);
    return k->shared <= EG__DEPTHWISE_SHARED;
}

/* Kernels of 3, 5 and 7 that go over the last axis step by step make runs of places, channels in eights. */
static void share_runs(const eg__conv_job *j, eg__depthwise *k)
{
    const eg__conv_geometry *g = &j->g;
    const int64_t wide = j->result == EG__CONV_X ? g->in[2] : g->out[2];
    if (k->group == 8 && g->stride[2] == 1 && g->dilation[2] == 1 && (g->k[2] == 3 || g->k[2] == 5 || g->k[2] == 7)) {
        k->kernel = (int)g->k[2];
        k->runs = eg__divisor_of((wide + EG__DEPTHWISE_AT_ONCE - 1) / EG__DEPTHWISE_AT_ONCE);
        k->all_runs = k->positions / wide * k->runs.d;
    }
}

/* As many parts as keep the device busy, of positions or runs enough to be worth it. */
static void share_positions(const eg__conv_job *j, eg__depthwise *k)
{
    enum { LEAST = 16 }; /* positions of a thread */
    const int64_t all = k->kernel ? k->all_runs : k->positions,
                  least = k->kernel ? LEAST / EG__DEPTHWISE_AT_ONCE : LEAST;
    const int64_t lines = j->g.k[0] * j->g.k[1] * (k->kernel ? 1 : (j->g.k[2] + 3) / 4);
    const int64_t wide = (int64_t)k->lanes * k->group, rows = 256 / k->lanes;
    const int64_t blocks = (k->channels + wide - 1) / wide * lines;
    const int64_t splits = eg__min(8 * eg__cuda_at(j->c->device)->processors / blocks, all / (least * rows));
    k->part = (all + eg__max(splits, 1) - 1) / eg__max(splits, 1);
    k->splits = (unsigned)((all + k->part - 1) / k->part);
}

static eg_status start_depthwise(const eg__conv_job *j, const eg__depthwise *k)
{
    static cudaError_t (*const start[][3])(const eg__depthwise *, cudaStream_t) = {
        {eg__launch_depthwise, eg__launch_depthwise_data, eg__launch_depthwise_weight},
        {eg__launch_runs, eg__launch_runs_data, eg__launch_runs_weight}};
    return eg__launched(j->c, start[k->kernel > 0][j->result](k, eg__stream_of(j->c)));
}

/* *done is false where weights are too many. */
static eg_status by_channels(const eg__conv_job *j, bool *done)
{
    const eg_tensor *x = eg__conv_last(j, j->x), *y = x ? eg__conv_last(j, j->y) : NULL;
    eg__block *scratch = NULL;
    eg__conv_job dense = *j;
    *done = y != NULL;
    if (!*done) {
        return eg__why();
    }
    if (j->result != EG__CONV_W && !(j->w->flags & EG__DENSE)) {
        eg__desc d = {.dtype = j->w->dtype, .ndim = j->w->ndim, .device = j->w->device};
        memcpy(d.shape, j->w->shape, sizeof d.shape);
        eg__desc_dense(&d);
        eg_tensor *w = eg__new(&d, j->c->op->name, j->c->op->id);
        if (!w || eg__conv_copy(j->w, w)) {
            return eg__why();
        }
        dense.w = w;
    }
    eg__depthwise k = {.c = describe(&dense, x, y)};
    k.positions = (j->result == EG__CONV_X ? x->n / j->g.c : y->n / j->g.o);
    if (!share_channels(j, &k)) {
        *done = false;
        return EG_OK;
    }
    share_runs(j, &k);
    if (j->result != EG__CONV_W) {
        return start_depthwise(j, &k);
    }
    share_positions(j, &k);
    const size_t bytes = (size_t)(k.splits * taps_of(j) * k.channels) * (k.c.dtype == EG_F64 ? 8 : 4);
    eg_status st = eg__cuda_scratch(j->c, bytes, &scratch);
    if (!st) {
        k.sums = scratch->data;
        st = start_depthwise(j, &k);
    }
    eg__cuda_scratch_end(scratch);
    return st;
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* Of an operand that is empty. */
static eg_status of_nothing(const eg__conv_job *j)
{
    const eg_tensor *y = j->c->out[0];
    eg_status st = eg__launched(j->c, cudaMemsetAsync(eg__ptr(y), 0, (size_t)y->n * eg__esize(y), eg__stream_of(j->c)));
    st = st ? st : eg__conv_add_bias(j);
    return st ? st : eg__conv_activate(j);
}

static eg_status convolve(const eg__conv_job *j)
{
    bool done = false;
    if (!j->c->out[0]->n) {
        return EG_OK;
    }
    if (!j->x->n || !j->w->n || !j->y->n) {
        return of_nothing(j);
    }
    if (is_product(j)) {
        return by_product(j);
    }
    eg_status st = countable(j);
    if (!st && j->g.groups == j->g.c && j->g.groups > 1) {
        st = by_channels(j, &done);
    }
#ifdef EG_CUDNN
    if (!st && !done) {
        st = eg__conv_dnn(j, &done);
        if (done) {
            return st;
        }
    }
#endif
    st = st || done ? st : by_elements(j);
    return st ? st : eg__conv_activate(j);
}

eg_status eg__cuda_conv(const eg__call *c)
{
    const eg__conv_job j = eg__conv_job_of(c, EG__CONV_Y);
    return convolve(&j);
}

eg_status eg__cuda_conv_act(const eg__call *c)
{
    eg__conv_job j = eg__conv_job_of(c, EG__CONV_Y);
    j.act = (int)((const eg__conv_opts *)c->opts)->act;
    return convolve(&j);
}

eg_status eg__cuda_conv_data(const eg__call *c)
{
    const eg__conv_job j = eg__conv_job_of(c, EG__CONV_X);
    return convolve(&j);
}

eg_status eg__cuda_conv_weight(const eg__call *c)
{
    const eg__conv_job j = eg__conv_job_of(c, EG__CONV_W);
    return convolve(&j);
}
