/* sample.c - images read at points: checks, inference, public functions. Grids and boxes come down
 * to one row that takes the points' x and y, of boxes as views that repeat a line of each. */
#include <math.h>

#include "lib/core/device.h"
#include "lib/ops/index.h"

/* ---- inference ------------------------------------------------------------------------------- */

static eg_status check_parts(const eg__call *c, const eg_tensor *px, const eg_tensor *py, const eg_tensor *image,
                             int64_t images)
{
    const eg__sample_opts *o = c->opts;
    bool fits = px->ndim == 3 && eg__same_shape(px, py) && px->shape[2] % o->block[0] == 0 &&
                px->shape[1] % o->block[1] == 0 && (image ? image->n : images) == px->shape[0];
    return fits ? EG_OK
                : eg__fail(EG_ESHAPE, c->op->name, "points %s and %s do not fit %lld images", EG__SHAPE_OF(px),
                           EG__SHAPE_OF(py), (long long)images);
}

/* A tensor of images or pictures that lies as t does. */
static eg_status laid_like(eg__call *c, const eg_tensor *t, int64_t n, int64_t channels, int64_t h, int64_t w)
{
    eg__desc *d = &c->desc[0];
    d->dtype = t->dtype;
    d->ndim = 4;
    d->shape[0] = n;
    d->shape[1] = channels;
    d->shape[2] = h;
    d->shape[3] = w;
    d->dense = t->flags & EG__DENSE || !eg_is_channels_last(t);
    if (!d->dense) {
        eg__channels_last(4, d->shape, d->strides);
    }
    return eg__check_shape(c->op->name, 4, d->shape, d->dtype, &d->n);
}

eg_status eg__infer_grid_sample(eg__call *c)
{
    const eg__sample_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *px = c->in[1];
    eg_status st = check_parts(c, px, c->in[2], c->nin > 3 ? c->in[3] : NULL, x->shape[0]);
    return st ? st : laid_like(c, x, px->shape[0], x->shape[1], px->shape[1] / o->block[1], px->shape[2] / o->block[0]);
}

eg_status eg__infer_grid_sample_grad(eg__call *c)
{
    const eg__sample_opts *o = c->opts;
    eg_status st = check_parts(c, c->in[1], c->in[2], c->nin > 3 ? c->in[3] : NULL, o->size[0]);
    return st ? st : laid_like(c, c->in[0], o->size[0], c->in[0]->shape[1], o->size[2], o->size[3]);
}

eg_status eg__infer_grid_sample_points(eg__call *c)
{
    eg_status st = check_parts(c, c->in[2], c->in[3], c->nin > 4 ? c->in[4] : NULL, c->in[1]->shape[0]);
    for (int j = 0; j < 2 && !st; j++) {
        eg__desc *d = &c->desc[j];
        d->dtype = c->in[2]->dtype;
        d->ndim = 3;
        d->dense = true;
        memcpy(d->shape, c->in[2]->shape, sizeof d->shape);
        st = eg__check_shape(c->op->name, 3, d->shape, d->dtype, &d->n);
    }
    return st;
}

/* ---- what all of them share ------------------------------------------------------------------ */

static eg_status check_images(const char *op, const eg_tensor *x)
{
    if (eg__check(x, op, "x")) {
        return eg__why();
    }
    if (!eg__is_float(x->dtype)) {
        return eg__fail(EG_EDTYPE, op, "images of %s, must be floats", eg_dtype_name((eg_dtype)x->dtype));
    }
    bool fits = x->ndim == 4 && x->shape[2] > 0 && x->shape[3] > 0 && x->shape[2] <= INT32_MAX / x->shape[3];
    return fits ? EG_OK
                : eg__fail(EG_ESHAPE, op, "x %s must be [N, C, H, W] with 1 to 2^31 - 1 pixels in a plane",
                           EG__SHAPE_OF(x));
}

/* Floats of shape [any, last], or as the text says. */
static eg_status check_floats(const char *op, const char *name, const eg_tensor *t, int ndim, int64_t last,
                              const char *shape)
{
    if (eg__check(t, op, name)) {
        return eg__why();
    }
    if (!eg__is_float(t->dtype)) {
        return eg__fail(EG_EDTYPE, op, "%s of %s, must be floats", name, eg_dtype_name((eg_dtype)t->dtype));
    }
    return t->ndim == ndim && t->shape[ndim - 1] == last
               ? EG_OK
               : eg__fail(EG_ESHAPE, op, "%s %s must be %s", name, EG__SHAPE_OF(t), shape);
}

static eg__sample_opts options_for(const eg_tensor *x, int mode, int border)
{
    eg__sample_opts o = {
        .mode = mode, .border = border, .scale = {1, 1}, .reach = INFINITY, .block = {1, 1}, .share = 1};
    memcpy(o.size, x->shape, sizeof o.size);
    return o;
}

/* The dtype places are computed in. */
static eg_dtype place_dtype(const eg_tensor *x)
{
    return x->dtype == EG_F64 ? EG_F64 : EG_F32;
}

/* The row itself; halves go through f32. */
static eg_tensor *sample(eg_tensor *x, eg_tensor *px, eg_tensor *py, eg_tensor *image, const eg__sample_opts *o)
{
    eg_tensor *in[] = {eg_cast(x, place_dtype(x)), px, py, image}, *out[EG__MAX_OUT];
    if (!in[0] || !px || !py || eg__dispatch(&eg__op_grid_sample, in, image ? 4 : 3, o, out)) {
        return NULL;
    }
    return eg_cast(out[0], (eg_dtype)x->dtype);
}

/* ---- grids ----------------------------------------------------------------------------------- */

eg_tensor *eg_grid_sample_with(eg_tensor *x, eg_tensor *grid, const eg_grid_sample_options *given)
{
    static const char op[] = "grid_sample";
    eg_grid_sample_options g;
    eg__options(&g, sizeof g, given);
    if (check_images(op, x) || check_floats(op, "grid", grid, 4, 2, "[N, rows, columns, 2]")) {
        return NULL;
    }
    if ((unsigned)g.mode > EG_SAMPLE_BICUBIC || (unsigned)g.border > EG_SAMPLE_REFLECT) {
        return eg__fail_null(EG_EINVAL, op, "mode %d or border %d is unknown", g.mode, g.border);
    }
    if (grid->shape[0] != x->shape[0]) {
        return eg__fail_null(EG_ESHAPE, op, "grid %s is not for %lld images", EG__SHAPE_OF(grid),
                             (long long)x->shape[0]);
    }
    eg__sample_opts o = options_for(x, g.mode, g.border);
    o.corners = g.align_corners;
    o.add = 1;
    for (int a = 0; a < 2; a++) {
        o.scale[a] = (double)(x->shape[3 - a] - g.align_corners) / 2;
        o.shift[a] = g.align_corners ? 0 : -0.5;
    }
    if (g.border == EG_SAMPLE_ZEROS) {
        o.reach = g.mode == EG_SAMPLE_BICUBIC ? 2 : 1;
    }
    eg_scope s = eg_scope_push();
    grid = eg_cast(grid, place_dtype(x));
    return eg_scope_pop(s, sample(x, eg_select(grid, -1, 0), eg_select(grid, -1, 1), NULL, &o));
}

/* n numbers from -1 to 1 beside t: borders or centres of as many pixels. */
static eg_tensor *spread(const eg_tensor *t, int64_t n, bool corners)
{
    eg_dtype dtype = t->dtype == EG_F64 ? EG_F64 : EG_F32;
    eg_tensor *i = eg__arange_on(t->device, 0, (double)n, 1, dtype);
    double step = !corners ? 2 / (double)n : n > 1 ? 2 / (double)(n - 1) : 0;
    double first = !corners ? step / 2 - 1 : n > 1 ? -1 : 0;
    return eg_cast(eg_add_scalar(eg_mul_scalar(i, step), first), (eg_dtype)t->dtype);
}

eg_tensor *eg_affine_grid(eg_tensor *theta, int64_t height, int64_t width, bool align_corners)
{
    static const char op[] = "affine_grid";
    if (check_floats(op, "theta", theta, 3, 3, "[N, 2, 3]")) {
        return NULL;
    }
    if (theta->shape[1] != 2 || height < 1 || width < 1) {
        return eg__fail_null(EG_ESHAPE, op, "theta %s must be [N, 2, 3], height %lld and width %lld at least 1",
                             EG__SHAPE_OF(theta), (long long)height, (long long)width);
    }
    if (eg__check_room(op, theta->device, 4, (int64_t[]){theta->shape[0], height, width, 2}, theta->dtype)) {
        return NULL;
    }
    eg__wide s = EG__WIDE_BEGIN(&theta);
    if (!theta) {
        return eg__wide_end(s, NULL);
    }
    eg_tensor *part[3];
    for (int k = 0; k < 3; k++) {
        part[k] = eg_reshape(eg_select(theta, 2, k), EG_SHAPE(theta->shape[0], 1, 1, 2));
    }
    eg_tensor *x = eg_reshape(spread(theta, width, align_corners), EG_SHAPE(1, 1, width, 1));
    eg_tensor *y = eg_reshape(spread(theta, height, align_corners), EG_SHAPE(1, height, 1, 1));
    return eg__wide_end(s, eg_add(eg_mul(x, part[0]), eg_add(eg_mul(y, part[1]), part[2])));
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static eg_status check_boxes(const char *op, const eg_tensor *x, const eg_tensor *boxes, const eg_tensor *box_image,
                             int64_t height, int64_t width)
{
    if (check_images(op, x) || check_floats(op, "boxes", boxes, 2, 4, "[boxes, 4]") ||
        eg__check(box_image, op, "box_image")) {
        return eg__why();
    }
    if (box_image->ndim != 1 || box_image->n != boxes->shape[0]) {
        return eg__fail(EG_ESHAPE, op, "box_image %s is not one image for each of %s", EG__SHAPE_OF(box_image),
                        EG__SHAPE_OF(boxes));
    }
    if (height < 1 || width < 1) {
        return eg__fail(EG_ESHAPE, op, "height %lld and width %lld must be at least 1", (long long)height,
                        (long long)width);
    }
    const int64_t crops[4] = {boxes->shape[0], x->shape[1], height, width};
    const int64_t lines[2] = {boxes->shape[0], eg__max(height, width)};
    eg_status st = eg__check_room(op, x->device, 4, crops, x->dtype);
    return st ? st : eg__check_room(op, x->device, 2, lines, EG_F64); /* of points, whatever the channels */
}

/* Column k of the boxes, [B, 1]. */
static eg_tensor *side(eg_tensor *boxes, int k)
{
    return eg_slice(boxes, 1, k, k + 1, 1);
}

/* Lines [B, width] of x and [B, height] of y as the x and y of [B, height, width] points. */
static eg_tensor *sample_lines(eg_tensor *x, eg_tensor *px, eg_tensor *py, eg_tensor *image, const eg__sample_opts *o)
{
    if (!px || !py || !image) {
        return NULL;
    }
    eg_shape points = EG_SHAPE(px->shape[0], py->shape[1], px->shape[1]);
    return sample(x, eg_expand(eg_unsqueeze(px, 1), points), eg_expand(eg_unsqueeze(py, 2), points), image, o);
}

/* n points from a to b, [B, 1] each in parts of the image: in pixels of an axis of `size`. Both
 * ends are exact. */
static eg_tensor *line(eg_tensor *a, eg_tensor *b, int64_t n, int64_t size)
{
    if (!a || !b) {
        return NULL;
    }
    eg_dtype dtype = (eg_dtype)a->dtype;
    eg_tensor *to = n > 1 ? eg_div_scalar(eg__arange_on(a->device, 0, (double)n, 1, dtype), (double)(n - 1))
                          : eg__full_on(a->device, EG_SHAPE(1), 0.5, dtype);
    eg_tensor *from = eg_add_scalar(eg_neg(to), 1);
    return eg_mul_scalar(eg_add(eg_mul(a, from), eg_mul(b, to)), (double)(size - 1));
}

eg_tensor *eg_crop_and_resize_with(eg_tensor *x, eg_tensor *boxes, eg_tensor *box_image, int64_t height, int64_t width,
                                   const eg_crop_and_resize_options *given)
{
    static const char op[] = "crop_and_resize";
    eg_crop_and_resize_options g;
    eg__options(&g, sizeof g, given);
    if (check_boxes(op, x, boxes, box_image, height, width)) {
        return NULL;
    }
    if ((unsigned)g.mode > EG_SAMPLE_NEAREST) {
        return eg__fail_null(EG_EINVAL, op, "mode %d is neither bilinear nor nearest", g.mode);
    }
    eg__sample_opts o = options_for(x, g.mode, EG_SAMPLE_EDGE);
    o.away = true;
    o.reach = 0;
    o.fill = g.extrapolation;
    eg_scope s = eg_scope_push();
    eg_tensor *image = eg__checked_index(op, box_image, x->shape[0], true);
    boxes = eg_cast(boxes, place_dtype(x));
    eg_tensor *py = line(side(boxes, 0), side(boxes, 2), height, x->shape[2]);
    eg_tensor *px = line(side(boxes, 1), side(boxes, 3), width, x->shape[3]);
    return eg_scope_pop(s, sample_lines(x, px, py, image, &o));
}

/* ---- regions of interest --------------------------------------------------------------------- */

enum { MOST_SAMPLES = 4096 };

/* How many points per cell boxes with these cells want, [K, 1], into *each; the most of them is
 * returned, 0 with words. */
static int64_t samples_for(const char *op, eg_tensor *cell, eg_tensor **each)
{
    eg_tensor *n = eg_maximum_scalar(eg_ceil(cell), 0);
    n = n ? eg_where(eg_isnan(n), eg_scalar(0, (eg_dtype)n->dtype), n) : NULL;
    eg_tensor *most = !n || !n->n ? n : eg_max(n);
    double count = most && most->n ? eg_item(most) : 1;
    *each = n;
    if (!most) {
        return 0;
    }
    if (count > MOST_SAMPLES) {
        eg__fail(EG_EINVAL, op, "a box has cells of %g pixels, more than %d", count, MOST_SAMPLES);
        return 0;
    }
    return eg__max(1, (int64_t)count);
}

/* Points along an axis: of each of `cells`, `most` of which `each` (NULL: all) count and are spread
 * over the cell, the others lie nowhere. [K, cells * most]. */
static eg_tensor *cell_points(eg_tensor *start, eg_tensor *cell, eg_tensor *each, int64_t cells, int64_t most)
{
    if (!start || !cell) {
        return NULL;
    }
    eg_dtype dtype = (eg_dtype)cell->dtype;
    eg_tensor *k = eg__arange_on(cell->device, 0, (double)cells, 1, dtype);
    eg_tensor *i = eg__arange_on(cell->device, 0, (double)most, 1, dtype);
    k = eg_reshape(k, EG_SHAPE(cells, 1));
    start = eg_unsqueeze(start, 2);
    cell = eg_unsqueeze(cell, 2);
    eg_tensor *part = eg_add_scalar(i, 0.5);
    if (each) {
        eg_tensor *n = eg_unsqueeze(each, 2);
        part = eg_where(eg_lt(i, n), eg_div(part, n), eg_scalar(NAN, dtype));
    } else {
        part = eg_div_scalar(part, (double)most);
    }
    eg_tensor *points = eg_add(start, eg_mul(cell, eg_add(k, part)));
    return points ? eg_reshape(points, EG_SHAPE(points->shape[0], cells * most)) : NULL;
}

/* One axis of the boxes: where they start, and the size of a cell. */
static void measure(eg_tensor *boxes, int k, int64_t cells, const eg_roi_align_options *g, eg_tensor **start,
                    eg_tensor **cell)
{
    double scale = eg__or(g->spatial_scale, 1);
    eg_tensor *from = eg_mul_scalar(side(boxes, k), scale), *to = eg_mul_scalar(side(boxes, k + 2), scale);
    eg_tensor *size = eg_sub(to, from);
    *start = g->aligned ? eg_sub_scalar(from, 0.5) : from;
    *cell = eg_div_scalar(g->aligned ? size : eg_maximum_scalar(size, 1), (double)cells);
}

static eg_tensor *roi_align(const char *op, eg_tensor *x, eg_tensor *boxes, eg_tensor *image, int64_t height,
                            int64_t width, const eg_roi_align_options *g)
{
    const int64_t cells[2] = {width, height};
    eg__sample_opts o = options_for(x, EG_SAMPLE_BILINEAR, EG_SAMPLE_EDGE);
    eg_tensor *start[2], *cell[2], *each[2] = {NULL, NULL}, *points[2];
    o.reach = 1;
    const int64_t most[3] = {boxes->shape[0], eg__max(height, width), eg__max(g->sampling_ratio, 1)};
    if (eg__check_room(op, x->device, 3, most, EG_F64)) {
        return NULL;
    }
    for (int a = 0; a < 2; a++) {
        measure(boxes, a, cells[a], g, &start[a], &cell[a]);
        o.block[a] = g->sampling_ratio ? g->sampling_ratio : samples_for(op, cell[a], &each[a]);
        if (!o.block[a] || !cell[a]) {
            return NULL;
        }
        points[a] = cell_points(start[a], cell[a], each[a], cells[a], o.block[a]);
    }
    o.share = g->sampling_ratio ? 1 / (double)(o.block[0] * o.block[1]) : 1;
    eg_tensor *y = sample_lines(x, points[0], points[1], image, &o);
    if (!y || g->sampling_ratio) {
        return y;
    }
    eg_tensor *count = eg_maximum_scalar(eg_mul(each[0], each[1]), 1);
    eg_tensor *share = count ? eg_reshape(eg_reciprocal(count), EG_SHAPE(count->n, 1, 1, 1)) : NULL;
    return eg_mul(y, share);
}

eg_tensor *eg_roi_align_with(eg_tensor *x, eg_tensor *boxes, eg_tensor *box_image, int64_t height, int64_t width,
                             const eg_roi_align_options *given)
{
    static const char op[] = "roi_align";
    eg_roi_align_options g;
    eg__options(&g, sizeof g, given);
    if (check_boxes(op, x, boxes, box_image, height, width)) {
        return NULL;
    }
    const double scale = eg__or(g.spatial_scale, 1);
    if (!isfinite(scale) || scale <= 0) {
        return eg__fail_null(EG_EINVAL, op, "spatial_scale %g is not above 0", scale);
    }
    if (g.sampling_ratio < 0 || g.sampling_ratio > MOST_SAMPLES) {
        return eg__fail_null(EG_EINVAL, op, "sampling_ratio %lld is outside 0..%d", (long long)g.sampling_ratio,
                             MOST_SAMPLES);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *image = eg__checked_index(op, box_image, x->shape[0], true);
    eg_tensor *wide = eg_cast(x, place_dtype(x)), *places = eg_cast(eg_detach(boxes), place_dtype(x));
    eg_tensor *y = image && wide && places ? roi_align(op, wide, places, image, height, width, &g) : NULL;
    return eg_scope_pop(s, eg_cast(y, (eg_dtype)x->dtype));
}
