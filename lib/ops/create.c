/* create.c - tensors from nothing, from numbers and from the caller's memory. */
#include <math.h>
#include <stdlib.h>

#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"
#include "lib/ops/optable.h"

/* On the device with this id; a negative one failed already. */
static eg_tensor *make(int device, const char *op, eg_shape shape, int dtype)
{
    eg__desc d = {.dtype = (uint8_t)dtype, .ndim = (uint8_t)shape.ndim, .dense = true, .device = (uint8_t)device};
    if (device < 0 || eg__check_shape(op, shape.ndim, shape.dim, dtype, &d.n)) {
        return NULL;
    }
    memcpy(d.shape, shape.dim, sizeof d.shape);
    return eg__new(&d, op, EG__OP_COUNT);
}

/* The device of the thread's makers. */
static int here(const char *op)
{
    eg__thread *T = eg__thread_get();
    return likely(!T->device) ? 0 : eg__default_device(T, op);
}

/* What was made on the CPU, where it belongs. */
static eg_tensor *bring(int device, eg_tensor *t)
{
    return t && device > 0 ? eg_to(t, eg__devices[device]) : t;
}

eg_tensor *eg_empty(eg_shape shape, eg_dtype dtype)
{
    return make(here("empty"), "empty", shape, (int)dtype);
}

eg_tensor *eg__empty_on(int device, eg_shape shape, eg_dtype dtype)
{
    return make(device, "empty", shape, (int)dtype);
}

typedef struct fill {
    char *p;
    size_t size;
    uint64_t bits;
} fill;

static void fill_range(void *ctx, int64_t begin, int64_t end)
{
    const fill *f = ctx;
    switch (f->size) {
    case 1:
        memset(f->p + begin, (int)(f->bits & 0xff), (size_t)(end - begin));
        break;
    case 2:
        for (int64_t i = begin; i < end; i++) {
            ((uint16_t *)f->p)[i] = (uint16_t)f->bits;
        }
        break;
    case 4:
        for (int64_t i = begin; i < end; i++) {
            ((uint32_t *)f->p)[i] = (uint32_t)f->bits;
        }
        break;
    default:
        for (int64_t i = begin; i < end; i++) {
            ((uint64_t *)f->p)[i] = f->bits;
        }
    }
}

/* A number as an element. */
static uint64_t bits_of(double value, eg_dtype dtype)
{
    uint64_t bits = 0;
    eg__store(&bits, (int)dtype, 0, value);
    return bits;
}

static uint64_t bits_of_int(int64_t value, eg_dtype dtype)
{
    uint64_t bits = 0;
    eg__store_nearest(&bits, (int)dtype, 0, value);
    return bits;
}

/* Of bits; 0 has none in any dtype. */
static eg_tensor *filled(int device, const char *op, eg_shape shape, uint64_t bits, eg_dtype dtype)
{
    eg_tensor *t = make(device, op, shape, (int)dtype);
    if (t && t->n) {
        fill f = {eg__ptr(t), eg__esize(t), bits};
        if (unlikely(device)) {
            return eg__fill(op, eg__thread_get(), t, bits) ? NULL : t;
        }
        if (t->n == 1) {
            fill_range(&f, 0, 1);
        } else {
            eg__parallel(t->n, 4 * EG__GRAIN, fill_range, &f);
        }
    }
    return t;
}

eg_tensor *eg_zeros(eg_shape shape, eg_dtype dtype)
{
    return filled(here("zeros"), "zeros", shape, 0, dtype);
}

eg_tensor *eg_ones(eg_shape shape, eg_dtype dtype)
{
    return filled(here("ones"), "ones", shape, bits_of(1, dtype), dtype);
}

eg_tensor *eg_full(eg_shape shape, double value, eg_dtype dtype)
{
    return filled(here("full"), "full", shape, bits_of(value, dtype), dtype);
}

eg_tensor *eg_full_int(eg_shape shape, int64_t value, eg_dtype dtype)
{
    return filled(here("full_int"), "full_int", shape, bits_of_int(value, dtype), dtype);
}

eg_tensor *eg__full_on(int device, eg_shape shape, double value, eg_dtype dtype)
{
    return filled(device, "full", shape, bits_of(value, dtype), dtype);
}

static eg_tensor *filled_like(const char *op, eg_tensor *x, uint64_t bits)
{
    return filled(x->device, op, eg_shape_of(x), bits, (eg_dtype)x->dtype);
}

eg_tensor *eg_zeros_like(eg_tensor *x)
{
    return eg__check(x, "zeros_like", "x") ? NULL : filled_like("zeros_like", x, 0);
}

eg_tensor *eg_ones_like(eg_tensor *x)
{
    return eg__check(x, "ones_like", "x") ? NULL : filled_like("ones_like", x, bits_of(1, (eg_dtype)x->dtype));
}

eg_tensor *eg_full_like(eg_tensor *x, double value)
{
    return eg__check(x, "full_like", "x") ? NULL : filled_like("full_like", x, bits_of(value, (eg_dtype)x->dtype));
}

eg_tensor *eg_full_like_int(eg_tensor *x, int64_t value)
{
    return eg__check(x, "full_like_int", "x") ? NULL
                                              : filled_like("full_like_int", x, bits_of_int(value, (eg_dtype)x->dtype));
}

eg_tensor *eg_scalar(double value, eg_dtype dtype)
{
    return filled(0, "scalar", EG_SCALAR, bits_of(value, dtype), dtype);
}

eg_tensor *eg_scalar_int(int64_t value, eg_dtype dtype)
{
    return filled(0, "scalar_int", EG_SCALAR, bits_of_int(value, dtype), dtype);
}

/* ---- numbers in a row ------------------------------------------------------------------------ */

eg_status eg__infer_arange(eg__call *c)
{
    const eg__arange_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    d->dtype = (uint8_t)o->dtype;
    d->ndim = 1;
    d->shape[0] = o->n;
    d->dense = true;
    return eg__check_shape(c->op->name, 1, d->shape, o->dtype, &d->n);
}

static eg_tensor *terms(int device, const char *op, int64_t n, eg_dtype dtype, eg__terms t)
{
    const eg__arange_opts o = {t, n, (int)dtype};
    eg_tensor *y = make(device, op, EG_SHAPE(n), (int)dtype);
    eg_tensor *none[1] = {NULL};
    return !y || (y->n && eg__run(&eg__op_arange, none, 0, &o, y)) ? NULL : y;
}

/* n integers from first on; those before the last are in the dtype if both ends are. */
static eg_tensor *counted(int device, const char *op, int64_t n, eg_dtype dtype, int64_t first, int64_t by)
{
    const int64_t least = eg__least((int)dtype), most = eg__most((int)dtype);
    const uint64_t room = by < 0 ? (uint64_t)first - (uint64_t)least : (uint64_t)most - (uint64_t)first;
    const uint64_t step = by < 0 ? 0 - (uint64_t)by : (uint64_t)by;
    if (n > 0 && (first < least || first > most || (step && (uint64_t)(n - 1) > room / step))) {
        return eg__fail_null(EG_EINVAL, op, "%lld numbers from %lld in steps of %lld: outside %s", (long long)n,
                             (long long)first, (long long)by, eg_dtype_name(dtype));
    }
    return terms(device, op, n, dtype, (eg__terms){.kind = EG__TERMS_COUNTED, .first = first, .by = by});
}

static bool in_int64(double v)
{
    return v >= -0x1p63 && v < 0x1p63;
}

/* The first two truncated, the others in steps of their difference. */
static eg_tensor *truncated(int device, double start, double step, int64_t n, eg_dtype dtype)
{
    const double second = n > 1 ? start + step : start;
    int64_t by, first = eg__load_int(&start, EG_F64, 0), next = eg__load_int(&second, EG_F64, 0);
    if (!in_int64(start) || !in_int64(second) || __builtin_sub_overflow(next, first, &by)) {
        return eg__fail_null(EG_EINVAL, "arange", "start %g, step %g: outside %s", start, step, eg_dtype_name(dtype));
    }
    return counted(device, "arange", n, dtype, first, by);
}

/* Whether a dtype is one of integers or bool. */
static bool counts(eg_dtype dtype)
{
    return (unsigned)dtype < EG_DTYPE_COUNT && !eg__is_float((int)dtype);
}

eg_tensor *eg__arange_on(int device, double start, double stop, double step, eg_dtype dtype)
{
    double count = ceil((stop - start) / step);
    if (!isfinite(start) || !isfinite(stop) || !isfinite(step) || step == 0) {
        return eg__fail_null(EG_EINVAL, "arange",
                             "start %g, stop %g, step %g: limits must be "
                             "finite and the step not 0",
                             start, stop, step);
    }
    if (count >= 0x1p62) {
        return eg__fail_null(EG_ESHAPE, "arange", "%g elements are too many", count);
    }
    const int64_t n = count > 0 ? (int64_t)count : 0;
    return counts(dtype) ? truncated(device, start, step, n, dtype)
                         : terms(device, "arange", n, dtype, (eg__terms){.start = start, .stop = stop, .step = step});
}

eg_tensor *eg_arange(double start, double stop, double step, eg_dtype dtype)
{
    return eg__arange_on(here("arange"), start, stop, step, dtype);
}

eg_tensor *eg_arange_int(int64_t start, int64_t stop, int64_t step, eg_dtype dtype)
{
    static const char op[] = "arange_int";
    const bool up = step > 0;
    const uint64_t way = up ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    const uint64_t by = up ? (uint64_t)step : 0 - (uint64_t)step;
    if (step == 0) {
        return eg__fail_null(EG_EINVAL, op, "the step is 0");
    }
    const uint64_t n = (up ? start < stop : start > stop) ? (way - 1) / by + 1 : 0;
    if (n >= 1ull << 62) {
        return eg__fail_null(EG_ESHAPE, op, "%llu elements are too many", (unsigned long long)n);
    }
    return counted(here(op), op, (int64_t)n, dtype, start, step);
}

eg_tensor *eg_linspace(double start, double stop, int64_t n, eg_dtype dtype)
{
    const double step = n > 1 ? (stop - start) / (double)(n - 1) : 0;
    eg__terms t = {.start = start, .stop = stop, .step = step, .ends = n};
    if (counts(dtype) && dtype != EG_BOOL) {
        const double low = floor(fmin(start, stop)), high = floor(fmax(start, stop));
        t.kind = EG__TERMS_FLOORED;
        if (!(low >= (double)eg__least((int)dtype) && high < (double)eg__most((int)dtype) + 1) || isnan(start + stop)) {
            return eg__fail_null(EG_EINVAL, "linspace", "%g to %g: outside %s", start, stop, eg_dtype_name(dtype));
        }
    }
    return terms(here("linspace"), "linspace", n, dtype, t);
}

eg_status eg__check_room(const char *op, uint8_t device, int ndim, const int64_t *shape, int dtype)
{
    int64_t n;
    eg_status st = eg__check_shape(op, ndim, shape, dtype, &n);
    return st ? st : eg__check_bytes(op, device, eg__bytes_of(n, dtype));
}

/* ---- ones on a diagonal ---------------------------------------------------------------------- */

static eg_tensor *device_eye(int device, int64_t rows, int64_t cols, int64_t k, eg_dtype dtype)
{
    if (eg__check_room("eye", (uint8_t)device, 2, (int64_t[]){rows, cols}, (int)dtype)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *row = eg__arange_on(device, (double)k, (double)(k + rows), 1, EG_I64);
    eg_tensor *col = row ? eg__arange_on(device, 0, (double)cols, 1, EG_I64) : NULL;
    return eg_scope_pop(s, eg_cast(eg_eq(eg_unsqueeze(row, 1), col), dtype));
}

eg_tensor *eg__eye_on(int device, int64_t rows, int64_t cols, int64_t k, eg_dtype dtype)
{
    int64_t n, shape[] = {rows, cols};
    if (device > 0) {
        return eg__check_shape("eye", 2, shape, (int)dtype, &n) ? NULL : device_eye(device, rows, cols, k, dtype);
    }
    eg_tensor *t = filled(device, "eye", EG_SHAPE(rows, cols), 0, dtype);
    if (t && t->n && k < cols && k > -rows) {
        for (int64_t r = k < 0 ? -k : 0; r < rows && r + k < cols; r++) {
            eg__store(eg__ptr(t), t->dtype, r * cols + r + k, 1);
        }
    }
    return t;
}

eg_tensor *eg_eye(int64_t rows, int64_t cols, int64_t k, eg_dtype dtype)
{
    return eg__eye_on(here("eye"), rows, cols, k, dtype);
}

eg_tensor *eg_from(eg_shape shape, eg_dtype dtype, const void *data)
{
    return eg__from_on(here("from"), shape, dtype, data);
}

eg_tensor *eg__from_on(int device, eg_shape shape, eg_dtype dtype, const void *data)
{
    eg_tensor *t = make(device, "from", shape, (int)dtype);
    if (t && t->n) {
        size_t bytes = (size_t)t->n * eg__esize(t);
        if (!data) {
            return eg__null_argument("from", "data"), NULL;
        }
        if (unlikely(t->device)) {
            eg__thread *T = eg__thread_get();
            return eg__upload("from", T, t, data, bytes) ? NULL : t;
        }
        memcpy(eg__ptr(t), data, bytes);
    }
    return t;
}

eg_tensor *eg_from_values(eg_shape shape, eg_dtype dtype, const double *values)
{
    int device = here("from_values");
    eg_scope s = eg_scope_push();
    eg_tensor *t = make(device < 0 ? -1 : 0, "from_values", shape, (int)dtype);
    if (t && t->n && !values) {
        eg__null_argument("from_values", "values");
        t = NULL;
    }
    for (int64_t i = 0; t && i < t->n; i++) {
        eg__store(eg__ptr(t), t->dtype, i, values[i]);
    }
    return eg_scope_pop(s, bring(device, t));
}

eg_tensor *eg_wrap(void *data, eg_shape shape, eg_dtype dtype, eg_free_fn free_fn, void *user)
{
    int64_t n;
    eg__thread *T = eg__thread_get();
    if (eg__check_shape("wrap", shape.ndim, shape.dim, (int)dtype, &n)) {
        return NULL;
    }
    size_t es = eg__dtype_sizes[dtype];
    if (n && !data) {
        return eg__null_argument("wrap", "data"), NULL;
    }
    if ((uintptr_t)data % es) {
        return eg__fail_null(EG_EINVAL, "wrap", "data %p is not aligned to %zu bytes", data, es);
    }
    eg__storage *s = eg__malloc(sizeof *s);
    eg_tensor *t = s && eg__own_room(T, 1) ? eg__header_new(T) : NULL;
    if (!t) {
        free(s);
        return eg__no_memory("wrap", (int64_t)sizeof *s), NULL;
    }
    *s = (eg__storage){.cls = EG__CLS_USER,
                       .made_by = EG__OP_COUNT,
                       .bytes = (size_t)n * es,
                       .data = data,
                       .free_fn = free_fn,
                       .user = user};
    eg__ref_init(&s->refs);
    eg__count(&T->live_bytes, (int64_t)s->bytes);
    t->storage = s;
    t->dtype = (uint8_t)dtype;
    t->ndim = (uint8_t)shape.ndim;
    t->made_by = EG__OP_COUNT;
    t->n = n;
    t->flags = EG__DENSE | EG__PACKED;
    int64_t step = 1;
    for (int d = shape.ndim; d-- > 0; step *= shape.dim[d]) {
        t->shape[d] = shape.dim[d];
        t->strides[d] = step;
    }
    eg__own(T, t);
    return t;
}
