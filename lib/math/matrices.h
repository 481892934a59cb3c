/* matrices.h - a batch of matrices as the kernels of linear algebra take it, and how many doubles a team needs for one
 * of them. Plain C and CUDA. */
#ifndef EGRET_MATRICES_H
#define EGRET_MATRICES_H

#include <stdint.h>

#include "lib/math/hd.h"

/* What is asked for of a batch of matrices, dense and row-major, of n by n unless m says otherwise. */
typedef struct eg__matrices {
    const char *in[4];
    char *out[3];
    int64_t batch;
    int m, n, r; /* rows, columns; right-hand sides */
    int wide;    /* f64, else f32 */
    int transpose, upper, unit, adjugate, strict, log;
} eg__matrices;

/* What is said of a matrix that forbids what was asked: its number, of how many, the pivot. */
#define EG__SAY_SINGULAR     "matrix %lld of %lld is singular: pivot %lld is 0 or not finite"
#define EG__SAY_NOT_POSITIVE "matrix %lld of %lld is not positive definite: pivot %lld is not a positive number"

EG__HD int64_t eg__round_up(int64_t n)
{
    return (n + 7) / 8 * 8;
}

EG__HD int64_t eg__lu_room(const eg__matrices *k)
{
    return (int64_t)k->n * k->n;
}

EG__HD int64_t eg__lu_det_room(const eg__matrices *k)
{
    return k->n;
}

EG__HD int64_t eg__lu_solve_room(const eg__matrices *k)
{
    return eg__round_up((int64_t)k->n * k->n) + eg__round_up((int64_t)k->n * k->r) + k->n + 1;
}

EG__HD int64_t eg__triangular_solve_room(const eg__matrices *k)
{
    return eg__round_up((int64_t)k->n * k->n) + (int64_t)k->n * k->r;
}

EG__HD int64_t eg__cholesky_room(const eg__matrices *k)
{
    return (int64_t)k->n * k->n;
}

EG__HD int64_t eg__qr_room(const eg__matrices *k)
{
    return 2 * eg__round_up((int64_t)k->m * k->n) + k->n;
}

EG__HD int64_t eg__svd_room(const eg__matrices *k)
{
    const int64_t n = k->m < k->n ? k->m : k->n, area = eg__round_up((int64_t)k->m * k->n);
    return 2 * area + eg__round_up(n * n) + 3 * n + 1;
}

EG__HD int64_t eg__eigh_room(const eg__matrices *k)
{
    const int64_t n = k->n;
    return 2 * eg__round_up(n * n) + 5 * n + 2;
}

#endif
