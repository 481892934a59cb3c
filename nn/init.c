/* init.c - what parameters begin with. */
#include <math.h>

#include <egret/nn.h>

#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

eg_tensor *eg__init_uniform(eg_shape shape, int64_t fan_in, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    double limit = 1 / sqrt((double)eg__max(fan_in, 1));
    eg_tensor *t = eg_parameter(eg_uniform(shape, -limit, limit, dtype));
    eg_scope_pop(s, NULL);
    return t;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const char me[] = "eg_init";

/* Of a weight [out, in, kernel...]. */
static void fans(const eg_tensor *t, double *in, double *out)
{
    double cells = 1;
    for (int d = 2; d < t->ndim; d++) {
        cells *= (double)t->shape[d];
    }
    *in = cells * (double)t->shape[1];
    *out = cells * (double)t->shape[0];
}

/* Rows of a, orthonormal among themselves: modified Gram and Schmidt, twice, for the rounding of the first. */
static eg_status orthonormal(double *a, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        double *row = a + i * columns, norm = 0;
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t j = 0; j < i; j++) {
                const double *other = a + j * columns;
                double dot = 0;
                for (int64_t k = 0; k < columns; k++) {
                    dot += row[k] * other[k];
                }
                for (int64_t k = 0; k < columns; k++) {
                    row[k] -= dot * other[k];
                }
            }
        }
        for (int64_t k = 0; k < columns; k++) {
            norm += row[k] * row[k];
        }
        if (!(norm > 0)) {
            return eg__fail(EG_ESTATE, me, "random rows depend on each other");
        }
        for (int64_t k = 0; k < columns; k++) {
            row[k] /= sqrt(norm);
        }
    }
    return EG_OK;
}

static eg_tensor *orthogonal(const eg_tensor *t, double gain)
{
    int64_t out = t->shape[0], in = out ? t->n / out : 0;
    bool wide = in >= out;
    eg_device *before = eg_use_device(eg_cpu());
    eg_tensor *a = eg_normal(wide ? EG_SHAPE(out, in) : EG_SHAPE(in, out), 0, 1, EG_F64);
    eg_use_device(before);
    if (!a || orthonormal((double *)eg__ptr(a), eg__min(in, out), eg__max(in, out))) {
        return NULL;
    }
    return eg_mul_scalar(eg_reshape(wide ? a : eg_transpose(a, 0, 1), eg_shape_of(t)), gain);
}

/* The rule's numbers in t's shape; f16 and bf16 are rounded from f32. */
static eg_tensor *draw(const eg_tensor *t, eg_init_rule rule, const eg_init_options *o)
{
    eg_shape shape = eg_shape_of(t);
    eg_dtype dtype = (eg_dtype)t->dtype;
    bool he = rule == EG_HE_UNIFORM || rule == EG_HE_NORMAL;
    double in = 0, out = 0, gain = eg__or(o->gain, he ? sqrt(2) : 1);
    if (rule <= EG_ORTHOGONAL) {
        fans(t, &in, &out);
        if (gain == 0) {
            return eg_zeros(shape, dtype);
        }
    }
    double fan = o->fan_out ? out : in;
    double both = gain * sqrt(6 / (in + out)), own = gain * sqrt(3 / fan);
    switch (rule) {
    case EG_GLOROT_UNIFORM:
        return eg_uniform(shape, -both, both, dtype);
    case EG_GLOROT_NORMAL:
        return eg_normal(shape, 0, gain * sqrt(2 / (in + out)), dtype);
    case EG_HE_UNIFORM:
        return eg_uniform(shape, -own, own, dtype);
    case EG_HE_NORMAL:
        return eg_normal(shape, 0, gain / sqrt(fan), dtype);
    case EG_ORTHOGONAL:
        return orthogonal(t, gain);
    case EG_UNIFORM:
        return eg_uniform(shape, o->low, o->high, dtype);
    case EG_NORMAL:
        return eg_normal(shape, o->mean, o->std, dtype);
    case EG_TRUNCATED_NORMAL:
        return eg_truncated_normal(shape, o->mean, o->std, dtype);
    case EG_CONSTANT:
        return eg_full(shape, o->value, dtype);
    }
    return eg__fail_null(EG_EINVAL, me, "there is no rule %d", (int)rule);
}

static eg_status check(const eg_tensor *t, eg_init_rule rule, const eg_init_options *o)
{
    if (eg__check(t, me, "t")) {
        return eg__why();
    }
    if (!eg__is_float(t->dtype)) {
        return eg__fail(EG_EDTYPE, me, "not for dtype %s", eg_dtype_name((eg_dtype)t->dtype));
    }
    if (rule <= EG_ORTHOGONAL && t->ndim < 2) {
        return eg__fail(EG_ESHAPE, me, "%s has no fans: 2 axes are needed", EG__SHAPE_OF(t));
    }
    if (!isfinite(o->gain)) {
        return eg__fail(EG_EINVAL, me, "gain is %g, must be finite", o->gain);
    }
    return EG_OK;
}

eg_status eg_init_with(eg_tensor *t, eg_init_rule rule, const eg_init_options *given)
{
    eg_init_options o;
    eg__options(&o, sizeof o, given);
    if (check(t, rule, &o)) {
        return eg__why();
    }
    if (t->n == 0) {
        return EG_OK;
    }
    eg_scope s = eg_scope_push();
    eg_device *before = eg_use_device(eg__device(t));
    eg_tensor *numbers = s.depth ? draw(t, rule, &o) : NULL;
    eg_use_device(before);
    eg_status st = numbers && eg_copy_(t, numbers) ? EG_OK : eg__why();
    eg_scope_pop(s, NULL);
    return st;
}

/* ---- whole modules ---------------------------------------------------------------------------- */

typedef struct filler {
    eg_members walk;
    eg_init_rule rule;
    const eg_init_options *options;
    eg_status status;
} filler;

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

static void fill_member(eg_members *walk, const eg__member *member)
{
    filler *f = (filler *)walk;
    static const eg_init_options zero = {.size = sizeof zero};
    if (f->status || member->kind == EG__BUFFER) {
        return;
    }
    if (member->kind == EG__CHILD) {
        eg__members(*member->child, walk);
    } else if ((*member->tensor)->ndim >= 2) {
        f->status = eg_init_with(*member->tensor, f->rule, f->options);
    } else if (ends_in(member->name, "bias") || !strncmp(member->name, "bias_", 5)) {
        f->status = eg_init_with(*member->tensor, EG_CONSTANT, &zero);
    }
}

eg_status eg_module_init_with(eg_module *m, eg_init_rule rule, const eg_init_options *options)
{
    static const char op[] = "eg_module_init";
    if (!m) {
        return eg__null_argument(op, "m");
    }
    filler f = {{fill_member, 0}, rule, options, EG_OK};
    eg_status all = eg__walk_members(m, &f.walk, op);
    return f.status ? f.status : all;
}
