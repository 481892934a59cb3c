/* ops_boxes.c - boxes of images: RoiAlign, MaxRoiPool and NonMaxSuppression. */
#include <math.h>

#include "nn/onnx/ops.h"

enum { MOST_CELLS = 4096, MOST_POINTS = 4096 };

/* ---- the largest of each cell ------------------------------------------------------------------------- */

/* The part of an axis that a cell takes. */
typedef struct span {
    int64_t from, to;
} span;

/* Cell i of n of a box from `first` to `last`, both of it. */
static span cell(double first, double last, int64_t i, int64_t n, int64_t size)
{
    const double step = fmax(last - first + 1, 1) / (double)n, most = (double)size;
    const double from = floor((double)i * step) + first, to = ceil((double)(i + 1) * step) + first;
    return (span){(int64_t)fmax(0, fmin(from, most)), (int64_t)fmax(0, fmin(to, most))};
}

/* x [channels, ...] -> the largest of each of n cells along an axis, 0 of cells without elements. */
static eg_tensor *largest(eg_tensor *x, int axis, double first, double last, int64_t n)
{
    eg_tensor *cells[MOST_CELLS];
    for (int64_t i = 0; i < n; i++) {
        const span s = cell(first, last, i, n, eg_size(x, axis));
        eg_tensor *part = eg_slice(x, axis, s.from, s.to, 1);
        cells[i] = s.from < s.to ? eg_max(part, .axes = EG_AXES(axis)) : eg_sum(part, .axes = EG_AXES(axis));
        if (!cells[i]) {
            return NULL;
        }
    }
    return eg_stack(cells, (int)n, axis);
}

/* The results of the boxes one behind the other. */
static eg_status each_box(eg_onnx_call *c, eg_tensor *boxes, eg_shape none,
                          eg_tensor *(*of)(const eg_onnx_call *c, eg_tensor *boxes, int64_t i))
{
    const int64_t n = eg_size(boxes, 0);
    if (!boxes) {
        return eg__onnx_why();
    }
    if (!n || n > INT32_MAX) {
        none.dim[0] = 0;
        return n ? eg__onnx_bad(c, "more than 2147483647 boxes")
                 : eg__onnx_give(c, eg_zeros(none, eg_dtype_of(eg__onnx_in(c, 0))));
    }
    eg_tensor **all = eg__onnx_scratch(n, sizeof *all);
    if (!all) {
        return eg__onnx_why();
    }
    bool good = true;
    for (int64_t i = 0; i < n && good; i++) {
        all[i] = of(c, boxes, i);
        good = all[i] != NULL;
    }
    return good ? eg__onnx_give(c, eg_stack(all, (int)n, 0)) : eg__onnx_why();
}

/* A row of boxes is its image, x1, y1, x2 and y2. */
static eg_tensor *pooled(const eg_onnx_call *c, eg_tensor *boxes, int64_t i)
{
    const double scale = eg_onnx_float(c, "spatial_scale", 1);
    double at[4];
    int count;
    const int64_t *cells = eg_onnx_ints(c, "pooled_shape", &count);
    for (int k = 0; k < 4; k++) {
        const double v = eg_get(boxes, 5 * i + 1 + k) * scale;
        at[k] = copysign(floor(fabs(v) + 0.5), v);
    }
    const double image = eg_get(boxes, 5 * i);
    const int64_t number = image >= 0 && image <= INT32_MAX ? (int64_t)image : INT64_MAX;
    eg_tensor *x = eg_select(eg__onnx_in(c, 0), 0, number);
    return largest(largest(x, 1, at[1], at[3], cells[0]), 2, at[0], at[2], cells[1]);
}

static bool cells_fit(int64_t rows, int64_t columns)
{
    return rows >= 1 && rows <= MOST_CELLS && columns >= 1 && columns <= MOST_CELLS;
}

eg_status eg__onnx_run_max_roi_pool(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *boxes = eg__onnx_in(c, 1);
    int count;
    const int64_t *cells = eg_onnx_ints(c, "pooled_shape", &count);
    if (eg_ndim(x) != 4 || eg_ndim(boxes) != 2 || eg_size(boxes, 1) != 5 || count != 2 ||
        !cells_fit(cells[0], cells[1])) {
        return eg__onnx_bad(c, "images are not [n, c, h, w], boxes not [n, 5], or pooled_shape not two of 1..4096");
    }
    return each_box(c, eg_to(boxes, eg_cpu()), EG_SHAPE(0, eg_size(x, 1), cells[0], cells[1]), pooled);
}

/* ---- RoiAlign ------------------------------------------------------------------------------------------- */

typedef struct align {
    int64_t rows, columns, points;
    double scale;
    bool half_pixel;
} align;

static eg_status align_of(const eg_onnx_call *c, align *a)
{
    static const char *const modes[] = {"half_pixel", "output_half_pixel"};
    const int older = c->node->version < 16;
    const int mode = eg__onnx_choice(c, "coordinate_transformation_mode", modes, EG__COUNT(modes), older);
    *a = (align){.rows = eg_onnx_int(c, "output_height", 1),
                 .columns = eg_onnx_int(c, "output_width", 1),
                 .points = eg_onnx_int(c, "sampling_ratio", 0),
                 .scale = eg_onnx_float(c, "spatial_scale", 1),
                 .half_pixel = mode == 0};
    return mode < 0 ? eg__onnx_why() : EG_OK;
}

/* The points of all cells along an axis: the elements below and above, and what each weighs. */
typedef struct points {
    int64_t cells, each; /* so many points of so many cells; none of a box without an extent */
    eg_tensor *low, *high, *low_weight, *high_weight;
} points;

static eg_status points_of(const eg_onnx_call *c, const align *a, double first, double last, int64_t cells,
                           int64_t size, points *p)
{
    const double shift = a->half_pixel ? 0.5 : 0, from = first * a->scale - shift,
                 whole = last * a->scale - shift - from;
    const double extent = a->half_pixel ? whole : fmax(whole, 1), step = extent / (double)cells;
    const double each = a->points > 0 ? (double)a->points : fmax(ceil(step), 0);
    *p = (points){.cells = cells};
    if (!(each <= MOST_POINTS) || !isfinite(from)) {
        return eg__onnx_bad(c, "more than 4096 points of a cell");
    }
    p->each = (int64_t)each;
    const int64_t n = cells * p->each;
    if (!n) {
        return EG_OK;
    }
    eg_tensor *at = eg_add_scalar(eg_arange(0, (double)n, 1, EG_F64), 0.5);
    at = eg_add_scalar(eg_mul_scalar(at, step / each), from);
    const double end = (double)size;
    eg_tensor *inside = eg_logical_and(eg_ge_scalar(at, -1), eg_le_scalar(at, end));
    at = eg_clamp(at, 0, end - 1);
    eg_tensor *low = eg_floor(at), *part = eg_sub(at, low);
    inside = eg_cast(inside, EG_F64);
    eg_tensor *x = eg__onnx_in(c, 0);
    eg_device *device = eg_device_of(x);
    const eg_dtype dtype = eg_dtype_of(x);
    p->low = eg_to(eg_cast(low, EG_I64), device);
    p->high = eg_to(eg_cast(eg_clamp_max(eg_add_scalar(low, 1), end - 1), EG_I64), device);
    p->low_weight = eg_to(eg_cast(eg_mul(inside, eg_add_scalar(eg_neg(part), 1)), dtype), device);
    p->high_weight = eg_to(eg_cast(eg_mul(inside, part), dtype), device);
    return p->high_weight ? EG_OK : eg__onnx_why();
}

/* One of the four elements around each point, by its weight. */
static eg_tensor *corner(eg_tensor *x, eg_tensor *row, eg_tensor *row_weight, eg_tensor *column,
                         eg_tensor *column_weight)
{
    eg_tensor *y = eg_index_select(eg_index_select(x, 1, row), 2, column);
    return eg_mul(y, eg_mul(eg_unsqueeze(row_weight, 1), column_weight));
}

/* The largest of the elements around the points of each cell, each by its weight, which are not added before. */
static eg_tensor *aligned(const eg_onnx_call *c, eg_tensor *boxes, int64_t i)
{
    align a;
    const eg_tensor *image = eg__onnx_in(c, 2);
    const int64_t number = eg_get_int(image, i);
    eg_tensor *x = eg_select(eg__onnx_in(c, 0), 0, number < 0 ? INT64_MAX : number);
    points r, s;
    if (!x || align_of(c, &a) ||
        points_of(c, &a, eg_get(boxes, 4 * i + 1), eg_get(boxes, 4 * i + 3), a.rows, eg_size(x, 1), &r) ||
        points_of(c, &a, eg_get(boxes, 4 * i), eg_get(boxes, 4 * i + 2), a.columns, eg_size(x, 2), &s)) {
        return NULL;
    }
    if (!r.each || !s.each) {
        return eg_to(eg_zeros(EG_SHAPE(eg_size(x, 0), a.rows, a.columns), eg_dtype_of(x)), eg_device_of(x));
    }
    eg_tensor *y = eg_maximum(corner(x, r.low, r.low_weight, s.low, s.low_weight),
                              corner(x, r.low, r.low_weight, s.high, s.high_weight));
    y = eg_maximum(y, corner(x, r.high, r.high_weight, s.low, s.low_weight));
    y = eg_maximum(y, corner(x, r.high, r.high_weight, s.high, s.high_weight));
    y = eg_reshape(y, EG_SHAPE(eg_size(x, 0), a.rows, r.each, a.columns, s.each));
    return eg_max(y, .axes = EG_AXES(2, 4));
}

eg_status eg__onnx_run_roi_align(eg_onnx_call *c)
{
    static const char *const modes[] = {"avg", "max"};
    eg_tensor *x = eg__onnx_in(c, 0), *boxes = eg__onnx_in(c, 1), *image = eg__onnx_in(c, 2);
    align a;
    const int mode = eg__onnx_choice(c, "mode", modes, EG__COUNT(modes), 0);
    if (mode < 0 || align_of(c, &a)) {
        return eg__onnx_why();
    }
    if (mode == 0) {
        return eg__onnx_give(c, eg_roi_align(x, boxes, image, a.rows, a.columns, .spatial_scale = a.scale,
                                             .sampling_ratio = a.points, .aligned = a.half_pixel));
    }
    if (eg_ndim(x) != 4 || !eg_numel(x) || eg_ndim(boxes) != 2 || eg_size(boxes, 1) != 4 ||
        eg_numel(image) != eg_size(boxes, 0) || !cells_fit(a.rows, a.columns)) {
        return eg__onnx_bad(c, "images are not [n, c, h, w], boxes not [n, 4], or the output not of 1..4096");
    }
    return each_box(c, eg_to(boxes, eg_cpu()), EG_SHAPE(0, eg_size(x, 1), a.rows, a.columns), aligned);
}

/* ---- NonMaxSuppression ------------------------------------------------------------------------------------- */

/* Two corners in order, of any two that lie across or of the centre and the sizes: [n, boxes, 4]. */
static eg_tensor *corners(eg_tensor *boxes, bool centred)
{
    eg_tensor *a = eg_slice(boxes, -1, 0, 2, 1), *b = eg_slice(boxes, -1, 2, 4, 1);
    if (centred) {
        eg_tensor *half = eg_mul_scalar(b, 0.5);
        b = eg_add(a, half);
        a = eg_sub(a, half);
    }
    eg_tensor *both[] = {eg_minimum(a, b), eg_maximum(a, b)};
    return eg_concat(both, 2, -1);
}

/* Rows of image, class and box for those that stay. */
static eg_tensor *rows_of(int64_t image, int64_t class, eg_tensor *kept)
{
    eg_tensor *columns[] = {eg_full_like_int(kept, image), eg_full_like_int(kept, class), kept};
    return eg_stack(columns, 3, 1);
}

static eg_status suppress(eg_onnx_call *c, eg_tensor *boxes, eg_tensor *scores, const eg_nms_options *o)
{
    const int64_t classes = eg_size(scores, 1), all = eg_size(scores, 0) * classes;
    if (all > INT32_MAX) {
        return eg__onnx_bad(c, "more than 2147483647 classes of all images");
    }
    eg_tensor **rows = eg__onnx_scratch(all, sizeof *rows);
    if (!rows) {
        return eg__onnx_why();
    }
    bool good = true;
    for (int64_t i = 0; i < all && good; i++) {
        eg_tensor *of = eg_select(eg_select(scores, 0, i / classes), 0, i % classes);
        eg_tensor *kept = eg_nms_with(eg_select(boxes, 0, i / classes), of, o);
        rows[i] = rows_of(i / classes, i % classes, kept);
        good = rows[i] != NULL;
    }
    return good ? eg__onnx_give(c, eg_concat(rows, (int)all, 0)) : eg__onnx_why();
}

eg_status eg__onnx_run_nms(eg_onnx_call *c)
{
    eg_tensor *boxes = eg__onnx_in(c, 0), *scores = eg__onnx_in(c, 1);
    const eg_tensor *threshold = eg__onnx_in(c, 4);
    int64_t most = 0;
    if (eg__onnx_numbers(c, 2, &most, 1) < 0) {
        return eg__onnx_why();
    }
    if (eg_ndim(boxes) != 3 || eg_ndim(scores) != 3 || eg_size(boxes, 2) != 4 ||
        eg_size(boxes, 0) != eg_size(scores, 0) || eg_size(boxes, 1) != eg_size(scores, 2)) {
        return eg__onnx_bad(c, "boxes and scores are not [n, boxes, 4] and [n, classes, boxes]");
    }
    if (most <= 0 || !eg_numel(scores)) {
        return eg__onnx_give(c, eg_zeros(EG_SHAPE(0, 3), EG_I64));
    }
    const double least = eg__onnx_number(c, 4, 0);
    const eg_nms_options o = {.size = sizeof o,
                              .iou_threshold = eg__onnx_number(c, 3, 0),
                              .score_threshold = eg_numel(threshold) ? eg__nonzero(least) : 0,
                              .max_output = most};
    return suppress(c, corners(boxes, eg_onnx_int(c, "center_point_box", 0)), scores, &o);
}
