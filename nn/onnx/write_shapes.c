/* write_shapes.c - shapes, parts, joins and reductions as nodes of ONNX. */
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

/* ---- shapes ------------------------------------------------------------------------------------------- */

/* A first axis of the batch's size stays what it is. */
static void open_batch(const eg__onnx_writer *w, const eg_op_call *c, eg_shape *s)
{
    if (w->batch >= 0 && s->ndim && s->dim[0] == w->batch && eg_ndim(c->in[0]) && eg_size(c->in[0], 0) == w->batch) {
        s->dim[0] = 0;
    }
}

/* Where the batch is joined with another axis, as [N * heads, ...], the rest says how large it is. */
static void join_batch(const eg__onnx_writer *w, eg_shape *s)
{
    if (w->batch > 0 && s->ndim && s->dim[0] && s->dim[0] % w->batch == 0) {
        s->dim[0] = -1;
    }
}

eg_status eg__onnx_write_reshape(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg_shape s = eg_shape_of(c->out[0]);
    open_batch(w, c, &s);
    join_batch(w, &s);
    eg__onnx_node_ints(w, op, eg__onnx_name_of(w, c->in[0]), s.dim, s.ndim, c->out[0]);
    return EG_OK;
}

bool eg__onnx_makes_batch(const eg__onnx_writer *w, const eg_op_call *c)
{
    return w->batch >= 0 && !strcmp(c->op, "expand") && eg_ndim(c->out[0]) && eg_size(c->out[0], 0) == w->batch &&
           (eg_ndim(c->in[0]) < eg_ndim(c->out[0]) || eg_size(c->in[0], 0) == 1);
}

/* To the shape of a result whose first size is that of the input's batch. */
static eg_status expand_to_batch(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg_shape s = eg_shape_of(c->out[0]);
    eg__onnx_begin(w, "Shape");
    eg__onnx_from(w, w->first);
    eg__onnx_set_int(w, "start", 0);
    eg__onnx_set_int(w, "end", 1);
    const eg__onnx_temp batch = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_begin(w, "Concat");
    eg__onnx_from_name(w, batch.name);
    eg__onnx_from_ints(w, s.dim + 1, s.ndim - 1);
    eg__onnx_set_int(w, "axis", 0);
    const eg__onnx_temp shape = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_node_names(w, op, eg__onnx_name_of(w, c->in[0]), shape.name, c->out[0]);
    return EG_OK;
}

eg_status eg__onnx_write_expand(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg_shape s = eg_shape_of(c->out[0]);
    if (eg__onnx_makes_batch(w, c)) {
        return expand_to_batch(w, c, op);
    }
    if (w->batch >= 0 && eg_ndim(c->in[0]) == s.ndim && s.ndim && eg_size(c->in[0], 0) == s.dim[0]) {
        s.dim[0] = 1; /* broadcast to what is there */
    }
    eg__onnx_node_ints(w, op, eg__onnx_name_of(w, c->in[0]), s.dim, s.ndim, c->out[0]);
    return EG_OK;
}

eg_status eg__onnx_write_permute(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__permute_opts *o = c->options;
    int64_t perm[EG_MAX_DIMS];
    for (int i = 0; i < o->ndim; i++) {
        perm[i] = o->axis[i];
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_set_ints(w, "perm", perm, o->ndim);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

eg_status eg__onnx_write_slice(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__slice_opts *o = c->options;
    const int64_t axis = o->axis, behind = o->start + o->step * o->count, end = behind < 0 ? INT64_MIN + 1 : behind;
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from_ints(w, &o->start, 1);
    eg__onnx_from_ints(w, &end, 1);
    eg__onnx_from_ints(w, &axis, 1);
    eg__onnx_from_ints(w, &o->step, 1);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status along(eg__onnx_writer *w, const eg_op_call *c, const char *op, int axis)
{
    eg__onnx_begin(w, op);
    for (int i = 0; i < c->nin; i++) {
        eg__onnx_from(w, c->in[i]);
    }
    eg__onnx_set_int(w, "axis", axis);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

eg_status eg__onnx_write_concat(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    for (int i = 1; i < c->nin; i++) {
        if (eg_dtype_of(c->in[i]) != eg_dtype_of(c->in[0])) {
            return eg__onnx_cannot(c, "its inputs have several dtypes");
        }
    }
    return along(w, c, op, ((const eg__axis_opts *)c->options)->axis);
}

eg_status eg__onnx_write_gather(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return along(w, c, op, ((const eg__axis_opts *)c->options)->axis);
}

eg_status eg__onnx_write_index_select(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return along(w, c, op, ((const eg__index_opts *)c->options)->axis);
}

eg_status eg__onnx_write_softmax(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    return eg_ndim(c->in[0]) ? along(w, c, op, ((const eg__scan_opts *)c->options)->axis)
                             : eg__onnx_cannot(c, "it has no axis");
}

eg_status eg__onnx_write_pad(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    const eg__pad_opts *o = c->options;
    const int n = eg_ndim(c->in[0]);
    int64_t pads[2 * EG_MAX_DIMS];
    for (int i = 0; i < n; i++) {
        pads[i] = o->before[i];
        pads[n + i] = o->after[i];
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from_ints(w, pads, 2 * n);
    if (o->mode == EG_PAD_CONSTANT) {
        eg__onnx_from_number(w, o->value, eg_dtype_of(c->in[0]));
    }
    eg__onnx_set_text(w, "mode", modes[o->mode]);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

/* ---- reductions --------------------------------------------------------------------------------------- */

static int axes_of(unsigned mask, int ndim, int64_t *axes)
{
    int n = 0;
    for (int i = 0; i < ndim; i++) {
        if (mask >> i & 1) {
            axes[n++] = i;
        }
    }
    return n;
}

/* One reduction of what has that name; y NULL: a new name. */
static eg__onnx_temp reduced(eg__onnx_writer *w, const char *op, const char *x, unsigned mask, int ndim, bool keepdim,
                             eg_tensor *y)
{
    int64_t axes[EG_MAX_DIMS];
    eg__onnx_temp t = {""};
    eg__onnx_begin(w, op);
    eg__onnx_from_name(w, x);
    eg__onnx_from_ints(w, axes, axes_of(mask, ndim, axes));
    eg__onnx_set_int(w, "keepdims", keepdim);
    if (y) {
        eg__onnx_to(w, y);
    } else {
        t = eg__onnx_to_temp(w);
    }
    eg__onnx_end(w);
    return t;
}

eg_status eg__onnx_write_reduce(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__reduce_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    const eg_dtype dtype = eg_dtype_of(c->out[0]);
    if (!ndim || eg_dtype_of(c->in[0]) == EG_BOOL) {
        return ndim ? eg__onnx_cannot(c, "of bools") : (eg__onnx_same(w, c->in[0], c->out[0]), EG_OK);
    }
    const char *x = eg__onnx_name_of(w, c->in[0]);
    eg__onnx_temp t;
    if (eg_dtype_of(c->in[0]) != dtype) {
        eg__onnx_begin(w, "Cast");
        eg__onnx_from_name(w, x);
        eg__onnx_set_int(w, "to", eg__onnx_type_of_dtype(dtype));
        t = eg__onnx_to_temp(w);
        eg__onnx_end(w);
        x = t.name;
    }
    reduced(w, op, x, o->axes, ndim, o->keepdim, c->out[0]);
    return EG_OK;
}

eg_status eg__onnx_write_norm(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__reduce_opts *o = c->options;
    (void)op;
    if ((o->p != 2 && o->p != 1) || !eg_ndim(c->in[0])) {
        return eg__onnx_cannot(c, "its p is neither 1 nor 2, or it has no axes");
    }
    reduced(w, o->p == 2 ? "ReduceL2" : "ReduceL1", eg__onnx_name_of(w, c->in[0]), o->axes, eg_ndim(c->in[0]),
            o->keepdim, c->out[0]);
    return EG_OK;
}

/* The mean of squares of what is centred, times n / (n - 1) unless biased; "Sqrt" of it. */
eg_status eg__onnx_write_variance(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__reduce_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    const char *x = eg__onnx_name_of(w, c->in[0]);
    double n = 1;
    for (int i = 0; i < ndim; i++) {
        n *= o->axes >> i & 1 ? (double)eg_size(c->in[0], i) : 1;
    }
    const bool scaled = !o->biased, root = *op;
    const eg__onnx_temp mean = reduced(w, "ReduceMean", x, o->axes, ndim, true, NULL);
    const eg__onnx_temp centred = eg__onnx_node_names(w, "Sub", x, mean.name, NULL);
    const eg__onnx_temp squares = eg__onnx_node_names(w, "Mul", centred.name, centred.name, NULL);
    eg__onnx_temp t =
        reduced(w, "ReduceMean", squares.name, o->axes, ndim, o->keepdim, scaled || root ? NULL : c->out[0]);
    if (scaled) {
        const eg__onnx_temp by = eg__onnx_number_name(w, n / (n - 1), eg_dtype_of(c->out[0]));
        t = eg__onnx_node_names(w, "Mul", t.name, by.name, root ? NULL : c->out[0]);
    }
    if (root) {
        eg__onnx_node_names(w, op, t.name, NULL, c->out[0]);
    }
    return EG_OK;
}

/* Of all axes: in a line. */
eg_status eg__onnx_write_place(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__reduce_opts *o = c->options;
    const int ndim = eg_ndim(c->in[0]);
    int64_t axes[EG_MAX_DIMS];
    const int n = axes_of(o->axes, ndim, axes);
    const char *x = eg__onnx_name_of(w, c->in[0]);
    eg__onnx_temp line;
    if (!ndim || (n != 1 && (n != ndim || o->keepdim))) {
        return eg__onnx_cannot(c, "it is along several axes");
    }
    if (n != 1) {
        line = eg__onnx_node_ints(w, "Reshape", x, (const int64_t[]){-1}, 1, NULL);
        x = line.name;
        axes[0] = 0;
    }
    eg__onnx_begin(w, op);
    eg__onnx_from_name(w, x);
    eg__onnx_set_int(w, "axis", axes[0]);
    eg__onnx_set_int(w, "keepdims", o->keepdim);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

eg_status eg__onnx_write_cumsum(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__scan_opts *o = c->options;
    if (eg_dtype_of(c->in[0]) != eg_dtype_of(c->out[0]) || !eg_ndim(c->in[0])) {
        return eg__onnx_cannot(c, "its sums have another dtype, or it has no axes");
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from_number(w, o->axis, EG_I64);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}
