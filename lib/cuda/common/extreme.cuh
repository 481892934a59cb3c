/* extreme.cuh - the order in which the largest or the smallest are looked for, by the type of numbers. */
#ifndef EGRET_CUDA_EXTREME_CUH
#define EGRET_CUDA_EXTREME_CUH

#include "lib/cuda/common/math.cuh"

/* What is not above any number. */
static EG__FN float eg__least(float)
{
    return -INFINITY;
}
static EG__FN double eg__least(double)
{
    return -(double)INFINITY;
}
static EG__FN int64_t eg__least(int64_t)
{
    return INT64_MIN;
}

/* The same order, or the other way round; its own inverse. */
static EG__FN float eg__turned(float v, bool turn)
{
    return turn ? -v : v;
}
static EG__FN double eg__turned(double v, bool turn)
{
    return turn ? -v : v;
}
static EG__FN int64_t eg__turned(int64_t v, bool turn)
{
    return turn ? ~v : v;
}

#endif
