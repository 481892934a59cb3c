/* depthwise.cu - convolutions where every channel is a group of its own. Neighbouring threads are at neighbouring
 * channels, eight to a thread where they are aligned, and each makes several places with the same weights. */
#include "lib/cuda/conv/depthwise.cuh"

namespace
{

enum { AT_ONCE = EG__DEPTHWISE_AT_ONCE, TAPS = 4 };

/* G neighbouring elements. */
template <class T, int G> EG__FN void get_all(const eg__convolved &k, const char *p, int64_t i, T v[G])
{
    if constexpr (G == 8) {
        eg__get_group(p + i * (k.dtype == EG_F32 ? 4 : 2), k.dtype, v);
    } else {
        v[0] = get<T>(k, p, i);
    }
}

template <class T, int G> EG__FN void put_all(const eg__convolved &k, const char *p, int64_t i, const T v[G])
{
    if constexpr (G == 8) {
        eg__put_group((char *)(uintptr_t)p + i * (k.dtype == EG_F32 ? 4 : 2), k.dtype, v);
    } else {
        put<T>(k, p, i, v[0]);
    }
}

/* Of a position of all images. */
struct place {
    int64_t image;
    int p[3];
    EG__FN void find(const eg__convolved &k, int64_t i)
    {
#pragma unroll
        for (int d = 2; d >= 0; d--) {
            const int64_t q = eg__divide(i, k.positions.size[d]);
            p[d] = (int)(i - q * k.positions.size[d].d);
            i = q;
        }
        image = i;
    }
};

/* y of x and w; or, DATA, x of y and w. */
template <class T, int G, bool DATA> __global__ void __launch_bounds__(EG__BLOCK) depthwise(const eg__depthwise k)
{
    EG__DYN_SHARED(T, weights); /* [outs for DATA, taps, lanes, G] */
    const eg__convolved &c = k.c;
    const here h = here::of<G>(k);
    const int taps = c.k[0] * c.k[1] * c.k[2], outs = (int)c.outs, each = DATA ? outs : 1;
    const int wide = k.lanes * G;
    const int64_t low = h.channel - h.lane * G;
    for (int i = threadIdx.x; i < each * taps * wide; i += EG__BLOCK) {
        const int row = i / wide, column = i - row * wide, out = row / taps;
        const int64_t channel = low + column;
        weights[i] = channel < k.channels ? get<T>(c, c.w, (channel * each + out) * taps + row - out * taps) : 0;
    }
    __syncthreads();
    const int64_t first = (h.block * h.rows + h.row) * AT_ONCE;
    if (h.channel >= k.channels || first >= k.positions) {
        return;
    }
    const int64_t left = k.positions - first;
    const int count = left < AT_ONCE ? (int)left : AT_ONCE;
    const int64_t other = DATA ? k.channels * outs : k.channels / outs; /* channels of what is read */
    const int *size = DATA ? c.out : c.in;
    const char *from = DATA ? c.y : c.x;
    place at[AT_ONCE];
    T sum[AT_ONCE][G];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        at[i].find(c, first + (i < count ? i : 0));
#pragma unroll
        for (int g = 0; g < G; g++) {
            sum[i][g] = c.bias ? get<T>(c, c.bias, (h.channel + g) * c.bias_step) : 0;
        }
    }
#pragma unroll 1
    for (int t = 0; t < taps; t++) {
        const int row = t / c.k[2], t2 = t - row * c.k[2], t0 = row / c.k[1], t1 = row - t0 * c.k[1];
#pragma unroll 1
        for (int out = 0; out < each; out++) {
            const T *w = weights + ((out * taps + t) * k.lanes + h.lane) * G;
            const int64_t channel = DATA ? h.channel * outs + out : h.channel / outs;
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int p0 = DATA ? conv_window(c, 0, at[i].p[0], t0) : conv_cell(c, 0, at[i].p[0], t0);
                const int p1 = DATA ? conv_window(c, 1, at[i].p[1], t1) : conv_cell(c, 1, at[i].p[1], t1);
                const int p2 = DATA ? conv_window(c, 2, at[i].p[2], t2) : conv_cell(c, 2, at[i].p[2], t2);
                if ((p0 | p1 | p2) >= 0) {
                    T v[G];
                    const int64_t cell = ((at[i].image * size[0] + p0) * size[1] + p1) * size[2] + p2;
                    get_all<T, G>(c, from, cell * other + channel, v);
#pragma unroll
                    for (int g = 0; g < G; g++) {
                        sum[i][g] += v[g] * w[g];
                    }
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        if (i < count) {
            put_all<T, G>(c, DATA ? c.x : c.y, (first + i) * k.channels + h.channel, sum[i]);
        }
    }
}

/* ---- gradients of weights -------------------------------------------------------------------- */

/* A part of the sum of TAPS neighbouring taps along the last axis. */
template <class T, int G> __global__ void __launch_bounds__(EG__BLOCK) depthwise_weight(const eg__depthwise k)
{
    EG__DYN_SHARED(T, room); /* [rows, TAPS, lanes, G] */
    const eg__convolved &c = k.c;
    const here h = here::of<G>(k);
    const int fours = (c.k[2] + TAPS - 1) / TAPS, outs = (int)c.outs;
    const int64_t lines = (int64_t)c.k[0] * c.k[1] * fours, part = h.block / lines;
    const int line = (int)(h.block - part * lines), row = line / fours, t2 = (line - row * fours) * TAPS;
    const int t0 = row / c.k[1], t1 = row - t0 * c.k[1];
    const int64_t channel = h.channel / outs, other = k.channels / outs;
    int64_t end = (part + 1) * k.part;
    end = end < k.positions ? end : k.positions;
    T sum[TAPS][G];
#pragma unroll
    for (int t = 0; t < TAPS; t++) {
#pragma unroll
        for (int g = 0; g < G; g++) {
            sum[t][g] = 0;
        }
    }
    if (h.channel < k.channels) {
#pragma unroll 1
        for (int64_t i = part * k.part + h.row; i < end; i += h.rows) {
            place at;
            at.find(c, i);
            const int p0 = conv_cell(c, 0, at.p[0], t0), p1 = conv_cell(c, 1, at.p[1], t1);
            if ((p0 | p1) < 0) {
                continue;
            }
            const int64_t line_of_x = ((at.image * c.in[0] + p0) * c.in[1] + p1) * c.in[2];
            T y[G];
            get_all<T, G>(c, c.y, i * k.channels + h.channel, y);
#pragma unroll
            for (int t = 0; t < TAPS; t++) {
                const int p2 = t2 + t < c.k[2] ? conv_cell(c, 2, at.p[2], t2 + t) : -1;
                if (p2 >= 0) {
                    T x[G];
                    get_all<T, G>(c, c.x, (line_of_x + p2) * other + channel, x);
#pragma unroll
                    for (int g = 0; g < G; g++) {
                        sum[t][g] += x[g] * y[g];
                    }
                }
            }
        }
    }
    const int wide = k.lanes * G;
#pragma unroll
    for (int t = 0; t < TAPS; t++) {
#pragma unroll
        for (int g = 0; g < G; g++) {
            room[(h.row * TAPS + t) * wide + h.lane * G + g] = sum[t][g];
        }
    }
    __syncthreads();
    const int64_t low = h.channel - h.lane * G, taps = (int64_t)c.k[0] * c.k[1] * c.k[2];
    for (int i = threadIdx.x; i < TAPS * wide; i += EG__BLOCK) {
        const int t = i / wide, column = i - t * wide;
        T all = 0;
        for (int r = 0; r < h.rows; r++) {
            all += room[r * TAPS * wide + i];
        }
        if (t2 + t < c.k[2] && low + column < k.channels) {
            ((T *)k.sums)[(part * taps + (int64_t)row * c.k[2] + t2 + t) * k.channels + low + column] = all;
        }
    }
}

/* All parts of a weight. */
template <class T> __global__ void __launch_bounds__(EG__BLOCK) join_parts(const eg__depthwise k)
{
    const int64_t i = eg__self(), taps = (int64_t)k.c.k[0] * k.c.k[1] * k.c.k[2], all = taps * k.channels;
    if (i < all) {
        const int64_t tap = i / k.channels, channel = i - tap * k.channels;
        T sum = 0;
#pragma unroll 4
        for (unsigned part = 0; part < k.splits; part++) {
            sum += ((const T *)k.sums)[part * all + i];
        }
        put<T>(k.c, k.c.w, channel * taps + tap, sum);
    }
}

} // namespace

/* ---- starting -------------------------------------------------------------------------------- */

namespace
{

template <class T, int G, bool DATA> cudaError_t start(const eg__depthwise *k, cudaStream_t s)
{
    const int64_t rows = (int64_t)(EG__BLOCK / k->lanes) * AT_ONCE, down = (k->positions + rows - 1) / rows;
    return EG__LAUNCH((depthwise<T, G, DATA>), (unsigned)(blocks_across<G>(k) * down), EG__BLOCK, k->shared, s, *k);
}

template <class T, int G> cudaError_t start_weight(const eg__depthwise *k, cudaStream_t s)
{
    const eg__convolved *c = &k->c;
    const int64_t lines = (int64_t)c->k[0] * c->k[1] * ((c->k[2] + TAPS - 1) / TAPS);
    cudaError_t e = EG__LAUNCH((depthwise_weight<T, G>), (unsigned)(blocks_across<G>(k) * lines * k->splits), EG__BLOCK,
                               sizeof(T) * EG__BLOCK * TAPS * G, s, *k);
    return e ? e : eg__launch_depthwise_join(k, s);
}

} // namespace

cudaError_t eg__launch_depthwise_join(const eg__depthwise *k, cudaStream_t s)
{
    const unsigned blocks = eg__blocks((int64_t)k->c.k[0] * k->c.k[1] * k->c.k[2] * k->channels);
    return k->c.dtype == EG_F64 ? EG__LAUNCH(join_parts<double>, blocks, EG__BLOCK, 0, s, *k)
                                : EG__LAUNCH(join_parts<float>, blocks, EG__BLOCK, 0, s, *k);
}

#define START(name, wide, groups, single)                                                       \
    cudaError_t eg__launch_##name(const eg__depthwise *k, cudaStream_t s)                       \
    {                                                                                           \
        return k->c.dtype == EG_F64 ? wide(k, s) : k->group == 8 ? groups(k, s) : single(k, s); \
    }
START(depthwise, (start<double, 1, false>), (start<float, 8, false>), (start<float, 1, false>))
START(depthwise_data, (start<double, 1, true>), (start<float, 8, true>), (start<float, 1, true>))
START(depthwise_weight, (start_weight<double, 1>), (start_weight<float, 8>), (start_weight<float, 1>))
