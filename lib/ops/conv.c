/* conv.c - convolutions, their transposes and their gradients: options, inference, public
 * functions. */
#include "lib/ops/conv.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

#define LL(v) ((long long)(v))

/* ---- one axis ------------------------------------------------------------------------------ */

/* k' = (k - 1) * dilation + 1, the cells a window spans; -1 if that does not fit. */
static int64_t span(int64_t k, int64_t dilation)
{
    int64_t s;
    return __builtin_mul_overflow(k - 1, dilation, &s) || s == INT64_MAX ? -1 : s + 1;
}

/* How many windows of axis a fit; -1 with words if the kernel is empty or too large. */
static int64_t windows(const char *op, int a, int64_t in, int64_t k, const eg__conv_opts *o)
{
    int64_t s, padded;
    if (k < 1) {
        return eg__fail(EG_ESHAPE, op, "axis %d of the kernel is empty", a), -1;
    }
    if (in == 0) {
        return 0;
    }
    s = span(k, o->dilation[a]);
    if (__builtin_add_overflow(in, o->before[a] + o->after[a], &padded) || s < 0 || s > padded) {
        eg__fail(EG_ESHAPE, op,
                 "a kernel of %lld with dilation %lld is larger than spatial axis %d, "
                 "%lld + %lld + %lld cells",
                 LL(k), LL(o->dilation[a]), a, LL(o->before[a]), LL(in), LL(o->after[a]));
        return -1;
    }
    return (padded - s) / o->stride[a] + 1;
}

/* SAME padding of axis a for `in` cells of the convolution's input (padding.h). */
static eg_status same(const char *op, int a, int64_t in, int64_t k, eg__conv_opts *o)
{
    int64_t out = in / o->stride[a] + (in % o->stride[a] != 0), s = span(k, o->dilation[a]);
    int64_t total = s < 0 || in == 0 ? 0 : eg__max((out - 1) * o->stride[a] - in + s, 0);
    if (k > 0 && (s < 0 || total > 2 * (int64_t)INT32_MAX)) {
        return eg__fail(EG_ESHAPE, op,
                        "a kernel of %lld with dilation %lld is too large for SAME padding", LL(k),
                        LL(o->dilation[a]));
    }
    o->before[a] = total / 2;
    o->after[a] = total - total / 2;
    return EG_OK;
}

/* ---- options ------------------------------------------------------------------------------- */

/* v, or `otherwise` for 0, in 0..2^31-1. */
static eg_status number(const char *op, const char *name, int64_t v, int64_t otherwise, int64_t *to)
{
    if (v < 0 || v > INT32_MAX) {
        return eg__fail(EG_EINVAL, op, "%s is %lld, must be in 0..%d", name, LL(v), INT32_MAX);
    }
    *to = v ? v : otherwise;
    return EG_OK;
}

static eg_status no_such_axes(const char *op, int axes, const eg_conv_options *g)
{
    for (int a = axes; a < 3; a++) {
        if (g->strides[a] || g->dilations[a] || g->pads[a][0] || g->pads[a][1] ||
            g->output_padding[a]) {
            return eg__fail(EG_EINVAL, op, "an option is given for spatial axis %d of %d", a, axes);
        }
    }
    return EG_OK;
}

/* Everything but SAME padding, which wants to know sizes. */
static eg_status numbers(const char *op, int axes, const eg_conv_options *g, eg__conv_opts *o)
{
    int64_t stride = 1, dilation = 1, both = 0;
    bool each = false;
    if (number(op, "stride", g->stride, 1, &stride) ||
        number(op, "dilation", g->dilation, 1, &dilation) ||
        number(op, "groups", g->groups, 1, &o->groups) || no_such_axes(op, axes, g)) {
        return EG_EINVAL;
    }
    if (g->padding != EG_SAME && number(op, "padding", g->padding, 0, &both)) {
        return EG_EINVAL;
    }
    for (int a = 0; a < axes; a++) {
        if (number(op, "an entry of strides", g->strides[a], stride, &o->stride[a]) ||
            number(op, "an entry of dilations", g->dilations[a], dilation, &o->dilation[a]) ||
            number(op, "an entry of pads", g->pads[a][0], 0, &o->before[a]) ||
            number(op, "an entry of pads", g->pads[a][1], 0, &o->after[a])) {
            return EG_EINVAL;
        }
        each |= o->before[a] || o->after[a];
    }
    if (each && g->padding) {
        return eg__fail(EG_EINVAL, op, "both padding and pads are given");
    }
    for (int a = 0; a < axes && g->padding > 0; a++) {
        o->before[a] = o->after[a] = both;
    }
    return EG_OK;
}

/* Whether the axes can have their output_padding. */
static eg_status check_output_padding(const char *op, int axes, bool transposed, const eg_conv_options *g,
                                      const eg__conv_opts *o)
{
    for (int a = 0; a < axes; a++) {
        const int64_t more = g->output_padding[a];
        if (more && !transposed) {
            return eg__fail(EG_EINVAL, op, "output_padding %lld of axis %d: is for transposed convolutions", LL(more),
                            a);
        }
        if (more < 0 || more >= eg__max(o->stride[a], o->dilation[a]) || (more && g->padding == EG_SAME)) {
            return eg__fail(EG_EINVAL, op,
                            "output_padding %lld of axis %d: must be 0 or more, below the stride, %lld, or the "
                            "dilation, %lld, and 0 with SAME padding",
                            LL(more), a, LL(o->stride[a]), LL(o->dilation[a]));
        }
    }
    return EG_OK;
}

eg_status eg__check_conv_options(const char *op, int axes, bool transposed, const eg_conv_options *g)
{
    eg__conv_opts o = {0};
    eg_status st = numbers(op, axes, g, &o);
    return st ? st : check_output_padding(op, axes, transposed, g, &o);
}

static const eg_conv_options defaults = {.size = sizeof defaults};

/* Options of a convolution from spatial sizes `in`, its kernel having the sizes k. */
static eg_status convolution(const char *op, int axes, const eg_conv_options *g, const int64_t *in,
                             const int64_t *k, eg__conv_opts *o)
{
    if (numbers(op, axes, g, o) || check_output_padding(op, axes, false, g, o)) {
        return EG_EINVAL;
    }
    for (int a = 0; a < axes; a++) {
        if (g->padding == EG_SAME && same(op, a, in[a], k[a], o)) {
            return EG_ESHAPE;
        }
    }
    return EG_OK;
}

/* Zeros behind the result of each axis, which loses `cut` cells before. */
typedef struct tail {
    int64_t zeros[3], cut[3];
} tail;

/* Cells of output_padding beyond the windows, which a convolution from them would count more of: those that its
 * padding cut off are there again, the others are zeros behind o->size. If there is nothing before them, the last
 * cell of the windows stands there for x and the weight, and is cut. */
static void stretch(eg__conv_opts *o, int a, int64_t more, tail *t)
{
    const int64_t again = more < o->stride[a] ? 0 : eg__min(more, o->after[a]);
    o->after[a] -= again;
    if (more - again < o->stride[a]) {
        return;
    }
    t->zeros[a] = more - again;
    o->size[a] -= t->zeros[a];
    if (o->size[a] < 1) {
        t->cut[a] = 1;
        t->zeros[a] += o->size[a];
        o->before[a] -= 1 - o->size[a];
        o->size[a] = 1;
    }
}

/* Options of the convolution whose transpose takes spatial sizes `in` to o->size, and a tail. */
static eg_status transpose(const char *op, int axes, const eg_conv_options *g, const int64_t *in,
                           const int64_t *k, eg__conv_opts *o, tail *t)
{
    if (numbers(op, axes, g, o) || check_output_padding(op, axes, true, g, o)) {
        return EG_EINVAL;
    }
    for (int a = 0; a < axes; a++) {
        int64_t more = g->output_padding[a], out, s = span(k[a], o->dilation[a]);
        if (s < 0 || __builtin_mul_overflow(in[a], o->stride[a], &out) ||
            out > INT64_MAX - s - more) {
            return eg__fail(EG_ESHAPE, op, "spatial axis %d has more cells than fit 64 bits", a);
        }
        if (g->padding == EG_SAME) {
            if (same(op, a, out, k[a], o)) {
                return EG_ESHAPE;
            }
        } else if (in[a] > 0) {
            out += s - o->stride[a] - o->before[a] - o->after[a] + more;
        }
        if (out < 0 || (out == 0 && in[a] > 0)) {
            return eg__fail(EG_ESHAPE, op,
                            "axis %d would have %lld cells: padding %lld and %lld leaves nothing",
                            a, LL(out), LL(o->before[a]), LL(o->after[a]));
        }
        o->size[a] = out;
        if (in[a] > 0) {
            stretch(o, a, more, t);
        }
    }
    return EG_OK;
}

/* ---- inference ----------------------------------------------------------------------------- */

static eg_status ranks(const char *op, const eg_tensor *a, const eg_tensor *b)
{
    return a->ndim >= 3 && a->ndim <= 5 && b->ndim == a->ndim
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "needs two operands of 3, 4 or 5 axes: %s and %s",
                          EG__SHAPE_OF(a), EG__SHAPE_OF(b));
}

/* Channels of x for a weight [o, each, ...]; -1 with words if the groups do not fit. */
static int64_t channels(const char *op, const int64_t *w, int ndim, int64_t groups)
{
    int64_t c;
    if (w[0] % groups || __builtin_mul_overflow(w[1], groups, &c)) {
        eg__fail(EG_ESHAPE, op, "%lld groups do not divide the channels of weight %s", LL(groups),
                 eg__shape_text(ndim, w).s);
        return -1;
    }
    return c;
}

static eg_status bias_of(const eg__call *c, int64_t channels_out)
{
    const eg_tensor *b = c->nin > 2 ? c->in[2] : NULL;
    return !b || (b->ndim == 1 && b->shape[0] == channels_out)
               ? EG_OK
               : eg__fail(EG_ESHAPE, c->op->name, "bias is %s, must be [%lld]", EG__SHAPE_OF(b),
                          LL(channels_out));
}

static eg_status channels_last(const eg__call *c, eg__desc *d)
{
    d->ndim = c->in[0]->ndim;
    d->dtype = c->in[0]->dtype;
    d->dense = false;
    if (eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n)) {
        return EG_ESHAPE;
    }
    eg__channels_last(d->ndim, d->shape, d->strides);
    return EG_OK;
}

eg_status eg__infer_conv(eg__call *c)
{
    const eg_tensor *x = c->in[0], *w = c->in[1];
    const eg__conv_opts *o = c->opts;
    const char *op = c->op->name;
    eg__desc *d = &c->desc[0];
    if (ranks(op, x, w) || bias_of(c, w->shape[0])) {
        return EG_ESHAPE;
    }
    int64_t fits = channels(op, w->shape, w->ndim, o->groups);
    if (fits < 0) {
        return EG_ESHAPE;
    }
    if (x->shape[1] != fits) {
        return eg__fail(EG_ESHAPE, op,
                        "x %s has %lld channels; weight %s in %lld groups takes %lld",
                        EG__SHAPE_OF(x), LL(x->shape[1]), EG__SHAPE_OF(w), LL(o->groups), LL(fits));
    }
    d->shape[0] = x->shape[0];
    d->shape[1] = w->shape[0];
    for (int a = 2; a < x->ndim; a++) {
        d->shape[a] = windows(op, a - 2, x->shape[a], w->shape[a], o);
        if (d->shape[a] < 0) {
            return EG_ESHAPE;
        }
    }
    return channels_last(c, d);
}

/* Whether windows over `in` with kernel k number as dy's axes say. */
static eg_status counts(const char *op, const eg_tensor *dy, const int64_t *in, const int64_t *k,
                        const eg__conv_opts *o)
{
    for (int a = 0; a < dy->ndim - 2; a++) {
        int64_t n = windows(op, a, in[a], k[a], o);
        if (n < 0) {
            return EG_ESHAPE;
        }
        if (n != dy->shape[a + 2]) {
            return eg__fail(EG_ESHAPE, op,
                            "%lld cells of spatial axis %d give %lld windows, but the "
                            "gradient is %s",
                            LL(in[a]), a, LL(n), EG__SHAPE_OF(dy));
        }
    }
    return EG_OK;
}

eg_status eg__infer_conv_data(eg__call *c)
{
    const eg_tensor *dy = c->in[0], *w = c->in[1];
    const eg__conv_opts *o = c->opts;
    const char *op = c->op->name;
    eg__desc *d = &c->desc[0];
    if (ranks(op, dy, w) || counts(op, dy, o->size, w->shape + 2, o)) {
        return EG_ESHAPE;
    }
    if (dy->shape[1] != w->shape[0]) {
        return eg__fail(EG_ESHAPE, op, "%s has %lld channels; weight %s takes %lld",
                        EG__SHAPE_OF(dy), LL(dy->shape[1]), EG__SHAPE_OF(w), LL(w->shape[0]));
    }
    d->shape[0] = dy->shape[0];
    d->shape[1] = channels(op, w->shape, w->ndim, o->groups);
    memcpy(d->shape + 2, o->size, sizeof o->size);
    return d->shape[1] < 0 || bias_of(c, d->shape[1]) ? EG_ESHAPE : channels_last(c, d);
}

eg_status eg__infer_conv_weight(eg__call *c)
{
    const eg_tensor *x = c->in[0], *dy = c->in[1];
    const eg__conv_opts *o = c->opts;
    const char *op = c->op->name;
    eg__desc *d = &c->desc[0];
    if (ranks(op, x, dy) || counts(op, dy, x->shape + 2, o->size, o)) {
        return EG_ESHAPE;
    }
    if (x->shape[0] != dy->shape[0] || x->shape[1] % o->groups || dy->shape[1] % o->groups) {
        return eg__fail(EG_ESHAPE, op,
                        "batches or channels of x %s and dy %s do not fit, in %lld groups",
                        EG__SHAPE_OF(x), EG__SHAPE_OF(dy), LL(o->groups));
    }
    d->dtype = x->dtype;
    d->ndim = x->ndim;
    d->dense = true;
    d->shape[0] = dy->shape[1];
    d->shape[1] = x->shape[1] / o->groups;
    memcpy(d->shape + 2, o->size, sizeof o->size);
    return eg__check_shape(op, d->ndim, d->shape, d->dtype, &d->n);
}

/* ---- public -------------------------------------------------------------------------------- */

/* Both operands there and with the axes that the function's name says? x may lack that of the batch. */
static eg_status operands(const char *op, const eg_tensor *x, const eg_tensor *w,
                          const char *second, const eg_tensor *bias, int axes)
{
    if (eg__check(x, op, "x") || eg__check(w, op, second) ||
        (bias && eg__check(bias, op, "bias"))) {
        return eg__why();
    }
    return (x->ndim == axes + 2 || x->ndim == axes + 1) && w->ndim == axes + 2
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "x %s and %s %s must have %d axes, x without a batch %d",
                          EG__SHAPE_OF(x), second, EG__SHAPE_OF(w), axes + 2, axes + 1);
}

typedef eg_tensor *function(eg_tensor *x);

static function *activation_of(const eg_conv_options *g)
{
    return g && eg__options_whole(g, sizeof *g) ? g->activation : NULL;
}

static eg_tensor *activated(const eg__op *op, eg_tensor *x, eg_tensor *w, eg_tensor *bias,
                            const eg__conv_opts *o, function *activation)
{
    if (!activation) {
        return eg__op3(op, x, w, bias, o);
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg__activated(op->name, eg__op3(op, x, w, bias, o), activation));
}

typedef eg_tensor *way(const char *op, int axes, eg_tensor *x, eg_tensor *w, eg_tensor *bias,
                       const eg_conv_options *given);

/* Of x [C, spatial...], as a batch of one. */
static eg_tensor *alone(way *f, const char *op, int axes, eg_tensor *x, eg_tensor *w, eg_tensor *bias,
                        const eg_conv_options *given)
{
    eg_conv_options o;
    eg__options(&o, sizeof o, given);
    function *last = eg__fusible_of(o.activation) ? NULL : o.activation; /* one that might ask for the rank */
    o.size = sizeof o;
    o.activation = last ? NULL : o.activation;
    eg_scope s = eg_scope_push();
    eg_tensor *batch = eg_unsqueeze(x, 0), *y = batch ? f(op, axes, batch, w, bias, &o) : NULL;
    y = y ? eg_squeeze(y, EG_AXES(0)) : NULL;
    return eg_scope_pop(s, eg__activated(op, y, last));
}

static eg_tensor *forward(const char *op, int axes, eg_tensor *x, eg_tensor *w, eg_tensor *bias,
                          const eg_conv_options *given)
{
    eg__conv_opts o = {0};
    const eg__fusible *f = eg__fusible_of(activation_of(given));
    if (operands(op, x, w, "weight", bias, axes)) {
        return NULL;
    }
    if (unlikely(x->ndim == axes + 1)) {
        return alone(forward, op, axes, x, w, bias, given);
    }
    if (convolution(op, axes, given ? given : &defaults, x->shape + 2, w->shape + 2, &o)) {
        return NULL;
    }
    if (f && f->of_y) {
        o.act = f->act;
        return eg__op3(&eg__op_conv_act, x, w, bias, &o);
    }
    return activated(&eg__op_conv, x, w, bias, &o, activation_of(given));
}

/* The transposed convolution with a tail of zeros, on which the bias falls too. */
static eg_tensor *with_tail(eg_tensor *x, eg_tensor *w, eg_tensor *bias, const eg__conv_opts *o,
                            const tail *t, function *activation)
{
    eg_pad_options p = {.size = sizeof p};
    for (int a = 0; a < 3; a++) {
        p.before[a + 2] = -t->cut[a];
        p.after[a + 2] = t->zeros[a];
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg__op2(&eg__op_conv_data, x, w, o);
    y = y ? eg_pad_with(y, &p) : NULL;
    if (y && bias && (bias->ndim != 1 || bias->n != y->shape[1])) {
        eg__fail(EG_ESHAPE, "conv_data", "bias is %s, must be [%lld]", EG__SHAPE_OF(bias), LL(y->shape[1]));
        return eg_scope_pop(s, NULL);
    }
    if (y && bias) {
        eg_tensor *each = eg_reshape(bias, (eg_shape){y->ndim - 1, {bias->n, 1, 1, 1}});
        y = each ? eg_add(y, each) : NULL;
    }
    return eg_scope_pop(s, eg__activated("conv_data", y, activation));
}

static eg_tensor *transposed(const char *op, int axes, eg_tensor *x, eg_tensor *w, eg_tensor *bias,
                             const eg_conv_options *given)
{
    eg__conv_opts o = {0};
    tail t = {{0}, {0}};
    if (operands(op, x, w, "weight", bias, axes)) {
        return NULL;
    }
    if (unlikely(x->ndim == axes + 1)) {
        return alone(transposed, op, axes, x, w, bias, given);
    }
    if (transpose(op, axes, given ? given : &defaults, x->shape + 2, w->shape + 2, &o, &t)) {
        return NULL;
    }
    if (unlikely(t.zeros[0] || t.zeros[1] || t.zeros[2])) {
        return with_tail(x, w, bias, &o, &t, activation_of(given));
    }
    return activated(&eg__op_conv_data, x, w, bias, &o, activation_of(given));
}

#define BOTH(n)                                                                                    \
    eg_tensor *eg_conv##n##d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,                \
                                  const eg_conv_options *options)                                  \
    {                                                                                              \
        return forward("conv" #n "d", n, x, weight, bias, options);                                \
    }                                                                                              \
    eg_tensor *eg_conv_transpose##n##d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,      \
                                            const eg_conv_options *options)                        \
    {                                                                                              \
        return transposed("conv_transpose" #n "d", n, x, weight, bias, options);                   \
    }
BOTH(1)
BOTH(2)
BOTH(3)

/* The shape a gradient is to have: right rank, no negative sizes, these first two. */
static eg_status wanted(const char *op, const char *name, const eg_shape *s, int ndim,
                        int64_t first, int64_t second)
{
    int known = s->ndim < 0 || s->ndim > EG_MAX_DIMS ? 0 : s->ndim;
    int64_t n;
    if (s->ndim != ndim || s->dim[0] != first || s->dim[1] != second) {
        return eg__fail(EG_ESHAPE, op, "%s is %s, must have %d axes, the first two %lld and %lld",
                        name, eg__shape_text(known, s->dim).s, ndim, LL(first), LL(second));
    }
    return eg__check_shape(op, ndim, s->dim, EG_F64, &n);
}

eg_tensor *eg_conv_data_with(eg_tensor *dy, eg_tensor *weight, eg_shape x_shape,
                             const eg_conv_options *options)
{
    const char *op = "conv_data";
    eg__conv_opts o = {0};
    if (eg__check(dy, op, "dy") || eg__check(weight, op, "weight") || ranks(op, dy, weight) ||
        convolution(op, dy->ndim - 2, options ? options : &defaults, x_shape.dim + 2,
                    weight->shape + 2, &o)) {
        return NULL;
    }
    int64_t c = channels(op, weight->shape, weight->ndim, o.groups);
    if (c < 0 || wanted(op, "x_shape", &x_shape, dy->ndim, dy->shape[0], c)) {
        return NULL;
    }
    memcpy(o.size, x_shape.dim + 2, (size_t)(dy->ndim - 2) * sizeof *o.size);
    return eg__op2(&eg__op_conv_data, dy, weight, &o);
}

eg_tensor *eg_conv_weight_with(eg_tensor *x, eg_tensor *dy, eg_shape w_shape,
                               const eg_conv_options *options)
{
    const char *op = "conv_weight";
    eg__conv_opts o = {0};
    if (eg__check(x, op, "x") || eg__check(dy, op, "dy") || ranks(op, x, dy) ||
        convolution(op, x->ndim - 2, options ? options : &defaults, x->shape + 2, w_shape.dim + 2,
                    &o) ||
        wanted(op, "w_shape", &w_shape, x->ndim, dy->shape[1], x->shape[1] / o.groups)) {
        return NULL;
    }
    memcpy(o.size, w_shape.dim + 2, (size_t)(x->ndim - 2) * sizeof *o.size);
    return eg__op2(&eg__op_conv_weight, x, dy, &o);
}
