/* resize.cu - resizing: a thread for each result, which adds up its taps along all axes. */
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/position.cuh"

#include "lib/cuda/image/resize.h"

namespace
{

/* The taps of one result along an axis. */
struct taps {
    const double *weight;
    int first, width;

    EG__FN taps(const eg__tap_table &t, int r) : weight(NULL), first(r), width(1)
    {
        if (t.width) {
            first = t.first[r];
            width = t.width;
            weight = t.weight + (int64_t)r * width;
        }
    }
    EG__FN double operator[](int k) const
    {
        return weight ? weight[k] : 1;
    }
};

/* Of f64 there is nothing else to tell apart. */
EG__FN float get(const char *p, int dtype, float)
{
    return eg__get<float>(p, dtype);
}
EG__FN double get(const char *p, int, double)
{
    return *(const double *)p;
}
EG__FN void put(char *p, int dtype, float v)
{
    eg__put(p, dtype, v);
}
EG__FN void put(char *p, int, double v)
{
    *(double *)p = v;
}

template <class T> __global__ void __launch_bounds__(EG__BLOCK) resize(const eg__resizing k)
{
    const int64_t i = eg__self();
    if (i >= k.positions.n) {
        return;
    }
    const eg__position s(k.positions, i);
    const taps a(k.axis[0], s.p[0]), b(k.axis[1], s.p[1]), c(k.axis[2], s.p[2]);
    T sum = 0;
    for (int u = 0; u < a.width; u++) {
        const T wa = (T)a[u];
        for (int v = 0; v < b.width; v++) {
            const T wb = wa * (T)b[v];
            for (int w = 0; w < c.width; w++) {
                const T weight = wb * (T)c[w];
                if (weight != 0) { /* beside a tap there may be infinity */
                    const int64_t at = s.at(k.positions, k.source, a.first + u, b.first + v, c.first + w);
                    sum += weight * get(k.x + at * k.size, k.dtype, T());
                }
            }
        }
    }
    put(k.y + i * k.size, k.dtype, sum);
}

__global__ void __launch_bounds__(EG__BLOCK) pick(const eg__resizing k)
{
    const int64_t i = eg__self();
    if (i < k.positions.n) {
        const eg__position s(k.positions, i);
        const taps a(k.axis[0], s.p[0]), b(k.axis[1], s.p[1]), c(k.axis[2], s.p[2]);
        eg__move(k.y + i * k.size, k.x + s.at(k.positions, k.source, a.first, b.first, c.first) * k.size, k.size);
    }
}

} // namespace

cudaError_t eg__launch_resize(const eg__resizing *k, cudaStream_t s)
{
    const unsigned grid = eg__blocks(k->positions.n);
    if (k->copies) {
        return EG__LAUNCH(pick, grid, EG__BLOCK, 0, s, *k);
    }
    return k->dtype == EG_F64 ? EG__LAUNCH(resize<double>, grid, EG__BLOCK, 0, s, *k)
                              : EG__LAUNCH(resize<float>, grid, EG__BLOCK, 0, s, *k);
}
