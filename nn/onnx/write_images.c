/* write_images.c - resizing and sampling as nodes of ONNX. */
#include <math.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write_rows.h"

/* ---- resizing ------------------------------------------------------------------------------------------- */

/* Along one axis: of the identity its weights [in, out], of places 0, 1, ... which are taken (nearest modes). */
static eg__val along(eg__onnx_writer *w, const eg__resize_opts *o, int axis, bool nearest, eg_dtype dtype)
{
    const int64_t in = o->in[axis], out = o->out[axis];
    eg_resize_options how = {.size = sizeof how, .mode = o->mode, .grid = o->grid, .antialias = o->antialias};
    if (o->mode == EG_RESIZE_CUBIC) {
        how.cubic = o->cubic == 0 ? EG_ZERO : o->cubic;
    }
    if (o->grid != EG_GRID_CORNERS && o->ratio[axis] != (double)in / (double)out) {
        how.scale[0] = 1 / o->ratio[axis];
    }
    eg_scope s = eg_scope_push();
    eg_tensor *x = !s.depth  ? NULL
                   : nearest ? eg_reshape(eg_arange(0, (double)in, 1, EG_I64), EG_SHAPE(1, 1, in))
                             : eg_unsqueeze(eg_eye(in, in, 0, EG_F64), 0);
    eg_tensor *y = x ? eg_resize_with(x, EG_SHAPE(out), &how) : NULL;
    y = y && nearest ? eg_reshape(y, EG_SHAPE(out)) : y ? eg_cast(eg_reshape(y, EG_SHAPE(in, out)), dtype) : NULL;
    const eg__val made = eg__constant(w, y);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return made;
}

/* Returns whether ONNX's Resize computes the same in every runtime. It rounds coordinates to f32, which changes
 * nearest modes unless pixels are repeated. */
static bool has_operator(const eg__resize_opts *o, eg_dtype dtype, bool nearest)
{
    bool usual = true;
    for (int i = 0; i < o->naxes; i++) {
        usual = usual && (o->grid == EG_GRID_CORNERS || o->ratio[i] == (double)o->in[i] / (double)o->out[i]);
        usual = usual && (!nearest || (o->out[i] % o->in[i] == 0 && o->grid == EG_GRID_HALF_PIXEL));
    }
    return usual && !o->antialias && dtype == EG_F32 && o->naxes == 2 &&
           (nearest || o->mode == EG_RESIZE_LINEAR || o->mode == EG_RESIZE_CUBIC);
}

static eg__val by_operator(eg__onnx_writer *w, const eg_op_call *c, const char *op, eg__val x)
{
    static const char *const grids[] = {
        [EG_GRID_HALF_PIXEL] = "half_pixel", [EG_GRID_CORNERS] = "align_corners", [EG_GRID_ORIGIN] = "asymmetric"};
    const eg__resize_opts *o = c->options;
    const int64_t axes[] = {2, 3};
    const eg__val sizes = eg__ints(w, o->out, 2);
    eg__set_ints(w, "axes", axes, 2);
    if (o->mode == EG_RESIZE_NEAREST) { /* the cell that o in / out lies in */
        eg__set_text(w, "coordinate_transformation_mode", "asymmetric");
        eg__set_text(w, "nearest_mode", "floor");
    } else {
        eg__set_text(w, "coordinate_transformation_mode", grids[o->grid]);
        eg__set_text(w, "mode",
                     o->mode == EG_RESIZE_CUBIC    ? "cubic"
                     : o->mode == EG_RESIZE_LINEAR ? "linear"
                                                   : "nearest");
        eg__set_text(w, "nearest_mode", "round_prefer_ceil");
        eg__set_float(w, "cubic_coeff_a", o->cubic);
    }
    return eg__put(w, op, x, eg__none(), eg__none(), sizes);
}

/* Writes a resize that ONNX's operator cannot express: a Gather of pixels, or a product with a matrix of weights, per
 * axis. */
eg_status eg__write_resize(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__resize_opts *o = c->options;
    const bool nearest = o->mode == EG_RESIZE_NEAREST || o->mode == EG_RESIZE_NEAREST_EXACT;
    const int from_end = eg__batch_of(w, c->in[0]).from_end;
    eg__val x = eg__of(w, c->in[0]);
    x = nearest ? x : eg__put_wide(w, x);
    if (from_end && from_end <= o->naxes) {
        return eg__not_along_batch(w, c, eg_ndim(c->in[0]) - from_end);
    }
    if (has_operator(o, x.dtype, nearest)) {
        eg__set_output(w, c->out[0], by_operator(w, c, op, x));
        return EG_OK;
    }
    for (int i = 0; i < o->naxes; i++) {
        const eg__val by = along(w, o, i, nearest, x.dtype);
        if (nearest) {
            eg__set_int(w, "axis", 2 + i);
            x = eg__put(w, "Gather", x, by);
        } else {
            x = eg__put_product(w, x, 2 + i, o->naxes + 2, by);
        }
    }
    eg__set_output(w, c->out[0], x);
    return EG_OK;
}

/* ---- sampling ------------------------------------------------------------------------------------------- */

/* Coordinates of an axis (0: x, 1: y) as pixels, in f64 where rounding decides what a point gets. */
static eg__val pixels(eg__onnx_writer *w, const eg__sample_opts *o, int axis, eg__val p)
{
    p = isfinite(o->reach) || o->mode == EG_SAMPLE_NEAREST ? eg__as(w, p, EG_F64) : eg__put_wide(w, p);
    p = eg__put(w, "Add", p, eg__real(o->add));
    return eg__put(w, "Add", eg__put(w, "Mul", p, eg__real(o->scale[axis])), eg__real(o->shift[axis]));
}

/* p mirrored into the image: GridSample rounds first, and of two pixels as near it would find the other. */
static eg__val mirrored(eg__onnx_writer *w, const eg__sample_opts *o, eg__val p, int64_t size)
{
    const double low = o->corners ? 0 : -0.5, span = (double)size - 1 - 2 * low;
    const eg__val from = eg__put(w, "Abs", eg__put(w, "Sub", p, eg__real(low)));
    eg__set_int(w, "fmod", 1);
    const eg__val turn = eg__put(w, "Sub", eg__put(w, "Mod", from, eg__real(2 * span)), eg__real(span));
    const eg__val within = eg__put(w, "Sub", eg__real(span + low), eg__put(w, "Abs", turn));
    return eg__put(w, "Min", eg__put(w, "Max", within, eg__real(0)), eg__real((double)size - 1));
}

/* Those that are read: whole ones for the nearest mode. */
static eg__val rounded(eg__onnx_writer *w, const eg__sample_opts *o, eg__val p, int64_t size)
{
    if (o->mode != EG_SAMPLE_NEAREST) {
        return p;
    }
    p = o->border == EG_SAMPLE_REFLECT ? mirrored(w, o, p, size) : p;
    return o->away ? eg__put(w, "Mul", eg__put(w, "Sign", p),
                             eg__put(w, "Floor", eg__put(w, "Add", eg__put(w, "Abs", p), eg__real(0.5))))
                   : eg__put(w, "Round", p);
}

/* Pixels as ONNX counts them: from -1 to 1, at the outer edges of the image or at the centres of its last pixels. */
static eg__val as_grid(eg__onnx_writer *w, eg__val pixel, int64_t size, bool corners)
{
    const double n = corners ? (double)size - 1 : (double)size;
    const eg__val twice = eg__put(w, "Add", eg__put(w, "Mul", pixel, eg__real(2)), eg__real(corners ? 0 : 1));
    return eg__put_unsqueeze(w, eg__put(w, "Sub", eg__put(w, "Div", twice, eg__real(n)), eg__real(1)), -1);
}

/* Returns a mask of the points that are near enough to the image to have values. */
static eg__val within(eg__onnx_writer *w, const eg__sample_opts *o, eg__val pixel, int64_t size)
{
    const eg__val low = eg__put(w, "GreaterOrEqual", pixel, eg__real(-o->reach));
    return eg__put(w, "And", low, eg__put(w, "LessOrEqual", pixel, eg__real((double)size - 1 + o->reach)));
}

eg_status eg__write_grid_sample(eg__onnx_writer *w, const eg_op_call *c, const char *told)
{
    static const char *const modes[] = {
        [EG_SAMPLE_BILINEAR] = "linear", [EG_SAMPLE_NEAREST] = "nearest", [EG_SAMPLE_BICUBIC] = "cubic"};
    static const char *const borders[] = {
        [EG_SAMPLE_ZEROS] = "zeros", [EG_SAMPLE_EDGE] = "border", [EG_SAMPLE_REFLECT] = "reflection"};
    const eg__sample_opts *o = c->options;
    const int64_t height = eg_size(c->in[0], 2), width = eg_size(c->in[0], 3);
    const bool corners = o->border == EG_SAMPLE_REFLECT && o->corners;
    (void)told;
    if (o->block[0] != 1 || o->block[1] != 1 || o->share != 1 || (corners && (width == 1 || height == 1))) {
        return eg__onnx_cannot(c, "it adds up several points, or mirrors at a single pixel");
    }
    eg__val x = eg__of(w, c->in[0]);
    if (c->nin > 3 && c->in[3]) {
        eg__set_int(w, "axis", 0);
        x = eg__put(w, "Gather", x, eg__of(w, c->in[3]));
    }
    const eg__val px = pixels(w, o, 0, eg__of(w, c->in[1])), py = pixels(w, o, 1, eg__of(w, c->in[2]));
    const eg__val gx = as_grid(w, rounded(w, o, px, width), width, corners);
    const eg__val gy = as_grid(w, rounded(w, o, py, height), height, corners);
    eg__set_int(w, "axis", -1);
    const eg__val grid = eg__put(w, "Concat", gx, gy);
    eg__set_int(w, "align_corners", corners);
    eg__set_text(w, "mode", modes[o->mode]);
    eg__set_text(w, "padding_mode", borders[o->border]);
    eg__val y = eg__put(w, "GridSample", x, grid);
    if (isfinite(o->reach)) {
        const eg__val near = eg__put(w, "And", within(w, o, px, width), within(w, o, py, height));
        y = eg__put_where(w, eg__put_unsqueeze(w, near, 1), y, eg__real(o->fill));
    }
    eg__set_output(w, c->out[0], y);
    return EG_OK;
}
