/* reduce.c - reductions, element by element. */
#include "lib/ops/options.h"
#include "lib/ref/ref.h"

/* Element i of x, and where its result lies in y (dense), for the reduced axes. */
static int64_t result_of(const eg_tensor *x, unsigned axes, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = x->ndim; d-- > 0; i /= x->shape[d]) {
        if (!(axes >> d & 1)) {
            at += i % x->shape[d] * step;
            step *= x->shape[d];
        }
    }
    return at;
}

eg_status eg__ref_sum(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const eg__reduce_opts *o = c->opts;
    bool real = eg__is_float(x->dtype);
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)y->n * 8, &s)) {
        return EG_ENOMEM;
    }
    memset(s.data, 0, (size_t)y->n * 8);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t to = result_of(x, o->axes, i), from = eg__at(x, x, i);
        if (real) {
            ((double *)s.data)[to] += eg__get_at(x, from);
        } else {
            ((uint64_t *)s.data)[to] += (uint64_t)eg__get_int_at(x, from);
        }
    }
    for (int64_t i = 0; i < y->n; i++) {
        if (real) {
            eg__set_at(y, i, ((double *)s.data)[i]);
        } else {
            eg__set_int_at(y, i, ((int64_t *)s.data)[i]);
        }
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}
