/* ops_make.c - tensors out of numbers. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* Filled with the first element of a tensor, whatever its dtype. */
static eg_tensor *filled(eg_shape shape, const eg_tensor *with)
{
    const eg_dtype dtype = eg_dtype_of(with);
    return dtype >= EG_I64 ? eg_full_int(shape, eg_get_int(with, 0), dtype) : eg_full(shape, eg_get(with, 0), dtype);
}

/* The first output is of the type of the tensor of that name. */
static eg_tensor *typed(eg_onnx_call *c, const char *name)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_TENSOR);
    c->out_type[0] = a ? a->type : 0;
    return a ? a->tensor : NULL;
}

eg_status eg__onnx_run_constant(eg_onnx_call *c)
{
    int n;
    const float *floats = eg_onnx_floats(c, "value_floats", &n);
    if (floats) {
        return eg__onnx_give(c, eg_from(EG_SHAPE(n), EG_F32, floats));
    }
    const int64_t *ints = eg_onnx_ints(c, "value_ints", &n);
    if (ints) {
        return eg__onnx_give(c, eg_from(EG_SHAPE(n), EG_I64, ints));
    }
    if (eg__onnx_attribute_of(c, "value_int", EG__ONNX_INT)) {
        return eg__onnx_give(c, eg_scalar_int(eg_onnx_int(c, "value_int", 0), EG_I64));
    }
    if (eg__onnx_attribute_of(c, "value_float", EG__ONNX_FLOAT)) {
        return eg__onnx_give(c, eg_scalar(eg_onnx_float(c, "value_float", 0), EG_F32));
    }
    eg_tensor *t = typed(c, "value");
    return t ? eg__onnx_give(c, t) : eg__onnx_bad(c, "a constant of texts, a sparse one, or none");
}

eg_status eg__onnx_run_constant_of_shape(eg_onnx_call *c)
{
    eg_tensor *value = typed(c, "value");
    eg_shape s = {.ndim = eg__onnx_numbers(c, 0, s.dim, EG_MAX_DIMS)};
    return s.ndim < 0 ? eg__onnx_why() : eg__onnx_give(c, value ? filled(s, value) : eg_zeros(s, EG_F32));
}

eg_status eg__onnx_run_eye_like(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int64_t type = eg_onnx_int(c, "dtype", eg__onnx_in_type(c, 0));
    if (eg_ndim(x) != 2 || eg__onnx_dtype(type) == EG_DTYPE_COUNT) {
        return eg__onnx_bad(c, "the input does not have 2 axes, or dtype is none that is known");
    }
    c->out_type[0] = (uint8_t)type;
    return eg__onnx_give(c, eg_eye(eg_size(x, 0), eg_size(x, 1), eg_onnx_int(c, "k", 0), eg__onnx_dtype(type)));
}

/* Off and on values in front of and behind each other; indices below 0 count from the end, those outside are off. */
eg_status eg__onnx_run_one_hot(eg_onnx_call *c)
{
    eg_tensor *ids = eg__onnx_in(c, 0), *values = eg__onnx_in(c, 2);
    const int64_t depth = eg__onnx_integer(c, 1, 0);
    const int ndim = eg_ndim(ids) + 1;
    const int axis = eg__onnx_check_rank(ndim) ? -1 : eg__onnx_axis(eg_onnx_int(c, "axis", -1), ndim);
    if (axis < 0 || depth < 0 || eg_numel(values) != 2) {
        return axis < 0 ? eg__onnx_why() : eg__onnx_bad(c, "depth is below 0, or values are not two");
    }
    eg_tensor *whole = eg_cast(ids, EG_I64);
    whole = eg_where(eg_lt_int(whole, 0), eg_add_int(whole, depth), whole);
    eg_shape line = {ndim, {1, 1, 1, 1, 1, 1, 1, 1}};
    line.dim[axis] = depth;
    eg_tensor *places = eg_to(eg_reshape(eg_arange_int(0, depth, 1, EG_I64), line), eg_device_of(ids));
    eg_tensor *on = eg_eq(eg_unsqueeze(whole, axis), places);
    eg_tensor *a = filled(EG_SCALAR, eg_select(values, 0, 0)), *b = filled(EG_SCALAR, eg_select(values, 0, 1));
    return eg__onnx_give(c, eg_where(on, eg_to(b, eg_device_of(ids)), eg_to(a, eg_device_of(ids))));
}

eg_status eg__onnx_run_range(eg_onnx_call *c)
{
    const eg_dtype dtype = eg_dtype_of(eg__onnx_in(c, 0));
    if (dtype >= EG_I64) {
        return eg__onnx_give(c, eg_arange_int(eg_get_int(eg__onnx_in(c, 0), 0), eg_get_int(eg__onnx_in(c, 1), 0),
                                              eg_get_int(eg__onnx_in(c, 2), 0), dtype));
    }
    return eg__onnx_give(
        c, eg_arange(eg__onnx_number(c, 0, 0), eg__onnx_number(c, 1, 0), eg__onnx_number(c, 2, 1), dtype));
}
