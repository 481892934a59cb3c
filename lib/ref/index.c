/* index.c - picking and putting, element by element. Indices come checked: 0..size-1; of index_select and index_add on
 * a device perhaps as they are, which eg__index_opts says. */
#include <egret/ops/index.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

/* index is outside low..high-1 at its element i */
static EG__COLD eg_status outside(const eg__check_opts *o, const eg_tensor *index, int64_t i, int64_t low, int64_t high)
{
    const long long v = (long long)eg__get_int_at(index, i);
    int64_t at[EG_MAX_DIMS], rest = i;
    if (o->axes) {
        return eg__fail(EG_EINDEX, o->name, "index %lld of axis %d at place %lld is outside %lld..%lld", v,
                        (int)(i % o->axes), (long long)(i / o->axes), (long long)low, (long long)high - 1);
    }
    for (int d = index->ndim; d-- > 0; rest /= index->shape[d]) {
        at[d] = rest % index->shape[d];
    }
    return eg__fail(EG_EINDEX, o->name, "index %lld at position %s is outside %lld..%lld", v,
                    eg__shape_text(index->ndim, at).s, (long long)low, (long long)high - 1);
}

eg_status eg__ref_checked_index(const eg__call *c)
{
    const eg__check_opts *o = c->opts;
    const eg_tensor *index = c->in[0], *y = c->out[0];
    const int64_t *from = index->dtype == EG_I64 ? (const int64_t *)eg__ptr(index) : NULL;
    int64_t *p = (int64_t *)eg__ptr(y);
    for (int64_t i = 0, a = 0; i < y->n; i++) {
        const int64_t size = o->size[a], low = o->strict ? 0 : -size;
        const int64_t v = from ? from[i] : eg__get_int_at(index, i);
        if (v < low || v >= size) {
            return outside(o, index, i, low, size);
        }
        p[i] = v + (v < 0 ? size : 0);
        a = a + 1 < o->axes ? a + 1 : 0;
    }
    return EG_OK;
}

static int64_t product(const int64_t *shape, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) {
        n *= shape[d];
    }
    return n;
}

/* y[to] += x[from] */
static void accumulate(const eg_tensor *y, int64_t to, const eg_tensor *x, int64_t from)
{
    if (eg__is_float(y->dtype)) {
        eg__set_at(y, to, eg__get_at(y, to) + eg__get_at(x, from));
    } else {
        uint64_t sum = (uint64_t)eg__get_int_at(y, to) + (uint64_t)eg__get_int_at(x, from);
        eg__set_int_at(y, to, (int64_t)sum);
    }
}

/* y = base, or zeros. */
static void start(const eg_tensor *y, const eg_tensor *base)
{
    memset(eg__ptr(y), 0, (size_t)y->n * eg__esize(y));
    for (int64_t i = 0; base && i < y->n; i++) {
        eg__move(y, i, base, eg__at(base, y, i));
    }
}

/* Where element i of the index points, of `size` places. */
static eg_status place(const eg__index_opts *o, const eg_tensor *index, int64_t i, int64_t size, int64_t *at)
{
    const int64_t low = o->raw == EG__RAW_FROM_END ? -size : 0;
    *at = eg__get_int_at(index, i);
    if (o->raw && (*at < low || *at >= size)) {
        return outside(&(eg__check_opts){.name = o->name}, index, i, low, size);
    }
    *at += o->raw && *at < 0 ? size : 0;
    return EG_OK;
}

eg_status eg__ref_index_select(const eg__call *c)
{
    const eg__index_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    int64_t size = x->shape[o->axis], inner = product(x->shape, o->axis + 1, x->ndim);
    for (int64_t i = 0; i < y->n; i++) {
        int64_t k, outer = i / inner / index->n;
        if (place(o, index, i / inner % index->n, size, &k)) {
            return eg__why();
        }
        eg__move(y, i, x, (outer * size + k) * inner + i % inner);
    }
    return EG_OK;
}

eg_status eg__ref_index_add(const eg__call *c)
{
    const eg__index_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    int64_t inner = product(y->shape, o->axis + 1, y->ndim);
    start(y, c->nin > 2 ? c->in[2] : NULL);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t k, outer = i / inner / index->n;
        if (place(o, index, i / inner % index->n, o->size, &k)) {
            return eg__why();
        }
        if (k != o->skip) {
            accumulate(y, (outer * o->size + k) * inner + i % inner, x, i);
        }
    }
    return EG_OK;
}

/* Where element i of the index points to in t. */
static int64_t target(const eg_tensor *index, int64_t i, int axis, const eg_tensor *t)
{
    int64_t at = 0, k = eg__get_int_at(index, eg__at(index, index, i));
    for (int d = index->ndim; d-- > 0; i /= index->shape[d]) {
        at += (d == axis ? k : i % index->shape[d]) * t->strides[d];
    }
    return at;
}

eg_status eg__ref_gather(const eg__call *c)
{
    const eg__axis_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        eg__move(y, i, x, target(index, i, o->axis, x));
    }
    return EG_OK;
}

eg_status eg__ref_scatter(const eg__call *c)
{
    const eg__scatter_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    start(y, c->nin > 2 ? c->in[2] : NULL);
    for (int64_t i = 0; i < x->n; i++) {
        eg__move(y, target(index, i, o->axis, y), x, eg__at(x, x, i));
    }
    return EG_OK;
}

eg_status eg__ref_scatter_add(const eg__call *c)
{
    const eg__scatter_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    start(y, c->nin > 2 ? c->in[2] : NULL);
    for (int64_t i = 0; i < x->n; i++) {
        accumulate(y, target(index, i, o->axis, y), x, eg__at(x, x, i));
    }
    return EG_OK;
}

eg_status eg__ref_scatter_reduce(const eg__call *c)
{
    const eg__scatter_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *index = c->in[1], *y = c->out[0];
    start(y, c->in[2]);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t to = target(index, i, o->axis, y), from = eg__at(x, x, i);
        if (eg__is_float(y->dtype)) {
            double a = eg__get_at(y, to), b = eg__get_at(x, from);
            bool take = b != b || (o->mode == EG_SCATTER_MAX ? b > a : b < a);
            eg__set_at(y, to, o->mode == EG_SCATTER_MUL ? a * b : take && a == a ? b : a);
        } else {
            int64_t a = eg__get_int_at(y, to), b = eg__get_int_at(x, from);
            bool take = o->mode == EG_SCATTER_MAX ? b > a : b < a;
            int64_t ab = (int64_t)((uint64_t)a * (uint64_t)b);
            eg__set_int_at(y, to, o->mode == EG_SCATTER_MUL ? ab : take ? b : a);
        }
    }
    return EG_OK;
}

eg_status eg__ref_ravel_index(const eg__call *c)
{
    const eg__shape_opts *o = c->opts;
    const eg_tensor *index = c->in[0], *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        int64_t at = 0;
        for (int d = 0; d < o->ndim; d++) {
            at = at * o->shape[d] + eg__get_int_at(index, i * o->ndim + d);
        }
        eg__set_int_at(y, i, at);
    }
    return EG_OK;
}

eg_status eg__ref_unravel_index(const eg__call *c)
{
    const eg__shape_opts *o = c->opts;
    const eg_tensor *index = c->in[0], *y = c->out[0];
    for (int64_t i = 0; i < index->n; i++) {
        int64_t rest = eg__get_int_at(index, i);
        for (int d = o->ndim; d-- > 0; rest /= o->shape[d]) {
            eg__set_int_at(y, i * o->ndim + d, rest % o->shape[d]);
        }
    }
    return EG_OK;
}

eg_status eg__ref_nonzero(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    int64_t row = 0;
    for (int64_t i = 0; i < x->n; i++) {
        if (eg__get_int_at(x, i)) {
            int64_t rest = i;
            for (int d = x->ndim; d-- > 0; rest /= x->shape[d]) {
                eg__set_int_at(y, row * x->ndim + d, rest % x->shape[d]);
            }
            row++;
        }
    }
    return EG_OK;
}

eg_status eg__ref_one_hot(const eg__call *c)
{
    const eg__one_hot_opts *o = c->opts;
    const eg_tensor *ids = c->in[0], *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        eg__set_at(y, i, eg__get_int_at(ids, i / o->depth) == i % o->depth ? o->on : o->off);
    }
    return EG_OK;
}
