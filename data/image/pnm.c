/* pnm.c - PBM, PGM and PPM, as text (P1, P2, P3) and as bytes (P4, P5, P6): http://netpbm.sourceforge.net/doc/. */
#include <math.h>

#include "data/image/codec.h"

enum { MOST_DIGITS = 10 };

typedef struct reader {
    eg__image_job *job;
    int64_t at;
    int kind;     /* 1..6 */
    int64_t most; /* the value of white */
    int found;    /* channels of the file */
    int64_t row;  /* bytes of a row, at least */
    bool lenient; /* a fault only ends the pixels */
} reader;

static eg_status bad(const reader *r, const char *words)
{
    if (r->lenient) {
        return EG_EFORMAT;
    }
    return eg__fail(EG_EFORMAT, r->job->op, "%.100s, PNM, byte %lld: %s", r->job->name, (long long)r->at, words);
}

static bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Passes over white space and comments, which end with their line. */
static void skip_space(reader *r)
{
    const uint8_t *p = r->job->data;
    bool comment = false;
    for (; r->at < r->job->bytes; r->at++) {
        comment = comment ? p[r->at] != '\n' && p[r->at] != '\r' : p[r->at] == '#';
        if (!comment && !is_space(p[r->at])) {
            return;
        }
    }
}

static eg_status read_number(reader *r, int64_t *v)
{
    const uint8_t *p = r->job->data;
    skip_space(r);
    *v = 0;
    int64_t begin = r->at;
    for (; r->at < r->job->bytes && p[r->at] >= '0' && p[r->at] <= '9'; r->at++) {
        if (r->at - begin == MOST_DIGITS) {
            return bad(r, "a number of more than 10 digits");
        }
        *v = 10 * *v + p[r->at] - '0';
    }
    return r->at > begin           ? EG_OK
           : r->at < r->job->bytes ? bad(r, "expected a number")
                                   : bad(r, "the file ends too early");
}

static eg_status read_header(reader *r)
{
    eg__image_job *job = r->job;
    bool bitmap = r->kind == 1 || r->kind == 4;
    r->at = 2;
    r->found = r->kind == 3 || r->kind == 6 ? 3 : 1;
    r->most = 1;
    eg_status st = read_number(r, &job->width);
    st = st ? st : read_number(r, &job->height);
    st = st || bitmap ? st : read_number(r, &r->most);
    if (!st && (r->most < 1 || r->most > 65535)) {
        st = bad(r, "the largest value must be in 1..65535");
    }
    if (!st && r->kind > 3 && (r->at >= job->bytes || !is_space(job->data[r->at]))) {
        st = bad(r, "expected one white space before the pixels");
    }
    r->at += r->kind > 3;
    return st;
}

/* The next value as 0..most. */
static eg_status read_value(reader *r, int64_t *v)
{
    const uint8_t *p = r->job->data + r->at;
    eg_status st = EG_OK;
    if (r->kind == 1) { /* digits need no space between them */
        skip_space(r);
        p = r->job->data + r->at;
        if (r->at >= r->job->bytes || (*p != '0' && *p != '1')) {
            return bad(r, r->at < r->job->bytes ? "expected 0 or 1" : "the file ends too early");
        }
        *v = *p == '0';
        r->at++;
    } else if (r->kind < 4) {
        st = read_number(r, v);
        st = !st && *v > r->most ? bad(r, "a value above the largest") : st;
    } else {
        int n = r->most > 255 ? 2 : 1;
        *v = n == 2 ? p[0] << 8 | p[1] : p[0];
        *v = eg__min(*v, r->most);
        r->at += n;
    }
    return st;
}

/* A row of the file, each value scaled to 0..white. */
static eg_status read_row(reader *r, int white, int32_t *to)
{
    int64_t n = r->job->width * r->found, v = 0;
    eg_status st = EG_OK;
    if (r->kind == 4) {
        const uint8_t *p = r->job->data + r->at;
        for (int64_t i = 0; i < n; i++) {
            to[i] = p[i / 8] >> (7 - i % 8) & 1 ? 0 : white;
        }
        r->at += (n + 7) / 8;
        return EG_OK;
    }
    for (int64_t i = 0; i < n && !(st = read_value(r, &v)); i++) {
        to[i] = r->most == white ? (int32_t)v : (int32_t)rint((double)v / (double)r->most * white);
    }
    return st;
}

/* The row in the channels asked for. */
static void put_row(const reader *r, const int32_t *from, int white, int64_t y)
{
    const eg__image_job *job = r->job;
    const int channels = job->o.channels;
    const int64_t start = y * job->width * channels;
    int32_t *wide = job->pixels->dtype == EG_I32 ? (int32_t *)eg__ptr(job->pixels) + start : NULL;
    uint8_t *narrow = (uint8_t *)eg__ptr(job->pixels) + start;
    for (int64_t i = 0; i < job->width; i++) {
        const int32_t *p = from + i * r->found;
        int32_t v[4] = {p[0], p[r->found / 2], p[r->found - 1], white};
        if (channels == 1 && r->found == 3) {
            v[0] =
                (int32_t)((19595 * (uint64_t)v[0] + 38470 * (uint64_t)v[1] + 7471 * (uint64_t)v[2] + (1 << 15)) >> 16);
        }
        for (int c = 0; c < channels; c++) {
            if (wide) {
                *wide++ = v[c];
            } else {
                *narrow++ = (uint8_t)v[c];
            }
        }
    }
}

/* Refuses dimensions that need more pixels than the file can have: a byte of the file holds at most 8, in P4. */
static eg_status check_size(reader *r)
{
    eg__image_job *job = r->job;
    eg_status st = eg__image_fits(job, 8);
    int64_t values = job->width * r->found;
    r->row = r->kind == 4 ? (values + 7) / 8 : r->kind > 3 && r->most > 255 ? 2 * values : values;
    if (!st && r->row > (job->bytes - r->at) / job->height && !job->o.allow_truncated) {
        st = eg__fail(EG_EFORMAT, job->op, "%.100s, PNM: the file ends too early: %lld x %lld pixels in %lld bytes",
                      job->name, (long long)job->width, (long long)job->height, (long long)job->bytes);
    }
    return st;
}

static eg_status read_pixels(reader *r)
{
    eg__image_job *job = r->job;
    const bool wide = job->o.keep_16 && r->most > 255;
    job->o.channels = job->o.channels ? job->o.channels : r->found;
    job->pixels = eg__empty_on(0, EG_SHAPE(job->height, job->width, job->o.channels), wide ? EG_I32 : EG_U8);
    eg_tensor *row = eg__empty_on(0, EG_SHAPE(job->width * r->found), EG_I32);
    if (!job->pixels || !row) {
        return eg__why();
    }
    eg_status st = EG_OK;
    if (job->o.allow_truncated) {
        memset(eg__ptr(job->pixels), 0, (size_t)job->pixels->n * (wide ? 4 : 1));
    }
    r->lenient = job->o.allow_truncated;
    for (int64_t y = 0; y < job->height && !st; y++) {
        st = r->kind > 3 && r->row > job->bytes - r->at ? bad(r, "the file ends too early") : EG_OK;
        st = st ? st : read_row(r, wide ? 65535 : 255, (int32_t *)eg__ptr(row));
        if (!st) {
            put_row(r, (const int32_t *)eg__ptr(row), wide ? 65535 : 255, y);
        }
    }
    return r->lenient ? EG_OK : st;
}

eg_status eg__pnm_decode(eg__image_job *job)
{
    reader r = {.job = job, .kind = job->data[1] - '0'};
    eg_status st = read_header(&r);
    st = st ? st : check_size(&r);
    return st || job->only_size ? st : read_pixels(&r);
}
