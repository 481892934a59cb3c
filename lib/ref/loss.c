/* loss.c - cross entropy with labels, row by row: the target of class c is (1 - s) [c = label] + s
 * / classes, times the weight of the label and of c. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

static double weight_of(const eg_tensor *weight, int64_t class)
{
    return weight ? eg__get_at(weight, class) : 1;
}

/* The target of class c in a row with this label. */
static double target(const eg_tensor *weight, double smoothing, int64_t classes, int64_t label, int64_t c)
{
    double hit = c == label ? 1 - smoothing : 0;
    return (hit + smoothing / (double)classes) * weight_of(weight, c);
}

/* The label of row r, -1 if it does not count. On a device nobody has looked at it before. */
static eg_status label_of(const eg__call *c, const eg_tensor *labels, int64_t r, int64_t classes, int64_t *label)
{
    const eg__cross_entropy_opts *o = c->opts;
    *label = eg__get_int_at(labels, r);
    if (!c->device) {
        return EG_OK;
    }
    if (o->ignore && *label == o->ignore_index) {
        *label = -1;
        return EG_OK;
    }
    return *label >= 0 && *label < classes
               ? EG_OK
               : eg__fail(EG_EINDEX, c->op->name, "label %lld of row %lld is outside 0..%lld", (long long)*label,
                          (long long)r, (long long)classes - 1);
}

/* logits, labels, weight -> loss, and per row the largest logit and 1 / sum e^(x - largest); on a
 * device also what the label weighs */
eg_status eg__ref_cross_entropy(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *labels = c->in[1], *weight = c->nin > 2 ? c->in[2] : NULL;
    const double smoothing = ((const eg__cross_entropy_opts *)c->opts)->smoothing;
    const int64_t n = x->shape[1], kept = c->out[1]->shape[1];
    for (int64_t r = 0; r < x->shape[0]; r++) {
        int64_t label;
        if (label_of(c, labels, r, n, &label)) {
            return eg__why();
        }
        double top = -(double)INFINITY, sum = 0, loss = 0;
        for (int64_t i = 0; i < n; i++) {
            double v = eg__get_at(x, r * n + i);
            top = v > top ? v : top;
        }
        for (int64_t i = 0; i < n; i++) {
            sum += exp(eg__get_at(x, r * n + i) - top);
        }
        for (int64_t i = 0; i < n && label >= 0; i++) {
            double t = target(weight, smoothing, n, label, i);
            loss += i == label || smoothing > 0 ? t * (log(sum) - (eg__get_at(x, r * n + i) - top)) : 0;
        }
        eg__set_at(c->out[0], r, loss);
        eg__set_at(c->out[1], kept * r, top);
        eg__set_at(c->out[1], kept * r + 1, 1 / sum);
        if (kept > 2) {
            eg__set_at(c->out[1], kept * r + 2, label < 0 ? 0 : weight_of(weight, label));
        }
    }
    return EG_OK;
}

/* dx = dy (softmax(x) sum(targets) - targets) */
eg_status eg__ref_cross_entropy_grad(const eg__call *c)
{
    const eg_tensor *dy = c->in[0], *x = c->in[1], *labels = c->in[2], *rows = c->in[3];
    const eg_tensor *weight = c->nin > 4 ? c->in[4] : NULL;
    const double smoothing = ((const eg__cross_entropy_opts *)c->opts)->smoothing;
    const int64_t n = x->shape[1], kept = rows->shape[1];
    for (int64_t r = 0; r < x->shape[0]; r++) {
        int64_t label;
        if (label_of(c, labels, r, n, &label)) {
            return eg__why();
        }
        double top = eg__get_at(rows, kept * r), scale = eg__get_at(rows, kept * r + 1), total = 0;
        for (int64_t i = 0; i < n; i++) {
            total += target(weight, smoothing, n, label, i);
        }
        for (int64_t i = 0; i < n; i++) {
            double p = exp(eg__get_at(x, r * n + i) - top) * scale;
            double d = p * total - target(weight, smoothing, n, label, i);
            eg__set_at(c->out[0], r * n + i, label < 0 ? 0 : eg__get_at(dy, r) * d);
        }
    }
    return EG_OK;
}
