/* conv.c - convolutions, their transposes and their gradients: options, inference, public
 * functions. */
#include "lib/ops/conv.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

#define LL(v) ((long long)(v))

/* ---- one axis ------------------------------------------------------------------------------ */

/* Axis a of as many, as the geometry numbers them. */
static int place(int axes, int a)
{
    return a + 3 - axes;
}

/* k' = (k - 1) * dilation + 1, the cells a window spans; -1 if that does not fit. */
static int64_t span(int64_t k, int64_t dilation)
{
    int64_t s;
    return __builtin_mul_overflow(k - 1, dilation, &s) || s == INT64_MAX ? -1 : s + 1;
}

/* Sets how many windows of axis a fit; words if the kernel is empty or too large. */
static eg_status windows(const char *op, int axes, int a, eg__conv_geometry *g)
{
    const int d = place(axes, a);
    const int64_t s = span(g->k[d], g->dilation[d]);
    int64_t padded;
    g->out[d] = 0;
    if (g->k[d] < 1) {
        return eg__fail(EG_ESHAPE, op, "axis %d of the kernel is empty", a);
    }
    if (g->in[d] == 0) {
        return EG_OK;
    }
    if (__builtin_add_overflow(g->in[d], g->before[d] + g->after[d], &padded) || s < 0 || s > padded) {
        return eg__fail(EG_ESHAPE, op,
                        "a kernel of %lld with dilation %lld is larger than spatial axis %d, "
                        "%lld + %lld + %lld cells",
                        LL(g->k[d]), LL(g->dilation[d]), a, LL(g->before[d]), LL(g->in[d]), LL(g->after[d]));
    }
    g->out[d] = (padded - s) / g->stride[d] + 1;
    return EG_OK;
}

/* SAME padding of axis d for `in` cells of the convolution's input (padding.h). */
static eg_status same(const char *op, int d, int64_t in, eg__conv_geometry *g)
{
    int64_t out = in / g->stride[d] + (in % g->stride[d] != 0), s = span(g->k[d], g->dilation[d]);
    int64_t total = s < 0 || in == 0 ? 0 : eg__max((out - 1) * g->stride[d] - in + s, 0);
    if (g->k[d] > 0 && (s < 0 || total > 2 * (int64_t)INT32_MAX)) {
        return eg__fail(EG_ESHAPE, op, "a kernel of %lld with dilation %lld is too large for SAME padding", LL(g->k[d]),
                        LL(g->dilation[d]));
    }
    g->before[d] = total / 2;
    g->after[d] = total - total / 2;
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

static eg_status no_such_axes(const char *op, int axes, const eg_conv_options *o)
{
    for (int a = axes; a < 3; a++) {
        if (o->strides[a] || o->dilations[a] || o->pads[a][0] || o->pads[a][1] || o->output_padding[a]) {
            return eg__fail(EG_EINVAL, op, "an option is given for spatial axis %d of %d", a, axes);
        }
    }
    return EG_OK;
}

/* A geometry with everything but sizes, and SAME padding, which wants to know them. */
static eg_status numbers(const char *op, int axes, const eg_conv_options *o, eg__conv_geometry *g)
{
    int64_t stride = 1, dilation = 1, both = 0;
    bool each = false;
    *g = (eg__conv_geometry){
        .in = {1, 1, 1}, .k = {1, 1, 1}, .out = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    if (number(op, "stride", o->stride, 1, &stride) || number(op, "dilation", o->dilation, 1, &dilation) ||
        number(op, "groups", o->groups, 1, &g->groups) || no_such_axes(op, axes, o)) {
        return EG_EINVAL;
    }
    if (o->padding != EG_SAME && number(op, "padding", o->padding, 0, &both)) {
        return EG_EINVAL;
    }
    for (int a = 0; a < axes; a++) {
        const int d = place(axes, a);
        if (number(op, "an entry of strides", o->strides[a], stride, &g->stride[d]) ||
            number(op, "an entry of dilations", o->dilations[a], dilation, &g->dilation[d]) ||
            number(op, "an entry of pads", o->pads[a][0], 0, &g->before[d]) ||
            number(op, "an entry of pads", o->pads[a][1], 0, &g->after[d])) {
            return EG_EINVAL;
        }
        each |= g->before[d] || g->after[d];
    }
    if (each && o->padding) {
        return eg__fail(EG_EINVAL, op, "both padding and pads are given");
    }
    for (int a = 0; a < axes && o->padding > 0; a++) {
        g->before[place(axes, a)] = g->after[place(axes, a)] = both;
    }
    return EG_OK;
}

/* Whether the axes can have their output_padding. */
static eg_status check_output_padding(const char *op, int axes, bool transposed, const eg_conv_options *o,
                                      const eg__conv_geometry *g)
{
    for (int a = 0; a < axes; a++) {
        const int64_t more = o->output_padding[a];
        const int64_t stride = g->stride[place(axes, a)], dilation = g->dilation[place(axes, a)];
        if (more && !transposed) {
            return eg__fail(EG_EINVAL, op, "output_padding %lld of axis %d: is for transposed convolutions", LL(more),
                            a);
        }
        if (more < 0 || more >= eg__max(stride, dilation) || (more && o->padding == EG_SAME)) {
            return eg__fail(EG_EINVAL, op,
                            "output_padding %lld of axis %d: must be 0 or more, below the stride, %lld, or the "
                            "dilation, %lld, and 0 with SAME padding",
                            LL(more), a, LL(stride), LL(dilation));
        }
    }
    return EG_OK;
}

eg_status eg__check_conv_options(const char *op, int axes, bool transposed, const eg_conv_options *o)
{
    eg__conv_geometry g;
    eg_status st = numbers(op, axes, o, &g);
    return st ? st : check_output_padding(op, axes, transposed, o, &g);
}

static const eg_conv_options defaults = {.size = sizeof defaults};

/* The geometry of a convolution of x [n, c, in...] with w [o, each, k...]. */
static eg_status convolution(const char *op, int axes, const eg_conv_options *given, const int64_t *x, const int64_t *w,
                             eg__conv_geometry *g)
{
    const eg_conv_options *o = given ? given : &defaults;
    if (numbers(op, axes, o, g) || check_output_padding(op, axes, false, o, g)) {
        return EG_EINVAL;
    }
    g->n = x[0];
    g->c = x[1];
    g->o = w[0];
    for (int a = 0; a < axes; a++) {
        const int d = place(axes, a);
        g->in[d] = x[2 + a];
        g->k[d] = w[2 + a];
        if ((o->padding == EG_SAME && same(op, d, g->in[d], g)) || windows(op, axes, a, g)) {
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
 * padding cut off are there again, the others are zeros behind the rest. If there is nothing before them, the last
 * cell of the windows stands there for x and the weight, and is cut. */
static void stretch(eg__conv_geometry *g, int d, int64_t more, tail *t, int a)
{
    const int64_t again = more < g->stride[d] ? 0 : eg__min(more, g->after[d]);
    g->after[d] -= again;
    if (more - again < g->stride[d]) {
        return;
    }
    t->zeros[a] = more - again;
    g->in[d] -= t->zeros[a];
    if (g->in[d] < 1) {
        t->cut[a] = 1;
        t->zeros[a] += g->in[d];
        g->before[d] -= 1 - g->in[d];
        g->in[d] = 1;
    }
}

/* Axis a of a convolution's transpose, which takes `in` cells to those of the geometry's input. */
static eg_status transpose_axis(const char *op, int axes, int a, const eg_conv_options *o, int64_t in,
                                eg__conv_geometry *g, tail *t)
{
    const int d = place(axes, a);
    int64_t more = o->output_padding[a], out, s = span(g->k[d], g->dilation[d]);
    if (s < 0 || __builtin_mul_overflow(in, g->stride[d], &out) || out > INT64_MAX - s - more) {
        return eg__fail(EG_ESHAPE, op, "spatial axis %d has more cells than fit 64 bits", a);
    }
    if (o->padding == EG_SAME) {
        if (same(op, d, out, g)) {
            return EG_ESHAPE;
        }
    } else if (in > 0) {
        out += s - g->stride[d] - g->before[d] - g->after[d] + more;
    }
    if (out < 0 || (out == 0 && in > 0)) {
        return eg__fail(EG_ESHAPE, op, "axis %d would have %lld cells: padding %lld and %lld leaves nothing", a,
                        LL(out), LL(g->before[d]), LL(g->after[d]));
    }
    g->in[d] = out;
    if (in > 0) {
        stretch(g, d, more, t, a);
    }
    return windows(op, axes, a, g);
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

/* The geometry of the convolution with w whose transpose takes x, and a tail. */
static eg_status transpose(const char *op, int axes, const eg_conv_options *given, const int64_t *x, const int64_t *w,
                           eg__conv_geometry *g, tail *t)
{
    const eg_conv_options *o = given ? given : &defaults;
    if (numbers(op, axes, o, g) || check_output_padding(op, axes, true, o, g)) {
        return EG_EINVAL;
    }
    g->n = x[0];
    g->o = x[1];
    g->c = channels(op, w, axes + 2, g->groups);
    for (int a = 0; a < axes && g->c >= 0; a++) {
        g->k[place(axes, a)] = w[2 + a];
        if (transpose_axis(op, axes, a, o, x[2 + a], g, t)) {
            return EG_ESHAPE;
        }
    }
    return g->c < 0 ? EG_ESHAPE : EG_OK;
}

/* ---- inference ----------------------------------------------------------------------------- */

static eg_status ranks(const char *op, const eg_tensor *a, const eg_tensor *b)
{
    return a->ndim >= 3 && a->ndim <= 5 && b->ndim == a->ndim
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "needs two operands of 3, 4 or 5 axes: %s and %s", EG__SHAPE_OF(a),
                          EG__SHAPE_OF(b));
}

static eg_status bias_of(const eg__call *c, int64_t channels_out)
{
    const eg_tensor *b = c->nin > 2 ? c->in[2] : NULL;
    return !b || (b->ndim == 1 && b->shape[0] == channels_out)
               ? EG_OK
               : eg__fail(EG_ESHAPE, c->op->name, "bias is %s, must be [%lld]", EG__SHAPE_OF(b), LL(channels_out));
}

/* Sizes of the axes that there are. */
static void sizes(eg__desc *d, int ndim, int64_t first, int64_t second, const int64_t size[3])
{
    d->ndim = (uint8_t)ndim;
    d->shape[0] = first;
    d->shape[1] = second;
    memcpy(d->shape + 2, size + 5 - ndim, (size_t)(ndim - 2) * sizeof *size);
}

static eg_status channels_last(const eg__call *c, eg__desc *d)
{
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
    const eg__conv_geometry *g = &((const eg__conv_opts *)c->opts)->g;
    const char *op = c->op->name;
    if (ranks(op, x, w) || bias_of(c, w->shape[0])) {
        return EG_ESHAPE;
    }
    int64_t fits = channels(op, w->shape, w->ndim, g->groups);
    if (fits < 0) {
        return EG_ESHAPE;
    }
    if (x->shape[1] != fits) {
        return eg__fail(EG_ESHAPE, op, "x %s has %lld channels; weight %s in %lld groups takes %lld", EG__SHAPE_OF(x),
                        LL(x->shape[1]), EG__SHAPE_OF(w), LL(g->groups), LL(fits));
    }
    sizes(&c->desc[0], x->ndim, g->n, g->o, g->out);
    return channels_last(c, &c->desc[0]);
}

/* Whether dy has the windows that there are. */
static eg_status counts(const char *op, const eg_tensor *dy, const eg__conv_geometry *g)
{
    const int axes = dy->ndim - 2;
    for (int a = 0; a < axes; a++) {
        const int d = place(axes, a);
        if (g->out[d] != dy->shape[a + 2]) {
            return eg__fail(EG_ESHAPE, op,
                            "%lld cells of spatial axis %d give %lld windows, but the "
                            "gradient is %s",
                            LL(g->in[d]), a, LL(g->out[d]), EG__SHAPE_OF(dy));
        }
    }
    return EG_OK;
}

eg_status eg__infer_conv_data(eg__call *c)
{
    const eg_tensor *dy = c->in[0], *w = c->in[1];
    const eg__conv_geometry *g = &((const eg__conv_opts *)c->opts)->g;
    const char *op = c->op->name;
    if (ranks(op, dy, w) || counts(op, dy, g)) {
        return EG_ESHAPE;
    }
    if (dy->shape[1] != w->shape[0]) {
        return eg__fail(EG_ESHAPE, op, "%s has %lld channels; weight %s takes %lld", EG__SHAPE_OF(dy), LL(dy->shape[1]),
                        EG__SHAPE_OF(w), LL(w->shape[0]));
    }
    sizes(&c->desc[0], dy->ndim, g->n, g->c, g->in);
    return bias_of(c, g->c) ? EG_ESHAPE : channels_last(c, &c->desc[0]);
}

eg_status eg__infer_conv_weight(eg__call *c)
{
    const eg_tensor *x = c->in[0], *dy = c->in[1];
    const eg__conv_geometry *g = &((const eg__conv_opts *)c->opts)->g;
    const char *op = c->op->name;
    eg__desc *d = &c->desc[0];
    if (ranks(op, x, dy) || counts(op, dy, g)) {
        return EG_ESHAPE;
    }
    if (x->shape[0] != dy->shape[0] || x->shape[1] % g->groups || dy->shape[1] % g->groups) {
        return eg__fail(EG_ESHAPE, op, "batches or channels of x %s and dy %s do not fit, in %lld groups",
                        EG__SHAPE_OF(x), EG__SHAPE_OF(dy), LL(g->groups));
    }
    d->dtype = x->dtype;
    d->dense = true;
    sizes(d, x->ndim, g->o, g->c / g->groups, g->k);
    return eg__check_shape(op, d->ndim, d->shape, d->dtype, &d->n);
}

/* ---- public -------------------------------------------------------------------------------- */

/* Both operands there and with the axes that the function's name says? x may lack that of the batch. */
static eg_status operands(const char *op, const eg_tensor *x, const eg_tensor *w, const char *second,
                          const eg_tensor *bias, int axes)
{
    if (eg__check(x, op, "x") || eg__check(w, op, second) || (bias && eg__check(bias, op, "bias"))) {
        return eg__why();
    }
    return (x->ndim == axes + 2 || x->ndim == axes + 1) && w->ndim == axes + 2
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "x %s and %s %s must have %d axes, x without a batch %d", EG__SHAPE_OF(x),
                          second, EG__SHAPE_OF(w), axes + 2, axes + 1);
}

typedef eg_tensor *function(eg_tensor *x);

static function *activation_of(const eg_conv_options *g)
{
    return g && eg__options_whole(g, sizeof *g) ? g->activation : NULL;
}

static eg_tensor *activated(const eg__op *op, eg_tensor *x, eg_tensor *w, eg_tensor *bias, const eg__conv_opts *o,
                            function *activation)
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
    if (convolution(op, axes, given, x->shape, w->shape, &o.g)) {
        return NULL;
    }
    if (f && f->of_y) {
        o.act = f->act;
        return eg__op3(&eg__op_conv_act, x, w, bias, &o);
    }
    return activated(&eg__op_conv, x, w, bias, &o, activation_of(given));
}

/* The transposed convolution with a tail of zeros, on which the bias falls too. */
static eg_tensor *with_tail(eg_tensor *x, eg_tensor *w, eg_tensor *bias, const eg__conv_opts *o, const tail *t,
                            function *activation)
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
    if (transpose(op, axes, given, x->shape, w->shape, &o.g, &t)) {
        return NULL;
    }
    if (unlikely(t.zeros[0] || t.zeros[1] || t.zeros[2])) {
        return with_tail(x, w, bias, &o, &t, activation_of(given));
    }
    return activated(&eg__op_conv_data, x, w, bias, &o, activation_of(given));
}

#define BOTH(n)                                                                                                     \
    eg_tensor *eg_conv##n##d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias, const eg_conv_options *options) \
    {                                                                                                               \
        return forward("conv" #n "d", n, x, weight, bias, options);                                                 \
    }                                                                                                               \
    eg_tensor *eg_conv_transpose##n##d_with(eg_tensor *x, eg_tensor *weight, eg_tensor *bias,                       \
                                            const eg_conv_options *options)                                         \
    {                                                                                                               \
        return transposed("conv_transpose" #n "d", n, x, weight, bias, options);                                    \
    }
BOTH(1)
BOTH(2)
BOTH(3)

/* The shape a gradient is to have: right rank, no negative sizes, these first two. */
static eg_status wanted(const char *op, const char *name, const eg_shape *s, int ndim, int64_t first, int64_t second)
{
    int known = s->ndim < 0 || s->ndim > EG_MAX_DIMS ? 0 : s->ndim;
    int64_t n;
    if (s->ndim != ndim || s->dim[0] != first || s->dim[1] != second) {
        return eg__fail(EG_ESHAPE, op, "%s is %s, must have %d axes, the first two %lld and %lld", name,
                        eg__shape_text(known, s->dim).s, ndim, LL(first), LL(second));
    }
    return eg__check_shape(op, ndim, s->dim, EG_F64, &n);
}

eg_tensor *eg_conv_data_with(eg_tensor *dy, eg_tensor *weight, eg_shape x_shape, const eg_conv_options *options)
{
    const char *op = "conv_data";
    eg__conv_opts o = {0};
    if (eg__check(dy, op, "dy") || eg__check(weight, op, "weight") || ranks(op, dy, weight) ||
        eg__check_conv_options(op, dy->ndim - 2, false, options ? options : &defaults)) {
        return NULL;
    }
    int64_t c = channels(op, weight->shape, weight->ndim, options && options->groups ? options->groups : 1);
    if (c < 0 || wanted(op, "x_shape", &x_shape, dy->ndim, dy->shape[0], c) ||
        convolution(op, dy->ndim - 2, options, x_shape.dim, weight->shape, &o.g)) {
        return NULL;
    }
    return eg__op2(&eg__op_conv_data, dy, weight, &o);
}

eg_tensor *eg_conv_weight_with(eg_tensor *x, eg_tensor *dy, eg_shape w_shape, const eg_conv_options *options)
{
    const char *op = "conv_weight";
    eg__conv_opts o = {0};
    if (eg__check(x, op, "x") || eg__check(dy, op, "dy") || ranks(op, x, dy) ||
        eg__check_conv_options(op, x->ndim - 2, false, options ? options : &defaults)) {
        return NULL;
    }
    const int64_t groups = options && options->groups ? options->groups : 1;
    if (wanted(op, "w_shape", &w_shape, x->ndim, dy->shape[1], x->shape[1] / groups) ||
        convolution(op, x->ndim - 2, options, x->shape, w_shape.dim, &o.g)) {
        return NULL;
    }
    return eg__op2(&eg__op_conv_weight, x, dy, &o);
}
