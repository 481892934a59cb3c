/* captions.h - captions as numbers, beside the features of their photos. */
#ifndef EXAMPLES_CAPTION_CAPTIONS_H
#define EXAMPLES_CAPTION_CAPTIONS_H

#include "look.h"

enum { PAD, UNKNOWN, START, END, SPECIAL }; /* the first words of a vocabulary */

/* In small letters, without signs. */
eg_tensor *caption_clean(const char *caption);
/* The most frequent words of the first `count` photos' captions, `most` of them with the special ones. */
eg_vocabulary *captions_words(const photos *all, int64_t count, int64_t most);

typedef struct caption_place {
    int64_t photo;
    int number; /* of its captions */
} caption_place;

/* Photos from..to - 1 of all of them. */
typedef struct captions {
    const photos *all;
    int64_t from, to;
    const look *seen;
    const eg_vocabulary *words;
    caption_place *at; /* of each caption; the dataset's */
} captions;

/* Samples are features [places, channels] and ids [T], a caption each, with START in front and END behind. Photos and
 * all else must outlive it. */
eg_dataset *captions_dataset(const captions *c, int64_t *count);
/* Batches of them, 0 behind the ends, by so many threads. */
eg_dataset *captions_batches(eg_dataset *samples, int64_t batch, bool all);

#endif
