/* team.h - the words lib/linalg.h is written in, for one thread: loops over the rows, elements or lines that a team
 * of threads shares, where it meets, and what it adds up. lib/cuda/team.cuh says the same for the threads of a
 * GPU. */
#ifndef EGRET_TEAM_H
#define EGRET_TEAM_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct eg__team eg__team; /* always NULL: there is nobody else */

#define EG__TEAM static inline
#define EG__EACH(i, from, to)  for (int i = (from); i < (to); i++) /* a thread for each */
#define EG__ROWS(i, from, to)  for (int i = (from); i < (to); i++) /* a group of threads for each */
#define EG__ALONG(j, from, to) for (int j = (from); j < (to); j++) /* within it a thread for each */
#define EG__FIRST(t)       if (1) /* of the team */
#define EG__GROUP_FIRST(t) if (1)

/* What was written before is there for all of the team, or of the group, after. */
static inline void eg__meet(const eg__team *t)
{
    (void)t;
}

static inline void eg__group_meet(const eg__team *t)
{
    (void)t;
}

/* Of two vectors; every group that asks has the same. */
static inline double eg__dot(const eg__team *t, const double *a, const double *b, int n)
{
    double sum[8] = {0}, rest = 0;
    int i = 0;
    (void)t;
    for (; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; j++) {
            sum[j] += a[i + j] * b[i + j];
        }
    }
    for (; i < n; i++) {
        rest += a[i] * b[i];
    }
    return rest + ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* The first i of the largest |a[i step]|; NaN is larger than all. */
static inline int eg__largest(const eg__team *t, const double *a, int step, int n)
{
    int at = 0;
    double most = fabs(a[0]);
    (void)t;
    for (int i = 1; i < n && most == most; i++) {
        const double v = fabs(a[i * step]);
        at = v <= most ? at : i;
        most = v <= most ? most : v;
    }
    return at;
}

/* y += f x */
static inline void eg__axpy(const eg__team *t, double *restrict y, double f, const double *restrict x, int n)
{
    (void)t;
    for (int i = 0; i < n; i++) {
        y[i] += f * x[i];
    }
}

/* (x, y) = (c x - s y, s x + c y) */
static inline void eg__turn(const eg__team *t, double *restrict x, double *restrict y, double c, double s, int n)
{
    (void)t;
    for (int i = 0; i < n; i++) {
        const double u = x[i], v = y[i];
        x[i] = c * u - s * v;
        y[i] = s * u + c * v;
    }
}

/* The same by all of the team. */
static inline void eg__turn_each(const eg__team *t, double *x, double *y, double c, double s, int n)
{
    eg__turn(t, x, y, c, s, n);
}

#endif
