/* ticks.h - which values of an axis deserve a line and a label. */
#ifndef DRAW_TICKS_H
#define DRAW_TICKS_H

#include <stdbool.h>

enum { TICKS_MOST = 40, TICK_LABEL_SIZE = 24 };

typedef struct axis {
    double least, most; /* least < most; both positive where logarithmic */
    bool log;
    bool whole; /* only whole numbers make sense, as for epochs */

    int count;
    double at[TICKS_MOST];
    char label[TICKS_MOST][TICK_LABEL_SIZE];
} axis;

/* Fills in the ticks of an axis that has room for about `room` of them: multiples of 1, 2 or 5
 * times a power of ten, on a logarithmic axis powers of ten or, where these are too few, 1, 2, 5
 * times them. Labels are short: 0.25, 40, 10k, 2.5M, 1e-05. */
void axis_make_ticks(axis *a, int room);

/* Where a value lies on the axis: 0 at least, 1 at most. */
double axis_place(const axis *a, double value);

#endif
