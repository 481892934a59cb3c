/* image.c - which codec, what is asked of it, and how its pixels become a tensor. */
#include <stdio.h>
#include <stdlib.h>

#include "data/image/codec.h"
#include "lib/core/counted.h"
#include "lib/io/file.h"
#include "lib/core/device.h"

/* ---- shared by the codecs ------------------------------------------------------------------- */

eg_status eg__image_begin(eg__image_job *job, const char *op, const char *name, const void *data, size_t bytes,
                          const eg_image_options *options)
{
    *job = (eg__image_job){.op = op, .name = name, .data = data, .orientation = 1};
    eg_image_options *o = &job->o;
    eg__options(o, sizeof *o, options);
    if (!data) {
        return eg__null_argument(op, "data");
    }
    if (bytes > INT64_MAX) {
        return eg__fail(EG_EINVAL, op, "bytes is %zu", bytes);
    }
    job->bytes = (int64_t)bytes;
    if (o->channels < 0 || o->channels == 2 || o->channels > 4) {
        return eg__fail(EG_EINVAL, op, "channels is %d, must be 0, 1, 3 or 4", o->channels);
    }
    o->scale = o->scale ? o->scale : 1;
    if (o->scale != 1 && o->scale != 2 && o->scale != 4 && o->scale != 8) {
        return eg__fail(EG_EINVAL, op, "scale is %d, must be 1, 2, 4 or 8", o->scale);
    }
    if (!o->max_pixels) {
        int64_t of_file = job->bytes < (int64_t)1 << 24 ? 16 * job->bytes : (int64_t)1 << 28;
        o->max_pixels = eg__max(of_file, (int64_t)1 << 26);
    }
    if (o->max_pixels < 0) {
        return eg__fail(EG_EINVAL, op, "max_pixels is %lld", (long long)o->max_pixels);
    }
    return EG_OK;
}

eg_status eg__image_bad(const eg__image_job *job, const char *words)
{
    return eg__fail(EG_EFORMAT, job->op, "%.100s: %s", job->name, words);
}

eg_status eg__image_fits(const eg__image_job *job, int64_t per_byte)
{
    int64_t pixels; /* sides are below 2^32 */
    if (job->width < 1 || job->height < 1) {
        return eg__fail(EG_EFORMAT, job->op, "%.100s: %lld x %lld pixels", job->name, (long long)job->width,
                        (long long)job->height);
    }
    if (__builtin_mul_overflow(job->width, job->height, &pixels) || pixels > job->o.max_pixels) {
        return eg__fail(EG_EFORMAT, job->op, "%.100s: %lld x %lld pixels in %lld bytes are more than max_pixels, %lld",
                        job->name, (long long)job->width, (long long)job->height, (long long)job->bytes,
                        (long long)job->o.max_pixels);
    }
    if (pixels / per_byte > job->bytes) {
        return eg__fail(EG_EFORMAT, job->op, "%.100s: %lld x %lld pixels cannot be in %lld bytes", job->name,
                        (long long)job->width, (long long)job->height, (long long)job->bytes);
    }
    return EG_OK;
}

eg_status eg__image_room(eg__image_job *job, int64_t height, int64_t width, int channels)
{
    job->pixels = eg__empty_on(0, EG_SHAPE(height, width, channels), EG_U8);
    return job->pixels ? EG_OK : eg__why();
}

void eg__image_gray(const uint8_t *rgb, int step, int64_t n, uint8_t *gray)
{
    for (int64_t i = 0; i < n; i++, rgb += step) {
        gray[i] = (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + (1 << 15)) >> 16);
    }
}

eg_tensor *eg__image_orient(eg_tensor *hwc, int orientation)
{
    if (orientation == 1) {
        return hwc;
    }
    /* 5..8 lie on their side; then 2, 4 mirror one axis, 3 both. */
    eg_tensor *t = orientation > 4 ? eg_transpose(hwc, 0, 1) : hwc;
    bool rows = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    bool columns = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    t = rows ? eg_flip(t, EG_AXES(0)) : t;
    t = columns ? eg_flip(t, EG_AXES(1)) : t;
    return eg_contiguous(t);
}

/* ---- decoding ------------------------------------------------------------------------------- */

eg_status eg__image_run(eg__image_job *job)
{
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff}, png[] = "\x89PNG\r\n\x1a\n";
    if (job->bytes >= 3 && !memcmp(job->data, jpeg, 3)) {
        return eg__jpeg_decode(job);
    }
    if (job->bytes >= 8 && !memcmp(job->data, png, 8)) {
        return eg__png_decode(job);
    }
    if (!job->o.other_formats) {
        return eg__image_bad(job, "begins neither as JPEG nor as PNG");
    }
    if (job->bytes >= 6 && (!memcmp(job->data, "GIF87a", 6) || !memcmp(job->data, "GIF89a", 6))) {
        return eg__gif_decode(job);
    }
    if (job->bytes >= 2 && job->data[0] == 'P' && job->data[1] >= '1' && job->data[1] <= '6') {
        return eg__pnm_decode(job);
    }
    return job->bytes >= 2 && !memcmp(job->data, "BM", 2)
               ? eg__bmp_decode(job)
               : eg__image_bad(job, "begins as none of JPEG, PNG, GIF, BMP and PNM");
}

static eg_tensor *decode(eg__image_job *job)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = NULL;
    if (s.depth && !eg__image_run(job)) {
        t = eg_permute(eg__image_orient(job->pixels, job->orientation), EG_AXES(2, 0, 1));
    }
    return s.depth ? eg_scope_pop(s, t) : NULL;
}

eg_tensor *eg_image_decode_with(const void *data, size_t bytes, const eg_image_options *options)
{
    eg__image_job job;
    return eg__image_begin(&job, "eg_image_decode", "memory", data, bytes, options) ? NULL : decode(&job);
}

eg_status eg_image_size_with(const void *data, size_t bytes, int64_t *height, int64_t *width,
                             const eg_image_options *options)
{
    static const char op[] = "eg_image_size";
    eg__image_job job;
    if (!height || !width) {
        return eg__null_argument(op, height ? "width" : "height");
    }
    eg_status st = eg__image_begin(&job, op, "memory", data, bytes, options);
    if (!st) {
        job.orientation = 1;
        job.only_size = true;
        st = eg__image_run(&job);
    }
    if (!st) {
        *height = job.orientation > 4 ? job.width : job.height;
        *width = job.orientation > 4 ? job.height : job.width;
    }
    return st;
}

eg_tensor *eg_image_load_with(const char *path, const eg_image_options *options)
{
    eg__source file;
    eg__image_job job;
    eg_tensor *t = NULL;
    if (eg__source_open(&file, "eg_image_load", path)) {
        return NULL;
    }
    void *data = eg__counted_alloc((size_t)file.size + 1);
    eg_status st = data ? EG_OK : eg__no_memory(file.op, file.size);
    st = st ? st : eg__source_read(&file, 0, data, file.size);
    eg__source_close(&file);
    if (!st && !eg__image_begin(&job, file.op, path, data, (size_t)file.size, options)) {
        t = decode(&job);
    }
    eg__counted_free(data);
    return t;
}

/* ---- encoding ------------------------------------------------------------------------------- */

typedef eg_status encode_fn(const char *op, const eg_tensor *hwc, const void *o, eg__bytes *out);

static eg_status as_png(const char *op, const eg_tensor *hwc, const void *o, eg__bytes *out)
{
    (void)o;
    return eg__png_encode(op, hwc, out);
}

static eg_status as_jpeg(const char *op, const eg_tensor *hwc, const void *options, eg__bytes *out)
{
    eg_jpeg_options o;
    eg__options(&o, sizeof o, options);
    if (o.quality < 0 || o.quality > 100) {
        return eg__fail(EG_EINVAL, op, "quality is %d, must be 1..100 or 0", o.quality);
    }
    if (hwc->shape[2] == 4) {
        return eg__fail(EG_ESHAPE, op, "JPEG has no transparency: 4 channels");
    }
    if (hwc->shape[0] > 65500 || hwc->shape[1] > 65500) {
        return eg__fail(EG_ESHAPE, op, "sides of %lld x %lld, JPEG knows 65500 at most", (long long)hwc->shape[0],
                        (long long)hwc->shape[1]);
    }
    return eg__jpeg_encode(op, hwc, &o, out);
}

/* An image as row-major [H, W, C] on the CPU. */
static const eg_tensor *to_rows(const char *op, eg_tensor *image)
{
    if (eg__check(image, op, "image")) {
        return NULL;
    }
    int rank = image->ndim;
    int64_t channels = rank == 3 ? image->shape[0] : 1;
    if (image->dtype != EG_U8) {
        return eg__fail_null(EG_EDTYPE, op, "an image is u8, not %s", eg_dtype_name((eg_dtype)image->dtype));
    }
    if (rank < 2 || rank > 3 || !image->n || channels > 4 || channels == 2) {
        return eg__fail_null(EG_ESHAPE, op, "%s is not [H, W] nor 1, 3 or 4 such planes", EG__SHAPE_OF(image));
    }
    eg_tensor *hwc = eg_contiguous(rank == 3 ? eg_permute(image, EG_AXES(1, 2, 0)) : eg_unsqueeze(image, 2));
    return hwc ? eg__on_host(hwc, op) : NULL;
}

static eg_status encode(const char *op, eg_tensor *image, encode_fn *f, const void *o, eg__bytes *out)
{
    eg_scope s = eg_scope_push();
    const eg_tensor *hwc = s.depth ? to_rows(op, image) : NULL;
    eg_status st = hwc ? f(op, hwc, o, out) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_tensor *encode_to_tensor(const char *op, eg_tensor *image, encode_fn *f, const void *o)
{
    eg__bytes out = {0};
    eg_tensor *t = encode(op, image, f, o, &out) ? NULL : eg__bytes_tensor(out.p, out.n);
    eg__bytes_free(&out);
    return t;
}

static eg_status encode_to_file(const char *op, eg_tensor *image, encode_fn *f, const void *o, const char *path)
{
    eg__bytes out = {0};
    eg_status st = encode(op, image, f, o, &out);
    st = st ? st : eg__file_write(op, path, out.p, (size_t)out.n);
    eg__bytes_free(&out);
    return st;
}

eg_tensor *eg_png_encode(eg_tensor *image)
{
    return encode_to_tensor("eg_png_encode", image, as_png, NULL);
}

eg_status eg_png_save(eg_tensor *image, const char *path)
{
    return encode_to_file("eg_png_save", image, as_png, NULL, path);
}

eg_tensor *eg_jpeg_encode_with(eg_tensor *image, const eg_jpeg_options *options)
{
    return encode_to_tensor("eg_jpeg_encode", image, as_jpeg, options);
}

eg_status eg_jpeg_save_with(eg_tensor *image, const char *path, const eg_jpeg_options *options)
{
    return encode_to_file("eg_jpeg_save", image, as_jpeg, options, path);
}
