/* winograd_sums.h - what is multiplied in winograd.h: sums of the cells of tiles and of the taps of
 * weights, and the way back. For each cell of a tile there is a matrix of them, [tiles, channels]
 * or [channels, channels], cut into panels of some columns so that products find what they need
 * side by side. */
#ifndef EGRET_WINOGRAD_SUMS_H
#define EGRET_WINOGRAD_SUMS_H

#include "lib/cpu/common/isa.h"
#include "lib/cpu/conv/winograd.h"

/* [panels][cells][rows][width] */
typedef struct eg__panels {
    float *at;
    int64_t cells, rows, width;
} eg__panels;

static inline float *eg__panel_at(const eg__panels *m, int64_t cell, int64_t row, int64_t column)
{
    int64_t panel = column / m->width;
    return m->at + ((panel * m->cells + cell) * m->rows + row) * m->width + column % m->width;
}

/* Floats in `columns` columns of such panels. */
static inline int64_t eg__panels_size(const eg__panels *m, int64_t columns)
{
    return m->cells * m->rows * columns;
}

typedef struct eg__winograd_job {
    const eg__conv_job *conv;
    const eg__winograd *plan;
    int64_t cells;          /* of a tile */
    int64_t depth, columns; /* channels read, of all parts, and made, of all phases */
} eg__winograd_job;

/* Tiles begin..end-1 of x, or of dy for the gradient of x, into rows row.. of `to`. */
typedef void eg__winograd_read(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *to,
                               int64_t row);
/* Products of tiles begin..end-1 in rows row.. into the result: its columns column.. to the end of
 * one panel, the first in `from`. */
typedef void eg__winograd_make(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *from,
                               int64_t row, int64_t column);
/* Tiles begin..end-1 of dy, for the gradient of w: columns column..column + many - 1 into the first
 * of rows row.. of `to`. */
typedef void eg__winograd_read_back(const eg__winograd_job *d, int64_t begin, int64_t end, const eg__panels *to,
                                    int64_t row, int64_t column, int64_t many);
/* Rows begin..end-1 of the weights, many columns from `column` on, into u, whose first cell they
 * are at. */
typedef void eg__winograd_read_taps(const eg__winograd_job *d, int64_t begin, int64_t end, int64_t column, int64_t many,
                                    const eg__panels *u);
/* The same back into w: the sum of `copies` u, one behind the other. */
typedef void eg__winograd_make_taps(const eg__winograd_job *d, int64_t begin, int64_t end, int64_t column, int64_t many,
                                    const eg__panels *u, int64_t copies, int64_t apart);

extern eg__winograd_read ISA(eg__winograd_read);
extern eg__winograd_make ISA(eg__winograd_make);
extern eg__winograd_read_back ISA(eg__winograd_read_back);
extern eg__winograd_read_taps ISA(eg__winograd_read_taps);
extern eg__winograd_make_taps ISA(eg__winograd_make_taps);

#endif
