/* codec.h - what image.c asks of the codecs. Each takes a job whose format is known to be its own
 * and makes job->pixels: a tensor [H, W, C] as stored. */
#ifndef EGRET_CODEC_H
#define EGRET_CODEC_H

#include <egret/data/image.h>
#include <egret/ops.h>

#include "data/readers/bytes.h"

typedef struct eg__image_job {
    const char *op, *name; /* for words */
    const uint8_t *data;
    int64_t bytes;
    eg_image_options o; /* checked, defaults filled in */
    int64_t height, width;
    int orientation; /* 1..8 as EXIF counts; 1: as stored */
    /* Asked once height, width and orientation are known: the part to decode, which the codec may
     * widen to the left and right (then left is where it lies in what is decoded). */
    void (*choose)(struct eg__image_job *job);
    void *user;
    int64_t top, left, rows, columns; /* rows 0: everything */
    bool only_size;                   /* nothing is decoded but what says height, width and orientation */
    eg_tensor *pixels;
} eg__image_job;

eg_status eg__jpeg_decode(eg__image_job *job);
eg_status eg__png_decode(eg__image_job *job);
eg_status eg__gif_decode(eg__image_job *job);
eg_status eg__pnm_decode(eg__image_job *job);
eg_status eg__bmp_decode(eg__image_job *job);

/* Runs the codec the bytes ask for; job->pixels is then as stored, not yet turned. */
eg_status eg__image_run(eg__image_job *job);
/* The options checked and defaults filled in. */
eg_status eg__image_begin(eg__image_job *job, const char *op, const char *name, const void *data, size_t bytes,
                          const eg_image_options *options);
eg_status eg__image_bad(const eg__image_job *job, const char *words);
/* Whether height x width pixels may be decoded: at most max_pixels, and at most `per_byte` pixels
 * in a byte of the file. */
eg_status eg__image_fits(const eg__image_job *job, int64_t per_byte);
/* Allocates job->pixels, u8 [height, width, channels]. */
eg_status eg__image_room(eg__image_job *job, int64_t height, int64_t width, int channels);
/* [H, W, C] turned as the orientation says, row-major. */
eg_tensor *eg__image_orient(eg_tensor *hwc, int orientation);
/* RGB in steps of `step` bytes to gray. */
void eg__image_gray(const uint8_t *rgb, int step, int64_t n, uint8_t *gray);

/* Orientation out of an EXIF block (what follows the APP1 marker's length); 1 if it says none. */
eg_status eg__exif_orientation(const char *op, const uint8_t *data, unsigned bytes, int *turn);

/* Encoded bytes are appended to `out`; hwc is row-major u8 [H, W, C]. */
eg_status eg__jpeg_encode(const char *op, const eg_tensor *hwc, const eg_jpeg_options *o, eg__bytes *out);
eg_status eg__png_encode(const char *op, const eg_tensor *hwc, eg__bytes *out);

#endif
