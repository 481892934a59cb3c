/* ops_resize.c - Resize and Upsample: any axes at another size. */
#include <math.h>

#include "nn/onnx/ops.h"

typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear"}; /* the last: Upsample's in version 1 */

/* Where output o lies in the input. */
typedef enum grid { HALF_PIXEL, SYMMETRIC, PYTORCH, CORNERS, ORIGIN, CROP, PIXEL_CENTRE } grid;
static const char *const grids[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
                                    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};

/* Which element is the nearest; by the direction: the one above where an axis shrinks, else the one below. */
typedef enum rounding { HALF_DOWN, HALF_UP, DOWN, UP, BY_DIRECTION } rounding;
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};

typedef struct side {
    int64_t in, out;
    double scale, width; /* width: the size that is asked for, with its fraction */
    double from, to;     /* CROP: the part of the input, 0..1 */
} side;

typedef struct resize {
    mode mode;
    grid grid;
    rounding rounding;
    bool antialias, exclude_outside;
    double cubic, extrapolation;
    int ndim;
    side side[EG_MAX_DIMS];
} resize;

enum { LARGEST = INT32_MAX };

/* ---- sizes ------------------------------------------------------------------------------------------ */

static eg_status sized(side *s, double out)
{
    if (!(out >= 0 && out <= LARGEST) || (out > 0 && !s->in)) {
        return eg_failf(EG_ESHAPE, eg__onnx_op_name, "an axis of %lld becomes %g, must be 0..2147483647",
                        (long long)s->in, out);
    }
    s->out = (int64_t)out;
    return EG_OK;
}

/* The size is rounded as a float's product: 0.7 of 10 is 7. */
static eg_status scaled(side *s, double scale)
{
    if (!(scale > 0) || !isfinite(scale)) {
        return eg_failf(EG_EINVAL, eg__onnx_op_name, "a scale is %g, must be above 0", scale);
    }
    s->scale = scale;
    s->width = scale * (double)s->in;
    return sized(s, floor((float)s->width));
}

/* Sizes of the axes named; one scale for all of them, unless they are stretched. */
static eg_status by_sizes(resize *r, const int *axes, int n, const int64_t *sizes, int policy)
{
    double scale = policy == 1 ? INFINITY : 0;
    for (int i = 0; i < n; i++) {
        const double each = (double)sizes[i] / (double)eg__max(r->side[axes[i]].in, 1);
        scale = policy == 1 ? fmin(scale, each) : fmax(scale, each);
    }
    eg_status st = EG_OK;
    for (int i = 0; i < n && !st; i++) {
        side *s = &r->side[axes[i]];
        s->width = policy ? scale * (double)s->in : (double)sizes[i];
        s->scale = policy ? scale : s->width / (double)eg__max(s->in, 1);
        st = sized(s, floor(s->width + 0.5));
    }
    return st;
}

static eg_status by_scales(resize *r, const int *axes, int n, const eg_tensor *scales)
{
    eg_status st = EG_OK;
    for (int i = 0; i < n && !st; i++) {
        st = scaled(&r->side[axes[i]], eg_get(scales, i));
    }
    return st;
}

/* The axes that scales, sizes and the part are given for; how many, -1 with words. */
static int axes_of(const eg_onnx_call *c, int ndim, int *axes)
{
    int n;
    const int64_t *list = eg_onnx_ints(c, "axes", &n);
    n = list ? n : ndim;
    if (n > ndim) {
        eg__onnx_bad(c, "more axes than the tensor has");
        return -1;
    }
    for (int i = 0; i < n; i++) {
        axes[i] = list ? eg__onnx_axis(list[i], ndim) : i;
        if (axes[i] < 0) {
            return -1;
        }
    }
    return n;
}

static void as_it_is(resize *r, const eg_tensor *x)
{
    r->ndim = eg_ndim(x);
    for (int i = 0; i < r->ndim; i++) {
        const int64_t n = eg_size(x, i);
        r->side[i] = (side){.in = n, .out = n, .scale = 1, .width = (double)n, .to = 1};
    }
}

static eg_status sides_of(const eg_onnx_call *c, resize *r)
{
    const bool first = c->node->version < 11; /* scales alone */
    const eg_tensor *scales = eg__onnx_in(c, first ? 1 : 2), *part = first ? NULL : eg__onnx_in(c, 1);
    int64_t sizes[EG_MAX_DIMS];
    int axes[EG_MAX_DIMS];
    as_it_is(r, eg__onnx_in(c, 0));
    const int n = axes_of(c, r->ndim, axes), given = first ? 0 : eg__onnx_numbers(c, 3, sizes, EG_MAX_DIMS);
    const int policy = eg__onnx_choice(c, "keep_aspect_ratio_policy", policies, EG__COUNT(policies), 0);
    if (n < 0 || given < 0 || policy < 0) {
        return eg__onnx_why();
    }
    if (given ? given != n : eg_numel(scales) != n) {
        return eg__onnx_bad(c, "scales or sizes are not one for each axis");
    }
    if (r->grid == CROP && eg_numel(part) != 2 * n) {
        return eg__onnx_bad(c, "roi does not have two numbers for each axis");
    }
    for (int i = 0; r->grid == CROP && i < n; i++) {
        r->side[axes[i]].from = eg_get(part, i);
        r->side[axes[i]].to = eg_get(part, n + i);
    }
    return given ? by_sizes(r, axes, n, sizes, policy) : by_scales(r, axes, n, scales);
}

/* ---- places and weights ------------------------------------------------------------------------------ */

static double place(const resize *r, const side *s, double o)
{
    const double last = (double)s->in - 1, half = (o + 0.5) / s->scale;
    switch (r->grid) {
    case SYMMETRIC:
        return (double)s->in / 2 * (1 - (double)s->out / s->width) + half - 0.5;
    case PYTORCH:
        return s->out > 1 ? half - 0.5 : 0;
    case CORNERS:
        return s->width == 1 ? 0 : o * last / (s->width - 1);
    case ORIGIN:
        return o / s->scale;
    case PIXEL_CENTRE:
        return half;
    case CROP:
        return s->width == 1 ? (s->from + s->to) * last / 2
                             : s->from * last + o * (s->to - s->from) * last / (s->width - 1);
    default:
        return half - 0.5;
    }
}

/* Scales are f32: what lies in the middle of two elements, or on one, but for their rounding does so. */
static double nearest(const resize *r, const side *s, double x)
{
    const double step = ldexp(1, s->in < 1 << 20 ? ilogb((double)s->in) - 22 : -2);
    x = floor(x / step + 0.5) * step;
    switch (r->rounding) {
    case HALF_UP:
        return floor(x + 0.5);
    case DOWN:
        return floor(x);
    case UP:
        return ceil(x);
    case BY_DIRECTION:
        return s->scale < 1 ? ceil(x) : floor(x);
    default:
        return ceil(x - 0.5);
    }
}

/* Of an element at a distance; Keys 1981 for the cubic. */
static double weight(const resize *r, double at)
{
    const double t = fabs(at), a = r->cubic;
    if (r->mode == LINEAR) {
        return fmax(1 - t, 0);
    }
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

static int64_t within(double at, int64_t n)
{
    return (int64_t)fmax(0, fmin(at, (double)n - 1)); /* NaN: the last */
}

/* How the outputs of an axis come of its elements: index and weight of `taps` for each. */
typedef struct plan {
    int64_t taps, *index;
    double *weight;
    uint8_t *outside; /* CROP: outputs outside of the input */
    bool any_outside;
} plan;

static void plan_output(const resize *r, const side *s, int64_t o, double reach, double shrink, plan *p)
{
    int64_t *index = p->index + o * p->taps;
    double *w = p->weight + o * p->taps, sum = 0;
    const double given = place(r, s, (double)o), last = (double)s->in - 1;
    p->outside[o] = r->grid == CROP && !(given >= 0 && given <= last);
    p->any_outside |= p->outside[o];
    if (r->mode == NEAREST) {
        index[0] = within(nearest(r, s, given), s->in);
        return;
    }
    const double x = fmax(-reach - 1, fmin(given, last + reach + 1)), first = floor(x - reach) + 1;
    for (int64_t k = 0; k < p->taps; k++) {
        const double i = first + (double)k;
        const bool left_out = r->exclude_outside && (i < 0 || i > last);
        index[k] = within(i, s->in);
        w[k] = left_out ? 0 : weight(r, (i - x) * shrink);
        sum += w[k];
    }
    for (int64_t k = 0; k < p->taps && sum != 0; k++) {
        w[k] /= sum;
    }
}

static eg_status make_plan(const resize *r, const side *s, plan *p)
{
    const double shrink = r->antialias && s->scale < 1 ? s->scale : 1, reach = (r->mode == CUBIC ? 2 : 1) / shrink;
    *p = (plan){.taps = r->mode == NEAREST ? 1 : (int64_t)ceil(2 * reach)};
    const int64_t all = s->out * p->taps; /* below 2^31 inputs and outputs, each a few times */
    p->index = eg__onnx_scratch(all, sizeof *p->index);
    p->weight = p->index ? eg__onnx_scratch(all, sizeof *p->weight) : NULL;
    p->outside = p->weight ? eg__onnx_scratch(s->out, 1) : NULL;
    if (!p->outside) {
        return eg__onnx_why();
    }
    for (int64_t o = 0; o < s->out; o++) {
        plan_output(r, s, o, reach, shrink, p);
    }
    return EG_OK;
}

/* ---- one axis after the other -------------------------------------------------------------------------- */

/* x [a, in, b], of f32 or f64 unless the nearest are taken -> [a, out, b]. */
static eg_tensor *by_plan(const resize *r, const side *s, eg_tensor *x, const plan *p)
{
    eg_device *device = eg_device_of(x);
    eg_tensor *index = eg_to(eg_from(EG_SHAPE(s->out, p->taps), EG_I64, p->index), device);
    eg_tensor *y = eg_index_select(x, 1, eg_reshape(index, EG_SHAPE(-1)));
    if (r->mode != NEAREST) {
        eg_tensor *w = eg_cast(eg_from(EG_SHAPE(s->out, p->taps, 1), EG_F64, p->weight), eg_dtype_of(x));
        y = eg_reshape(y, EG_SHAPE(eg_size(x, 0), s->out, p->taps, eg_size(x, 2)));
        y = eg_sum(eg_mul(y, eg_to(w, device)), .axes = EG_AXES(2));
    }
    if (p->any_outside) {
        eg_tensor *outside = eg_to(eg_from(EG_SHAPE(s->out, 1), EG_BOOL, p->outside), device);
        y = eg_masked_fill(y, outside, r->extrapolation);
    }
    return y;
}

static bool stays(const resize *r, const side *s)
{
    return s->in == s->out && s->width == (double)s->out && (r->grid != CROP || (s->from == 0 && s->to == 1));
}

static eg_tensor *along(const resize *r, int axis, eg_tensor *x)
{
    const side *s = &r->side[axis];
    eg_shape shape = eg_shape_of(x);
    shape.dim[axis] = s->out;
    if (!eg_numel(x) || !s->out) {
        return eg_zeros(shape, eg_dtype_of(x));
    }
    int64_t before = 1, behind = 1;
    for (int i = 0; i < shape.ndim; i++) {
        before *= i < axis ? shape.dim[i] : 1;
        behind *= i > axis ? shape.dim[i] : 1;
    }
    plan p;
    if (make_plan(r, s, &p)) {
        return NULL;
    }
    return eg_reshape(by_plan(r, s, eg_reshape(x, EG_SHAPE(before, s->in, behind)), &p), shape);
}

static eg_tensor *by_axes(const resize *r, eg_tensor *x)
{
    const eg_dtype dtype = eg_dtype_of(x);
    eg_tensor *y = r->mode == NEAREST ? x : eg__onnx_wide(x);
    for (int i = 0; i < r->ndim && y; i++) {
        y = stays(r, &r->side[i]) ? y : along(r, i, y);
    }
    return eg_cast(dtype >= EG_I64 && r->mode != NEAREST ? eg_round(y) : y, dtype);
}

/* ---- all at once --------------------------------------------------------------------------------------- */

/* Nearest elements that eg_resize takes; `several`: no axis ends up with a single one; `whole`: sizes come out without
 * a fraction. */
static bool nearest_as_images(const resize *r, bool several, bool shrinks, bool whole, eg_resize_options *o)
{
    const bool centre = r->grid == HALF_PIXEL || (r->grid == PYTORCH && several);
    o->mode = r->grid == ORIGIN ? EG_RESIZE_NEAREST : EG_RESIZE_NEAREST_EXACT;
    const bool down = r->rounding == DOWN || (r->rounding == BY_DIRECTION && !shrinks);
    return whole && (r->grid == ORIGIN ? down : centre && r->rounding == HALF_UP);
}

/* Filters that eg_resize has. */
static bool filter_as_images(const resize *r, bool several, bool whole, eg_resize_options *o)
{
    o->mode = r->mode == LINEAR ? EG_RESIZE_LINEAR : EG_RESIZE_CUBIC;
    o->cubic = r->mode == LINEAR ? 0 : r->cubic;
    o->grid = r->grid == CORNERS ? EG_GRID_CORNERS : r->grid == ORIGIN ? EG_GRID_ORIGIN : EG_GRID_HALF_PIXEL;
    const bool known = r->grid == HALF_PIXEL || r->grid == ORIGIN || (r->grid == SYMMETRIC && whole) ||
                       (r->grid == PYTORCH && several) || (r->grid == CORNERS && several && whole);
    return known && (r->mode == LINEAR || r->cubic != 0) && !r->exclude_outside;
}

/* Whether eg_resize computes the same, and how: the axes behind the first two change, of floats unless the nearest are
 * taken. */
static bool as_images(const resize *r, const eg_tensor *x, eg_shape *size, eg_resize_options *o)
{
    bool whole = true, several = true, shrinks = false, filled = r->ndim >= 3 && r->ndim <= 5;
    *size = (eg_shape){.ndim = r->ndim - 2};
    for (int i = 0; i < r->ndim && filled; i++) {
        const side *s = &r->side[i];
        filled = s->in && s->out && (i >= 2 || stays(r, s));
        shrinks |= s->scale < 1;
        if (i >= 2) {
            const bool exact = s->width == (double)s->out;
            whole = whole && exact;
            several = several && s->out > 1;
            size->dim[i - 2] = s->out;
            o->scale[i - 2] = exact ? 0 : s->scale;
        }
    }
    if (!filled || r->mode == NEAREST) {
        return filled && nearest_as_images(r, several, shrinks, whole, o);
    }
    return eg_dtype_of(x) < EG_I64 && !(r->antialias && shrinks) && filter_as_images(r, several, whole, o);
}

static eg_status give_resized(eg_onnx_call *c, const resize *r)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    eg_resize_options o = {.size = sizeof o};
    eg_shape size;
    return eg__onnx_give(c, as_images(r, x, &size, &o) ? eg_resize_with(x, size, &o) : by_axes(r, x));
}

eg_status eg__onnx_run_resize(eg_onnx_call *c)
{
    const bool first = c->node->version < 11;
    const int how = eg__onnx_choice(c, "mode", modes, 3, NEAREST);
    const int where =
        eg__onnx_choice(c, "coordinate_transformation_mode", grids, EG__COUNT(grids), first ? ORIGIN : HALF_PIXEL);
    const int near =
        eg__onnx_choice(c, "nearest_mode", roundings, EG__COUNT(roundings), first ? BY_DIRECTION : HALF_DOWN);
    resize r = {.mode = (mode)how,
                .grid = (grid)where,
                .rounding = (rounding)near,
                .antialias = eg_onnx_int(c, "antialias", 0),
                .exclude_outside = eg_onnx_int(c, "exclude_outside", 0),
                .cubic = eg_onnx_float(c, "cubic_coeff_a", -0.75),
                .extrapolation = eg_onnx_float(c, "extrapolation_value", 0)};
    if (how < 0 || where < 0 || near < 0 || sides_of(c, &r)) {
        return eg__onnx_why();
    }
    return give_resized(c, &r);
}

/* Scales are attributes before version 9, of the last two axes in version 1. */
eg_status eg__onnx_run_upsample(eg_onnx_call *c)
{
    const int version = c->node->version, how = eg__onnx_choice(c, "mode", modes, EG__COUNT(modes), NEAREST);
    resize r = {.mode = how == NEAREST ? NEAREST : LINEAR, .grid = ORIGIN, .rounding = DOWN};
    as_it_is(&r, eg__onnx_in(c, 0));
    int n = 0;
    const float *scales = eg_onnx_floats(c, "scales", &n);
    const eg_tensor *given = eg__onnx_in(c, 1);
    n = version >= 9 ? (int)eg__min(eg_numel(given), INT32_MAX) : version < 7 ? r.ndim : n;
    if (how < 0 || n != r.ndim) {
        return how < 0 ? eg__onnx_why() : eg__onnx_bad(c, "scales are not one for each axis");
    }
    eg_status st = EG_OK;
    for (int i = 0; i < n && !st; i++) {
        const char *name = i == n - 1 ? "width_scale" : i == n - 2 ? "height_scale" : "";
        st = scaled(&r.side[i], version >= 9 ? eg_get(given, i) : scales ? scales[i] : eg_onnx_float(c, name, 1));
    }
    return st ? st : give_resized(c, &r);
}
