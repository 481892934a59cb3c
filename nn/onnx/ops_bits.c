/* ops_bits.c - the bits of numbers, as numbers of another type. */
#include <math.h>
#include <string.h>

#include <egret/tape.h>

#include "nn/onnx/ops.h"

/* Whether it is a float of a dtype of Egret's; small ones are floats too. */
static bool is_native_float(int64_t type)
{
    return type == EG__ONNX_F32 || type == EG__ONNX_F64 || type == EG__ONNX_F16 || type == EG__ONNX_BF16;
}

static bool is_small_float(int64_t type)
{
    return eg__onnx_dtype(type) <= EG_BF16 && !is_native_float(type);
}

/* The first code of that value; the sign of a zero counts. */
static uint64_t code_of(double v, const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        if ((isnan(v) && isnan(values[i])) || (v == values[i] && !signbit(v) == !signbit(values[i]))) {
            return (uint64_t)i;
        }
    }
    return 0; /* 0 of a type that has no -0 */
}

/* x is row-major, on the CPU. */
static void read_codes(eg_tensor *x, int64_t type, const double *values, uint64_t *codes)
{
    const int width = eg__onnx_width(type);
    const uint64_t mask = width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
    const uint8_t *bytes = eg_data(x);
    for (int64_t i = 0; i < eg_numel(x); i++) {
        uint32_t four;
        uint16_t two;
        if (is_small_float(type)) {
            codes[i] = code_of(eg_get(x, i), values, 1 << width);
        } else if (!is_native_float(type)) {
            codes[i] = (uint64_t)eg_get_int(x, i) & mask;
        } else if (width == 64) {
            memcpy(&codes[i], bytes + 8 * i, 8);
        } else if (width == 32) {
            memcpy(&four, bytes + 4 * i, 4);
            codes[i] = four;
        } else {
            memcpy(&two, bytes + 2 * i, 2);
            codes[i] = two;
        }
    }
}

/* Numbers of the codes; they are overwritten. */
static eg_tensor *from_codes(eg_shape shape, int64_t n, int64_t type, const double *values, uint64_t *codes)
{
    const int width = eg__onnx_width(type);
    const eg_dtype dtype = eg__onnx_dtype(type);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t four = (uint32_t)codes[i];
        const uint16_t two = (uint16_t)codes[i];
        if (is_small_float(type)) {
            memcpy(&codes[i], &values[codes[i]], 8);
        } else if (is_native_float(type) && width == 32) {
            memcpy((char *)codes + 4 * i, &four, 4);
        } else if (is_native_float(type) && width == 16) {
            memcpy((char *)codes + 2 * i, &two, 2);
        } else if (type == EG__ONNX_U64 && codes[i] > INT64_MAX) {
            eg_fail(EG_EINVAL, eg__onnx_op_name, "bits of a u64 beyond the numbers of i64");
            return NULL;
        }
    }
    if (is_small_float(type)) {
        return eg_cast(eg_from(shape, EG_F64, codes), dtype);
    }
    eg_tensor *t = eg_from(shape, is_native_float(type) ? dtype : EG_I64, codes);
    return dtype == EG_BOOL || is_native_float(type) ? eg_cast(t, dtype)
                                                     : eg_cast(eg__onnx_wrapped(t, (int)type), dtype);
}

static void values_of(int64_t type, double *values)
{
    for (unsigned i = 0; is_small_float(type) && i < 1u << eg__onnx_width(type); i++) {
        values[i] = eg__onnx_small_value(type, i);
    }
}

eg_status eg__onnx_run_bit_cast(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *y = NULL;
    const int64_t from = eg__onnx_in_type(c, 0), to = eg_onnx_int(c, "to", 0);
    const int width = eg__onnx_width(from);
    double was[256], becomes[256];
    if (!width || width != eg__onnx_width(to)) {
        return eg_failf(EG_EDTYPE, eg__onnx_op_name, "type %lld of %d bits cannot be taken as type %lld of %d",
                        (long long)from, width, (long long)to, eg__onnx_width(to));
    }
    eg_device *device = eg_device_of(x);
    x = eg_contiguous(eg_to(eg_detach(x), eg_cpu()));
    uint64_t *codes = x ? eg__onnx_scratch(eg_numel(x), sizeof *codes) : NULL;
    if (!codes) {
        return eg__onnx_why();
    }
    values_of(from, was);
    values_of(to, becomes);
    read_codes(x, from, was, codes);
    y = from_codes(eg_shape_of(x), eg_numel(x), to, becomes, codes);
    c->out_type[0] = (uint8_t)to;
    return eg__onnx_give(c, eg_to(y, device));
}
