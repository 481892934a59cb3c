/* write_attention.c - attention and rotary embeddings as nodes of ONNX. */
#include <math.h>
#include <stdlib.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/attention.h"
#include "nn/onnx/write_rows.h"

/* For each query and key a number by their places alone: 0 or -inf where it sees, or how far they are apart. */
static eg__val of_places(eg__onnx_writer *w, const eg__attention_opts *o, int64_t q, int64_t k, bool apart,
                         eg_dtype dtype)
{
    const eg__band band = eg__attention_band(o, q, k);
    const int64_t corner = eg__attention_corner(o, q, k);
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg_zeros(EG_SHAPE(q, k), EG_F32) : NULL;
    float *p = t ? eg_data_mut(t) : NULL;
    for (int64_t i = 0; p && i < q * k; i++) {
        const int64_t at = i / k, key = i % k;
        p[i] = apart ? -(float)llabs(at + corner - key) : key - at < band.low || key - at > band.high ? -INFINITY : 0;
    }
    const eg__val made = eg__constant(w, t ? eg_cast(t, dtype) : NULL);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return made;
}

/* q k^T scale, capped. */
static eg__val scores(eg__onnx_writer *w, const eg_op_call *c, const eg__attention_opts *o)
{
    const int ndim = eg_ndim(c->in[1]);
    int64_t perm[EG_MAX_DIMS];
    for (int i = 0; i < ndim; i++) {
        perm[i] = i < ndim - 2 ? i : i == ndim - 2 ? ndim - 1 : ndim - 2;
    }
    const eg__val keys = eg__put_transpose(w, eg__put_wide(w, eg__of(w, c->in[1])), perm, ndim);
    eg__val x = eg__put(w, "Mul", eg__put_wide(w, eg__of(w, c->in[0])), eg__real(o->scale));
    x = eg__put(w, "MatMul", x, keys);
    if (o->softcap > 0) {
        x = eg__put(w, "Tanh", eg__put(w, "Div", x, eg__real(o->softcap)));
        x = eg__put(w, "Mul", x, eg__real(o->softcap));
    }
    return x;
}

/* Weights of each row; rows that see nothing have none. */
static eg__val soften(eg__onnx_writer *w, eg__val x, bool hides)
{
    const int64_t last = -1;
    eg__set_int(w, "axis", -1);
    const eg__val y = eg__put(w, "Softmax", x);
    if (!hides) {
        return y;
    }
    const eg__val most = eg__put_reduce(w, "ReduceMax", x, &last, 1, true);
    return eg__put_where(w, eg__put(w, "Equal", most, eg__real(-INFINITY)), eg__real(0), y);
}

/* The leading axis of the batch is that of queries, keys and values, and of nothing else. */
static eg_status batch_of_rows(const eg__onnx_writer *w, const eg_op_call *c, eg__batch *b)
{
    *b = eg__batch_of(w, c->in[0]);
    for (int i = 0; i < c->nin; i++) {
        const eg__batch here = eg__batch_of(w, c->in[i]);
        const bool shared = !here.from_end && (!c->in[i] || !b->from_end || eg_ndim(c->in[i]) < b->from_end ||
                                               eg_size(c->in[i], -b->from_end) == 1);
        const bool same = here.from_end == b->from_end && here.times == b->times;
        if ((!same && !(shared && i)) || (b->from_end && b->from_end < 3)) {
            return eg_failf(
                EG_ENOKERNEL, eg__onnx_save_name,
                "attention cannot be written with .any_batch: the batch is not the same leading axis of all");
        }
    }
    return EG_OK;
}

/* Softmax(scale q k^T + mask) v, computed in f32 or f64; leading axes broadcast. */
/* Slopes [..., 1, 1] of no more axes than the scores have. */
static eg__val slopes_of(eg__onnx_writer *w, eg_tensor *slopes, int ndim)
{
    const eg_shape s = eg_shape_of(slopes);
    const int more = s.ndim > ndim ? s.ndim - ndim : 0;
    return more ? eg__put_reshape(w, eg__of(w, slopes), s.dim + more, ndim) : eg__of(w, slopes);
}

eg_status eg__write_attention(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__attention_opts *o = c->options;
    const int64_t q = eg_size(c->in[0], -2), k = eg_size(c->in[1], -2);
    eg_tensor *mask = c->nin > 3 ? c->in[3] : NULL, *slopes = c->nin > 4 ? c->in[4] : NULL;
    eg__batch batch;
    (void)told;
    eg_status st = batch_of_rows(w, c, &batch);
    if (st || o->dropout > 0) {
        return st ? st : eg__onnx_cannot(c, "it drops weights: eg_module_eval is for serving");
    }
    eg__val x = scores(w, c, o);
    if (slopes) {
        const eg__val apart = of_places(w, o, q, k, true, x.dtype);
        const eg__val by = eg__as(w, slopes_of(w, slopes, eg_ndim(c->out[0])), x.dtype);
        x = eg__put(w, "Add", x, eg__put(w, "Mul", apart, by));
    }
    if (mask && eg_dtype_of(mask) == EG_BOOL) {
        x = eg__put_where(w, eg__of(w, mask), x, eg__real(-INFINITY));
    } else if (mask) {
        x = eg__put(w, "Add", x, eg__as(w, eg__of(w, mask), x.dtype));
    }
    const eg__band band = eg__attention_band(o, q, k);
    const bool placed = band.low > 1 - q || band.high < k - 1;
    x = placed ? eg__put(w, "Add", x, of_places(w, o, q, k, false, x.dtype)) : x;
    x = eg__put(w, "MatMul", soften(w, x, placed || mask), eg__put_wide(w, eg__of(w, c->in[2])));
    eg__set_output(w, c->out[0], x);
    eg__batch_set(w, c->out[0], batch);
    return EG_OK;
}

/* Pairs of columns (a, b) as (a cos - b sin, b cos + a sin); columns behind them stay. */
eg_status eg__write_rotary(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const bool mixed = ((const eg__rotary_opts *)c->options)->interleaved;
    eg_shape s = eg_shape_of(c->in[0]);
    const int last = s.ndim - 1;
    const int64_t columns = s.dim[last], pairs = eg_size(c->in[1], -1);
    (void)told;
    eg_status st = eg__not_along_batch(w, c, last);
    if (st) {
        return st;
    }
    const eg__val x = eg__put_wide(w, eg__of(w, c->in[0]));
    const eg__val cos = eg__as(w, eg__of(w, c->in[1]), x.dtype), sin = eg__as(w, eg__of(w, c->in[2]), x.dtype);
    const eg__val a = eg__put_slice(w, x, last, 0, mixed ? 2 * pairs : pairs, mixed ? 2 : 1);
    const eg__val b = eg__put_slice(w, x, last, mixed ? 1 : pairs, 2 * pairs, mixed ? 2 : 1);
    eg__val first = eg__put(w, "Sub", eg__put(w, "Mul", a, cos), eg__put(w, "Mul", b, sin));
    eg__val second = eg__put(w, "Add", eg__put(w, "Mul", b, cos), eg__put(w, "Mul", a, sin));
    if (mixed) {
        first = eg__put_unsqueeze(w, first, -1);
        second = eg__put_unsqueeze(w, second, -1);
    }
    eg__set_int(w, "axis", -1);
    eg__val y = eg__put(w, "Concat", first, second);
    if (mixed) {
        const int from_end = eg__batch_of(w, c->in[0]).from_end;
        s.dim[last] = 2 * pairs;
        if (from_end) {
            s.dim[s.ndim - from_end] = -1;
        }
        y = eg__put_reshape(w, y, s.dim, s.ndim);
    }
    if (columns > 2 * pairs) {
        const eg__val rest = eg__put_slice(w, x, last, 2 * pairs, columns, 1);
        eg__set_int(w, "axis", -1);
        y = eg__put(w, "Concat", y, rest);
    }
    eg__set_output(w, c->out[0], y);
    return EG_OK;
}
