/* stack.c - tensors of several samples as one, equal ones and padded ones. */
#include "data/chain/dataset.h"

#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "lib/ops/options.h"

/* ---- equal shapes ------------------------------------------------------------------------------------ */

/* Much for a copy: where a chain has workers, the processors are not idle. */
enum { GRAIN_BYTES = 1 << 20 };

typedef struct rows {
    const eg__sample *s;
    int k; /* the tensor of each */
    char *to;
    int64_t bytes; /* of one */
} rows;

static void copy_rows(void *ctx, int64_t begin, int64_t end)
{
    const rows *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        memcpy(r->to + i * r->bytes, eg__ptr(r->s[i].t[r->k]), (size_t)r->bytes);
    }
}

/* Whether t's memory is a row of y's as it is. */
static bool lies_as_row(const eg_tensor *t, const eg_tensor *y)
{
    for (int a = 0; a < t->ndim; a++) {
        if (t->shape[a] != 1 && t->strides[a] != y->strides[a + 1]) {
            return false;
        }
    }
    return true;
}

/* Like `first` with a new axis 0 outermost in memory too. */
static eg_tensor *empty_batch(const char *op, int64_t n, const eg_tensor *first)
{
    eg__desc row, d;
    eg__desc_like(&row, first);
    if (row.ndim == EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, op, "the rank of a batch would be %d", EG_MAX_DIMS + 1);
    }
    d = (eg__desc){.dtype = row.dtype, .ndim = (uint8_t)(row.ndim + 1), .dense = row.dense, .device = row.device};
    d.shape[0] = n;
    d.strides[0] = row.n;
    memcpy(d.shape + 1, row.shape, (size_t)row.ndim * sizeof *d.shape);
    memcpy(d.strides + 1, row.strides, (size_t)row.ndim * sizeof *d.strides);
    return eg__check_shape(op, d.ndim, d.shape, d.dtype, &d.n) ? NULL : eg__new(&d, op, EG__OP_COUNT);
}

/* The k-th tensors, which are alike. */
static eg_tensor *stack_one(const char *op, const eg__sample *s, int64_t n, int k)
{
    const eg_tensor *first = s[0].t[k];
    eg_tensor *y = empty_batch(op, n, first);
    if (!y || y->n == 0) {
        return y;
    }
    bool plain = !y->device;
    for (int64_t i = 0; i < n && plain; i++) {
        plain = lies_as_row(s[i].t[k], y);
    }
    if (plain) {
        rows r = {s, k, eg__ptr(y), first->n * (int64_t)eg__esize(y)};
        eg__parallel(n, GRAIN_BYTES / r.bytes + 1, copy_rows, &r);
        return y;
    }
    for (int64_t i = 0; i < n; i++) {
        eg_tensor *row = eg_select(y, 0, i), *t = s[i].t[k];
        if (!row || eg__run(&eg__op_copy, &t, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, row)) {
            return NULL;
        }
    }
    return y;
}

/* Whether the k-th tensor of sample i goes with that of the first. */
static eg_status check_alike(const char *op, const eg__sample *s, int64_t i, int k, bool sizes)
{
    const eg__sample *one = &s[i];
    if (one->n != s->n) {
        eg__fail(EG_ESHAPE, op, "sample %lld of the batch has %d tensors, the first %d", (long long)i, one->n, s->n);
        return eg__sample_blame(one);
    }
    const eg_tensor *t = one->t[k], *first = s->t[k];
    if (t->dtype != first->dtype) {
        eg__fail(EG_EDTYPE, op, "tensor %d of sample %lld of the batch is %s, of the first %s", k, (long long)i,
                 eg_dtype_name((eg_dtype)t->dtype), eg_dtype_name((eg_dtype)first->dtype));
        return eg__sample_blame(one);
    }
    if (t->device != first->device) {
        eg__fail(EG_EDEVICE, op, "tensor %d of sample %lld of the batch is on %s, of the first on %s", k, (long long)i,
                 eg__device(t)->name, eg__device(first)->name);
        return eg__sample_blame(one);
    }
    if (sizes ? !eg__same_shape(t, first) : t->ndim != first->ndim) {
        eg__fail(EG_ESHAPE, op, "tensor %d of sample %lld of the batch is %s, of the first %s", k, (long long)i,
                 EG__SHAPE_OF(t), EG__SHAPE_OF(first));
        return eg__sample_blame(one);
    }
    return EG_OK;
}

eg_status eg__stack(const char *op, const eg__sample *s, int64_t n, eg__sample *out)
{
    eg_tensor *t[EG_SAMPLE_MAX];
    eg_status st = EG_OK;
    eg_scope scope = eg_scope_push();
    st = scope.depth ? EG_OK : eg__why();
    for (int k = 0; k < s->n && !st; k++) {
        for (int64_t i = 1; i < n && !st; i++) {
            st = check_alike(op, s, i, k, true);
        }
        st = st ? st : (t[k] = stack_one(op, s, n, k)) ? EG_OK : eg__sample_blame(s);
    }
    eg__sample_origin(out, s);
    st = st ? st : eg__sample_keep(op, out, t, s->n);
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}

/* ---- padded -------------------------------------------------------------------------------------------- */

/* The shape that the k-th tensors are padded to. */
static eg_status padded_shape(const char *op, const eg__sample *s, int64_t n, int k, const eg_shape *asked,
                              eg_shape *shape)
{
    *shape = eg_shape_of(s->t[k]);
    for (int64_t i = 1; i < n; i++) {
        if (check_alike(op, s, i, k, false)) {
            return eg__why();
        }
        for (int a = 0; a < shape->ndim; a++) {
            shape->dim[a] = eg__max(shape->dim[a], s[i].t[k]->shape[a]);
        }
    }
    if (!asked || asked->ndim == 0) {
        return EG_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        const eg_tensor *t = s[i].t[k];
        bool fits = t->ndim == asked->ndim;
        for (int a = 0; a < t->ndim && fits; a++) {
            fits = asked->dim[a] == -1 || t->shape[a] <= asked->dim[a];
        }
        if (!fits) {
            eg__fail(EG_ESHAPE, op, "tensor %d, %s, does not go into %s", k, EG__SHAPE_OF(t),
                     eg__shape_text(asked->ndim, asked->dim).s);
            return eg__sample_blame(&s[i]);
        }
    }
    for (int a = 0; a < asked->ndim; a++) {
        shape->dim[a] = asked->dim[a] == -1 ? shape->dim[a] : asked->dim[a];
    }
    return EG_OK;
}

/* In the layout of the first. */
static eg_tensor *stack_padded(const char *op, const eg__sample *s, int64_t n, int k, double value, eg_shape shape)
{
    eg__desc d = {.ndim = (uint8_t)shape.ndim, .dtype = s->t[k]->dtype, .device = s->t[k]->device};
    memcpy(d.shape, shape.dim, sizeof d.shape);
    eg__desc_order(&d, s->t[k]);
    if (eg__check_shape(op, d.ndim, d.shape, d.dtype, &d.n)) {
        return NULL;
    }
    eg_tensor *like = eg__new(&d, op, EG__OP_COUNT);
    eg_tensor *y = like ? empty_batch(op, n, like) : NULL;
    y = eg_copy_(y, eg_scalar(value, (eg_dtype)d.dtype));
    for (int64_t i = 0; i < n && y; i++) {
        eg_tensor *t = s[i].t[k], *part = eg_select(y, 0, i);
        for (int a = 0; a < t->ndim; a++) {
            part = eg_slice(part, a, 0, t->shape[a], 1);
        }
        if (!eg_copy_(part, t)) {
            return NULL;
        }
    }
    return y;
}

eg_status eg__stack_padded(const char *op, const eg__sample *s, int64_t n, const double *value, const eg_shape *sizes,
                           eg__sample *out)
{
    eg_tensor *t[EG_SAMPLE_MAX];
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? EG_OK : eg__why();
    for (int k = 0; k < s->n && !st; k++) {
        eg_shape shape;
        st = padded_shape(op, s, n, k, sizes ? &sizes[k] : NULL, &shape);
        if (!st) {
            t[k] = stack_padded(op, s, n, k, value[k], shape);
            st = t[k] ? EG_OK : eg__sample_blame(s);
        }
    }
    eg__sample_origin(out, s);
    st = st ? st : eg__sample_keep(op, out, t, s->n);
    if (scope.depth) {
        eg_scope_pop(scope, NULL);
    }
    return st;
}
