/* progress.h - a progress bar for a person at a terminal, or lines in a log.
 *
 *     progress bar;
 *     progress_start(&bar, "epoch 1/3", 60000, "images");
 *     for (...) {
 *         progress_update(&bar, seen, "loss %.4f", loss);
 *     }
 *     progress_clear(&bar);
 *     printf("epoch 1: ...\n");
 *
 * The bar lives on stderr, in one line that is painted over, if stderr is a terminal that can do so;
 * otherwise it is a line without a bar every 20 seconds, for a log. Colours unless NO_COLOR is set to
 * something. */
#ifndef EXAMPLES_PROGRESS_H
#define EXAMPLES_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    const char *label, *unit;
    int64_t total;
    double started, painted; /* seconds of a steady clock; painted 0: nothing is on the terminal */
    bool visible, colour, unicode;
} progress;

/* Begins a count to `total` units (0: nobody knows), such as "images". The texts must live on. */
void progress_start(progress *p, const char *label, int64_t total, const char *unit);

/* Tells that `done` units are done, with a text such as the loss; at most a dozen times a second on a
 * terminal, so it may be called after every step. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void progress_update(progress *p, int64_t done, const char *format, ...);

/* Seconds since the count began. */
double progress_seconds(const progress *p);

/* Wipes the bar off, at the end or before printing something else; the next update paints again. */
void progress_clear(progress *p);

/* What a bar looks like, apart from any terminal: one line of at most `width` columns; width
 * 0: as long as it is, without a bar. `seconds` have passed. Without colour there are no escape codes, without unicode
 * only ASCII. */
void progress_line(const progress *p, int64_t done, const char *text, double seconds, int width, char *line,
                   size_t size);

#endif
