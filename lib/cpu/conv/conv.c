/* conv.c - convolutions: the form all ways take their operands in, the choice of the way, oneDNN's.
 */
#include "lib/cpu/conv/conv.h"
#include "lib/cpu/dnnl/dnnl.h"
#include "lib/cpu/common/pack.h"
#include "lib/cpu/conv/winograd.h"
#include "lib/ops/optable.h"

/* ---- operands ------------------------------------------------------------------------------ */

static eg_tensor *temp(const eg__call *c, const eg__desc *d)
{
    return eg__new(d, c->op->name, c->op->id);
}

eg_tensor *eg__conv_temp(const eg__conv_job *j, int dtype, int ndim, const int64_t *shape)
{
    eg__desc d = {.dtype = (uint8_t)dtype, .ndim = (uint8_t)ndim, .dense = true};
    memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    return eg__check_shape(j->c->op->name, ndim, shape, dtype, &d.n) ? NULL : temp(j->c, &d);
}

static bool lies(const eg_tensor *t, int layout)
{
    return layout == EG__KEEP_LAYOUT || (layout == EG__TO_DENSE ? eg_is_contiguous(t) : eg_is_channels_last(t));
}

/* t in this dtype and layout: itself where it is so, else a temporary, filled if `fill`. */
static eg_tensor *as(const eg__call *c, eg_tensor *t, int dtype, int layout, bool fill)
{
    if (!t || (t->dtype == dtype && lies(t, layout))) {
        return t;
    }
    eg__desc d;
    eg__desc_like(&d, t);
    d.dtype = (uint8_t)dtype;
    d.dense |= layout == EG__TO_DENSE;
    if (layout == EG__TO_CHANNELS_LAST) {
        d.dense = false;
        eg__channels_last(d.ndim, d.shape, d.strides);
    }
    eg_tensor *v = temp(c, &d);
    if (v && fill) {
        eg__run(&eg__op_cast, &t, 1, &(eg__cast_opts){dtype}, v);
    }
    return v;
}

static eg_status zero(eg_tensor *t)
{
    memset(eg__ptr(t), 0, (size_t)t->n * eg__esize(t));
    return EG_OK;
}

/* A tensor on the stack: other geometry from where t begins. */
static void view_of(eg_tensor *v, const eg_tensor *t, int ndim, const int64_t *shape, const int64_t *strides)
{
    memset(v, 0, sizeof *v);
    v->magic = EG__MAGIC;
    v->dtype = t->dtype;
    v->ndim = (uint8_t)ndim;
    v->storage = t->storage;
    v->offset = t->offset;
    v->n = t->n;
    memcpy(v->shape, shape, (size_t)ndim * sizeof *shape);
    memcpy(v->strides, strides, (size_t)ndim * sizeof *strides);
    v->flags = eg__layout_flags(ndim, shape, strides);
}

/* result += bias, along the channels. */
static eg_status add_bias(const eg__conv_job *j, eg_tensor *result)
{
    const int64_t shape[4] = {j->bias->n, 1, 1, 1}, strides[4] = {1, 1, 1, 1};
    eg_tensor b;
    view_of(&b, j->bias, result->ndim - 1, shape, strides);
    return eg__run(&eg__op_add, (eg_tensor *[]){result, &b}, 2, NULL, result);
}

static int64_t taps_of(const eg__conv_geometry *g)
{
    return g->k[0] * g->k[1] * g->k[2];
}

static int64_t windows_of(const eg__conv_geometry *g)
{
    return g->n * g->out[0] * g->out[1] * g->out[2];
}

/* ---- oneDNN -------------------------------------------------------------------------------- */

/* x or y as oneDNN describes it: `nd` axes, of which missing ones in front of the others are 1. */
static eg__dnnl_mem activations(const eg_tensor *t, int64_t n, int64_t channels, const int64_t *size, int nd)
{
    eg__dnnl_mem m = {.ndim = (uint8_t)nd, .dtype = t->dtype, .shape = {n, channels}};
    memcpy(m.shape + 2, size + 5 - nd, (size_t)(nd - 2) * sizeof *size);
    eg__channels_last(nd, m.shape, m.strides);
    return m;
}

static eg__dnnl_mem weights(const eg__conv_job *j, int nd)
{
    const eg__conv_geometry *g = &j->g;
    eg__dnnl_mem m = {.dtype = j->w->dtype, .any = true};
    int64_t steps[5];
    int k = 0;
    eg__conv_strides(j->w, steps);
    if (g->groups > 1) {
        m.shape[k] = g->groups;
        m.strides[k++] = steps[0] * (g->o / g->groups);
    }
    m.shape[k] = g->o / g->groups;
    m.strides[k++] = steps[0];
    m.shape[k] = g->c / g->groups;
    m.strides[k++] = steps[1];
    for (int d = 5 - nd; d < 3; d++) {
        m.shape[k] = g->k[d];
        m.strides[k++] = steps[2 + d];
    }
    m.ndim = (uint8_t)k;
    return m;
}

/* Runs if oneDNN has a kernel worth it; *done says whether. */
static eg_status with_dnnl(const eg__conv_job *j, bool *done)
{
    static const uint8_t kinds[] = {EG__DNNL_CONV, EG__DNNL_CONV_DX, EG__DNNL_CONV_DW};
    const eg__conv_geometry *g = &j->g;
    bool forward = j->result == EG__CONV_Y;
    int nd = j->x->ndim == 5 ? 5 : 4; /* one axis runs as two with height 1 */
    eg__dnnl_op op = {.kind = kinds[j->result],
                      .x = activations(j->x, g->n, g->c, g->in, nd),
                      .w = weights(j, nd),
                      .y = activations(j->y, g->n, g->o, g->out, nd)};
    if (forward && j->bias) {
        op.b = eg__dnnl_mem_of(j->bias, 1);
    }
    for (int d = 5 - nd, i = 0; d < 3; d++, i++) {
        op.stride[i] = g->stride[d];
        op.dilation[i] = g->dilation[d];
        op.low[i] = g->before[d];
        op.high[i] = j->g.after[d];
    }
    eg__dnnl_prim *p;
    eg_status st = eg__dnnl_find(j->c, &op, &p);
    *done = st || p;
    if (st || !p) {
        return st;
    }
    st = eg__dnnl_run(j->c, p,
                      &(eg__dnnl_data){.x = eg__ptr(j->x),
                                       .w = eg__ptr(j->w),
                                       .y = eg__ptr(j->y),
                                       .b = op.b.ndim ? eg__ptr(j->bias) : NULL,
                                       .keep = j->keep});
    return st || forward || !j->bias ? st : add_bias(j, j->x);
}

typedef struct turn {
    const float *from;
    float *to;
    int64_t taps;
} turn;

static void turn_kernels(void *ctx, int64_t begin, int64_t end)
{
    const turn *t = ctx;
    for (int64_t i = begin; i < end; i++) {
        const float *from = t->from + (i + 1) * t->taps - 1;
        float *to = t->to + i * t->taps;
        for (int64_t k = 0; k < t->taps; k++) {
            to[k] = from[-k];
        }
    }
}

/* The gradient of x as a convolution of dy with the kernel turned round, for stride 1: oneDNN's
 * forward kernels are the better ones for channels-last data. */
static eg_status with_dnnl_turned(const eg__conv_job *j, bool *done)
{
    const eg__conv_geometry *g = &j->g;
    eg__conv_job f = *j;
    eg_tensor *w = j->w, view;
    turn t = {.taps = taps_of(g)};
    f.result = EG__CONV_Y;
    f.x = j->y;
    f.y = j->x;
    f.g.c = g->o;
    f.g.o = g->c;
    for (int d = 0; d < 3; d++) {
        int64_t reach = (g->k[d] - 1) * g->dilation[d];
        f.g.in[d] = g->out[d];
        f.g.out[d] = g->in[d];
        f.g.before[d] = reach - g->before[d];
        f.g.after[d] = reach - j->g.after[d];
    }
    if (t.taps > 1) {
        f.keep = NULL;
        w = eg__conv_temp(j, w->dtype, w->ndim, w->shape);
        if (!w) {
            return eg__why();
        }
        t.from = (const float *)eg__ptr(j->w);
        t.to = (float *)eg__ptr(w);
        eg__parallel(w->n / t.taps, EG__GRAIN / t.taps + 1, turn_kernels, &t);
    }
    view_of(&view, w, w->ndim, w->shape, w->strides);
    if (g->groups == 1) {
        view.shape[0] = w->shape[1];
        view.shape[1] = w->shape[0];
        view.strides[0] = w->strides[1];
        view.strides[1] = w->strides[0];
    }
    f.w = &view;
    return with_dnnl(&f, done);
}

/* Windows past all cells and numbers beyond int are not what its kernels were made for. */
static bool fit_for_dnnl(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    bool fit = j->x->dtype == EG_F32;
    for (int d = 0; d < 3; d++) {
        int64_t reach = (g->k[d] - 1) * g->dilation[d] + 1;
        fit = fit && g->before[d] < reach && j->g.after[d] < reach && g->in[d] < INT32_MAX / 2 &&
              g->out[d] < INT32_MAX / 2;
    }
    return fit && g->c < INT32_MAX / 2 && g->o < INT32_MAX / 2 && g->n < INT32_MAX / 2;
}

/* ---- the choice ---------------------------------------------------------------------------- */

static bool single_steps(const eg__conv_geometry *g)
{
    return g->stride[0] * g->stride[1] * g->stride[2] == 1;
}

/* Every channel is its own group and has one result. */
static bool is_depthwise(const eg__conv_geometry *g)
{
    return g->groups == g->c && g->c == g->o && g->groups > 1;
}

/* Whether turning the kernel round pays: where it is free, and where the backward kernels are weak
 * and there is more to do than to turn it. */
static bool better_turned(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    int64_t taps = taps_of(g);
    return j->result == EG__CONV_X && (g->groups == 1 || is_depthwise(g)) && single_steps(g) &&
           (taps == 1 || (windows_of(g) >= 512 && j->w->flags & EG__DENSE));
}

/* Whether oneDNN serves a depthwise convolution better than our loops: on whole vectors of channels,
 * and for the gradient of x with its forward kernels. */
static bool depthwise_by_dnnl(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    return g->c % 16 == 0 && g->dilation[1] * g->dilation[2] == 1 && j->x->ndim == 4 && fit_for_dnnl(j) &&
           (j->result != EG__CONV_X || better_turned(j));
}

/* Whether oneDNN would spend more on the weight's layout than on the convolution: there are few
 * windows. A weight that does not change is rearranged once it has been used often enough. */
static bool better_as_product(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    int64_t taps = taps_of(g), windows = windows_of(g);
    if (g->groups > 1) {
        return false;
    }
    if (j->result == EG__CONV_W) {
        return taps > 1 ? windows <= g->o : single_steps(g);
    }
    return taps > 1 && windows <= g->o / 16;
}

static eg_status with_gemm(const eg__conv_job *j, const eg__conv_ways *ways)
{
    eg__conv_job dense = *j;
    dense.w = as(j->c, j->w, j->w->dtype, EG__TO_DENSE, true);
    eg_status st = dense.w ? ways->gemm(&dense) : EG_ENOMEM;
    return st || !j->bias ? st : add_bias(j, j->result == EG__CONV_X ? j->x : j->y);
}

/* Whether windows are cells: a product of x as it lies with the weight. */
static bool is_product(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    bool cells = j->result == EG__CONV_Y && g->groups == 1 && taps_of(g) == 1;
    for (int d = 0; d < 3; d++) {
        cells = cells && g->out[d] == g->in[d] && g->before[d] == 0;
    }
    return cells;
}

static eg_status choose(const eg__conv_job *j, const eg__conv_ways *ways)
{
    const eg__conv_geometry *g = &j->g;
    eg__winograd tiles;
    bool done = false;
    bool depthwise = is_depthwise(g) && g->k[0] * g->k[1] <= EG__CONV_LINES;
    if (depthwise && !depthwise_by_dnnl(j)) {
        return ways->depthwise(j);
    }
    if (j->result == EG__CONV_X && g->c <= EG__CONV_NARROW && g->groups == 1 && j->x->ndim < 5 &&
        j->x->dtype == EG_F32) {
        return ways->narrow_data(j);
    }
    if (is_product(j)) {
        eg_status sparse = ways->sparse(j, &done);
        if (sparse || done) {
            return sparse || !j->bias ? sparse : add_bias(j, j->y);
        }
    }
    if (eg__winograd_plan(j, &tiles)) {
        return ways->winograd(j, &tiles);
    }
    if (!fit_for_dnnl(j) || better_as_product(j)) {
        return with_gemm(j, ways);
    }
    eg_status st = better_turned(j) ? with_dnnl_turned(j, &done) : with_dnnl(j, &done);
    return done ? st : depthwise ? ways->depthwise(j) : with_gemm(j, ways);
}

/* Nothing to add up: zeros and the bias. */
static eg_status nothing(const eg__conv_job *j, eg_tensor *result)
{
    return zero(result) || !j->bias ? EG_OK : add_bias(j, result);
}

/* Of a weight that is turned or repeated: oneDNN takes no strides below 0. */
static int weight_layout(const eg_tensor *w)
{
    for (int d = 0; d < w->ndim; d++) {
        if (w->shape[d] > 1 && w->strides[d] <= 0) {
            return EG__TO_DENSE;
        }
    }
    return EG__KEEP_LAYOUT;
}

eg_status eg__conv_run(const eg__call *c, eg__conv_result result, const eg__conv_ways *ways)
{
    eg__conv_job j = eg__conv_job_of(c, result);
    eg_tensor *const out = c->out[0], *const x = j.x, *const w = j.w, *const y = j.y, *const bias = j.bias;
    const int dtype = out->dtype == EG_F64 ? EG_F64 : EG_F32;
    if (out->n == 0) {
        return EG_OK;
    }
    j.x = as(c, x, dtype, EG__TO_CHANNELS_LAST, result != EG__CONV_X);
    j.w = as(c, w, dtype, weight_layout(w), result != EG__CONV_W);
    j.y = as(c, y, dtype, EG__TO_CHANNELS_LAST, result != EG__CONV_Y);
    j.bias = as(c, bias, dtype, EG__TO_DENSE, true);
    j.keep = j.w == c->in[1] && result != EG__CONV_W ? j.w->storage : NULL;
    if (!j.x || !j.w || !j.y || (bias && !j.bias)) {
        return EG_ENOMEM;
    }
    eg_tensor *made = result == EG__CONV_X ? j.x : result == EG__CONV_W ? j.w : j.y;
    eg_status st = x->n && w->n && y->n ? choose(&j, ways) : nothing(&j, made);
    if (!st && made != out) {
        st = eg__run(&eg__op_cast, &made, 1, &(eg__cast_opts){out->dtype}, out);
    }
    return st;
}

eg_status eg__conv_activate(const eg__call *c)
{
    static const eg__op *const ops[] = {
        [EG__ACT_RELU] = &eg__op_relu, [EG__ACT_TANH] = &eg__op_tanh, [EG__ACT_SIGMOID] = &eg__op_sigmoid};
    eg_tensor *y = c->out[0];
    return y->n ? eg__run(ops[((const eg__conv_opts *)c->opts)->act], &y, 1, NULL, y) : EG_OK;
}
