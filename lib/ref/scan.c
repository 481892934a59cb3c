/* scan.c - running sums and products, recurrences and softmax, element by element. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

/* Calls f for every line along the axis; at(t, line, j) is then element j's place in t. */
typedef struct line {
    const eg_tensor *x;
    int axis;
    int64_t i; /* row-major over the other axes */
} line;

static int64_t lines_of(const eg_tensor *x, int axis)
{
    return x->n ? x->n / x->shape[axis] : 0;
}

static int64_t at(const eg_tensor *t, const line *l, int64_t j)
{
    int64_t place = j * t->strides[l->axis], i = l->i;
    for (int d = t->ndim; d-- > 0;) {
        if (d != l->axis) {
            place += i % t->shape[d] * t->strides[d];
            i /= t->shape[d];
        }
    }
    return place;
}

static void scan(const eg__call *c, int product)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    line l = {x, ((const eg__scan_opts *)c->opts)->axis, 0};
    for (; l.i < lines_of(x, l.axis); l.i++) {
        double v = product;
        uint64_t whole = (uint64_t)product;
        for (int64_t j = 0; j < x->shape[l.axis]; j++) {
            if (eg__is_float(x->dtype)) {
                double e = eg__get_at(x, at(x, &l, j));
                v = product ? v * e : v + e;
                eg__set_at(y, at(y, &l, j), v);
            } else {
                uint64_t e = (uint64_t)eg__get_int_at(x, at(x, &l, j));
                whole = product ? whole * e : whole + e;
                eg__set_int_at(y, at(y, &l, j), (int64_t)whole);
            }
        }
    }
}

eg_status eg__ref_cumsum(const eg__call *c)
{
    scan(c, 0);
    return EG_OK;
}

eg_status eg__ref_cumprod(const eg__call *c)
{
    scan(c, 1);
    return EG_OK;
}

/* sign 1: the largest so far, -1: the smallest; the last of equal ones, NaN for good. */
static void running(const eg__call *c, int sign)
{
    const eg_tensor *x = c->in[0], *y = c->out[0], *places = c->out[1];
    line l = {x, ((const eg__scan_opts *)c->opts)->axis, 0};
    for (; l.i < lines_of(x, l.axis); l.i++) {
        int64_t best = 0;
        for (int64_t j = 0; j < x->shape[l.axis]; j++) {
            int64_t here = at(x, &l, j), there = at(x, &l, best);
            bool take;
            if (eg__is_float(x->dtype)) {
                double v = eg__get_at(x, here), top = eg__get_at(x, there);
                take = isnan(v) || sign * v >= sign * top;
            } else {
                int64_t v = eg__get_int_at(x, here), top = eg__get_int_at(x, there);
                take = sign > 0 ? v >= top : v <= top;
            }
            best = take ? j : best;
            eg__move(y, at(y, &l, j), x, at(x, &l, best));
            eg__set_int_at(places, at(places, &l, j), best);
        }
    }
}

eg_status eg__ref_cummax(const eg__call *c)
{
    running(c, 1);
    return EG_OK;
}

eg_status eg__ref_cummin(const eg__call *c)
{
    running(c, -1);
    return EG_OK;
}

/* y_i = a_i y_(i-1) + b_i from y_0 = b_0; reversed y_i = a_(i+1) y_(i+1) + b_i from the last. */
eg_status eg__ref_recurrence(const eg__call *c)
{
    const eg_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    const eg__scan_opts *o = c->opts;
    line l = {a, o->axis, 0};
    int64_t n = a->shape[o->axis];
    for (; l.i < lines_of(a, o->axis); l.i++) {
        double v = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t j = o->reverse ? n - 1 - k : k, factor = o->reverse ? j + 1 : j;
            v = (k ? eg__get_at(a, at(a, &l, factor)) * v : 0) + eg__get_at(b, at(b, &l, j));
            eg__set_at(y, at(y, &l, j), v);
        }
    }
    return EG_OK;
}

static void softmax(const eg__call *c, bool logarithm)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    line l = {x, ((const eg__scan_opts *)c->opts)->axis, 0};
    int64_t n = x->ndim ? x->shape[l.axis] : 0;
    for (; l.i < lines_of(x, l.axis); l.i++) {
        double top = -(double)INFINITY, sum = 0;
        for (int64_t j = 0; j < n; j++) {
            double v = eg__get_at(x, at(x, &l, j));
            top = isnan(v) || v > top ? v : top;
        }
        for (int64_t j = 0; j < n; j++) {
            sum += exp(eg__get_at(x, at(x, &l, j)) - top);
        }
        for (int64_t j = 0; j < n; j++) {
            double v = eg__get_at(x, at(x, &l, j)) - top;
            eg__set_at(y, at(y, &l, j), logarithm ? v - log(sum) : exp(v) / sum);
        }
    }
}

eg_status eg__ref_softmax(const eg__call *c)
{
    softmax(c, false);
    return EG_OK;
}

eg_status eg__ref_log_softmax(const eg__call *c)
{
    softmax(c, true);
    return EG_OK;
}

static void softmax_grad(const eg__call *c, bool logarithm)
{
    const eg_tensor *y = c->in[0], *dy = c->in[1], *dx = c->out[0];
    line l = {y, ((const eg__scan_opts *)c->opts)->axis, 0};
    for (; l.i < lines_of(y, l.axis); l.i++) {
        double sum = 0;
        for (int64_t j = 0; j < y->shape[l.axis]; j++) {
            double g = eg__get_at(dy, at(dy, &l, j));
            sum += logarithm ? g : g * eg__get_at(y, at(y, &l, j));
        }
        for (int64_t j = 0; j < y->shape[l.axis]; j++) {
            double g = eg__get_at(dy, at(dy, &l, j)), v = eg__get_at(y, at(y, &l, j));
            eg__set_at(dx, at(dx, &l, j), logarithm ? g - exp(v) * sum : v * (g - sum));
        }
    }
}

eg_status eg__ref_softmax_grad(const eg__call *c)
{
    softmax_grad(c, false);
    return EG_OK;
}

eg_status eg__ref_log_softmax_grad(const eg__call *c)
{
    softmax_grad(c, true);
    return EG_OK;
}
