/* loss.c - the gradient of cross entropy with labels: dx = dy (softmax(x) sum(targets) - targets),
 * fused, or with the targets written out when the walk is recorded. */
#include "autograd/rules/rules.h"

/* What the labels stand for, [rows, classes]; zeros in rows that count for nothing. */
static eg_tensor *targets_of(const eg_tensor *x, const eg_tensor *labels, const eg_tensor *weight, double smoothing)
{
    eg_tensor *t = eg_zeros(eg_shape_of(x), (eg_dtype)x->dtype);
    const int64_t n = x->shape[1], *label = (const int64_t *)eg__ptr(labels);
    for (int64_t i = 0; t && i < x->n; i++) {
        double hit = i % n == label[i / n] ? 1 - smoothing : 0;
        double w = weight ? eg__load(eg__ptr(weight), weight->dtype, i % n) : 1;
        if (label[i / n] >= 0) {
            eg__store(eg__ptr(t), t->dtype, i, (hit + smoothing / (double)n) * w);
        }
    }
    return t;
}

/* The same composed of ops, where the labels are on a device, as they came. */
static eg_tensor *device_targets(const eg_tensor *x, eg_tensor *labels, eg_tensor *weight,
                                 const eg__cross_entropy_opts *o)
{
    const double each = o->smoothing / (double)eg__max(x->shape[1], 1);
    const eg_dtype dtype = (eg_dtype)x->dtype;
    eg_tensor *row = eg_unsqueeze(labels, 1), *index = eg_scalar(0, EG_I64);
    eg_tensor *hit = eg_eq(row, eg__arange_on(x->device, 0, (double)x->shape[1], 1, EG_I64));
    eg_tensor *t = eg_where(hit, eg_scalar(1 - o->smoothing + each, dtype), eg_scalar(each, dtype));
    t = weight ? eg_mul(t, weight) : t;
    if (!o->ignore || !index) {
        return index ? t : NULL;
    }
    *(int64_t *)eg__ptr(index) = o->ignore_index;
    return eg_where(eg_ne(row, index), t, eg_scalar(0, dtype));
}

eg_status eg__grad_cross_entropy(eg__walk *w)
{
    const eg__cross_entropy_opts *o = w->opts;
    eg_tensor *x = eg__saved_in(w, 0), *labels = eg__saved_in(w, 1), *rows = eg__saved_out(w, 1);
    eg_tensor *weight = o->weight ? eg__saved_in(w, 2) : NULL, *dy = eg__dy(w, 0);
    if (!x || !labels || !rows || !dy || (o->weight && !weight)) {
        return eg__why();
    }
    if (!eg__walk_recorded(w)) {
        eg_tensor *in[] = {dy, x, labels, rows, weight}, *out[EG__MAX_OUT];
        eg_status st = eg__dispatch(&eg__op_cross_entropy_grad, in, 5, o, out);
        return st ? st : eg__give(w, 0, out[0]);
    }
    x = eg_cast(x, (eg_dtype)dy->dtype);
    if (!x) {
        return eg__why();
    }
    eg_tensor *targets = x->device ? device_targets(x, labels, weight, o) : targets_of(x, labels, weight, o->smoothing);
    eg_tensor *total = eg_sum(targets, .axes = EG_AXES(1), .keepdim = true);
    eg_tensor *slope = eg_sub(eg_mul(eg_softmax(x, 1), total), targets);
    return eg__give(w, 0, eg_mul(eg_unsqueeze(dy, 1), slope));
}
