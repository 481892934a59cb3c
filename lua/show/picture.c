/* picture.c - see picture.h. */
#include "picture.h"

#include <math.h>
#include <string.h>

#include <egret/draw.h>

enum { IMAGES_MOST = 1024 };

/* Between the images of a grid, and behind what is transparent: neither black nor white. */
static const uint8_t paper[3] = {60, 64, 72};

typedef struct images {
    int count;
    eg_tensor *image[IMAGES_MOST]; /* [C, H, W] */
} images;

/* ---- from tensors to images ---------------------------------------------------------------- */

static bool is_channels(int64_t c)
{
    return c == 1 || c == 3 || c == 4;
}

static eg_status add_image(images *all, eg_tensor *image)
{
    if (all->count == IMAGES_MOST) {
        return eg_failf(EG_EINVAL, "show", "more than %d images at once", IMAGES_MOST);
    }
    all->image[all->count++] = image;
    return image ? EG_OK : eg_last_error()->code;
}

static eg_status add_images(images *all, eg_tensor *t)
{
    eg_shape s = eg_shape_of(t);
    bool grays = s.ndim == 3 && !is_channels(s.dim[0]);
    if (s.ndim < 2 || s.ndim > 4 || eg_numel(t) == 0 || (s.ndim == 4 && !is_channels(s.dim[1]))) {
        return eg_failf(EG_ESHAPE, "show",
                        "an image is [H, W], [C, H, W] or [N, C, H, W] with 1, 3 or 4 channels; this "
                        "tensor has %d axes (sizes %lld, %lld, ...)",
                        s.ndim, (long long)s.dim[0], (long long)s.dim[1]);
    }
    t = eg_to(t, eg_cpu());
    if (s.ndim == 2) {
        return add_image(all, eg_reshape(t, EG_SHAPE(1, s.dim[0], s.dim[1])));
    }
    if (s.ndim == 3 && !grays) {
        return add_image(all, t);
    }
    for (int64_t i = 0; i < s.dim[0]; i++) {
        eg_tensor *one = eg_select(t, 0, i);
        eg_status st = add_image(all, grays ? eg_reshape(one, EG_SHAPE(1, s.dim[1], s.dim[2])) : one);
        if (st) {
            return st;
        }
    }
    return EG_OK;
}

static bool is_ready(eg_tensor *x)
{
    return eg_dtype_of(x) == EG_U8 || eg_dtype_of(x) == EG_BOOL;
}

/* Which values are to be black and white where nobody says so: the narrowest usual range that holds
 * all finite ones. */
static bool find_range(const images *all, double *low, double *high)
{
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < all->count; i++) {
        if (!is_ready(all->image[i])) {
            eg_tensor *x = eg_cast(all->image[i], EG_F64);
            eg_tensor *ends[2] = {eg_min(eg_nan_to_num(x, INFINITY, INFINITY, INFINITY)),
                                  eg_max(eg_nan_to_num(x, -INFINITY, -INFINITY, -INFINITY))};
            if (!ends[0] || !ends[1]) {
                return false;
            }
            least = fmin(least, eg_item(ends[0]));
            most = fmax(most, eg_item(ends[1]));
        }
    }
    if (least > most) { /* there are none */
        least = most = 0;
    }
    bool bytes = least >= 0 && most > 127 && most <= 255, unit = least >= -1 && most <= 1;
    *low = bytes || (unit && least >= 0) ? 0 : unit ? -1 : least;
    *high = bytes ? 255 : unit ? 1 : most > least ? most : least + fmax(1, fabs(least) / 2);
    return true;
}

/* f32 of 0..255, not yet whole. */
static eg_tensor *brightness(eg_tensor *x, double low, double high)
{
    if (eg_dtype_of(x) == EG_BOOL) {
        return eg_mul_scalar(eg_cast(x, EG_F32), 255);
    }
    if (eg_dtype_of(x) == EG_U8) {
        return eg_cast(x, EG_F32);
    }
    x = eg_nan_to_num(eg_cast(x, EG_F64), low, high, low);
    double share = 255 / (high / 2 - low / 2); /* of halves: the whole may be beyond all numbers */
    x = eg_sub_scalar(eg_mul_scalar(x, 0.5), low / 2);
    return eg_cast(eg_mul_scalar(x, share), EG_F32);
}

/* [4, H, W] over the paper: [3, H, W]. */
static eg_tensor *flatten_alpha(eg_tensor *x)
{
    eg_tensor *colour = eg_slice(x, 0, 0, 3, 1), *cover = eg_mul_scalar(eg_slice(x, 0, 3, 4, 1), 1 / 255.0);
    eg_tensor *behind = eg_from_values(EG_SHAPE(3, 1, 1), EG_F32, (double[]){paper[0], paper[1], paper[2]});
    return eg_add(behind, eg_mul(eg_sub(colour, behind), cover));
}

/* [C, H, W] of anything to a picture. */
static eg_tensor *colour_rows(eg_tensor *x, double low, double high)
{
    eg_shape s = eg_shape_of(x);
    eg_scope scope = eg_scope_push();
    if (eg_dtype_of(x) != EG_U8 || s.dim[0] == 4) {
        x = brightness(x, low, high);
        x = s.dim[0] == 4 ? flatten_alpha(x) : x;
        x = eg_cast(eg_round(eg_clamp(x, 0, 255)), EG_U8);
    }
    x = s.dim[0] == 1 ? eg_expand(x, EG_SHAPE(3, s.dim[1], s.dim[2])) : x;
    return eg_scope_pop(scope, eg_contiguous(eg_permute(x, EG_AXES(1, 2, 0))));
}

/* ---- grids --------------------------------------------------------------------------------- */

/* Copies a picture into a larger one. */
static void paste(uint8_t *to, int64_t width, const eg_tensor *picture, int64_t x, int64_t y)
{
    const uint8_t *from = eg_data(picture);
    int64_t rows = eg_size(picture, 0), bytes = eg_size(picture, 1) * 3;
    for (int64_t i = 0; i < rows; i++) {
        memcpy(to + ((y + i) * width + x) * 3, from + i * bytes, (size_t)bytes);
    }
}

static eg_tensor *grid_of(const images *all, int columns)
{
    int64_t h = 0, w = 0;
    for (int i = 0; i < all->count; i++) {
        h = eg_size(all->image[i], 0) > h ? eg_size(all->image[i], 0) : h;
        w = eg_size(all->image[i], 1) > w ? eg_size(all->image[i], 1) : w;
    }
    columns = columns > 0 ? columns : (int)ceil(sqrt(all->count));
    columns = columns < all->count ? columns : all->count;
    int64_t rows = (all->count + columns - 1) / columns, gap = 1 + (h > w ? h : w) / 32;
    int64_t height = rows * (h + gap) - gap, width = columns * (w + gap) - gap;
    if (height > 32768 || width > 32768) {
        eg_failf(EG_EINVAL, "show", "a grid of %lld x %d images of %lld x %lld pixels is too large", (long long)rows,
                 columns, (long long)w, (long long)h);
        return NULL;
    }
    eg_tensor *grid = eg_empty(EG_SHAPE(height, width, 3), EG_U8);
    uint8_t *pixels = eg_data_mut(grid);
    for (int64_t i = 0; pixels && i < height * width; i++) {
        memcpy(pixels + 3 * i, paper, 3);
    }
    for (int i = 0; pixels && i < all->count; i++) {
        const eg_tensor *one = all->image[i];
        paste(pixels, width, one, i % columns * (w + gap) + (w - eg_size(one, 1)) / 2,
              i / columns * (h + gap) + (h - eg_size(one, 0)) / 2);
    }
    return grid;
}

/* The images in colours, [H, W, 3]. */
static eg_status read_images(images *all, eg_tensor *const *tensors, int n, const picture_options *o)
{
    double low = o->low, high = o->high;
    for (int i = 0; i < n; i++) {
        if (add_images(all, tensors[i])) {
            return eg_last_error()->code;
        }
    }
    if (all->count == 0) {
        return eg_fail(EG_EINVAL, "show", "there is no image in the list");
    }
    if (o->captions && o->caption_count != all->count) {
        return eg_failf(EG_EINVAL, "show", "%lld captions for %d images", (long long)o->caption_count, all->count);
    }
    if (low == high && !find_range(all, &low, &high)) {
        return eg_last_error()->code;
    }
    for (int i = 0; i < all->count; i++) {
        all->image[i] = colour_rows(all->image[i], low, high);
        if (!all->image[i]) {
            return eg_last_error()->code;
        }
    }
    return EG_OK;
}

/* ---- titles and captions ------------------------------------------------------------------- */

/* Images first..first + n - 1 on a sheet with words. */
static eg_tensor *sheet_of(const images *all, int first, int n, const picture_options *o)
{
    enum { SEEN = 128 }; /* pixels of the longer side, at least, so that words fit below */
    eg_tensor *list[IMAGES_MOST];
    int64_t h = 0, w = 0;
    for (int i = 0; i < n; i++) {
        h = eg_size(all->image[first + i], 0) > h ? eg_size(all->image[first + i], 0) : h;
        w = eg_size(all->image[first + i], 1) > w ? eg_size(all->image[first + i], 1) : w;
    }
    for (int i = 0; i < n; i++) {
        eg_tensor *one = eg_permute(all->image[first + i], EG_AXES(2, 0, 1));
        list[i] = eg_pad(one, .value = 255, .after = {0, h - eg_size(one, 1), w - eg_size(one, 2)});
    }
    const int64_t longer = h > w ? h : w;
    const int scale = o->scale >= 1 ? (int)o->scale : longer > 0 && longer < SEEN ? (int)(SEEN / longer) : 1;
    eg_tensor *sheet = eg_draw_grid(eg_stack(list, n, 0), .columns = n > 1 ? o->columns : 1, .scale = scale,
                                    .title = o->title, .captions = o->captions ? o->captions + first : NULL);
    return eg_contiguous(eg_permute(sheet, EG_AXES(1, 2, 0)));
}

eg_tensor *picture_of(eg_tensor *const *tensors, int n, const picture_options *options)
{
    images all = {0};
    if (read_images(&all, tensors, n, options)) {
        return NULL;
    }
    if (options->title || options->captions) {
        return sheet_of(&all, 0, all.count, options);
    }
    return all.count == 1 ? all.image[0] : grid_of(&all, options->columns);
}

int picture_film(eg_tensor *const *tensors, int n, const picture_options *options, const char *path, double seconds)
{
    enum { SEEN = 256, MOST = 2048 };
    images all = {0};
    eg_film *film = read_images(&all, tensors, n, options) ? NULL : eg_film_new(path, seconds);
    eg_status st = film ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < all.count && !st; i++) {
        EG_SCOPE {
            const bool words = options->title || options->captions;
            eg_tensor *one =
                words ? sheet_of(&all, i, 1, options) : picture_scaled(all.image[i], options->scale, SEEN, MOST, MOST);
            st = one ? eg_film_add(film, eg_permute(one, EG_AXES(2, 0, 1))) : eg_last_error()->code;
        }
    }
    eg_status closed = film ? eg_film_close(film) : EG_OK;
    return st || closed ? 0 : all.count;
}

/* ---- sizes --------------------------------------------------------------------------------- */

static eg_tensor *resized(eg_tensor *picture, int64_t height, int64_t width)
{
    bool smaller = height < eg_size(picture, 0) || width < eg_size(picture, 1);
    eg_tensor *x =
        eg_permute(eg_reshape(picture, EG_SHAPE(1, eg_size(picture, 0), eg_size(picture, 1), 3)), EG_AXES(0, 3, 1, 2));
    if (smaller) {
        x = eg_resize(eg_cast(x, EG_F32), EG_SHAPE(height, width), .mode = EG_RESIZE_AREA);
        x = eg_cast(eg_round(x), EG_U8);
    } else {
        x = eg_resize(x, EG_SHAPE(height, width), .mode = EG_RESIZE_NEAREST_EXACT);
    }
    return eg_contiguous(eg_reshape(eg_permute(x, EG_AXES(0, 2, 3, 1)), EG_SHAPE(height, width, 3)));
}

eg_tensor *picture_scaled(eg_tensor *picture, double scale, int seen, int64_t width, int64_t height)
{
    int64_t h = eg_size(picture, 0), w = eg_size(picture, 1), longer = h > w ? h : w;
    if (longer == 0) {
        return NULL;
    }
    double room = fmin((double)width / (double)w, (double)height / (double)h);
    if (!(scale > 0)) {
        scale = longer < seen ? (double)(seen / longer) : 1;
        scale = room >= 1 ? fmin(scale, floor(room)) : scale;
    }
    scale = fmin(scale, room);
    int64_t to_h = llround(fmax(1, scale * (double)h)), to_w = llround(fmax(1, scale * (double)w));
    if (to_h == h && to_w == w) {
        return picture;
    }
    eg_scope scope = eg_scope_push();
    return eg_scope_pop(scope, resized(picture, to_h, to_w));
}

eg_tensor *picture_png(eg_tensor *picture)
{
    return eg_png_encode(eg_permute(picture, EG_AXES(2, 0, 1)));
}
