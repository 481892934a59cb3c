/* sound.h - what decoders of sound make. */
#ifndef EGRET_SOUND_H
#define EGRET_SOUND_H

#include <egret/data/audio.h>

#include "data/readers/bytes.h"
#include "lib/io/file.h"

typedef struct eg__sound {
    eg__bytes samples; /* f32, of the channels in turn; the caller's, also after a failure */
    int64_t channels, rate;
} eg__sound;

/* Decodes up to `most` samples of each channel behind the first `start`, fewer where it ends; it stops soon after there
 * are more than `limit` of all channels together. */
eg_status eg__mp3_decode(const eg__source *s, int64_t start, int64_t most, int64_t limit, eg__sound *sound);

#endif
