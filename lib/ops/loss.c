/* loss.c - losses as compositions. */
#include "lib/optable.h"

/* The elements' losses, reduced; `count` divides the mean. */
static eg_tensor *reduce(eg_tensor *each, eg_reduction how, double count)
{
    switch (how) {
    case EG_NONE:
        return each;
    case EG_SUM:
        return eg_sum(each);
    default:
        return eg_mul_scalar(eg_sum(each), count > 0 ? 1 / count : 0);
    }
}

static eg_tensor *finish(eg_scope s, eg_tensor *each, const eg_loss_options *o)
{
    return eg_scope_pop(s, each ? reduce(each, o ? o->reduction : EG_MEAN, (double)each->n) : NULL);
}

eg_tensor *eg_l1_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    eg_scope s = eg_scope_push();
    return finish(s, eg_abs(eg_sub(x, y)), o);
}

eg_tensor *eg_mse_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    eg_scope s = eg_scope_push();
    return finish(s, eg_square(eg_sub(x, y)), o);
}

eg_tensor *eg_huber_loss_with(eg_tensor *x, eg_tensor *y, const eg_loss_options *o)
{
    double delta = o && o->delta != 0 ? o->delta : 1;
    if (!(delta > 0)) {
        return eg__fail_null(EG_EINVAL, "huber_loss", "delta is %g, must be above 0", delta);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *d = eg_sub(x, y), *a = eg_abs(d);
    eg_tensor *line = eg_mul_scalar(eg_sub_scalar(a, delta / 2), delta);
    return finish(s, eg_where(eg_le_scalar(a, delta), eg_mul_scalar(eg_square(d), 0.5), line), o);
}

eg_tensor *eg_bce_with_logits_with(eg_tensor *x, eg_tensor *z, const eg_loss_options *o)
{
    eg_scope s = eg_scope_push();
    /* softplus(x) - x z is the same formula, written so that it never overflows. */
    return finish(s, eg_sub(eg_softplus(x), eg_mul(x, z)), o);
}

/* ---- cross entropy ------------------------------------------------------------------------------ */

static const char me[] = "cross_entropy";

/* Labels in range, in words; how many rows count. Ignored labels become 0 in `safe`. */
static eg_status check_labels(const eg_tensor *x, const eg_tensor *labels,
                              const eg_cross_entropy_options *o, eg_tensor *safe, eg_tensor *weight,
                              double *count)
{
    *count = 0;
    for (int64_t i = 0; i < labels->n; i++) {
        int64_t at = eg__place(labels->ndim, labels->shape, labels->strides, i);
        int64_t label = eg__load_int(eg__ptr(labels), labels->dtype, at);
        bool ignored = o->ignore && label == o->ignore_index;
        if (!ignored && (label < 0 || label >= x->shape[1])) {
            return eg__fail(EG_EINDEX, me, "label %lld of row %lld is outside 0..%lld",
                            (long long)label, (long long)i, (long long)x->shape[1] - 1);
        }
        ((int64_t *)eg__ptr(safe))[i] = ignored ? 0 : label;
        eg__store(eg__ptr(weight), weight->dtype, i, ignored ? 0 : 1);
        *count += !ignored;
    }
    return EG_OK;
}

static eg_status check_shapes(const eg_tensor *x, const eg_tensor *labels,
                              const eg_cross_entropy_options *o)
{
    if (eg__check(x, me, "x") || eg__check(labels, me, "labels")) {
        return eg__why();
    }
    if (x->ndim != 2 || labels->ndim != 1 || labels->shape[0] != x->shape[0] || !x->shape[1]) {
        return eg__fail(EG_ESHAPE, me, "logits %s and labels %s: [rows, classes] and [rows] go "
                        "together", EG__SHAPE_OF(x), EG__SHAPE_OF(labels));
    }
    if (!eg__is_float(x->dtype) || (labels->dtype != EG_I64 && labels->dtype != EG_I32)) {
        return eg__fail(EG_EDTYPE, me, "logits %s and labels %s: floats and i64 or i32 go together",
                        eg_dtype_name((eg_dtype)x->dtype), eg_dtype_name((eg_dtype)labels->dtype));
    }
    if (!(o->label_smoothing >= 0 && o->label_smoothing <= 1)) {
        return eg__fail(EG_EINVAL, me, "label_smoothing is %g, must be 0..1", o->label_smoothing);
    }
    return EG_OK;
}

eg_tensor *eg_cross_entropy_with(eg_tensor *x, eg_tensor *labels, const eg_cross_entropy_options *o)
{
    static const eg_cross_entropy_options none = {0};
    double count;
    o = o ? o : &none;
    if (check_shapes(x, labels, o)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *safe = eg_empty(EG_SHAPE(labels->n), EG_I64);
    eg_tensor *weight = eg_empty(EG_SHAPE(labels->n), (eg_dtype)x->dtype);
    if (!safe || !weight || check_labels(x, labels, o, safe, weight, &count)) {
        return eg_scope_pop(s, NULL);
    }
    eg_tensor *logp = eg_log_softmax(x, 1);
    eg_tensor *each = eg_neg(eg_squeeze(eg_gather(logp, 1, eg_unsqueeze(safe, 1)), EG_AXES(1)));
    if (o->label_smoothing > 0) {
        eg_tensor *all = eg_neg(eg_mean(logp, .axes = EG_AXES(1)));
        each = eg_add(eg_mul_scalar(each, 1 - o->label_smoothing),
                      eg_mul_scalar(all, o->label_smoothing));
    }
    each = count < (double)labels->n ? eg_mul(each, weight) : each;
    return eg_scope_pop(s, each ? reduce(each, o->reduction, count) : NULL);
}
