/* ops_random.c - numbers by chance. With a seed they are those of its stream, the same at each call; the thread's own
 * stream then stays where it is. */
#include <string.h>

#include "nn/onnx/ops.h"

/* What a call draws: shape and dtype, on which device. */
typedef struct drawing {
    eg_shape shape;
    eg_dtype dtype;
    eg_device *device;
    eg_random_state before;
    bool seeded;
} drawing;

/* Of "dtype", of type `otherwise` without it. */
static eg_status begin(eg_onnx_call *c, drawing *d, int64_t otherwise)
{
    const eg__onnx_attribute *seed = eg__onnx_attribute_of(c, "seed", EG__ONNX_FLOAT);
    const int64_t type = eg_onnx_int(c, "dtype", otherwise);
    const eg_tensor *like = eg__onnx_in(c, 0);
    *d = (drawing){.dtype = eg__onnx_dtype(type), .device = like ? eg_device_of(like) : NULL, .seeded = seed != NULL};
    if (d->dtype == EG_DTYPE_COUNT) {
        return eg__onnx_bad(c, "dtype is none that is known");
    }
    c->out_type[0] = (uint8_t)type;
    d->shape = eg_shape_of(like);
    if (!like) {
        d->shape.ndim = eg__onnx_list(c, "shape", 0, d->shape.dim, EG_MAX_DIMS);
    }
    if (d->shape.ndim < 0) {
        return eg__onnx_why();
    }
    if (seed) {
        const float f = (float)seed->f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        d->before = eg_random_get_state();
        eg_seed(bits);
    }
    return EG_OK;
}

static eg_status give(eg_onnx_call *c, const drawing *d, eg_tensor *t)
{
    if (d->seeded) {
        eg_random_set_state(d->before);
    }
    return eg__onnx_give(c, d->device ? eg_to(t, d->device) : t);
}

static eg_status normal(eg_onnx_call *c, int64_t type)
{
    drawing d;
    eg_status st = begin(c, &d, type);
    const double mean = eg_onnx_float(c, "mean", 0), scale = eg_onnx_float(c, "scale", 1);
    return st ? st : give(c, &d, eg_normal(d.shape, mean, scale, d.dtype));
}

static eg_status uniform(eg_onnx_call *c, int64_t type)
{
    drawing d;
    eg_status st = begin(c, &d, type);
    const double low = eg_onnx_float(c, "low", 0), high = eg_onnx_float(c, "high", 1);
    return st ? st : give(c, &d, eg_uniform(d.shape, low, high, d.dtype));
}

eg_status eg__onnx_run_random_normal(eg_onnx_call *c)
{
    return normal(c, EG__ONNX_F32);
}

eg_status eg__onnx_run_random_normal_like(eg_onnx_call *c)
{
    return normal(c, eg__onnx_in_type(c, 0));
}

eg_status eg__onnx_run_random_uniform(eg_onnx_call *c)
{
    return uniform(c, EG__ONNX_F32);
}

eg_status eg__onnx_run_random_uniform_like(eg_onnx_call *c)
{
    return uniform(c, eg__onnx_in_type(c, 0));
}

/* 1 where a uniform number is below the probability. */
eg_status eg__onnx_run_bernoulli(eg_onnx_call *c)
{
    eg_tensor *p = eg__onnx_in(c, 0);
    drawing d;
    eg_status st = begin(c, &d, eg__onnx_in_type(c, 0));
    if (st) {
        return st;
    }
    eg_tensor *u = eg_uniform(d.shape, 0, 1, eg_dtype_of(p) == EG_F64 ? EG_F64 : EG_F32);
    return give(c, &d, eg_cast(eg_lt(eg_to(u, d.device), p), d.dtype));
}

/* Classes by the logarithms of their probabilities, up to a constant in each row. */
eg_status eg__onnx_run_multinomial(eg_onnx_call *c)
{
    drawing d;
    eg_status st = begin(c, &d, EG__ONNX_I32);
    if (st) {
        return st;
    }
    eg_tensor *y = eg_categorical(eg__onnx_in(c, 0), eg_onnx_int(c, "sample_size", 1), .logits = true);
    return give(c, &d, eg_dtype_of(y) == d.dtype ? y : eg_cast(y, d.dtype));
}
