/* linalg.h - the algorithms of small linear algebra, one text for the reference, the tuned engine and the GPU. A
 * matrix is the work of a team of threads: the words for that come from lib/math/team.h or lib/cuda/common/team.cuh,
 * which is included first. All is computed in double, whatever the matrix; scratch, said at each, is the team's own.
 *
 * LU and Cholesky go from row to row with the larger index inside; QR is Householder's; singular values come from
 * QR and one-sided Jacobi rotations, which find small ones as exactly as large ones (Demmel and Veselic, "Jacobi's
 * method is more accurate than QR", 1992); eigenvalues from Householder's tridiagonal form and implicit QL (Golub
 * and Van Loan, "Matrix Computations", chapter 8). */
#ifndef EGRET_LIB_LINALG_H
#define EGRET_LIB_LINALG_H

#include "lib/math/matrices.h"

EG__TEAM double eg__get(const char *p, int wide, int64_t i)
{
    return wide ? ((const double *)(const void *)p)[i] : (double)((const float *)(const void *)p)[i];
}

EG__TEAM void eg__put(char *p, int wide, int64_t i, double v)
{
    if (wide) {
        ((double *)(void *)p)[i] = v;
    } else {
        ((float *)(void *)p)[i] = (float)v;
    }
}

/* Matrix number `at` of a tensor, and back: element (i, j) is i si + j sj there. */
EG__TEAM void eg__read(const eg__team *t, double *w, const char *p, int wide, int64_t at, int rows, int cols, int si,
                       int sj)
{
    (void)t;
    EG__ROWS(i, 0, rows) {
        EG__ALONG(j, 0, cols) {
            w[i * cols + j] = eg__get(p, wide, at * rows * cols + i * si + j * sj);
        }
    }
}

/* ---- LU ------------------------------------------------------------------------------------------------------ */

/* So many rows are finished among themselves before the others are told of them. */
enum { EG__PANEL = 8 };
#define EG__PANEL_END(k, n) ((k) + EG__PANEL < (n) ? (k) + EG__PANEL : (n))

EG__TEAM void eg__swap_rows(const eg__team *t, double *a, double *b, int n)
{
    (void)t;
    EG__EACH(j, 0, n) {
        const double v = a[j];
        a[j] = b[j];
        b[j] = v;
    }
}

/* Columns k..end-1 of a, as far as they say more of each other. */
EG__TEAM void eg__lu_panel(const eg__team *t, double *a, int32_t *order, int n, int k, int end)
{
    for (; k < end; k++) {
        const int p = k + eg__largest(t, a + k * n + k, n, n - k);
        eg__meet(t);
        if (p != k) {
            eg__swap_rows(t, a + k * n, a + p * n, n);
            EG__FIRST(t) {
                const int32_t was = order[k];
                order[k] = order[p];
                order[p] = was;
            }
            eg__meet(t);
        }
        const double pivot = a[k * n + k];
        EG__ROWS(i, k + 1, n) {
            const double f = pivot != 0 ? a[i * n + k] / pivot : 0; /* 0: they are all 0 */
            eg__axpy(t, a + i * n + k + 1, -f, a + k * n + k + 1, end - k - 1);
            eg__group_meet(t);
            EG__GROUP_FIRST(t) {
                a[i * n + k] = f;
            }
        }
        eg__meet(t);
    }
}

/* a becomes U and below it L, whose diagonal is ones: row i of L U is row order[i] of a. */
EG__TEAM void eg__lu(const eg__team *t, double *a, int32_t *order, int n)
{
    EG__EACH(i, 0, n) {
        order[i] = i;
    }
    eg__meet(t);
    for (int k = 0; k < n; k += EG__PANEL) {
        const int end = EG__PANEL_END(k, n), left = n - end;
        double *u = a + k * n + end;
        eg__lu_panel(t, a, order, n, k, end);
        EG__ROWS(group, 0, 1) {
            for (int i = k + 1; i < end; i++) {
                eg__less(t, a + i * n + end, left, a + i * n + k, 1, u, n, i - k);
                eg__group_meet(t);
            }
        }
        eg__meet(t);
        EG__ROWS(i, end, n) {
            eg__less(t, a + i * n + end, left, a + i * n + k, 1, u, n, end - k);
        }
        eg__meet(t);
    }
}

/* x [n] becomes A^-1 x of a triangular A, whose element (i, j) is a[i si + j sj]. */
EG__TEAM void eg__substitute_one(const eg__team *t, const double *a, int si, int sj, int n, int upper, int unit,
                                 double *x)
{
    for (int step = 0; step < n; step++) {
        const int k = upper ? n - 1 - step : step;
        if (!unit) {
            EG__FIRST(t) {
                x[k] /= a[k * si + k * sj];
            }
            eg__meet(t);
        }
        EG__EACH(i, upper ? 0 : k + 1, upper ? k : n) {
            x[i] -= a[i * si + k * sj] * x[k];
        }
        eg__meet(t);
    }
}

/* The same of x [n, r]. */
EG__TEAM void eg__substitute(const eg__team *t, const double *a, int si, int sj, int n, int upper, int unit, double *x,
                             int r)
{
    if (r == 1) {
        eg__substitute_one(t, a, si, sj, n, upper, unit, x);
        return;
    }
    for (int done = 0; done < n; done += EG__PANEL) {
        const int size = EG__PANEL_END(done, n) - done, k = upper ? n - done - size : done, end = k + size;
        EG__ROWS(group, 0, 1) {
            for (int step = 0; step < size; step++) {
                const int i = upper ? end - 1 - step : k + step, from = upper ? i + 1 : k;
                eg__less(t, x + i * r, r, a + i * si + from * sj, sj, x + from * r, r, step);
                const double d = unit ? 1 : 1 / a[i * si + i * sj];
                EG__ALONG(j, 0, r) {
                    x[i * r + j] *= d;
                }
                eg__group_meet(t);
            }
        }
        eg__meet(t);
        EG__ROWS(i, upper ? 0 : end, upper ? k : n) {
            eg__less(t, x + i * r, r, a + i * si + k * sj, sj, x + k * r, r, size);
        }
        eg__meet(t);
    }
}

/* ---- Cholesky -------------------------------------------------------------------------------------------------- */

/* The upper triangle of a becomes U with U^T U = a. The first row whose pivot is not positive, n if none is. */
EG__TEAM int eg__cholesky(const eg__team *t, double *a, int n)
{
    for (int k = 0; k < n; k += EG__PANEL) {
        const int end = EG__PANEL_END(k, n);
        EG__ROWS(group, 0, 1) {
            for (int i = k; i < end; i++) {
                double *row = a + i * n;
                eg__less(t, row + i, n - i, a + k * n + i, n, a + k * n + i, n, i - k);
                eg__group_meet(t);
                const double d = row[i], root = d > 0 && d <= DBL_MAX ? sqrt(d) : (double)NAN;
                eg__group_meet(t);
                EG__ALONG(j, i, n) {
                    row[j] = j == i ? root : row[j] / root;
                }
                eg__group_meet(t);
            }
        }
        eg__meet(t);
        for (int i = k; i < end; i++) {
            if (!(a[i * n + i] > 0)) {
                return i;
            }
        }
        EG__ROWS(i, end, n) {
            eg__less(t, a + i * n + i, n - i, a + k * n + i, n, a + k * n + i, n, end - k);
        }
        eg__meet(t);
    }
    return n;
}

/* ---- Householder's reflections ----------------------------------------------------------------------------------- */

/* x -= 2 (v x) v; a group's. */
EG__TEAM void eg__reflect(const eg__team *t, const double *v, double *x, int n)
{
    eg__axpy(t, x, -2 * eg__dot(t, v, x, n), v, n);
    eg__group_meet(t);
}

/* v becomes the unit vector, or 0, whose reflection takes v to (norm, 0, ...); the norm. */
EG__TEAM double eg__reflector(const eg__team *t, double *v, int n)
{
    const double first = v[0], rest = eg__dot(t, v + 1, v + 1, n - 1), norm = sqrt(first * first + rest);
    const double head = first > 0 ? -rest / (first + norm) : first - norm; /* nothing cancels */
    const double square = head * head + rest, scale = square < DBL_MIN ? 0 : 1 / sqrt(square);
    eg__meet(t);
    EG__EACH(i, 0, n) {
        v[i] = (i ? v[i] : head) * scale;
    }
    eg__meet(t);
    return norm;
}

/* Rows of w [n, m], n <= m, are columns of a matrix A = Q R, R upper and its diagonal not negative. Row k keeps
 * R's column above the diagonal, then reflector k. */
EG__TEAM void eg__qr(const eg__team *t, double *w, int n, int m, double *diagonal)
{
    for (int k = 0; k < n; k++) {
        double *v = w + k * m + k;
        const double norm = eg__reflector(t, v, m - k);
        EG__FIRST(t) {
            diagonal[k] = norm;
        }
        EG__ROWS(j, k + 1, n) {
            eg__reflect(t, v, w + j * m + k, m - k);
        }
        eg__meet(t);
    }
}

/* The n rows of q, of m elements of which only the first n are not 0, times Q^T; eye: they are those of I. */
EG__TEAM void eg__times_q(const eg__team *t, const double *w, int n, int m, double *q, int eye)
{
    EG__ROWS(j, 0, n) {
        for (int k = eye ? j : n - 1; k >= 0; k--) {
            eg__reflect(t, w + k * m + k, q + j * m + k, m - k);
        }
    }
    eg__meet(t);
}

EG__TEAM void eg__identity(const eg__team *t, double *q, int n, int m)
{
    EG__ROWS(i, 0, n) {
        EG__ALONG(j, 0, m) {
            q[i * m + j] = i == j;
        }
    }
    eg__meet(t);
}

/* ---- what vectors of singular and eigenvalues have in common --------------------------------------------------- */

/* A vector's sign is free: with this one the first of its elements over half its largest is positive. A group's. */
EG__TEAM double eg__vector_sign(const eg__team *t, const double *v, int n)
{
    const double half = fabs(v[eg__largest(t, v, 1, n)]) / 2;
    for (int i = 0; i < n; i++) {
        if (fabs(v[i]) > half) {
            return v[i] < 0 ? -1 : 1;
        }
    }
    return 1;
}

/* order[j]: which of the values comes j-th, equal ones as they were. */
EG__TEAM void eg__order(const eg__team *t, const double *value, int32_t *order, int n, int falling)
{
    EG__EACH(i, 0, n) {
        const double v = falling ? -value[i] : value[i];
        int place = 0;
        for (int j = 0; j < n; j++) {
            const double u = falling ? -value[j] : value[j];
            place += u < v || (u == v && j < i);
        }
        order[place] = i;
    }
    eg__meet(t);
}

/* The largest element by size, which is not a number if one of them is not finite. */
EG__TEAM double eg__size(const eg__team *t, const double *w, int n)
{
    const double top = n ? fabs(w[eg__largest(t, w, 1, n)]) : 0;
    return top <= DBL_MAX ? top : (double)NAN;
}

/* Elements become parts of the largest, which is given back; 0 where that is not a number. */
EG__TEAM double eg__to_one(const eg__team *t, double *w, int n)
{
    const double size = eg__size(t, w, n);
    eg__meet(t);
    EG__EACH(i, 0, n) {
        w[i] = size != size ? 0 : size > 0 ? w[i] / size : w[i];
    }
    eg__meet(t);
    return size;
}

/* ---- singular values --------------------------------------------------------------------------------------------- */

/* What eg__jacobi works on: rows of x [n, n] and g [n, m], and the squares of the former. */
typedef struct eg__rows {
    double *x, *g, *squares;
    int n, m;
    double tolerance;
} eg__rows;

/* Squares of rows that are nothing beside elements near 1; those of smaller ones have lost their digits. */
#define EG__NOTHING 1e-290

/* Rows p and q of x become orthogonal, those of g with them; whether they were not. A group's. */
EG__TEAM int eg__rotate_rows(const eg__team *t, const eg__rows *r, int p, int q)
{
    double *x = r->x + p * r->n, *y = r->x + q * r->n;
    const double xx = r->squares[p], yy = r->squares[q], xy = eg__dot(t, x, y, r->n);
    if (xx < EG__NOTHING || yy < EG__NOTHING || !(fabs(xy) > r->tolerance * sqrt(xx) * sqrt(yy))) {
        return 0;
    }
    const double z = (yy - xx) / (2 * xy), root = fabs(z) < 1e100 ? sqrt(1 + z * z) : fabs(z);
    const double tan = (z < 0 ? -1 : 1) / (fabs(z) + root), c = 1 / sqrt(1 + tan * tan), s = c * tan;
    double less = xx - tan * xy, more = yy + tan * xy;
    eg__turn(t, x, y, c, s, r->n);
    eg__turn(t, r->g + p * r->m, r->g + q * r->m, c, s, r->n);
    eg__group_meet(t);
    if (less < xx / 8 || more < yy / 8) { /* too much of it cancelled */
        less = eg__dot(t, x, x, r->n);
        more = eg__dot(t, y, y, r->n);
    }
    EG__GROUP_FIRST(t) {
        r->squares[p] = less;
        r->squares[q] = more;
    }
    eg__group_meet(t);
    return 1;
}

/* Every one of `size` rows from p on meets every one from q on, or p and q the same the others; whether one was turned.
 * A group's. */
EG__TEAM int eg__meet_rows(const eg__team *t, const eg__rows *r, int p, int q, int size)
{
    const int p_end = p + size < r->n ? p + size : r->n, q_end = q + size < r->n ? q + size : r->n;
    int turned = 0;
    for (int i = p; i < p_end; i++) {
        for (int j = p == q ? i + 1 : q; j < q_end; j++) {
            turned |= eg__rotate_rows(t, r, i, j);
        }
    }
    return turned;
}

enum {
    EG__SWEEPS = 60, /* some ten are enough; the bound is for what nobody thought of */
    EG__MANY = 64,   /* from so many rows on they go by fours, which are near while they meet others */
};

/* Rotations from the left until the rows of x are orthogonal, gathered in the first n columns of g: in each round of a
 * sweep everybody meets another one, in the last their own. squares has room for another number. */
EG__TEAM void eg__jacobi(const eg__team *t, const eg__rows *r)
{
    const int n = r->n, size = n < EG__MANY ? 1 : 4, those = (n + size - 1) / size, players = those + those % 2;
    double *turned = r->squares + n;
    for (int sweep = 0; sweep < EG__SWEEPS; sweep++) {
        EG__ROWS(i, 0, n) {
            const double square = eg__dot(t, r->x + i * n, r->x + i * n, n);
            EG__GROUP_FIRST(t) {
                r->squares[i] = square;
            }
        }
        EG__FIRST(t) {
            *turned = 0;
        }
        eg__meet(t);
        for (int round = 0; round < players; round++) {
            const int last = round == players - 1;
            EG__ROWS(pair, 0, last ? those : players / 2) {
                const int a = last ? pair : pair ? (round + pair) % (players - 1) : players - 1;
                const int b = last ? pair : (round + players - 1 - pair) % (players - 1);
                if (eg__meet_rows(t, r, (a < b ? a : b) * size, (a < b ? b : a) * size, size)) {
                    EG__GROUP_FIRST(t) {
                        *turned = 1;
                    }
                }
            }
            eg__meet(t);
        }
        const double again = *turned;
        eg__meet(t);
        if (again == 0) {
            break;
        }
    }
}

/* Row i of x [n, n] becomes a unit vector orthogonal to the rows before it and to those whose value is not 0. */
EG__TEAM void eg__complete(const eg__team *t, double *x, int n, int i, const double *value, double *room)
{
    double *row = x + i * n;
    EG__EACH(c, 0, n) {
        room[c] = 1;
        for (int j = 0; j < n; j++) {
            room[c] -= j < i || value[j] > 0 ? x[j * n + c] * x[j * n + c] : 0;
        }
    }
    eg__meet(t);
    const int far = eg__largest(t, room, 1, n); /* the axis that is farthest from what they span */
    eg__meet(t);
    for (int again = 0; again < 2; again++) {
        EG__ROWS(j, 0, n) {
            const double share = again ? eg__dot(t, x + j * n, row, n) : x[j * n + far];
            EG__GROUP_FIRST(t) {
                room[j] = j < i || value[j] > 0 ? share : 0;
            }
        }
        eg__meet(t);
        EG__EACH(c, 0, n) {
            double v = again ? row[c] : c == far;
            for (int j = 0; j < n; j++) {
                v -= room[j] != 0 ? room[j] * x[j * n + c] : 0;
            }
            row[c] = v;
        }
        eg__meet(t);
    }
    const double norm = sqrt(eg__dot(t, row, row, n));
    eg__meet(t);
    EG__EACH(c, 0, n) {
        row[c] /= norm;
    }
    eg__meet(t);
}

/* w [n, m], n <= m, has the columns of a matrix A = Q R; R = G^T S X by rotations G, and so A = (G Q^T)^T S X. Rows
 * of g [n, m] become the left singular vectors, those of x [n, n] the right ones. room: n + 1 elements. */
EG__TEAM void eg__svd(const eg__team *t, double *w, int n, int m, double *g, double *x, double *value, double *room,
                      double tolerance)
{
    eg__qr(t, w, n, m, value);
    EG__ROWS(i, 0, n) {
        EG__ALONG(j, 0, n) {
            x[i * n + j] = i < j ? w[j * m + i] : i == j ? value[i] : 0;
        }
    }
    eg__identity(t, g, n, m);
    const eg__rows rows = {x, g, room, n, m, tolerance};
    eg__jacobi(t, &rows);
    EG__ROWS(i, 0, n) {
        const double square = eg__dot(t, x + i * n, x + i * n, n), norm = square < EG__NOTHING ? 0 : sqrt(square);
        eg__group_meet(t);
        EG__ALONG(j, 0, n) {
            x[i * n + j] = norm > 0 ? x[i * n + j] / norm : 0;
        }
        EG__GROUP_FIRST(t) {
            value[i] = norm;
        }
    }
    eg__meet(t);
    for (int i = 0; i < n; i++) {
        if (!(value[i] > 0)) {
            eg__complete(t, x, n, i, value, room);
        }
    }
    eg__times_q(t, w, n, m, g, 0);
}

/* ---- eigenvalues ------------------------------------------------------------------------------------------------- */

/* Symmetric a = Q T Q^T, T of diagonal d and e beside it; row k keeps reflector k behind the diagonal. p: n. */
EG__TEAM void eg__tridiagonal(const eg__team *t, double *a, int n, double *d, double *e, double *p)
{
    for (int k = 0; k < n - 1; k++) {
        double *v = a + k * n + k + 1, *rest = a + (k + 1) * n + k + 1;
        const int left = n - k - 1;
        const double beside = left > 1 ? eg__reflector(t, v, left) : v[0];
        EG__FIRST(t) {
            d[k] = a[k * n + k];
            e[k] = beside;
        }
        if (left == 1) {
            break;
        }
        EG__ROWS(i, 0, left) {
            const double sum = eg__dot(t, rest + i * n, v, left);
            EG__GROUP_FIRST(t) {
                p[i] = sum;
            }
        }
        eg__meet(t);
        const double half = eg__dot(t, p, v, left);
        eg__meet(t);
        EG__EACH(i, 0, left) {
            p[i] = 2 * (p[i] - half * v[i]);
        }
        eg__meet(t);
        EG__ROWS(i, 0, left) {
            eg__axpy_twice(t, rest + i * n, -v[i], p, -p[i], v, left);
        }
        eg__meet(t);
    }
    EG__FIRST(t) {
        if (n) {
            d[n - 1] = a[n * n - 1];
        }
    }
    eg__meet(t);
}

/* Where implicit QL is: at eigenvalue `at` for the tries-th time; rows low + 1..high are to be turned. */
typedef struct eg__ql {
    int at, tries, low, high;
} eg__ql;

/* One step of it on T; turns[2 i] and [2 i + 1]: cosine and sine for rows i and i + 1. One thread's. */
EG__TEAM void eg__ql_step(eg__ql *q, double *d, double *e, double *turns, int n)
{
    q->low = q->high = 0;
    for (; q->at < n; q->at++, q->tries = 0) {
        const int l = q->at;
        int m = l;
        while (m < n - 1 && !(fabs(e[m]) <= DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1])))) {
            m++;
        }
        if (m == l || q->tries++ == EG__SWEEPS) {
            continue;
        }
        double g = (d[l + 1] - d[l]) / (2 * e[l]), s = 1, c = 1, p = 0;
        g = d[m] - d[l] + e[l] / (g + (g < 0 ? -1 : 1) * sqrt(1 + g * g));
        int i = m - 1;
        for (; i >= l; i--) {
            const double f = s * e[i], b = c * e[i], r = sqrt(f * f + g * g);
            e[i + 1] = r;
            if (r == 0) {
                d[i + 1] -= p;
                break;
            }
            s = f / r;
            c = g / r;
            g = d[i + 1] - p;
            const double u = (d[i] - g) * s + 2 * c * b;
            p = s * u;
            d[i + 1] = g + p;
            g = c * u - b;
            turns[2 * i] = c;
            turns[2 * i + 1] = s;
        }
        if (i < l) {
            d[l] -= p;
            e[l] = g;
        }
        e[m] = 0;
        q->low = i;
        q->high = m;
        return;
    }
}

/* d becomes the eigenvalues of a symmetric matrix, the rows of z its eigenvectors. room: 4 n elements and more. */
EG__TEAM void eg__eigh(const eg__team *t, double *a, int n, double *z, double *d, double *room, eg__ql *q)
{
    double *e = room, *turns = room + n;
    eg__tridiagonal(t, a, n, d, e, turns);
    eg__identity(t, z, n, n);
    EG__ROWS(j, 1, n) {
        for (int k = (j < n - 1 ? j : n - 2) - 1; k >= 0; k--) {
            eg__reflect(t, a + k * n + k + 1, z + j * n + k + 1, n - k - 1);
        }
    }
    EG__FIRST(t) {
        q->at = q->tries = 0;
        if (n) {
            e[n - 1] = 0;
        }
    }
    for (;;) {
        eg__meet(t);
        EG__FIRST(t) {
            eg__ql_step(q, d, e, turns, n);
        }
        eg__meet(t);
        if (q->at >= n) {
            break;
        }
        for (int i = q->high - 1; i > q->low; i--) { /* each thread has its own columns */
            eg__turn_each(t, z + i * n, z + (i + 1) * n, turns[2 * i], turns[2 * i + 1], n);
        }
    }
}

#endif
