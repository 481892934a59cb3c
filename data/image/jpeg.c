/* jpeg.c - JPEG through libjpeg-turbo. Its failures come by longjmp, which never leaves `guarded`:
 * the steps it runs hold no memory of ours. */
#include "data/image/codec.h"
#include "lib/core/counted.h"

#ifdef EG_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)           \
    X(jpeg_CreateCompress)     \
    X(jpeg_CreateDecompress)   \
    X(jpeg_crop_scanline)      \
    X(jpeg_destroy_compress)   \
    X(jpeg_destroy_decompress) \
    X(jpeg_finish_compress)    \
    X(jpeg_finish_decompress)  \
    X(jpeg_mem_src)            \
    X(jpeg_read_header)        \
    X(jpeg_read_scanlines)     \
    X(jpeg_save_markers)       \
    X(jpeg_set_defaults)       \
    X(jpeg_set_quality)        \
    X(jpeg_simple_progression) \
    X(jpeg_skip_scanlines)     \
    X(jpeg_start_compress)     \
    X(jpeg_start_decompress)   \
    X(jpeg_std_error)          \
    X(jpeg_write_scanlines)
EG__LIBRARY(lib, FUNCTIONS, .title = "libjpeg-turbo", .files = {EG_SO_JPEG}, .package = "libjpeg62-turbo");

enum { MOST_SCANS = 500, ROWS = 16 };

typedef struct decoder {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    char words[JMSG_LENGTH_MAX]; /* the failure, or the first warning of lost pixels */
    bool lossy;
    bool ended;     /* the data ended before an EOI marker */
    unsigned coded; /* bit i: a scan of component i was read */
    eg__image_job *job;
    uint8_t *row; /* of what pixels are mixed of: four inks, or colours that become gray */
} decoder;

static void give_up(j_common_ptr c)
{
    decoder *d = c->client_data;
    c->err->format_message(c, d->words);
    longjmp(d->back, 1);
}

static void note(j_common_ptr c, int level)
{
    decoder *d = c->client_data;
    int code = c->err->msg_code;
    /* A Huffman decoder reports JWRN_HIT_MARKER where it needs bits after the end of the data; an arithmetic one
     * reads zeros there without a warning. */
    bool pixels_lost = code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC ||
                       code == JWRN_ARITH_BAD_CODE || (code == JWRN_JPEG_EOF && d->c.arith_code);
    if (level >= 0 || d->lossy) {
        return;
    }
    if (code == JWRN_JPEG_EOF && !d->ended) {
        c->err->format_message(c, d->words);
        d->ended = true;
    }
    if (!pixels_lost) {
        return;
    }
    c->err->format_message(c, d->words);
    d->lossy = true;
    if (!d->job->o.allow_truncated) {
        longjmp(d->back, 1);
    }
}

static void watch(j_common_ptr c)
{
    decoder *d = c->client_data;
    for (int i = 0; i < d->c.comps_in_scan; i++) {
        d->coded |= 1u << d->c.cur_comp_info[i]->component_index;
    }
    if (d->c.input_scan_number > MOST_SCANS) {
        snprintf(d->words, sizeof d->words, "more than %d scans", MOST_SCANS);
        longjmp(d->back, 1);
    }
}

static bool guarded(decoder *d, void (*step)(decoder *))
{
    if (setjmp(d->back)) {
        return false;
    }
    step(d);
    return true;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_header(decoder *d)
{
    lib.jpeg_CreateDecompress(&d->c, JPEG_LIB_VERSION, sizeof d->c);
    d->c.progress = &d->progress;
    lib.jpeg_mem_src(&d->c, d->job->data, (unsigned long)d->job->bytes);
    if (!d->job->o.ignore_orientation) {
        lib.jpeg_save_markers(&d->c, JPEG_APP0 + 1, 0xffff);
    }
    lib.jpeg_read_header(&d->c, TRUE);
}

static eg_status orientation(const decoder *d, int *turn)
{
    static const char exif[] = "Exif\0";
    for (jpeg_saved_marker_ptr m = d->c.marker_list; m; m = m->next) {
        if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 && !memcmp(m->data, exif, 6)) {
            return eg__exif_orientation(d->job->op, m->data, m->data_length, turn);
        }
    }
    *turn = 1;
    return EG_OK;
}

static bool has_ink(const decoder *d)
{
    return d->c.num_components == 4;
}

/* Components of a row that is not stored as it is read. The luma of a file is not used for gray: it is of
 * colours before they were limited to 0..255, and other formats have none. */
static int mixed(const decoder *d)
{
    return has_ink(d) ? 4 : d->job->o.channels == 1 && d->c.num_components == 3 ? 3 : 0;
}

static void start(decoder *d)
{
    const eg_image_options *o = &d->job->o;
    d->c.out_color_space = has_ink(d)                          ? JCS_CMYK
                           : o->channels == 3 || mixed(d) == 3 ? JCS_RGB
                           : o->channels == 1                  ? JCS_GRAYSCALE
                                                               : JCS_EXT_RGBA;
    d->c.scale_num = 1;
    d->c.scale_denom = (unsigned)o->scale;
    d->c.dct_method = o->fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    d->c.do_fancy_upsampling = !o->plain_upsampling;
    lib.jpeg_start_decompress(&d->c);
    if (d->job->rows) {
        JDIMENSION left = (JDIMENSION)d->job->left, columns = (JDIMENSION)d->job->columns;
        lib.jpeg_crop_scanline(&d->c, &left, &columns);
        d->job->left -= left;
    } else {
        d->job->rows = d->c.output_height;
    }
}

/* A row of C, M, Y, K to pixels. Adobe stores how little ink there is; others how much. */
static void mix_inks(const decoder *d, uint8_t *to)
{
    int channels = d->job->o.channels, flip = d->c.saw_Adobe_marker ? 0 : 255;
    for (unsigned i = 0; i < d->c.output_width; i++) {
        const uint8_t *ink = d->row + 4 * i;
        uint8_t rgb[3], *p = channels == 1 ? rgb : to + i * (unsigned)channels;
        for (int k = 0; k < 3; k++) {
            p[k] = (uint8_t)(((ink[k] ^ flip) * (ink[3] ^ flip) + 127) / 255);
        }
        if (channels == 1) {
            eg__image_gray(rgb, 3, 1, to + i);
        } else if (channels == 4) {
            p[3] = 255;
        }
    }
}

static void mix(const decoder *d, uint8_t *to)
{
    if (has_ink(d)) {
        mix_inks(d, to);
    } else {
        eg__image_gray(d->row, 3, d->c.output_width, to);
    }
}

/* Returns whether a file without an EOI marker has all scans: each component, and of a progressive file each
 * coefficient at full precision. */
static bool has_all_scans(const decoder *d)
{
    if (d->coded != (1u << d->c.num_components) - 1) {
        return false;
    }
    for (int i = 0; d->c.coef_bits && i < d->c.num_components; i++) {
        for (int k = 0; k < DCTSIZE2; k++) {
            if (d->c.coef_bits[i][k]) {
                return false;
            }
        }
    }
    return true;
}

static void read_rows(decoder *d)
{
    eg__image_job *job = d->job;
    uint8_t *to = (uint8_t *)eg__ptr(job->pixels);
    size_t stride = d->c.output_width * (size_t)job->o.channels;
    if (job->top) {
        lib.jpeg_skip_scanlines(&d->c, (JDIMENSION)job->top);
    }
    for (int64_t y = 0; y < job->rows;) {
        JSAMPROW rows[ROWS];
        int n = (int)eg__min(ROWS, job->rows - y);
        if (d->row) {
            rows[0] = d->row;
            n = (int)lib.jpeg_read_scanlines(&d->c, rows, 1);
            mix(d, to + (size_t)y * stride);
        } else {
            for (int i = 0; i < n; i++) {
                rows[i] = to + (size_t)(y + i) * stride;
            }
            n = (int)lib.jpeg_read_scanlines(&d->c, rows, (JDIMENSION)n);
        }
        y += n;
    }
    if (d->ended && !job->o.allow_truncated && !has_all_scans(d)) {
        longjmp(d->back, 1);
    }
    if (d->c.output_scanline == d->c.output_height) {
        lib.jpeg_finish_decompress(&d->c);
    }
}

static eg_status complain(const decoder *d)
{
    const eg__image_job *job = d->job;
    int64_t at = d->c.src ? job->bytes - (int64_t)d->c.src->bytes_in_buffer : 0;
    return eg__fail(EG_EFORMAT, job->op, "%.60s, JPEG, byte %lld: %.100s", job->name, (long long)at, d->words);
}

/* What the header says decides whether and what to decode. */
static eg_status plan(decoder *d)
{
    eg__image_job *job = d->job;
    job->height = d->c.image_height;
    job->width = d->c.image_width;
    job->orientation = 1;
    if (!job->o.channels) {
        job->o.channels = d->c.num_components == 1 ? 1 : 3;
    }
    /* A Huffman code of a block of 64 samples takes a bit; an arithmetic coder may do better. */
    eg_status st = eg__image_fits(job, d->c.arith_code ? 1 << 16 : 2048);
    st = st || job->o.ignore_orientation ? st : orientation(d, &job->orientation);
    if (!st && job->choose) {
        job->choose(job);
    }
    return st;
}

static eg_status decode(decoder *d)
{
    eg__image_job *job = d->job;
    if (!guarded(d, read_header)) {
        return complain(d);
    }
    eg_status st = plan(d);
    if (st || job->only_size) {
        return st;
    }
    if (!guarded(d, start)) {
        return complain(d);
    }
    const size_t bytes = (size_t)d->c.output_width * (size_t)mixed(d);
    if (bytes && !(d->row = eg__counted_alloc(bytes))) {
        return eg__no_memory(job->op, (int64_t)bytes);
    }
    st = eg__image_room(job, job->rows, d->c.output_width, job->o.channels);
    return st ? st : guarded(d, read_rows) ? EG_OK : complain(d);
}

static struct jpeg_error_mgr *handle_errors(struct jpeg_error_mgr *e)
{
    lib.jpeg_std_error(e);
    e->error_exit = give_up;
    e->emit_message = note;
    return e;
}

eg_status eg__jpeg_decode(eg__image_job *job)
{
    eg_status st = eg__library_open(&lib_library, job->op);
    if (st) {
        return st;
    }
    decoder *d = eg__malloc(sizeof *d);
    if (!d) {
        return eg__no_memory(job->op, (int64_t)sizeof *d);
    }
    memset(d, 0, sizeof *d);
    d->job = job;
    d->c.err = handle_errors(&d->errors);
    d->c.client_data = d;
    d->progress.progress_monitor = watch;
    st = decode(d);
    lib.jpeg_destroy_decompress(&d->c);
    eg__counted_free(d->row);
    free(d);
    return st;
}

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct encoder {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr to;
    jmp_buf back;
    char words[JMSG_LENGTH_MAX];
    const eg_tensor *hwc;
    const eg_jpeg_options *o;
    eg__bytes *out;
    bool no_memory;
    uint8_t piece[16384];
} encoder;

static void stop_writing(j_common_ptr c)
{
    encoder *e = c->client_data;
    c->err->format_message(c, e->words);
    longjmp(e->back, 1);
}

static void begin_piece(j_compress_ptr c)
{
    encoder *e = c->client_data;
    e->to.next_output_byte = e->piece;
    e->to.free_in_buffer = sizeof e->piece;
}

static void hand_over(encoder *e, size_t n)
{
    if (!eg__bytes_add(e->out, e->piece, (int64_t)n)) {
        e->no_memory = true;
        longjmp(e->back, 1);
    }
}

static boolean full_piece(j_compress_ptr c)
{
    hand_over(c->client_data, sizeof((encoder *)0)->piece);
    begin_piece(c);
    return TRUE;
}

static void last_piece(j_compress_ptr c)
{
    encoder *e = c->client_data;
    hand_over(e, sizeof e->piece - e->to.free_in_buffer);
}

static void write_all(encoder *e)
{
    int channels = (int)e->hwc->shape[2];
    lib.jpeg_CreateCompress(&e->c, JPEG_LIB_VERSION, sizeof e->c);
    e->c.dest = &e->to;
    e->c.image_height = (JDIMENSION)e->hwc->shape[0];
    e->c.image_width = (JDIMENSION)e->hwc->shape[1];
    e->c.input_components = channels;
    e->c.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    lib.jpeg_set_defaults(&e->c);
    lib.jpeg_set_quality(&e->c, e->o->quality ? e->o->quality : 90, TRUE);
    if (e->o->full_colour) {
        e->c.comp_info[0].h_samp_factor = e->c.comp_info[0].v_samp_factor = 1;
    }
    if (e->o->progressive) {
        lib.jpeg_simple_progression(&e->c);
    }
    lib.jpeg_start_compress(&e->c, TRUE);
    size_t stride = e->c.image_width * (size_t)channels;
    while (e->c.next_scanline < e->c.image_height) {
        JSAMPROW row = (JSAMPROW)eg__ptr(e->hwc) + e->c.next_scanline * stride;
        lib.jpeg_write_scanlines(&e->c, &row, 1);
    }
    lib.jpeg_finish_compress(&e->c);
}

static bool write_guarded(encoder *e)
{
    if (setjmp(e->back)) {
        return false;
    }
    write_all(e);
    return true;
}

eg_status eg__jpeg_encode(const char *op, const eg_tensor *hwc, const eg_jpeg_options *o, eg__bytes *out)
{
    eg_status st = eg__library_open(&lib_library, op);
    if (st) {
        return st;
    }
    encoder *e = eg__malloc(sizeof *e);
    if (!e) {
        return eg__no_memory(op, (int64_t)sizeof *e);
    }
    memset(e, 0, sizeof *e);
    e->c.err = lib.jpeg_std_error(&e->errors);
    e->errors.error_exit = stop_writing;
    e->c.client_data = e;
    e->to = (struct jpeg_destination_mgr){
        .init_destination = begin_piece, .empty_output_buffer = full_piece, .term_destination = last_piece};
    e->hwc = hwc;
    e->o = o;
    e->out = out;
    bool ok = write_guarded(e);
    lib.jpeg_destroy_compress(&e->c);
    st = ok ? EG_OK : e->no_memory ? eg__no_memory(op, 2 * out->n) : eg__fail(EG_EINVAL, op, "%.200s", e->words);
    free(e);
    return st;
}

#else

eg_status eg__jpeg_decode(eg__image_job *job)
{
    return eg__fail(EG_ENOKERNEL, job->op, "this build has no libjpeg");
}

eg_status eg__jpeg_encode(const char *op, const eg_tensor *hwc, const eg_jpeg_options *o, eg__bytes *out)
{
    (void)hwc, (void)o, (void)out;
    return eg__fail(EG_ENOKERNEL, op, "this build has no libjpeg");
}

#endif
