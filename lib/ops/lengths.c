/* lengths.c - how many steps each row of a batch has, as all that takes them checks it. */
#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/optable.h"

eg_tensor *eg__lengths(const char *op, const char *name, eg_tensor *t, int64_t rows, int64_t most)
{
    if (!t || eg__check(t, op, name)) {
        return NULL;
    }
    if (!(EG__INTS >> t->dtype & 1)) {
        return eg__fail_null(EG_EDTYPE, op, "%s are %s, must be i64, i32 or u8", name,
                             eg_dtype_name((eg_dtype)t->dtype));
    }
    if (t->n != rows || t->ndim > 1) {
        return eg__fail_null(EG_ESHAPE, op, "%s are %s, must be [%lld]", name, EG__SHAPE_OF(t), (long long)rows);
    }
    t = eg_contiguous(eg_cast(t, EG_I64));
    t = t && t->ndim != 1 ? eg_reshape(t, EG_SHAPE(rows)) : t;
    for (int64_t i = 0; t && !t->device && i < rows; i++) {
        const int64_t v = eg__load_int(eg__ptr(t), EG_I64, i);
        if (v < 0 || v > most) {
            return eg__fail_null(EG_EINDEX, op, "%s: %lld of row %lld is outside 0..%lld", name, (long long)v,
                                 (long long)i, (long long)most);
        }
    }
    return t;
}
