/* linalg_ops.h - what each op does with one matrix of its batch, number `at`, by lib/math/linalg.h. `room` is as large
 * as lib/math/matrices.h says. The functions give the pivot that forbids the rest, or -1. */
#ifndef EGRET_LINALG_OPS_H
#define EGRET_LINALG_OPS_H

#include "lib/math/linalg.h"

/* a -> LU, order */
EG__TEAM int eg__lu_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    const int n = k->n;
    const int64_t first = at * n * n;
    int bad = -1;
    eg__read(t, room, k->in[0], k->wide, at, n, n, n, 1);
    eg__meet(t);
    eg__lu(t, room, (int32_t *)(void *)k->out[1] + at * n, n);
    EG__ROWS(i, 0, n) {
        EG__ALONG(j, 0, n) {
            eg__put(k->out[0], k->wide, first + i * n + j, room[i * n + j]);
        }
    }
    for (int i = n - 1; i >= 0 && k->strict; i--) {
        const double u = k->wide ? room[i * n + i] : (double)(float)room[i * n + i];
        bad = fabs(u) > 0 && fabs(u) <= DBL_MAX ? bad : i;
    }
    return bad;
}

/* Of the pivots of a, LU, order: their product and the order's sign in it, its sign, the logarithm of its size. A
 * pivot of 0 counts as `least`. copy: n elements. One thread's. */
typedef struct eg__product {
    double det, sign, log;
} eg__product;
EG__TEAM eg__product eg__pivots(const eg__matrices *k, int64_t at, double least, int32_t *copy)
{
    const int n = k->n;
    const int32_t *order = (const int32_t *)(const void *)k->in[2] + at * n;
    eg__product p = {1, 1, 0};
    for (int i = 0; i < n; i++) {
        const double u = eg__get(k->in[1], k->wide, (at * n + i) * n + i), v = u == 0 ? least : u;
        p.det *= v;
        p.sign *= v > 0 ? 1 : v < 0 ? -1 : v;
        p.log += k->log ? log(fabs(v)) : 0;
        copy[i] = order[i];
    }
    for (int i = 0; i < n; i++) {
        while (copy[i] != i) {
            const int32_t j = copy[i];
            copy[i] = copy[j];
            copy[j] = j;
            p.det = -p.det;
            p.sign = -p.sign;
        }
    }
    return p;
}

/* a, LU, order -> determinant, its sign, log of its size */
EG__TEAM int eg__lu_det_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    (void)t;
    EG__FIRST(t) {
        const eg__product p = eg__pivots(k, at, 0, (int32_t *)(void *)room);
        eg__put(k->out[0], k->wide, at, p.det);
        eg__put(k->out[1], k->wide, at, p.sign);
        eg__put(k->out[2], k->wide, at, p.log);
    }
    return -1;
}

/* a, LU, order, b or nothing for I -> a^-1 b, or a^-T b; times det(a) for the adjugate, of which a pivot of 0 is as
 * good as one of rounding's size: it is continuous, and what cancels in the product has not been added. */
EG__TEAM void eg__adjugate(const eg__team *t, const eg__matrices *k, int64_t at, double *lu, double *x, double *room)
{
    const int n = k->n;
    double top = 0;
    for (int i = 0; i < n; i++) {
        top = fmax(top, fabs(lu[i * n + i]));
    }
    const double least = top > 0 ? top * DBL_EPSILON : sqrt(DBL_MIN);
    eg__meet(t);
    EG__EACH(i, 0, n) {
        lu[i * n + i] = lu[i * n + i] == 0 ? least : lu[i * n + i];
    }
    EG__FIRST(t) {
        room[n] = eg__pivots(k, at, least, (int32_t *)(void *)room).det;
    }
    eg__meet(t);
    EG__EACH(i, 0, n * k->r) {
        x[i] *= room[n];
    }
    eg__meet(t);
}
EG__TEAM int eg__lu_solve_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    const int n = k->n, r = k->r;
    const int32_t *order = (const int32_t *)(const void *)k->in[2] + at * n;
    double *lu = room, *x = lu + eg__round_up((int64_t)n * n);
    const int64_t first = at * n * r;
    eg__read(t, lu, k->in[1], k->wide, at, n, n, n, 1);
    EG__ROWS(i, 0, n) {
        const int row = k->transpose ? i : order[i];
        EG__ALONG(j, 0, r) {
            x[i * r + j] = k->in[3] ? eg__get(k->in[3], k->wide, first + row * r + j) : row == j;
        }
    }
    eg__meet(t);
    if (k->adjugate) {
        eg__adjugate(t, k, at, lu, x, x + eg__round_up((int64_t)n * r));
    }
    if (k->transpose) {
        eg__substitute(t, lu, 1, n, n, 0, 0, x, r);
        eg__substitute(t, lu, 1, n, n, 1, 1, x, r);
    } else {
        eg__substitute(t, lu, n, 1, n, 0, 1, x, r);
        eg__substitute(t, lu, n, 1, n, 1, 0, x, r);
    }
    EG__ROWS(i, 0, n) {
        const int row = k->transpose ? order[i] : i;
        EG__ALONG(j, 0, r) {
            eg__put(k->out[0], k->wide, first + row * r + j, x[i * r + j]);
        }
    }
    return -1;
}

/* a, b -> a^-1 b of the triangle that is named */
EG__TEAM int eg__triangular_solve_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    const int n = k->n, r = k->r, si = k->transpose ? 1 : n, sj = k->transpose ? n : 1;
    double *x = room + eg__round_up((int64_t)n * n);
    eg__read(t, room, k->in[0], k->wide, at, n, n, n, 1);
    eg__read(t, x, k->in[1], k->wide, at, n, r, r, 1);
    eg__meet(t);
    eg__substitute(t, room, si, sj, n, k->upper != k->transpose, k->unit, x, r);
    EG__EACH(i, 0, n * r) {
        eg__put(k->out[0], k->wide, at * n * r + i, x[i]);
    }
    return -1;
}

/* a -> L */
EG__TEAM int eg__cholesky_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    const int n = k->n;
    eg__read(t, room, k->in[0], k->wide, at, n, n, 1, n);
    eg__meet(t);
    const int bad = eg__cholesky(t, room, n);
    EG__ROWS(i, 0, n) {
        EG__ALONG(j, 0, n) {
            eg__put(k->out[0], k->wide, at * n * n + i * n + j, j <= i ? room[j * n + i] : 0);
        }
    }
    return bad < n ? bad : -1;
}

/* a [m, n], m >= n -> Q [m, n], R [n, n] */
EG__TEAM int eg__qr_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    const int m = k->m, n = k->n;
    double *q = room + eg__round_up((int64_t)m * n), *diagonal = q + eg__round_up((int64_t)m * n);
    eg__read(t, room, k->in[0], k->wide, at, n, m, 1, n);
    eg__meet(t);
    eg__qr(t, room, n, m, diagonal);
    eg__identity(t, q, n, m);
    eg__times_q(t, room, n, m, q, 1);
    EG__ROWS(i, 0, m) {
        EG__ALONG(j, 0, n) {
            eg__put(k->out[0], k->wide, (at * m + i) * n + j, q[j * m + i]);
        }
    }
    EG__ROWS(i, 0, n) {
        EG__ALONG(j, 0, n) {
            eg__put(k->out[1], k->wide, (at * n + i) * n + j, i < j ? room[j * m + i] : i == j ? diagonal[i] : 0);
        }
    }
    return -1;
}

/* a [m, n] -> U [m, s], S [s], V^T [s, n], s the smaller of both */
EG__TEAM int eg__svd_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    const int tall = k->m >= k->n, n = tall ? k->n : k->m, m = tall ? k->m : k->n;
    const int64_t area = eg__round_up((int64_t)m * n);
    double *w = room, *g = w + area, *x = g + area, *value = x + eg__round_up((int64_t)n * n);
    double *more = value + n;
    int32_t *order = (int32_t *)(void *)(more + n + 1);
    eg__read(t, w, k->in[0], k->wide, at, n, m, tall ? 1 : m, tall ? n : 1);
    eg__meet(t);
    const double size = eg__to_one(t, w, n * m);
    const int fine = size == size;
    eg__svd(t, w, n, m, g, x, value, more, k->wide ? n * DBL_EPSILON : 1e-9);
    eg__order(t, value, order, n, 1);
    EG__ROWS(i, 0, n) {
        const double *far = g + order[i] * m, *near = x + order[i] * n;
        const double sign = fine ? eg__vector_sign(t, near, n) : size;
        char *of_far = k->out[tall ? 0 : 2], *of_near = k->out[tall ? 2 : 0];
        EG__ALONG(j, 0, m) {
            eg__put(of_far, k->wide, at * n * m + (tall ? j * n + i : i * m + j), sign * far[j]);
        }
        EG__ALONG(j, 0, n) {
            eg__put(of_near, k->wide, at * n * n + (tall ? i * n + j : j * n + i), sign * near[j]);
        }
        EG__GROUP_FIRST(t) {
            eg__put(k->out[1], k->wide, at * n + i, value[order[i]] * size);
        }
    }
    return -1;
}

/* a, its lower triangle -> eigenvalues, vectors */
EG__TEAM int eg__eigh_matrix(const eg__team *t, const eg__matrices *k, int64_t at, double *room)
{
    const int n = k->n;
    const int64_t area = eg__round_up((int64_t)n * n);
    double *z = room + area, *value = z + area, *more = value + n;
    eg__ql *q = (eg__ql *)(void *)(more + 3 * n);
    int32_t *order = (int32_t *)(void *)(more + 3 * n + 2);
    EG__ROWS(i, 0, n) {
        EG__ALONG(j, 0, n) {
            room[i * n + j] = eg__get(k->in[0], k->wide, at * n * n + (j <= i ? i * n + j : j * n + i));
        }
    }
    eg__meet(t);
    const double size = eg__to_one(t, room, n * n);
    const int fine = size == size;
    eg__eigh(t, room, n, z, value, more, q);
    eg__order(t, value, order, n, 0);
    EG__ROWS(i, 0, n) {
        const double *row = z + order[i] * n, sign = fine ? eg__vector_sign(t, row, n) : size;
        EG__ALONG(j, 0, n) {
            eg__put(k->out[1], k->wide, at * n * n + j * n + i, sign * row[j]);
        }
        EG__GROUP_FIRST(t) {
            eg__put(k->out[0], k->wide, at * n + i, value[order[i]] * size);
        }
    }
    return -1;
}

#endif
