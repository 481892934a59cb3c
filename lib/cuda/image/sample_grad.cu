/* sample_grad.cu - kernels of the adjoint of reading images at points. */
#include "lib/cuda/image/sample.cuh"

namespace
{

/* The entries of a pixel of a picture. */
template <class T, int N> __global__ void __launch_bounds__(EG__BLOCK) enter(const eg__adding a)
{
    const eg__sampling &k = a.k;
    const int64_t pixel = eg__self();
    if (pixel >= k.pixels) {
        return;
    }
    const place at(k, pixel);
    const int across = (int)k.o.block[0], count = across * (int)k.o.block[1];
    const int64_t image = image_of(k, at.b) * a.plane.d;
    int64_t e = pixel * a.each.d;
    for (int s = 0; s < count; s++) {
        point<T> p;
        const bool there = p.find(k, at.b, at.row * k.o.block[1] + s / across, at.col * across + s % across);
#pragma unroll
        for (int t = 0; t < N * N; t++, e++) {
            const T w = there ? p.y.w[t / N] * p.x.w[t % N] * (T)k.o.share : 0;
            a.key[e] = w != 0 ? (unsigned)(image + p.y.at[t / N] * a.width.d + p.x.at[t % N]) : (unsigned)a.places;
            a.value[e] = (int)e;
            ((T *)a.weight)[e] = w;
        }
    }
}

template <class T, bool WIDE>
__global__ void __launch_bounds__(EG__BLOCK) add(const eg__adding a, const eg__divisor places)
{
    const eg__sampling &k = a.k;
    int64_t to, first;
    if (!share_of(k, places, &to, &first)) {
        return;
    }
    const int64_t image = eg__divide(to, a.plane), pixel = to - image * a.plane.d, row = eg__divide(pixel, a.width);
    T *dx = (T *)k.images + image * k.istride[0] + row * k.istride[2] + (pixel - row * a.width.d) * k.istride[3];
    const unsigned begin = a.begin[to], end = a.end[to];
    for (int64_t group = first; group < k.groups; group += k.threads.d) {
        const int64_t channel = 4 * group, left = k.channels - channel;
        T sum[4] = {0, 0, 0, 0};
        for (unsigned i = begin; i < end; i++) {
            const int e = a.order[i];
            const T w = ((const T *)a.weight)[e];
            const place from(k, eg__divide(e, a.each));
            T v[4];
            load_four<T, WIDE>((const T *)k.pictures + from.at(k) + channel * k.ystride[1], k.ystride[1], left, v);
#pragma unroll
            for (int c = 0; c < 4; c++) {
                sum[c] += w * v[c];
            }
        }
        store_four<T, WIDE>(dx + channel * k.istride[1], k.istride[1], left, sum);
    }
}

template <class T> cudaError_t start_enter(const eg__adding &a, cudaStream_t s)
{
    const unsigned grid = eg__blocks(a.k.pixels);
    switch (a.k.o.mode) {
    case EG_SAMPLE_BILINEAR:
        return EG__LAUNCH((enter<T, 2>), grid, EG__BLOCK, 0, s, a);
    case EG_SAMPLE_NEAREST:
        return EG__LAUNCH((enter<T, 1>), grid, EG__BLOCK, 0, s, a);
    default:
        return EG__LAUNCH((enter<T, 4>), grid, EG__BLOCK, 0, s, a);
    }
}

} // namespace

/* ---- starting -------------------------------------------------------------------------------------- */

cudaError_t eg__launch_sample_entries(const eg__adding *a, cudaStream_t s)
{
    return a->k.f64 ? start_enter<double>(*a, s) : start_enter<float>(*a, s);
}

cudaError_t eg__launch_sample_add(const eg__adding *a, cudaStream_t s)
{
    const unsigned grid = eg__blocks(a->places * a->k.threads.d);
    const eg__divisor places = eg__divisor_of(a->places);
    if (a->k.f64) {
        return EG__LAUNCH((add<double, false>), grid, EG__BLOCK, 0, s, *a, places);
    }
    return a->k.wide ? EG__LAUNCH((add<float, true>), grid, EG__BLOCK, 0, s, *a, places)
                     : EG__LAUNCH((add<float, false>), grid, EG__BLOCK, 0, s, *a, places);
}
