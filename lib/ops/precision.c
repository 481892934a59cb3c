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

eg__wide eg__wide_begin(eg_tensor **const *operands, int n)
{
    eg_tensor *in[8];
    eg__wide w = {eg_scope_push(), -1};
    bool half = false;
    for (int i = 0; i < n; i++) {
        in[i] = *operands[i];
        if (in[i] && in[i]->magic != EG__MAGIC) {
            return w; /* refused by the first op */
        }
        half |= in[i] && eg__is_half(in[i]->dtype);
    }
    if (likely(!half || !w.scope.depth)) {
        return w;
    }
    w.dtype = eg__common_dtype(in, n);
    for (int i = 0; i < n; i++) {
        *operands[i] = in[i] && eg__is_half(in[i]->dtype) ? eg_cast(in[i], EG_F32) : in[i];
        half = half && (*operands[i] || !in[i]);
    }
    *operands[0] = half ? *operands[0] : NULL; /* if one failed, the op on the first operand fails */
    return w;
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
