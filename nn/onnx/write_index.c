/* write_index.c - elements by their indices, and order, as nodes of ONNX. */
#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

/* ---- indices ------------------------------------------------------------------------------------------ */

/* ONNX counts negative indices of one axis from the end, too; places in several axes are brought into range. */
eg_status eg__write_checked_index(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__check_opts *o = c->options;
    const eg_shape sizes = {1, {o->axes}};
    eg__val x = eg__as(w, eg__of(w, c->in[0]), EG_I64);
    (void)told;
    if (!o->strict && (o->axes || o->size[0])) {
        const eg__val size = o->axes ? eg__ints(w, o->size, (int)sizes.dim[0]) : eg__whole(o->size[0]);
        x = eg__put_where(w, eg__put(w, "Less", x, eg__whole(0)), eg__put(w, "Add", x, size), x);
    }
    eg__set_output(w, c->out[0], x);
    return EG_OK;
}

/* Rows by a number each: the axes of the index take the place of one axis. */
eg_status eg__write_index_select(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const int axis = ((const eg__index_opts *)c->options)->axis, ndim = eg_ndim(c->in[0]), more = eg_ndim(c->in[1]);
    eg__batch rows = eg__batch_of(w, c->in[0]), index = eg__batch_of(w, c->in[1]);
    eg_status st = eg__not_along_batch(w, c, axis);
    if (!st && rows.from_end && index.from_end) {
        return eg__onnx_cannot(c, "with .any_batch, the tensor and the index have the batch");
    }
    if (!st) {
        const eg__val x = eg__of(w, c->in[0]), at = eg__of(w, c->in[1]);
        rows.from_end += rows.times && ndim - rows.from_end < axis ? more - 1 : 0;
        index.from_end += index.times ? ndim - axis - 1 : 0;
        eg__set_int(w, "axis", axis);
        eg__set_output(w, c->out[0], eg__put(w, op, x, at));
        eg__batch_set(w, c->out[0], rows.times ? rows : index);
    }
    return st;
}

/* Returns the tensor into which elements are scattered. */
static eg__val base_of(eg__onnx_writer *w, const eg_op_call *c)
{
    return c->nin > 2 && c->in[2] ? eg__of(w, c->in[2])
                                  : eg__filled(w, eg_shape_of(c->out[0]), 0, eg_dtype_of(c->out[0]));
}

/* y[.., index[i], ..] += x[.., i, ..] along one axis: an index for each element. */
eg_status eg__write_index_add(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__index_opts *o = c->options;
    eg_shape s = eg_shape_of(c->out[0]), all = s;
    eg_shape line = {.ndim = s.ndim};
    for (int d = 0; d < s.ndim; d++) {
        line.dim[d] = 1;
    }
    all.dim[o->axis] = line.dim[o->axis] = eg_numel(c->in[1]);
    if (o->skip >= 0) {
        return eg__onnx_cannot(c, "an index is left out");
    }
    const eg__val base = base_of(w, c);
    const eg__val index = eg__put_reshape(w, eg__as(w, eg__of(w, c->in[1]), EG_I64), line.dim, line.ndim);
    const eg__val each = eg__put(w, "Expand", index, eg__ints(w, all.dim, all.ndim));
    const eg__val x = eg__put_reshape(w, eg__of(w, c->in[0]), all.dim, all.ndim);
    eg__set_int(w, "axis", o->axis);
    eg__set_text(w, "reduction", op);
    eg__set_output(w, c->out[0], eg__put(w, "ScatterElements", base, each, x));
    return EG_OK;
}

eg_status eg__write_scatter(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__val base = base_of(w, c), index = eg__of(w, c->in[1]), x = eg__of(w, c->in[0]);
    eg__set_int(w, "axis", ((const eg__scatter_opts *)c->options)->axis);
    eg__set_text(w, "reduction", op);
    eg__set_output(w, c->out[0], eg__put(w, "ScatterElements", base, index, x));
    return EG_OK;
}

eg_status eg__write_scatter_reduce(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    static const char *const names[] = {[EG_SCATTER_MUL] = "mul", [EG_SCATTER_MAX] = "max", [EG_SCATTER_MIN] = "min"};
    const int mode = ((const eg__scatter_opts *)c->options)->mode;
    (void)told;
    return mode == EG_SCATTER_MEAN ? eg__onnx_cannot(c, "ONNX has no means of what is scattered")
                                   : eg__write_scatter(w, c, names[mode]);
}

/* The elements that one step along each axis passes. */
static void steps_of(const eg__shape_opts *o, int64_t *steps)
{
    int64_t step = 1;
    for (int d = o->ndim; d-- > 0; step *= o->shape[d]) {
        steps[d] = step;
    }
}

eg_status eg__write_ravel_index(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__shape_opts *o = c->options;
    int64_t steps[EG_MAX_DIMS], last = eg_ndim(c->in[0]) - 1;
    steps_of(o, steps);
    (void)told;
    const eg__val parts = eg__put(w, "Mul", eg__of(w, c->in[0]), eg__ints(w, steps, o->ndim));
    const eg__val y = eg__put_reduce(w, "ReduceSum", parts, &last, 1, false);
    eg_status st = eg__not_along_batch(w, c, (int)last);
    eg__set_output(w, c->out[0], y);
    eg__onnx_seen *s = st ? NULL : eg__onnx_seen_of(w, c->out[0]);
    if (s) {
        s->batch = eg__batch_of(w, c->in[0]);
        s->batch.from_end -= s->batch.times > 0;
    }
    return st;
}

eg_status eg__write_unravel_index(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__shape_opts *o = c->options;
    int64_t steps[EG_MAX_DIMS];
    eg__batch b = eg__batch_of(w, c->in[0]);
    steps_of(o, steps);
    (void)told;
    const eg__val at = eg__put_unsqueeze(w, eg__of(w, c->in[0]), -1);
    const eg__val whole = eg__put(w, "Div", at, eg__ints(w, steps, o->ndim));
    eg__set_output(w, c->out[0], eg__put(w, "Mod", whole, eg__ints(w, o->shape, o->ndim)));
    b.from_end += b.times > 0;
    eg__batch_set(w, c->out[0], b);
    return EG_OK;
}

/* Places row by row. */
eg_status eg__write_nonzero(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const int64_t perm[] = {1, 0};
    (void)told;
    if (!eg_ndim(c->in[0]) || !((const eg__nonzero_opts *)c->options)->count) {
        return eg__onnx_cannot(c, eg_ndim(c->in[0]) ? "the example has none, of which the rest would be constants"
                                                    : "it is of a single number");
    }
    eg__set_output(w, c->out[0], eg__put_transpose(w, eg__put(w, "NonZero", eg__of(w, c->in[0])), perm, 2));
    return EG_OK;
}

eg_status eg__write_one_hot(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__one_hot_opts *o = c->options;
    eg__batch b = eg__batch_of(w, c->in[0]);
    const double values[] = {0, 1};
    eg_scope s = eg_scope_push();
    const eg__val pair = eg__constant(w, s.depth ? eg_from_values(EG_SHAPE(2), EG_F32, values) : NULL);
    (void)told;
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    const int64_t one = 1;
    const bool single = !eg_ndim(c->in[0]); /* which ONNX wants in a line */
    const eg__val at = single ? eg__put_reshape(w, eg__of(w, c->in[0]), &one, 1) : eg__of(w, c->in[0]);
    eg__set_int(w, "axis", -1);
    eg__val y = eg__put(w, "OneHot", at, eg__as(w, eg__whole(o->depth), EG_I64), pair);
    y = single ? eg__put_reshape(w, y, &o->depth, 1) : y;
    if (o->on != 1 || o->off != 0) {
        const eg_dtype dtype = (eg_dtype)o->dtype;
        y = eg__put_where(w, eg__as(w, y, EG_BOOL), eg__as(w, eg__real(o->on), dtype), eg__real(o->off));
    }
    eg__set_output(w, c->out[0], y);
    b.from_end += b.times > 0;
    eg__batch_set(w, c->out[0], b);
    return EG_OK;
}

/* ---- order -------------------------------------------------------------------------------------------- */

/* The first k, or all, of an axis; equal ones in the order in which they are. A single number is in order. */
eg_status eg__write_sort(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const eg__sort_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    const eg__val x = eg__of(w, c->in[0]);
    eg_status st = ndim ? eg__not_along_batch(w, c, o->axis) : EG_OK;
    if (!ndim) {
        eg__set_output(w, c->out[0], x);
        eg__set_output(w, c->out[1], eg__as(w, eg__whole(0), EG_I64));
        return EG_OK;
    }
    if (!st) {
        const int64_t k = *told ? o->k : eg_size(c->in[0], o->axis);
        eg__val out[2];
        const eg__val count = eg__ints(w, &k, 1);
        eg__set_int(w, "axis", o->axis);
        eg__set_int(w, "largest", o->descending);
        eg__put_nodes(w, "TopK", (const eg__val[]){x, count}, 2, out, 2);
        eg__set_output(w, c->out[0], out[0]);
        eg__set_output(w, c->out[1], out[1]);
    }
    return st;
}

/* Returns the comparison of a and b in sort order: NaN is the largest. */
static eg__val before(eg__onnx_writer *w, eg__val a, eg__val b)
{
    const eg__val less = eg__put(w, "Less", a, b);
    if (a.dtype != EG_F32 && a.dtype != EG_F64) {
        return less;
    }
    const eg__val only = eg__put(w, "And", eg__put(w, "IsNaN", b), eg__put(w, "Not", eg__put(w, "IsNaN", a)));
    return eg__put(w, "Or", less, only);
}

/* Writes searchsorted as a count of the elements less than, or with `right` not greater than, each number. */
eg_status eg__write_searchsorted(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    const bool right = ((const eg__searchsorted_opts *)c->options)->right;
    eg_shape lines = eg_shape_of(c->in[0]), v = eg_shape_of(c->in[1]);
    const int64_t last = v.ndim;
    (void)told;
    eg_shape to = {.ndim = v.ndim + 1};
    if (to.ndim > EG_MAX_DIMS) {
        return eg__onnx_cannot(c, "it has too many axes");
    }
    for (int d = 0; d < v.ndim; d++) { /* leading axes of lines are those of v */
        to.dim[d] = lines.ndim > 1 && d < lines.ndim - 1 ? lines.dim[d] : 1;
    }
    to.dim[v.ndim] = lines.dim[lines.ndim - 1];
    const eg__val line = eg__put_reshape(w, eg__of(w, c->in[0]), to.dim, to.ndim);
    const eg__val at = eg__put_unsqueeze(w, eg__of(w, c->in[1]), -1);
    const eg__val counts = right ? eg__put(w, "Not", before(w, at, line)) : before(w, line, at);
    eg__set_output(w, c->out[0], eg__put_reduce(w, "ReduceSum", eg__as(w, counts, EG_I64), &last, 1, false));
    return EG_OK;
}
