/* write_signal.c - Fourier transforms and determinants as nodes of ONNX. */
#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

/* One of complex numbers along an axis; ONNX divides the inverse by its size. */
static eg__val transform(eg__onnx_writer *w, const eg__fft_opts *o, eg__val x, bool inverse, int64_t n, bool half)
{
    const double scale = inverse ? o->scale * (double)n : o->scale;
    const eg__val axis = eg__as(w, eg__whole(o->axis), EG_I64);
    eg__set_int(w, "inverse", inverse);
    eg__set_int(w, "onesided", half);
    const eg__val y = eg__put(w, "DFT", x, eg__none(), axis);
    return scale == 1 ? y : eg__put(w, "Mul", y, eg__real(scale));
}

eg_status eg__write_fft(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__fft_opts *o = c->options;
    (void)told;
    eg_status st = eg__not_along_batch(w, c, o->axis);
    if (!st) {
        eg__give(w, c->out[0], transform(w, o, eg__of(w, c->in[0]), o->inverse, eg_size(c->in[0], o->axis), false));
    }
    return st;
}

eg_status eg__write_rfft(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__fft_opts *o = c->options;
    eg__batch b = eg__batch_of(w, c->in[0]);
    (void)told;
    eg_status st = o->inverse ? eg__onnx_cannot(c, "it is inverse") : eg__not_along_batch(w, c, o->axis);
    if (!st) {
        const eg__val x = eg__put_unsqueeze(w, eg__of(w, c->in[0]), -1);
        eg__give(w, c->out[0], transform(w, o, x, false, 0, true));
        b.from_end += b.times > 0;
        eg__batch_set(w, c->out[0], b);
    }
    return st;
}

/* Places of the bins 0..n-1 among those of the half, and the signs of their imaginary parts. */
static void mirrored(eg__onnx_writer *w, const eg__fft_opts *o, int ndim, eg_dtype dtype, eg__val *at, eg__val *signs)
{
    eg_scope s = eg_scope_push();
    eg_shape shape = {ndim - o->axis, {o->n, 1, 1, 1, 1, 1, 1, 1}};
    shape.dim[shape.ndim - 1] = 2;
    eg_tensor *places = s.depth ? eg_zeros(EG_SHAPE(o->n), EG_I64) : NULL;
    eg_tensor *parts = s.depth ? eg_ones(shape, EG_F32) : NULL;
    int64_t *p = places ? eg_data_mut(places) : NULL;
    float *q = parts ? eg_data_mut(parts) : NULL;
    for (int64_t j = 0; p && q && j < o->n; j++) {
        p[j] = 2 * j <= o->n ? j : o->n - j;
        q[2 * j + 1] = 2 * j <= o->n ? 1 : -1;
    }
    *at = eg__constant(w, places);
    *signs = eg__constant(w, parts ? eg_cast(parts, dtype) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
}

/* The whole spectrum, whose second half mirrors the first; of the result the real part. */
eg_status eg__write_irfft(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__fft_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    eg__batch b = eg__batch_of(w, c->in[0]);
    eg__val at, signs, x = eg__of(w, c->in[0]);
    (void)told;
    eg_status st = eg__not_along_batch(w, c, o->axis);
    if (st) {
        return st;
    }
    mirrored(w, o, ndim, x.dtype, &at, &signs);
    eg__set_int(w, "axis", o->axis);
    x = transform(w, o, eg__put(w, "Mul", eg__put(w, "Gather", x, at), signs), true, o->n, false);
    const eg__val real = eg__as(w, eg__whole(0), EG_I64);
    eg__set_int(w, "axis", ndim - 1);
    eg__give(w, c->out[0], eg__put(w, "Gather", x, real));
    b.from_end -= b.times > 0;
    eg__batch_set(w, c->out[0], b);
    return EG_OK;
}

/* Of the matrix itself, whatever its parts are. */
eg_status eg__write_determinant(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    (void)told;
    if (((const eg__matrix_opts *)c->options)->log) {
        return eg__onnx_cannot(c, "ONNX has no logarithm of determinants");
    }
    eg__give(w, c->out[0], eg__put(w, "Det", eg__of(w, c->in[0])));
    return EG_OK;
}
