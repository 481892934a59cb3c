/* depthwise_runs.cu - convolutions where every channel is a group, of kernels that go over the last axis step by step:
 * a thread makes a run of places of a line for eight channels. All cells that a row of taps needs for them are asked
 * for at once, and each is read once for all of these places. */
#include "lib/cuda/conv/depthwise.cuh"

namespace
{

enum { RUN = EG__DEPTHWISE_AT_ONCE, G = 8 };

template <int D> EG__FN constexpr int size_of()
{
    return D == EG_F32 ? 4 : 2;
}

/* Which places: `first` and those behind it of a line. */
struct run {
    int64_t line, image;
    int p[2], first;
    EG__FN run(const eg__depthwise &k, int64_t i)
    {
        const eg__divisor *size = k.c.positions.size;
        line = eg__divide(i, k.runs);
        first = (int)(i - line * k.runs.d) * RUN;
        const int64_t plane = eg__divide(line, size[1]);
        p[1] = (int)(line - plane * size[1].d);
        image = eg__divide(plane, size[0]);
        p[0] = (int)(plane - image * size[0].d);
    }
};

/* N cells of a line of `wide`, from `begin` on, `step` bytes apart; zeros for those outside of it. */
template <int D, int N> EG__FN void get_cells(const char *line, int64_t step, int begin, int wide, float v[N][G])
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int at = begin + i;
        const bool inside = at >= 0 && at < wide;
        eg__get_group(line + (inside ? at : 0) * step, D, v[i]);
#pragma unroll
        for (int g = 0; g < G; g++) {
            v[i][g] = inside ? v[i][g] : 0;
        }
    }
}

/* y of x and w; or, DATA, x of y and w, whose taps are met the other way round. */
template <int D, int K, bool DATA> __global__ void __launch_bounds__(EG__BLOCK) depthwise(const eg__depthwise k)
{
    EG__DYN_SHARED(float, weights); /* [taps, lanes, G] */
    const eg__convolved &c = k.c;
    const here h = here::of<G>(k);
    const int taps = c.k[0] * c.k[1] * K, across = k.lanes * G;
    const int64_t low = h.channel - h.lane * G;
    for (int i = threadIdx.x; i < taps * across; i += EG__BLOCK) {
        const int tap = i / across;
        const int64_t channel = low + i - tap * across;
        weights[i] = channel < k.channels ? eg__get<float>(c.w + (channel * taps + tap) * size_of<D>(), D) : 0;
    }
    __syncthreads();
    const int64_t number = h.block * h.rows + h.row, step = k.channels * size_of<D>();
    if (h.channel >= k.channels || number >= k.all_runs) {
        return;
    }
    const run at(k, number);
    const int *size = DATA ? c.out : c.in;
    const char *from = (DATA ? c.y : c.x) + h.channel * size_of<D>();
    const int begin = at.first - (DATA ? K - 1 - c.before[2] : c.before[2]);
    float sum[RUN][G];
#pragma unroll
    for (int g = 0; g < G; g++) {
        const float bias = c.bias ? eg__get<float>(c.bias + (h.channel + g) * c.bias_step * size_of<D>(), D) : 0;
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            sum[i][g] = bias;
        }
    }
#pragma unroll 1
    for (int row = 0; row < c.k[0] * c.k[1]; row++) {
        const int t0 = row / c.k[1], t1 = row - t0 * c.k[1];
        const int p0 = DATA ? conv_window(c, 0, at.p[0], t0) : conv_cell(c, 0, at.p[0], t0);
        const int p1 = DATA ? conv_window(c, 1, at.p[1], t1) : conv_cell(c, 1, at.p[1], t1);
        if ((p0 | p1) < 0) {
            continue;
        }
        float cell[RUN + K - 1][G];
        const int64_t line = (at.image * size[0] + p0) * size[1] + p1;
        get_cells<D, RUN + K - 1>(from + line * size[2] * step, step, begin, size[2], cell);
#pragma unroll
        for (int t = 0; t < K; t++) {
            const float *w = weights + ((row * K + (DATA ? K - 1 - t : t)) * k.lanes + h.lane) * G;
#pragma unroll
            for (int g = 0; g < G; g++) {
#pragma unroll
                for (int i = 0; i < RUN; i++) {
                    sum[i][g] += cell[i + t][g] * w[g];
                }
            }
        }
    }
    const int64_t wide = c.positions.size[2].d;
    char *to = (char *)(uintptr_t)(DATA ? c.x : c.y) + h.channel * size_of<D>() + (at.line * wide + at.first) * step;
#pragma unroll
    for (int i = 0; i < RUN; i++) {
        if (at.first + i < wide) {
            eg__put_group(to + i * step, D, sum[i]);
        }
    }
}

/* A part of the sums of a row of taps. */
template <int D, int K> __global__ void __launch_bounds__(EG__BLOCK) depthwise_weight(const eg__depthwise k)
{
    EG__DYN_SHARED(float, room); /* [rows, lanes, G] */
    const eg__convolved &c = k.c;
    const here h = here::of<G>(k);
    const int lines = c.k[0] * c.k[1];
    const int64_t part = h.block / lines, step = k.channels * size_of<D>(), wide = c.positions.size[2].d;
    const int row = (int)(h.block - part * lines), t0 = row / c.k[1], t1 = row - t0 * c.k[1];
    const int64_t end = (part + 1) * k.part < k.all_runs ? (part + 1) * k.part : k.all_runs;
    const char *x = c.x + h.channel * size_of<D>(), *y = c.y + h.channel * size_of<D>();
    float sum[K][G];
#pragma unroll
    for (int i = 0; i < K * G; i++) {
        sum[i / G][i % G] = 0;
    }
#pragma unroll 1
    for (int64_t i = part * k.part + h.row; i < end && h.channel < k.channels; i += h.rows) {
        const run at(k, i);
        const int p0 = conv_cell(c, 0, at.p[0], t0), p1 = conv_cell(c, 1, at.p[1], t1);
        if ((p0 | p1) < 0) {
            continue;
        }
        float dy[RUN][G], cell[RUN + K - 1][G];
        const int64_t line = (at.image * c.in[0] + p0) * c.in[1] + p1;
        get_cells<D, RUN>(y + at.line * wide * step, step, at.first, (int)wide, dy);
        get_cells<D, RUN + K - 1>(x + line * c.in[2] * step, step, at.first - c.before[2], c.in[2], cell);
#pragma unroll
        for (int t = 0; t < K; t++) {
#pragma unroll
            for (int g = 0; g < G; g++) {
#pragma unroll
                for (int j = 0; j < RUN; j++) {
                    sum[t][g] += cell[j + t][g] * dy[j][g];
                }
            }
        }
    }
    const int across = k.lanes * G, taps = lines * K;
    const int64_t low = h.channel - h.lane * G;
#pragma unroll
    for (int t = 0; t < K; t++) {
#pragma unroll
        for (int g = 0; g < G; g++) {
            room[h.row * across + h.lane * G + g] = sum[t][g];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < across && low + i < k.channels; i += EG__BLOCK) {
            float all = 0;
            for (int r = 0; r < h.rows; r++) {
                all += room[r * across + i];
            }
            ((float *)k.sums)[(part * taps + row * K + t) * k.channels + low + i] = all;
        }
        __syncthreads();
    }
}

/* ---- starting -------------------------------------------------------------------------------- */

template <int D, int K, bool DATA> struct start_places {
    static cudaError_t of(const eg__depthwise *k, cudaStream_t s)
    {
        const int64_t rows = EG__BLOCK / k->lanes, down = (k->all_runs + rows - 1) / rows;
        return EG__LAUNCH((depthwise<D, K, DATA>), (unsigned)(blocks_across<G>(k) * down), EG__BLOCK, k->shared, s, *k);
    }
};

template <int D, int K, bool> struct start_weights {
    static cudaError_t of(const eg__depthwise *k, cudaStream_t s)
    {
        const unsigned blocks = (unsigned)(blocks_across<G>(k) * k->c.k[0] * k->c.k[1] * k->splits);
        cudaError_t e = EG__LAUNCH((depthwise_weight<D, K>), blocks, EG__BLOCK, sizeof(float) * EG__BLOCK * G, s, *k);
        return e ? e : eg__launch_depthwise_join(k, s);
    }
};

template <int D, template <int, int, bool> class START, bool DATA>
cudaError_t start_kernel(const eg__depthwise *k, cudaStream_t s)
{
    return k->kernel == 3   ? START<D, 3, DATA>::of(k, s)
           : k->kernel == 5 ? START<D, 5, DATA>::of(k, s)
                            : START<D, 7, DATA>::of(k, s);
}

template <template <int, int, bool> class START, bool DATA> cudaError_t start(const eg__depthwise *k, cudaStream_t s)
{
    return k->c.dtype == EG_F32   ? start_kernel<EG_F32, START, DATA>(k, s)
           : k->c.dtype == EG_F16 ? start_kernel<EG_F16, START, DATA>(k, s)
                                  : start_kernel<EG_BF16, START, DATA>(k, s);
}

} // namespace

cudaError_t eg__launch_runs(const eg__depthwise *k, cudaStream_t s)
{
    return start<start_places, false>(k, s);
}

cudaError_t eg__launch_runs_data(const eg__depthwise *k, cudaStream_t s)
{
    return start<start_places, true>(k, s);
}

cudaError_t eg__launch_runs_weight(const eg__depthwise *k, cudaStream_t s)
{
    return start<start_weights, false>(k, s);
}
