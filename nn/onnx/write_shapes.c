/* write_shapes.c - shapes, views, parts and joins as nodes of ONNX, and the parts of formulas. */
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

/* ---- parts of formulas -------------------------------------------------------------------------------- */

eg__val eg__put_where(eg__onnx_writer *w, eg__val when, eg__val a, eg__val b)
{
    return eg__put(w, "Where", when, a, b);
}

eg__val eg__put_wide(eg__onnx_writer *w, eg__val x)
{
    return x.dtype == EG_F16 || x.dtype == EG_BF16 ? eg__as(w, x, EG_F32) : x;
}

eg__val eg__put_reshape(eg__onnx_writer *w, eg__val x, const int64_t *shape, int ndim)
{
    for (int i = 0; i < ndim; i++) {
        if (!shape[i]) { /* a size of 0 is meant, not that of the input */
            eg__set_int(w, "allowzero", 1);
            break;
        }
    }
    return eg__put(w, "Reshape", x, eg__ints(w, shape, ndim));
}

eg__val eg__put_slice(eg__onnx_writer *w, eg__val x, int64_t axis, int64_t start, int64_t end, int64_t step)
{
    return eg__put(w, "Slice", x, eg__ints(w, &start, 1), eg__ints(w, &end, 1), eg__ints(w, &axis, 1),
                   eg__ints(w, &step, 1));
}

eg__val eg__put_transpose(eg__onnx_writer *w, eg__val x, const int64_t *perm, int ndim)
{
    eg__set_ints(w, "perm", perm, ndim);
    return eg__put(w, "Transpose", x);
}

eg__val eg__put_unsqueeze(eg__onnx_writer *w, eg__val x, int64_t axis)
{
    return eg__put(w, "Unsqueeze", x, eg__ints(w, &axis, 1));
}

eg__val eg__put_product(eg__onnx_writer *w, eg__val x, int axis, int ndim, eg__val matrix)
{
    int64_t perm[EG_MAX_DIMS];
    for (int i = 0; i < ndim; i++) {
        perm[i] = i == axis ? ndim - 1 : i == ndim - 1 ? axis : i;
    }
    if (axis == ndim - 1) {
        return eg__put(w, "MatMul", x, matrix);
    }
    x = eg__put(w, "MatMul", eg__put_transpose(w, x, perm, ndim), matrix);
    return eg__put_transpose(w, x, perm, ndim);
}

/* ---- what changes nothing ----------------------------------------------------------------------------- */

/* Another dtype, device or layout, or the tensor itself. */
eg_status eg__write_same(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    (void)told;
    eg__set_output(w, c->out[0], eg__of(w, c->in[0]));
    return EG_OK;
}

eg_status eg__write_nothing(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    (void)w, (void)c, (void)told;
    return EG_OK;
}

/* ---- shapes ------------------------------------------------------------------------------------------- */

static bool from_front(const eg__onnx_writer *w, const eg_tensor *t)
{
    return eg__batch_of(w, t).from_end == eg_ndim(t);
}

/* Rows of the batch may join the axes behind them, or leave them; -1 stands for them. */
eg_status eg__write_reshape(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    eg_shape s = eg_shape_of(c->out[0]);
    const eg_tensor *x = c->in[0];
    const bool grows = eg__batch_of(w, x).from_end;
    (void)told;
    if (grows && (!from_front(w, x) || !s.ndim || s.dim[0] % w->batch || !eg_numel(x))) {
        return eg_failf(EG_ENOKERNEL, eg__onnx_save_name,
                        "reshape cannot be written with .any_batch: rows of the batch are mixed with other axes");
    }
    const eg__batch batch = {s.ndim, grows ? s.dim[0] / w->batch : 0};
    s.dim[0] = grows ? -1 : s.dim[0];
    eg__set_output(w, c->out[0], eg__put_reshape(w, eg__of(w, c->in[0]), s.dim, s.ndim));
    if (grows) {
        eg__batch_set(w, c->out[0], batch);
    }
    return EG_OK;
}

bool eg__onnx_makes_batch(const eg__onnx_writer *w, const eg_op_call *c)
{
    return w->batch >= 0 && !strcmp(c->op, "expand") && eg_ndim(c->out[0]) && eg_size(c->out[0], 0) == w->batch &&
           !eg__batch_of(w, c->in[0]).from_end && (eg_ndim(c->in[0]) < eg_ndim(c->out[0]) || eg_size(c->in[0], 0) == 1);
}

eg_status eg__write_expand(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    eg_shape s = eg_shape_of(c->out[0]);
    const eg__batch batch = eg__batch_of(w, c->in[0]);
    const eg__val x = eg__of(w, c->in[0]);
    (void)told;
    if (eg__onnx_makes_batch(w, c)) { /* the first axis of the input */
        eg__set_int(w, "start", 0);
        eg__set_int(w, "end", 1);
        const eg__val rows = eg__put(w, "Shape", eg__of(w, w->first)), rest = eg__ints(w, s.dim + 1, s.ndim - 1);
        eg__set_int(w, "axis", 0);
        eg__set_output(w, c->out[0], eg__put(w, "Expand", x, eg__put(w, "Concat", rows, rest)));
        eg__batch_set(w, c->out[0], (eg__batch){s.ndim, 1});
        return EG_OK;
    }
    if (batch.from_end) {
        s.dim[s.ndim - batch.from_end] = 1; /* broadcast to what is there */
    }
    eg__set_output(w, c->out[0], eg__put(w, "Expand", x, eg__ints(w, s.dim, s.ndim)));
    eg__batch_set(w, c->out[0], batch);
    return EG_OK;
}

eg_status eg__write_permute(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__permute_opts *o = c->options;
    eg__batch batch = eg__batch_of(w, c->in[0]);
    const int at = o->ndim - batch.from_end;
    int64_t perm[EG_MAX_DIMS];
    (void)told;
    for (int i = 0; i < o->ndim; i++) {
        perm[i] = o->axis[i];
        batch.from_end = batch.times && perm[i] == at ? o->ndim - i : batch.from_end;
    }
    eg__set_output(w, c->out[0],
                   o->ndim ? eg__put_transpose(w, eg__of(w, c->in[0]), perm, o->ndim) : eg__of(w, c->in[0]));
    eg__batch_set(w, c->out[0], batch);
    return EG_OK;
}

eg_status eg__write_slice(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__slice_opts *o = c->options;
    const int64_t behind = o->start + o->step * o->count, end = behind < 0 ? INT64_MIN + 1 : behind;
    eg_status st = eg__not_along_batch(w, c, o->axis);
    (void)told;
    if (!st) {
        eg__set_output(w, c->out[0], eg__put_slice(w, eg__of(w, c->in[0]), o->axis, o->start, end, o->step));
    }
    return st;
}

/* Elements of a tensor without gaps, which are taken by their numbers. */
eg_status eg__write_as_strided(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__stride_opts *o = c->options;
    const eg_shape from = eg_shape_of(c->in[0]);
    const int64_t n = eg_numel(c->in[0]), all = -1;
    (void)told;
    int64_t step = 1;
    for (int d = from.ndim; d-- > 0; step *= from.dim[d]) {
        if (from.dim[d] != 1 && c->in[0]->strides[d] != step) {
            return eg__onnx_cannot(c, "its input has gaps in memory");
        }
    }
    eg_scope s = eg_scope_push();
    eg_shape to = {.ndim = o->ndim};
    memcpy(to.dim, o->shape, sizeof to.dim);
    eg_tensor *places = s.depth ? eg_zeros(to, EG_I64) : NULL;
    int64_t *p = places ? eg_data_mut(places) : NULL;
    bool inside = true;
    for (int64_t i = 0; p && i < eg_numel(places); i++) {
        p[i] = o->offset - c->in[0]->offset;
        for (int64_t d = to.ndim, rest = i; d-- > 0; rest /= to.dim[d]) {
            p[i] += rest % to.dim[d] * o->strides[d];
        }
        inside = inside && p[i] >= 0 && p[i] < n;
    }
    if (inside) {
        const eg__val line = eg__put_reshape(w, eg__of(w, c->in[0]), &all, 1);
        eg__set_output(w, c->out[0], eg__put(w, "Gather", line, eg__constant(w, places)));
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return inside ? EG_OK : eg__onnx_cannot(c, "it sees elements beside its input");
}

/* The axes in one, of which each n + 1st element is on the diagonal. */
eg_status eg__write_diagonal(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__diagonal_opts *o = c->options;
    const eg_shape s = eg_shape_of(c->in[0]);
    const int64_t n = s.dim[o->first];
    eg__batch batch = eg__batch_of(w, c->in[0]);
    int64_t perm[EG_MAX_DIMS], shape[EG_MAX_DIMS];
    int k = 0;
    (void)told;
    eg_status st = eg__not_along_batch(w, c, o->first);
    st = st ? st : eg__not_along_batch(w, c, o->second);
    for (int d = 0; d < s.ndim; d++) {
        if (d != o->first && d != o->second) {
            if (batch.times && d == s.ndim - eg__batch_of(w, c->in[0]).from_end) {
                batch.from_end = s.ndim - 1 - k;
                shape[k] = -1;
            } else {
                shape[k] = s.dim[d];
            }
            perm[k++] = d;
        }
    }
    perm[k] = o->first;
    perm[k + 1] = o->second;
    shape[k] = n * n;
    if (!st) {
        const eg__val lines =
            eg__put_reshape(w, eg__put_transpose(w, eg__of(w, c->in[0]), perm, s.ndim), shape, s.ndim - 1);
        eg__set_output(w, c->out[0], eg__put_slice(w, lines, k, 0, n * n, n + 1));
        eg__batch_set(w, c->out[0], batch);
    }
    return st;
}

/* ---- joins -------------------------------------------------------------------------------------------- */

/* All inputs grow with the batch, in the same axis, or none; *b: that axis. */
static eg_status one_batch(const eg__onnx_writer *w, const eg_op_call *c, eg__batch *b)
{
    *b = eg__batch_of(w, c->in[0]);
    for (int i = 1; i < c->nin; i++) {
        const eg__batch here = eg__batch_of(w, c->in[i]);
        if (here.from_end != b->from_end || here.times != b->times) {
            return eg_failf(EG_ENOKERNEL, eg__onnx_save_name,
                            "%.60s cannot be written with .any_batch: its inputs have the batch in different axes",
                            c->op);
        }
    }
    return EG_OK;
}

eg_status eg__write_concat(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const int axis = ((const eg__axis_opts *)c->options)->axis;
    eg__batch batch;
    eg_status st = one_batch(w, c, &batch);
    st = st ? st : eg__not_along_batch(w, c, axis);
    eg__val *in = st ? NULL : malloc((size_t)c->nin * sizeof *in);
    int n = 0;
    if (!in) {
        return st ? st : eg_fail(EG_ENOMEM, eg__onnx_save_name, "no memory for the graph");
    }
    for (int i = 0; i < c->nin; i++) {
        if (eg_numel(c->in[i])) {
            in[n++] = eg__of(w, c->in[i]);
        }
    }
    eg__set_int(w, "axis", axis);
    eg__set_output(w, c->out[0], eg__put_node(w, told, in, n));
    eg__batch_set(w, c->out[0], batch);
    free(in);
    return EG_OK;
}

eg_status eg__write_gather(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const int axis = ((const eg__axis_opts *)c->options)->axis;
    eg__batch batch;
    eg_status st = one_batch(w, c, &batch);
    st = st ? st : eg__not_along_batch(w, c, axis);
    if (!st) {
        const eg__val x = eg__of(w, c->in[0]), index = eg__of(w, c->in[1]);
        eg__set_int(w, "axis", axis);
        eg__set_output(w, c->out[0], eg__put(w, told, x, index));
        eg__batch_set(w, c->out[0], batch);
    }
    return st;
}

/* ---- padding ------------------------------------------------------------------------------------------ */

/* The rows of an axis that goes round, which ONNX repeats once at most. */
static eg__val around(eg__onnx_writer *w, eg__val x, int64_t axis, int64_t size, int64_t before, int64_t after)
{
    eg_scope s = eg_scope_push();
    const int64_t n = size + before + after;
    eg_tensor *rows = s.depth ? eg_zeros(EG_SHAPE(n), EG_I64) : NULL;
    int64_t *p = rows ? eg_data_mut(rows) : NULL;
    for (int64_t i = 0; p && i < n; i++) {
        p[i] = ((i - before) % size + size) % size;
    }
    const eg__val index = eg__constant(w, rows);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg__set_int(w, "axis", axis);
    return eg__put(w, "Gather", x, index);
}

/* Writes a pad: positive counts first, then negative counts as a slice. */
eg_status eg__write_pad(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    const eg__pad_opts *o = c->options;
    const eg_shape s = eg_shape_of(c->in[0]);
    int64_t pads[2 * EG_MAX_DIMS];
    bool adds = false;
    eg__val x = eg__of(w, c->in[0]);
    for (int i = 0; i < s.ndim; i++) {
        pads[i] = o->before[i] > 0 ? o->before[i] : 0;
        pads[s.ndim + i] = o->after[i] > 0 ? o->after[i] : 0;
        adds = adds || pads[i] || pads[s.ndim + i];
        if ((o->before[i] || o->after[i]) && eg__not_along_batch(w, c, i)) {
            return EG_ENOKERNEL;
        }
        if (o->mode == EG_PAD_CIRCULAR && (o->before[i] || o->after[i])) {
            x = around(w, x, i, s.dim[i], o->before[i], o->after[i]);
        }
    }
    if (adds && o->mode != EG_PAD_CIRCULAR) {
        eg__set_text(w, "mode", modes[o->mode]);
        x = eg__put(w, told, x, eg__ints(w, pads, 2 * s.ndim),
                    o->mode == EG_PAD_CONSTANT ? eg__real(o->value) : eg__none());
    }
    for (int i = 0; i < s.ndim && o->mode != EG_PAD_CIRCULAR; i++) {
        if (o->before[i] < 0 || o->after[i] < 0) {
            const int64_t start = o->before[i] < 0 ? -o->before[i] : 0;
            x = eg__put_slice(w, x, i, start, start + eg_size(c->out[0], i), 1);
        }
    }
    eg__set_output(w, c->out[0], x);
    return EG_OK;
}
