/* random.c - random tensors and dropout: checks, and the thread's state moving on. */
#include <float.h>
#include <math.h>

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* Where the next op starts reading the thread's stream. Claimed once the op has succeeded, so that a
 * refused call leaves the sequence as it was. */
static eg_random_state here(void)
{
    return eg__thread_get()->random;
}

static eg_tensor *claim(eg_tensor *result, int64_t n, int64_t words)
{
    if (result) {
        eg__thread_get()->random.offset += ((uint64_t)n * (uint64_t)words + 3) / 4;
    }
    return result;
}

eg_status eg__infer_random(eg__call *c)
{
    const eg__random_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    d->dtype = (uint8_t)o->dtype;
    d->ndim = (uint8_t)o->ndim;
    d->dense = true;
    memcpy(d->shape, o->shape, sizeof d->shape);
    return eg__check_shape(c->op->name, o->ndim, o->shape, o->dtype, &d->n);
}

/* Fills in shape, dtype and place and runs; `words` of the stream per element. */
static eg_tensor *make(const char *name, eg__random_opts *o, eg_shape shape, eg_dtype dtype, unsigned dtypes)
{
    eg_tensor *out[EG__MAX_OUT];
    int64_t n;
    if (eg__check_shape(name, shape.ndim, shape.dim, (int)dtype, &n)) {
        return NULL;
    }
    if (!(dtypes >> dtype & 1)) {
        return eg__fail_null(EG_EDTYPE, name, "not for dtype %s", eg_dtype_name(dtype));
    }
    o->dtype = (int)dtype;
    o->ndim = shape.ndim;
    memcpy(o->shape, shape.dim, sizeof o->shape);
    o->from = here();
    bool one = o->kind == EG__RANDOM_BERNOULLI || (o->kind < EG__RANDOM_BERNOULLI && dtype != EG_F64);
    return claim(eg__dispatch(&eg__op_random, NULL, 0, o, out) ? NULL : out[0], n, one ? 1 : 2);
}

/* The largest number of a float dtype; others are refused later. */
static double largest(eg_dtype dtype)
{
    return dtype == EG_F32 ? FLT_MAX : dtype == EG_F16 ? 65504 : dtype == EG_BF16 ? 0x1.fep127 : DBL_MAX;
}

eg_tensor *eg_uniform(eg_shape shape, double low, double high, eg_dtype dtype)
{
    if (!(low < high) || !isfinite(high - low)) {
        return eg__fail_null(EG_EINVAL, "uniform", "low %g must be below high %g, both finite", low, high);
    }
    if (fmax(fabs(low), fabs(high)) > largest(dtype)) {
        return eg__fail_null(EG_EINVAL, "uniform", "low %g and high %g must be numbers of %s", low, high,
                             eg_dtype_name(dtype));
    }
    const float range = (float)high - (float)low; /* as kernels of all but f64 take it */
    if (dtype != EG_F64 && !isfinite(range)) {
        return eg__fail_null(EG_EINVAL, "uniform", "high %g - low %g is more than f32 holds, in which %s is drawn",
                             high, low, eg_dtype_name(dtype));
    }
    return make("uniform", &(eg__random_opts){.kind = EG__RANDOM_UNIFORM, .a = low, .b = high}, shape, dtype,
                EG__FLOATS);
}

static eg_tensor *bell(const char *name, int kind, eg_shape shape, double mean, double std, eg_dtype dtype)
{
    if (!(std >= 0) || !isfinite(std) || !isfinite(mean)) {
        return eg__fail_null(EG_EINVAL, name, "mean %g, std %g: must be finite and std not negative", mean, std);
    }
    if (fmax(fabs(mean), std) > largest(dtype)) {
        return eg__fail_null(EG_EINVAL, name, "mean %g and std %g must be numbers of %s", mean, std,
                             eg_dtype_name(dtype));
    }
    return make(name, &(eg__random_opts){.kind = kind, .a = mean, .b = std}, shape, dtype, EG__FLOATS);
}

eg_tensor *eg_normal(eg_shape shape, double mean, double std, eg_dtype dtype)
{
    return bell("normal", EG__RANDOM_NORMAL, shape, mean, std, dtype);
}

eg_tensor *eg_truncated_normal(eg_shape shape, double mean, double std, eg_dtype dtype)
{
    return bell("truncated_normal", EG__RANDOM_TRUNCATED, shape, mean, std, dtype);
}

static bool is_probability(double p)
{
    return p >= 0 && p <= 1;
}

eg_tensor *eg_bernoulli(eg_shape shape, double p, eg_dtype dtype)
{
    if (!is_probability(p)) {
        return eg__fail_null(EG_EINVAL, "bernoulli", "p %g is outside 0..1", p);
    }
    return make("bernoulli", &(eg__random_opts){.kind = EG__RANDOM_BERNOULLI, .a = p}, shape, dtype, EG__ANY);
}

/* The integers a dtype holds without a gap: from -most, of integers from their least. */
static int64_t gapless(eg_dtype dtype)
{
    return dtype == EG_F64    ? (int64_t)1 << 53
           : dtype == EG_F32  ? 1 << 24
           : dtype == EG_F16  ? 1 << 11
           : dtype == EG_BF16 ? 1 << 8
                              : eg__most((int)dtype);
}

/* Floats are those of i64, converted. */
static eg_tensor *integers(eg_shape shape, int64_t low, int64_t high, eg_dtype dtype)
{
    return make("randint",
                &(eg__random_opts){.kind = EG__RANDOM_INTEGERS, .low = low, .range = (uint64_t)high - (uint64_t)low},
                shape, dtype, EG__INTS);
}

eg_tensor *eg_randint(eg_shape shape, int64_t low, int64_t high, eg_dtype dtype)
{
    const bool real = (unsigned)dtype < EG_DTYPE_COUNT && eg__is_float((int)dtype);
    const int64_t most = gapless(dtype), least = real ? -most : eg__least((int)dtype);
    if (low >= high || low < least || high - 1 > most) {
        return eg__fail_null(EG_EINVAL, "randint", "low %lld must be below high %lld, both within %s", (long long)low,
                             (long long)high, eg_dtype_name(dtype));
    }
    if (!real) {
        return integers(shape, low, high, dtype);
    }
    const eg_random_state before = here();
    eg_scope s = eg_scope_push();
    eg_tensor *whole = integers(shape, low, high, EG_I64), *y = whole ? eg_cast(whole, dtype) : NULL;
    if (!y) {
        eg__thread_get()->random = before;
    }
    return eg_scope_pop(s, y);
}

eg_tensor *eg_permutation(int64_t n)
{
    return make("permutation", &(eg__random_opts){.kind = EG__RANDOM_PERMUTATION}, EG_SHAPE(n), EG_I64, EG__INTS);
}

/* ---- draws ---------------------------------------------------------------------------------- */

eg_status eg__infer_categorical(eg__call *c)
{
    const eg__categorical_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    eg__desc_like(d, x);
    d->dtype = EG_I64;
    d->dense = true;
    d->shape[x->ndim - 1] = o->n;
    return eg__check_shape(c->op->name, d->ndim, d->shape, EG_I64, &d->n);
}

eg_tensor *eg_categorical_with(eg_tensor *x, int64_t n, const eg_categorical_options *options)
{
    static const char name[] = "categorical";
    eg__categorical_opts o = {n, options && options->logits, here()};
    if (eg__check(x, name, "x")) {
        return NULL;
    }
    if (x->ndim < 1 || x->shape[x->ndim - 1] < 1) {
        return eg__fail_null(EG_ESHAPE, name, "x %s has no classes on its last axis", EG__SHAPE_OF(x));
    }
    if (n < 0) {
        return eg__fail_null(EG_EINVAL, name, "n %lld is negative", (long long)n);
    }
    if (x->dtype == EG_F32 || x->dtype == EG_F64) {
        eg_tensor *y = eg__op1(&eg__op_categorical, x, &o);
        return claim(y, y ? y->n : 0, 2);
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg_categorical_with(eg_cast(x, EG_F32), n, options));
}

/* Whether no row of w lacks k weights above 0 and none is odd; words otherwise. */
static bool enough(const char *name, eg_tensor *w, int64_t k)
{
    eg_tensor *fine = eg_logical_and(eg_ge_scalar(w, 0), eg_lt_scalar(w, INFINITY));
    eg_tensor *count = eg_count_nonzero(w, .axes = EG_AXES(-1));
    eg_tensor *sure = fine && count ? eg_logical_and(eg_all(fine), eg_all(eg_ge_scalar(count, (double)k))) : NULL;
    if (!sure) {
        return false;
    }
    double is = eg_item(sure);
    if (is == 0) {
        eg__fail(EG_EINVAL, name, "weights must be finite, not negative, and %lld of every row above 0", (long long)k);
    }
    return is == 1;
}

/* Uniform f64 numbers beside w, in its shape. */
static eg_tensor *uniform_like(eg_tensor *w)
{
    eg_device *before = eg_use_device(eg_device_of(w));
    eg_tensor *u = before ? eg_uniform(eg_shape_of(w), 0, 1, EG_F64) : NULL;
    eg_use_device(before);
    return u;
}

eg_tensor *eg_multinomial_with(eg_tensor *weights, int64_t k, const eg_multinomial_options *options)
{
    static const char name[] = "multinomial";
    if (eg__check(weights, name, "weights")) {
        return NULL;
    }
    if (options && options->replacement) {
        return eg_categorical(weights, k);
    }
    if (weights->ndim < 1 || !eg__is_float(weights->dtype)) {
        return eg__fail_null(weights->ndim < 1 ? EG_ESHAPE : EG_EDTYPE, name,
                             "weights are %s %s, must be [..., n] of floats", eg_dtype_name((eg_dtype)weights->dtype),
                             EG__SHAPE_OF(weights));
    }
    if (k < 0) {
        return eg__fail_null(EG_EINVAL, name, "k %lld is negative", (long long)k);
    }
    eg_random_state before = here();
    eg_scope s = eg_scope_push();
    eg_tensor *w = eg_cast(eg_detach(weights), EG_F64), *first = NULL;
    if (w && enough(name, w, k)) {
        eg_tensor *u = uniform_like(w);
        /* Logarithms of times of arrival, which are in range for all weights; those of weight 0 come last. */
        eg_tensor *times = eg_sub(eg_log(eg_neg(eg_log1p(eg_neg(u)))), eg_log(w));
        if (times) {
            eg_topk(times, k, -1, false, NULL, &first);
        }
    }
    if (!first) {
        eg__thread_get()->random = before;
    }
    return eg_scope_pop(s, first);
}

/* ---- dropout -------------------------------------------------------------------------------- */

eg_status eg__infer_dropout(eg__call *c)
{
    const eg__dropout_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    eg__desc_like(d, c->in[0]);
    d->dense = !o->channels_last;
    if (o->channels_last) {
        eg__channels_last(d->ndim, d->shape, d->strides);
    }
    return EG_OK;
}

eg_tensor *eg_dropout(eg_tensor *x, double p, bool training)
{
    if (eg__check(x, "dropout", "x")) {
        return NULL;
    }
    if (!is_probability(p)) {
        return eg__fail_null(EG_EINVAL, "dropout", "p %g is outside 0..1", p);
    }
    if (!training || p == 0) {
        return x;
    }
    eg__dropout_opts o = {p, !(x->flags & EG__DENSE) && eg_is_channels_last(x), here()};
    return claim(eg__op1(&eg__op_dropout, x, &o), x->n, 1);
}
