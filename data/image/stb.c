/* stb.c - GIF, BMP and PNM through stb_image, whose symbols stay in here. */
#include "data/image/codec.h"

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
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_ONLY_PNM
#define STBI_ONLY_PSD /* refused below; without it PNM in stb of 2023 and later misses a function */
#include <stb/stb_image.h>

eg_status eg__stb_decode(eg__image_job *job)
{
    int width, height, found;
    if (job->bytes > INT32_MAX) {
        return eg__fail(EG_EFORMAT, job->op, "%.60s has %lld bytes, more than 2^31 - 1", job->name,
                        (long long)job->bytes);
    }
    if (job->bytes >= 4 && !memcmp(job->data, "8BPS", 4)) {
        return eg__image_bad(job, "PSD is not among the formats read");
    }
    if (!stbi_info_from_memory(job->data, (int)job->bytes, &width, &height, &found)) {
        return eg__image_bad(job, stbi_failure_reason());
    }
    job->width = width;
    job->height = height < 0 ? -(int64_t)height : height; /* a BMP from the top down */
    /* A code of at most 12 bits stands for at most 4096 pixels of a GIF. */
    eg_status st = eg__image_fits(job, 4096);
    if (st || job->only_size) {
        return st;
    }
    int channels = job->o.channels ? job->o.channels : found == 2 ? 4 : found;
    int asked = channels == 1 && found >= 3 ? 3 : channels;
    uint8_t *p = stbi_load_from_memory(job->data, (int)job->bytes, &width, &height, &found, asked);
    if (!p) {
        return eg__image_bad(job, stbi_failure_reason());
    }
    st = eg__image_room(job, height, width, channels);
    if (!st && channels == asked) {
        memcpy(eg__ptr(job->pixels), p, (size_t)job->pixels->n);
    } else if (!st) {
        eg__image_gray(p, 3, job->pixels->n, (uint8_t *)eg__ptr(job->pixels));
    }
    stbi_image_free(p);
    return st;
}

#else

eg_status eg__stb_decode(eg__image_job *job)
{
    return eg__fail(EG_ENOKERNEL, job->op, "this build has no stb");
}

#endif
