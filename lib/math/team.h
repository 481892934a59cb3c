/* team.h - the words lib/math/linalg.h is written in, for one thread: loops over the rows, elements or lines that a
 * team of threads shares, where it meets, and what it adds up. lib/cuda/common/team.cuh says the same for the threads
 * of a GPU. */
#ifndef EGRET_TEAM_H
#define EGRET_TEAM_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct eg__team eg__team; /* always NULL: there is nobody else */

/* Inlined, so that a size known outside is known inside. */
#define EG__TEAM               static inline __attribute__((always_inline))
#define EG__EACH(i, from, to)  for (int i = (from); i < (to); i++) /* a thread for each */
#define EG__ROWS(i, from, to)  for (int i = (from); i < (to); i++) /* a group of threads for each */
#define EG__ALONG(j, from, to) for (int j = (from); j < (to); j++) /* within it a thread for each */
#define EG__FIRST(t)           if (1)                              /* of the team */
#define EG__GROUP_FIRST(t)     if (1)

/* What was written before is there for all of the team, or of the group, after. */
static inline void eg__meet(const eg__team *t)
{
    (void)t;
}

static inline void eg__group_meet(const eg__team *t)
{
    (void)t;
}

/* Vectors in the language of gcc and clang, of any address that suits an element. */
typedef double eg__four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double eg__eight __attribute__((vector_size(64), aligned(8), may_alias));

/* Of two vectors; every group that asks has the same. */
static inline double eg__dot(const eg__team *t, const double *a, const double *b, int n)
{
    eg__eight p = {0}, q = {0}, r = {0}, s = {0}; /* sums side by side: none waits for the one before */
    eg__four v = {0};
    double rest = 0;
    int i = 0;
    (void)t;
    for (; i + 32 <= n; i += 32) {
        p += *(const eg__eight *)(a + i) * *(const eg__eight *)(b + i);
        q += *(const eg__eight *)(a + i + 8) * *(const eg__eight *)(b + i + 8);
        r += *(const eg__eight *)(a + i + 16) * *(const eg__eight *)(b + i + 16);
        s += *(const eg__eight *)(a + i + 24) * *(const eg__eight *)(b + i + 24);
    }
    for (; i + 4 <= n; i += 4) {
        v += *(const eg__four *)(a + i) * *(const eg__four *)(b + i);
    }
    for (; i < n; i++) {
        rest += a[i] * b[i];
    }
    p = (p + q) + (r + s);
    v += (eg__four){p[0] + p[4], p[1] + p[5], p[2] + p[6], p[3] + p[7]};
    return rest + (v[0] + v[2]) + (v[1] + v[3]);
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

/* y += f x + g z */
static inline void eg__axpy_twice(const eg__team *t, double *restrict y, double f, const double *restrict x, double g,
                                  const double *restrict z, int n)
{
    (void)t;
    for (int i = 0; i < n; i++) {
        y[i] += f * x[i] + g * z[i];
    }
}

/* y -= the sum of f[k sf] x_k over k < count, x_k being x + k sx: as many of them at once as hide that y is read and
 * written. */
static inline void eg__less(const eg__team *t, double *restrict y, int n, const double *f, int sf,
                            const double *restrict x, int sx, int count)
{
    (void)t;
    for (; count >= 4; count -= 4, f += 4 * sf, x += 4 * sx) {
        const double f0 = f[0], f1 = f[sf], f2 = f[2 * sf], f3 = f[3 * sf];
        const double *x1 = x + sx, *x2 = x1 + sx, *x3 = x2 + sx;
        for (int i = 0; i < n; i++) {
            y[i] -= (f0 * x[i] + f1 * x1[i]) + (f2 * x2[i] + f3 * x3[i]);
        }
    }
    for (; count > 0; count--, f += sf, x += sx) {
        eg__axpy(t, y, -f[0], x, n);
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
