/* bmp.c - BMP through stb_image, whose symbols stay in here. */
#include "data/image/codec.h"
#include "lib/core/counted.h"

#ifdef EG_HAVE_STB
#include <stdlib.h>

/* Of stb, which ends with this file. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_MALLOC(n)                eg__counted_alloc(n)
#define STBI_REALLOC_SIZED(p, had, n) eg__counted_realloc(p, had, n)
#define STBI_FREE(p)                  eg__counted_free(p)
#define STBI_ONLY_BMP
#include <stb/stb_image.h>

/* stb_image reads zeros after the end of its input: a read there is noted. */
typedef struct cursor {
    const eg__image_job *job;
    int64_t at;
    bool ended;
} cursor;

static int take(void *user, char *to, int n)
{
    cursor *c = user;
    int64_t have = eg__min((int64_t)n, c->job->bytes - c->at);
    c->ended |= have < 1;
    if (have < 1) {
        return 0;
    }
    memcpy(to, c->job->data + c->at, (size_t)have);
    c->at += have;
    return (int)have;
}

static void skip(void *user, int n)
{
    cursor *c = user;
    c->at = eg__max(0, eg__min(c->job->bytes, c->at + n));
}

static int at_end(void *user)
{
    const cursor *c = user;
    return c->at >= c->job->bytes;
}

static const stbi_io_callbacks from_memory = {.read = take, .skip = skip, .eof = at_end};

static eg_status cut(const eg__image_job *job)
{
    return eg__image_bad(job, "BMP: the file ends too early");
}

static int64_t word(const eg__image_job *job, int64_t at, int bytes)
{
    int64_t v = 0;
    for (int i = bytes; i-- > 0;) {
        v = v << 8 | (at + i < job->bytes ? job->data[at + i] : 0);
    }
    return v;
}

/* Returns whether all indices are inside the palette. stb_image reads uninitialized colors beyond its end. */
static bool has_all_colors(const eg__image_job *job)
{
    const int64_t pixels = word(job, 10, 4), header = word(job, 14, 4), bits = word(job, header == 12 ? 24 : 28, 2);
    const int64_t colors = (pixels - 14 - header) / (header == 12 ? 3 : 4), stride = (job->width * bits + 31) / 32 * 4;
    if (bits > 8 || bits < 1 || colors >= 1 << bits) {
        return true;
    }
    for (int64_t y = 0; y < job->height; y++) {
        for (int64_t x = 0; x < job->width; x++) {
            const int64_t first = x * bits % 8, byte = word(job, pixels + y * stride + x * bits / 8, 1);
            if ((byte >> (8 - bits - first) & ((1 << bits) - 1)) >= colors) {
                return false;
            }
        }
    }
    return true;
}

eg_status eg__bmp_decode(eg__image_job *job)
{
    int width, height, found;
    cursor c = {.job = job};
    if (job->bytes > INT32_MAX) {
        return eg__fail(EG_EFORMAT, job->op, "%.60s has %lld bytes, more than 2^31 - 1", job->name,
                        (long long)job->bytes);
    }
    if (!stbi_info_from_callbacks(&from_memory, &c, &width, &height, &found)) {
        return c.ended ? cut(job) : eg__image_bad(job, stbi_failure_reason());
    }
    job->width = width;
    job->height = height < 0 ? -(int64_t)height : height; /* a BMP from the top down */
    /* At most a bit for a pixel. */
    eg_status st = eg__image_fits(job, 8);
    if (st || job->only_size) {
        return st;
    }
    if (!has_all_colors(job)) {
        return eg__image_bad(job, "BMP: a pixel has a color that the palette lacks");
    }
    int channels = job->o.channels ? job->o.channels : found == 2 ? 4 : found;
    int asked = channels == 1 && found >= 3 ? 3 : channels;
    c = (cursor){.job = job};
    uint8_t *p = stbi_load_from_callbacks(&from_memory, &c, &width, &height, &found, asked);
    if (!p) {
        return c.ended ? cut(job) : eg__image_bad(job, stbi_failure_reason());
    }
    st = c.ended && !job->o.allow_truncated ? cut(job) : eg__image_room(job, height, width, channels);
    if (!st && channels == asked) {
        memcpy(eg__ptr(job->pixels), p, (size_t)job->pixels->n);
    } else if (!st) {
        eg__image_gray(p, 3, job->pixels->n, (uint8_t *)eg__ptr(job->pixels));
    }
    stbi_image_free(p);
    return st;
}

#else

eg_status eg__bmp_decode(eg__image_job *job)
{
    return eg__fail(EG_ENOKERNEL, job->op, "this build has no stb");
}

#endif
