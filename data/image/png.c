/* png.c - PNG through libpng. Its failures come by longjmp, which never leaves `guarded`. */
#include "data/image/codec.h"
#include "lib/core/counted.h"

#ifdef EG_HAVE_PNG
#include <stdio.h>
#include <stdlib.h>

#include <png.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)                   \
    X(png_create_info_struct)          \
    X(png_create_read_struct)          \
    X(png_create_write_struct)         \
    X(png_destroy_read_struct)         \
    X(png_destroy_write_struct)        \
    X(png_error)                       \
    X(png_get_PLTE)                    \
    X(png_get_bit_depth)               \
    X(png_get_channels)                \
    X(png_get_color_type)              \
    X(png_get_error_ptr)               \
    X(png_get_image_height)            \
    X(png_get_image_width)             \
    X(png_get_io_ptr)                  \
    X(png_get_rowbytes)                \
    X(png_get_tRNS)                    \
    X(png_get_valid)                   \
    X(png_longjmp)                     \
    X(png_read_end)                    \
    X(png_read_info)                   \
    X(png_read_row)                    \
    X(png_read_update_info)            \
    X(png_set_IHDR)                    \
    X(png_set_add_alpha)               \
    X(png_set_benign_errors)           \
    X(png_set_check_for_invalid_index) \
    X(png_set_chunk_cache_max)         \
    X(png_set_chunk_malloc_max)        \
    X(png_set_crc_action)              \
    X(png_set_expand_gray_1_2_4_to_8)  \
    X(png_set_gray_to_rgb)             \
    X(png_set_interlace_handling)      \
    X(png_set_keep_unknown_chunks)     \
    X(png_set_longjmp_fn)              \
    X(png_set_packing)                 \
    X(png_set_read_fn)                 \
    X(png_set_scale_16)                \
    X(png_set_strip_alpha)             \
    X(png_set_tRNS_to_alpha)           \
    X(png_set_user_limits)             \
    X(png_set_write_fn)                \
    X(png_write_end)                   \
    X(png_write_info)                  \
    X(png_write_row)
EG__LIBRARY(lib, FUNCTIONS, .title = "libpng", .files = {EG_SO_PNG}, .package = "libpng16-16");

enum { MOST_CHUNK = 8 << 20, MOST_CHUNKS = 1000 };

typedef struct decoder {
    png_structp png;
    png_infop info;
    eg__image_job *job;
    int64_t at;
    char words[120];
    int passes, channels; /* channels: as rows come out of libpng */
    bool wide;            /* rows are of 16 bits */
    bool ended;           /* libpng asked for bytes after the end of the file */
    bool indexed;         /* rows are places in a palette */
    uint8_t *rows;        /* where they go */
    int64_t stride, done; /* bytes of a row; rows read, over all passes */
} decoder;

static void keep_words(png_structp png, png_const_charp words)
{
    decoder *d = lib.png_get_error_ptr(png);
    snprintf(d->words, sizeof d->words, "%s", words);
    lib.png_longjmp(png, 1);
}

static void stay_silent(png_structp png, png_const_charp words)
{
    (void)png, (void)words;
}

static void feed(png_structp png, png_bytep to, size_t n)
{
    decoder *d = lib.png_get_io_ptr(png);
    int64_t have = eg__min((int64_t)n, d->job->bytes - d->at);
    memcpy(to, d->job->data + d->at, (size_t)have);
    d->at += have;
    if (have == (int64_t)n) {
        return;
    }
    d->ended = true;
    /* A piece that is not full is still unpacked before the end is met again. */
    if (!d->job->o.allow_truncated || !have) {
        lib.png_error(png, "the file ends too early");
    }
    memset(to + have, 0, n - (size_t)have);
}

static bool guarded(decoder *d, void (*step)(decoder *))
{
    if (setjmp(*lib.png_set_longjmp_fn(d->png, longjmp, sizeof(jmp_buf)))) {
        return false;
    }
    step(d);
    return true;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_header(decoder *d)
{
    /* Chunks that do not change what is decoded are not even unpacked. */
    static const png_byte skipped[] = "eXIf\0gAMA\0cHRM\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0"
                                      "sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    lib.png_set_read_fn(d->png, d, feed);
    lib.png_set_user_limits(d->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    lib.png_set_chunk_malloc_max(d->png, MOST_CHUNK);
    lib.png_set_chunk_cache_max(d->png, MOST_CHUNKS);
    if (!d->job->o.allow_truncated) { /* left to itself, libpng makes do without what it cannot read */
        lib.png_set_crc_action(d->png, PNG_CRC_DEFAULT, PNG_CRC_ERROR_QUIT);
        lib.png_set_benign_errors(d->png, 0);
    }
    lib.png_set_check_for_invalid_index(d->png, 0); /* look_up does */
    lib.png_set_keep_unknown_chunks(d->png, PNG_HANDLE_CHUNK_NEVER, skipped, sizeof skipped / 5);
    lib.png_read_info(d->png, d->info);
}

/* Rows of d->channels channels of 8 or 16 bits. */
static void set_channels(const decoder *d, bool colour, bool marked, bool alpha)
{
    if (lib.png_get_bit_depth(d->png, d->info) < 8) {
        lib.png_set_expand_gray_1_2_4_to_8(d->png);
    }
    if (d->channels == 4 && marked) {
        lib.png_set_tRNS_to_alpha(d->png);
    } else if (d->channels == 4 && !alpha) {
        lib.png_set_add_alpha(d->png, d->wide ? 0xffff : 0xff, PNG_FILLER_AFTER);
    } else if (d->channels != 4 && alpha) {
        lib.png_set_strip_alpha(d->png);
    }
    if (d->channels >= 3 && !colour) {
        lib.png_set_gray_to_rgb(d->png);
    }
}

static void set_up(decoder *d)
{
    eg_image_options *o = &d->job->o;
    int type = lib.png_get_color_type(d->png, d->info), depth = lib.png_get_bit_depth(d->png, d->info);
    bool marked = lib.png_get_valid(d->png, d->info, PNG_INFO_tRNS) != 0;
    bool alpha = marked || (type & PNG_COLOR_MASK_ALPHA), colour = type & PNG_COLOR_MASK_COLOR;
    if (!o->channels) {
        o->channels = alpha ? 4 : colour ? 3 : 1;
    }
    d->channels = o->channels == 1 && colour ? 3 : o->channels;
    d->wide = depth == 16 && o->keep_16;
    if (depth == 16 && !d->wide) {
        lib.png_set_scale_16(d->png);
    }
    d->indexed = type == PNG_COLOR_TYPE_PALETTE;
    if (d->indexed) { /* libpng finds a colour for every place, also where the palette has none */
        d->channels = 1;
        lib.png_set_packing(d->png);
    } else {
        set_channels(d, colour, marked, alpha);
    }
    d->passes = lib.png_set_interlace_handling(d->png);
    lib.png_read_update_info(d->png, d->info);
    d->stride = (int64_t)lib.png_get_rowbytes(d->png, d->info);
}

static void read_rows(decoder *d)
{
    for (int pass = 0; pass < d->passes; pass++) {
        for (int64_t y = 0; y < d->job->height; y++, d->done++) {
            lib.png_read_row(d->png, d->rows + y * d->stride, NULL);
        }
    }
}

static void read_end(decoder *d)
{
    lib.png_read_end(d->png, NULL);
}

/* The orientation out of the file's eXIf chunk, 1 if there is none. Chunks are walked here since libpng reads those
 * after the pixels only at the end, and the orientation decides about the size. */
static eg_status orientation(const eg__image_job *job, int *turn)
{
    static const char exif[] = "Exif\0"; /* prefix of a JPEG marker, absent in the chunk */
    eg_status st = EG_OK;
    *turn = 1;
    for (int64_t at = 8; at + 8 <= job->bytes;) {
        const uint8_t *p = job->data + at;
        int64_t n = (int64_t)((uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]);
        if (n > job->bytes - at - 8) {
            return EG_OK;
        }
        if (!memcmp(p + 4, "eXIf", 4) && n <= MOST_CHUNK) {
            uint8_t *block = eg__counted_alloc((size_t)n + 6);
            if (!block) {
                return eg__no_memory(job->op, n);
            }
            memcpy(block, exif, 6);
            memcpy(block + 6, p + 8, (size_t)n);
            st = eg__exif_orientation(job->op, block, (unsigned)n + 6, turn);
            eg__counted_free(block);
            return st;
        }
        at += 12 + n;
    }
    return st;
}

static eg_status complain(const decoder *d)
{
    return eg__fail(EG_EFORMAT, d->job->op, "%.60s, PNG, byte %lld: %.100s", d->job->name, (long long)d->at, d->words);
}

/* Rows of 16 bits, most significant byte first, as i32; colours made gray on the way. */
static void widen(const decoder *d, int64_t n, int32_t *to)
{
    const uint8_t *p = d->rows;
    bool mix = d->channels == 3 && d->job->o.channels == 1;
    for (int64_t i = 0; i < n; i++) {
        if (mix) {
            const uint8_t *q = p + 6 * i;
            uint64_t r = (uint64_t)(q[0] << 8 | q[1]), g = (uint64_t)(q[2] << 8 | q[3]),
                     b = (uint64_t)(q[4] << 8 | q[5]);
            to[i] = (int32_t)((19595 * r + 38470 * g + 7471 * b + (1 << 15)) >> 16);
        } else {
            to[i] = p[2 * i] << 8 | p[2 * i + 1];
        }
    }
}

/* Places in the palette as colours. */
static eg_status look_up(const decoder *d, int64_t n, int channels, uint8_t *to)
{
    png_colorp colour = NULL;
    png_bytep alpha = NULL;
    int colours = 0, alphas = 0;
    lib.png_get_PLTE(d->png, d->info, &colour, &colours);
    lib.png_get_tRNS(d->png, d->info, &alpha, &alphas, NULL);
    for (int64_t i = 0; i < n; i++, to += channels) {
        int k = d->rows[i];
        uint8_t rgba[4] = {0, 0, 0, k < alphas ? alpha[k] : 255};
        if (k < colours) {
            memcpy(rgba, (uint8_t[]){colour[k].red, colour[k].green, colour[k].blue}, 3);
        } else if (!d->job->o.allow_truncated) {
            return eg__fail(EG_EFORMAT, d->job->op, "%.60s, PNG, pixel %lld: colour %d of %d", d->job->name,
                            (long long)i, k, colours);
        }
        if (channels == 1) {
            eg__image_gray(rgba, 4, 1, to);
        } else {
            memcpy(to, rgba, (size_t)channels);
        }
    }
    return EG_OK;
}

/* What the rows hold as what was asked for. */
static eg_status convert(decoder *d)
{
    eg__image_job *job = d->job;
    int channels = job->o.channels;
    if (!d->wide && !d->indexed && channels == d->channels) {
        return EG_OK;
    }
    eg_dtype dtype = d->wide ? EG_I32 : EG_U8;
    job->pixels = eg__empty_on(0, EG_SHAPE(job->height, job->width, channels), dtype);
    if (!job->pixels) {
        return eg__why();
    }
    if (d->indexed) {
        return look_up(d, job->height * job->width, channels, (uint8_t *)eg__ptr(job->pixels));
    }
    if (d->wide) {
        widen(d, job->pixels->n, (int32_t *)eg__ptr(job->pixels));
    } else {
        eg__image_gray(d->rows, 3, job->height * job->width, (uint8_t *)eg__ptr(job->pixels));
    }
    return EG_OK;
}

static eg_status decode(decoder *d)
{
    eg__image_job *job = d->job;
    if (!guarded(d, read_header)) {
        return complain(d);
    }
    job->height = lib.png_get_image_height(d->png, d->info);
    job->width = lib.png_get_image_width(d->png, d->info);
    int bits = lib.png_get_bit_depth(d->png, d->info) * lib.png_get_channels(d->png, d->info);
    /* deflate packs at most 1032 bytes into one. */
    eg_status st = eg__image_fits(job, 1100 * 8 / bits);
    st = st || job->o.ignore_orientation ? st : orientation(job, &job->orientation);
    if (st || job->only_size) {
        return st;
    }
    if (!guarded(d, set_up)) {
        return complain(d);
    }
    st = eg__image_room(job, job->height, job->width, d->channels * (d->wide ? 2 : 1));
    if (st) {
        return st;
    }
    d->rows = (uint8_t *)eg__ptr(job->pixels);
    if (job->o.allow_truncated) {
        memset(d->rows, 0, (size_t)(d->stride * job->height));
    }
    /* After the last row only the end may be missing: checksums and the IEND chunk. */
    bool whole = guarded(d, read_rows) && (guarded(d, read_end) || d->ended);
    if (!whole && !(job->o.allow_truncated && d->done)) {
        return complain(d);
    }
    return convert(d);
}

eg_status eg__png_decode(eg__image_job *job)
{
    decoder d = {.job = job};
    eg_status st = eg__library_open(&lib_library, job->op);
    if (st) {
        return st;
    }
    d.png = lib.png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, keep_words, stay_silent);
    d.info = d.png ? lib.png_create_info_struct(d.png) : NULL;
    st = d.info ? decode(&d) : eg__no_memory(job->op, 0);
    lib.png_destroy_read_struct(&d.png, &d.info, NULL);
    return st;
}

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct encoder {
    png_structp png;
    png_infop info;
    const eg_tensor *hwc;
    eg__bytes *out;
    char words[120];
} encoder;

static void note_words(png_structp png, png_const_charp words)
{
    encoder *e = lib.png_get_error_ptr(png);
    snprintf(e->words, sizeof e->words, "%s", words);
    lib.png_longjmp(png, 1);
}

static void take(png_structp png, png_bytep data, size_t n)
{
    encoder *e = lib.png_get_io_ptr(png);
    if (!eg__bytes_add(e->out, data, (int64_t)n)) {
        lib.png_error(png, "out of memory");
    }
}

static bool write_all(encoder *e)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, 0, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(*lib.png_set_longjmp_fn(e->png, longjmp, sizeof(jmp_buf)))) {
        return false;
    }
    int64_t height = e->hwc->shape[0], width = e->hwc->shape[1], channels = e->hwc->shape[2];
    lib.png_set_write_fn(e->png, e, take, NULL);
    lib.png_set_user_limits(e->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    lib.png_set_IHDR(e->png, e->info, (png_uint_32)width, (png_uint_32)height, 8, types[channels], PNG_INTERLACE_NONE,
                     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    lib.png_write_info(e->png, e->info);
    for (int64_t y = 0; y < height; y++) {
        lib.png_write_row(e->png, (png_const_bytep)eg__ptr(e->hwc) + y * width * channels);
    }
    lib.png_write_end(e->png, e->info);
    return true;
}

eg_status eg__png_encode(const char *op, const eg_tensor *hwc, eg__bytes *out)
{
    if (hwc->shape[0] > PNG_UINT_31_MAX || hwc->shape[1] > PNG_UINT_31_MAX) {
        return eg__fail(EG_ESHAPE, op, "sides of %lld x %lld, PNG knows 2^31 - 1 at most", (long long)hwc->shape[0],
                        (long long)hwc->shape[1]);
    }
    encoder e = {.hwc = hwc, .out = out};
    eg_status st = eg__library_open(&lib_library, op);
    if (st) {
        return st;
    }
    e.png = lib.png_create_write_struct(PNG_LIBPNG_VER_STRING, &e, note_words, stay_silent);
    e.info = e.png ? lib.png_create_info_struct(e.png) : NULL;
    if (!e.info || !write_all(&e)) {
        st = eg__fail(EG_ENOMEM, op, "%s", e.info ? e.words : "out of memory");
    }
    lib.png_destroy_write_struct(&e.png, &e.info);
    return st;
}

#else

eg_status eg__png_decode(eg__image_job *job)
{
    return eg__fail(EG_ENOKERNEL, job->op, "this build has no libpng");
}

eg_status eg__png_encode(const char *op, const eg_tensor *hwc, eg__bytes *out)
{
    (void)hwc, (void)out;
    return eg__fail(EG_ENOKERNEL, op, "this build has no libpng");
}

#endif
