/* layout.c - shapes, strides and walks over several operands at once. */
#include "lib/core/layout.h"

#include "lib/core/error.h"
#include "lib/core/parallel.h"

/* ---- checks -------------------------------------------------------------------------------- */

eg_status eg__check_shape(const char *op, int ndim, const int64_t *shape, int dtype, int64_t *n)
{
    if (ndim < 0 || ndim > EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, op, "rank %d is outside 0..%d", ndim, EG_MAX_DIMS);
    }
    if ((unsigned)dtype >= EG_DTYPE_COUNT) {
        return eg__fail(EG_EDTYPE, op, "dtype %d is none of the %d there are", dtype, EG_DTYPE_COUNT);
    }
    int64_t count = 1;
    bool empty = false, over = false;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0) {
            return eg__fail(EG_ESHAPE, op, "size %lld of axis %d is negative in %s", (long long)shape[d], d,
                            eg__shape_text(ndim, shape).s);
        }
        empty |= shape[d] == 0;
        over |= __builtin_mul_overflow(count, shape[d] ? shape[d] : 1, &count);
    }
    int64_t bytes;
    if (!empty && (over || __builtin_mul_overflow(count, eg__dtype_sizes[dtype], &bytes))) {
        return eg__fail(EG_ESHAPE, op, "%s has more bytes than fit 64 bits", eg__shape_text(ndim, shape).s);
    }
    *n = empty ? 0 : count;
    return EG_OK;
}

int eg__axis(const char *op, int ndim, int64_t axis)
{
    if (axis < -ndim || axis >= ndim) {
        eg__fail(EG_ESHAPE, op, "axis %lld is outside rank %d", (long long)axis, ndim);
        return -1;
    }
    return (int)(axis < 0 ? axis + ndim : axis);
}

int eg__line_axis(const char *op, int ndim, int64_t axis)
{
    return likely(ndim > 0) || (axis != 0 && axis != -1) ? eg__axis(op, ndim, axis) : 0;
}

eg_status eg__axes_mask(const char *op, int ndim, const eg_axes *axes, unsigned *mask)
{
    int count = axes ? axes->count : 0;
    *mask = count ? 0 : (1u << ndim) - 1;
    if (count < 0 || count > EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, op, "%d axes given, 0..%d are possible", count, EG_MAX_DIMS);
    }
    for (int i = 0; i < count; i++) {
        int a = eg__line_axis(op, ndim, axes->axis[i]);
        if (a < 0) {
            return EG_ESHAPE;
        }
        if (*mask >> a & 1) {
            return eg__fail(EG_ESHAPE, op, "axis %d is given twice", a);
        }
        *mask |= 1u << a;
    }
    *mask &= (1u << ndim) - 1; /* a 0-dim tensor has none */
    return EG_OK;
}

/* ---- strides ------------------------------------------------------------------------------- */

void eg__desc_dense(eg__desc *d)
{
    d->dense = true;
    d->n = 1;
    for (int a = 0; a < d->ndim; a++) {
        d->n *= d->shape[a];
    }
}

void eg__desc_like(eg__desc *d, const eg_tensor *t)
{
    d->dtype = t->dtype;
    d->device = t->device;
    d->ndim = t->ndim;
    d->n = t->n;
    for (int a = 0; a < t->ndim; a++) {
        d->shape[a] = t->shape[a];
    }
    d->dense = t->flags & EG__DENSE || !(t->flags & EG__PACKED);
    if (unlikely(!d->dense)) {
        for (int a = 0; a < t->ndim; a++) {
            d->strides[a] = t->strides[a];
        }
    }
}

void eg__desc_order(eg__desc *d, const eg_tensor *t)
{
    d->dense = t->flags & EG__DENSE || !(t->flags & EG__PACKED);
    int64_t step = 1;
    for (unsigned left = d->dense ? 0 : (1u << d->ndim) - 1; left;) {
        int next = -1;
        for (int a = 0; a < d->ndim; a++) {
            next = left >> a & 1 && (next < 0 || t->strides[a] <= t->strides[next]) ? a : next;
        }
        d->strides[next] = step;
        step *= d->shape[next];
        left &= ~(1u << next);
    }
}

uint8_t eg__layout_flags(int ndim, const int64_t *shape, const int64_t *strides)
{
    int64_t step = 1;
    bool dense = true;
    for (int d = ndim; d-- > 0; step *= shape[d]) {
        dense &= shape[d] == 1 || strides[d] == step;
    }
    if (dense || step == 0) {
        return EG__DENSE | EG__PACKED;
    }
    /* Packed: going from the smallest stride up, each is the product of the sizes passed. */
    unsigned left = 0;
    for (int d = 0; d < ndim; d++) {
        left |= shape[d] != 1 ? 1u << d : 0;
    }
    for (step = 1; left;) {
        int next = -1;
        for (int d = 0; d < ndim; d++) {
            next = left >> d & 1 && strides[d] == step ? d : next;
        }
        if (next < 0) {
            return 0;
        }
        step *= shape[next];
        left &= ~(1u << next);
    }
    return EG__PACKED;
}

void eg__channels_last(int ndim, const int64_t *shape, int64_t *strides)
{
    int64_t step = shape[1];
    strides[1] = 1;
    for (int d = ndim; d-- > 0;) {
        if (d != 1) {
            strides[d] = step;
            step *= shape[d];
        }
    }
}

bool eg__same_shape(const eg_tensor *a, const eg_tensor *b)
{
    if (a->ndim != b->ndim) {
        return false;
    }
    for (int d = 0; d < a->ndim; d++) {
        if (a->shape[d] != b->shape[d]) {
            return false;
        }
    }
    return true;
}

bool eg__same_strides(const eg_tensor *a, const eg_tensor *b)
{
    for (int d = 0; d < a->ndim; d++) {
        if (a->shape[d] != 1 && a->strides[d] != b->strides[d]) {
            return false;
        }
    }
    return true;
}

eg_status eg__broadcast(const char *op, eg_tensor *const *in, int nin, eg__desc *d)
{
    int nd = 0;
    for (int i = 0; i < nin; i++) {
        nd = in[i]->ndim > nd ? in[i]->ndim : nd;
    }
    d->ndim = (uint8_t)nd;
    for (int a = 0; a < nd; a++) {
        int64_t size = 1;
        for (int i = 0; i < nin; i++) {
            int k = a - (nd - in[i]->ndim);
            int64_t s = k < 0 ? 1 : in[i]->shape[k];
            if (s != 1 && size != 1 && s != size) {
                return eg__fail(EG_ESHAPE, op, "shapes do not broadcast: %s and %s", EG__SHAPE_OF(in[0]),
                                EG__SHAPE_OF(in[i]));
            }
            size = s == 1 ? size : s;
        }
        d->shape[a] = size;
    }
    eg__desc_dense(d);
    int64_t n;
    if (eg__check_shape(op, nd, d->shape, EG_F64, &n)) {
        return EG_ESHAPE;
    }
    d->n = n;
    /* A full-size input that is packed in another order hands that order on. */
    for (int i = 0; i < nin; i++) {
        if (in[i]->n == n && in[i]->ndim == nd && in[i]->flags & EG__PACKED) {
            d->dense = in[i]->flags & EG__DENSE;
            for (int a = 0; !d->dense && a < nd; a++) {
                d->strides[a] = in[i]->strides[a];
            }
            break;
        }
    }
    return EG_OK;
}

int64_t eg__place(int ndim, const int64_t *shape, const int64_t *strides, int64_t i)
{
    int64_t at = 0;
    for (int d = ndim; d-- > 0; i /= shape[d]) {
        at += i % shape[d] * strides[d];
    }
    return at;
}

/* ---- walks --------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

void eg__iter_init(eg__iter *it, eg_tensor *const *ops, int nops)
{
    const eg_tensor *y = ops[0];
    int order[EG_MAX_DIMS], nd = 0;
    it->nops = nops;
    it->n = y->n;
    for (int k = 0; k < nops; k++) {
        it->ptr[k] = eg__ptr(ops[k]);
    }
    /* Axes by falling stride of operand 0, so that the last is innermost in memory. */
    for (int d = 0; d < y->ndim; d++) {
        if (y->shape[d] == 1) {
            continue;
        }
        int at = nd++;
        while (at > 0 && magnitude(y->strides[order[at - 1]]) < magnitude(y->strides[d])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = d;
    }
    it->ndim = 0;
    for (int i = 0; i < nd; i++) {
        int d = order[i], o = it->ndim;
        int64_t step[EG__ITER_MAX];
        bool merge = o > 0;
        for (int k = 0; k < nops; k++) {
            const eg_tensor *t = ops[k];
            int a = d - (y->ndim - t->ndim);
            step[k] = a < 0 || t->shape[a] == 1 ? 0 : t->strides[a] * (int64_t)eg__esize(t);
            merge = merge && it->strides[k][o - 1] == step[k] * y->shape[d];
        }
        o -= merge;
        it->shape[o] = (merge ? it->shape[o] : 1) * y->shape[d];
        for (int k = 0; k < nops; k++) {
            it->strides[k][o] = step[k];
        }
        it->ndim = o + 1;
    }
    if (!it->ndim) {
        it->ndim = 1;
        it->shape[0] = it->n;
        for (int k = 0; k < nops; k++) {
            it->strides[k][0] = 0;
        }
    }
}

typedef struct walk {
    const eg__iter *it;
    eg__iter_fn *fn;
    void *ctx;
} walk;

/* Elements begin..end of the walk, in rows along the innermost axis. */
static void run_range(void *ctx, int64_t begin, int64_t end)
{
    const walk *w = ctx;
    const eg__iter *it = w->it;
    int last = it->ndim - 1;
    int64_t row = it->shape[last], index[EG_MAX_DIMS], steps[EG__ITER_MAX], rest = begin;
    char *ptr[EG__ITER_MAX];
    for (int k = 0; k < it->nops; k++) {
        ptr[k] = it->ptr[k];
        steps[k] = it->strides[k][last];
    }
    for (int d = last; d >= 0; d--) {
        index[d] = rest % it->shape[d];
        rest /= it->shape[d];
        for (int k = 0; k < it->nops; k++) {
            ptr[k] += index[d] * it->strides[k][d];
        }
    }
    while (begin < end) {
        int64_t run = eg__min(row - index[last], end - begin);
        w->fn(w->ctx, run, ptr, steps);
        begin += run;
        index[last] += run;
        for (int k = 0; k < it->nops; k++) {
            ptr[k] += run * steps[k];
        }
        for (int d = last; d > 0 && index[d] == it->shape[d]; d--) {
            index[d] = 0;
            index[d - 1]++;
            for (int k = 0; k < it->nops; k++) {
                ptr[k] += it->strides[k][d - 1] - it->shape[d] * it->strides[k][d];
            }
        }
    }
}

void eg__iter_run(const eg__iter *it, int64_t grain, eg__iter_fn *fn, void *ctx)
{
    walk w = {it, fn, ctx};
    if (it->n > 0) {
        eg__parallel(it->n, grain, run_range, &w);
    }
}
