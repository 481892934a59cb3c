/* conv.c - convolutions: the form all ways take their operands in, the choice of the way, oneDNN's.
 */
#include "lib/cpu/conv.h"
#include "lib/cpu/dnnl.h"
#include "lib/optable.h"

/* ---- operands ------------------------------------------------------------------------------ */

void eg__conv_view(eg_tensor *v, const eg_tensor *t, int ndim, const int64_t *shape,
                   const int64_t *strides, int64_t offset)
{
    memset(v, 0, sizeof *v);
    v->magic = EG__MAGIC;
    v->dtype = t->dtype;
    v->ndim = (uint8_t)ndim;
    v->storage = t->storage;
    v->offset = t->offset + offset;
    v->n = 1;
    for (int d = 0; d < ndim; d++) {
        v->shape[d] = shape[d];
        v->strides[d] = strides[d];
        v->n *= shape[d];
    }
    v->flags = eg__layout_flags(ndim, v->shape, v->strides);
}

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
    return layout == EG__KEEP_LAYOUT ||
           (layout == EG__TO_DENSE ? eg_is_contiguous(t) : eg_is_channels_last(t));
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

/* result += bias, along the channels. */
static eg_status add_bias(const eg__conv_job *j, eg_tensor *result)
{
    const int64_t shape[5] = {j->bias->n, 1, 1, 1, 1}, strides[5] = {1, 0, 0, 0, 0};
    eg_tensor b;
    eg__conv_view(&b, j->bias, result->ndim - 1, shape, strides, 0);
    return eg__run(&eg__op_add, (eg_tensor *[]){result, &b}, 2, NULL, result);
}

/* ---- oneDNN -------------------------------------------------------------------------------- */

/* x or y as oneDNN describes it: `nd` axes, of which missing ones in front of the others are 1. */
static eg__dnnl_mem activations(const eg_tensor *t, int64_t n, int64_t channels,
                                const int64_t *size, int nd)
{
    eg__dnnl_mem m = {.ndim = (uint8_t)nd, .dtype = t->dtype, .shape = {n, channels}};
    memcpy(m.shape + 2, size + 5 - nd, (size_t)(nd - 2) * sizeof *size);
    eg__channels_last(nd, m.shape, m.strides);
    return m;
}

static eg__dnnl_mem weights(const eg__conv_job *j, int nd)
{
    const eg__conv_shape *s = &j->s;
    eg__dnnl_mem m = {.dtype = j->w->dtype, .any = true};
    int64_t steps[5];
    int k = 0;
    eg__conv_strides(j->w, steps);
    if (s->groups > 1) {
        m.shape[k] = s->groups;
        m.strides[k++] = steps[0] * (s->o / s->groups);
    }
    m.shape[k] = s->o / s->groups;
    m.strides[k++] = steps[0];
    m.shape[k] = s->c / s->groups;
    m.strides[k++] = steps[1];
    for (int d = 5 - nd; d < 3; d++) {
        m.shape[k] = s->k[d];
        m.strides[k++] = steps[2 + d];
    }
    m.ndim = (uint8_t)k;
    return m;
}

/* Runs if oneDNN has a kernel worth it; *done says whether. */
static eg_status with_dnnl(const eg__conv_job *j, bool *done)
{
    static const uint8_t kinds[] = {EG__DNNL_CONV, EG__DNNL_CONV_DX, EG__DNNL_CONV_DW};
    const eg__conv_shape *s = &j->s;
    bool forward = j->result == EG__CONV_Y;
    int nd = j->x->ndim == 5 ? 5 : 4; /* one axis runs as two with height 1 */
    eg__dnnl_op op = {.kind = kinds[j->result],
                      .x = activations(j->x, s->n, s->c, s->in, nd),
                      .w = weights(j, nd),
                      .y = activations(j->y, s->n, s->o, s->out, nd)};
    if (forward && j->bias) {
        op.b = eg__dnnl_mem_of(j->bias, 1);
    }
    for (int d = 5 - nd, i = 0; d < 3; d++, i++) {
        op.stride[i] = s->stride[d];
        op.dilation[i] = s->dilation[d];
        op.low[i] = s->before[d];
        op.high[i] = j->after[d];
    }
    eg__dnnl_prim *p;
    eg_status st = eg__dnnl_find(j->c, &op, &p);
    *done = st || p;
    if (st || !p) {
        return st;
    }
    bool kept = j->w == j->c->in[1];
    st = eg__dnnl_run(j->c, p,
                      &(eg__dnnl_data){.x = eg__ptr(j->x),
                                       .w = eg__ptr(j->w),
                                       .y = eg__ptr(j->y),
                                       .b = op.b.ndim ? eg__ptr(j->bias) : NULL,
                                       .keep = kept ? j->w->storage : NULL});
    return st || forward || !j->bias ? st : add_bias(j, j->x);
}

/* Windows past all cells and numbers beyond int are not what its kernels were made for. */
static bool fit_for_dnnl(const eg__conv_job *j)
{
    const eg__conv_shape *s = &j->s;
    bool fit = j->x->dtype == EG_F32;
    for (int d = 0; d < 3; d++) {
        int64_t reach = (s->k[d] - 1) * s->dilation[d] + 1;
        fit = fit && s->before[d] < reach && j->after[d] < reach && s->in[d] < INT32_MAX / 2 &&
              s->out[d] < INT32_MAX / 2;
    }
    return fit && s->c < INT32_MAX / 2 && s->o < INT32_MAX / 2 && s->n < INT32_MAX / 2;
}

/* ---- the choice ---------------------------------------------------------------------------- */

static eg_status choose(const eg__conv_job *j, const eg__conv_loops *loops)
{
    const eg__conv_shape *s = &j->s;
    bool done = false;
    if (s->groups == s->c && s->c == s->o && s->groups > 1) {
        return loops->depthwise(j);
    }
    if (j->result == EG__CONV_X && s->c <= EG__CONV_NARROW && s->groups == 1 && j->x->ndim < 5 &&
        j->x->dtype == EG_F32) {
        return loops->narrow_data(j);
    }
    eg_status st = fit_for_dnnl(j) ? with_dnnl(j, &done) : EG_OK;
    if (done) {
        return st;
    }
    st = eg__conv_gemm(j);
    return st || !j->bias ? st : add_bias(j, j->result == EG__CONV_X ? j->x : j->y);
}

/* Nothing to add up: zeros and the bias. */
static eg_status nothing(const eg__conv_job *j, eg_tensor *result)
{
    return zero(result) || !j->bias ? EG_OK : add_bias(j, result);
}

eg_status eg__conv_run(const eg__call *c, eg__conv_result result, const eg__conv_loops *loops)
{
    eg_tensor *out = c->out[0], *bias = c->nin > 2 ? c->in[2] : NULL;
    eg_tensor *x = result == EG__CONV_X ? out : c->in[0],
              *w = result == EG__CONV_W ? out : c->in[1];
    eg_tensor *y = result == EG__CONV_Y ? out : c->in[result == EG__CONV_W];
    const eg__conv_opts *o = c->opts;
    int dtype = out->dtype == EG_F64 ? EG_F64 : EG_F32;
    if (out->n == 0) {
        return EG_OK;
    }
    eg__conv_job j = {.c = c, .result = result, .s = eg__conv_shape_of(x, w, y, o)};
    for (int d = 0, skip = 5 - x->ndim; d < 3; d++) {
        j.after[d] = d >= skip ? o->after[d - skip] : 0;
    }
    j.x = as(c, x, dtype, EG__TO_CHANNELS_LAST, result != EG__CONV_X);
    j.w = as(c, w, dtype, EG__KEEP_LAYOUT, result != EG__CONV_W);
    j.y = as(c, y, dtype, EG__TO_CHANNELS_LAST, result != EG__CONV_Y);
    j.bias = as(c, bias, dtype, EG__TO_DENSE, true);
    if (!j.x || !j.w || !j.y || (bias && !j.bias)) {
        return EG_ENOMEM;
    }
    eg_tensor *made = result == EG__CONV_X ? j.x : result == EG__CONV_W ? j.w : j.y;
    eg_status st = x->n && w->n && y->n ? choose(&j, loops) : nothing(&j, made);
    if (!st && made != out) {
        st = eg__run(&eg__op_cast, &made, 1, &(eg__cast_opts){out->dtype}, out);
    }
    return st;
}
