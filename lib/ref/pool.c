/* pool.c - pooling and its gradients, window by window. */
#include "lib/ops/pool.h"
#include "lib/ref/ref.h"

/* Element `place` (d, h, w) of plane k of a tensor [N, C, spatial...]. */
static int64_t element(const eg_tensor *t, int64_t k, const int64_t *place)
{
    int64_t at = k / t->shape[1] * t->strides[0] + k % t->shape[1] * t->strides[1];
    for (int a = 2; a < t->ndim; a++) {
        at += place[a - 2 + 5 - t->ndim] * t->strides[a];
    }
    return at;
}

typedef struct window3 {
    eg__window axis[3];
    int64_t p[3];
} window3;

/* Window number i of a plane, row-major. */
static window3 window_number(const eg__pool_opts *o, int64_t i)
{
    window3 w;
    for (int d = 3; d-- > 0; i /= o->out[d]) {
        w.p[d] = i % o->out[d];
        w.axis[d] = eg__window_of(o, d, w.p[d]);
    }
    return w;
}

/* The cell of a tap; whether it is there. */
static bool cell(const eg__pool_opts *o, const window3 *w, int64_t tap, int64_t *place)
{
    bool there = true;
    for (int d = 3; d-- > 0; tap /= o->kernel[d]) {
        int64_t t = tap % o->kernel[d];
        there = there && t >= w->axis[d].first && t < w->axis[d].end;
        place[d] = w->axis[d].begin + t * o->dilation[d];
    }
    return there;
}

static int64_t taps(const eg__pool_opts *o)
{
    return o->kernel[0] * o->kernel[1] * o->kernel[2];
}

static double divisor(const eg__pool_opts *o, const window3 *w)
{
    double n = 1;
    for (int d = 0; d < 3; d++) {
        n *= (double)eg__window_cells(o, d, w->p[d]);
    }
    return n;
}

static int64_t windows(const eg__pool_opts *o)
{
    return o->out[0] * o->out[1] * o->out[2];
}

/* Whether element i of x is a larger one than element j; NaN is, and stays. */
static bool above(const eg_tensor *x, int64_t i, int64_t j)
{
    if (!eg__is_float(x->dtype)) {
        return eg__get_int_at(x, i) > eg__get_int_at(x, j);
    }
    double v = eg__get_at(x, i), top = eg__get_at(x, j);
    return v > top || (v != v && top == top);
}

eg_status eg__ref_max_pool(const eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0], *where = c->out[1];
    for (int64_t k = 0; y->n && k < y->shape[0] * y->shape[1]; k++) {
        for (int64_t i = 0; i < windows(o); i++) {
            window3 w = window_number(o, i);
            int64_t place[3], best = -1, top = 0;
            for (int64_t t = 0; t < taps(o); t++) {
                if (cell(o, &w, t, place)) {
                    int64_t at = element(x, k, place);
                    if (best < 0 || above(x, at, top)) {
                        best = t;
                        top = at;
                    }
                }
            }
            if (best >= 0) {
                eg__move(y, element(y, k, w.p), x, top);
            } else {
                eg__set_at(y, element(y, k, w.p), 0);
            }
            eg__set_int_at(where, element(where, k, w.p), best);
        }
    }
    return EG_OK;
}

/* dy, taps -> dx */
eg_status eg__ref_max_pool_grad(const eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    const eg_tensor *dy = c->in[0], *where = c->in[1], *dx = c->out[0];
    memset(eg__ptr(dx), 0, (size_t)dx->n * eg__esize(dx));
    for (int64_t k = 0; dy->n && k < dy->shape[0] * dy->shape[1]; k++) {
        for (int64_t i = 0; i < windows(o); i++) {
            window3 w = window_number(o, i);
            int64_t place[3];
            if (cell(o, &w, eg__get_int_at(where, element(where, k, w.p)), place)) {
                int64_t at = element(dx, k, place);
                eg__set_at(dx, at, eg__get_at(dx, at) + eg__get_at(dy, element(dy, k, w.p)));
            }
        }
    }
    return EG_OK;
}

/* x, taps -> x there */
eg_status eg__ref_max_pool_take(const eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *where = c->in[1], *y = c->out[0];
    for (int64_t k = 0; y->n && k < y->shape[0] * y->shape[1]; k++) {
        for (int64_t i = 0; i < windows(o); i++) {
            window3 w = window_number(o, i);
            int64_t place[3], tap = eg__get_int_at(where, element(where, k, w.p));
            double v = cell(o, &w, tap, place) ? eg__get_at(x, element(x, k, place)) : 0;
            eg__set_at(y, element(y, k, w.p), v);
        }
    }
    return EG_OK;
}

/* taps -> places in the plane */
eg_status eg__ref_max_pool_places(const eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    const eg_tensor *where = c->in[0], *y = c->out[0];
    for (int64_t k = 0; y->n && k < y->shape[0] * y->shape[1]; k++) {
        for (int64_t i = 0; i < windows(o); i++) {
            window3 w = window_number(o, i);
            int64_t p[3];
            cell(o, &w, eg__get_int_at(where, element(where, k, w.p)), p);
            eg__set_int_at(y, element(y, k, w.p), (p[0] * o->in[1] + p[1]) * o->in[2] + p[2]);
        }
    }
    return EG_OK;
}

eg_status eg__ref_avg_pool(const eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    for (int64_t k = 0; y->n && k < y->shape[0] * y->shape[1]; k++) {
        for (int64_t i = 0; i < windows(o); i++) {
            window3 w = window_number(o, i);
            int64_t place[3];
            double sum = 0;
            for (int64_t t = 0; t < taps(o); t++) {
                sum += cell(o, &w, t, place) ? eg__get_at(x, element(x, k, place)) : 0;
            }
            eg__set_at(y, element(y, k, w.p), sum / divisor(o, &w));
        }
    }
    return EG_OK;
}

eg_status eg__ref_avg_pool_grad(const eg__call *c)
{
    const eg__pool_opts *o = c->opts;
    const eg_tensor *dy = c->in[0], *dx = c->out[0];
    memset(eg__ptr(dx), 0, (size_t)dx->n * eg__esize(dx));
    for (int64_t k = 0; dy->n && k < dy->shape[0] * dy->shape[1]; k++) {
        for (int64_t i = 0; i < windows(o); i++) {
            window3 w = window_number(o, i);
            double share = eg__get_at(dy, element(dy, k, w.p)) / divisor(o, &w);
            for (int64_t t = 0; t < taps(o); t++) {
                int64_t place[3];
                if (cell(o, &w, t, place)) {
                    int64_t at = element(dx, k, place);
                    eg__set_at(dx, at, eg__get_at(dx, at) + share);
                }
            }
        }
    }
    return EG_OK;
}
