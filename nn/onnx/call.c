/* call.c - what an operator sees of its call. */
#include <math.h>
#include <string.h>

#include <egret/device.h>
#include <egret/error.h>
#include <egret/ops.h>

#include "nn/onnx/graph.h"

const char eg__onnx_op_name[] = "eg_onnx";

/* ---- inputs and outputs --------------------------------------------------------------------------- */

int eg_onnx_input_count(const eg_onnx_call *c)
{
    return c ? c->node->nin : 0;
}

int eg_onnx_output_count(const eg_onnx_call *c)
{
    return c ? c->node->nout : 0;
}

eg_tensor *eg_onnx_input(const eg_onnx_call *c, int i)
{
    return c && i >= 0 ? eg__onnx_in(c, i) : NULL;
}

eg_status eg_onnx_give(eg_onnx_call *c, int i, eg_tensor *t)
{
    if (!c || i < 0) {
        return eg_fail(EG_EINVAL, "eg_onnx_give", c ? "an output below 0" : "c is NULL");
    }
    if (!t) {
        return eg_last_error()->code ? eg_last_error()->code : eg_fail(EG_EINVAL, "eg_onnx_give", "t is NULL");
    }
    if (i < c->node->nout) {
        c->out[i] = t;
    }
    return EG_OK;
}

int eg__onnx_in_type(const eg_onnx_call *c, int i)
{
    const eg_tensor *t = eg__onnx_in(c, i);
    const int type = t ? c->values[c->node->in[i]].type : 0;
    return type || !t ? type : eg__onnx_type_of(t);
}

/* ---- attributes ----------------------------------------------------------------------------------- */

const eg__onnx_attribute *eg__onnx_attribute_of(const eg_onnx_call *c, const char *name, eg__onnx_kind kind)
{
    for (int i = 0; c && name && i < c->node->nattributes; i++) {
        const eg__onnx_attribute *a = &c->node->attributes[i];
        if (a->kind == kind && !strcmp(a->name, name)) {
            return a;
        }
    }
    return NULL;
}

int64_t eg_onnx_int(const eg_onnx_call *c, const char *name, int64_t otherwise)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_INT);
    return a ? a->i : otherwise;
}

double eg_onnx_float(const eg_onnx_call *c, const char *name, double otherwise)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_FLOAT);
    return a ? a->f : otherwise;
}

const char *eg_onnx_text(const eg_onnx_call *c, const char *name, const char *otherwise)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_STRING_);
    return a ? a->text : otherwise;
}

const int64_t *eg_onnx_ints(const eg_onnx_call *c, const char *name, int *count)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_INTS);
    *count = a ? a->count : 0;
    return a ? a->ints : NULL;
}

const float *eg_onnx_floats(const eg_onnx_call *c, const char *name, int *count)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_FLOATS);
    *count = a ? a->count : 0;
    return a ? a->floats : NULL;
}

eg_tensor *eg_onnx_tensor(const eg_onnx_call *c, const char *name)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_TENSOR);
    return a ? a->tensor : NULL;
}

int eg__onnx_choice(const eg_onnx_call *c, const char *name, const char *const *of, int n, int otherwise)
{
    const char *text = eg_onnx_text(c, name, NULL);
    for (int i = 0; text && i < n; i++) {
        if (!strcmp(text, of[i])) {
            return i;
        }
    }
    if (text) {
        eg_failf(EG_EINVAL, eg__onnx_op_name, "%s \"%.40s\" is not known", name, text);
        return -1;
    }
    return otherwise;
}

/* ---- numbers -------------------------------------------------------------------------------------- */

eg_status eg__onnx_bad(const eg_onnx_call *c, const char *words)
{
    (void)c; /* the run names the node */
    return eg_fail(EG_EINVAL, eg__onnx_op_name, words);
}

/* Of floats the integer part; past the ends of i64 the end, of NaN 0. */
static int64_t integer_at(const eg_tensor *t, int64_t k)
{
    if (eg_dtype_of(t) >= EG_I64) {
        return eg_get_int(t, k);
    }
    const double v = eg_get(t, k);
    return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : isnan(v) ? 0 : (int64_t)v;
}

int eg__onnx_numbers(const eg_onnx_call *c, int i, int64_t *to, int most)
{
    const eg_tensor *t = eg__onnx_in(c, i);
    const int64_t n = eg_numel(t);
    if (n > most) {
        eg_failf(EG_EINVAL, eg__onnx_op_name, "input %d has %lld numbers, at most %d are possible", i, (long long)n,
                 most);
        return -1;
    }
    for (int64_t k = 0; k < n; k++) {
        to[k] = integer_at(t, k);
    }
    return (int)n;
}

double eg__onnx_number(const eg_onnx_call *c, int i, double otherwise)
{
    const eg_tensor *t = eg__onnx_in(c, i);
    return eg_numel(t) ? eg_get(t, 0) : otherwise;
}

int64_t eg__onnx_integer(const eg_onnx_call *c, int i, int64_t otherwise)
{
    const eg_tensor *t = eg__onnx_in(c, i);
    return eg_numel(t) ? integer_at(t, 0) : otherwise;
}

int eg__onnx_list(const eg_onnx_call *c, const char *name, int i, int64_t *to, int most)
{
    int count;
    const int64_t *list = eg_onnx_ints(c, name, &count);
    if (!list) {
        return eg__onnx_numbers(c, i, to, most);
    }
    if (count > most) {
        eg_failf(EG_EINVAL, eg__onnx_op_name, "%s has %d numbers, at most %d are possible", name, count, most);
        return -1;
    }
    memcpy(to, list, (size_t)count * sizeof *to);
    return count;
}

/* ---- memory --------------------------------------------------------------------------------------- */

void *eg__onnx_scratch(int64_t count, size_t element)
{
    int64_t bytes;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)element, &bytes)) {
        eg_failf(EG_ENOMEM, eg__onnx_op_name, "no memory for %lld elements of %zu bytes", (long long)count, element);
        return NULL;
    }
    eg_tensor *t = eg_to(eg_zeros(EG_SHAPE(bytes > 0 ? bytes : 1), EG_U8), eg_cpu());
    return t ? eg_data_mut(t) : NULL;
}

/* ---- types ----------------------------------------------------------------------------------------- */

/* What a dtype is to the integers it stands for: theirs, or wider. */
enum { AS_IS, SIGNED, UNSIGNED };

static const struct {
    uint8_t dtype; /* + 1 */
    uint8_t width; /* bits of one */
    uint8_t wider;
} types[EG__ONNX_TYPES] = {
    [EG__ONNX_F32] = {EG_F32 + 1, 32, AS_IS},        [EG__ONNX_U8] = {EG_U8 + 1, 8, AS_IS},
    [EG__ONNX_I8] = {EG_I32 + 1, 8, SIGNED},         [EG__ONNX_U16] = {EG_I32 + 1, 16, UNSIGNED},
    [EG__ONNX_I16] = {EG_I32 + 1, 16, SIGNED},       [EG__ONNX_I32] = {EG_I32 + 1, 32, AS_IS},
    [EG__ONNX_I64] = {EG_I64 + 1, 64, AS_IS},        [EG__ONNX_BOOL] = {EG_BOOL + 1, 8, AS_IS},
    [EG__ONNX_F16] = {EG_F16 + 1, 16, AS_IS},        [EG__ONNX_F64] = {EG_F64 + 1, 64, AS_IS},
    [EG__ONNX_U32] = {EG_I64 + 1, 32, UNSIGNED},     [EG__ONNX_U64] = {EG_I64 + 1, 64, AS_IS},
    [EG__ONNX_BF16] = {EG_BF16 + 1, 16, AS_IS},      [EG__ONNX_F8_E4M3] = {EG_F16 + 1, 8, AS_IS},
    [EG__ONNX_F8_E4M3FNUZ] = {EG_F16 + 1, 8, AS_IS}, [EG__ONNX_F8_E5M2] = {EG_F16 + 1, 8, AS_IS},
    [EG__ONNX_F8_E5M2FNUZ] = {EG_F16 + 1, 8, AS_IS}, [EG__ONNX_U4] = {EG_U8 + 1, 4, UNSIGNED},
    [EG__ONNX_I4] = {EG_I32 + 1, 4, SIGNED},         [EG__ONNX_F4] = {EG_F16 + 1, 4, AS_IS},
    [EG__ONNX_F8_E8M0] = {EG_F32 + 1, 8, AS_IS},     [EG__ONNX_U2] = {EG_U8 + 1, 2, UNSIGNED},
    [EG__ONNX_I2] = {EG_I32 + 1, 2, SIGNED},         [EG__ONNX_F6_E2M3] = {EG_F16 + 1, 6, AS_IS},
    [EG__ONNX_F6_E3M2] = {EG_F16 + 1, 6, AS_IS},
};

int eg__onnx_width(int64_t type)
{
    return type > 0 && type < EG__ONNX_TYPES ? types[type].width : 0;
}

eg_dtype eg__onnx_dtype(int64_t type)
{
    const int d = type > 0 && type < EG__ONNX_TYPES ? types[type].dtype : 0;
    return d ? (eg_dtype)(d - 1) : EG_DTYPE_COUNT;
}

int eg__onnx_type_of_dtype(eg_dtype dtype)
{
    static const uint8_t of[EG_DTYPE_COUNT] = {
        [EG_F32] = EG__ONNX_F32, [EG_F64] = EG__ONNX_F64, [EG_F16] = EG__ONNX_F16, [EG_BF16] = EG__ONNX_BF16,
        [EG_I64] = EG__ONNX_I64, [EG_I32] = EG__ONNX_I32, [EG_U8] = EG__ONNX_U8,   [EG_BOOL] = EG__ONNX_BOOL,
    };
    return of[dtype];
}

int eg__onnx_type_of(const eg_tensor *t)
{
    return eg__onnx_type_of_dtype(eg_dtype_of(t));
}

eg_tensor *eg__onnx_wrapped(eg_tensor *t, int type)
{
    const int bits = types[type].width;
    if (!types[type].wider || !t) {
        return t;
    }
    const eg_dtype dtype = eg_dtype_of(t);
    eg_tensor *mask = eg_scalar_int(((int64_t)1 << bits) - 1, dtype);
    eg_tensor *low = eg_bitwise_and(t, mask);
    if (types[type].wider == UNSIGNED) {
        return low;
    }
    eg_tensor *sign = eg_scalar_int((int64_t)1 << (bits - 1), dtype);
    return eg_sub(eg_bitwise_xor(low, sign), sign);
}
