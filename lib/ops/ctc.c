/* ctc.c - connectionist temporal classification: checks, and inference of its rows. */
#include <egret/precision.h>

#include "lib/ops/ctc_rows.h"
#include "lib/ops/infer.h"

/* ---- inference ------------------------------------------------------------------------------- */

eg_status eg__infer_ctc_loss(eg__call *c)
{
    const eg_tensor *x = c->in[0];
    const eg__ctc_opts *o = c->opts;
    eg__desc *loss = &c->desc[0], *alpha = &c->desc[1];
    loss->dtype = alpha->dtype = x->dtype;
    loss->ndim = 1;
    loss->shape[0] = alpha->shape[0] = x->shape[1];
    eg__desc_dense(loss);
    alpha->ndim = 3;
    alpha->shape[1] = x->shape[0];
    alpha->shape[2] = eg__ctc_states(x->shape[0], o->longest);
    alpha->dense = true;
    return eg__check_shape(c->op->name, 3, alpha->shape, alpha->dtype, &alpha->n);
}

eg_status eg__infer_ctc_loss_grad(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[1]);
    return EG_OK;
}

eg_status eg__infer_ctc_collapse(eg__call *c)
{
    const eg_tensor *path = c->in[0];
    eg__desc *labels = &c->desc[0], *lengths = &c->desc[1];
    labels->dtype = lengths->dtype = EG_I64;
    labels->ndim = 2;
    labels->shape[0] = lengths->shape[0] = path->shape[1];
    labels->shape[1] = path->shape[0];
    lengths->ndim = 1;
    eg__desc_dense(labels);
    eg__desc_dense(lengths);
    return EG_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

eg_status eg__ctc_check_probs(const char *op, const eg_tensor *x, int64_t blank, bool alone)
{
    if (eg__check(x, op, "log_probs")) {
        return eg__why();
    }
    if (x->ndim != 3 && !(alone && x->ndim == 2)) {
        return eg__fail(EG_ESHAPE, op, "log_probs are %s, must be [T, N, C]%s", EG__SHAPE_OF(x),
                        alone ? " or [T, C]" : "");
    }
    if (!eg__is_float(x->dtype)) {
        return eg__fail(EG_EDTYPE, op, "log_probs are %s, not floats", eg_dtype_name((eg_dtype)x->dtype));
    }
    const int64_t classes = x->shape[x->ndim - 1];
    if (blank < 0 || blank >= classes) {
        return eg__fail(EG_EINVAL, op, "the blank is %lld, must be one of the %lld classes", (long long)blank,
                        (long long)classes);
    }
    return EG_OK;
}

/* The labels of the CPU that count, each a class and no blank; notes the longest row. */
static eg_status check_labels(const char *op, const eg_tensor *labels, const eg_tensor *lengths, int64_t rows,
                              int64_t classes, eg__ctc_opts *o)
{
    const int64_t width = labels->ndim == 2 ? labels->shape[1] : 0, *at = (const int64_t *)eg__ptr(labels);
    int64_t before = 0, longest = 0;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t n = lengths ? ((const int64_t *)eg__ptr(lengths))[r] : o->longest;
        longest = eg__max(longest, n);
        for (int64_t i = 0; i < n; i++) {
            const int64_t v = at[(labels->ndim == 2 ? r * width : before) + i];
            if (v < 0 || v >= classes) {
                return eg__fail(EG_EINDEX, op, "label %lld of row %lld is %lld, outside 0..%lld", (long long)i,
                                (long long)r, (long long)v, (long long)classes - 1);
            }
            if (v == o->blank) {
                return eg__fail(EG_EINVAL, op, "label %lld of row %lld is the blank, %lld", (long long)i, (long long)r,
                                (long long)v);
            }
        }
        before += n;
    }
    o->longest = longest;
    return EG_OK;
}

static eg_status check_sum(const char *op, const eg_tensor *labels, const eg_tensor *lengths)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < lengths->n; i++) {
        sum += ((const int64_t *)eg__ptr(lengths))[i]; /* each at most the number of labels */
    }
    return sum == labels->n ? EG_OK
                            : eg__fail(EG_EINDEX, op, "target_lengths sum to %lld, there are %lld labels",
                                       (long long)sum, (long long)labels->n);
}

/* Targets as contiguous i64, and what is known of them. */
static eg_tensor *labels_of(const char *op, eg_tensor *t, const eg_tensor *x, const eg_ctc_options *given,
                            eg_tensor **lengths, eg__ctc_opts *o)
{
    const int64_t rows = x->shape[1];
    if (!(EG__INTS >> t->dtype & 1)) {
        return eg__fail_null(EG_EDTYPE, op, "targets are %s, must be i64, i32 or u8",
                             eg_dtype_name((eg_dtype)t->dtype));
    }
    if (t->ndim != 1 && !(t->ndim == 2 && t->shape[0] == rows)) {
        return eg__fail_null(EG_ESHAPE, op, "targets are %s, must be [%lld, S] or [sum of target_lengths]",
                             EG__SHAPE_OF(t), (long long)rows);
    }
    if (t->ndim == 1 && !given->target_lengths) {
        return eg__fail_null(EG_EINVAL, op, "targets %s end to end need target_lengths", EG__SHAPE_OF(t));
    }
    o->longest = t->shape[t->ndim - 1];
    *lengths = eg__lengths(op, "target_lengths", given->target_lengths, rows, o->longest);
    t = eg_contiguous(eg_cast(t, EG_I64));
    if (!t || (given->target_lengths && !*lengths)) {
        return NULL;
    }
    if (*lengths && (*lengths)->device != t->device) {
        return eg__fail_null(EG_EDEVICE, op, "target_lengths are on %s, targets on %s",
                             eg_device_name(eg_device_of(*lengths)), eg_device_name(eg_device_of(t)));
    }
    if (!t->device &&
        ((t->ndim == 1 && check_sum(op, t, *lengths)) || check_labels(op, t, *lengths, rows, x->shape[2], o))) {
        return NULL;
    }
    return t;
}

/* ---- the loss -------------------------------------------------------------------------------- */

static eg_tensor *losses(eg_tensor *x, eg_tensor *targets, const eg_ctc_options *given)
{
    static const char op[] = "ctc_loss";
    const int dtype = x->dtype == EG_F64 ? EG_F64 : EG_F32;
    eg__ctc_opts o = {.blank = given->blank,
                      .frames = given->input_lengths != NULL,
                      .lengths = given->target_lengths != NULL,
                      .zero_infinity = given->zero_infinity,
                      .shares = given->reduction == EG_MEAN};
    eg_tensor *in[4] = {eg_cast(x, (eg_dtype)dtype)}, *out[EG__MAX_OUT];
    in[1] = in[0] ? labels_of(op, targets, x, given, &in[3], &o) : NULL;
    in[2] = in[1] ? eg__lengths(op, "input_lengths", given->input_lengths, x->shape[1], x->shape[0]) : NULL;
    if (!in[1] || (given->input_lengths && !in[2]) || eg__dispatch(&eg__op_ctc_loss, in, 4, &o, out)) {
        return NULL;
    }
    return eg_cast(out[0], (eg_dtype)x->dtype);
}

static eg_tensor *reduced(eg_tensor *each, eg_reduction how)
{
    if (!each || how == EG_NONE) {
        return each;
    }
    const int64_t rows = each->shape[0];
    eg_tensor *sum = eg_sum(each);
    return how == EG_SUM || rows < 2 ? sum : eg_mul_scalar(sum, 1 / (double)rows);
}

eg_tensor *eg_ctc_loss_with(eg_tensor *x, eg_tensor *targets, const eg_ctc_options *given)
{
    static const char op[] = "ctc_loss";
    eg_ctc_options o;
    eg__options(&o, sizeof o, given);
    if (eg__ctc_check_probs(op, x, o.blank, true) || eg__check(targets, op, "targets")) {
        return NULL;
    }
    if ((unsigned)o.reduction > EG_BATCH_MEAN) {
        return eg__fail_null(EG_EINVAL, op, "reduction is %d, which is none", (int)o.reduction);
    }
    if (x->ndim == 2 && targets->ndim != 1) {
        return eg__fail_null(EG_ESHAPE, op, "log_probs %s are of no batch, targets are %s, must be [S]",
                             EG__SHAPE_OF(x), EG__SHAPE_OF(targets));
    }
    const bool alone = x->ndim == 2;
    eg_scope s = eg_scope_push();
    x = eg_autocast_dtype() != EG_F32 && eg__is_half(x->dtype) ? eg_cast(x, EG_F32) : x;
    x = alone ? eg_unsqueeze(x, 1) : x;
    targets = alone ? eg_unsqueeze(targets, 0) : targets;
    eg_tensor *y = x && targets ? reduced(losses(x, targets, &o), o.reduction) : NULL;
    return eg_scope_pop(s, alone && o.reduction == EG_NONE ? eg_reshape(y, EG_SCALAR) : y);
}

/* ---- decoding -------------------------------------------------------------------------------- */

eg_status eg_ctc_greedy(eg_tensor *x, eg_tensor *input_lengths, int64_t blank, eg_tensor **labels, eg_tensor **lengths)
{
    static const char op[] = "ctc_greedy";
    eg_tensor *out[EG__MAX_OUT] = {NULL};
    if (!labels || !lengths) {
        return eg__null_argument(op, labels ? "lengths" : "labels");
    }
    *labels = *lengths = NULL;
    if (eg__ctc_check_probs(op, x, blank, false)) {
        return eg__why();
    }
    const eg__ctc_opts o = {.blank = blank, .frames = input_lengths != NULL};
    eg_scope s = eg_scope_push();
    eg_tensor *frames = eg__lengths(op, "input_lengths", input_lengths, x->shape[1], x->shape[0]);
    eg_tensor *path = eg_argmax(eg_detach(x), .axes = EG_AXES(2)), *in[2] = {path, frames};
    eg_status st = !path || (input_lengths && !frames) ? eg__why() : eg__dispatch(&eg__op_ctc_collapse, in, 2, &o, out);
    if (st) {
        eg_scope_pop(s, NULL);
        return st;
    }
    st = eg_scope_pop_n(s, out, 2);
    *labels = st ? NULL : out[0];
    *lengths = st ? NULL : out[1];
    return st;
}
