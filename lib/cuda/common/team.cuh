/* team.cuh - the words of lib/math/linalg.h (see lib/math/team.h) for threads of a GPU: one alone, or all of a block,
 * whose warps are the groups. */
#ifndef EGRET_CUDA_TEAM_CUH
#define EGRET_CUDA_TEAM_CUH

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "lib/cuda/common/launch.cuh"

typedef struct eg__team {
    int rank, size, lane, lanes, group, groups;
} eg__team;

#define EG__TEAM               static __device__ __forceinline__
#define EG__EACH(i, from, to)  for (int i = (from) + t->rank; i < (to); i += t->size)
#define EG__ROWS(i, from, to)  for (int i = (from) + t->group; i < (to); i += t->groups)
#define EG__ALONG(j, from, to) for (int j = (from) + t->lane; j < (to); j += t->lanes)
#define EG__FIRST(t)           if ((t)->rank == 0)
#define EG__GROUP_FIRST(t)     if ((t)->lane == 0)

EG__TEAM void eg__meet(const eg__team *t)
{
    if (t->size > 1) {
        __syncthreads();
    }
}

EG__TEAM void eg__group_meet(const eg__team *t)
{
    if (t->lanes > 1) {
        __syncwarp();
    }
}

EG__TEAM double eg__dot(const eg__team *t, const double *a, const double *b, int n)
{
    double sum = 0;
    EG__ALONG(i, 0, n) {
        sum += a[i] * b[i];
    }
    for (int d = t->lanes / 2; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    }
    return sum;
}

EG__TEAM int eg__largest(const eg__team *t, const double *a, int step, int n)
{
    double most = -1;
    int at = n;
    EG__ALONG(i, 0, n) {
        double v = fabs(a[i * step]);
        v = v == v ? v : (double)INFINITY;
        at = v > most ? i : at;
        most = v > most ? v : most;
    }
    for (int d = t->lanes / 2; d > 0; d /= 2) {
        const double v = __shfl_xor_sync(0xffffffffu, most, d);
        const int i = __shfl_xor_sync(0xffffffffu, at, d);
        const bool take = v > most || (v == most && i < at);
        at = take ? i : at;
        most = take ? v : most;
    }
    return at;
}

EG__TEAM void eg__axpy(const eg__team *t, double *y, double f, const double *x, int n)
{
    EG__ALONG(i, 0, n) {
        y[i] += f * x[i];
    }
}

EG__TEAM void eg__axpy_twice(const eg__team *t, double *y, double f, const double *x, double g, const double *z, int n)
{
    EG__ALONG(i, 0, n) {
        y[i] += f * x[i] + g * z[i];
    }
}

EG__TEAM void eg__less(const eg__team *t, double *y, int n, const double *f, int sf, const double *x, int sx, int count)
{
    EG__ALONG(i, 0, n) {
        double v = y[i];
        for (int k = 0; k < count; k++) {
            v -= f[k * sf] * x[k * sx + i];
        }
        y[i] = v;
    }
}

EG__TEAM void eg__turn_one(double *x, double *y, double c, double s)
{
    const double u = *x, v = *y;
    *x = c * u - s * v;
    *y = s * u + c * v;
}

EG__TEAM void eg__turn(const eg__team *t, double *x, double *y, double c, double s, int n)
{
    EG__ALONG(i, 0, n) {
        eg__turn_one(x + i, y + i, c, s);
    }
}

EG__TEAM void eg__turn_each(const eg__team *t, double *x, double *y, double c, double s, int n)
{
    EG__EACH(i, 0, n) {
        eg__turn_one(x + i, y + i, c, s);
    }
}

#endif
