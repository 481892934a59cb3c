/* ops_image.c - images decoded, cut, padded and put together. */
#include <string.h>

#include <egret/data/image.h>

#include "nn/onnx/ops.h"

eg_status eg__onnx_per_axis(const eg_onnx_call *c, const char *name, int64_t otherwise, int64_t least, int64_t *to,
                            int n)
{
    int count;
    const int64_t *list = eg_onnx_ints(c, name, &count);
    if (list && count != n) {
        return eg_failf(EG_EINVAL, eg__onnx_op_name, "%s has %d numbers, must have %d", name, count, n);
    }
    for (int i = 0; i < n; i++) {
        to[i] = list ? list[i] : otherwise;
        if (to[i] < least || to[i] > INT32_MAX) {
            return eg_failf(EG_EINVAL, eg__onnx_op_name, "%s has a %lld", name, (long long)to[i]);
        }
    }
    return EG_OK;
}

/* What is cut or added is half of it in front, an odd one behind. */
eg_status eg__onnx_run_center_crop_pad(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int64_t sizes[EG_MAX_DIMS];
    int count;
    const int64_t *axes = eg_onnx_ints(c, "axes", &count);
    const int n = eg__onnx_numbers(c, 1, sizes, EG_MAX_DIMS);
    if (n < 0 || n != (axes ? count : eg_ndim(x))) {
        return n < 0 ? eg__onnx_why() : eg__onnx_bad(c, "shape does not have a size for each axis");
    }
    eg_pad_options o = {.size = sizeof o};
    for (int i = 0; i < n; i++) {
        const int axis = eg__onnx_axis(axes ? axes[i] : i, eg_ndim(x));
        if (axis < 0 || sizes[i] < 0) {
            return axis < 0 ? eg__onnx_why() : eg__onnx_bad(c, "a size is below 0");
        }
        const int64_t more = sizes[i] - eg_size(x, axis);
        o.before[axis] = more / 2; /* towards 0 */
        o.after[axis] = more - more / 2;
    }
    return eg__onnx_give(c, eg_pad_with(x, &o));
}

/* ---- Col2Im ------------------------------------------------------------------------------------------- */

typedef struct blocks {
    int axes;
    int64_t image[EG_MAX_DIMS], block[EG_MAX_DIMS], count[EG_MAX_DIMS]; /* count: of blocks along each axis */
    int64_t strides[EG_MAX_DIMS], dilations[EG_MAX_DIMS], pads[2 * EG_MAX_DIMS];
    int64_t elements, taps, places; /* of an image, of a block, of blocks */
} blocks;

static eg_status blocks_of(const eg_onnx_call *c, blocks *b)
{
    *b = (blocks){.elements = 1, .taps = 1, .places = 1};
    const int n = b->axes = eg__onnx_numbers(c, 1, b->image, EG_MAX_DIMS - 2);
    const int m = n < 0 ? n : eg__onnx_numbers(c, 2, b->block, EG_MAX_DIMS - 2);
    if (m < 0 || eg__onnx_per_axis(c, "strides", 1, 1, b->strides, n) ||
        eg__onnx_per_axis(c, "dilations", 1, 1, b->dilations, n) ||
        eg__onnx_per_axis(c, "pads", 0, 0, b->pads, 2 * n)) {
        return eg__onnx_why();
    }
    if (n < 1 || m != n) {
        return eg__onnx_bad(c, "image_shape and block_shape have different axes, or none");
    }
    bool fits = true;
    for (int d = 0; d < n && fits; d++) {
        fits = b->image[d] > 0 && b->image[d] <= INT32_MAX && b->block[d] > 0 && b->block[d] <= INT32_MAX;
        const int64_t room = b->image[d] + b->pads[d] + b->pads[n + d] - b->dilations[d] * (b->block[d] - 1) - 1;
        fits = fits && room >= 0 && b->elements <= INT64_MAX / 16 / b->image[d] && b->taps <= INT64_MAX / b->block[d];
        b->count[d] = fits ? room / b->strides[d] + 1 : 0;
        fits = fits && b->places <= INT64_MAX / b->count[d];
        b->elements *= fits ? b->image[d] : 1;
        b->taps *= fits ? b->block[d] : 1;
        b->places *= fits ? b->count[d] : 1;
    }
    eg_tensor *x = eg__onnx_in(c, 0);
    if (!fits || eg_ndim(x) != 3 || eg_size(x, 2) != b->places || eg_size(x, 1) % b->taps) {
        return eg__onnx_bad(c, "the input does not have the blocks of such an image");
    }
    return EG_OK;
}

/* Where a tap of a block falls in the image; behind its end if outside. */
static int64_t falls(const blocks *b, int64_t tap, int64_t place)
{
    int64_t at = 0, step = 1;
    for (int d = b->axes; d-- > 0;) {
        const int64_t i = place % b->count[d] * b->strides[d] + tap % b->block[d] * b->dilations[d] - b->pads[d];
        if (i < 0 || i >= b->image[d]) {
            return b->elements;
        }
        at += i * step;
        step *= b->image[d];
        tap /= b->block[d];
        place /= b->count[d];
    }
    return at;
}

/* [n, channels * taps, places], each added where it falls. */
eg_status eg__onnx_run_col2im(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    blocks b;
    if (blocks_of(c, &b)) {
        return eg__onnx_why();
    }
    const int64_t n = eg_size(x, 0), channels = eg_size(x, 1) / b.taps;
    eg_shape out = {.ndim = 2 + b.axes, .dim = {n, channels}};
    for (int d = 0; d < b.axes; d++) {
        out.dim[2 + d] = b.image[d];
    }
    if (!eg_numel(x)) {
        return eg__onnx_give(c, eg_zeros(out, eg_dtype_of(x)));
    }
    int64_t *index = eg__onnx_scratch(b.taps * b.places, sizeof *index); /* no more than x has */
    if (!index) {
        return eg__onnx_why();
    }
    for (int64_t i = 0; i < b.taps * b.places; i++) {
        index[i] = falls(&b, i / b.places, i % b.places);
    }
    eg_tensor *places = eg_to(eg_from(EG_SHAPE(b.taps * b.places), EG_I64, index), eg_device_of(x));
    eg_tensor *none = eg_to(eg_zeros(EG_SHAPE(n, channels, b.elements + 1), eg_dtype_of(x)), eg_device_of(x));
    eg_tensor *y = eg_index_add(none, 2, places, eg_reshape(x, EG_SHAPE(n, channels, -1)));
    return eg__onnx_give(c, eg_reshape(eg_slice(y, 2, 0, b.elements, 1), out));
}

/* ---- ImageDecoder ---------------------------------------------------------------------------------------- */

/* The name of a format that ONNX has and Egret does not, by the first bytes; NULL. */
static const char *format_not_known(const uint8_t *bytes, int64_t n)
{
    if (n >= 4 && (!memcmp(bytes, "II*\0", 4) || !memcmp(bytes, "MM\0*", 4))) {
        return "TIFF";
    }
    if (n >= 12 && !memcmp(bytes, "RIFF", 4) && !memcmp(bytes + 8, "WEBP", 4)) {
        return "WebP";
    }
    const bool boxed = n >= 8 && !memcmp(bytes, "\0\0\0\x0cjP  ", 8);
    return boxed || (n >= 4 && !memcmp(bytes, "\xff\x4f\xff\x51", 4)) ? "JPEG 2000" : NULL;
}

/* [height, width, channels], as the file has its pixels; of bytes that are no image, nothing. */
eg_status eg__onnx_run_image_decoder(eg_onnx_call *c)
{
    static const char *const formats[] = {"RGB", "BGR", "Grayscale"};
    const int format = eg__onnx_choice(c, "pixel_format", formats, EG__COUNT(formats), 0),
              channels = format == 2 ? 1 : 3;
    eg_tensor *x = eg_contiguous(eg_to(eg__onnx_in(c, 0), eg_cpu()));
    if (format < 0 || !x) {
        return eg__onnx_why();
    }
    if (eg_dtype_of(x) != EG_U8 || eg_ndim(x) != 1) {
        return eg__onnx_bad(c, "the encoded image is no list of bytes");
    }
    const char *other = format_not_known(eg_data(x), eg_numel(x));
    if (other) {
        return eg_failf(EG_ENOKERNEL, eg__onnx_op_name, "%s images are not decoded", other);
    }
    eg_clear_error();
    eg_tensor *y = eg_image_decode(eg_numel(x) ? eg_data(x) : "", (size_t)eg_numel(x), .channels = channels,
                                   .ignore_orientation = true, .other_formats = true);
    if (!y && eg__onnx_why() == EG_EFORMAT) {
        eg_clear_error();
        y = eg_to(eg_zeros(EG_SHAPE(channels, 0, 0), EG_U8), eg_cpu());
    }
    y = eg_permute(y, EG_AXES(1, 2, 0));
    return eg__onnx_give(c, format == 1 ? eg_flip(y, EG_AXES(2)) : y);
}
