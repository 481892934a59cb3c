/* write_signal.c - Fourier transforms and determinants as nodes of ONNX. */
#include <math.h>

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

/* ---- as products -------------------------------------------------------------------------------------- */

enum { MOST = 1024 }; /* elements of a line whose transform is a matrix */

/* Runtimes are exact for f32 and powers of two; other lines are products, unless they are long. */
static bool by_product(const eg_op_call *c, int64_t n)
{
    return n <= MOST && (eg_dtype_of(c->in[0]) == EG_F64 || n & (n - 1));
}

typedef struct line {
    int64_t n, in, out;      /* of the transform; elements of a line, and of its result */
    int in_parts, out_parts; /* 2: complex */
    bool halves;             /* the line is half of a spectrum, all of which counts */
} line;

/* Returns the coefficient of part p (real or imaginary) of element j in part q of result k. */
static double share(const line *l, const eg__fft_opts *o, int64_t j, int p, int64_t k, int q)
{
    const double angle = 6.283185307179586476925287 * (double)(j * k % l->n) / (double)l->n;
    if (l->halves) { /* a bin that has a conjugate besides counts twice */
        const bool alone = j == 0 || 2 * j == l->n;
        return 2 * j > l->n || (p && alone) ? 0 : (alone ? 1 : 2) * (p ? -sin(angle) : cos(angle));
    }
    const double sine = o->inverse ? sin(angle) : -sin(angle);
    return p == q ? cos(angle) : p ? -sine : sine;
}

static eg__val matrix_of(eg__onnx_writer *w, const line *l, const eg__fft_opts *o, eg_dtype dtype)
{
    const int64_t rows = l->in * l->in_parts, columns = l->out * l->out_parts;
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg_zeros(EG_SHAPE(rows, columns), EG_F64) : NULL;
    double *m = t ? eg_data_mut(t) : NULL;
    for (int64_t i = 0; m && i < rows * columns; i++) {
        const int64_t r = i / columns, k = i % columns;
        m[i] =
            o->scale * share(l, o, r / l->in_parts, (int)(r % l->in_parts), k / l->out_parts, (int)(k % l->out_parts));
    }
    const eg__val made = eg__constant(w, t ? eg_cast(t, dtype) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return made;
}

/* The axis last, behind it the parts if there are any; `back` undoes it. */
static void lines_last(int ndim, int axis, int parts, bool back, int64_t *perm)
{
    const int n = ndim - (parts == 2);
    for (int i = 0, k = 0; i < n; i++) {
        if (i != axis) {
            perm[back ? i : k] = back ? k : i;
            k++;
        }
    }
    perm[back ? axis : n - 1] = back ? n - 1 : axis;
    perm[ndim - 1] = parts == 2 ? ndim - 1 : perm[ndim - 1];
}

static eg__val product(eg__onnx_writer *w, const eg_op_call *c, const line *l)
{
    const eg__fft_opts *o = c->options;
    const int nin = eg_ndim(c->in[0]), nout = eg_ndim(c->out[0]), lead = nin - (l->in_parts == 2) - 1;
    const int from_end = eg__batch_of(w, c->in[0]).from_end;
    int64_t perm[EG_MAX_DIMS], shape[EG_MAX_DIMS];
    lines_last(nin, o->axis, l->in_parts, false, perm);
    for (int i = 0; i < lead; i++) {
        shape[i] = from_end && perm[i] == nin - from_end ? -1 : eg_size(c->in[0], (int)perm[i]);
    }
    shape[lead] = l->in * l->in_parts;
    eg__val x = eg__put_reshape(w, eg__put_transpose(w, eg__of(w, c->in[0]), perm, nin), shape, lead + 1);
    x = eg__put(w, "MatMul", x, matrix_of(w, l, o, x.dtype));
    shape[lead] = l->out;
    shape[lead + 1] = 2;
    x = eg__put_reshape(w, x, shape, nout);
    lines_last(nout, o->axis, l->out_parts, true, perm);
    return eg__put_transpose(w, x, perm, nout);
}

/* ---- rows --------------------------------------------------------------------------------------------- */

/* The axis of the batch, when the result has so many more axes. */
static void give(eg__onnx_writer *w, const eg_op_call *c, eg__val y)
{
    eg__batch b = eg__batch_of(w, c->in[0]);
    eg__set_output(w, c->out[0], y);
    b.from_end += b.times ? eg_ndim(c->out[0]) - eg_ndim(c->in[0]) : 0;
    eg__batch_set(w, c->out[0], b);
}

eg_status eg__write_fft(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__fft_opts *o = c->options;
    const int64_t n = eg_size(c->in[0], o->axis);
    (void)told;
    eg_status st = eg__not_along_batch(w, c, o->axis);
    if (!st) {
        give(w, c,
             by_product(c, n) ? product(w, c, &(line){n, n, n, 2, 2, false})
                              : transform(w, o, eg__of(w, c->in[0]), o->inverse, n, false));
    }
    return st;
}

eg_status eg__write_rfft(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__fft_opts *o = c->options;
    const int64_t n = eg_size(c->in[0], o->axis);
    (void)told;
    eg_status st = o->inverse ? eg__onnx_cannot(c, "it is inverse") : eg__not_along_batch(w, c, o->axis);
    if (!st && by_product(c, n)) {
        give(w, c, product(w, c, &(line){n, n, n / 2 + 1, 1, 2, false}));
    } else if (!st) {
        const eg__val x = eg__put_unsqueeze(w, eg__of(w, c->in[0]), -1);
        give(w, c, transform(w, o, x, false, 0, true));
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
    eg__val at, signs, x = eg__of(w, c->in[0]);
    (void)told;
    eg_status st = eg__not_along_batch(w, c, o->axis);
    if (!st && by_product(c, o->n)) {
        give(w, c, product(w, c, &(line){o->n, eg_size(c->in[0], o->axis), o->n, 2, 1, true}));
    } else if (!st) {
        mirrored(w, o, ndim, x.dtype, &at, &signs);
        eg__set_int(w, "axis", o->axis);
        x = transform(w, o, eg__put(w, "Mul", eg__put(w, "Gather", x, at), signs), true, o->n, false);
        const eg__val real = eg__as(w, eg__whole(0), EG_I64);
        eg__set_int(w, "axis", ndim - 1);
        give(w, c, eg__put(w, "Gather", x, real));
    }
    return st;
}

/* Of the matrix itself, whatever its parts are. */
eg_status eg__write_determinant(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    (void)told;
    if (((const eg__matrix_opts *)c->options)->log) {
        return eg__onnx_cannot(c, "ONNX has no logarithm of determinants");
    }
    eg__set_output(w, c->out[0], eg__put(w, "Det", eg__of(w, c->in[0])));
    return EG_OK;
}
