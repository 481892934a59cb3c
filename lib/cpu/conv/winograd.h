/* winograd.h - convolutions with fewer multiplications (Winograd 1980; Lavin and Gray 2016,
 * arXiv:1509.09308): along each axis two neighbouring windows of r taps, 2r products, are had from
 * r + 1 products of sums. What an axis needs is written down here, apart from the loops:
 *
 *   kernels of 2 or 3 taps   as they are
 *   kernels of 4 to 6 taps   in two parts, whose results are added: the first and the second half,
 *                            or with steps of two the even and the odd taps
 *   the gradient of x        the kernel turned round; with steps of two, even and odd cells of x
 *                            are two phases, each a convolution of dy of its own
 *   the gradient of w        parts as for the result, the sums read backwards
 *
 * So every case reads tiles of r + 1 cells at steps, for one part or two, and gives tiles of 2
 * cells at steps, for one phase or two. */
#ifndef EGRET_WINOGRAD_H
#define EGRET_WINOGRAD_H

#include "lib/cpu/conv/conv.h"

enum { EG__WINOGRAD_SIDE = 4 }; /* most cells of a tile along an axis */

typedef struct eg__winograd_axis {
    int64_t tiles, from, to; /* sizes in cells read and made */
    int64_t read_at[2];      /* first cell read by tile 0, of each part */
    int64_t make_at[2];      /* first cell tile 0 makes, of each phase, counted within the phase */
    int64_t tap[2][3];       /* of the kernel, by part or phase; -1: there is none, that is zero */
} eg__winograd_axis;

typedef struct eg__winograd {
    int taps, side;    /* per axis: r and r + 1 */
    int parts, phases; /* per axis */
    int64_t read_step, make_step;
    eg__winograd_axis axis[2];
    int64_t from, to; /* channels read and made; for the gradient of w those of x and y */
    int64_t tiles;    /* in all */
} eg__winograd;

/* How to run this job so; false if it cannot or does not pay. */
bool eg__winograd_plan(const eg__conv_job *j, eg__winograd *p);

#endif
