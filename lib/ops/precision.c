/* precision.c - autocast, and how devices multiply. */
#include <egret/precision.h>

#include "lib/ops/optable.h"

/* ---- autocast -------------------------------------------------------------------------------- */

/* Double precision beside it: the product is one of f64. */
static bool has_f64(eg_tensor *const *in, int nin)
{
    for (int i = 0; i < nin; i++) {
        if (in[i] && in[i]->dtype == EG_F64) {
            return true;
        }
    }
    return false;
}

bool eg__autocast(const eg__op *op, eg_tensor *const *in, int nin, int low, eg__recast *how)
{
    const int kind = op->cast;
    bool any = false;
    if (kind == EG__CAST_KEEP || (kind == EG__CAST_LOW && has_f64(in, nin))) {
        return false;
    }
    *how = kind == EG__CAST_LOW ? (eg__recast){1u << EG_F32 | 1u << EG_F16 | 1u << EG_BF16, low}
                                : (eg__recast){1u << EG_F16 | 1u << EG_BF16, EG_F32};
    for (int i = 0; i < nin; i++) {
        any |= in[i] && how->from >> in[i]->dtype & 1 && in[i]->dtype != how->dtype;
    }
    return any;
}

eg_status eg_autocast(eg_dtype dtype)
{
    if (dtype != EG_F32 && !eg__is_half((int)dtype)) {
        return eg__fail(EG_EINVAL, "eg_autocast", "to %s: it must be bf16 or f16, or f32 for none",
                        eg_dtype_name(dtype));
    }
    eg__thread_get()->autocast = (uint8_t)dtype;
    return EG_OK;
}

eg_dtype eg_autocast_dtype(void)
{
    return (eg_dtype)eg__thread_get()->autocast;
}

eg_autocast_block eg_autocast_begin(eg_dtype dtype)
{
    const eg_autocast_block b = {eg_autocast_dtype(), 1};
    eg_autocast(dtype);
    return b;
}

void eg_autocast_end(eg_autocast_block *block)
{
    if (block) {
        eg_autocast(block->before);
        block->open = 0;
    }
}

/* ---- compositions of halves -------------------------------------------------------------------- */

static bool becomes_wide(const eg_tensor *t, eg_dtype to)
{
    return t && (to == EG_F64 ? eg__is_float(t->dtype) && t->dtype != EG_F64 : eg__is_half(t->dtype));
}

eg__wide eg__wide_begin(eg_tensor **const *operands, int n, eg_dtype to)
{
    eg_tensor *in[8];
    eg__wide w = {eg_scope_push(), -1};
    bool any = false;
    for (int i = 0; i < n; i++) {
        in[i] = *operands[i];
        if (in[i] && in[i]->magic != EG__MAGIC) {
            return w; /* refused by the first op */
        }
        any |= becomes_wide(in[i], to);
    }
    if (likely(!any || !w.scope.depth)) {
        return w;
    }
    w.dtype = eg__common_dtype(in, n);
    for (int i = 0; i < n; i++) {
        *operands[i] = becomes_wide(in[i], to) ? eg_cast(in[i], to) : in[i];
        any = any && (*operands[i] || !in[i]);
    }
    *operands[0] = any ? *operands[0] : NULL; /* if one failed, the op on the first operand fails */
    return w;
}

enum { LANES = 16 };

/* Least and largest bits of magnitudes but 0, by lanes. */
typedef struct bounds {
    int32_t least[LANES], most[LANES];
} bounds;

static void widen_bounds(const float *p, bounds *b)
{
    int32_t bits[LANES];
    memcpy(bits, p, sizeof bits);
    for (int l = 0; l < LANES; l++) {
        const int32_t size = bits[l] & INT32_MAX, there = size ? size : INT32_MAX;
        b->most[l] = size > b->most[l] ? size : b->most[l];
        b->least[l] = there < b->least[l] ? there : b->least[l];
    }
}

bool eg__squares_pass(const eg_tensor *x)
{
    static const float low = 0x1p-60f, high = 0x1p60f;
    float part[LANES];
    int32_t of_low, of_high;
    bounds b;
    memcpy(&of_low, &low, sizeof low);
    memcpy(&of_high, &high, sizeof high);
    for (int l = 0; l < LANES; l++) {
        b.least[l] = INT32_MAX;
        b.most[l] = 0;
    }
    if (x->device || (x->dtype != EG_F32 && x->dtype != EG_BF16)) {
        return false;
    }
    const float *p = x->dtype == EG_F32 && x->flags & EG__PACKED ? (const float *)eg__ptr(x) : NULL;
    for (int64_t i = 0; i < x->n; i += LANES) {
        const int64_t n = eg__min(LANES, x->n - i);
        for (int64_t l = 0; l < LANES && !(p && n == LANES); l++) {
            const int64_t at = i + eg__min(l, n - 1);
            part[l] = p ? p[at] : (float)eg__load(eg__ptr(x), x->dtype, eg__place(x->ndim, x->shape, x->strides, at));
        }
        widen_bounds(p && n == LANES ? p + i : part, &b);
    }
    bool pass = false;
    for (int l = 0; l < LANES; l++) {
        pass |= b.least[l] < of_low || b.most[l] > of_high;
    }
    return pass;
}

eg_tensor *eg__wide_end(eg__wide w, eg_tensor *y)
{
    const bool narrows = y && w.dtype >= 0 && eg__is_float(y->dtype);
    return eg_scope_pop(w.scope, narrows ? eg_cast(y, (eg_dtype)w.dtype) : y);
}

eg_tensor *eg__wide_end_full(eg__wide w, eg_tensor *y)
{
    return eg_autocast_dtype() == EG_F32 ? eg__wide_end(w, y) : eg_scope_pop(w.scope, y);
}

/* ---- products -------------------------------------------------------------------------------- */

eg_status eg_set_math_mode(eg_math_mode mode)
{
    if (mode != EG_MATH_DEFAULT && mode != EG_MATH_TF32) {
        return eg__fail(EG_EINVAL, "eg_set_math_mode", "%d is no math mode", (int)mode);
    }
    eg__thread_get()->math = (uint8_t)mode;
    return EG_OK;
}

eg_math_mode eg_get_math_mode(void)
{
    return (eg_math_mode)eg__thread_get()->math;
}
