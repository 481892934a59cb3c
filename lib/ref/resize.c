/* resize.c - resizing, one output pixel after the other. */
#include "lib/ops/resize.h"
#include "lib/ref/ref.h"

/* Goes over the forward way's result pixels and every combination of their taps. */
typedef struct walker {
    const eg__resize_opts *o;
    const eg_tensor *results, *sources; /* of the forward way */
    double *weight[3], *sum;
    int64_t first[3], count[3], at[3];
    bool adjoint;
} walker;

/* All taps of the pixel whose place is set, of channel `row` of all. */
static void add_taps(walker *w, int64_t row)
{
    int64_t result = row, taps = 1;
    for (int a = 0; a < w->o->naxes; a++) {
        result = result * w->o->out[a] + w->at[a];
        taps *= w->count[a];
    }
    for (int64_t k = 0; k < taps; k++) {
        int64_t source = row, rest = k, step = taps;
        double weight = 1;
        for (int a = 0; a < w->o->naxes; a++) {
            step /= w->count[a];
            int64_t tap = rest / step;
            rest %= step;
            source = source * w->o->in[a] + w->first[a] + tap;
            weight *= w->weight[a][tap];
        }
        if (!eg__is_float(w->sources->dtype)) { /* one tap */
            eg__set_int_at(w->results, eg__at(w->results, w->results, result),
                           eg__get_int_at(w->sources, eg__at(w->sources, w->sources, source)));
        } else if (weight != 0) {
            const eg_tensor *from = w->adjoint ? w->results : w->sources;
            int64_t to = w->adjoint ? source : result, read = w->adjoint ? result : source;
            w->sum[to] += weight * eg__get_at(from, eg__at(from, from, read));
        }
    }
}

static void walk(walker *w, int axis)
{
    if (axis == w->o->naxes) {
        int64_t rows = w->results->shape[0] * w->results->shape[1];
        for (int64_t row = 0; row < rows; row++) {
            add_taps(w, row);
        }
        return;
    }
    for (w->at[axis] = 0; w->at[axis] < w->o->out[axis]; w->at[axis]++) {
        w->count[axis] = eg__resize_taps(w->o, axis, w->at[axis], &w->first[axis], w->weight[axis]);
        walk(w, axis + 1);
    }
}

static eg_status run(const eg__call *c, bool adjoint)
{
    const eg__resize_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    walker w = {.o = o, .results = adjoint ? x : y, .sources = adjoint ? y : x, .adjoint = adjoint};
    int64_t most[3] = {0};
    for (int a = 0; a < o->naxes; a++) {
        most[a] = eg__resize_most(o, a);
    }
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)(y->n + most[0] + most[1] + most[2]) * sizeof(double), &s)) {
        return EG_ENOMEM;
    }
    w.sum = s.data;
    w.weight[0] = w.sum + y->n;
    w.weight[1] = w.weight[0] + most[0];
    w.weight[2] = w.weight[1] + most[1];
    memset(w.sum, 0, (size_t)y->n * sizeof(double));
    walk(&w, 0);
    for (int64_t i = 0; i < y->n && eg__is_float(y->dtype); i++) {
        eg__set_at(y, eg__at(y, y, i), w.sum[i]);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}

eg_status eg__ref_resize(const eg__call *c)
{
    return run(c, false);
}

eg_status eg__ref_resize_grad(const eg__call *c)
{
    return run(c, true);
}
