/* gif.c - the first frame of a GIF file. Compression: T. A. Welch, "A Technique for High-Performance Data
 * Compression", Computer 17(6), 1984. */
#include <stdlib.h>

#include "data/image/codec.h"

enum { HEADER = 13, MOST_CODES = 4096, END = -1 };

typedef struct decoder {
    eg__image_job *job;
    int64_t at; /* next byte of the file */
    uint8_t palette[256][3];
    int transparent;                  /* index of the transparent color, -1: none */
    int64_t left, top, width, height; /* of the frame, on the canvas */
    bool interlaced;
    /* LZW: codes of `size` bits out of sub-blocks of at most 255 bytes. */
    int start_size, size, next, previous;
    int block; /* bytes left in the sub-block */
    uint32_t bits;
    int bit_count;
    uint16_t prefix[MOST_CODES];
    uint8_t suffix[MOST_CODES], first[MOST_CODES], stack[MOST_CODES];
    int depth; /* of the stack */
} decoder;

static int64_t left_over(const decoder *d)
{
    return d->job->bytes - d->at;
}

static int word(const decoder *d, int64_t at)
{
    return d->job->data[at] | d->job->data[at + 1] << 8;
}

static eg_status cut(const decoder *d)
{
    return eg__fail(EG_EFORMAT, d->job->op, "%.100s, GIF: the file ends too early, at byte %lld", d->job->name,
                    (long long)d->job->bytes);
}

/* ---- up to the first frame ------------------------------------------------------------------ */

static eg_status read_palette(decoder *d, int flags)
{
    int64_t n = flags & 0x80 ? 3 * (2 << (flags & 7)) : 0;
    if (n > left_over(d)) {
        return cut(d);
    }
    memcpy(d->palette, d->job->data + d->at, (size_t)n);
    d->at += n;
    return EG_OK;
}

/* An extension: a label, then sub-blocks up to an empty one. */
static eg_status read_extension(decoder *d)
{
    const uint8_t *p = d->job->data;
    if (left_over(d) < 2) {
        return cut(d);
    }
    bool control = p[d->at++] == 0xf9;
    if (control && p[d->at] >= 4 && left_over(d) > 4) {
        d->transparent = p[d->at + 1] & 1 ? p[d->at + 4] : -1;
    }
    while (left_over(d) > 0 && p[d->at]) {
        d->at += 1 + p[d->at];
    }
    d->at++;
    return left_over(d) < 0 ? cut(d) : EG_OK;
}

static eg_status read_frame_header(decoder *d)
{
    eg__image_job *job = d->job;
    if (left_over(d) < 9) {
        return cut(d);
    }
    d->left = word(d, d->at);
    d->top = word(d, d->at + 2);
    d->width = word(d, d->at + 4);
    d->height = word(d, d->at + 6);
    int flags = job->data[d->at + 8];
    d->interlaced = flags & 0x40;
    d->at += 9;
    job->width = eg__max(job->width, d->left + d->width);
    job->height = eg__max(job->height, d->top + d->height);
    return read_palette(d, flags);
}

static eg_status read_headers(decoder *d)
{
    eg__image_job *job = d->job;
    if (job->bytes < HEADER) {
        return cut(d);
    }
    for (int i = 0; i < 256; i++) { /* where a file has no palette */
        memset(d->palette[i], i, 3);
    }
    job->width = word(d, 6);
    job->height = word(d, 8);
    d->at = HEADER;
    eg_status st = read_palette(d, job->data[10]);
    while (!st) {
        int kind = left_over(d) > 0 ? job->data[d->at++] : ';';
        if (kind == ',') {
            return read_frame_header(d);
        }
        st = kind == '!'   ? read_extension(d)
             : kind == ';' ? eg__image_bad(job, "GIF without a frame")
                           : eg__fail(EG_EFORMAT, job->op, "%.100s, GIF, byte %lld: %d begins no block", job->name,
                                      (long long)d->at - 1, kind);
    }
    return st;
}

/* ---- LZW ------------------------------------------------------------------------------------ */

/* The next code; END where the sub-blocks or the file end. */
static int next_code(decoder *d)
{
    while (d->bit_count < d->size) {
        if (left_over(d) < 1) {
            return END;
        }
        if (!d->block) {
            d->block = d->job->data[d->at++];
            if (!d->block) {
                return END;
            }
            continue;
        }
        d->block--;
        d->bits |= (uint32_t)d->job->data[d->at++] << d->bit_count;
        d->bit_count += 8;
    }
    int code = (int)(d->bits & ((1u << d->size) - 1));
    d->bits >>= d->size;
    d->bit_count -= d->size;
    return code;
}

static void clear_codes(decoder *d)
{
    d->size = d->start_size + 1;
    d->next = (1 << d->start_size) + 2;
    d->previous = -1;
}

/* Puts the indices that a code stands for onto the stack, the last one first, and adds a code. */
static bool unpack(decoder *d, int code)
{
    bool fresh = d->previous >= 0 && code == d->next && d->next < MOST_CODES;
    if (code > d->next || (code == d->next && !fresh) || (d->previous < 0 && code >= 1 << d->start_size)) {
        return false;
    }
    int c = code;
    if (fresh) { /* the previous string and its first index again */
        d->stack[d->depth++] = d->first[d->previous];
        c = d->previous;
    }
    for (; c >= 1 << d->start_size; c = d->prefix[c]) {
        d->stack[d->depth++] = d->suffix[c];
    }
    d->stack[d->depth++] = (uint8_t)c;
    if (d->previous >= 0 && d->next < MOST_CODES) {
        d->prefix[d->next] = (uint16_t)d->previous;
        d->suffix[d->next] = (uint8_t)c;
        d->first[d->next] = d->first[d->previous];
        d->next++;
        d->size += d->next == 1 << d->size && d->size < 12;
    }
    d->previous = code;
    return true;
}

static eg_status begin_codes(decoder *d)
{
    if (left_over(d) < 1) {
        return cut(d);
    }
    d->start_size = d->job->data[d->at++];
    if (d->start_size < 1 || d->start_size > 8) {
        return eg__fail(EG_EFORMAT, d->job->op, "%.100s, GIF, byte %lld: codes of %d bits, must be 1..8", d->job->name,
                        (long long)d->at - 1, d->start_size);
    }
    for (int i = 0; i < 1 << d->start_size; i++) {
        d->first[i] = (uint8_t)i;
    }
    clear_codes(d);
    return EG_OK;
}

/* Indices of the frame in the order of the file. What an early end code leaves out stays 0. */
static eg_status read_indices(decoder *d, uint8_t *to)
{
    const int clear = 1 << d->start_size;
    int64_t n = d->width * d->height, done = 0;
    while (done < n) {
        int code = next_code(d);
        if (code == END) {
            return d->job->o.allow_truncated ? EG_OK : cut(d);
        }
        if (code == clear + 1) {
            return EG_OK;
        }
        if (code == clear) {
            clear_codes(d);
        } else if (!unpack(d, code)) {
            return d->job->o.allow_truncated ? EG_OK
                                             : eg__fail(EG_EFORMAT, d->job->op, "%.100s, GIF, byte %lld: code %d of %d",
                                                        d->job->name, (long long)d->at, code, d->next);
        }
        while (d->depth && done < n) {
            to[done++] = d->stack[--d->depth];
        }
    }
    return EG_OK;
}

/* ---- pixels --------------------------------------------------------------------------------- */

static void put_row(const decoder *d, const uint8_t *index, int64_t n, uint8_t *to)
{
    int channels = d->job->o.channels;
    for (int64_t i = 0; i < n; i++, to += channels) {
        const uint8_t *color = d->palette[index[i]];
        uint8_t rgba[4] = {color[0], color[1], color[2], index[i] == d->transparent ? 0 : 255};
        if (channels == 1) {
            eg__image_gray(rgba, 3, 1, to);
        } else {
            memcpy(to, rgba, (size_t)channels);
        }
    }
}

/* The row of the frame that comes as the i-th in the file. */
static int64_t row_of(const decoder *d, int64_t i)
{
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    for (int k = 0; d->interlaced && k < 4; k++) {
        int64_t n = (d->height - first[k] + step[k] - 1) / step[k];
        if (i < n) {
            return first[k] + i * step[k];
        }
        i -= eg__max(n, 0);
    }
    return i;
}

static void paint(const decoder *d, const uint8_t *indices)
{
    eg__image_job *job = d->job;
    uint8_t *to = (uint8_t *)eg__ptr(job->pixels), outside = d->transparent < 0 ? 0 : (uint8_t)d->transparent;
    int64_t channels = job->o.channels;
    if (d->width < job->width || d->height < job->height) {
        for (int64_t i = 0; i < job->width * job->height; i++) {
            put_row(d, &outside, 1, to + i * channels);
        }
    }
    for (int64_t i = 0; i < d->height; i++) {
        int64_t y = d->top + row_of(d, i);
        put_row(d, indices + i * d->width, d->width, to + (y * job->width + d->left) * channels);
    }
}

static eg_status decode(decoder *d)
{
    eg__image_job *job = d->job;
    eg_status st = read_headers(d);
    /* A code of at most 12 bits stands for at most 4096 pixels. */
    st = st ? st : eg__image_fits(job, 4096);
    if (st || job->only_size) {
        return st;
    }
    job->o.channels = job->o.channels ? job->o.channels : d->transparent < 0 ? 3 : 4;
    eg_tensor *indices = eg__empty_on(0, EG_SHAPE(d->height, d->width), EG_U8);
    st = indices ? begin_codes(d) : eg__why();
    if (st) {
        return st;
    }
    uint8_t *p = (uint8_t *)eg__ptr(indices);
    memset(p, 0, (size_t)indices->n);
    st = read_indices(d, p);
    st = st ? st : eg__image_room(job, job->height, job->width, job->o.channels);
    if (!st) {
        paint(d, p);
    }
    return st;
}

eg_status eg__gif_decode(eg__image_job *job)
{
    decoder *d = eg__malloc(sizeof *d);
    if (!d) {
        return eg__no_memory(job->op, (int64_t)sizeof *d);
    }
    memset(d, 0, sizeof *d);
    d->job = job;
    d->transparent = -1;
    eg_status st = decode(d);
    free(d);
    return st;
}
