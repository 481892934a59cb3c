/* batch.c - a batch of photos and what they hold, checked and taken apart. */
#include "nn/models/detection/detection.h"

enum { STEP = 32 }; /* of the coarsest stage of a residual net */

static bool is_integers(const eg_tensor *t)
{
    eg_dtype d = eg_dtype_of(t);
    return d == EG_I64 || d == EG_I32 || d == EG_U8;
}

bool eg__is_floats(const eg_tensor *t)
{
    eg_dtype d = eg_dtype_of(t);
    return d == EG_F32 || d == EG_F64 || d == EG_F16 || d == EG_BF16;
}

/* [N, K, then what `last` says], of which K is any; last 0: nothing. */
static bool shaped(const eg_tensor *t, int64_t n, int64_t k, int64_t last)
{
    return eg_ndim(t) == 2 + (last > 0) && eg_size(t, 0) == n && (k < 0 || eg_size(t, 1) == k) &&
           (!last || eg_size(t, 2) == last);
}

/* ---- photos ------------------------------------------------------------------------------------- */

static eg_status read_sizes(const char *op, eg_tensor *sizes, eg__batch *b, int64_t height, int64_t width)
{
    if (!sizes) {
        for (int64_t i = 0; i < b->count; i++) {
            b->size[i][0] = (double)height;
            b->size[i][1] = (double)width;
        }
        return EG_OK;
    }
    if (!shaped(sizes, b->count, 2, 0) || !is_integers(sizes)) {
        return eg_failf(is_integers(sizes) ? EG_ESHAPE : EG_EDTYPE, op, "sizes must be integers [%lld, 2]",
                        (long long)b->count);
    }
    eg_status st = eg_to_values(sizes, b->size[0]);
    for (int64_t i = 0; i < b->count && !st; i++) {
        const double *s = b->size[i];
        if (!(s[0] >= 1 && s[0] <= (double)height && s[1] >= 1 && s[1] <= (double)width)) {
            st = eg_failf(EG_EINVAL, op, "photo %lld of %g x %g is not in images of %lld x %lld", (long long)i, s[0],
                          s[1], (long long)height, (long long)width);
        }
    }
    return st;
}

eg_status eg__batch_begin(const char *op, eg_tensor *images, eg_tensor *sizes, eg__batch *b)
{
    if (!images) {
        return eg_last_error()->code ? eg_last_error()->code : eg_fail(EG_EINVAL, op, "images are NULL");
    }
    if (eg_ndim(images) != 4 || eg_size(images, 2) < 1 || eg_size(images, 3) < 1) {
        return eg_failf(EG_ESHAPE, op, "images of %d axes, must be [N, channels, H, W]", eg_ndim(images));
    }
    if (!eg__is_floats(images)) {
        return eg_failf(EG_EDTYPE, op, "images are %s, must be floats", eg_dtype_name(eg_dtype_of(images)));
    }
    b->count = eg_size(images, 0);
    b->dtype = eg_dtype_of(images) == EG_F64 ? EG_F64 : EG_F32;
    if (b->count < 1 || b->count > EG__PHOTOS_MOST) {
        return eg_failf(EG_ESHAPE, op, "%lld photos, must be 1..%d", (long long)b->count, EG__PHOTOS_MOST);
    }
    int64_t height = eg_size(images, 2), width = eg_size(images, 3);
    int64_t below = -height & (STEP - 1), right = -width & (STEP - 1);
    b->images = below || right ? eg_pad(images, .after = {0, 0, below, right}) : images;
    return b->images ? read_sizes(op, sizes, b, height, width) : eg_last_error()->code;
}

/* ---- objects ------------------------------------------------------------------------------------ */

static eg_status check_objects(const char *op, eg_tensor *boxes, eg_tensor *labels, eg_tensor *masks,
                               const eg__batch *b)
{
    if (!boxes || !labels) {
        return eg_last_error()->code ? eg_last_error()->code
                                     : eg_failf(EG_EINVAL, op, "%s are NULL", boxes ? "labels" : "boxes");
    }
    if (!shaped(boxes, b->count, -1, 4) || !shaped(labels, b->count, eg_size(boxes, 1), 0)) {
        return eg_failf(EG_ESHAPE, op, "boxes and labels must be [%lld, K, 4] and [%lld, K]", (long long)b->count,
                        (long long)b->count);
    }
    if (!eg__is_floats(boxes) || !is_integers(labels)) {
        return eg_failf(EG_EDTYPE, op, "boxes are %s and labels %s, must be floats and integers",
                        eg_dtype_name(eg_dtype_of(boxes)), eg_dtype_name(eg_dtype_of(labels)));
    }
    if (!masks) {
        return EG_OK;
    }
    eg_dtype d = eg_dtype_of(masks);
    bool fits = eg_ndim(masks) == 4 && eg_size(masks, 0) == b->count && eg_size(masks, 1) == eg_size(boxes, 1) &&
                eg_size(masks, 2) <= eg_size(b->images, 2) && eg_size(masks, 3) <= eg_size(b->images, 3);
    return !fits                        ? eg_failf(EG_ESHAPE, op, "masks must be [N, K, H, W] as boxes and images are")
           : d != EG_U8 && d != EG_BOOL ? eg_failf(EG_EDTYPE, op, "masks are %s, must be u8 or bool", eg_dtype_name(d))
                                        : EG_OK;
}

/* Which of a photo's rows are objects: [k] i64. */
static eg_tensor *real(eg_tensor *boxes, eg_tensor *labels)
{
    eg_tensor *high = eg_slice(boxes, 1, 2, 4, 1), *low = eg_slice(boxes, 1, 0, 2, 1);
    eg_tensor *sized = eg_all(eg_gt(high, low), .axes = EG_AXES(1));
    return eg__rows_with(eg_logical_and(sized, eg_ge_scalar(labels, 0)));
}

eg_status eg__batch_objects(const char *op, eg_tensor *boxes, eg_tensor *labels, eg_tensor *masks, int64_t classes,
                            eg__batch *b)
{
    eg_status st = check_objects(op, boxes, labels, masks, b);
    if (st) {
        return st;
    }
    boxes = eg_detach(eg_cast(boxes, b->dtype));
    labels = eg_cast(labels, EG_I64);
    eg_tensor *highest = eg_size(boxes, 1) ? eg_max(labels) : NULL;
    if (highest && eg_item(highest) >= (double)classes) {
        return eg_failf(EG_EINDEX, op, "class %g is outside 0..%lld", eg_item(highest), (long long)classes - 1);
    }
    for (int64_t i = 0; i < b->count; i++) {
        eg_tensor *its = eg_select(boxes, 0, i), *names = eg_select(labels, 0, i), *rows = real(its, names);
        eg__objects *o = &b->of[i];
        o->boxes = eg_index_select(its, 0, rows);
        o->labels = eg_index_select(names, 0, rows);
        o->masks = masks ? eg_index_select(eg_select(masks, 0, i), 0, rows) : NULL;
        if (!o->labels || (masks && !o->masks)) {
            return eg_last_error()->code;
        }
    }
    return EG_OK;
}
