/* sort.c - order, by counting for every element how many come before it. */
#include "lib/ops/options.h"
#include "lib/ref/ref.h"

/* -1, 0 or 1; NaN is the largest. */
static int compare(const eg_tensor *x, int64_t i, const eg_tensor *y, int64_t k)
{
    if (!eg__is_float(x->dtype)) {
        int64_t a = eg__get_int_at(x, i), b = eg__get_int_at(y, k);
        return (a > b) - (a < b);
    }
    double a = eg__get_at(x, i), b = eg__get_at(y, k);
    return a != a || b != b ? (a != a) - (b != b) : (a > b) - (a < b);
}

/* The first k places of every line. */
static eg_status order(const eg__call *c, int64_t n, int64_t k)
{
    const eg__sort_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *values = c->out[0], *indices = c->out[1];
    int64_t inner = 1;
    for (int d = o->axis + 1; d < x->ndim; d++) {
        inner *= x->shape[d];
    }
    for (int64_t at = 0; at < x->n; at++) {
        int64_t line = at / inner / n * n * inner + at % inner, i = at / inner % n, before = 0;
        for (int64_t j = 0; j < n; j++) {
            int sign = compare(x, line + j * inner, x, at) * (o->descending ? -1 : 1);
            before += sign < 0 || (sign == 0 && j < i);
        }
        if (before < k) {
            int64_t to = (at / inner / n * k + before) * inner + at % inner;
            eg__move(values, to, x, at);
            eg__set_int_at(indices, to, i);
        }
    }
    return EG_OK;
}

eg_status eg__ref_sort(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    int64_t n = x->ndim ? x->shape[((const eg__sort_opts *)c->opts)->axis] : 1;
    return order(c, n, n);
}

eg_status eg__ref_topk(const eg__call *c)
{
    const eg_tensor *x = c->in[0];
    const eg__sort_opts *o = c->opts;
    return order(c, x->ndim ? x->shape[o->axis] : 1, o->k);
}

eg_status eg__ref_searchsorted(const eg__call *c)
{
    const eg__searchsorted_opts *o = c->opts;
    const eg_tensor *line = c->in[0], *v = c->in[1], *y = c->out[0];
    int64_t n = line->shape[line->ndim - 1], lines = 1;
    for (int d = 0; d < line->ndim - 1; d++) {
        lines *= line->shape[d];
    }
    for (int64_t i = 0; i < y->n; i++) {
        int64_t start = i / (y->n / lines) * n, at = 0;
        while (at < n && compare(line, start + at, v, i) < o->right) {
            at++;
        }
        eg__set_int_at(y, i, at);
    }
    return EG_OK;
}
