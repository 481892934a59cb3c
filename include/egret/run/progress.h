/* progress.h - a progress bar for a person at a terminal, or lines in a log.
 *
 *     eg_progress bar;
 *     eg_progress_start(&bar, stderr, "epoch 1/3", 60000, "images");
 *     for (...) {
 *         eg_progress_update(&bar, seen, "loss %.4f", loss);
 *     }
 *     eg_progress_clear(&bar);
 *     printf("epoch 1: ...\n");
 *
 * The bar lives in one line that is painted over, if the stream is a terminal that can do so; otherwise it is a line
 * without a bar every 20 seconds, for a log. Colours unless NO_COLOR is set to something. */
#ifndef EGRET_RUN_PROGRESS_H
#define EGRET_RUN_PROGRESS_H

#include <stdio.h>

#include <egret/base.h>

EG_BEGIN_DECLS

typedef struct eg_progress {
    FILE *to;
    const char *label, *unit;
    int64_t total;
    int64_t before;          /* units that were done when it began, which took no time of it; 0 until it is set */
    double started, painted; /* seconds of a steady clock; painted 0: nothing is on the terminal */
    bool visible, colour, unicode;
} eg_progress;

/* Begins a count to `total` units (0: nobody knows), such as "images". The texts must live on. */
EG_API void eg_progress_start(eg_progress *p, FILE *to, const char *label, int64_t total, const char *unit);

/* Tells that `done` units are done, with a text such as the loss; at most a dozen times a second on a
 * terminal, so it may be called after every step. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
EG_API void
eg_progress_update(eg_progress *p, int64_t done, const char *format, ...);

/* Seconds since the count began. */
EG_API double eg_progress_seconds(const eg_progress *p);

/* Wipes the bar off, at the end or before printing something else; the next update paints again. */
EG_API void eg_progress_clear(eg_progress *p);

/* What a bar looks like, apart from any terminal: one line of at most `width` columns; width 0: as long as it is,
 * without a bar. `seconds` have passed. Without colour there are no escape codes, without unicode only ASCII. */
EG_API void eg_progress_line(const eg_progress *p, int64_t done, const char *text, double seconds, int width,
                             char *line, size_t size);

EG_END_DECLS

#endif
