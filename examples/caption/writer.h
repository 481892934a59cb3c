/* writer.h - captions that the net writes: by beams, measured, and drawn over what it looked at. */
#ifndef EXAMPLES_CAPTION_WRITER_H
#define EXAMPLES_CAPTION_WRITER_H

#include "captions.h"
#include "net.h"

typedef struct writer {
    eg_module *net; /* the run's */
    look *seen;
    const eg_vocabulary *words;
    int64_t beams, longest; /* 1: the likeliest word at each step; words at most */
    double length_power;
} writer;

/* Ids [T] without START and END of each of photos from..to - 1, kept. */
eg_status writer_write(const writer *w, eg_run *run, const photos *all, int64_t from, int64_t to, eg_tensor **made);
/* Of one, whose features [places, channels] these are. */
eg_status writer_write_one(const writer *w, eg_run *run, eg_tensor *features, eg_tensor **made);
/* As a text. */
eg_tensor *writer_text(const writer *w, eg_tensor *ids);

/* BLEU of up to 1 to 4 words in a row, by the captions that people wrote. */
typedef struct bleus {
    eg_status st;
    double of[4];
} bleus;
bleus writer_judge(const writer *w, const photos *all, int64_t from, int64_t to, eg_tensor *const *made);

/* The photo, and for each word the photo with what was looked at bright. */
eg_tensor *writer_draw(const writer *w, eg_run *run, const photo *p, eg_tensor *ids);

#endif
