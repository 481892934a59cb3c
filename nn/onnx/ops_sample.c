/* ops_sample.c - images, signals and volumes read at any places: GridSample, AffineGrid and DeformConv. */
#include "nn/onnx/ops.h"

enum { MOST_AXES = EG_MAX_DIMS - 2, MOST_TAPS = 4 };

typedef struct sampler {
    eg_sample_mode mode;
    eg_sample_border border;
    bool corners; /* -1 and 1 are the centres of the first and last element */
} sampler;

/* ---- one axis --------------------------------------------------------------------------------------- */

static eg_tensor *in_elements(const sampler *s, eg_tensor *at, int64_t size)
{
    const double n = (double)size;
    return s->corners ? eg_mul_scalar(eg_add_scalar(at, 1), (n - 1) / 2)
                      : eg_add_scalar(eg_mul_scalar(at, n / 2), (n - 1) / 2);
}

/* Brought between the borders by reflecting there. */
static eg_tensor *mirrored(const sampler *s, eg_tensor *at, int64_t size)
{
    const double low = s->corners ? 0 : -0.5, span = (double)size - (s->corners ? 1 : 0);
    if (span == 0) {
        return eg_zeros_like(at);
    }
    eg_tensor *way = eg_remainder_scalar(eg_abs(eg_sub_scalar(at, low)), 2 * span);
    return eg_add_scalar(eg_minimum(way, eg_add_scalar(eg_neg(way), 2 * span)), low);
}

/* What tap k of Keys' cubic (1981, a = -0.75) weighs, t behind tap 1. */
static eg_tensor *cubic(eg_tensor *t, int k)
{
    static const double of[MOST_TAPS][MOST_TAPS] = {/* from t^3 down */
                                                    {-0.75, 1.5, -0.75, 0},
                                                    {1.25, -2.25, 0, 1},
                                                    {-1.25, 1.5, 0.75, 0},
                                                    {0.75, -0.75, 0, 0}};
    eg_tensor *y = eg_mul_scalar(t, of[k][0]);
    y = eg_mul(eg_add_scalar(y, of[k][1]), t);
    y = eg_mul(eg_add_scalar(y, of[k][2]), t);
    return eg_add_scalar(y, of[k][3]);
}

typedef struct taps {
    int count;
    eg_tensor *index[MOST_TAPS], *weight[MOST_TAPS]; /* [n, 1, points]; weight NULL: 1 */
} taps;

static void tap(const sampler *s, eg_tensor *at, int64_t size, int k, taps *t)
{
    const double last = (double)size - 1;
    if (s->border == EG_SAMPLE_REFLECT) {
        at = mirrored(s, at, size);
    }
    if (s->border == EG_SAMPLE_ZEROS) {
        eg_tensor *inside = eg_logical_and(eg_ge_scalar(at, 0), eg_le_scalar(at, last));
        inside = eg_cast(inside, eg_dtype_of(at));
        t->weight[k] = t->weight[k] ? eg_mul(t->weight[k], inside) : inside;
    }
    t->index[k] = eg_cast(eg_clamp(at, 0, last), EG_I64);
}

static void taps_of(const sampler *s, eg_tensor *at, int64_t size, taps *t)
{
    const double room = (double)size + 4;
    *t = (taps){.count = s->mode == EG_SAMPLE_NEAREST ? 1 : s->mode == EG_SAMPLE_BILINEAR ? 2 : 4};
    at = s->mode == EG_SAMPLE_NEAREST ? eg_round(at) : at;
    at = s->border == EG_SAMPLE_REFLECT ? mirrored(s, at, size) : eg_clamp(at, -room, 2 * room);
    eg_tensor *first = eg_floor(at), *behind = eg_sub(at, first);
    for (int k = 0; k < t->count; k++) {
        const double step = t->count == 4 ? k - 1 : k;
        if (t->count == 2) {
            t->weight[k] = k ? behind : eg_add_scalar(eg_neg(behind), 1);
        } else if (t->count == 4) {
            t->weight[k] = cubic(behind, k);
        }
        tap(s, eg_add_scalar(first, step), size, k, t);
    }
}

/* ---- all axes ---------------------------------------------------------------------------------------- */

/* The sum over all ways to take a tap of each axis; x is [n, channels, elements]. */
static eg_tensor *summed(eg_tensor *x, const int64_t *size, int axes, const taps *t)
{
    int ways = 1;
    for (int d = 0; d < axes; d++) {
        ways *= t[d].count;
    }
    eg_tensor *y = NULL;
    for (int way = 0; way < ways; way++) {
        eg_tensor *index = NULL, *weight = NULL;
        for (int d = 0, left = way; d < axes; d++) {
            const int k = left % t[d].count;
            eg_tensor *w = t[d].weight[k];
            left /= t[d].count;
            index = d ? eg_add(eg_mul_int(index, size[d]), t[d].index[k]) : t[d].index[k];
            weight = weight && w ? eg_mul(weight, w) : w ? w : weight;
        }
        eg_tensor *term = eg_take_along(x, 2, index);
        term = weight ? eg_mul(term, weight) : term;
        y = way ? eg_add(y, term) : term;
    }
    return y;
}

/* eg_grid_sample over any number of axes: x [n, channels, sizes...], grid [n, any..., axes] -> [n, channels, any...].
 * Two axes are that. */
static eg_tensor *sampled(const sampler *s, eg_tensor *x, eg_tensor *grid)
{
    const int axes = eg_ndim(x) - 2;
    if (!x || !grid) {
        return NULL;
    }
    if (axes == 2 && eg_ndim(grid) == 4) {
        return eg_grid_sample(x, grid, .mode = s->mode, .border = s->border, .align_corners = s->corners);
    }
    int64_t size[MOST_AXES];
    taps t[MOST_AXES];
    const eg_shape places = eg_shape_of(grid);
    eg_shape out = {.ndim = 2, .dim = {eg_size(x, 0), eg_size(x, 1)}};
    for (int d = 1; d < places.ndim - 1; d++) {
        out.dim[out.ndim++] = places.dim[d];
    }
    if (!eg_numel(grid) || !eg_numel(x)) {
        return eg_zeros(out, eg_dtype_of(x));
    }
    grid = eg_cast(grid, eg_dtype_of(x) == EG_F64 ? EG_F64 : EG_F32);
    for (int d = 0; d < axes; d++) { /* the innermost axis comes first in the grid */
        eg_tensor *at = eg_reshape(eg_select(grid, -1, axes - 1 - d), EG_SHAPE(places.dim[0], 1, -1));
        size[d] = eg_size(x, 2 + d);
        taps_of(s, in_elements(s, at, size[d]), size[d], &t[d]);
    }
    eg_tensor *y = summed(eg_reshape(x, EG_SHAPE(out.dim[0], out.dim[1], -1)), size, axes, t);
    return eg_reshape(eg_cast(y, eg_dtype_of(x)), out);
}

eg_status eg__onnx_run_grid_sample(eg_onnx_call *c)
{
    static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "", "bicubic"};
    static const char *const borders[] = {"zeros", "border", "reflection"};
    eg_tensor *x = eg__onnx_in(c, 0), *grid = eg__onnx_in(c, 1);
    const eg_dtype dtype = eg_dtype_of(x);
    const int mode = eg__onnx_choice(c, "mode", modes, EG__COUNT(modes), 0), axes = eg_ndim(x) - 2;
    const int border = eg__onnx_choice(c, "padding_mode", borders, EG__COUNT(borders), 0);
    const sampler s = {(eg_sample_mode)(mode % 3), (eg_sample_border)border, eg_onnx_int(c, "align_corners", 0)};
    if (mode < 0 || border < 0) {
        return eg__onnx_why();
    }
    if (axes < 1 || eg_ndim(grid) != axes + 2 || eg_size(grid, -1) != axes || eg_size(grid, 0) != eg_size(x, 0)) {
        return eg__onnx_bad(c, "the grid does not have a place's numbers for each axis, or another batch");
    }
    if (s.mode == EG_SAMPLE_BICUBIC && axes > 3) {
        return eg__onnx_bad(c, "cubic is for at most 3 axes");
    }
    eg_tensor *y = sampled(&s, dtype >= EG_I64 ? eg_cast(x, EG_F32) : x, grid);
    return eg__onnx_give(c, eg_cast(y, dtype));
}

/* ---- AffineGrid ----------------------------------------------------------------------------------------- */

/* From -1 to 1 along axis d of the sizes; a single place between corners is in the middle. */
static eg_tensor *evenly(eg_shape sizes, int d, bool corners, eg_dtype dtype)
{
    const int64_t n = sizes.dim[d];
    const double step = !corners ? 2.0 / (double)n : n > 1 ? 2.0 / (double)(n - 1) : 0;
    eg_shape line = {sizes.ndim, {1, 1, 1, 1, 1, 1, 1, 1}};
    line.dim[d] = n;
    eg_tensor *at = eg_arange(0, (double)n, 1, EG_F64);
    at = eg_add_scalar(eg_mul_scalar(at, step), -step * (double)(n - 1) / 2);
    return eg_expand(eg_reshape(eg_cast(at, dtype), line), sizes);
}

/* theta (.., y, x, 1) of each place. */
eg_status eg__onnx_run_affine_grid(eg_onnx_call *c)
{
    eg_tensor *theta = eg__onnx_in(c, 0), *parts[4];
    int64_t list[5];
    const int n = eg__onnx_numbers(c, 1, list, 5), axes = n - 2;
    const bool corners = eg_onnx_int(c, "align_corners", 0);
    if (n < 4 || eg_ndim(theta) != 3 || eg_size(theta, 1) != axes || eg_size(theta, 2) != axes + 1) {
        return n < 0 ? eg__onnx_why() : eg__onnx_bad(c, "theta is not [n, axes, axes + 1], or size not of 2 or 3 axes");
    }
    eg_shape sizes = {.ndim = axes}, out = {.ndim = axes + 2, .dim = {eg_size(theta, 0)}};
    for (int d = 0; d < axes; d++) {
        sizes.dim[d] = out.dim[1 + d] = list[2 + d];
        if (list[2 + d] < 1 || list[2 + d] > INT32_MAX) {
            return eg__onnx_bad(c, "a size is outside of 1..2147483647");
        }
    }
    out.dim[1 + axes] = axes;
    for (int d = 0; d < axes; d++) {
        parts[axes - 1 - d] = evenly(sizes, d, corners, eg_dtype_of(theta));
    }
    parts[axes] = eg_ones(sizes, eg_dtype_of(theta));
    eg_tensor *places = eg_reshape(eg_stack(parts, axes + 1, -1), EG_SHAPE(-1, axes + 1));
    places = eg_to(places, eg_device_of(theta));
    return eg__onnx_give(c, eg_reshape(eg_matmul(places, eg_transpose(theta, 1, 2)), out));
}

/* ---- DeformConv ------------------------------------------------------------------------------------------ */

typedef struct deform {
    int axes;
    int64_t groups, offset_groups, places, taps; /* places of an output plane, taps of the kernel */
    int64_t strides[3], dilations[3], pads[6];
    eg_shape kernel, out; /* [k...], [o...] */
} deform;

static eg_status deform_of(const eg_onnx_call *c, deform *f)
{
    eg_tensor *x = eg__onnx_in(c, 0), *w = eg__onnx_in(c, 1), *offset = eg__onnx_in(c, 2);
    *f = (deform){.axes = eg_ndim(x) - 2,
                  .groups = eg_onnx_int(c, "group", 1),
                  .offset_groups = eg_onnx_int(c, "offset_group", 1),
                  .places = 1,
                  .taps = 1};
    const int n = f->axes;
    if (n < 1 || n > 3 || eg_ndim(w) != n + 2 || eg_ndim(offset) != n + 2) {
        return eg__onnx_bad(c, "the tensors do not all have 1, 2 or 3 axes behind the first two");
    }
    if (!eg_numel(x) || !eg_numel(w) || !eg_numel(offset)) {
        return eg__onnx_bad(c, "a tensor is empty");
    }
    if (eg__onnx_per_axis(c, "strides", 1, 1, f->strides, n) || eg__onnx_per_axis(c, "pads", 0, 0, f->pads, 2 * n) ||
        eg__onnx_per_axis(c, "dilations", 1, 1, f->dilations, n)) {
        return eg__onnx_why();
    }
    f->kernel.ndim = f->out.ndim = n;
    for (int d = 0; d < n; d++) {
        f->kernel.dim[d] = eg_size(w, 2 + d);
        f->out.dim[d] = eg_size(offset, 2 + d);
        f->taps *= f->kernel.dim[d];
        f->places *= f->out.dim[d];
        const int64_t reach = eg_size(x, 2 + d) + f->pads[d] + f->pads[n + d];
        const int64_t last = reach - (f->kernel.dim[d] - 1) * f->dilations[d] - 1;
        if (last < 0 || last / f->strides[d] + 1 != f->out.dim[d]) {
            return eg__onnx_bad(c, "offset is not of the output's size");
        }
    }
    const int64_t channels = eg_size(x, 1);
    if (f->groups < 1 || f->offset_groups < 1 || channels % f->groups || channels % f->offset_groups ||
        eg_size(w, 0) % f->groups || eg_size(w, 1) != channels / f->groups) {
        return eg__onnx_bad(c, "the groups do not divide the channels");
    }
    return EG_OK;
}

/* Where along axis d each tap of each output reads, in parts of the image from -1 to 1: [n, k..., o...]. */
static eg_tensor *reads(const deform *f, int d, eg_tensor *offset, int64_t size)
{
    const int n = f->axes;
    eg_shape tap = {1 + 2 * n, {1, 1, 1, 1, 1, 1, 1, 1}}, place = tap;
    tap.dim[1 + d] = f->kernel.dim[d];
    place.dim[1 + n + d] = f->out.dim[d];
    eg_tensor *t = eg_reshape(eg_arange(0, (double)tap.dim[1 + d], 1, EG_F64), tap);
    eg_tensor *o = eg_reshape(eg_arange(0, (double)place.dim[1 + n + d], 1, EG_F64), place);
    t = eg_sub_scalar(eg_mul_scalar(t, (double)f->dilations[d]), (double)f->pads[d]);
    eg_tensor *at = eg_cast(eg_add(t, eg_mul_scalar(o, (double)f->strides[d])), eg_dtype_of(offset));
    at = eg_add(eg_select(offset, 1 + n, d), eg_to(at, eg_device_of(offset)));
    return eg_sub_scalar(eg_mul_scalar(eg_add_scalar(at, 0.5), 2 / (double)size), 1);
}

/* x with zeros behind up to powers of two: places come back from parts of such an image as they were. */
static eg_tensor *padded(eg_tensor *x, int axes)
{
    eg_pad_options o = {.size = sizeof o};
    for (int d = 2; d < 2 + axes; d++) {
        int64_t size = 1;
        while (size < eg_size(x, d)) {
            size *= 2;
        }
        o.after[d] = size - eg_size(x, d);
    }
    return eg_pad_with(x, &o);
}

/* x as each tap reads it: [n, groups, channels * taps, places]. */
static eg_tensor *columns(const deform *f, eg_tensor *x, eg_tensor *offset, eg_tensor *mask)
{
    const sampler s = {.mode = EG_SAMPLE_BILINEAR, .border = EG_SAMPLE_ZEROS};
    const int n = f->axes;
    const int64_t batch = eg_size(x, 0), channels = eg_size(x, 1), rows = batch * f->offset_groups;
    eg_shape image = {.ndim = n + 2, .dim = {rows, channels / f->offset_groups}};
    eg_shape all = {.ndim = 2 + 2 * n, .dim = {rows}};
    eg_tensor *at[3];
    x = padded(x, n);
    for (int d = 0; d < n; d++) {
        image.dim[2 + d] = eg_size(x, 2 + d);
        all.dim[1 + d] = f->kernel.dim[d];
        all.dim[2 + n + d] = f->out.dim[d];
    }
    all.dim[1 + n] = n;
    offset = eg_reshape(eg_dtype_of(x) == EG_F64 ? offset : eg_cast(offset, EG_F32), all);
    for (int d = 0; d < n; d++) { /* the innermost axis first */
        eg_tensor *t = reads(f, d, offset, image.dim[2 + d]);
        at[n - 1 - d] = eg_reshape(t, EG_SHAPE(rows, f->taps, f->places));
    }
    eg_tensor *y = sampled(&s, eg_reshape(x, image), eg_stack(at, n, -1));
    y = mask ? eg_mul(y, eg_reshape(mask, EG_SHAPE(rows, 1, f->taps, f->places))) : y;
    return eg_reshape(y, EG_SHAPE(batch, f->groups, channels / f->groups * f->taps, f->places));
}

eg_status eg__onnx_run_deform_conv(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *w = eg__onnx_in(c, 1), *bias = eg__onnx_in(c, 3);
    deform f;
    if (deform_of(c, &f)) {
        return eg__onnx_why();
    }
    eg_shape out = eg_shape_of(eg__onnx_in(c, 2)), line = {f.axes + 1, {eg_size(w, 0), 1, 1, 1}};
    out.dim[1] = eg_size(w, 0);
    w = eg_reshape(w, EG_SHAPE(f.groups, out.dim[1] / f.groups, -1));
    eg_tensor *y = eg_reshape(eg_matmul(w, columns(&f, x, eg__onnx_in(c, 2), eg__onnx_in(c, 4))), out);
    return eg__onnx_give(c, bias ? eg_add(y, eg_reshape(bias, line)) : y);
}
