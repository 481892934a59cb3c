/* recurrent_conv.c - LSTM and GRU whose products are convolutions, over sequences of maps. */
#include <math.h>
#include <stdlib.h>

#include <egret/nn/recurrent.h>

#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef struct conv_rnn {
    eg_module base;
    eg_conv_rnn_layer_options o;
    int64_t hidden;
    eg_tensor *w_ih, *w_hh, *b_ih, *b_hh;
} conv_rnn;

static const eg_module_kind conv_lstm_kind, conv_gru_kind;

static bool is_lstm(const conv_rnn *r)
{
    return r->base.kind == &conv_lstm_kind;
}

/* ---- one step -------------------------------------------------------------------------------- */

static eg_tensor *convolved(const conv_rnn *r, eg_tensor *x, eg_tensor *weight, eg_tensor *bias)
{
    return (r->o.axes == 1 ? eg_conv1d_with
            : r->o.axes == 2
                ? eg_conv2d_with
                : eg_conv3d_with)(x, weight, bias, &(eg_conv_options){sizeof(eg_conv_options), .padding = EG_SAME});
}

/* Channels of gate k, and of those up to `end`. */
static eg_tensor *gates(const conv_rnn *r, eg_tensor *all, int k, int end)
{
    return eg_slice(all, 1, k * r->hidden, end * r->hidden, 1);
}

/* Between the convolutions of a step halves are computed with in f32, */
static eg_tensor *wide(eg_tensor *t)
{
    return t && eg__is_half(t->dtype) ? eg_cast(t, EG_F32) : t;
}

/* and states are rounded to what x and h have in common. */
static eg_tensor *rounded(eg_tensor *t, eg_dtype common)
{
    return t && eg__is_half((int)common) ? eg_cast(t, common) : t;
}

static eg_rnn step_lstm(const conv_rnn *r, eg_tensor *of_x, eg_rnn s)
{
    const eg_dtype dtype = eg_promote(eg_dtype_of(of_x), eg_dtype_of(s.h));
    eg_tensor *all = eg_add(wide(of_x), wide(convolved(r, s.h, r->w_hh, r->b_hh)));
    eg_tensor *i = eg_sigmoid(gates(r, all, 0, 1)), *f = eg_sigmoid(gates(r, all, 1, 2));
    eg_tensor *g = eg_tanh(gates(r, all, 2, 3)), *o = eg_sigmoid(gates(r, all, 3, 4));
    s.c = eg_add(eg_mul(f, s.c), eg_mul(i, g));
    s.h = rounded(eg_mul(o, eg_tanh(s.c)), dtype);
    s.c = rounded(s.c, dtype);
    return s;
}

static eg_rnn step_gru(const conv_rnn *r, eg_tensor *of_x, eg_rnn s)
{
    const eg_dtype dtype = eg_promote(eg_dtype_of(of_x), eg_dtype_of(s.h));
    eg_tensor *both, *n;
    of_x = wide(of_x);
    if (r->o.reset_before) {
        eg_tensor *weight = eg_slice(r->w_hh, 0, 0, 2 * r->hidden, 1);
        both = eg_sigmoid(eg_add(gates(r, of_x, 0, 2), wide(convolved(r, s.h, weight, NULL))));
        weight = eg_slice(r->w_hh, 0, 2 * r->hidden, 3 * r->hidden, 1);
        n = wide(convolved(r, rounded(eg_mul(gates(r, both, 0, 1), s.h), dtype), weight, NULL));
    } else {
        eg_tensor *of_h = wide(convolved(r, s.h, r->w_hh, r->b_hh));
        both = eg_sigmoid(eg_add(gates(r, of_x, 0, 2), gates(r, of_h, 0, 2)));
        n = eg_mul(gates(r, both, 0, 1), gates(r, of_h, 2, 3));
    }
    n = eg_tanh(eg_add(gates(r, of_x, 2, 3), n));
    s.h = rounded(eg_add(n, eg_mul(gates(r, both, 1, 2), eg_sub(s.h, n))), dtype);
    return s;
}

/* ---- all steps ------------------------------------------------------------------------------- */

/* Whether each row still has a step t, bool [N, 1, 1...]; NULL: all have. */
static eg_tensor *rows_of(eg_tensor *lengths, int64_t t, int ndim)
{
    eg_shape shape = {ndim, {0}};
    for (int i = 1; i < ndim; i++) {
        shape.dim[i] = 1;
    }
    shape.dim[0] = lengths ? lengths->n : 0;
    return lengths ? eg_reshape(eg_gt_scalar(lengths, (double)t), shape) : NULL;
}

static eg_rnn step(const conv_rnn *r, eg_tensor *of_x, eg_tensor *rows, eg_rnn before)
{
    eg_scope scope = eg_scope_push();
    eg_rnn s = is_lstm(r) ? step_lstm(r, of_x, before) : step_gru(r, of_x, before);
    s.y = s.h;
    if (rows) {
        s.y = eg_where(rows, s.h, eg_zeros_like(s.h));
        s.h = eg_where(rows, s.h, before.h);
        s.c = s.c ? eg_where(rows, s.c, before.c) : NULL;
    }
    eg_tensor *kept[3] = {s.y, s.h, s.c};
    bool whole = !eg_scope_pop_n(scope, kept, 3) && s.y && s.h;
    return whole ? s : (eg_rnn){NULL, NULL, NULL};
}

/* x [T, N, in, places...]; y stacked along axis 0. */
static eg_rnn run_steps(const conv_rnn *r, eg_tensor *x, const eg_rnn_start *start, eg_rnn s)
{
    int64_t steps = x->shape[0];
    eg_shape flat = {x->ndim - 1, {-1}}, deep = {x->ndim, {steps, x->shape[1]}};
    memcpy(&flat.dim[1], &x->shape[2], (size_t)(x->ndim - 2) * sizeof *flat.dim);
    memcpy(&deep.dim[2], &x->shape[2], (size_t)(x->ndim - 2) * sizeof *deep.dim);
    deep.dim[2] = (is_lstm(r) ? 4 : 3) * r->hidden;
    flat.dim[0] = steps * x->shape[1];
    eg_tensor *of_x = eg_reshape(convolved(r, eg_reshape(x, flat), r->w_ih, r->b_ih), deep);
    eg_tensor *lengths = start->lengths ? eg_to(start->lengths, eg__device(x)) : NULL;
    eg_tensor **ys = of_x ? calloc((size_t)steps + 1, sizeof *ys) : NULL;
    if (of_x && !ys) {
        eg__fail(EG_ENOMEM, r->base.kind->name, "out of memory");
    }
    for (int64_t i = 0; ys && i < steps && s.h; i++) {
        int64_t t = start->reverse ? steps - 1 - i : i;
        s = step(r, eg_select(of_x, 0, t), rows_of(lengths, t, x->ndim - 1), s);
        ys[t] = s.y;
    }
    deep.dim[2] = r->hidden;
    s.y = !ys || !s.h ? NULL : steps ? eg_stack(ys, (int)steps, 0) : eg_reshape(eg_zeros_like(of_x), deep);
    free(ys);
    return s;
}

/* What the states begin with: as given, or zeros on x's device. */
static eg_tensor *begin(const conv_rnn *r, eg_tensor *x, eg_tensor *given)
{
    if (given) {
        return given;
    }
    eg_shape shape = {x->ndim - 1, {x->shape[1], r->hidden}};
    memcpy(&shape.dim[2], &x->shape[3], (size_t)r->o.axes * sizeof *shape.dim);
    eg_device *before = eg_use_device(eg__device(x));
    eg_tensor *zeros = eg_zeros(shape, (eg_dtype)x->dtype);
    eg_use_device(before);
    return zeros;
}

static eg_status check(const conv_rnn *r, eg_tensor *x, const eg_rnn_start *s)
{
    const char *op = r->base.kind->name;
    eg_tensor *given[2] = {s->h0, s->c0};
    if (x->ndim != r->o.axes + 3) {
        return eg__fail(EG_ESHAPE, op, "x is %s, must have %d axes: steps, rows, channels and %d of places",
                        EG__SHAPE_OF(x), r->o.axes + 3, r->o.axes);
    }
    if (s->c0 && !is_lstm(r)) {
        return eg__fail(EG_EINVAL, op, "c0 is for an lstm");
    }
    for (int i = 0; i < 2; i++) {
        if (given[i] && eg__check(given[i], op, i ? "c0" : "h0")) {
            return eg__why();
        }
        if (given[i] && (given[i]->ndim != x->ndim - 1 || given[i]->shape[0] != x->shape[r->o.batch_first ? 0 : 1] ||
                         given[i]->shape[1] != r->hidden ||
                         memcmp(&given[i]->shape[2], &x->shape[3], (size_t)r->o.axes * sizeof *x->shape) != 0)) {
            return eg__fail(EG_ESHAPE, op, "%s is %s: must be [N, hidden, places] of x %s", i ? "c0" : "h0",
                            EG__SHAPE_OF(given[i]), EG__SHAPE_OF(x));
        }
    }
    return EG_OK;
}

static eg_rnn run(const conv_rnn *r, eg_tensor *x, const eg_rnn_start *start)
{
    const eg_rnn failed = {NULL, NULL, NULL};
    eg_rnn_start s;
    eg__options(&s, sizeof s, start);
    if (eg__check(x, r->base.kind->name, "x") || check(r, x, &s)) {
        return failed;
    }
    eg_scope scope = eg_scope_push();
    x = r->o.batch_first ? eg_transpose(x, 0, 1) : x;
    eg_tensor *lengths = s.lengths;
    s.lengths = lengths && x ? eg__lengths(r->base.kind->name, "lengths", lengths, x->shape[1], x->shape[0]) : NULL;
    if (!x || (lengths && !s.lengths)) {
        return eg_scope_pop(scope, NULL), failed;
    }
    eg_rnn out = {NULL, begin(r, x, s.h0), is_lstm(r) ? begin(r, x, s.c0) : NULL};
    out = out.h ? run_steps(r, x, &s, out) : failed;
    out.y = out.y && r->o.batch_first ? eg_transpose(out.y, 0, 1) : out.y;
    eg_tensor *results[3] = {out.y, out.h, out.c};
    bool whole = !eg_scope_pop_n(scope, results, 3) && out.y && out.h && (out.c || !is_lstm(r));
    return whole ? out : failed;
}

static eg_tensor *conv_rnn_y(eg_module *m, eg_tensor *x)
{
    return run((const conv_rnn *)m, x, NULL).y;
}

eg_rnn eg_conv_rnn_forward_with(eg_module *m, eg_tensor *x, const eg_rnn_start *start)
{
    const eg_rnn failed = {NULL, NULL, NULL};
    if (!m) {
        return eg__null_argument("eg_conv_rnn_forward", "m"), failed;
    }
    if (m->kind != &conv_lstm_kind && m->kind != &conv_gru_kind) {
        return eg__fail(EG_EINVAL, "eg_conv_rnn_forward", "a %s is no conv_lstm or conv_gru", m->kind->name), failed;
    }
    eg__observed seen = eg__observe_begin(m);
    eg_rnn out = run((const conv_rnn *)m, x, start);
    eg__observe_end(&seen, out.y);
    return out;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool has_b_hh(const conv_rnn *r)
{
    return !r->o.no_bias && !r->o.reset_before;
}

static void conv_rnn_members(eg_module *m, eg_members *members)
{
    conv_rnn *r = (conv_rnn *)m;
    eg_member_parameter(members, "weight_ih", &r->w_ih);
    eg_member_parameter(members, "weight_hh", &r->w_hh);
    if (!r->o.no_bias) {
        eg_member_parameter(members, "bias_ih", &r->b_ih);
    }
    if (has_b_hh(r)) {
        eg_member_parameter(members, "bias_hh", &r->b_hh);
    }
}

static const eg_module_kind conv_lstm_kind = {
    .size = sizeof(eg_module_kind), .name = "conv_lstm", .forward = conv_rnn_y, .members = conv_rnn_members};
static const eg_module_kind conv_gru_kind = {
    .size = sizeof(eg_module_kind), .name = "conv_gru", .forward = conv_rnn_y, .members = conv_rnn_members};

static eg_status check_options(const char *op, bool lstm, int64_t in, int64_t hidden, eg_conv_rnn_layer_options *o)
{
    o->axes = o->axes ? o->axes : 2;
    if (in < 1 || hidden < 1 || o->axes < 1 || o->axes > 3 || !isfinite(o->forget_bias)) {
        return eg__fail(EG_EINVAL, op, "%lld channels, %lld hidden, %d axes, forget_bias %g: at least 1, 1 to 3 axes",
                        (long long)in, (long long)hidden, o->axes, o->forget_bias);
    }
    for (int i = 0; i < o->axes; i++) {
        o->kernels[i] = o->kernels[i] ? o->kernels[i] : o->kernel ? o->kernel : 3;
        if (o->kernels[i] < 1) {
            return eg__fail(EG_EINVAL, op, "a kernel of %lld cells", (long long)o->kernels[i]);
        }
    }
    if (lstm ? o->reset_before : o->forget_bias != 0) {
        return eg__fail(EG_EINVAL, op, "%s is for a %s", lstm ? "reset_before" : "forget_bias", lstm ? "gru" : "lstm");
    }
    return EG_OK;
}

static void fill(conv_rnn *r, int64_t in)
{
    int64_t rows = (is_lstm(r) ? 4 : 3) * r->hidden, cells = 1;
    eg_shape of_x = {r->o.axes + 2, {rows, in}}, of_h = {r->o.axes + 2, {rows, r->hidden}};
    for (int i = 0; i < r->o.axes; i++) {
        of_x.dim[i + 2] = of_h.dim[i + 2] = r->o.kernels[i];
        cells *= r->o.kernels[i];
    }
    int64_t fan = r->hidden * cells;
    r->w_ih = eg__init_uniform(of_x, fan, r->o.dtype);
    r->w_hh = r->w_ih ? eg__init_uniform(of_h, fan, r->o.dtype) : NULL;
    if (r->w_hh && !r->o.no_bias) {
        r->b_ih = eg__init_uniform(EG_SHAPE(rows), fan, r->o.dtype);
    }
    if (r->b_ih && has_b_hh(r)) {
        r->b_hh = eg__init_uniform(EG_SHAPE(rows), fan, r->o.dtype);
    }
    if (r->b_ih && r->o.forget_bias != 0) {
        eg_scope s = eg_scope_push();
        if (!eg_add_scalar_(eg_slice(r->b_ih, 0, r->hidden, 2 * r->hidden, 1), r->o.forget_bias)) {
            eg_release(r->b_ih);
            r->b_ih = NULL;
        }
        eg_scope_pop(s, NULL);
    }
}

static eg_module *make(const eg_module_kind *kind, int64_t in, int64_t hidden, const eg_conv_rnn_layer_options *given)
{
    eg_conv_rnn_layer_options o;
    eg__options(&o, sizeof o, given);
    conv_rnn *r =
        check_options(kind->name, kind == &conv_lstm_kind, in, hidden, &o) ? NULL : eg_module_new(sizeof *r, kind);
    if (!r) {
        return NULL;
    }
    r->o = o;
    r->hidden = hidden;
    fill(r, in);
    return eg_module_finish(&r->base);
}

eg_module *eg_conv_lstm_new_with(int64_t in, int64_t hidden, const eg_conv_rnn_layer_options *options)
{
    return make(&conv_lstm_kind, in, hidden, options);
}

eg_module *eg_conv_gru_new_with(int64_t in, int64_t hidden, const eg_conv_rnn_layer_options *options)
{
    return make(&conv_gru_kind, in, hidden, options);
}
